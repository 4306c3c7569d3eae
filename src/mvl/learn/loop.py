"""The training loop: many steps per compiled call, several seeds in one call."""

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
from mvl.learn.prefetch import read_batches

Columns = dict[str, np.ndarray]
"""Metrics of one compiled call by name, each (seeds, steps)."""


class NonFiniteLossError(MvlError):
    """A loss became infinite or undefined."""


def over_seeds(function: Callable[..., Any], seeds: int, shared: int = 0) -> Callable[..., Any]:
    """`function` for several seeds in one call; all but the last `shared` arguments get a leading seed axis.

    On a CPU the seeds run one after another, since batched matrix products are slower there (docs/speed.md). On other
    devices they are vectorized, because one small network does not fill the device.
    """

    def one_seed(*args: Any) -> Any:
        per_seed = args[: len(args) - shared]
        out = function(*jax.tree.map(lambda leaf: leaf[0], per_seed), *args[len(per_seed) :])
        return jax.tree.map(lambda leaf: leaf[None], out)

    def many_seeds(*args: Any) -> Any:
        per_seed, common = args[: len(args) - shared], args[len(args) - shared :]

        def one(own: Any) -> Any:
            return function(*own, *common)

        return jax.lax.map(one, per_seed) if jax.default_backend() == "cpu" else jax.vmap(one)(per_seed)

    return one_seed if seeds == 1 else many_seeds


def initial_state(learner: Learner, seeds: Sequence[int]) -> State:
    """The states of all seeds before training, stacked along a leading seed axis."""
    state: State = jax.jit(jax.vmap(learner.init))(jnp.asarray(seeds, jnp.uint32))
    return state


def dispatches(
    learner: Learner, state: State, data: Rows | Mapped, steps: int, per_call: int, sharding: BatchSharding | None = None
) -> Iterator[tuple[State, Columns]]:
    """Train until step `steps`, `per_call` steps per compiled call; yields the state and the metrics after each call.

    The arrays of the given state cannot be used afterwards (they are donated). With a `sharding`, `data` must be on all of
    its devices. With several devices, the yielded states are copies on one device of this process.
    """
    seeds, calls = state.seed.shape[0], range(int(state.step[0]), steps, per_call)
    by_seed = None if sharding else SeedSharding.over(seeds)
    if isinstance(data, Mapped):
        function, shared = over_seeds(learner.updates, seeds), 0
        inputs: Iterator[Any] = read_batches(learner, data, np.asarray(state.seed), calls, sharding)
    else:
        function, shared = over_seeds(lambda s, d: learner.steps(s, d, per_call, sharding), seeds, shared=1), 1
        inputs = repeat(by_seed.replicate(data) if by_seed else data, len(calls))
    placement = sharding or by_seed
    run = jax.jit(
        by_seed.on_each(function, shared) if by_seed else function,
        donate_argnums=0,
        out_shardings=sharding.replicated if sharding else None,
    )
    state = placement.place(state) if placement else state
    for step, call_inputs in zip(calls, inputs, strict=True):
        with sharding.partitioning() if sharding else nullcontext():
            state, metrics = run(state, call_inputs)
        columns = {name: np.asarray(column) for name, column in metrics.items()}
        check_finite(columns, step)
        yield placement.to_one_device(state) if placement else state, columns


def check_finite(columns: Columns, first_step: int) -> None:
    """Raise NonFiniteLossError at the first step with a non-finite loss; it names the parts and their losses before it."""
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
        f"{f' (one step before: {history})' if history else ''}; the last checkpoint is kept, "
        "try a smaller weight or learning rate."
    )
