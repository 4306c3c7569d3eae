"""Exported files against the run that they were made from, on random inputs."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mvl.deploy.export.policy import Trained, has_value
from mvl.deploy.limits import Ranges
from mvl.errors import MvlError
from mvl.runtime import Model
from mvl.types import CountsSteps

BATCHES = (1, 3, 7)
TOLERANCE = 1e-5
"""Largest difference, as a share of the largest number that there is or may be."""
Arrays = dict[str, np.ndarray]


def drawn(trained: Trained, rows: int = max(BATCHES)) -> Arrays:
    """Random observations and goals as the source has them, in and around the range of the data where that is known."""
    draws, inputs = np.random.default_rng(0), trained.description.inputs

    def one(what: str, count: int) -> np.ndarray:
        center, spread = _range(trained, what)
        numbers = center + spread * draws.uniform(-1.2, 1.2, (rows, count, len(center)))
        return inputs.original(numbers.astype(np.float32), what).astype(trained.dtype(what)).reshape(rows, -1)

    return {"observation": one("observation", trained.history), "goal": one("goal", 1)}


def _range(trained: Trained, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Center and spread of observations or goals as the data has them."""
    size, ranges, scale = trained.stored_size(what), Ranges.of_run(trained.description.data), trained.learner.normalization
    if ranges is not None and len(ranges.low) == size:
        return (ranges.low + ranges.high) / 2, (ranges.high - ranges.low) / 2
    if scale is not None:
        moments = scale.goals if what == "goal" else scale.observations
        return np.asarray(moments.mean), np.asarray(moments.std)
    return np.zeros(size), np.ones(size)


def in_data(trained: Trained, arrays: Arrays) -> tuple[np.ndarray, np.ndarray]:
    """Observations and goals of the source as the run's learner takes them."""
    inputs, rows = trained.description.inputs, len(arrays["observation"])
    frames = arrays["observation"].reshape(rows, trained.history, -1)
    return inputs.vector(frames, "observation").reshape(rows, -1), inputs.vector(arrays["goal"], "goal")


def noise(needed: dict[str, int], rows: int, key: jax.Array) -> Arrays:
    """What the learner draws at random with this key, by the names of an exported network's inputs."""
    goal_key, action_key = jax.random.split(key)  # as `Learner.act_on_inputs`
    keys = {"value_noise": key, "goal_noise": goal_key, "action_noise": action_key}
    return {name: np.asarray(jax.random.normal(keys[name], (rows, size))) for name, size in needed.items()}


def check(trained: Trained, policy: Model, value: Model | None) -> None:
    """Raise if an exported network does not compute what the run's own does."""
    learner, key, arrays = trained.learner, jax.random.key(1), drawn(trained)

    @jax.jit
    def both(states: jax.Array, goals: jax.Array) -> Any:
        values = learner.values(trained.params, states, goals, key) if has_value(trained) else None
        return learner.answer(trained.params, states, goals, key, jnp.zeros(())), values

    states, goals = in_data(trained, arrays)
    vectors, values = both(states, goals)
    actions = trained.description.action_units.original(learner.head.actions_of(np.asarray(vectors)))
    everything = {**arrays, **noise(policy.noise, len(goals), key)}
    _compare(policy, "actions", everything, actions, half_range(trained))
    if value is None:
        return
    everything = {**arrays, **noise(value.noise, len(goals), key)}
    _compare_values(value, everything, np.asarray(values), trained)
    one = {**everything, "observation": arrays["observation"][:1]}
    _, values = both(np.repeat(states[:1], len(goals), axis=0), goals)
    _compare_values(value, one, np.asarray(values), trained)


def half_range(trained: Trained) -> np.ndarray:
    """What an action can be at most, apart from its middle; of a discrete one nothing, because it must be right."""
    units = trained.description.action_units
    low, high = units.limits or (-1.0, 1.0)
    half = (np.asarray(high) - np.asarray(low)) / 2
    return np.where(trained.learner.shapes.levels, 0.0, half) if trained.learner.shapes.levels else half


def _compare_values(value: Model, arrays: Arrays, values: np.ndarray, trained: Trained) -> None:
    scale = np.maximum(1.0, np.abs(values).max())
    _compare(value, "value", arrays, values[:, None], scale)
    part = trained.learner.recipe.value
    if isinstance(part, CountsSteps):
        # From the exported value, because steps to a goal that is never reached depend on its last digits.
        found = value.run(arrays)["value"]
        steps = np.asarray(part.steps_to_go(jnp.asarray(found), trained.learner.recipe.learning.discount))
        _compare(value, "steps", arrays, steps, np.maximum(1.0, np.abs(steps).max()))


def _compare(model: Model, output: str, arrays: Arrays, expected: np.ndarray, scale: Any) -> None:
    for rows in BATCHES:
        found = model.run({name: array[:rows] for name, array in arrays.items()})[output]
        compare(output, found, expected[:rows], scale)


def compare(output: str, found: np.ndarray, expected: np.ndarray, scale: Any) -> None:
    """Raise if two arrays differ by more than the tolerance."""
    if not np.isfinite(expected).all():
        raise MvlError(f"the run's {output} are not finite, and nothing was written; train it again.")
    error = np.abs(found - expected)
    if not (error <= TOLERANCE * scale).all():
        raise MvlError(
            f"the exported {output} differ by {error.max():.2g} from the run's own on random inputs, and nothing was written; "
            "use the run folder itself, and report this."
        )
