"""Batches of data that stays on disk: read in the background, many calls ahead."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import chain
from typing import Any

import jax
import numpy as np

from mvl.data.out_of_core import Mapped
from mvl.learn.devices import BatchSharding
from mvl.learn.learner import Learner
from mvl.types import Batch

TOGETHER = 2**28
"""Bytes looked up in one pass over the files, at most, if that is one call's batches or more."""


def batches_read(
    learner: Learner, data: Mapped, seeds: np.ndarray, calls: range, split: BatchSharding | None = None
) -> Iterator[Batch]:
    """For each call the batches of its steps, (seeds, steps, batch, ...): those `learner.steps` draws.

    A pass over a file costs nearly the same for many rows as for few, so many calls share one.
    """
    draw = jax.jit(jax.vmap(partial(learner.draw, data.rows), in_axes=(0, None)))
    steps_of = lambda call: np.arange(call, call + calls.step, dtype=np.int32)
    each = data.bytes_of(jax.eval_shape(draw, seeds, steps_of(0)))
    count = max(1, TOGETHER // each)

    def read(group: range) -> list[Batch]:
        drawn = [draw(seeds, steps_of(call)) for call in group]
        found = data.look_up([split.own_part(batch) for batch in drawn] if split else drawn)
        return [split.joined(batch) if split else jax.device_put(batch) for batch in found]

    return chain.from_iterable(ahead(read, (calls[first : first + count] for first in range(0, len(calls), count))))


def ahead(make: Callable[[Any], Any], inputs: Iterable[Any]) -> Iterator[Any]:
    """The outputs in order, each made in the background while the one before it is used."""
    with ThreadPoolExecutor(1) as pool:
        waiting: deque[Future[Any]] = deque()
        for value in inputs:
            waiting.append(pool.submit(make, value))
            if len(waiting) == 2:
                yield waiting.popleft().result()
        yield from (future.result() for future in waiting)
