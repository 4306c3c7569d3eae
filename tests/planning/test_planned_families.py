"""Plans of every kind of value that counts steps, with goals that are fewer numbers than states."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from conftest import small_recipe, walk
from mvl.data.dataset import Dataset
from mvl.evaluation.acting import as_act, batched_act
from mvl.learn.learner import Learner
from mvl.planning.following import Follower
from mvl.planning.graph import Places, build
from mvl.planning.roadmap import Graph
from mvl.planning.values import steps_function
from mvl.runs.data import shapes_of


@pytest.mark.parametrize("name", ["gcivl-slope", "hiql-mvl", "gciql", "qrl", "tdp"])
def test_oracle_goals_are_planned_for(name):
    walked = walk(dimensions=3)
    data = Dataset(walked.observations, walked.actions, walked.ends, oracle=walked.observations[:, :2] * 2)
    learner = Learner(small_recipe(name).fit(data.statistics), shapes_of(data))
    params = learner.init(jnp.asarray(0)).params
    graph, steps = Graph(nodes=20, steps=3), steps_function(learner, params)
    roadmap = build(graph, Places.draw(graph, data, data), steps)
    assert np.array_equal(roadmap.goals, 2 * roadmap.observations[:, :2])
    follower = Follower(graph, roadmap, steps, lambda text: None)
    act = as_act(batched_act(learner, 1, 0.0), jax.tree.map(lambda leaf: leaf[None], params), [follower])
    observations, goals = data.observations[None, :4], data.oracle[None, 50:54]
    actions = act(observations, goals, np.arange(4), 0, np.zeros((1, 4), bool))
    assert actions.shape == (1, 4, 3)
    assert np.isfinite(actions).all()
    known = np.concatenate([roadmap.goals, goals[0]])
    assert all((known == pursued).all(axis=1).any() for pursued in follower.subgoals(observations[0]))
