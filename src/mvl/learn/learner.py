"""A recipe as a learner: the sum of four losses, one optimizer step, a policy."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.lax import stop_gradient

from mvl import registry
from mvl.data.goals import Rows, sample
from mvl.errors import UsageError
from mvl.learn.devices import BatchSharding
from mvl.learn.optimizer import Moved, move, optimizer
from mvl.recipes.recipe import Recipe
from mvl.representations.identity import Identity
from mvl.types import (
    Act,
    Batch,
    CountsSteps,
    Encode,
    Field,
    GoalView,
    HasSurface,
    Key,
    Loss,
    Metrics,
    Params,
    Projects,
    Regresses,
    Shapes,
    ValueFunctions,
    offered,
)


class Parameters(NamedTuple):
    representation: Params
    value: Params
    policy: Params


class Targets(NamedTuple):
    """Slowly moving copies."""

    representation: Params
    value: Params


class State(NamedTuple):
    """All that changes while training; with the seed's key and the step it fixes everything that follows."""

    params: Parameters
    targets: Targets
    optimizer: Any
    seed: Array  # (): randomness of step t is a function of the seed and t alone
    step: Array  # ()


COUNTING = "recipes that plan: gcivl, hiql, gciql, qrl, trl, tdp, coe and what is built on them."


def combine(losses: dict[str, Loss]) -> Loss:
    """The sum of the losses; metrics carry the name of their part."""
    metrics = {f"{part}/loss": loss for part, (loss, _) in losses.items()}
    for part, (_, found) in losses.items():
        metrics |= {f"{part}/{name}": value for name, value in found.items()}
    return sum((loss for loss, _ in losses.values()), jnp.zeros(())), metrics


def add(losses: list[Loss]) -> Loss:
    """The sum of losses of one kind, and the mean of their metrics."""
    total = sum((loss for loss, _ in losses), jnp.zeros(()))
    return total, {name: jnp.stack([found[name] for _, found in losses]).mean() for name in losses[0][1]}


def _same_structure(one: Params, other: Params) -> bool:
    structures: list[Any] = [jax.tree.structure(tree) for tree in (one, other)]
    return bool(structures[0] == structures[1])


