"""The head of a policy: the distribution of actions that the outputs of its network stand for, the same for all policies.

To networks an action is a vector. A continuous dimension is a number in [-1, 1], a discrete one of two levels is -1 or 1, and
one of more levels is one-hot. A policy's network has one output for each number of this vector.
"""

from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import groupby
from operator import add
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from mvl.batches import Batch
from mvl.nets.distributions import bounded_normal, unit_normal_log_prob
from mvl.types import Key


class Kind(Protocol):
    """The distribution of some neighboring dimensions; all arrays have their numbers on the last axis."""

    def log_prob(self, outputs: Array, actions: Array) -> Array:
        """Log-probability of actions, summed over the dimensions."""
        ...

    def sample(self, key: Key, outputs: Array, temperature: Array) -> Array:
        """Actions drawn at a temperature; at 0, the most likely ones."""
        ...

    def expected(self, outputs: Array) -> Array:
        """The mean of the distribution, through which a critic has a gradient."""
        ...

    def errors(self, outputs: Array, actions: Array) -> Array:
        """Distance of the most likely action from the logged one, for each dimension."""
        ...

    def to_vectors(self, actions: Array) -> Array: ...

    def from_vectors(self, vectors: Array) -> Array: ...


class Continuous(NamedTuple):
    """Normal distributions of unit variance around the outputs, clipped to [-1, 1]; errors are squared."""

    def log_prob(self, outputs: Array, actions: Array) -> Array:
        return unit_normal_log_prob(outputs, actions)

    def sample(self, key: Key, outputs: Array, temperature: Array) -> Array:
        return bounded_normal(key, outputs, temperature)

    def expected(self, outputs: Array) -> Array:
        return jnp.clip(outputs, -1, 1)

    def errors(self, outputs: Array, actions: Array) -> Array:
        return jnp.square(outputs - actions)

    def to_vectors(self, actions: Array) -> Array:
        return actions

    def from_vectors(self, vectors: Array) -> Array:
        return vectors


class Binary(NamedTuple):
    """Two levels, -1 and 1: the output is the logit of the second; the expected action is 2 sigmoid(l) - 1 = tanh(l / 2)."""

    def log_prob(self, outputs: Array, actions: Array) -> Array:
        return jax.nn.log_sigmoid(outputs * actions)[..., 0]

    def sample(self, key: Key, outputs: Array, temperature: Array) -> Array:
        noise = jax.random.logistic(key, outputs.shape)
        return jnp.where(outputs + temperature * noise > 0, 1.0, -1.0)

    def expected(self, outputs: Array) -> Array:
        return jnp.tanh(outputs / 2)

    def errors(self, outputs: Array, actions: Array) -> Array:
        return (outputs * actions <= 0).astype(jnp.float32)

    def to_vectors(self, actions: Array) -> Array:
        return 2 * actions - 1

    def from_vectors(self, vectors: Array) -> Array:
        return (vectors > 0).astype(jnp.float32)


class Categorical(NamedTuple):
    """Several levels, one-hot: the outputs are logits; the expected action is their softmax."""

    levels: int

    def log_prob(self, outputs: Array, actions: Array) -> Array:
        return (actions * jax.nn.log_softmax(outputs)).sum(-1)

    def sample(self, key: Key, outputs: Array, temperature: Array) -> Array:
        """The largest of the logits with Gumbel noise, which is a draw from softmax(logits / temperature)."""
        noise = jax.random.gumbel(key, outputs.shape)
        return jax.nn.one_hot((outputs + temperature * noise).argmax(-1), self.levels)

    def expected(self, outputs: Array) -> Array:
        return jax.nn.softmax(outputs)

    def errors(self, outputs: Array, actions: Array) -> Array:
        return (outputs.argmax(-1) != actions.argmax(-1)).astype(jnp.float32)[..., None]

    def to_vectors(self, actions: Array) -> Array:
        return jax.nn.one_hot(actions[..., 0].astype(jnp.int32), self.levels)

    def from_vectors(self, vectors: Array) -> Array:
        return vectors.argmax(-1).astype(jnp.float32)[..., None]


class Part(NamedTuple):
    """Neighboring dimensions of one kind."""

    kind: Kind
    dimensions: slice
    """Where they are in an action of the data."""
    numbers: slice
    """Where they are in an action as a vector, and in the outputs."""


