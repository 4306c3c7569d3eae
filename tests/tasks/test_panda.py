"""The simulated Panda: its kinematics, what an action does, when a job is done, and what disturbances change."""

import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("mujoco")
pytest.importorskip("gymnasium_robotics")

import mujoco

from mvl.errors import MvlError
from mvl.tasks import find_task, panda
from mvl.tasks.panda import arm, job, lab, places
from mvl.tasks.panda.disturbances import IDEAL, Disturbances
from mvl.tasks.panda.environment import CLOSED_BELOW, DELTA, LIFT, NEAR, Panda, make_env
from mvl.tasks.panda.scene import SIDE, scene
from mvl.tasks.simulator import Start

REST, CLOSE = np.append(np.zeros(7), -1.0), np.append(np.zeros(7), 1.0)


@pytest.fixture(scope="module")
def grasp() -> Panda:
    return make_env(job("reach-grasp", False))


@pytest.fixture(scope="module")
def place() -> Panda:
    return make_env(job("pick-place", False))


def disturbed(**changes) -> Panda:
    env = make_env(job("reach-grasp", False), replace(IDEAL, **changes))
    env.reset(seed=0, options={"task_id": 1})
    return env


def turned(alpha, a, theta, d):
    """A transformation by Denavit-Hartenberg parameters in Craig's convention, as in Franka's documentation."""
    (ca, sa), (ct, st) = ((np.cos(angle), np.sin(angle)) for angle in (alpha, theta))
    return np.array([[ct, -st, 0, a], [st * ca, ct * ca, -sa, -d * sa], [st * sa, ct * sa, ca, d * ca], [0, 0, 0, 1]])


def test_the_tip_is_where_frankas_parameters_put_it(grasp):
    quarter = np.pi / 2
    alpha, a = (0, -quarter, quarter, quarter, -quarter, quarter, quarter), (0, 0, 0, 0.0825, -0.0825, 0, 0.088)
    d, joints = (0.333, 0, 0.316, 0, 0.384, 0, 0), np.array([0.3, -0.5, 0.2, -2.0, -0.4, 1.7, 0.9])
    pose = np.eye(4)
    for parameters in zip(alpha, a, joints, d, strict=True):
        pose = pose @ turned(*parameters)
    pose = pose @ turned(0, 0, 0, 0.107) @ turned(0, 0, -np.pi / 4, 0.1034)  # flange, then hand and fingertips
    data = mujoco.MjData(grasp.model)
    data.qpos[:7] = joints
    mujoco.mj_forward(grasp.model, data)
    site = data.site(arm.TIP)
    assert site.xpos == pytest.approx(pose[:3, 3], abs=1e-6)
    assert site.xmat.reshape(3, 3) == pytest.approx(pose[:3, :3], abs=1e-6)


def test_it_is_a_gymnasium_environment(grasp):
    from gymnasium.utils.env_checker import check_env

    check_env(grasp, skip_render_check=True)
    assert grasp.observation_space.shape == grasp.action_space.shape == (8,)
    assert find_task("panda-pick-place-object").make_env().observation_space.shape == (15,)


def test_an_episode_depends_on_its_start_and_actions_alone():
    simulator = find_task("panda-reach-grasp-disturbed").make_simulator()
    actions = np.random.default_rng(0).uniform(-1, 1, (6, 8))

    def seen(goal, seed):
        first, aimed = simulator.reset(Start(goal, seed))
        return np.stack([first, *(simulator.step(action) for action in actions)]), aimed

    paths = {start: seen(*start) for start in ((1, 5), (1, 6), (2, 5))}
    assert np.array_equal(seen(1, 5)[0], paths[1, 5][0])
    assert not np.array_equal(paths[1, 5][0], paths[1, 6][0])
    assert np.array_equal(paths[1, 5][1], paths[1, 6][1])
    assert not np.array_equal(paths[1, 5][1], paths[2, 5][1])