@dataclass(frozen=True)
class Learner:
    """Pure functions made from a recipe (already fitted to the data) and the sizes of observations and actions."""

    recipe: Recipe
    shapes: Shapes
    """Sizes of the data; how goals are represented follows from the recipe."""

    def init(self, seed: Array) -> State:
        keys = jax.random.split(jax.random.key(seed), 3)
        recipe = self.recipe
        plain = self.shapes.plain and isinstance(recipe.representation, Identity)
        shapes = self.shapes._replace(represented=recipe.representation.width(self.shapes.goal), plain=plain)
        params = Parameters(
            recipe.representation.init(keys[0], self.shapes),
            recipe.value.init(keys[1], shapes),
            recipe.policy.init(keys[2], shapes),
        )
        targets = jax.tree.map(jnp.copy, self.targets(params))
        moments = optimizer(recipe.learning.learning_rate).init(params)
        return State(params, targets, moments, jnp.copy(seed), jnp.zeros((), jnp.int32))

    def targets(self, params: Parameters) -> Targets:
        recipe = self.recipe
        return Targets(recipe.representation.targets(params.representation), recipe.value.targets(params.value))

    def loss(self, params: Parameters, targets: Targets, batch: Batch, key: Key, step: Array | None = None) -> Loss:
        """Representation + value + regularizer + policy; every stop-gradient between parts is written here.

        Given a step, the regularizer has no weight before its start.
        """
        recipe = self.recipe
        rep_key, see_key, geometry_key, act_see_key, act_key = jax.random.split(key, 5)
        constant = stop_gradient(params)
        shaped = params if recipe.representation.shaped_by_value else params._replace(representation=constant.representation)
        view, actor_view = self.view(shaped, see_key), self.view(constant, act_see_key)

        def act(states: Array, goals: Array) -> Array:
            return recipe.policy.act(constant.policy, states, goals, actor_view, act_key, jnp.zeros(()))

        value, values = self.value_loss(params.value, targets.value, batch, view.encode, act)
        losses = {
            "representation": recipe.representation.loss(params.representation, targets.representation, batch, rep_key),
            "value": value,
            "policy": recipe.policy.loss(params.policy, self.value_functions(constant), batch, actor_view, act_key),
        }
        fields = self.fields(params, shaped, targets, batch, see_key, values)
        if fields:
            loss, metrics = add([recipe.regularizer(field, geometry_key) for field in fields])
            start = recipe.learning.regularizer_start
            losses["regularizer"] = (jnp.where(step < start, 0.0, loss) if start and step is not None else loss), metrics
        return combine(losses)

    def value_loss(self, params: Params, targets: Params, batch: Batch, encode: Encode, act: Act) -> tuple[Loss, Array | None]:
        """The value's loss, and V(s, z) of the batch if the loss computes it, for the regularizer to reuse."""
        value = self.recipe.value
        if not isinstance(value, Regresses):
            return value.loss(params, targets, batch, encode, act), None
        values = value.state_value(params, batch.observations, encode(batch.observations, batch.value_goals.vectors))
        return value.regress(values, params, targets, batch, encode), values

    def view(self, params: Parameters, key: Key) -> GoalView:
        """Goals through the representation; every call within a step uses the same random draw."""
        rep = self.recipe.representation
        project = rep.project if isinstance(rep, Projects) else lambda vectors: vectors
        return GoalView(lambda states, goals: rep.encode(params.representation, states, goals, key), project)

    def fields(
        self, params: Parameters, downstream: Parameters, targets: Targets, batch: Batch, key: Key, values: Array | None
    ) -> list[Field]:
        """The surfaces to regularize: the value's, and a representation's own where it asks for that."""
        rep = self.recipe.representation
        chosen = rep.regularized if isinstance(rep, HasSurface) else "downstream"
        found = []
        if self.recipe.has_surface and chosen in ("downstream", "both"):
            found.append(self.field(downstream, batch, key, targets)._replace(values_at_points=values))
        if isinstance(rep, HasSurface) and chosen in ("own", "both"):
            found.append(rep.surface(params.representation, batch))
        return found

    def field(self, params: Parameters, batch: Batch, key: Key, targets: Targets | None = None) -> Field:
        """The value surface over observations; the goal is encoded anew at every point it is evaluated at.

        A value of actions alone is evaluated at the logged action, also at other points: it travels with the goal. With
        `targets`, the field also has the surface of the slowly moving copies, if all of the value's parameters have them.
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
        """V at (points, goals), or the critic at (points, goals of this size with actions appended)."""
        value, encode = self.value_functions(params), self.view(params, key).encode
        if value.state_value:
            state_value = value.state_value
            return lambda points, goals: state_value(points, encode(points, goals))
        assert value.critic is not None, "the recipe has a surface"
        critic = value.critic
        return lambda points, pairs: critic(points, pairs[..., size:], encode(points, pairs[..., :size]))

    def value_functions(self, params: Parameters) -> ValueFunctions:
        value: Any = self.recipe.value
        bound = {
            name: (lambda *args, method=name: getattr(value, method)(params.value, *args)) if name in offered(value) else None
            for name in ValueFunctions._fields
        }
        return ValueFunctions(**bound)

    def sample(self, data: Rows, key: Key) -> Batch:
        learning = self.recipe.learning
        streams = self.recipe.value_goals, learning.actor_goals
        return sample(key, data, learning.batch_size, streams, self.recipe.request, learning.discount)

    def keys(self, seed: Array, step: Array) -> tuple[Key, Key]:
        """For drawing a batch, and for the losses on it."""
        sample_key, loss_key = jax.random.split(jax.random.fold_in(jax.random.key(seed), step))
        return sample_key, loss_key

    def update(self, state: State, batch: Batch) -> tuple[State, Metrics]:
        """One optimizer step."""
        loss_key = self.keys(state.seed, state.step)[1]
        grads, metrics = jax.grad(self.loss, has_aux=True)(state.params, state.targets, batch, loss_key, state.step)
        learning, before = self.recipe.learning, Moved(state.params, state.targets, state.optimizer)
        after = move(before, grads, learning.learning_rate, learning.target_rate, self.targets)
        return State(*after, state.seed, state.step + 1), metrics

    def steps(self, state: State, data: Rows, count: int, split: BatchSharding | None = None) -> tuple[State, Metrics]:
        """Many steps in one call; metrics of every step, stacked. All their batches are drawn at once, before the first step."""
        batches = self.draw(data, state.seed, state.step + jnp.arange(count))
        return self.updates(state, split.cut(batches) if split else batches)

    def draw(self, data: Rows, seed: Array, steps: Array) -> Batch:
        """The batches of these steps, along a leading axis."""
        return jax.vmap(lambda step: self.sample(data, self.keys(seed, step)[0]))(steps)

    def updates(self, state: State, batches: Batch) -> tuple[State, Metrics]:
        """One step for each of the batches, which lie along a leading axis."""
        return jax.lax.scan(self.update, state, batches)

    def act(self, params: Parameters, states: Array, goals: Array, key: Key, temperature: Array) -> Array:
        see_key, act_key = jax.random.split(key)
        return self.recipe.policy.act(params.policy, states, goals, self.view(params, see_key), act_key, temperature)

    def values(self, params: Parameters, states: Array, goals: Array, key: Key) -> Array:
        """What a picture of the value surface shows: V(s, g), heads averaged, or the critic of the policy's own action."""
        value, represented = self.value_functions(params), self.view(params, key).encode(states, goals)
        if value.state_value:
            return value.state_value(states, represented).mean(axis=0)
        if value.critic:
            return value.critic(states, self.act(params, states, goals, key, jnp.zeros(())), represented).mean(axis=0)
        raise UsageError("this recipe learns no value.")

    def steps_to_go(self, params: Parameters, states: Array, goals: Array, key: Key) -> Array:
        """Steps from states to goals, as the value has it; in units of its own if a regularizer has changed its slope."""
        value = self.recipe.value
        if not isinstance(value, CountsSteps):
            name = registry.name_of("value", value)
            raise UsageError(f"value {name} says nothing about steps to a goal, which a planner needs; {COUNTING}")
        return value.steps_to_go(self.values(params, states, goals, key), self.recipe.learning.discount)
