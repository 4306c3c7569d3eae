"""The runs of an experiment in a store: finished seeds, unfinished and damaged runs, and the time they took."""

import json
import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mvl.errors import DamagedError, MvlError, UsageError
from mvl.evaluation.held_out.measures import BEST
from mvl.experiment import Experiment
from mvl.learn.checkpoint import step_of
from mvl.runs import metrics
from mvl.runs.evaluation import reported
from mvl.runs.folder import Description, RunFolder
from mvl.runs.judging import saved_measures
from mvl.studies.job import Job, folder_of, is_run_of, seed_range

SET_ASIDE = re.compile(r"\.damaged(-\d+)?$")
"""Ending of the names of damaged runs that were set aside."""


@dataclass(frozen=True)
class Seed:
    """One finished seed: its success, as the mean of the last evaluations, and its run."""

    number: int
    overall: float
    """Success from 0 to 1, averaged over tasks; without an environment the measure `BEST`, NaN until it is computed."""
    tasks: tuple[float, ...]
    """Success of each task; without an environment the same as `overall`."""
    validation: dict[str, float]
    """Losses on validation data at the last evaluation."""
    run: Path
    data: str
    """SHA-256 of the file it was trained on."""
    measures: dict[str, float] = field(default_factory=dict)
    """Held-out measures by name; empty until they are computed."""


@dataclass(frozen=True)
class ExperimentRuns:
    """The runs of one experiment."""

    finished: dict[int, Seed]
    unfinished: list[Job]
    others: list[Path]
    """Runs in its folder that were trained with other settings."""
    damaged: dict[Path, str]
    """Runs in its folder that cannot be read, with the reason."""


def runs_in(folder: Path) -> list[Path]:
    """The run folders in a folder, without damaged ones that were set aside."""
    found = [file.parent for file in sorted(folder.glob("*/run.json"))]
    return [run for run in found if not SET_ASIDE.search(run.name)]


def runs_of(experiment: Experiment, store: Path, data: Path | None, unpacked: Path | None = None) -> ExperimentRuns:
    """All runs in the experiment's folder of a store; of a seed that two runs have, the first counts.

    Unfinished runs become jobs that read their data from the folder `data`. `unpacked` is a second store, whose runs count
    where the first has none of the same name.
    """
    runs = ExperimentRuns({}, [], [], {})
    for run in _runs(experiment, store, unpacked):
        try:
            description = RunFolder.open(run)[1]
            if not is_run_of(experiment, description):
                runs.others.append(run)
            elif found := _finished(run, experiment, description):
                for seed in found:
                    runs.finished.setdefault(seed.number, seed)
            else:
                runs.unfinished.append(Job(with_seeds(experiment, description.experiment.seeds, data), run))
        except DamagedError as error:
            runs.damaged[run] = str(error)
        except UsageError:  # made of parts or settings that this installation does not have
            runs.others.append(run)
    return runs


def _finished(run: Path, experiment: Experiment, description: Description) -> list[Seed]:
    """The seeds of a run of the experiment, empty if it is not finished."""
    schedule, seeds = experiment.schedule, description.experiment.seeds
    saved, rows = _saved_step(run), _evaluations(run)
    if lost := metrics.missing(rows, metrics.due(saved or 0, schedule.eval_every, schedule.steps), seeds):
        file = RunFolder(run).evaluations_file  # resuming starts after the checkpoint, so the evaluation would never be repeated
        raise DamagedError(f"{file}: the evaluation at step {lost[0]} is missing, though the checkpoint is from step {saved}.")
    if not _is_done(saved, rows, schedule.steps, seeds):
        return []
    last = {row["seed"]: {name: row[name] for name in row if name.startswith("validation/")} for row in rows}
    sha = str(description.data.get("sha256"))
    if not experiment.task.simulated:
        found = saved_measures(run)
        unjudged = [Seed(seed, math.nan, (), last[seed], run, sha) for seed in seeds]
        return [judged(seed, found.of(seed.number)) for seed in unjudged] if found else unjudged
    try:
        means = reported(rows)
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedError(f"{RunFolder(run).evaluations_file}: a row is not an evaluation ({error!r}).") from None
    return [Seed(seed, mean["overall"], tuple(mean["tasks"]), last[seed], run, sha) for seed, mean in means.items()]


def judged(seed: Seed, measures: dict[str, float]) -> Seed:
    """The seed with its held-out measures; if it was not evaluated in an environment, the best of them counts as success."""
    score = (seed.overall, seed.tasks) if seed.tasks else (measures[BEST], (measures[BEST],))
    return replace(seed, overall=score[0], tasks=score[1], measures=measures)


