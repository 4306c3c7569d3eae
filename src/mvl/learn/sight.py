"""What networks see of a batch: the data itself, or latent vectors of images.

Stop-gradients to encoders are written here.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
from jax import Array
from jax.lax import stop_gradient

from mvl.batches import Batch, Goals
from mvl.nets.images import shifted
from mvl.recipes.recipe import Recipe
from mvl.types import EncodesImages, ImageShape, Key, Params, Shapes, ValueFunctions, offered

SHIFT = 3
"""Pixels by which augmentation moves images at most."""


class Seen(NamedTuple):
    """A batch as each network sees it."""

    value: Batch
    targets: Batch
    """What the value's target networks see."""
    points: Batch
    """What the regularizer sees; `value` itself if the encoder is trained by it."""
    advantage: Batch
    """What the value sees when the policy asks it, without gradient."""
    policy: Batch


class Sight(Protocol):
    """How networks see observations and goals. `params` are those of the encoders."""

    @property
    def shapes(self) -> Shapes:
        """Sizes of what networks see."""
        ...

    def init(self, key: Key) -> Params: ...

    def targets(self, params: Params) -> Params:
        """The encoders that have a slowly moving copy."""
        ...

    def augmented(self, key: Key, batch: Batch) -> Batch: ...

    def seen(self, params: Params, targets: Params, batch: Batch) -> Seen: ...

    def for_value(self, params: Params, states: Array, goals: Array) -> tuple[Array, Array]:
        """States (..., d) and raw goals (..., g) as the value's network sees them."""
        ...

    def for_policy(self, params: Params, states: Array, goals: Array) -> tuple[Array, Array]: ...

    def asked(self, value: ValueFunctions, seen: Seen) -> ValueFunctions:
        """The value's functions as the policy may use them."""
        ...


class Direct(NamedTuple):
    """Networks see observations and goals as they are."""

    shapes: Shapes

    def init(self, key: Key) -> Params:
        return ()

    def targets(self, params: Params) -> Params:
        return ()

    def augmented(self, key: Key, batch: Batch) -> Batch:
        return batch

    def seen(self, params: Params, targets: Params, batch: Batch) -> Seen:
        return Seen(batch, batch, batch, batch, batch)

    def for_value(self, params: Params, states: Array, goals: Array) -> tuple[Array, Array]:
        return states, goals

    def for_policy(self, params: Params, states: Array, goals: Array) -> tuple[Array, Array]:
        return states, goals

    def asked(self, value: ValueFunctions, seen: Seen) -> ValueFunctions:
        return value


