"""The learner of a recipe: the sum of the four parts' losses, one optimizer step, and the policy."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.lax import stop_gradient

from mvl import registry
from mvl.batches import Batch
from mvl.data.goals import Rows, sample
from mvl.data.normalization import Normalization
from mvl.errors import UsageError
from mvl.learn.devices import BatchSharding
from mvl.learn.losses import add, chunk_advantage, combine
from mvl.learn.optimizer import Variables, adam_step, optimizer
from mvl.learn.sight import Seen, Sight, sight_of
from mvl.nets.heads import ActionHead
from mvl.recipes.recipe import Recipe
from mvl.representations.identity import Identity
from mvl.types import (
    Act,
    CountsSteps,
    Encode,
    Field,
    HasSurface,
    Key,
    Loss,
    Metrics,
    Params,
    PolicyView,
    Projects,
    Regresses,
    Shapes,
    ValueFunctions,
    offered,
)


class Parameters(NamedTuple):
    """Trained parameters of the parts; a regularizer has none."""

    representation: Params
    value: Params
    policy: Params
    encoder: Params = ()


class Targets(NamedTuple):
    """Target networks: slowly moving copies of parameters."""

    representation: Params
    value: Params
    encoder: Params = ()


class State(NamedTuple):
    """Everything that changes during training; it determines all later steps."""

    params: Parameters
    targets: Targets
    optimizer: Any
    seed: Array  # (): the randomness of a step depends only on the seed and the step
    step: Array  # ()


def _same_structure(one: Params, other: Params) -> bool:
    structures: list[Any] = [jax.tree.structure(tree) for tree in (one, other)]
    return bool(structures[0] == structures[1])


@dataclass(frozen=True)
class Learner:
    """Pure functions made from a recipe (already fitted to the data) and the sizes of observations and actions."""

    recipe: Recipe
    shapes: Shapes
    """Sizes of the data; those of represented goals are derived from the recipe."""
    normalization: Normalization | None = None
    """How `act`, `values` and `steps_to_go` standardize what they are given. The rows of batches are standardized before."""

    @property
    def head(self) -> ActionHead:
        return ActionHead(self.shapes.levels, self.shapes.chunk)

    @cached_property
    def sight(self) -> Sight:
        return sight_of(self.recipe, self.shapes)

    def init(self, seed: Array) -> State:
        key = jax.random.key(seed)
        keys = jax.random.split(key, 3)
        recipe, seen = self.recipe, self.sight.shapes
        plain = seen.plain and isinstance(recipe.representation, Identity)
        shapes = seen._replace(represented=recipe.representation.width(seen.goal), plain=plain)
        params = Parameters(
            recipe.representation.init(keys[0], seen),
            recipe.value.init(keys[1], shapes),
            recipe.policy.init(keys[2], shapes),
            self.sight.init(jax.random.fold_in(key, 3)),
        )
        targets = jax.tree.map(jnp.copy, self.targets(params))
        moments = optimizer(recipe.learning.learning_rate).init(params)
        return State(params, targets, moments, jnp.copy(seed), jnp.zeros((), jnp.int32))

    def targets(self, params: Parameters) -> Targets:
        """The parameters that have a target network."""
        rep, value = self.recipe.representation, self.recipe.value
        encoder = self.sight.targets(params.encoder)
        return Targets(rep.targets(params.representation), value.targets(params.value), encoder)

    def loss(self, params: Parameters, targets: Targets, batch: Batch, key: Key, step: Array | None = None) -> Loss:
        """Representation + value + regularizer + policy; every stop-gradient between parts is written here.

        A step is given in training: images are augmented, and the regularizer has no weight before `regularizer_start`.
        """
        recipe, sight = self.recipe, self.sight
        batch = self.head.with_vectors(batch if step is None else sight.augmented(jax.random.fold_in(key, 5), batch))
        rep_key, view_key, regularizer_key, actor_view_key, act_key = jax.random.split(key, 5)
        constant = stop_gradient(params)
        seen = sight.seen(params.encoder, targets.encoder, batch)
        shaped = params if recipe.representation.shaped_by_value else params._replace(representation=constant.representation)
        view, actor_view = self.view(shaped, view_key), self.view(constant, actor_view_key)

        def act(states: Array, goals: Array) -> Array:
            return self._first(recipe.policy.act(constant.policy, states, goals, actor_view, act_key, jnp.zeros(())))

        value, values = self.value_loss(params.value, targets.value, seen, view.encode, act)
        asked = sight.asked(self.value_functions(constant), seen)
        losses = {
            "representation": recipe.representation.loss(params.representation, targets.representation, seen.value, rep_key),
            "value": value,
            "policy": recipe.policy.loss(params.policy, asked, seen.policy, actor_view, act_key),
        }
        known = values if seen.points is seen.value else None
        fields = self.fields(params, shaped, targets, seen.points, view_key, known)
        if fields:
            loss, metrics = add([recipe.regularizer(field, regularizer_key) for field in fields])
            start = recipe.learning.regularizer_start
            losses["regularizer"] = (jnp.where(step < start, 0.0, loss) if start and step is not None else loss), metrics
        return combine(losses)

    def value_loss(self, params: Params, targets: Params, seen: Seen, encode: Encode, act: Act) -> tuple[Loss, Array | None]:
        """The value's loss, and V(s, z) of the batch if the loss computes it, for the regularizer to reuse."""
        value, batch = self.recipe.value, seen.value
        if not isinstance(value, Regresses):
            return value.loss(params, targets, batch, encode, act), None
        values = value.state_value(params, batch.observations, encode(batch.observations, batch.value_goals.vectors))
        return value.regress(values, params, targets, seen.targets, encode), values

    def view(self, params: Parameters, key: Key) -> PolicyView:
        """What the policy uses of the other parts; every call within a step uses the same random draw."""
        rep = self.recipe.representation
        project = rep.project if isinstance(rep, Projects) else lambda vectors: vectors
        encode = lambda states, goals: rep.encode(params.representation, states, goals, key)
        return PolicyView(encode, project, self.head, self.value_functions(params))

    def fields(
        self, params: Parameters, downstream: Parameters, targets: Targets, batch: Batch, key: Key, values: Array | None
    ) -> list[Field]:
        """The surfaces to regularize: the value's, the representation's own or both, as its setting `regularized` says."""
        rep = self.recipe.representation
        chosen = rep.regularized if isinstance(rep, HasSurface) else "downstream"
        surfaces = []
        if self.recipe.has_surface and chosen in ("downstream", "both"):
            surfaces.append(self.field(downstream, batch, key, targets)._replace(values_at_points=values))
        if isinstance(rep, HasSurface) and chosen in ("own", "both"):
            surfaces.append(rep.surface(params.representation, batch))
        return surfaces

    def field(self, params: Parameters, batch: Batch, key: Key, targets: Targets | None = None) -> Field:
        """The value surface over observations; the goal is encoded again at every point where it is evaluated.

        A value that has only a critic Q(s, a, g) is evaluated at the logged action at every point: the action is appended to
        the goal. With `targets`, the field also has the target network's surface, if all of the value's parameters have one.
        """
        goals = batch.value_goals.vectors
        at = self.surface(params, key, goals.shape[-1])
        target_at = None
        if targets is not None and _same_structure(targets.value, params.value):
            target_at = self.surface(stop_gradient(params._replace(value=targets.value)), key, goals.shape[-1])
        if "state_value" not in offered(self.recipe.value):
            goals = jnp.concatenate([goals, batch.actions], axis=-1)
        return Field(at, batch.observations, goals, target_at=target_at)

    def surface(self, params: Parameters, key: Key, size: int) -> Callable[[Array, Array], Array]:
        """V as a function of points and goals, or the critic; it takes goals of length `size` with actions appended."""
        value, encode = self.value_functions(params), self.view(params, key).encode
        if value.state_value:
            state_value = value.state_value
            return lambda points, goals: state_value(points, encode(points, goals))
        assert value.critic is not None, "the recipe has a surface"
        critic = value.critic
        return lambda points, pairs: critic(points, pairs[..., size:], encode(points, pairs[..., :size]))

    def value_functions(self, params: Parameters) -> ValueFunctions:
        """The functions that the value offers, with its parameters bound."""
        value: Any = self.recipe.value
        bound = {
            name: (lambda *args, method=name: getattr(value, method)(params.value, *args)) if name in offered(value) else None
            for name in ValueFunctions._fields
        }
        if self.shapes.chunk > 1 and bound["state_value"]:
            bound["advantage"] = partial(chunk_advantage, bound["state_value"])
        return ValueFunctions(**bound)

    def sample(self, data: Rows, key: Key) -> Batch:
        """A batch of transitions with the goals that the recipe trains on."""
        learning = self.recipe.learning
        mixes = self.recipe.value_goals, learning.actor_goals
        return sample(key, data, learning.batch_size, mixes, self.recipe.request, learning.discount)

    def keys(self, seed: Array, step: Array) -> tuple[Key, Key]:
        """Random keys of a step: for sampling its batch, and for the losses on it."""
        sample_key, loss_key = jax.random.split(jax.random.fold_in(jax.random.key(seed), step))
        return sample_key, loss_key

    def update(self, state: State, batch: Batch) -> tuple[State, Metrics]:
        """One optimizer step."""
        loss_key = self.keys(state.seed, state.step)[1]
        grads, metrics = jax.grad(self.loss, has_aux=True)(state.params, state.targets, batch, loss_key, state.step)
        learning, before = self.recipe.learning, Variables(state.params, state.targets, state.optimizer)
        after = adam_step(before, grads, learning.learning_rate, learning.target_rate, self.targets)
        return State(*after, state.seed, state.step + 1), metrics

    def steps(self, state: State, data: Rows, count: int, sharding: BatchSharding | None = None) -> tuple[State, Metrics]:
        """Many steps in one call; metrics of all steps, stacked.

        All batches are drawn before the first step, but those of images, which are large, when they are needed.
        """
        if self.shapes.image and sharding is None:
            one = lambda before, _: self.update(before, self.sample(data, self.keys(before.seed, before.step)[0]))
            return jax.lax.scan(one, state, length=count)
        batches = self.draw(data, state.seed, state.step + jnp.arange(count))
        return self.updates(state, sharding.constrain(batches) if sharding else batches)

    def draw(self, data: Rows, seed: Array, steps: Array) -> Batch:
        """The batches of these steps, stacked along a leading axis."""
        return jax.vmap(lambda step: self.sample(data, self.keys(seed, step)[0]))(steps)

    def updates(self, state: State, batches: Batch) -> tuple[State, Metrics]:
        """One step for each of the batches, which are stacked along a leading axis."""
        return jax.lax.scan(self.update, state, batches)

    def inputs(self, states: Array, goals: Array) -> tuple[Array, Array]:
        """Observations and goals as the data has them, in the form and the units of the networks.

        With a history of k, states are (..., k d) with the oldest observation first; one (..., d) alone has not moved.
        """
        history = self.recipe.learning.history
        if history > 1 and history * states.shape[-1] == self.shapes.observation:
            states = jnp.tile(states, history)
        if self.normalization is None:
            return states, goals
        return self.normalization.observations.standardized(states), self.normalization.goals.standardized(goals)

    def act(self, params: Parameters, states: Array, goals: Array, key: Key, temperature: Array) -> Array:
        """The policy's actions for observations and goals as the data has them; of a chunk the first."""
        return self.head.from_vectors(self._first(self.act_on_inputs(params, *self.inputs(states, goals), key, temperature)))

    def answer(self, params: Parameters, states: Array, goals: Array, key: Key, temperature: Array) -> Array:
        """As `act`, but all actions of the chunk, as vectors: (..., steps, a)."""
        found = self.act_on_inputs(params, *self.inputs(states, goals), key, temperature)
        return found if self.shapes.chunk > 1 else found[..., None, :]

    def _first(self, actions: Array) -> Array:
        """The actions themselves, or the first of each chunk."""
        return actions[..., 0, :] if self.shapes.chunk > 1 else actions

    def act_on_inputs(self, params: Parameters, states: Array, goals: Array, key: Key, temperature: Array) -> Array:
        """The policy's actions as vectors, or chunks of them, for states and goals as batches have them."""
        states, goals = self.sight.for_policy(params.encoder, states, goals)
        view_key, act_key = jax.random.split(key)
        return self.recipe.policy.act(params.policy, states, goals, self.view(params, view_key), act_key, temperature)

    def values(self, params: Parameters, states: Array, goals: Array, key: Key) -> Array:
        """Values to plot: V(s, g) averaged over heads, or the critic at the policy's own action."""
        given = self.inputs(states, goals)
        states, goals = self.sight.for_value(params.encoder, *given)
        value, represented = self.value_functions(params), self.view(params, key).encode(states, goals)
        if value.state_value:
            return value.state_value(states, represented).mean(axis=0)
        if value.critic:
            action = self._first(self.act_on_inputs(params, *given, key, jnp.zeros(())))
            return value.critic(states, action, represented).mean(axis=0)
        raise UsageError("this recipe learns no value; choose a run of one that does.")

    def steps_to_go(self, params: Parameters, states: Array, goals: Array, key: Key) -> Array:
        """Steps from states to goals as the value counts them; a regularizer that flattens the value makes them fewer."""
        self.recipe.check_plan()
        value = self.recipe.value
        if not isinstance(value, CountsSteps):
            able = [name for name in registry.names("value") if hasattr(registry.part_class("value", name), "steps_to_go")]
            name = registry.name_of("value", value)
            raise UsageError(f"a plan needs a value that counts steps, which {name} does not; values that do: {', '.join(able)}.")
        return value.steps_to_go(self.values(params, states, goals, key), self.recipe.learning.discount)