def _runs(experiment: Experiment, store: Path, unpacked: Path | None) -> list[Path]:
    places = [folder_of(experiment, place) for place in (unpacked, store) if place]
    by_name = {run.name: run for place in places for run in runs_in(place)}
    return [by_name[name] for name in sorted(by_name)]


def remaining(
    experiment: Experiment, seeds: list[int], store: Path, data: Path | None, together: bool, unpacked: Path | None = None
) -> list[Job]:
    """The jobs to do for these seeds: unfinished runs that have some of them, and new runs for the others.

    `together` puts consecutive seeds into one new run.
    """
    runs = runs_of(experiment, store, data, unpacked)
    missing = [seed for seed in seeds if seed not in runs.finished]
    jobs = []
    for job in runs.unfinished:
        if set(job.experiment.seeds) & set(missing):
            jobs.append(job)
            missing = [seed for seed in missing if seed not in job.experiment.seeds]
    for group in _groups(missing) if together else [(seed,) for seed in missing]:
        run = folder_of(experiment, store) / f"seeds-{seed_range(group)}"
        if run in runs.others:
            raise MvlError(f"{run} was trained with other settings than this asks for; move it away, or give another --store.")
        jobs.append(Job(with_seeds(experiment, group, data), run))
    return jobs


def with_seeds(experiment: Experiment, seeds: Sequence[int], data: Path | None) -> Experiment:
    """The experiment with these seeds, and with datasets from the folder `data`."""
    return replace(experiment, seeds=tuple(seeds), data=replace(experiment.data, folder=data))


def _groups(seeds: list[int]) -> list[tuple[int, ...]]:
    """Groups of consecutive seeds."""
    groups: list[list[int]] = []
    for seed in sorted(seeds):
        if groups and groups[-1][-1] == seed - 1:
            groups[-1].append(seed)
        else:
            groups.append([seed])
    return [tuple(group) for group in groups]


def is_done(run: Path, steps: int, seeds: Sequence[int]) -> bool:
    """Whether every seed was evaluated at the last step, and the checkpoint, if there is one, is of that step."""
    return _is_done(_saved_step(run), _evaluations(run), steps, seeds)


def _is_done(saved: int | None, rows: list[dict[str, Any]], steps: int, seeds: Sequence[int]) -> bool:
    reached = {row["seed"] for row in rows if row["step"] >= steps}
    return reached >= set(seeds) and (saved is None or saved >= steps)


def _saved_step(run: Path) -> int | None:
    """The step of the checkpoint, None without one. Read it before the evaluations, which a training run writes first."""
    checkpoint = RunFolder(run).checkpoint_file
    return step_of(checkpoint) if checkpoint.exists() else None


def _evaluations(run: Path) -> list[dict[str, Any]]:
    return metrics.read(RunFolder(run).evaluations_file, growing=True)


def progress_of(job: Job) -> int:
    """Training steps done so far, summed over seeds."""
    rows = _logged(RunFolder(job.run).timing_file, "step")
    return len(job.experiment.seeds) * min(job.experiment.schedule.steps, int(rows[-1]["step"]) if rows else 0)


def _logged(path: Path, number: str) -> list[dict[str, Any]]:
    """The lines of a log that are JSON objects with a number of this name; other lines, such as incomplete ones, are skipped."""
    rows = []
    for line in path.read_bytes().splitlines() if path.exists() else []:
        with suppress(ValueError, RecursionError, OverflowError):
            row = json.loads(line)
            if isinstance(row, dict) and isinstance(row.get(number), int | float) and math.isfinite(row[number]):
                rows.append(row)
    return rows


def clock_file(run: Path) -> Path:
    """The file beside a run with the times at which its training processes began and ended."""
    return run.with_name(f"{run.name}.clock.jsonl")


def largest_memory(run: Path) -> int | None:
    """Largest memory of the processes that trained a run, in bytes; None if they did not log it."""
    return max((row["memory"] for row in _logged(RunFolder(run).timing_file, "memory")), default=None)


def process_seconds(run: Path) -> float:
    """Seconds that training processes worked on a run: from its clock file, or without one from the times of its log."""
    logged = [row["time"] for row in _logged(RunFolder(run).timing_file, "time")]
    sessions = _logged(clock_file(run), "time")
    if not sessions:
        return round(logged[-1] - logged[0], 1) if logged else 0.0
    total = 0.0
    for session, following in zip(sessions, [*sessions[1:], {}], strict=True):
        if session.get("event") != "began":
            continue
        if following.get("event") == "ended":
            total += following["time"] - session["time"]
        else:  # killed: it worked at least until its last logged time
            limit = following.get("time", float("inf"))
            total += max([time for time in logged if session["time"] <= time < limit], default=session["time"]) - session["time"]
    return round(total, 1)  # the precision of the clock file