@dataclass(frozen=True)
class Images:
    """Operations on rows of image bytes (..., k h w c), with k images of an observation and its history."""

    encoder: EncodesImages
    shape: ImageShape

    def pictures(self, rows: Array) -> Array:
        """One picture (n, h, w, k c) of each row, the images of a history as more channels."""
        frames = rows.reshape(-1, rows.shape[-1] // (self.shape[0] * self.shape[1] * self.shape[2]), *self.shape)
        return jnp.moveaxis(frames, 1, 3).reshape(len(frames), *self.shape[:2], -1)

    def latent(self, params: Params, *rows: Array) -> Array:
        """Latent vectors (..., size) of rows whose pictures are stacked; their leading axes are broadcast."""
        leading = jnp.broadcast_shapes(*(one.shape[:-1] for one in rows))
        spread = [jnp.broadcast_to(one, (*leading, one.shape[-1])) for one in rows]
        stacked = jnp.concatenate([self.pictures(one) for one in spread], axis=-1)
        return self.encoder.encode(params, stacked).reshape(*leading, self.encoder.size)

    def augmented(self, key: Key, batch: Batch) -> Batch:
        """With the encoder's probability all images shifted, those of a transition and its goals by the same."""
        often_key, offset_key = jax.random.split(key)
        offsets = jax.random.randint(offset_key, (len(batch.observations), 2), -SHIFT, SHIFT + 1)

        def moved(rows: Array) -> Array:
            frames = rows.reshape(len(rows), -1, *self.shape)
            together = jnp.moveaxis(frames, 1, 3).reshape(len(rows), *self.shape[:2], -1)
            back = shifted(together, offsets).reshape(len(rows), *self.shape[:2], frames.shape[1], self.shape[2])
            return jnp.moveaxis(back, 3, 1).reshape(rows.shape)

        often = jax.random.uniform(often_key) < self.encoder.augment
        changed: Batch = jax.lax.cond(often, lambda given: given.mapped(moved), lambda given: given, batch)
        return changed

    def asked(self, value: ValueFunctions, seen: Seen) -> ValueFunctions:
        """The advantage on what the value sees; all without gradient to what networks see."""
        advantage, critic, state_value = value
        return ValueFunctions(
            advantage and (lambda _, goals, encode: advantage(seen.advantage, goals, encode)),
            critic and (lambda states, actions, goals: critic(stop_gradient(states), actions, stop_gradient(goals))),
            state_value and (lambda states, goals: stop_gradient(state_value(states, goals))),
        )


class Pair(NamedTuple):
    """The encoders of early fusion."""

    value: Params
    policy: Params


@dataclass(frozen=True)
class Early(Images):
    """Value and policy have an encoder each, of the stacked pair of observation and goal, and no other sight of the goal.

    The value's encoder has a target network, as the value itself.
    """

    data: Shapes
    values: bool
    """Whether there is a value."""

    @property
    def shapes(self) -> Shapes:
        return self.data._replace(observation=self.encoder.size, goal=0, plain=False)

    def init(self, key: Key) -> Params:
        height, width, channels = self.shape
        count = (self.data.observation + self.data.goal) // (height * width * channels)
        value, policy = (self.encoder.init(one, (height, width, count * channels)) for one in jax.random.split(key))
        return Pair(value if self.values else (), policy)

    def targets(self, params: Params) -> Params:
        return params.value

    def for_value(self, params: Params, states: Array, goals: Array) -> tuple[Array, Array]:
        return self._fused(params.value, states, goals)

    def for_policy(self, params: Params, states: Array, goals: Array) -> tuple[Array, Array]:
        return self._fused(params.policy, states, goals)

    def seen(self, params: Params, targets: Params, batch: Batch) -> Seen:
        constant = stop_gradient(params)
        policy = self._batch(params.policy, batch, batch.actor_goals)
        if not self.values:
            return Seen(policy, policy, policy, policy, policy)
        value = self._batch(params.value, batch, batch.value_goals)
        return Seen(
            value=value,
            targets=self._batch(targets, batch, batch.value_goals),
            points=value if self.encoder.shaped_by_regularizer else stop_gradient(value),
            advantage=self._batch(constant.value, batch, batch.actor_goals),
            policy=policy,
        )

    def _batch(self, params: Params, batch: Batch, goals: Goals) -> Batch:
        """The batch with states that are latent vectors of states and these goals, and goals without numbers."""

        def state(rows: Array) -> Array:
            return self._fused(params, rows, goals.vectors)[0]

        return batch._replace(
            observations=state(batch.observations),
            next_observations=state(batch.next_observations),
            positions=_nothing(batch.positions),
            value_goals=batch.value_goals.mapped(_nothing),
            actor_goals=batch.actor_goals.mapped(_nothing),
            chunk=batch.chunk and batch.chunk._replace(after=state(batch.chunk.after)),
        )

    def _fused(self, params: Params, states: Array, goals: Array) -> tuple[Array, Array]:
        found = self.latent(params, states, goals)
        return found, _nothing(found)


@dataclass(frozen=True)
class Late(Images):
    """All networks share one encoder of single images, which the losses of all train; targets and advantages do not."""

    data: Shapes

    @property
    def shapes(self) -> Shapes:
        return self.data._replace(observation=self.encoder.size, goal=self.encoder.size)

    def init(self, key: Key) -> Params:
        return self.encoder.init(key, self.shape)

    def targets(self, params: Params) -> Params:
        return ()

    def for_value(self, params: Params, states: Array, goals: Array) -> tuple[Array, Array]:
        return self.latent(params, states), self.latent(params, goals)

    def for_policy(self, params: Params, states: Array, goals: Array) -> tuple[Array, Array]:
        return self.for_value(params, states, goals)

    def seen(self, params: Params, targets: Params, batch: Batch) -> Seen:
        value = batch.mapped(lambda rows: self.latent(params, rows))
        constant = stop_gradient(value)
        points = value if self.encoder.shaped_by_regularizer else constant
        policy = constant._replace(observations=value.observations)  # the policy does not shape goals
        return Seen(value, value, points, constant, policy)


def _nothing(rows: Array) -> Array:
    """Vectors without numbers, as many as there are rows."""
    return jnp.zeros((*rows.shape[:-1], 0))


def sight_of(recipe: Recipe, shapes: Shapes) -> Sight:
    """How the networks of a recipe see data of these shapes."""
    encoder = recipe.encoder
    if not isinstance(encoder, EncodesImages) or shapes.image is None:
        return Direct(shapes)
    if encoder.fusion == "early":
        return Early(encoder, shapes.image, shapes, bool(offered(recipe.value)))
    return Late(encoder, shapes.image, shapes)
