"""Robots: a simulator, a recorded log, and one of the user's own."""

import gymnasium
import numpy as np
import pytest
from serving import FAR, write_far

from conftest import walk, write_npz
from mvl.data.actions import ActionUnits
from mvl.deploy.robot import DryRobot, LoggedRobot, RecordedRobot, SimulatedRobot, make_robot
from mvl.errors import DataError, UsageError
from mvl.tasks import Task
from mvl.tasks.simulator import Start


class Plane(gymnasium.Env):
    """A point that actions move, in units from -2 to 2; episodes end at the goal."""

    observation_space = gymnasium.spaces.Box(-9, 9, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-2, 2, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = np.zeros(2, np.float32)
        return self.place, {"goal": np.float32([4, 0])}

    def step(self, action):
        self.place = self.place + np.asarray(action, np.float32)
        reached = bool(np.linalg.norm(self.place - [4, 0]) < 0.5)
        return self.place, 0.0, reached, False, {"success": reached}


class Gripper(Plane):
    def hold_action(self):
        return np.float32([0, 1])


def simulated(env=Plane):
    return SimulatedRobot(Task(env=env, data="none.npz", action_units=ActionUnits(((-2.0, -2.0), (2.0, 2.0)))), Start(1, 0))


def test_a_simulator_moves_by_one_step_for_each_command_in_its_own_units():
    with simulated() as robot:
        assert robot.read()["observation"].tolist() == [0, 0]
        assert robot.read()["goal"].tolist() == [4, 0]
        robot.send(np.float32([1.5, 0.5]))
        assert np.allclose(robot.read()["observation"], [1.5, 0.5])
        robot.hold()
        assert np.allclose(robot.read()["observation"], [1.5, 0.5])
        robot.stop()
        assert str(robot).endswith("did not reach its goal")
        robot.send(np.float32([2, -0.5]))
        robot.send(np.float32([0.5, 0]))
        assert robot.read() is None
        assert str(robot).endswith("none.npz: reached its goal")


def test_an_environment_may_say_how_it_holds():
    with simulated(Gripper) as robot:
        robot.hold()
        assert np.allclose(robot.read()["observation"], [0, 1])


def test_a_log_is_replayed_row_by_row(tmp_path):
    data = walk(episodes=1, rows=3)
    with LoggedRobot(write_npz(tmp_path / "log.npz", data)) as robot:
        for row in data.observations:
            assert robot.read()["observation"].tolist() == row.tolist()
            robot.send(np.zeros(2))
        assert robot.read() is None
        assert str(robot).endswith("log.npz: 3 of 3 rows replayed")


def test_a_log_is_replayed_in_the_units_of_its_source(tmp_path):
    data = walk(episodes=1, rows=3)
    with LoggedRobot(write_far(tmp_path / "log.npz", data)) as robot:
        assert np.allclose(robot.read()["observation"] - FAR, data.observations[0], atol=1e-8)


def test_what_is_read_and_sent_is_recorded(tmp_path):
    with RecordedRobot(simulated()) as robot:
        robot.read()
        robot.hold()
        robot.read()
        robot.send(np.float32([1, 0]))
        robot.read()
    robot.save(tmp_path / "record.npz")
    with np.load(tmp_path / "record.npz") as found:
        assert found["observation"].tolist() == [[0, 0], [0, 0]]
        assert np.isnan(found["action"][0]).all()
        assert found["action"][1].tolist() == [1, 0]
        assert len(found["time"]) == 2


def test_nothing_recorded_is_an_empty_file(tmp_path):
    RecordedRobot(simulated()).save(tmp_path / "record.npz")
    with np.load(tmp_path / "record.npz") as found:
        assert list(found) == []


def test_a_dry_robot_is_only_read_from():
    said = []
    with simulated() as inner:
        robot = DryRobot(inner, said.append)
        robot.read()
        robot.send(np.float32([1, 0]))
        robot.hold()
        robot.stop()
        assert inner.read()["observation"].tolist() == [0, 0]
        assert "nothing was sent" in str(robot)
    assert said == ["observation [0. 0.]  goal [4. 0.] -> action [1. 0.]"]


def test_a_robot_of_ones_own_is_found_by_its_import_path(tmp_path, monkeypatch):
    (tmp_path / "my_arm.py").write_text("def make():\n    return 'an arm'\n")
    monkeypatch.chdir(tmp_path)
    assert make_robot("my_arm:make", Start(1, 0)) == "an arm"


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("arm", UsageError, "no robot 'arm'; give sim:TASK, log:FILE.npz, or module:function"),
        ("sim:pointmaze-medum", UsageError, "no task named"),
        ("log:nothing.npz", DataError, "does not exist"),
        ("no_such_module:make", UsageError, "no module 'no_such_module'"),
    ],
)
def test_what_is_no_robot_is_told(name, error, said):
    with pytest.raises(error, match=said):
        make_robot(name, Start(1, 0))


def test_a_goal_that_the_task_does_not_have_is_told():
    with pytest.raises(UsageError, match="has goals 1 to 5, not 6"):
        make_robot("sim:pointmaze-medium-navigate-v0", Start(6, 0))
