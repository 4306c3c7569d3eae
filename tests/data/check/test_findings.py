"""Findings: each appears on data made to have it, and none on clean data."""

import time
from dataclasses import replace

import numpy as np
import pytest
import recorded_arm as arm

from conftest import walk
from mvl.data.check.findings import looks_wrong
from mvl.data.dataset import Dataset
from mvl.data.signals import Signal, Signals

NAMES = Signals(
    observations=(Signal("joints", ("j0", "j1", "j2"), "rad"), Signal("width", ("width",), "m")),
    actions=(Signal("deltas", ("d0", "d1", "d2"), "rad"),),
)


def changed(change, signals=None, **sizes):
    """What looks wrong after a change of observations and actions of every episode."""
    return looks_wrong(arm.dataset([change(states, actions) for states, actions in arm.clean(**sizes)], signals))


@pytest.mark.parametrize("seed", [0, 1])
def test_nothing_is_wrong_with_clean_demonstrations(seed):
    assert looks_wrong(arm.dataset(arm.clean(seed=seed), NAMES)) == []


def test_nothing_is_wrong_with_random_walks():
    assert looks_wrong(walk(episodes=40, rows=200)) == []


def test_nothing_is_wrong_with_a_generated_maze(tmp_path):
    from mvl.data.sources.npz import load
    from mvl.tasks import find_task
    from mvl.tasks.datasets import generate

    train, _ = generate(find_task("pointmaze-medium-navigate-v0"), tmp_path, seed=0, episodes=4, workers=1, overwrite=False)
    assert looks_wrong(load(train)) == []


def test_nothing_is_wrong_with_velocities_as_actions():
    """An action that is the next velocity in the observations is not a position."""
    assert changed(lambda states, actions: (np.hstack([states, np.roll(actions, 1, axis=0)]), actions)) == []


def test_small_actions():
    found = changed(lambda states, actions: (states, 0.06 * actions), NAMES)
    assert found == ["d0, d1, d2 reach at most 0.06 of [-1, 1]: use --rescale"]
    uneven = changed(lambda states, actions: (states, actions * [1, 1, 0.01]), NAMES)
    assert uneven == ["d2 reach at most 0.01 of [-1, 1]: use --rescale"]


def test_images_and_nothing_else():
    (found,) = looks_wrong(walk(episodes=4, rows=60, dimensions=300)) or [""]
    assert found == "columns as wide as a flattened image (observations has 300): name others with --observations"


def test_images_in_columns():
    pixels = np.random.default_rng(0).integers(0, 255, (150, 300))
    names = NAMES._replace(observations=(*NAMES.observations, Signal("camera", tuple(f"camera_{i}" for i in range(300)))))
    (found,) = changed(lambda states, actions: (np.hstack([states, np.roll(pixels, len(states))]), actions), names)
    assert found == "columns as wide as a flattened image (camera has 300): leave them out with --drop camera"


def test_constant_columns():
    still = lambda states, actions: (np.hstack([states, np.full((len(states), 1), 3.0)]), actions)
    assert changed(still) == ["observations that never change: observations_4: leave them out with --drop observations_4"]
    still = lambda states, actions: (states, np.hstack([actions, np.full((len(states), 1), 0.5)]))
    assert changed(still) == ["actions that never change: actions_3: leave them out with --drop actions_3"]


def test_columns_that_are_there_twice():
    (found,) = changed(lambda states, actions: (np.hstack([states, states[:, :1]]), actions))
    assert found.startswith("observations that are there twice: observations_4 = observations_0: ")
    assert found.endswith("--drop observations_4")


def with_gripper(states, actions):
    return states, np.hstack([actions, np.where(states[:, 3:] > 0.04, 1.0, -1.0)])


def test_a_gripper_that_is_left_continuous():
    assert changed(with_gripper) == ["actions_3 takes 2 values: learn a choice with --discrete actions_3"]
    discrete = NAMES._replace(actions=(*NAMES.actions, Signal("grip", ("grip",), levels=(-1.0, 1.0))))
    assert (
        changed(lambda *pair: (with_gripper(*pair)[0], with_gripper(*pair)[1] * [1, 1, 1, 0.5] + [0, 0, 0, 0.5]), discrete) == []
    )


@pytest.mark.parametrize("rows", [2, 3])
def test_a_rate_that_is_too_high(rows):
    repeated = lambda states, actions: (np.repeat(states, rows, axis=0), np.repeat(actions, rows, axis=0))
    assert changed(repeated) == [f"every observation is there for about {rows} rows, so the rate is too high: use --every {rows}"]


def test_pauses():
    paused = lambda states, actions: (np.repeat(states, [1] * 100 + [9] + [1] * 49, axis=0), np.zeros((158, 3)) + np.eye(158, 3))
    assert any("5% of the transitions do not move" in line for line in changed(paused))


