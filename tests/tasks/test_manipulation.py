"""Generated arm data: layout, repeatability, and that the oracles do what they are there for."""

import numpy as np
import pytest

from mvl.tasks import find_task, manipulation
from mvl.tasks.datasets import generate

pytestmark = pytest.mark.filterwarnings("ignore::glfw.GLFWError", "ignore:.*precision lowered.*")


def episode(name: str, seed: int = 0):
    """A maker and a shorter episode than the published ones."""
    maker = find_task(name).generator()
    return maker, maker.episode(seed)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(manipulation, "ROWS", 401)


def test_sizes_are_those_of_the_published_sets():
    sizes = {name: find_task(name).size for name in ("cube-single-play-v0", "scene-noisy-v0", "puzzle-4x5-play-v0")}
    assert [found.episodes for found in sizes.values()] == [1000, 1000, 3000]
    assert sizes["puzzle-4x5-play-v0"].validation_episodes == 300


@pytest.mark.parametrize(
    ("name", "observation", "extra"),
    [
        ("cube-double-noisy-v0", 37, set()),
        ("scene-play-v0", 40, {"button_states"}),
        ("puzzle-4x4-noisy-v0", 83, {"button_states"}),
    ],
)
def test_layout_and_repeatability(name, observation, extra):
    maker, rows = episode(name)
    assert rows["observations"].shape == (401, observation)
    assert set(rows) == {"observations", "actions", "qpos", "qvel", "terminals"} | extra
    assert {rows[key].dtype for key in ("observations", "actions", "qpos", "qvel")} == {np.dtype(np.float32)}
    assert np.abs(rows["actions"]).max() <= 1
    assert np.flatnonzero(rows["terminals"]).tolist() == [400]
    again, other = maker.episode(0), maker.episode(1)
    assert all((rows[key] == again[key]).all() for key in rows)
    assert not (rows["observations"] == other["observations"]).all()


@pytest.mark.parametrize("kind", ["play", "noisy"])
def test_the_cube_is_put_where_it_should_go(kind):
    maker = find_task(f"cube-single-{kind}-v0").generator()
    env, missed = maker.env, []
    renew = env.set_new_target

    def watched(**settings):
        if settings.get("return_info", True):  # not the one that belongs to the reset
            missed.append(np.linalg.norm(env._data.joint("object_joint_0").qpos[:3] - env._data.mocap_pos[0]))
        return renew(**settings)

    env.set_new_target = watched
    rows = maker.episode(2)
    assert len(missed) >= 2
    assert np.mean(np.array(missed) < 0.04) >= 0.5  # noise may make it drop one
    assert np.ptp(manipulation._cubes(rows["qpos"], 1), axis=0).max() > 1  # a tenth of a meter


def test_buttons_are_pressed_and_drawers_pulled():
    _, puzzle = episode("puzzle-3x3-play-v0")
    presses = np.abs(np.diff(puzzle["button_states"], axis=0)).any(axis=1).sum()
    assert presses >= 8  # about thirty in a thousand rows
    scene = find_task("scene-play-oraclerep-v0")
    oracle = lambda rows: scene.goal(*(rows[column] for column in scene.goal_columns))
    maker = scene.generator()
    moved = np.stack([np.ptp(oracle(maker.episode(seed)), axis=0) for seed in range(3)]).max(axis=0)
    assert (moved[:3] > 0.3).any()
    assert moved[3:].max() >= 1


def test_files_load_in_ogbench(tmp_path):
    import ogbench

    task = find_task("cube-single-play-v0")
    generate(task, tmp_path, episodes=2, workers=1)
    train, validation = ogbench.make_env_and_datasets(str(task), dataset_dir=tmp_path, dataset_only=True)
    assert train["observations"].shape[1] == 28
    assert len(validation["actions"]) > 0


def test_an_episode_in_which_things_fall_is_made_again():
    maker = find_task("cube-single-play-v0").generator()
    verdicts = iter([False, True])
    maker._healthy = lambda rows: next(verdicts)
    rows = maker.episode(0)
    assert next(verdicts, "asked twice") == "asked twice"
    fine = find_task("cube-single-play-v0").generator().episode(0)
    assert not (rows["observations"] == fine["observations"]).all()
    fallen = [{"qpos": np.where(np.arange(21) == 16, -1.0, 0.0)}]
    assert not find_task("cube-single-play-v0").generator()._healthy(fallen)
