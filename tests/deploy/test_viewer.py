"""Recording episodes for the viewer, and the meshes it makes of a simulation."""

from importlib.util import find_spec

import mujoco
import numpy as np
import pytest
from untrained import untrained_by_name

from mvl.cli import main
from mvl.deploy.viewer import recording
from mvl.deploy.viewer.episodes import physics, play_recorded
from mvl.deploy.viewer.geometry import ground, moving, placed, shapes
from mvl.runs.evaluation import evaluate
from mvl.tasks import find_task
from mvl.tasks.simulator import Start

pytestmark = pytest.mark.filterwarnings("ignore::glfw.GLFWError", "ignore:.*precision lowered.*")
MAZE, CUBE = "pointmaze-medium-navigate-v0", "cube-single-play-v0"
GEOMS = """
<mujoco><asset><mesh name="wedge" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/></asset><worldbody>
  <geom name="floor" type="plane" size="0 0 1"/>
  <geom type="box" size="1 2 3" pos="10 0 0"/>
  <geom type="box" size="9 9 9" group="3"/>
  <geom type="box" size="9 9 9" rgba="1 0 0 0"/>
  <body pos="0 0 5" quat="0.70710678 0 0.70710678 0"><freejoint/>
    <geom type="sphere" size="0.5" rgba="1 0 0 1"/>
    <geom type="ellipsoid" size="1 2 3" rgba="0 1 0 1"/>
    <geom type="capsule" size="0.5 1" rgba="0 0 1 1"/>
    <geom type="cylinder" size="0.5 1" rgba="0 1 1 1"/>
    <geom type="mesh" mesh="wedge" rgba="1 1 0 1"/>
  </body>
</worldbody></mujoco>
"""


def leaving(slot):
    """Ends the episode after one step."""

    def choose(observation, goal, time):
        slot.done = True

    return choose


def test_every_kind_of_geom_becomes_a_mesh_of_its_size():
    model = mujoco.MjModel.from_xml_string(GEOMS)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    poses = np.concatenate([data.xpos, data.xquat], axis=1)
    found = shapes(model, np.round(255 * model.geom_rgba).astype(np.uint8)[None])
    sizes = {shape.geom: np.ptp(shape.vertices, axis=0) for shape in found}
    expected = {1: (2, 4, 6), 4: (1, 1, 1), 5: (2, 4, 6), 6: (1, 1, 3), 7: (1, 1, 2), 8: (1, 1, 1)}
    assert sizes.keys() == expected.keys()  # no floor, nothing that only collides, nothing that cannot be seen
    for geom, size in expected.items():
        assert np.allclose(np.sort(sizes[geom]), np.sort(size), atol=0.06)  # round things have corners
    assert moving(model).tolist() == [False, True]
    (capsule,) = [shape for shape in found if shape.geom == 6]
    assert np.allclose(np.ptp(placed(capsule.vertices, poses[1]), axis=0), (3, 1, 1), atol=0.06)  # it lies on its side
    low, high = ground(model, found, [poses])
    assert low[0] < -3
    assert high[0] > 11
    assert low[2] == high[2] == 0


def test_what_always_has_one_color_is_one_mesh():
    model = mujoco.MjModel.from_xml_string(GEOMS)
    same = np.full((2, model.ngeom, 4), 255, np.uint8)
    assert len(shapes(model, same)) == 2  # what moves, and what does not
    same[1, 4] = 0
    assert len(shapes(model, same)) == 3


def test_the_recorded_point_is_where_it_was_observed():
    slot = find_task(MAZE).make_simulator()
    episode = play_recorded(slot, Start(2, 5), lambda o, g, t: np.array([1.0, 0.2], np.float32))
    model, _ = physics(slot.env)
    assert episode.poses.shape == (episode.length + 1, model.nbody, 7)
    assert np.allclose(episode.poses[:, 1, :2], episode.observations, atol=0.25)  # kinematics are one substep behind
    assert np.ptp(episode.path[:, 0]) > 1
    assert np.allclose(episode.target.tip[:2], episode.goal, atol=1e-5)
    assert episode.step_seconds == pytest.approx(0.1)
    again = play_recorded(slot, Start(2, 5), lambda o, g, t: np.array([1.0, 0.2], np.float32))
    assert (again.poses == episode.poses).all()