@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_observations_and_actions_swapped(scale):
    """What were deltas are the observations, and the positions the actions, possibly rescaled."""
    (found,) = changed(lambda states, actions: (actions, scale * np.clip(states[:, :3], -1, 1)))
    assert found.startswith("observations and actions seem swapped (observations are the changes of actions)")


def next_position(states, actions):
    return states, np.vstack([states[1:, :3], states[-1:, :3]]) / 2


def test_actions_that_are_the_next_position():
    pairs = [next_position(*pair) for pair in arm.clean()]
    rescaled = replace(arm.dataset(pairs, NAMES), action_range=np.array([[-2.0] * 3, [2.0] * 3]))
    (found,) = looks_wrong(rescaled)
    assert found.startswith("actions that are the next position rather than a change of it (d0, d1, d2: d0 is where j0 goes)")
    assert found.endswith("use --deltas")


def test_actions_that_lead_by_several_rows():
    """A leader arm that its follower tracks with a delay."""
    late = lambda states, actions: (np.vstack([states[:1]] * 4 + [states[:-4]]), np.clip(states[:, :3], -1, 1))
    (found,) = changed(late)
    assert found.endswith("use --deltas")


def test_positions_swapped_with_the_next_ones():
    (found,) = changed(lambda states, actions: (np.vstack([states[1:], states[-1:]]), np.clip(states[:, :3], -1, 1)))
    assert found.startswith("observations and actions seem swapped (actions_0 is what observations_0 was before)")


def test_actions_that_repeat_the_observation():
    (found,) = changed(lambda states, actions: (np.clip(states, -1, 1), np.clip(states[:, :3], -1, 1)))
    assert found.endswith("take the changes instead with --actions-from observations_0 observations_1 observations_2")


@pytest.mark.parametrize(("turn", "name"), [(2 * np.pi, "2 pi"), (360.0, "360")])
def test_angles_that_wrap(turn, name):
    def turning(states, actions):
        angle = 0.4 * turn + 0.5 * turn * np.linspace(0, 1, len(states)) * np.sign(states[-1, 0]) + 0.01 * turn * states[:, 0]
        return np.hstack([states, (angle[:, None] + turn / 2) % turn - turn / 2]), actions

    (found,) = changed(turning)
    assert found == (f"angles that wrap (observations_4 jumps by {name}): store sine and cosine with --wrap observations_4")


def test_an_arm_of_angles_alone_has_no_missing_ends():
    """The jump of an angle that wraps is no long step, also where no other dimension tells."""
    rows = np.linspace(0, 4 * np.pi, 400)
    turning = [(((rows + start)[:, None] + np.pi) % (2 * np.pi) - np.pi, np.sin(rows + start)[:, None]) for start in range(5)]
    (found,) = looks_wrong(arm.dataset(turning))
    assert found.startswith("angles that wrap (observations_0 jumps by 2 pi)")


def test_flags_and_slowing_down_are_no_missing_ends():
    assert changed(lambda states, actions: (np.hstack([states, states[:, 3:] > 0.04]), actions)) == []
    places = np.random.default_rng(0).uniform(-1, 1, (12, 2))
    approach = [place * 0.9 ** np.arange(60)[:, None] for place in places]
    assert looks_wrong(arm.dataset([(states, np.vstack([-states[:-1], [[0.5, 0.5]]])) for states in approach])) == []


def test_an_end_that_is_missing():
    pairs = arm.clean()
    states, actions = np.vstack([pairs[0][0] + 3, pairs[1][0]]), np.vstack([pairs[0][1], pairs[1][1]])
    (found,) = looks_wrong(arm.dataset([(states, actions), *pairs[2:]]))
    assert found.startswith("1 steps over 20 times the median, first at row 149: an episode end missing?")


def test_episodes_that_never_meet():
    numbers = np.eye(12)
    numbered = lambda i, states: np.hstack([states, np.tile(numbers[i], (len(states), 1))])
    (found,) = looks_wrong(arm.dataset([(numbered(i, states), actions) for i, (states, actions) in enumerate(arm.clean())]))
    assert found.startswith("episodes never come near each other (their closest states are ")
    only = "observations_4, observations_5, observations_6, observations_7 and 8 more"
    assert found.endswith(f"nothing to stitch: --drop what only tells episodes apart ({only})")
    far = [(states + 20 * i, actions) for i, (states, actions) in enumerate(arm.clean())]
    (found,) = looks_wrong(arm.dataset(far))
    assert found.endswith("record episodes that share states")


def test_a_million_rows_are_looked_at_within_seconds():
    generator = np.random.default_rng(0)
    steps = generator.integers(-100, 100, (1000, 1000, 8), dtype=np.int8)
    data = Dataset.from_arrays(
        np.cumsum(steps, axis=1, dtype=np.float32).reshape(-1, 8),
        generator.random((1_000_000, 4), np.float32),
        np.arange(1_000_000) % 1000 == 999,
    )
    start = time.process_time()
    looks_wrong(data)
    assert time.process_time() - start < 5  # 1.5 s
