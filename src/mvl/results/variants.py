"""A table of success in variants of a task, such as a disturbed one, for runs that are finished."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from mvl.results.results import Result, estimate_text
from mvl.results.statistics import estimate
from mvl.results.table import Table
from mvl.runs.evaluation import evaluate
from mvl.runs.folder import RunFolder
from mvl.runs.measuring import measured_once
from mvl.tasks import Task, find_task

EPISODES = 20
"""Per evaluation goal: 100 trials of a task with five goals."""
MEANING = (
    f"Success in percent of the last checkpoint, {EPISODES} episodes per evaluation goal, mean over seeds with a 95 % interval "
    "(Student's): in the environment of the task itself, and in its variants."
)


def variant_of(task: Task, word: str) -> Task:
    """The task whose name has this word before the version: panda-reach-grasp-v0 -> panda-reach-grasp-disturbed-v0."""
    name, _, version = task.name.rpartition("-")
    return find_task(f"{name}-{word}-{version}")


def variant_table(found: Sequence[Result], words: Sequence[str], report: Callable[[str], None]) -> Table:
    """A row for each result, with a column for the task itself and one for every variant."""
    finished = [result for result in found if result.cell.part == "overall" and result.seeds]
    rows, csv_rows = [], []
    for number, result in enumerate(finished, 1):
        report(f"playing variants: {number}/{len(finished)}")
        runs = sorted({seed.run for seed in result.seeds})
        known = [success for run in runs if (success := variants_of(run, words))]
        if known:
            values = [[100 * value for success in known for value in success[word]] for word in ("", *words)]
            place, estimates = (result.cell.row, result.cell.column), [estimate(seeds, (0.0, 100.0)) for seeds in values]
            texts = [estimate_text(one, len(seeds)) for one, seeds in zip(estimates, values, strict=True)]
            rows.append([*place, *texts, len(values[0])])
            csv_rows += [
                [*place, word or "itself", len(seeds), *one, " ".join(f"{value:.2f}" for value in seeds)]
                for word, one, seeds in zip(("", *words), estimates, values, strict=True)
            ]
    numbers = Table(["row", "column", "variant", "seeds", "mean", "low", "high", "per_seed"], csv_rows)
    return Table(
        ["row", "column", "itself", *words, "seeds"], rows, notes=[MEANING], as_csv=numbers, if_empty="no run is finished."
    )


def variants_of(run: Path, words: Sequence[str]) -> dict[str, list[float]] | None:
    """Success of a run's seeds by variant, the task itself as the empty word; None without a checkpoint or saved numbers."""
    file = RunFolder(run).variants_file
    known: dict[str, list[float]] | None = measured_once(run, file, partial(play_variants, words=words))
    if known is not None and not set(words) <= known.keys() and RunFolder(run).checkpoint_file.exists():
        file.unlink()
        known = measured_once(run, file, partial(play_variants, words=words))
    return known if known is not None and set(words) <= known.keys() else None


def play_variants(run: Path, words: Sequence[str]) -> dict[str, list[float]]:
    """The same for a run with a checkpoint, played now."""
    task = RunFolder.open(run)[1].task
    names = {"": None, **{word: variant_of(task, word).name for word in words}}
    success = {word: evaluate(run, episodes=EPISODES, task=name).overall for word, name in names.items()}
    return {word: [round(float(value), 6) for value in values] for word, values in success.items()}
