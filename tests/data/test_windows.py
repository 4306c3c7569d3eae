"""VIP's four points lie in one true episode, in order."""

import jax
import numpy as np

from mvl.batches import BatchRequest, GoalMix
from mvl.data.dataset import Dataset
from mvl.data.goals import draw_windows, on_device, sample

LENGTHS = (2, 3, 4, 50)


def data():
    """Observations are (episode, row in the episode)."""
    rows = [[(episode, row) for row in range(length)] for episode, length in enumerate(LENGTHS)]
    flat = np.array([pair for episode in rows for pair in episode], np.float32)
    ends = np.cumsum(LENGTHS) - 1
    return on_device(Dataset.from_arrays(flat, np.zeros((len(flat), 1)), np.isin(np.arange(len(flat)), ends)))


def test_order_and_borders(key):
    windows = draw_windows(key, data(), 20_000)
    start, here, there, end = (np.asarray(part) for part in windows)
    for part in (here, there, end):
        assert (part[:, 0] == start[:, 0]).all()  # one episode
    long = start[:, 0] == 3
    assert long.any()
    assert (start[long, 1] < end[long, 1]).all()
    assert (start[:, 1] <= here[:, 1]).all()
    assert (here[long, 1] < end[long, 1]).all()
    assert (there[:, 1] == np.minimum(here[:, 1] + 1, end[:, 1])).all()
    last = np.array(LENGTHS)[start[:, 0].astype(int)] - 2
    assert (end[:, 1] <= last).all()  # the last observation is no goal
    assert set(start[long, 1]) == set(range(47))  # 0 .. T - 3, T = 49
    assert set(end[long, 1]) >= set(range(3, 49))


def test_windows_and_goals_are_drawn_only_when_asked_for(key):
    value, actor = GoalMix(), GoalMix(0.0, 1.0, 0.0, False)
    bare = sample(key, data(), 8, (value, actor), BatchRequest(), 0.9)
    assert bare.windows is None
    assert bare.representation_goals is None
    full = sample(key, data(), 8, (value, actor), BatchRequest(GoalMix(0.0, 1.0, 0.0), windows=True), 0.9)
    assert full.windows is not None
    same = (full._replace(windows=None, representation_goals=None), bare)
    for a, b in zip(*map(jax.tree.leaves, same), strict=True):
        assert (np.asarray(a) == np.asarray(b)).all()  # asking for more changes nothing else


def test_representation_goals_are_an_independent_geometric_draw(key):
    stream = GoalMix(0.0, 1.0, 0.0)
    batch = sample(key, data(), 512, (stream, stream), BatchRequest(stream), 0.9)
    drawn = batch.representation_goals.states
    assert (drawn[:, 0] == batch.observations[:, 0]).all()
    assert (drawn[:, 1] >= batch.observations[:, 1]).all()
    assert not (drawn == batch.value_goals.states).all()
