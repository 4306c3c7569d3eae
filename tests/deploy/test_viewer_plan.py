"""A run that plans, in the viewer: nodes, the first path, and the sub-goal of every step."""

import numpy as np
import pytest
from untrained import untrained_by_name

from mvl.planning.graph import Places, build
from mvl.planning.roadmap import Graph
from mvl.planning.storage import Stored, save
from mvl.runs.folder import RunFolder
from mvl.tasks.simulator import Start

pytest.importorskip("viser")
from mvl.deploy.viewer import recording
from mvl.deploy.viewer.page import Page, serving

TASK = "pointmaze-medium-navigate-v0"


def straight(observations: np.ndarray, goals: np.ndarray) -> np.ndarray:
    """Steps as the crow flies, 0.2 long."""
    return np.linalg.norm(observations - goals, axis=-1) / 0.2


@pytest.fixture
def run(tmp_path):
    """An untrained run with a graph of straight distances."""
    made = untrained_by_name(tmp_path / "run", TASK)
    nodes = np.random.default_rng(0).uniform(0, 20, (2000, 2)).astype(np.float32)
    places = Places(nodes, nodes, nodes[:5], nodes[:5] + np.float32([2, 0]))
    graph = Graph()
    save(RunFolder(made).graph_file, Stored(graph, places, [build(graph, places, straight)], 0))
    return made


def test_the_subgoal_moves_with_the_steps(run, monkeypatch):
    monkeypatch.setattr(recording, "starts", lambda *_: [Start(1, 0)])
    made = recording.record(run, 1, 0, plan="graph")
    ((plan,),), ((episode,),) = made.plans, made.episodes
    assert plan.nodes.shape == (2000, 2)
    assert plan.subgoals.shape == (episode.length, 2)
    assert np.allclose(plan.path[-1], episode.goal)
    with serving("127.0.0.1", None) as server:
        page = Page(server, [made])
        (stage,) = page.stages
        assert np.allclose(stage.subgoal.position[:2], plan.subgoals[0])
        stage.at(episode.length)
        assert np.allclose(stage.subgoal.position[:2], plan.subgoals[-1])


def test_without_a_plan_there_is_none(run, monkeypatch):
    monkeypatch.setattr(recording, "starts", lambda *_: [Start(1, 0)])
    assert recording.record(run, 1, 0).plans == []
