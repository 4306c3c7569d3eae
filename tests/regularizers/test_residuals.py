"""The paper's statements about the mollified residual operator R_delta[V], as properties of random value surfaces."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mvl.regularizers.mollified import Mollified
from mvl.types import Field

DIMENSIONS = [1, 2, 5, 30]
SEEDS = range(3)


def mean_length(std: float, dimensions: int) -> float:
    """E|e| of e ~ N(0, std^2 I): the paper's first moment, C_rho delta in its theorem and mu_1 in its last lemma."""
    return std * math.sqrt(2) * math.exp(math.lgamma((dimensions + 1) / 2) - math.lgamma(dimensions / 2))


def random_field(seed: int, dimensions: int, states: int = 16) -> tuple[Field, float]:
    """A surface with kinks, V(s) = sum_i a_i |w_i s + b_i|, and its Lipschitz bound sum_i |a_i| |w_i|."""
    amplitudes, directions, offsets, points = (
        jax.random.normal(key, shape)
        for key, shape in zip(
            jax.random.split(jax.random.key(seed), 4), [(8,), (8, dimensions), (8,), (states, dimensions)], strict=True
        )
    )
    at = lambda points, goals: (jnp.abs(points @ directions.T + offsets) @ amplitudes)[None]
    lipschitz = float((jnp.abs(amplitudes) * jnp.linalg.norm(directions, axis=1)).sum())
    return Field(at, points, jnp.zeros_like(points)), lipschitz


def residuals_of(seed: int, dimensions: int, **settings: float) -> tuple[np.ndarray, float]:
    """Residuals of a random surface, (samples, states), and its Lipschitz bound."""
    field, lipschitz = random_field(seed, dimensions)
    return np.asarray(Mollified(**settings).residuals(field, jax.random.key(seed + 100))[0]), lipschitz


@pytest.mark.parametrize("dimensions", DIMENSIONS)
def test_the_operator_is_bounded_by_slope_plus_one_times_the_mean_length(dimensions):
    """|R_delta[V]| <= (L + 1) C delta, with a margin of five standard errors for the sampled neighbors."""
    for seed in SEEDS:
        residuals, lipschitz = residuals_of(seed, dimensions, samples=500, std=0.3)
        margin = 5 * residuals.std(axis=0).max() / math.sqrt(500)
        assert np.abs(residuals.mean(axis=0)).max() <= (lipschitz + 1) * mean_length(0.3, dimensions) + margin


def test_the_bound_is_attained_by_a_steep_cone():
    """V = -L |s|, seen from its top: every neighbor is lower by L |e|, and costs another |e|."""
    field = Field(lambda points, goals: -3.0 * jnp.linalg.norm(points, axis=-1)[None], jnp.zeros((1, 2)), jnp.zeros((1, 2)))
    found = Mollified(samples=20_000, std=0.3).operator(field, jax.random.key(0))
    assert found.shape == (1, 1)
    assert float(found[0, 0]) == pytest.approx(-4 * mean_length(0.3, 2), rel=0.02)


@pytest.mark.parametrize("dimensions", DIMENSIONS)
def test_where_the_operator_is_not_positive_violations_are_outweighed(dimensions):
    """R_delta <= 0 implies E[positive part] <= E[negative part], and Markov's inequality bounds large violations."""
    seen = 0
    for seed in SEEDS:
        residuals, _ = residuals_of(seed, dimensions, samples=50, std=0.1)
        above, below = np.maximum(residuals, 0).mean(axis=0), np.maximum(-residuals, 0).mean(axis=0)
        consistent = residuals.mean(axis=0) <= 0
        seen += consistent.sum()
        assert (above[consistent] <= below[consistent] + 1e-5).all()
        for threshold in (0.01, 0.1, 1.0):
            assert ((residuals > threshold).mean(axis=0) <= above / threshold + 1e-6).all()
    assert seen > 0


def test_consistency_in_the_mean_does_not_forbid_single_violations():
    """What the theorem does not say: a steep plane satisfies R_delta <= 0, and nearly half of its neighbors violate the bound."""
    plane = Field(lambda points, goals: 20.0 * points[..., 0][None], jnp.zeros((1, 2)), jnp.zeros((1, 2)))
    residuals = Mollified(samples=2000, antithetic=True, std=0.1).residuals(plane, jax.random.key(0))
    assert residuals.mean() < 0
    assert (residuals > 0).mean() > 0.4


@pytest.mark.parametrize("dimensions", [1, 2, 5])
@pytest.mark.parametrize("std", [0.05, 0.5])
def test_on_a_quadratic_the_operator_is_the_laplacian_minus_the_mean_cost(dimensions, std):
    """R_delta[V] = std^2 / 2 trace(A) - c mu_1 for V = s A s / 2 + b s; the paper multiplies mu_1 by delta once more."""
    random = np.random.default_rng(dimensions)
    half = random.normal(size=(dimensions, dimensions))
    matrix, slope = half + half.T, random.normal(size=dimensions)
    at = lambda points, goals: (0.5 * jnp.einsum("...i,ij,...j->...", points, matrix, points) + points @ slope)[None]
    field = Field(at, jnp.ones((1, dimensions)), jnp.zeros((1, dimensions)))
    mollified = Mollified(samples=50_000, antithetic=True, std=std, cost=0.7)
    found = float(mollified.operator(field, jax.random.key(0))[0, 0])
    expected = std**2 / 2 * np.trace(matrix) - 0.7 * mean_length(std, dimensions)
    assert found == pytest.approx(expected, abs=0.03 * std)
    slipped = std**2 / 2 * np.trace(matrix) - 0.7 * mean_length(std, dimensions) * std
    assert abs(found - slipped) > 0.1 * std
