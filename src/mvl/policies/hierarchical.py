"""HIQL's two policies: a high-level policy chooses a sub-goal, a low-level policy acts towards it."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
from jax import Array

from mvl.batches import Batch, BatchRequest
from mvl.checks import COUNT, NOT_NEGATIVE, check_settings
from mvl.nets.distributions import exponential_weight, sample_unit_normal, unit_normal_log_prob
from mvl.nets.mlp import MLP, apply_mlp, init_mlp, small
from mvl.types import Key, Loss, Params, PolicyView, Shapes, ValueFunctions


class Networks(NamedTuple):
    high: MLP
    low: MLP


@dataclass(frozen=True)
class Hierarchical:
    """Two advantage-weighted regressions, with w_l the state k steps ahead and w_h the same, but not beyond the goal g:

    low   weighs log pi_l(a | s, z(s, w_l)) by the advantage of the logged action towards w_l,
    high  weighs log pi_h(z(s, w_h) | s, g) by V(w_h, g) - V(s, g).
    pi_h is a normal distribution of unit variance, pi_l that of the action head. The input of the high policy is the raw
    goal, its output a represented goal, which is projected onto the represented goals before the low policy gets it.
    """

    low_alpha: float = 3.0
    """Inverse temperature of the low policy."""
    high_alpha: float = 3.0
    """Inverse temperature of the high policy."""
    subgoal_steps: int = 25
    """k: steps from a state to its sub-goal in the data."""
    widths: tuple[int, ...] = (512, 512, 512)
    """Hidden layers of each policy."""

    needs: ClassVar[frozenset[str]] = frozenset({"advantage", "state_value"})
    discrete: ClassVar[bool] = True
    chunks: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_settings(self, low_alpha=NOT_NEGATIVE, high_alpha=NOT_NEGATIVE, subgoal_steps=COUNT, widths=COUNT)

    @property
    def request(self) -> BatchRequest:
        return BatchRequest(waypoint_steps=self.subgoal_steps)

    def init(self, key: Key, shapes: Shapes) -> Params:
        high, low = jax.random.split(key)
        return Networks(
            init_mlp(high, shapes.observation + shapes.goal, self.widths, shapes.represented, norm=False, final=small),
            init_mlp(low, shapes.observation + shapes.represented, self.widths, shapes.outputs, norm=False, final=small),
        )

    def loss(self, params: Params, value: ValueFunctions, batch: Batch, view: PolicyView, key: Key) -> Loss:
        low, low_weight = self.low_loss(params.low, value, batch, view)
        high, high_weight = self.high_loss(params.high, value, batch, view)
        return low + high, {"low": low, "high": high, "low_weight": low_weight, "high_weight": high_weight}

    def low_loss(self, params: MLP, value: ValueFunctions, batch: Batch, view: PolicyView) -> tuple[Array, Array]:
        assert value.advantage is not None, "the recipe checks that the value offers an advantage"
        assert batch.waypoints is not None, "requested by the part"
        near = batch.waypoints.near
        weight = exponential_weight(self.low_alpha * value.advantage(batch, near, view.encode))
        outputs = apply_mlp(params, batch.observations, view.encode(batch.observations, near))
        return -(weight * view.head.log_prob(outputs, batch)).mean(), weight.mean()

    def high_loss(self, params: MLP, value: ValueFunctions, batch: Batch, view: PolicyView) -> tuple[Array, Array]:
        assert value.state_value is not None, "the recipe checks that the value offers a state value"
        assert batch.waypoints is not None, "requested by the part"
        goals = batch.actor_goals.vectors
        _, onward, onward_states = batch.waypoints
        before = value.state_value(batch.observations, view.encode(batch.observations, goals))
        after = value.state_value(onward_states, view.encode(onward_states, goals))
        weight = exponential_weight(self.high_alpha * (after - before).mean(axis=0))
        target = view.encode(batch.observations, onward)
        mean = apply_mlp(params, batch.observations, goals)
        return -(weight * unit_normal_log_prob(mean, target)).mean(), weight.mean()

    def act(self, params: Params, states: Array, goals: Array, view: PolicyView, key: Key, temperature: Array) -> Array:
        """Actions of the low policy; the high policy chooses a new sub-goal at every step."""
        high_key, low_key = jax.random.split(key)
        subgoal = view.project(sample_unit_normal(high_key, apply_mlp(params.high, states, goals), temperature))
        return view.head.sample(low_key, apply_mlp(params.low, states, subgoal), temperature)
