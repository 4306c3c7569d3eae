"""A table of success with and without a planner, for runs that are finished: the same checkpoints and episodes, played twice."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from mvl.planning.roadmap import Roadmap
from mvl.recipes.presets import PlannerName
from mvl.results.results import Result, estimate_text
from mvl.results.shortest_paths import geodesic
from mvl.results.statistics import Estimate, estimate
from mvl.results.table import Table
from mvl.runs.evaluation import evaluate
from mvl.runs.folder import RunFolder
from mvl.runs.measuring import measured_once
from mvl.runs.planning import new_followers, planner_of
from mvl.runs.restore import restore
from mvl.tasks.maze import Maze
from mvl.types import CountsSteps

EPISODES = 50
"""Per task."""
NODES = 32
"""Nodes whose edges are compared with the map."""
AROUND = 2.0
"""An edge leads through a wall if the way around is this many times as long as the straight line."""
MEANING = (
    f"Success in percent of the last checkpoint, {EPISODES} episodes per task, mean over seeds with a 95 % interval (Student's): "
    "with the goal itself (plain), and with sub-goals from a graph (planned). edges: per node; unit: what the value counts for "
    "one step of the data; walls: percent of the edges that lead through a wall (the way around is over twice as long as the "
    "straight line); parts: how many the graph falls into without its longer edges; build: seconds to build a graph."
)
MEASURED = ("edges", "unit", "walls", "parts", "build")
"""What is measured of each graph."""
NOTHING = "no finished run of this table has a value that counts steps, which a planner needs."


def planned_table(found: Sequence[Result], report: Callable[[str], None]) -> Table:
    """A row for each result whose runs can plan; playing takes about a minute a run."""
    finished = [result for result in found if result.cell.part == "overall" and result.seeds]
    rows, csv_rows = [], []
    for number, result in enumerate(finished, 1):
        report(f"comparing with and without a plan: {number}/{len(finished)}")
        measured = [plans_of(run) for run in sorted({seed.run for seed in result.seeds})]
        known = [one for one in measured if one]
        if not known:
            continue
        plain, planned = ([100 * value for one in known for value in one[name]] for name in ("plain", "planned"))
        sizes = [_mean([value for one in known for value in one[name]]) for name in MEASURED]
        place = result.cell.row, result.cell.column
        shown = [estimate_text(_percent(values), len(values)) for values in (plain, planned)]
        edges, unit, walls, parts, build = sizes
        percent = "" if walls is None else f"{100 * walls:.1f}"
        rows.append([*place, *shown, f"{edges:.0f}", f"{unit:.2f}", percent, f"{parts:.1f}", f"{build:.1f}", len(planned)])
        texts = [" ".join(f"{value:.2f}" for value in values) for values in (plain, planned)]
        csv_rows.append([*place, len(planned), *_percent(plain), *_percent(planned), *texts, *sizes])
    ends = [f"{kind}_{name}" for kind in ("plain", "planned") for name in Estimate._fields]
    columns = ["row", "column", "seeds", *ends, "plain_per_seed", "planned_per_seed", *MEASURED]
    names = ("row", "column", "plain", "planned", *MEASURED, "seeds")
    return Table(names, rows, notes=[MEANING], as_csv=Table(columns, csv_rows), if_empty=NOTHING)


def _mean(values: list[float | None]) -> float | None:
    """The mean of the values that are known."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _percent(values: list[float]) -> Estimate:
    return estimate(values, (0.0, 100.0))


def plans_of(run: Path) -> dict[str, Any] | None:
    """Success of a run's seeds with and without a plan; played once for a checkpoint and saved in the run's folder.

    None if the run cannot plan, or if it has neither a checkpoint nor a saved result.
    """
    known: dict[str, Any] | None = measured_once(run, RunFolder(run).plans_file, measure_plans)
    return known


def measure_plans(run: Path) -> dict[str, Any] | None:
    """The same for a run with a checkpoint, played now."""
    description, learner, state = restore(run)
    if not description.task.simulated or not isinstance(learner.recipe.value, CountsSteps):
        return None
    graph = planner_of(description.experiment.schedule, "graph")
    assert graph is not None, "named above"
    began = time.monotonic()
    maps = [follower.map for follower in new_followers(run, description, learner, state, graph)]
    build = (time.monotonic() - began) / len(maps)
    plans: dict[str, PlannerName] = {"plain": "none", "planned": "graph"}
    success = {
        name: [round(float(value), 6) for value in evaluate(run, episodes=EPISODES, plan=plan).overall]
        for name, plan in plans.items()
    }
    edges = [round(one.edges.nnz / one.edges.shape[0], 3) for one in maps]
    task = description.task
    walls = [round(through_walls(one, task.maze()), 6) if task.maze and task.metric else None for one in maps]
    units, parts = [round(one.unit, 6) for one in maps], [parts_of(one, graph.steps) for one in maps]
    return {**success, "edges": edges, "unit": units, "walls": walls, "parts": parts, "build": [round(build, 2)] * len(maps)}


def parts_of(roadmap: Roadmap, near: float) -> int:
    """How many parts of a graph have ways between all of their nodes along edges of at most this length."""
    edges = roadmap.edges.tocoo()
    short = edges.data <= near
    kept = csr_matrix((edges.data[short], (edges.row[short], edges.col[short])), shape=edges.shape)
    return int(connected_components(kept, directed=True, connection="strong", return_labels=False))


def through_walls(roadmap: Roadmap, maze: Maze) -> float:
    """Share of the edges to evenly spaced nodes that lead through a wall, as far as the map knows the way around."""
    positions = roadmap.goals[:, :2]
    x, y, _ = maze.grid()
    columns, rows = (np.abs(grid[None] - positions[:, [axis]]).argmin(axis=1) for axis, grid in enumerate((x, y)))
    incoming = roadmap.edges.tocsc()
    straight, around = [], []
    for node in np.linspace(0, len(positions) - 1, min(NODES, len(positions))).astype(int):
        starts = incoming[:, [node]].nonzero()[0]
        straight.append(np.linalg.norm(positions[starts] - positions[node], axis=1))
        around.append(geodesic(maze, positions[node])[rows[starts], columns[starts]])
    lines, ways = np.concatenate(straight), np.concatenate(around)
    known = np.isfinite(ways)
    return float((ways[known] > AROUND * lines[known] + maze.spacing).mean()) if known.any() else 0.0
