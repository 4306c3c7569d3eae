"""A leaderboard: success from records of runs and from publications, with what makes numbers comparable beside each."""

import csv
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mvl.errors import DataError
from mvl.recipes import paper
from mvl.results.results import estimate_text
from mvl.results.statistics import estimate
from mvl.results.table import Table
from mvl.runs.evaluation import LAST, reported
from mvl.studies.job import folder_name
from mvl.studies.records import Record
from mvl.tasks import find_task, task_names

PUBLISHED = Path(paper.__file__).parent / "published.csv"
"""Numbers of other publications, each with its source."""
MEANING = (
    f"Success in percent. Of runs: mean over seeds with Student's 95 % interval; `last {LAST}` is the mean of the last {LAST} "
    "evaluations of training, `final` the last checkpoint played again. Of publications: mean ± standard deviation where given. "
    "steps, batch, width: gradient steps, batch size and width of the networks; rows: transitions of the training data; "
    "episodes: per task and evaluation; minutes and GB: process time of training with its evaluations, and its largest memory, "
    "per run. An empty field is not known. Compare numbers whose fields agree."
)


class Entry(NamedTuple):
    """One number and how it was made; None where that is not known."""

    task: str
    method: str
    success: float
    """In percent."""
    shown: str
    """The same with its interval or deviation."""
    seeds: int | None = None
    steps: int | None = None
    batch: int | None = None
    width: int | None = None
    rows: int | None = None
    episodes: int | None = None
    protocol: str = ""
    """Which evaluations count."""
    minutes: float | None = None
    gigabytes: float | None = None
    source: str = ""


def entries_of_records(records: Iterable[Record], source: str) -> list[Entry]:
    """The entries of finished runs: one per experiment, and two more if it was played with and without a planner."""
    played = (record for record in records if record.description and record.description.task.simulated)
    known = sorted(played, key=lambda record: record.key)
    groups = (list(group) for _, group in groupby(known, key=lambda record: record.key[0]))
    return [entry for group in groups for entry in _entries(group, source)]


def _entries(group: list[Record], source: str) -> list[Entry]:
    """Entries of the runs of one experiment."""
    assert group[0].description is not None, "checked by the caller"
    experiment = group[0].description.experiment
    schedule, learning = experiment.schedule, experiment.recipe.learning
    lines = [record.line for record in group]
    name = f"{folder_name(experiment)} ({experiment.preset})" if experiment.preset else folder_name(experiment)
    about: dict[str, Any] = {
        "task": experiment.task.label,
        "steps": schedule.steps,
        "batch": learning.batch_size,
        "width": getattr(experiment.recipe.policy, "widths", (None,))[0],
        "rows": _mean([line["data"].get("rows") for line in lines]),
        "minutes": float(np.mean([line["seconds"] for line in lines])) / 60,
        "gigabytes": _mean([line.get("memory") for line in lines], 1e-9),
        "source": source,
    }
    success = [found["overall"] for line in lines for found in reported(line["evaluations"]).values()]
    planner = "" if schedule.plan == "none" else f", {schedule.plan}"
    found = [_entry(f"{name}{planner}", success, about, schedule.eval_episodes, f"last {LAST}")]
    for kind, label in (("plain", ""), ("planned", ", graph")):
        played = [value for line in lines for value in (line.get("plans") or {}).get(kind, ())]
        if played:
            found.append(_entry(f"{name}{label}", played, about, PLAYED, "final"))
    return found


PLAYED = 50
"""Episodes per task of `mvl sweep --plans`."""


def _entry(method: str, success: Sequence[float], about: dict[str, Any], episodes: int, protocol: str) -> Entry:
    percent = estimate([100 * value for value in success], (0.0, 100.0))
    shown = estimate_text(percent, len(success))
    counts: dict[str, Any] = {"seeds": len(success), "episodes": episodes, "protocol": protocol}
    return Entry(method=method, success=percent.mean, shown=shown, **counts, **about)


