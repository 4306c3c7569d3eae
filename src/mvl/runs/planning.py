"""Planners of a run: built from its data or from its graph file, which is written so that a copied folder plans alone."""

from collections.abc import Callable
from pathlib import Path

import jax

from mvl.files import refuse_links
from mvl.learn.checkpoint import checksum
from mvl.learn.learner import Learner, State
from mvl.planning.following import Follower
from mvl.planning.graph import Places, build
from mvl.planning.roadmap import Graph, Steps
from mvl.planning.storage import Stored, load, save, unusable
from mvl.planning.values import steps_function
from mvl.recipes.presets import PlannerName, Schedule
from mvl.runs.data import data_of
from mvl.runs.folder import Description, RunFolder

Report = Callable[[int, int], None]
"""Called with the number of finished blocks and the number of all."""


def planner_of(schedule: Schedule, plan: PlannerName | None = None) -> Graph | None:
    """The planner that a schedule asks for, or the one named instead; None for none."""
    chosen = schedule.plan if plan is None else plan
    return Graph(nodes=schedule.plan_nodes, steps=schedule.plan_steps) if chosen == "graph" else None


def build_followers(
    description: Description,
    graph: Graph,
    places: Places,
    learner: Learner,
    state: State,
    file: Path,
    report: Report | None = None,
) -> list[Follower]:
    """A planner for each seed of a state, on graphs that are built for its values and written to a file."""
    counts = _steps(learner, state)
    roadmaps = [build(graph, places, steps, report) for steps in counts]
    save(file, Stored(graph, places, roadmaps, int(state.step[0]), _data(description), _values(state)))
    return [Follower(graph, *pair) for pair in zip(roadmaps, counts, strict=True)]


def followers(
    run: Path, description: Description, learner: Learner, state: State, graph: Graph, report: Report | None = None
) -> list[Follower]:
    """A planner for each seed of a run's state: on its stored graph if that fits, otherwise on a new one."""
    file = RunFolder(run).graph_file
    refuse_links(file)
    stored = load(file) if file.exists() else None
    if stored:
        _check_own(stored, description, state, file)
    if stored is None or (stored.graph.nodes, stored.graph.steps) != (graph.nodes, graph.steps):
        return new_followers(run, description, learner, state, graph, report)
    if stored.step == int(state.step[0]) and len(stored.roadmaps) >= len(state.seed):
        return [Follower(graph, *pair) for pair in zip(stored.roadmaps, _steps(learner, state), strict=False)]
    return build_followers(description, graph, stored.places, learner, state, file, report)


def new_followers(
    run: Path, description: Description, learner: Learner, state: State, graph: Graph, report: Report | None = None
) -> list[Follower]:
    """The same on new graphs, which replace the stored one; reads the data of the run."""
    file = RunFolder(run).graph_file
    refuse_links(file)
    places = Places.draw(graph, *data_of(description, None, run), description.fitted.learning.history)
    return build_followers(description, graph, places, learner, state, file, report)


def _check_own(stored: Stored, description: Description, state: State, file: Path) -> None:
    """Refuse the graph of another run, whose plans would be wrong without any other sign."""
    shapes, places = description.shapes, stored.places
    sizes = [array.shape[1] for array in places]
    same_values = not stored.values or all(a == b for a, b in zip(stored.values, _values(state), strict=False))
    if (
        sizes != [shapes.observation, shapes.goal] * 2
        or (stored.data and stored.data != _data(description))
        or (stored.step == int(state.step[0]) and not same_values)
    ):
        raise unusable(file, "it is the graph of another run")


def _data(description: Description) -> tuple[str, ...]:
    """Checksums of the data files of a run; none for arrays."""
    own = description.data["sha256"]
    return (own, *(added["sha256"] for added in description.data.get("added", ()))) if own else ()


def _values(state: State) -> tuple[str, ...]:
    """The checksum of each seed's parameters."""
    return tuple(checksum(jax.tree.map(lambda leaf, index=index: leaf[index], state.params)) for index in range(len(state.seed)))


def _steps(learner: Learner, state: State) -> list[Steps]:
    """Steps as the value of each seed counts them."""
    every = range(len(state.seed))
    return [steps_function(learner, jax.tree.map(lambda leaf, index=index: leaf[index], state.params)) for index in every]
