"""Training as a stream of dispatches: many steps per call, several seeds in one call."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from itertools import repeat
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mvl.data.goals import Rows
from mvl.data.out_of_core import Mapped
from mvl.errors import MvlError
from mvl.learn.devices import BatchSharding, SeedSharding
from mvl.learn.learner import Learner, State
from mvl.learn.prefetch import batches_read

Columns = dict[str, np.ndarray]
"""Metrics of a dispatch, (seeds, steps) each."""


class NonFiniteLossError(MvlError):
    """A loss became infinite or undefined."""


def over_seeds(function: Callable[..., Any], seeds: int, shared: int = 0) -> Callable[..., Any]:
    """The function for several seeds in one call: leading axis on all but the last `shared` arguments.

    On a CPU one after another, since products of several batched together are slower there (docs/speed.md). Elsewhere
    side by side, which a small network needs to fill the device.
    """

    def alone(*args: Any) -> Any:
        own = args[: len(args) - shared]
        out = function(*jax.tree.map(lambda leaf: leaf[0], own), *args[len(own) :])
        return jax.tree.map(lambda leaf: leaf[None], out)

    def together(*args: Any) -> Any:
        own, common = args[: len(args) - shared], args[len(args) - shared :]
        one = lambda mine: function(*mine, *common)
        return jax.lax.map(one, own) if jax.default_backend() == "cpu" else jax.vmap(one)(own)

    return alone if seeds == 1 else together


def initial_state(learner: Learner, seeds: Sequence[int]) -> State:
    return jax.jit(jax.vmap(learner.init))(jnp.asarray(seeds, jnp.uint32))


def dispatches(
    learner: Learner, state: State, data: Rows | Mapped, steps: int, per_call: int, split: BatchSharding | None = None
) -> Iterator[tuple[State, Columns]]:
    """Train until `steps`, `per_call` steps at a time; the state that goes in is used up.

    With a `split`, rows lie on all of its devices already. Where several devices take part, the states that come out are
    this process's own copies.
    """
    seeds, calls = state.seed.shape[0], range(int(state.step[0]), steps, per_call)
    spread = None if split else SeedSharding.over(seeds)
    if isinstance(data, Mapped):
        function, shared = over_seeds(learner.updates, seeds), 0
        feed: Iterator[Any] = batches_read(learner, data, np.asarray(state.seed), calls, split)
    else:
        function, shared = over_seeds(lambda s, d: learner.steps(s, d, per_call, split), seeds, shared=1), 1
        feed = repeat(spread.whole(data) if spread else data, len(calls))
    placed = split or spread
    run = jax.jit(
        spread.on_each(function, shared) if spread else function,
        donate_argnums=0,
        out_shardings=split.everywhere if split else None,
    )
    state = placed.copied(state) if placed else state
    for step, given in zip(calls, feed, strict=True):
        with split.partitioning() if split else nullcontext():
            state, metrics = run(state, given)
        columns = {name: np.asarray(column) for name, column in metrics.items()}
        check_finite(columns, step)
        yield placed.own_copy(state) if placed else state, columns


def check_finite(columns: Columns, first_step: int) -> None:
    """Stop at the first step whose loss is not a number: name the parts it came from, and what they were just before."""
    losses = {name.removesuffix("/loss"): column for name, column in columns.items() if name.endswith("/loss")}
    stacked = np.stack(list(losses.values()))  # (parts, seeds, steps)
    bad = ~np.isfinite(stacked)
    if not bad.any():
        return
    step = int(bad.any(axis=(0, 1)).argmax())
    parts = [name for name, hit in zip(losses, bad[:, :, step].any(axis=1), strict=True) if hit]
    before = stacked[:, :, step - 1].max(axis=1) if step else []
    history = ", ".join(f"{name} {value:.3g}" for name, value in zip(losses, before, strict=False))
    raise NonFiniteLossError(
        f"the loss of the {' and the '.join(parts)} became non-finite at step {first_step + step + 1}"
        f"{f' (one step before: {history})' if history else ''}; the last checkpoint is kept. "
        "Try a smaller weight or learning rate."
    )