def _mean(values: Sequence[float | None], factor: float = 1.0) -> float | None:
    known = [factor * value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def entries_of_paper() -> list[Entry]:
    """The paper's numbers of whole tasks, with the protocol of its appendix."""
    sizes = {"seeds": 4, "steps": 1_000_000, "batch": 1024, "width": 512, "episodes": 50, "protocol": f"last {LAST}"}
    found = {}
    for table, about in paper.TABLES.items():
        for place, number in paper.cells(table).items():
            task = paper.task_of(place.row)
            if place.part == "overall" and place.row != about.average and task in task_names():
                method = about.columns[place.column].recipe if not about.setting else f"dual-mvl {place.column}"
                source = f"the paper, {table}, {place.column}"
                given = {**sizes, **EXCEPTIONS.get((table, place.column), {})}
                found[task, method, number.mean] = Entry(task, method, number.mean, str(number), **given, source=source)
    return list(found.values())


EXCEPTIONS: dict[tuple[str, str], dict[str, Any]] = {
    ("table2", "EIK-HIQL"): {"seeds": 10, "protocol": "best", "steps": None},
    **{("table1", name): {"seeds": 8} for name in ("ORIG", "VIB", "VIP", "TRA", "BYOL", "DUAL")},
    **{("table7", name): {"steps": 500_000, "batch": 256, "episodes": 15} for name in paper.TABLES["table7"].columns},
}
"""Columns that the paper quotes from other publications, with their seeds and protocol (EIK-HIQL has 100,000 steps on
pointmaze and a million elsewhere), or trains otherwise."""


def entries_of_file(path: Path) -> list[Entry]:
    """Published numbers from a CSV file with the columns task, method, success and any others of `Entry`, by name."""
    try:
        with open(path, newline="") as file:
            lines = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read ({error}).") from None
    return [_published(path, number, line) for number, line in enumerate(lines, 2)]


WHOLE = ("seeds", "steps", "batch", "width", "rows", "episodes")
GIVEN: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(WHOLE, int),
    **dict.fromkeys(("minutes", "gigabytes"), float),
    **dict.fromkeys(("protocol", "source"), str),
}
"""Columns that a published number may have, and their types."""


def _published(path: Path, number: int, line: dict[str, str]) -> Entry:
    try:
        if unknown := set(line) - set(Entry._fields) - {"deviation"}:
            raise ValueError(f"{min(map(str, unknown))} is not a column of a leaderboard")
        success, deviation = float(line["success"]), line.get("deviation") or ""
        given: dict[str, Any] = {name: kind(line[name]) for name, kind in GIVEN.items() if line.get(name)}
        shown = f"{success:g} ± {float(deviation):g}" if deviation else f"{success:g}"
        return Entry(find_task(line["task"]).name, line["method"], success, shown, **given)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}, line {number}: not a published number ({error}).") from None


def leaderboard(entries: Iterable[Entry], tasks: Sequence[str] = ()) -> Table:
    """All entries, or those of some tasks, by task and success, best first."""
    wanted = {find_task(task).name for task in tasks}
    chosen = [entry for entry in entries if not wanted or entry.task in wanted]
    chosen.sort(key=lambda entry: (entry.task, -entry.success, entry.method))
    shown = [[_text(entry, name) for name in COLUMNS] for entry in chosen]
    heading = ["success" if name == "shown" else "GB" if name == "gigabytes" else name for name in COLUMNS]
    return Table(heading, shown, notes=[MEANING], as_csv=Table(Entry._fields, chosen), if_empty="no number for these tasks.")


COLUMNS = tuple(name for name in Entry._fields if name != "success")


def _text(entry: Entry, name: str) -> str:
    value = getattr(entry, name)
    if value is None:
        return ""
    return f"{value:.1f}" if name in ("minutes", "gigabytes") else f"{value:.0f}" if isinstance(value, float) else str(value)
