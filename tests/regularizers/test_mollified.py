"""The mollified loss against closed forms, the paper's two forms, and numbers worked out by hand."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mvl.errors import UsageError
from mvl.regularizers.mollified import Mollified
from mvl.types import Field, Statistics


def cone(slope=1.0, heads=2, count=64, dimensions=2):
    """V = -slope |s - g| on every head."""
    points = jax.random.normal(jax.random.key(1), (count, dimensions))
    return Field(lambda p, g: jnp.stack([-slope * jnp.linalg.norm(p - g, axis=-1)] * heads), points, points[::-1] + 1.0)


def plane(slope, dimensions, count=2000, heads=1):
    """V rises by `slope` along the first axis."""
    points = jnp.zeros((count, dimensions))
    return Field(lambda p, g: jnp.stack([slope * p[..., 0]] * heads), points, points)


@pytest.mark.parametrize("form", ["algorithm", "text"])
@pytest.mark.parametrize("settings", [{}, {"samples": 1}, {"viscosity": 0.5}, {"cost": 3.0}, {"antithetic": True}])
def test_zero_on_lipschitz_fields(form, settings, key):
    """|V(s') - V(s)| <= c |s' - s| everywhere, so nothing is asked; float rounding stays below 1e-12."""
    part = Mollified(form=form, **settings)
    loss, metrics = part(cone(slope=part.cost), key)
    assert float(loss) < 1e-12
    assert float(metrics["penalty"]) < 1e-12


def test_one_neighbor_by_hand(key):
    """One point at 0, V = 5 x, two heads: each head pays max(0, 5 e_x - |e|)^2 for the one step e that was drawn."""
    part = Mollified(samples=1, viscosity=0.02, weight=3.0)
    step = np.asarray(jax.random.normal(key, (1, 1, 2)))[0, 0] * math.sqrt(0.04)
    expected = 2 * max(0.0, 5 * step[0] - np.hypot(*step)) ** 2
    loss, metrics = part(plane(5.0, 2, count=1, heads=2), key)
    assert float(metrics["penalty"]) == pytest.approx(expected, rel=1e-5)
    assert float(loss) == pytest.approx(3 * expected, rel=1e-5)


def test_text_form_never_exceeds_the_algorithm(key):
    for slope in (2.0, 5.0, 20.0):
        algorithm, _ = Mollified()(cone(slope), key)
        text, _ = Mollified(form="text")(cone(slope), key)
        assert 0 <= float(text) < float(algorithm)


def test_forms_agree_for_one_neighbor(key):
    algorithm, _ = Mollified(samples=1)(cone(7.0), key)
    text, _ = Mollified(samples=1, form="text")(cone(7.0), key)
    assert float(algorithm) == pytest.approx(float(text), rel=1e-6)
    assert float(algorithm) > 0.01


@pytest.mark.parametrize(
    ("dimensions", "slope", "text", "algorithm", "active"),
    [  # one head, slope along one axis, sigma = sqrt(0.02), ten neighbors: the table of the specification's section 3.1
        (2, 2, 3e-5, 7e-3, 0.33),
        (2, 5, 6e-3, 0.14, 0.44),
        (2, 10, 0.05, 0.77, None),
        (2, 20, 0.29, 3.5, None),
        (29, 5, 7e-7, 0.03, 0.14),
        (29, 10, 2e-3, 0.38, None),
        (29, 20, 0.08, 2.5, None),
        (69, 5, 0.0, 7e-3, 0.05),
        (69, 20, 0.03, 2.0, None),
        (83, 10, 7e-5, 0.18, None),
    ],
)
def test_monte_carlo_table(dimensions, slope, text, algorithm, active, key):
    field = plane(slope, dimensions, count=20_000)
    loss, metrics = Mollified()(field, key)
    assert float(loss) == pytest.approx(algorithm, rel=0.12)
    if active is not None:
        assert float(metrics["active"]) == pytest.approx(active, abs=0.01)
    averaged, _ = Mollified(form="text")(field, key)
    # The averaged form is small because its terms rarely act: its digits in that table are good to a factor of 1.5.
    assert float(averaged) == pytest.approx(text, rel=0.5, abs=5e-5)


@pytest.mark.parametrize(("dimensions", "slope"), [(2, 10), (29, 10), (29, 20), (69, 20)])
def test_text_form_against_its_closed_form(dimensions, slope, key):
    """Averaged first, the excess is nearly normal: E max(0, X)^2 with mean -c E|e| and variance (L^2 s^2 + c^2 var|e|) / K."""
    sigma, mean_length = math.sqrt(0.02), math.sqrt(2) * math.exp(math.lgamma((dimensions + 1) / 2) - math.lgamma(dimensions / 2))
    mean = -sigma * mean_length
    deviation = sigma * math.sqrt((slope**2 + dimensions - mean_length**2) / 10)
    z = -mean / deviation
    tail, density = 0.5 * math.erfc(z / math.sqrt(2)), math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    expected = deviation**2 * ((1 + z * z) * tail - z * density)
    loss, _ = Mollified(form="text")(plane(slope, dimensions, count=20_000), key)
    assert float(loss) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("form", ["algorithm", "text"])
def test_loss_scales_with_the_variance_on_linear_fields(form, key):
    narrow, _ = Mollified(form=form, viscosity=0.01)(plane(5.0, 2), key)
    wide, _ = Mollified(form=form, viscosity=0.04)(plane(5.0, 2), key)
    assert float(wide) == pytest.approx(4 * float(narrow), rel=1e-4)


def test_both_the_center_and_the_neighbors_are_trained(key):
    """d/dw of max(0, w (V(s') - V(s)) - |e|)^2 differs when either value is held constant."""

    def loss(weights):
        center, neighbors = weights

        def at(points, goals):
            weight = center if points.ndim == 2 else neighbors
            return weight * 5 * points[None, ..., 0] + 1.0

        points = jnp.ones((256, 2))
        return Mollified()(Field(at, points, points), key)[0]

    center, neighbors = jax.grad(loss)((1.0, 1.0))
    assert float(center) < -0.1
    assert float(neighbors) > 0.1


def test_antithetic_steps_are_mirrored_and_an_odd_one_stands_alone(key):
    steps = Mollified(antithetic=True).steps(key, (3, 2))
    assert steps.shape == (10, 3, 2)
    assert (steps[:5] == -steps[5:]).all()
    odd = Mollified(antithetic=True, samples=5).steps(key, (3, 2))
    assert odd.shape == (5, 3, 2)
    assert (odd[:2] == -odd[3:]).all()
    assert (jnp.abs(odd[2] + odd).sum((1, 2)) > 0).all()


def test_antithetic_pairs_have_the_same_mean(key):
    mirrored, _ = Mollified(antithetic=True)(plane(5.0, 2, count=20_000), key)
    assert float(mirrored) == pytest.approx(0.14, rel=0.05)


def test_fraction_looks_at_that_share_of_the_batch(key):
    seen = []

    def at(points, goals):
        seen.append(points.shape)
        return 5 * points[None, ..., 0]

    points = jax.random.normal(key, (100, 2))
    Mollified(fraction=0.25)(Field(at, points, points), key)
    assert seen == [(25, 2), (10, 25, 2)]
    part = Field(at, points, 2 * points).part(0.25)
    assert (part.points == points[:25]).all()
    assert (part.goals == 2 * points[:25]).all()  # a state keeps its goal
    crossed = Field(at, points[:, None], points)
    assert crossed.part(0.25) is crossed


def test_values_at_the_points_are_not_asked_for_when_known(key):
    """Known values of zero instead of |s|: the excess of a free walk is then V of the neighbor itself."""
    points = jax.random.normal(key, (100, 2))
    at = lambda points, goals: jnp.abs(points[None, ..., 0])
    known = jnp.arange(100.0)[None]
    part = Field(at, points, points, known).part(0.25)
    assert (part.here == known[:, :25]).all()
    regularizer = Mollified(fraction=0.25, cost=0.0)
    near = at(points[:25] + regularizer.steps(key, (25, 2)), None)
    assert float(regularizer(Field(at, points, points, 0 * known), key)[0]) == pytest.approx(float((near**2).mean()), rel=1e-5)


def test_through_the_center_the_loss_is_the_same_and_neighbors_are_constant(key):
    """V = a s: by a, the square of (a (s + e) - a s - |e|) rises by 2 excess e; with constant neighbors by -2 excess s."""
    points = jnp.array([[2.0], [3.0]])

    def loss(slope, through):
        field = Field(lambda where, goals: slope * where[None, ..., 0], points, points)
        return Mollified(samples=4, through=through)(field, key)[0]

    values, slopes = zip(*[jax.value_and_grad(loss)(5.0, through) for through in ("both", "center")], strict=True)
    assert float(values[0]) == pytest.approx(float(values[1]))
    steps = np.asarray(Mollified(samples=4).steps(key, points.shape))[..., 0]  # (4, 2)
    excess = np.maximum(5 * steps - np.abs(steps), 0)
    assert float(slopes[0]) == pytest.approx((2 * excess * steps).mean(), rel=1e-4)
    assert float(slopes[1]) == pytest.approx((-2 * excess * np.asarray(points)[:, 0]).mean(), rel=1e-4)


def test_fraction_keeps_the_mean(key):
    part, _ = Mollified(fraction=0.25)(plane(5.0, 2, count=40_000), key)
    assert float(part) == pytest.approx(0.14, rel=0.05)


STATISTICS = Statistics(std=(2.0, 0.5), step=0.2, scaled_step=0.1)


def test_auto_cost_is_one_over_the_step_length():
    assert Mollified(cost="auto").fit(STATISTICS).cost == pytest.approx(5.0)
    assert Mollified(cost="auto", scale="std").fit(STATISTICS).cost == pytest.approx(10.0)
    assert Mollified(cost=2.0).fit(STATISTICS).cost == 2.0


def test_std_scale_perturbs_and_measures_in_units_of_the_spread(key):
    """V of slope 1 in units of the spread is 1-Lipschitz there, though its raw slope is 2 along the second axis."""
    part = Mollified(scale="std").fit(STATISTICS)
    assert part.scale == (2.0, 0.5)
    points = jax.random.normal(key, (500, 2))
    scaled = Field(lambda p, g: -jnp.linalg.norm((p - g) / jnp.array([2.0, 0.5]), axis=-1)[None], points, points + 1)
    assert float(part(scaled, key)[0]) < 1e-12
    assert float(Mollified()(scaled, key)[0]) > 1e-4
    ratio = Mollified(scale=(2.0, 0.5))(scaled, key)[0]
    assert float(ratio) < 1e-12


def test_settings_that_need_data_say_so(key):
    with pytest.raises(UsageError, match="cost='auto' needs data"):
        Mollified(cost="auto")(cone(), key)
    with pytest.raises(UsageError, match="scale='std' needs data"):
        Mollified(scale="std")(cone(), key)


def test_scales_of_ones_own(key):
    with pytest.raises(UsageError, match="scale has 3 numbers for points of 2 dimensions"):
        Mollified(scale=(1.0, 2.0, 3.0))(cone(), key)
    with pytest.raises(UsageError, match="give a number with scales of your own"):
        Mollified(scale=(1.0, 2.0), cost="auto").fit(STATISTICS)
    assert Mollified(scale=(1.0, 2.0), cost=3.0).fit(STATISTICS) == Mollified(scale=(1.0, 2.0), cost=3.0)


@pytest.mark.parametrize("wrong", [{"samples": 0}, {"fraction": 0.0}, {"fraction": 1.5}, {"viscosity": 0.0}])
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(UsageError):
        Mollified(**wrong)


def shifted(slope=5.0, below=2.0):
    """V = slope x with a target network that lies `below` it everywhere."""
    points = jnp.zeros((1, 2))
    at = lambda p, g: slope * p[None, ..., 0]
    return Field(at, points, points, target_at=lambda p, g: at(p, g) - below)


def test_neighbors_valued_by_the_target_network_by_hand(key):
    """The excess of each neighbor is 5 e_x - 2 - |e|: that of the copy at the neighbor, over the value here."""
    part = Mollified(samples=3, std=2.0, through="target")
    steps = 2.0 * np.asarray(jax.random.normal(key, (3, 1, 2)))[:, 0]
    excess = 5 * steps[:, 0] - 2.0 - np.hypot(*steps.T)
    loss, metrics = part(shifted(), key)
    assert float(loss) == pytest.approx(np.mean(np.maximum(excess, 0) ** 2), rel=1e-5)
    assert float(metrics["active"]) == pytest.approx(np.mean(excess > 0))


def test_the_target_network_gets_no_gradient(key):
    points = jnp.zeros((8, 2))

    def penalty(w, copy):
        at = lambda p, g: w * (p[None, ..., 0] - 1)
        return Mollified(std=1.0, cost=0.0, through="target")(
            Field(at, points, points, target_at=lambda p, g: copy * p[None, ..., 0]), key
        )[0]

    own, copied = jax.grad(penalty, argnums=(0, 1))(3.0, 3.0)
    assert float(own) != 0.0
    assert float(copied) == 0.0


def test_a_value_without_a_target_network_is_refused(key):
    with pytest.raises(UsageError, match="needs a value with a target network"):
        Mollified(through="target")(cone(), key)


def test_a_constant_cost_by_hand(key):
    """V = 5 x, one neighbor at e: the excess is 5 e_x - 3, however far the neighbor is."""
    part = Mollified(samples=1, std=1.0, cost=3.0, cost_form="constant")
    step = np.asarray(jax.random.normal(key, (1, 1, 2)))[0, 0]
    assert float(part(plane(5.0, 2, count=1), key)[0]) == pytest.approx(max(0.0, 5 * step[0] - 3.0) ** 2, rel=1e-5)


def test_standard_deviation_stands_for_viscosity(key):
    by_viscosity, _ = Mollified(viscosity=0.5)(cone(3.0), key)
    directly, _ = Mollified(viscosity=7.0, std=1.0)(cone(3.0), key)
    assert float(directly) == pytest.approx(float(by_viscosity), rel=1e-6)


def test_first_version_of_the_paper_by_hand(key):
    """Neighbors by the copy, mean before the hinge, 0.01 a standard deviation, a constant cost."""
    part = Mollified(samples=10, std=0.01, form="text", through="target", cost=0.5, cost_form="constant")
    steps = 0.01 * np.asarray(jax.random.normal(key, (10, 1, 2)))[:, 0]
    expected = max(0.0, np.mean(5 * steps[:, 0] + 1.0) - 0.5) ** 2
    assert float(part(shifted(below=-1.0), key)[0]) == pytest.approx(expected, rel=1e-4)