def test_an_action_moves_the_joints_by_its_share_of_the_limit(grasp):
    first, _ = grasp.reset(seed=0)
    action = np.array([1.0, -1.0, 0.5, 0.0, 0.0, 2.0, 0.0, -1.0])
    grasp.step(action)
    for _ in range(6):
        last, *_ = grasp.step(REST)
    wanted = DELTA * np.clip(action[:7], -1, 1)
    assert (last - first)[:7] == pytest.approx(wanted, abs=5e-4)


def test_a_target_does_not_run_away_from_a_blocked_arm(grasp):
    grasp.reset(seed=0)
    for _ in range(60):
        grasp.step(np.array([0, 1.0, 0, 0, 0, 0, 0, -1]))  # down, until it lies on the table or at its limit
    assert np.abs(grasp.target - grasp.data.qpos[:7]).max() <= 0.15 + DELTA


def test_the_gripper_closes_slowly_and_is_seen_as_open_or_closed(grasp):
    grasp.reset(seed=0)
    for step in range(1, 11):
        observation, *_ = grasp.step(CLOSE)
        width = grasp.data.qpos[7:9].sum()
        assert observation[7] == (width < CLOSED_BELOW)
        assert 0.08 - step * 0.005 <= width <= 0.08 - step * 0.005 + 0.006  # the fingers follow their target with a lag
    assert observation[7] == 1


def hold(env, height, fingers=SIDE / 2 - 0.001, aside=0.0):
    """Put the cube between the fingers by hand, `aside` along their way; its lower side is then said to be at a height."""
    env.reset(seed=0, options={"task_id": 1})
    env.data.qpos[:7], env.data.qpos[7:9] = arm.HOME, fingers
    mujoco.mj_forward(env.model, env.data)
    x, y, z = env.tip()
    env.put_object(places.Place(x, y + aside, z, 0.0))
    mujoco.mj_forward(env.model, env.data)
    env.data.xpos[env.cube, 2] = height + SIDE / 2
    return env


def test_a_cube_is_grasped_when_both_fingers_touch_it_above_the_table(grasp):
    assert hold(grasp, LIFT + 0.001).success()
    assert len(grasp.touching()) == 2
    assert not hold(grasp, LIFT - 0.001).success()
    assert not hold(grasp, LIFT + 0.001, fingers=0.04).success()
    one = hold(grasp, LIFT + 0.001, fingers=SIDE / 2 + 0.004, aside=0.005)
    assert len(one.touching()) == 1
    assert not one.success()


def put(env, away=0.0, height=0.0, speed=0.0):
    """Put the cube near its place by hand; the arm is at home."""
    env.reset(seed=0, options={"task_id": 2})
    end = env.layout.end
    env.put_object(end._replace(x=end.x + away, height=SIDE / 2 + height))
    env.data.qvel[-6] = speed
    mujoco.mj_forward(env.model, env.data)
    return env


def test_a_cube_is_placed_when_it_rests_near_its_place(place):
    assert put(place).success()
    assert put(place, away=NEAR - 0.001).success()
    assert not put(place, away=NEAR + 0.001).success()
    assert not put(place, height=0.02).success()
    assert not put(place, speed=0.1).success()


def test_a_cube_that_is_held_at_its_place_is_not_placed(place):
    held = hold(place, 0.0)
    end = held.layout.end
    held.data.xpos[held.cube, :2] = end.x, end.y
    assert len(held.touching()) == 2
    assert not held.success()
    held.fingers = []
    assert held.success()


def test_an_episode_ends_with_success(place):
    simulator = find_task("panda-pick-place").make_simulator()
    simulator.reset(Start(1, 0))
    simulator.step(REST)
    assert simulator.success == [False]
    env = simulator.env.unwrapped
    env.put_object(env.layout.end)
    simulator.step(REST)
    assert simulator.success == [True]
    assert simulator.done


def test_an_unseen_object_stands_where_the_demonstration_of_the_goal_had_it(grasp, place):
    for env in (grasp, place):
        for number, goal in enumerate(places.goals(env.job.name), start=1):
            env.reset(seed=number, options={"task_id": number})
            assert env.layout.start[:2] == pytest.approx(goal.layout.start[:2], abs=0.005)
            assert env.layout.end == goal.layout.end


