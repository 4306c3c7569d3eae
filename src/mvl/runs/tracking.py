"""Tracking: the rows of metrics.jsonl and evaluations.jsonl, shown in dashboards while a run trains.

Dashboards are copies. The files of the run are complete without them, and training goes on if one of them fails.
"""

import importlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from mvl.errors import UsageError, unknown
from mvl.extras import TRACKERS, check_trackers
from mvl.files import atomic
from mvl.runs import metrics
from mvl.runs.folder import Description, RunFolder

NONE = "none"
"""Choice of no tracker, also if the folder of a run names some."""
CLASSES = {"tensorboard": "TensorBoard", "wandb": "WeightsAndBiases", "trackio": "Trackio"}
"""The class of each tracker, which is in the file of its name."""
Report = Callable[[str], None]


class Tracker(Protocol):
    """Shows the rows of one run. Its methods may raise any exception."""

    where: str
    """How to look at what was logged, as a text; known after the start."""

    def start(self, run: Path, description: Description, identity: str | None, step: int) -> str:
        """Begin to log, or continue what is known by this identity after a step; returns the identity."""
        ...

    def log(self, step: int, row: dict[str, float]) -> None: ...

    def finish(self) -> None: ...


def chosen(names: str | Sequence[str] | None, run: Path) -> list[str]:
    """The trackers of these names, by default those that the run's folder names; raises if one of them is not installed."""
    given = list(_notes(RunFolder(run))) if names is None else [names] if isinstance(names, str) else list(names)
    for name in given:
        if name not in (*TRACKERS, NONE):
            raise unknown("tracker", name, [*TRACKERS, NONE])
    if NONE in given and len(set(given)) > 1:
        raise UsageError("--track none stands alone; leave out either none or the others.")
    found = [name for name in dict.fromkeys(given) if name != NONE]
    check_trackers(found)
    return found


class Tracking:
    """The trackers of a run. One that fails is turned off, with one warning.

    The last step that each has got is kept in tracking.json. Rows up to it are not logged again when the run is continued: those
    after the checkpoint are computed a second time, with the same results.
    """

    def __init__(self, names: Sequence[str], folder: RunFolder, description: Description) -> None:
        self.names, self.folder, self.description = names, folder, description
        self.running: dict[str, Tracker] = {}
        self.notes = _notes(folder)
        self.report: Report = print

    def start(self, report: Report) -> None:
        """Start the trackers and log the rows that they do not have yet; `report` is told where to look, and of failures."""
        self.report = report
        for name in self.names:
            self._attempt(name, self._start)
        if self.running:
            rows = [row for file in (self.folder.metrics_file, self.folder.evaluations_file) for row in metrics.read(file)]
            for step in sorted({row["step"] for row in rows}):
                self.log(step, [row for row in rows if row["step"] == step])

    def log(self, step: int, rows: Sequence[dict[str, Any]]) -> None:
        """Log all rows of a step, of metrics and evaluations and of all seeds."""
        subtasks = self.description.task.subtasks
        row = flat(rows, len(self.description.experiment.seeds), subtasks)

        def send(name: str) -> None:
            self.running[name].log(step, row)
            self._note(name, {**self.notes[name], "step": step})

        for name in list(self.running):
            if step > self.notes[name]["step"]:
                self._attempt(name, send)

    def finish(self) -> None:
        for name in list(self.running):
            self._attempt(name, lambda name: self.running[name].finish())
        self.running = {}

    def _start(self, name: str) -> None:
        made: Tracker = getattr(importlib.import_module(f"mvl.runs.trackers.{name}"), CLASSES[name])()
        before = self.notes.get(name, {"identity": None, "step": 0})
        identity = made.start(self.folder.path, self.description, before["identity"], before["step"])
        self._note(name, {**before, "identity": identity})
        self.running[name] = made
        self.report(f"tracking with {name}; {made.where}")

    def _attempt(self, name: str, action: Callable[[str], None]) -> None:
        """Call with the name of a tracker; if it fails in any way, warn and go on without it."""
        try:
            action(name)
        except Exception as error:
            self.running.pop(name, None)
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            self.report(f"{name} is off from here on, and training continues: {reason}")

    def _note(self, name: str, entry: dict[str, Any]) -> None:
        self.notes[name] = entry
        with atomic(self.folder.tracking_file) as partial:
            partial.write_text(json.dumps(self.notes, indent=1) + "\n")


def flat(rows: Sequence[dict[str, Any]], seeds: int, subtasks: Sequence[str] = ()) -> dict[str, float]:
    """Numbers by name, from rows of metrics and evaluations; of several seeds each number has a name of its own."""
    found: dict[str, float] = {}
    for row in rows:
        numbers = {name: value for name, value in row.items() if name not in ("step", "seed", "overall", "tasks", "episodes")}
        if "overall" in row:
            names = [name.replace(" ", "_") for name in subtasks] or [f"task{i + 1}" for i in range(len(row["tasks"]))]
            numbers["evaluation/mean_length"] = numbers.pop("mean_length")
            numbers["evaluation/success"] = row["overall"]
            numbers |= {f"evaluation/success_{name}": value for name, value in zip(names, row["tasks"], strict=True)}
        suffix = f"/seed{row['seed']}" if seeds > 1 else ""
        found |= {f"{name}{suffix}": float(value) for name, value in numbers.items()}
    return found


def _notes(folder: RunFolder) -> dict[str, Any]:
    """What tracking.json says of each tracker; a damaged file counts as none."""
    try:
        found = json.loads(folder.tracking_file.read_bytes())
    except (OSError, ValueError):
        return {}
    return {name: found[name] for name in TRACKERS if name in found} if isinstance(found, dict) else {}
