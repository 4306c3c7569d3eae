import jax
import numpy as np
import pytest

from conftest import small_recipe
from mvl.learn.learner import Learner
from mvl.learn.loop import NonFiniteLossError, check_finite, dispatches, initial_state
from mvl.types import Shapes

SHAPES = Shapes(2, 2, 2)


def last(seeds, rows, steps=20, per_call=10):
    learner = Learner(small_recipe("gcivl-mvl"), SHAPES)
    for state, columns in dispatches(learner, initial_state(learner, seeds), rows, steps, per_call):  # noqa: B007
        pass
    return state, columns


def test_a_seed_trained_with_others_equals_the_same_seed_alone_to_float_tolerance(rows):
    """A batched product may add in another order, so the comparison is to 1e-5 after 20 steps, not bitwise."""
    together, _ = last([3, 4, 5], rows)
    for index, seed in enumerate([3, 4, 5]):
        alone, _ = last([seed], rows)
        for a, b in zip(jax.tree.leaves(together), jax.tree.leaves(alone), strict=True):
            assert np.allclose(np.asarray(a)[index], np.asarray(b)[0], atol=1e-5)


def test_the_same_seed_twice_is_bitwise_equal(rows):
    for a, b in zip(jax.tree.leaves(last([1, 2], rows)), jax.tree.leaves(last([1, 2], rows)), strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def test_metrics_have_a_row_per_seed_and_a_column_per_step(rows):
    state, columns = last([0, 1], rows)
    assert state.step.tolist() == [20, 20]
    assert all(column.shape == (2, 10) for column in columns.values())
    assert {"value/loss", "policy/loss", "regularizer/loss", "regularizer/active"} <= columns.keys()


def test_non_finite_loss_names_the_first_part_and_step():
    fine = np.zeros((2, 4))
    broken = fine.copy()
    broken[1, 2:] = np.nan
    later = fine.copy()
    later[:, 3] = np.inf
    columns = {"value/loss": later, "regularizer/loss": broken, "policy/loss": fine, "value/mean": fine * np.nan}
    with pytest.raises(
        NonFiniteLossError,
        match=r"regularizer became non-finite at step 103 \(one step before: value 0, regularizer 0, policy 0\)",
    ):
        check_finite(columns, 100)
    check_finite({"value/loss": fine}, 0)
