"""A rover far from zero, from its files to its policy: names, units, rate, origin, an angle that wraps and a gripper."""

import json

import gymnasium
import numpy as np
import pytest

import mvl
from conftest import small_recipe
from mvl.data.imports.changes import Changes
from mvl.data.imports.importing import import_data
from mvl.data.inputs import Inputs
from mvl.data.signals import dimension_names
from mvl.data.sources.episodes import ColumnNames
from mvl.errors import UsageError
from mvl.tasks.simulator import Start

FAR, STEP = 5e6, 0.35
SHORT = {"steps": 20, "log_every": 10, "eval_every": 20, "save_every": 20, "steps_per_dispatch": 10, "eval_episodes": 2}


class Rover(gymnasium.Env):
    """Drives in 0.35 m steps, 5,000,000 m from zero; an observation is x and the heading in degrees."""

    action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        self.x = FAR
        return np.array([self.x, 90.0]), {"goal": np.array([FAR + 3 * STEP, 90.0])}

    def step(self, action):
        self.x += STEP
        return np.array([self.x, 90.0]), 0.0, False, False, {}


def arrived(state, goal):
    """Whether it is at the goal, in its own units: float32 would not tell."""
    return abs(state[0] - goal[0]) < 0.1


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rover")
    (folder / "demos").mkdir()
    generator = np.random.default_rng(0)
    for index in range(10):
        way = generator.choice([-1.0, 1.0], 40)
        x = FAR + STEP * np.cumsum(way) - STEP * way
        yaw = (20 * np.cumsum(way)) % 360
        rows = np.column_stack([np.arange(40) / 25, x, yaw, way, generator.uniform(-3, 3, 40)])
        np.savetxt(folder / "demos" / f"{index}.csv", rows, delimiter=",", header="t,x,yaw,way,turn", comments="", fmt="%.17g")
    names = ColumnNames(observations=("x", "yaw"), actions=("way", "turn"), time="t")
    changes = Changes(wrap=("yaw",), units=(("x", "m"), ("yaw", "deg"), ("turn", "deg")))
    import_data(folder / "demos", folder / "rover.npz", columns=names, rescale=True, changes=changes)
    return folder


@pytest.fixture(scope="module")
def run(files):
    task = mvl.Task(env=lambda: gymnasium.wrappers.TimeLimit(Rover(), 3), data=files / "rover.npz", success=arrived)
    return mvl.train(task, small_recipe("bc"), run=files / "run", workers=1, **SHORT)


def test_the_run_knows_names_units_rate_and_origin(run):
    about = json.loads((run / "run.json").read_text())["data"]
    assert about["signals"]["hz"] == 25
    assert about["origin"] == [pytest.approx(FAR, abs=10), 0, 0]
    policy = mvl.load_policy(run)
    assert dimension_names(policy.signals.observations) == ["x (m)", "sin yaw", "cos yaw"]
    assert policy.signals.actions[0].levels == (-1.0, 1.0)


def test_steps_far_from_zero_reach_the_policy(run):
    """Places 0.1 m apart get actions of their own, although float32 cannot tell them apart so far from zero."""
    policy, places = mvl.load_policy(run), FAR + 0.1 * np.arange(5)
    assert len(set(places.astype(np.float32))) == 2
    goal = {"x": FAR, "yaw": 0}
    named = [policy.act({"x": x, "yaw": 90}, goal)[1] for x in places]
    assert len(set(named)) == 5
    assert np.allclose(named, policy.act(np.stack([places, np.ones(5), np.zeros(5)], axis=1), goal)[:, 1], atol=1e-5)
    assert len(set(policy.act({"x": FAR, "yaw": 0}, {"x": x, "yaw": 90})[1] for x in places)) == 5


def test_actions_are_in_the_units_of_the_source(run):
    policy = mvl.load_policy(run)
    found = policy.act({"x": FAR + np.arange(20)[:, None] * STEP, "yaw": 90}, {"x": FAR, "yaw": 0}, temperature=1.0)
    assert found.shape == (20, 2)
    assert set(found[:, 0]) <= {-1.0, 1.0}
    assert 1 < np.abs(found[:, 1]).max() < 10


def test_parts_are_checked(run):
    policy = mvl.load_policy(run)
    with pytest.raises(UsageError, match=r"observation lacks yaw; give x \(1\), yaw \(1\)"):
        policy.act({"x": FAR}, {"x": FAR, "yaw": 0})
    with pytest.raises(UsageError, match="goal 'x' has a value that is not finite"):
        policy.act({"x": FAR, "yaw": 0}, {"x": np.inf, "yaw": 0})
    with pytest.raises(UsageError, match=r"observation has shape \(4,\); its last axis must have length 3"):
        policy.act(np.zeros(4), {"x": FAR, "yaw": 0})


def test_an_environment_far_from_zero_is_judged_in_its_own_units(run):
    evaluations = [json.loads(line) for line in (run / "evaluations.jsonl").read_text().splitlines()]
    assert evaluations[-1]["overall"] == 1.0  # it drives there whatever the policy does


def test_a_simulator_gives_observations_as_the_data_has_them():
    simulator = mvl.Task(env=Rover, success=arrived, inputs=Inputs(origin=(FAR, 0.0), goal_origin=(FAR, 0.0))).make_simulator()
    observation, goal = simulator.reset(Start(1, 0))
    assert observation.tolist() == [0, 90]
    assert goal.tolist() == [pytest.approx(3 * STEP, abs=1e-6), 90]
    steps = [simulator.step(np.zeros(2))[0] for _ in range(3)]
    assert np.allclose(steps, STEP * np.arange(1, 4), atol=1e-6)
    assert simulator.success == [True]


def test_the_report_shows_names_and_rate(run):
    from mvl.report.content import gather
    from mvl.report.sections import one_run

    page = one_run(gather(run, "run", False, lambda done: None), "s0")
    assert "x (m), sin yaw, cos yaw" in page
    assert "25 Hz" in page