def test_a_seen_object_stands_anywhere_and_is_to_go_to_the_goals_end():
    env = find_task("panda-pick-place-object").make_env()
    starts = []
    for seed in range(8):
        first, info = env.reset(seed=seed, options={"task_id": 3})
        assert first[8:10] == pytest.approx(env.layout.start[:2])
        assert info["goal"][8:10] == pytest.approx(env.layout.end[:2], abs=NEAR)
        starts.append(env.layout.start[:2])
    assert np.ptp(starts, axis=0).min() > 0.08


def test_goals_without_a_number_are_drawn(grasp):
    drawn = {tuple(grasp.reset(seed=seed)[1]["goal"]) for seed in range(40)}
    assert drawn == {tuple(goal.observation[:8]) for goal in places.goals("reach-grasp")}


def test_every_saved_goal_is_a_plausible_end():
    saved = json.loads(places.GOALS_FILE.read_text())
    assert {name: len(goals) for name, goals in saved.items()} == dict.fromkeys(saved, 5)
    for name, goals in saved.items():
        for goal in goals:
            assert goal["observation"][7] == (0 if "place" in name else 1)
            cube = np.array(goal["observation"][8:11])
            assert np.linalg.norm(cube[:2] - goal["end"][:2]) < 0.02
            assert cube[2] == pytest.approx(goal["end"][2], abs=0.005)


def test_an_ideal_arm_reads_the_truth(grasp):
    seen, _ = grasp.reset(seed=0)
    assert seen == pytest.approx(grasp.state()[:8], abs=1e-6)


def test_noise_is_on_every_reading_of_a_joint():
    env = disturbed(joint_noise=0.01)
    errors = np.array([env.step(REST)[0] - env.state()[:8] for _ in range(40)])
    assert errors[:, :7].std() == pytest.approx(0.01, rel=0.2)
    assert abs(errors[:, :7].mean()) < 0.003
    assert not errors[:, 7].any()


def test_an_offset_stays_for_an_episode():
    env = disturbed(joint_offset=0.02)
    errors = np.array([env.step(REST)[0] - env.state()[:8] for _ in range(3)])
    assert errors[0] == pytest.approx(errors[2], abs=1e-5)
    assert 0.005 < errors[0, :7].std() < 0.05
    first, _ = env.reset(seed=1)
    assert np.abs(first - env.state()[:8] - errors[0])[:7].max() > 0.005


def test_the_objects_position_has_noise_and_offset_of_its_own():
    wanted = replace(IDEAL, object_noise=0.002, object_offset=0.03)
    env = make_env(job("pick-place", True), wanted)
    first, _ = env.reset(seed=0)
    error = first - env.state()
    assert not error[:8].round(6).any()
    assert not error[11:].round(6).any()
    assert 0.003 < np.linalg.norm(error[8:11]) < 0.15
    again = env.step(REST)[0] - env.state()
    assert 0 < np.linalg.norm((again - error)[8:11]) < 0.02


def test_friction_holds_the_joints_back():
    lag = []
    for friction in (0.0, 8.0):
        env = disturbed(friction=friction)
        for _ in range(10):
            env.step(np.array([0.2, 0, 0, 0, 0, 0, 0, -1]))
        lag.append(env.target[0] - env.data.qpos[0])
    assert lag[0] > 0
    assert lag[1] - lag[0] == pytest.approx(8.0 / arm.STIFFNESS[0], rel=0.1)


def test_a_delayed_action_works_steps_later():
    env = disturbed(delay=2)
    before = env.target.copy()
    moves = []
    for action in (np.append(np.ones(7), 1.0), REST, REST, REST):
        env.step(action)
        moves.append((env.target - before)[0])
    assert moves == pytest.approx([0, 0, DELTA, DELTA])


