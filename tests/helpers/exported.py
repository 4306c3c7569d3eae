"""Untrained runs of every kind with a graph of their own values, for tests of exported policies."""

from dataclasses import replace

import numpy as np
from untrained import untrained

from conftest import small_recipe
from mvl.data.actions import ActionUnits
from mvl.data.inputs import Inputs
from mvl.data.signals import Signal, Signals
from mvl.planning.graph import Places
from mvl.planning.roadmap import Graph
from mvl.recipes.recipe import Learning, make_part
from mvl.runs.folder import RunFolder
from mvl.runs.planning import build_followers
from mvl.runs.restore import restore


def walking_run(path, name, seeds=1):
    """A run of a recipe on states of two dimensions, not trained."""
    return untrained(path, small_recipe(name), seeds=seeds, name=name)


PLACE, YAW = Signal("place", ("x", "y"), "m"), Signal("yaw", ("sin yaw", "cos yaw"), "deg", period=360.0)
SPEED = Signal("speed", ("speed",), "m/s")
CHOICES = Signal("close", ("close",), levels=(10.0, 20.0)), Signal("gear", ("gear",), levels=(-1.0, 0.0, 4.0))
ORIGIN = (5e6, -2e6, 0.0, 0.0)
RANGES = {"observations": {name: [number] * 4 for name, number in (("low", -1.0), ("high", 1.0), ("std", 0.5))}}


def rover_run(path, name="gcivl", history=1, chunk=1, choices=True):
    """A run whose data has all that data may have: names, an origin, an angle that wraps, a rate, limits and levels."""
    recipe = small_recipe(name, learning=Learning(batch_size=16, history=history, chunk=chunk))
    signals = Signals((PLACE, YAW), (SPEED, *(CHOICES if choices else ())), hz=25.0)
    levels = (0, 2, 3) if choices else ()
    limits = (-0.5, 0.0, 0.0)[: len(signals.actions)], (1.5, 1.0, 1.0)[: len(signals.actions)]
    units = ActionUnits(limits, tuple(one.levels for one in signals.actions) if choices else ())
    data = {**Inputs(signals, ORIGIN, ORIGIN).to_json(), **units.to_json(), **RANGES}
    shapes = (4 * history, 5 if choices else 1, 4, 0, history == 1, levels, chunk)
    return untrained(path, recipe, task="rover.npz", simulated=False, shapes=shapes, name=name, data=data)


def choosing_run(path, recipe, levels):
    """A run with one discrete action dimension, of which the policy takes the best level."""
    made = (
        small_recipe(recipe, value=make_part("value", "discrete_q", widths=(16,))) if recipe == "gcivl" else small_recipe(recipe)
    )
    made = replace(made, policy=make_part("policy", "greedy"))
    return untrained(path, made, shapes=(2, 1 if levels == 2 else levels, 2, 0, True, (levels,)), name=recipe)


def with_own_graph(run, nodes=40):
    """Give a run a graph over random states, in which half of all pairs are near as its own value has it."""
    description, learner, state = restore(run)
    draw, shapes = np.random.default_rng(0), learner.shapes
    states, starts = draw.uniform(-2, 2, (2, nodes, shapes.observation)).astype(np.float32)
    goals, ends = draw.uniform(-2, 2, (2, nodes, shapes.goal)).astype(np.float32)
    places = Places(states, goals, starts, ends)
    build_followers(
        description,
        replace(Graph(), nodes=description.experiment.schedule.plan_nodes),
        places,
        learner,
        state,
        RunFolder(run).graph_file,
    )
    return run
