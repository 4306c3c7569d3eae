"""Batches of out-of-core data, read in a background thread before they are needed."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import chain
from typing import TypeVar

import jax
import numpy as np

from mvl.batches import Batch
from mvl.data.out_of_core import Mapped
from mvl.learn.devices import BatchSharding
from mvl.learn.learner import Learner

Input = TypeVar("Input")
Output = TypeVar("Output")
PASS_BYTES = 2**28
"""Upper limit of the bytes read in one pass over the files; the batches of one call are read together in any case."""


def read_batches(
    learner: Learner, data: Mapped, seeds: np.ndarray, calls: range, sharding: BatchSharding | None = None
) -> Iterator[Batch]:
    """For each training call the batches of its steps, (seeds, steps, batch, ...), the same that `learner.steps` draws.

    Several calls share one pass over the files, since a pass costs nearly the same for many rows as for few.
    """
    draw = jax.jit(jax.vmap(partial(learner.draw, data.rows), in_axes=(0, None)))

    def steps_of(call: int) -> np.ndarray:
        return np.arange(call, call + calls.step, dtype=np.int32)

    call_bytes = data.bytes_of(jax.eval_shape(draw, seeds, steps_of(0)))
    count = max(1, PASS_BYTES // call_bytes)

    def read(group: range) -> list[Batch]:
        drawn = [draw(seeds, steps_of(call)) for call in group]
        batches = data.look_up([sharding.local_part(batch) for batch in drawn] if sharding else drawn)
        return [sharding.from_local_parts(batch) if sharding else jax.device_put(batch) for batch in batches]

    return chain.from_iterable(prefetch(read, (calls[first : first + count] for first in range(0, len(calls), count))))


def prefetch(make: Callable[[Input], Output], inputs: Iterable[Input]) -> Iterator[Output]:
    """Outputs of `make` in order, each computed in a background thread while the previous one is used."""
    with ThreadPoolExecutor(1) as pool:
        waiting: deque[Future[Output]] = deque()
        for value in inputs:
            waiting.append(pool.submit(make, value))
            if len(waiting) == 2:
                yield waiting.popleft().result()
        yield from (future.result() for future in waiting)
