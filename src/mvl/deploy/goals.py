"""Goals of a run by name, kept in its folder: a client of a policy server can then name a goal instead of sending one."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from mvl.data.memory_map import take
from mvl.data.sources import npz
from mvl.deploy.entries import vector
from mvl.errors import DamagedError, MvlError, UsageError, unknown
from mvl.files import atomic, locked, refuse_links
from mvl.runs.folder import Description, RunFolder

LONGEST = 200
"""Most characters of a name."""

Goals = dict[str, np.ndarray]
"""Goals (g,) by name, in the units of the source."""


def load_goals(run: Path, description: Description) -> Goals:
    """The named goals of a run with this description; none if there is no file of them."""
    file = RunFolder(run).goals_file
    if not file.exists():
        return {}
    try:
        found = json.loads(file.read_bytes())
        if not isinstance(found, dict):
            raise ValueError("it is no map of names")
        return {name: _checked(np.asarray(goal, np.float64), description) for name, goal in found.items()}
    except (ValueError, TypeError, RecursionError, UsageError) as error:
        raise DamagedError(f"{file}: cannot be read ({error}); correct it, or remove it.") from None


def add_goal(run: Path, name: str, goal: np.ndarray, overwrite: bool = False) -> None:
    """Keep a goal under a name; a name that exists is refused unless `overwrite` is set."""
    if not 0 < len(name) <= LONGEST or not name.isprintable() or name != name.strip():
        raise UsageError(f"{name[:40]!r} cannot name a goal; use 1 to {LONGEST} printable characters, no space at the ends.")
    with _changing(run) as (goals, description):
        if name in goals and not overwrite:
            raise MvlError(f"{run} has a goal named '{name}' already; choose another name, or replace it with --overwrite.")
        goals[name] = _checked(goal, description)


def remove_goal(run: Path, name: str) -> None:
    """Remove a named goal."""
    with _changing(run) as (goals, _):
        find_goal(goals, name)
        del goals[name]


def find_goal(goals: Goals, name: str) -> np.ndarray:
    """The goal of that name."""
    if len(name) > LONGEST:
        raise UsageError(f"no goal has a name of {len(name)} characters; {LONGEST} are the most.")
    if not goals:
        raise UsageError(f"no goal is named '{name}', and the run has none; add one with: mvl goals add RUN NAME ...")
    if name not in goals:
        raise unknown("goal", name, goals)
    return goals[name]


def goal_from_data(run: Path, file: Path, row: int) -> np.ndarray:
    """A row of a data file as a goal of a run's task, in the units of the source."""
    _, description = RunFolder.open(run)
    data = npz.load(file, description.experiment.task.goal_columns_of_file)
    if not 0 <= row < len(data.observations):
        raise UsageError(f"{file} has rows 0 to {len(data.observations) - 1}, not {row}; choose one of them.")
    rows, origin = (data.observations, data.origin) if data.oracle is None else (data.oracle, data.goal_origin)
    goal: np.ndarray = take(rows, np.array([row]))[0].astype(np.float64)
    return goal if origin is None else goal + origin


@contextmanager
def _changing(run: Path) -> Iterator[tuple[Goals, Description]]:
    """The goals of a run, which are written back when the block ends; other processes wait for that."""
    folder, description = RunFolder.open(run)
    refuse_links(folder.goals_file)
    with locked(run / ".goals.lock", f"waiting for another process that changes the goals of {run}"):
        goals = load_goals(run, description)
        yield goals, description
        text = json.dumps({name: goal.tolist() for name, goal in goals.items()}, indent=1)
        with atomic(folder.goals_file) as partial:
            partial.write_text(f"{text}\n")


def _checked(goal: np.ndarray, description: Description) -> np.ndarray:
    """The goal, if a policy of the run would accept it."""
    vector(goal, "goal", description.shapes.goal, description.inputs)
    return goal