def test_a_dropped_observation_repeats_the_one_before():
    action = np.append(np.ones(7), -1.0)
    env = disturbed(dropped=1.0)
    first = env.seen
    assert all(np.array_equal(env.step(action)[0], first) for _ in range(3))
    env = disturbed(dropped=0.5)
    changed = [not np.array_equal(env.seen, env.step(action)[0]) for _ in range(20)]
    assert 4 < sum(changed) < 16


def test_disturbed_tasks_are_others_only_in_the_environment():
    for name in ("panda-reach-grasp", "panda-pick-place-object"):
        plain, other = find_task(name), find_task(f"{name}-disturbed")
        assert (plain.dataset, plain.goals, plain.episode_limit()) == (other.dataset, other.goals, other.episode_limit())
        assert plain.make_env().disturbances == IDEAL
        assert all(other.make_env().disturbances.__getattribute__(name) for name in Disturbances.__dataclass_fields__)


def test_the_state_at_the_goal_can_be_shown():
    simulator = find_task("panda-reach-grasp").make_simulator()
    _, goal = simulator.reset(Start(4, 0))
    model, data = simulator.goal_state
    tip, cube = data.site(arm.TIP).xpos, data.body("cube").xpos
    assert data.qpos[:7] == pytest.approx(goal[:7])
    assert tip == pytest.approx(cube, abs=0.02)
    assert model is simulator.env.unwrapped.model


def test_environments_of_the_lab_take_radians():
    env = lab.reach_grasp()
    first, _ = env.reset(seed=0)
    env.step(np.array([0.03, 0, 0, 0, 0, 0, 0, 1], np.float32))
    assert (env.unwrapped.target - first[:7])[0] == pytest.approx(0.03, abs=1e-6)
    assert env.unwrapped.opening < 0.04
    assert lab.pick_place_disturbed().unwrapped.disturbances != IDEAL


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(panda, "missing", lambda *modules: [name for name in modules if name == "mink"])
    with pytest.raises(MvlError, match=r"the Panda needs mink; install with: pip install 'mollified-value-learning\[robot\]'"):
        find_task("panda-reach-grasp").make_env()


def test_menagerie_has_the_pinned_model():
    menagerie = pytest.importorskip("mujoco_menagerie")
    assert menagerie.get("franka_emika_panda").oid == arm.MENAGERIE_ID


def test_menageries_arm_is_used_from_a_folder(tmp_path, monkeypatch):
    """The folder has the wheel's arm here, with the names and actuators of Menagerie's."""
    pytest.importorskip("mujoco_menagerie")
    spec = arm.arm_from_wheel()
    spec.modelname = "stand-in"
    spec.add_actuator(name="actuator1", target="joint1", trntype=mujoco.mjtTrn.mjTRN_JOINT)
    spec.compile()
    folder = tmp_path / "franka_emika_panda"
    folder.mkdir()
    (folder / "panda.xml").write_text(spec.to_xml())
    monkeypatch.setenv("MENAGERIE_ROOT", str(tmp_path))
    scene.cache_clear()
    try:
        env = find_task("panda-reach-grasp-menagerie").make_env()
    finally:
        scene.cache_clear()
    assert [env.model.actuator(number).name for number in range(env.model.nu)] == [*arm.JOINTS, *arm.FINGERS]
    first, _ = env.reset(seed=0, options={"task_id": 1})
    assert env.step(REST)[0] == pytest.approx(first, abs=1e-3)


def test_what_menagerie_does_not_have_is_told(tmp_path, monkeypatch):
    menagerie = pytest.importorskip("mujoco_menagerie")
    monkeypatch.setenv("MENAGERIE_ROOT", str(tmp_path))
    with pytest.raises(MvlError, match=r"cannot be had \(.*not found under MENAGERIE_ROOT.*set \$MENAGERIE_ROOT to it"):
        arm.arm_from_menagerie()
    robot = menagerie.get("franka_emika_panda")
    monkeypatch.setattr(menagerie, "get", lambda name: replace(robot, oid="another"))
    with pytest.raises(MvlError, match=r"another model of the Panda .*pip install 'mollified-value-learning\[robot\]'"):
        arm.arm_from_menagerie()