def test_the_recorded_arm_and_its_cube():
    slot = find_task(CUBE).make_simulator()
    episode = play_recorded(slot, Start(1, 0), lambda o, g, t: np.array([0, 0, -1, 0, 0], np.float32))
    model, _ = physics(slot.env)
    cube = model.body("object_0").id
    center = (0.425, 0, 0)
    assert np.allclose(episode.path, episode.observations[:, 12:15] / 10 + center, atol=1e-5)  # the hand
    assert np.allclose(episode.poses[:, cube, :3], episode.observations[:, 19:22] / 10 + center, atol=1e-3)
    assert np.allclose(episode.target.poses[cube, :3], episode.goal[19:22] / 10 + center, atol=1e-3)
    assert episode.path[0, 2] - episode.path[:, 2].min() > 0.05  # it went down
    assert episode.step_seconds == pytest.approx(0.05)
    assert episode.success == [False]
    assert episode.length == 200


def test_a_button_has_to_change_its_color():
    slot = find_task("puzzle-3x3-play-v0").make_simulator()
    episode = play_recorded(slot, Start(1, 0), leaving(slot))
    model, _ = physics(slot.env)
    changed = {model.geom(geom).name for geom in np.flatnonzero((episode.target.colors != episode.colors[0]).any(axis=1))}
    assert changed
    assert all(name.startswith("btngeom_") for name in changed)


def test_a_recording_is_what_evaluation_plays(tmp_path):
    run = untrained_by_name(tmp_path / "run", MAZE, "gcivl-mvl")
    told = []
    recorded = recording.record(run, 1, 3, lambda done, total: told.append((done, total)))
    played = evaluate(run, episodes=1, seed=3, workers=1, record=True)
    assert [len(task) for task in recorded.episodes] == [1] * 5
    for (episode,), path, goal in zip(recorded.episodes, played.paths, played.goals[0, :, 0], strict=True):
        assert np.allclose(episode.observations, path, atol=1e-3)
        assert np.allclose(episode.goal, goal)
    assert recorded.mollified
    assert recorded.values[0][0].shape == recorded.maze.grid()[2].shape
    assert told[-1] == (5000, 5000)
    assert told == sorted(set(told))


def test_a_kitchen_at_its_goal():
    pytest.importorskip("gymnasium_robotics")
    slot = find_task("kitchen-partial-v2").make_simulator()
    episode = play_recorded(slot, Start(1, 0), leaving(slot))
    model, _ = physics(slot.env)
    moved = np.abs(episode.target.poses - episode.poses[0]).max(axis=1) > 0.01
    assert {"kettle", "microdoorroot", "slidelink"} <= {model.body(body).name for body in np.flatnonzero(moved)}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    untrained_by_name(folder / "maze", MAZE)
    untrained_by_name(folder / "cube", CUBE)
    untrained_by_name(folder / "file", "pointmaze-of-mine.npz", simulated=False)
    return folder


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere"], "nowhere is not a run folder"),
        (["maze", "maze", "maze"], "at most two runs can be shown side by side; 3 were given"),
        (["maze", "cube"], f"{MAZE} and {CUBE} are different environments; view one run at a time"),
        (["file"], "which has no 3-D environment; choose another run"),
        (["maze", "--episodes", "0"], "--episodes: must be a whole number of at least 1"),
        (["maze", "--host", "no such host"], "cannot listen at no such host"),
        (["maze", "--port", "99999"], "--port: must be a whole number of at least 0 and at most 65535"),
    ],
)
def test_what_cannot_be_shown_is_refused(arguments, complaint, runs, monkeypatch, capsys):
    monkeypatch.chdir(runs)
    assert main(["view", *arguments]) > 0
    assert complaint in capsys.readouterr().err


def test_a_missing_package_is_named(monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "viser" else find_spec(name))
    assert main(["view", "nowhere"]) == 1
    assert capsys.readouterr().err == (
        "mvl: the viewer needs viser; install with: pip install 'mollified-value-learning[view]'\n"
    )


def test_the_panda_its_path_and_its_goal():
    pytest.importorskip("gymnasium_robotics")
    simulator = find_task("panda-pick-place").make_simulator()
    played = play_recorded(simulator, Start(2, 0), leaving_after_a_step(simulator))
    env = simulator.env.unwrapped
    drawn = shapes(env.model, played.colors)
    names = {env.model.body(shape.body).name for shape in drawn}
    assert {f"link{number}" for number in range(8)} | {"hand", "left_finger", "right_finger", "cube", "world"} == names
    assert all(len(shape.faces) > 100 for shape in drawn if env.model.body(shape.body).name.startswith("link"))
    assert played.path[0] == pytest.approx(env.tip(), abs=0.01)
    assert played.target.poses[env.cube, :2] == pytest.approx(env.layout.end[:2], abs=0.01)
    assert played.step_seconds == pytest.approx(1 / 20)


def leaving_after_a_step(simulator):
    simulator.limit = 1
    return lambda observation, goal, time: np.zeros(8)
