"""Behavior cloning: imitate the actions of the data on the way to the goal."""

from dataclasses import dataclass
from typing import ClassVar

from jax import Array

from mvl.batches import Batch, BatchRequest
from mvl.checks import COUNT, check_settings
from mvl.nets.mlp import apply_mlp, init_mlp, small
from mvl.types import Key, Loss, Params, PolicyView, Shapes, ValueFunctions


@dataclass(frozen=True)
class Clone:
    """-mean log pi(a | s, z), with pi a normal distribution of unit variance for continuous actions; uses no value."""

    widths: tuple[int, ...] = (512, 512, 512)
    """Hidden layers of the policy."""

    needs: ClassVar[frozenset[str]] = frozenset()
    request: ClassVar[BatchRequest] = BatchRequest()
    discrete: ClassVar[bool] = True
    chunks: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_settings(self, widths=COUNT)

    def init(self, key: Key, shapes: Shapes) -> Params:
        inputs = shapes.observation + shapes.represented
        return init_mlp(key, inputs, self.widths, shapes.outputs, norm=False, final=small)

    def loss(self, params: Params, value: ValueFunctions, batch: Batch, view: PolicyView, key: Key) -> Loss:
        outputs = apply_mlp(params, batch.observations, view.encode(batch.observations, batch.actor_goals.vectors))
        return -view.head.log_prob(outputs, batch).mean(), {"error": view.head.error(outputs, batch)}

    def act(self, params: Params, states: Array, goals: Array, view: PolicyView, key: Key, temperature: Array) -> Array:
        """A sample at the given temperature; at 0, the most likely action."""
        return view.head.sample(key, apply_mlp(params, states, view.encode(states, goals)), temperature)
