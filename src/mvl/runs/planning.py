"""Planners of a run: built from its data or from its graph file, which is written so that a copied folder plans alone."""

from collections.abc import Callable
from pathlib import Path

import jax

from mvl.files import refuse_links
from mvl.learn.learner import Learner, State
from mvl.planning.following import Follower
from mvl.planning.graph import Graph, Places, build
from mvl.planning.storage import Stored, load, save
from mvl.planning.values import steps_function
from mvl.recipes.presets import Schedule
from mvl.runs.data import data_of
from mvl.runs.folder import Description, RunFolder

Report = Callable[[int, int], None]
"""Called with the number of finished blocks and the number of all."""


def planner_of(schedule: Schedule, plan: str | None = None) -> Graph | None:
    """The planner that a schedule asks for, or the one named instead; None for none."""
    chosen = schedule.plan if plan is None else plan
    return Graph(nodes=schedule.plan_nodes, steps=schedule.plan_steps) if chosen == "graph" else None


def build_followers(
    graph: Graph, places: Places, learner: Learner, state: State, file: Path, report: Report | None = None
) -> list[Follower]:
    """A planner for each seed of a state, from graphs that are built for its values and written to a file."""
    steps = [steps_function(learner, jax.tree.map(lambda leaf, i=i: leaf[i], state.params)) for i in range(len(state.seed))]
    roadmaps = [build(graph, places, one, report) for one in steps]
    save(file, Stored(graph, places, roadmaps, int(state.step[0])))
    return [Follower(graph, *pair) for pair in zip(roadmaps, steps, strict=True)]


def followers(
    run: Path, description: Description, learner: Learner, state: State, graph: Graph, report: Report | None = None
) -> list[Follower]:
    """A planner for each seed of a finished run: its stored graph if that fits, otherwise a new one."""
    file = RunFolder(run).graph_file
    refuse_links(file)
    stored = load(file) if file.exists() else None
    if stored is None or (stored.graph.nodes, stored.graph.steps) != (graph.nodes, graph.steps):
        places = Places.draw(graph, *data_of(description, None, run))
    elif stored.step != int(state.step[0]) or len(stored.roadmaps) != len(state.seed):
        places = stored.places
    else:
        steps = [steps_function(learner, jax.tree.map(lambda leaf, i=i: leaf[i], state.params)) for i in range(len(state.seed))]
        return [Follower(graph, *pair) for pair in zip(stored.roadmaps, steps, strict=True)]
    return build_followers(graph, places, learner, state, file, report)
