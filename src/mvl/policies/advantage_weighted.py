"""Advantage-weighted regression: imitation in which actions with a high advantage weigh more."""

from dataclasses import dataclass
from typing import ClassVar

from jax import Array

from mvl.batches import Batch, BatchRequest
from mvl.checks import COUNT, NOT_NEGATIVE, check_settings
from mvl.nets.distributions import exponential_weight
from mvl.nets.mlp import apply_mlp, init_mlp, small
from mvl.types import Key, Loss, Params, PolicyView, Shapes, ValueFunctions


@dataclass(frozen=True)
class AdvantageWeighted:
    """-mean min(exp(alpha A), 100) log pi(a | s, z), with pi a normal distribution of unit variance for continuous actions."""

    alpha: float = 10.0
    """Inverse temperature: the larger, the more actions with a high advantage are preferred."""
    widths: tuple[int, ...] = (512, 512, 512)
    """Hidden layers of the policy."""

    needs: ClassVar[frozenset[str]] = frozenset({"advantage"})
    request: ClassVar[BatchRequest] = BatchRequest()
    discrete: ClassVar[bool] = True
    chunks: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_settings(self, alpha=NOT_NEGATIVE, widths=COUNT)

    def init(self, key: Key, shapes: Shapes) -> Params:
        inputs = shapes.observation + shapes.represented
        return init_mlp(key, inputs, self.widths, shapes.outputs, norm=False, final=small)

    def loss(self, params: Params, value: ValueFunctions, batch: Batch, view: PolicyView, key: Key) -> Loss:
        assert value.advantage is not None, "the recipe checks that the value offers an advantage"
        goals = batch.actor_goals.vectors
        weight = exponential_weight(self.alpha * value.advantage(batch, goals, view.encode))
        outputs = apply_mlp(params, batch.observations, view.encode(batch.observations, goals))
        log_prob = view.head.log_prob(outputs, batch)
        return -(weight * log_prob).mean(), {"weight": weight.mean(), "error": view.head.error(outputs, batch)}

    def act(self, params: Params, states: Array, goals: Array, view: PolicyView, key: Key, temperature: Array) -> Array:
        """A sample at the given temperature; at 0, the most likely action."""
        return view.head.sample(key, apply_mlp(params, states, view.encode(states, goals)), temperature)
