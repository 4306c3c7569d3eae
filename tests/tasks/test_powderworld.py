"""Generated Powderworld data: layout, repeatability, and that strokes are painted as half random, half behaviors."""

import io

import numpy as np
import pytest

from mvl.data.sources import images
from mvl.tasks import Task, find_task, powderworld, task_names
from mvl.tasks.datasets import generate

ELEMENTS = {"easy": 2, "medium": 5, "hard": 8}
CELL = 4
"""Pixels along the side of the brush."""


def task(variant: str) -> Task:
    return find_task(f"powderworld-{variant}-play-v0")


@pytest.fixture(scope="module")
def made():
    """A maker and an episode of each variant."""
    makers = {variant: task(variant).generator() for variant in ELEMENTS}
    return {variant: (maker, maker.episode(0)) for variant, maker in makers.items()}


def strokes(rows) -> np.ndarray:
    """Element, x and y of every whole stroke, (strokes, 3)."""
    whole = len(rows["actions"]) // 3 * 3
    return rows["actions"][:whole].reshape(-1, 3)


def test_names_and_sizes_are_those_of_the_published_sets():
    names = [name for name in task_names() if name.startswith("powderworld")]
    assert names == [f"powderworld-{variant}-play-v0" for variant in ELEMENTS]  # goals are images: no oracle
    assert [task(variant).size for variant in ELEMENTS] == [(1000, 1001, 100), (3000, 1001, 300), (5000, 1001, 500)]


@pytest.mark.parametrize("variant", ELEMENTS)
def test_layout(made, variant):
    rows = made[variant][1]
    assert set(rows) == {"observations", "actions", "terminals"}
    assert rows["observations"].shape == (1001, 32, 32, 6)
    assert rows["observations"].dtype == np.uint8
    assert rows["actions"].shape == (1001,)
    assert rows["actions"].dtype == np.int32
    assert rows["terminals"].dtype == bool
    assert np.flatnonzero(rows["terminals"]).tolist() == [1000]
    elements, x, y = strokes(rows).T
    assert set(elements) == set(range(ELEMENTS[variant]))  # all of them, and no other
    assert set(x) == set(y) == set(range(8))


@pytest.mark.parametrize("variant", ELEMENTS)
def test_what_an_action_says_is_seen_in_the_rows_after_it(made, variant):
    """First the color of the element everywhere, then in the column of x, then the brush's cell has it."""
    observations = made[variant][1]["observations"].astype(int)
    for index, (_, x, y) in enumerate(strokes(made[variant][1])):
        told, placed, painted = observations[3 * index + 1 : 3 * index + 4]
        color = told[0, 0, 3:]
        assert color.any()
        assert (told[..., 3:] == color).all()
        shown = placed[..., 3:].any(axis=(0, 2))
        assert np.flatnonzero(shown).tolist() == list(range(CELL * x, CELL * x + CELL))
        assert not painted[..., 3:].any()
        inside = np.zeros((32, 32), bool)
        inside[CELL * y : CELL * y + CELL, CELL * x : CELL * x + CELL] = True
        inside[[0, -1]] = inside[:, [0, -1]] = False  # the wall around the world stays
        assert np.abs(painted[inside][:, :3] - color).max() <= 1  # the two are rounded apart


def test_an_episode_is_a_function_of_its_seed(made, monkeypatch):
    monkeypatch.setattr(powderworld, "ROWS", 301)
    maker, long = made["hard"]
    one, other, again = (maker.episode(seed) for seed in (0, 1, 0))
    assert all(one[key].tobytes() == again[key].tobytes() for key in one)
    assert one["observations"].tobytes() == long["observations"][:301].tobytes()
    assert not (one["actions"] == other["actions"]).all()


def continued(rows) -> float:
    """Share of strokes of the same element next to the one before, or at its place."""
    before, after = strokes(rows)[:-1], strokes(rows)[1:]
    near = np.abs(after[:, 1:] - before[:, 1:]).sum(axis=1) <= 1
    return np.mean(near & (before[:, 0] == after[:, 0]))


def test_half_of_the_strokes_are_random_each_for_itself(made, monkeypatch):
    """Behaviors go on cell by cell; with half of the strokes random, each for itself, a quarter of the pairs do."""
    maker, mixed = made["hard"]
    monkeypatch.setattr(powderworld, "ROWS", 601)
    monkeypatch.setattr(powderworld, "RANDOM", 0.0)
    drawn = continued(maker.episode(0))
    monkeypatch.setattr(powderworld, "RANDOM", 1.0)
    wild = continued(maker.episode(0))
    assert drawn > 0.7
    assert wild < 0.05
    assert drawn / 8 < continued(mixed) < drawn / 2.5


def test_what_is_done_is_a_fill_a_line_or_a_square_as_one_to_three_to_three(made):
    maker = made["easy"][0]
    np.random.seed(0)
    drawn = [type(maker._begin(None, {})).__name__ for _ in range(3500)]
    counts = [drawn.count(f"{name}Behavior") for name in ("Fill", "Line", "Square")]
    assert np.array(counts) == pytest.approx([500, 1500, 1500], abs=100)


def test_files_have_the_published_density(made):
    """100k rows of easy were 10.4 MB and of hard 71.9 MB."""

    def per_row(variant: str) -> float:
        packed = io.BytesIO()
        np.savez_compressed(packed, **made[variant][1])
        return packed.getbuffer().nbytes / 1001

    assert 50 < per_row("easy") < 200
    assert 400 < per_row("hard") < 1400


def test_files_load_in_ogbench(tmp_path):
    import ogbench

    paths = generate(task("easy"), tmp_path, episodes=1, workers=1)
    train, validation = ogbench.make_env_and_datasets(str(task("easy")), dataset_dir=tmp_path, dataset_only=True)
    assert train["observations"].shape == train["next_observations"].shape == (1000, 32, 32, 6)
    assert train["observations"].dtype == np.uint8
    assert train["actions"].dtype == np.int32
    assert validation["actions"].shape == (1000,)
    assert np.flatnonzero(train["terminals"]).tolist() == [999]
    found = images.load(paths[0])
    assert found.ends.tolist() == [1000]
    assert np.array_equal(np.concatenate(list(found.chunks()))[:-1], train["observations"])