@dataclass(frozen=True)
class ActionHead:
    """The distribution of an action, or of a chunk of successive ones, whose dimensions are independent of each other."""

    levels: tuple[int, ...] = ()
    """How many levels each dimension has, 0 for a continuous one; empty: all are continuous."""
    chunk: int = 1
    """How many successive actions the outputs stand for."""

    @cached_property
    def parts(self) -> list[Part]:
        if not self.levels:
            return [Part(Continuous(), slice(None), slice(None))]
        made, first, number = [], 0, 0
        groups = groupby(enumerate(self.levels), key=lambda pair: (pair[1], pair[1] and pair[0]))  # discrete ones alone
        for (levels, _), members in groups:
            count = len(list(members))
            size = max(count, levels) if levels > 2 else count
            kind: Kind = Categorical(levels) if levels > 2 else Binary() if levels else Continuous()
            made.append(Part(kind, slice(first, first + count), slice(number, number + size)))
            first, number = first + count, number + size
        return made

    def log_prob(self, outputs: Array, batch: Batch) -> Array:
        """Log-probability of the logged actions, (batch,).

        Of a chunk it is the mean over its steps, to which those after the end of the episode contribute nothing.
        """
        steps, actions = self.in_steps(outputs), batch.actions if batch.chunk is None else batch.chunk.actions
        found = [part.kind.log_prob(steps[..., part.numbers], actions[..., part.numbers]) for part in self.parts]
        total = reduce(add, found)
        return total if batch.chunk is None else (batch.chunk.valid * total).mean(-1)

    def error(self, outputs: Array, batch: Batch) -> Array:
        """Mean over batch and dimensions: the squared error of continuous ones, the share of wrong levels of discrete ones."""
        steps, actions = self.in_steps(outputs), batch.actions if batch.chunk is None else batch.chunk.actions
        pairs = [(part.kind, steps[..., part.numbers], actions[..., part.numbers]) for part in self.parts]
        return _mean(_joined([kind.errors(*pair) for kind, *pair in pairs]), batch)

    def sample(self, key: Key, outputs: Array, temperature: Array) -> Array:
        """Actions as vectors, drawn at a temperature; at 0, the most likely ones."""
        keys = [key, *(jax.random.fold_in(key, number) for number in range(1, len(self.parts)))]
        parts, steps = zip(self.parts, keys, strict=True), self.in_steps(outputs)
        return _joined([part.kind.sample(one, steps[..., part.numbers], temperature) for part, one in parts])

    def expected(self, outputs: Array) -> Array:
        """Mean actions as vectors, which depend smoothly on the outputs."""
        steps = self.in_steps(outputs)
        return _joined([part.kind.expected(steps[..., part.numbers]) for part in self.parts])

    def logged(self, batch: Batch) -> Array:
        """The logged actions in the order of the outputs, (batch, n)."""
        return batch.actions if batch.chunk is None else batch.chunk.actions.reshape(len(batch.actions), -1)

    def mean(self, numbers: Array, batch: Batch) -> Array:
        """Mean of one number per output, (batch, n), over the steps of chunks that the episodes have."""
        return _mean(self.in_steps(numbers), batch)

    def in_steps(self, outputs: Array) -> Array:
        """Numbers in the order of the outputs, (..., n), as (..., steps, a) if the head is one of chunks."""
        return outputs if self.chunk == 1 else outputs.reshape(*outputs.shape[:-1], self.chunk, -1)

    def every_action(self) -> Array:
        """All actions as vectors, (n, a), of one discrete dimension."""
        (levels,) = self.levels
        return self.to_vectors(jnp.arange(levels, dtype=jnp.float32)[:, None])

    def to_vectors(self, actions: Array) -> Array:
        """Actions of the data as vectors."""
        return _joined([part.kind.to_vectors(actions[..., part.dimensions]) for part in self.parts])

    def from_vectors(self, vectors: Array) -> Array:
        """Vectors as actions of the data."""
        return _joined([part.kind.from_vectors(vectors[..., part.numbers]) for part in self.parts])

    def actions_of(self, vectors: np.ndarray) -> np.ndarray:
        """`from_vectors` for arrays of NumPy."""
        return np.asarray(self.from_vectors(jnp.asarray(vectors))) if self.levels else vectors

    def with_vectors(self, batch: Batch) -> Batch:
        """A batch of the data with its actions as vectors."""
        if not self.levels:
            return batch
        middle = batch.midpoints and batch.midpoints._replace(actions=self.to_vectors(batch.midpoints.actions))
        chunk = batch.chunk and batch.chunk._replace(actions=self.to_vectors(batch.chunk.actions))
        return batch._replace(actions=self.to_vectors(batch.actions), midpoints=middle, chunk=chunk)


def _mean(numbers: Array, batch: Batch) -> Array:
    """Mean over all that is logged: (batch, n), or (batch, steps, n) without the steps that the episodes have not."""
    if batch.chunk is None:
        return numbers.mean()
    valid = batch.chunk.valid[..., None]
    return (valid * numbers).sum() / (valid.sum() * numbers.shape[-1])


def _joined(found: list[Array]) -> Array:
    """The parts beside each other on the last axis."""
    return found[0] if len(found) == 1 else jnp.concatenate(found, axis=-1)
