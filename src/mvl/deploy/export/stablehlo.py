"""Policies as StableHLO, which programs with JAX or XLA run: those of any recipe, with parts of one's own too."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, export

from mvl.deploy.export.check import BATCHES, compare, drawn, half_range, in_data
from mvl.deploy.export.policy import Trained
from mvl.nets.native.calls import without_native

PLATFORMS = ("cpu", "cuda")


def as_stablehlo(trained: Trained) -> tuple[bytes, dict[str, Any]]:
    """A function of arrays by name, serialized by `jax.export`, and what its inputs are; checked against the run.

    float32 cannot tell places apart that are far from zero, so what the run subtracts is subtracted outside.
    """

    def actions(given: dict[str, Array]) -> Array:
        states, goals = (_stored(trained, given[what], what) for what in ("observation", "goal"))
        key = jax.random.wrap_key_data(given["key"])
        vectors = trained.learner.answer(trained.params, states, goals, key, jnp.zeros(()))
        return _original(trained, trained.learner.head.from_vectors(vectors))

    (batch,) = export.symbolic_shape("batch")
    sizes = {"observation": trained.history * trained.size("observation"), "goal": trained.size("goal")}
    described: Any = jax.ShapeDtypeStruct
    shapes = {name: described((batch, size), jnp.float32) for name, size in sizes.items()} | {"key": described((2,), jnp.uint32)}
    with without_native():
        content = bytes(export.export(jax.jit(actions), platforms=PLATFORMS)(shapes).serialize())
    _check(trained, content)
    return content, {name: {"size": size, "subtract": _origin(trained, name).tolist()} for name, size in sizes.items()}


def _stored(trained: Trained, rows: Array, what: str) -> Array:
    """Rows of the source, whose origin was subtracted, as the data has them: angles that wrap become sine and cosine."""
    periods = (trained.history if what == "observation" else 1) * trained.periods(what)
    if not any(periods):
        return rows
    columns = []
    for place, period in enumerate(periods):
        angle = 2 * np.pi / period * rows[..., place] if period else None
        columns += [rows[..., place]] if angle is None else [jnp.sin(angle), jnp.cos(angle)]
    return jnp.stack(columns, axis=-1)


def _original(trained: Trained, actions: Array) -> Array:
    """As `ActionUnits.original`."""
    units, scaled = trained.description.action_units, actions
    if units.limits is not None:
        low, high = (jnp.asarray(limit, jnp.float32) for limit in units.limits)
        scaled = low + (actions + 1) / 2 * (high - low)
    if not units.levels:
        return scaled
    columns = [
        jnp.asarray(values, jnp.float32)[actions[..., i].astype(jnp.int32)] if values else scaled[..., i]
        for i, values in enumerate(units.levels)
    ]
    return jnp.stack(columns, axis=-1)


def _origin(trained: Trained, what: str) -> np.ndarray:
    """What is subtracted from observations or goals of the source, float64; nothing from angles."""
    inputs, count = trained.description.inputs, trained.history if what == "observation" else 1
    origin = inputs.goal_origin if what == "goal" else inputs.origin
    if origin is None:
        return np.zeros(count * trained.size(what))
    periods = trained.periods(what)
    places = np.cumsum([0, *(2 if period else 1 for period in periods)])[:-1] if any(periods) else np.arange(len(origin))
    return np.tile(np.asarray(origin)[places], count)


def _check(trained: Trained, content: bytes) -> None:
    """Raise if the exported function does not compute what the run's own policy does."""
    made: Any = export.deserialize(bytearray(content))
    key, answer = jax.random.key(1), jax.jit(trained.learner.answer)
    everything = drawn(trained)
    for rows in BATCHES:
        arrays = {name: array[:rows] for name, array in everything.items()}
        vectors = answer(trained.params, *in_data(trained, arrays), key, jnp.zeros(()))
        expected = trained.description.action_units.original(trained.learner.head.actions_of(np.asarray(vectors)))
        given = {name: np.asarray(array - _origin(trained, name), np.float32) for name, array in arrays.items()}
        found = made.call({**given, "key": jax.random.key_data(key)})
        compare("actions", np.asarray(found), expected, half_range(trained))
