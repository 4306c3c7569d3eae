"""DDPG+BC: maximizes a critic by its gradient, with a behavior-cloning term."""

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jax import Array
from jax.lax import stop_gradient

from mvl.batches import Batch, BatchRequest
from mvl.checks import COUNT, NOT_NEGATIVE, check_settings
from mvl.nets.mlp import apply_mlp, init_mlp, small
from mvl.types import Key, Loss, Params, PolicyView, Shapes, ValueFunctions


@dataclass(frozen=True)
class Gradient:
    """-mean q / sg(mean |q| + 1e-6) - alpha mean log pi(a | s, z), with q = min_e Q_e(s, mean of pi clipped, z).

    For discrete actions the critic gets the mean of their vectors, tanh(l / 2) or softmax(l) of the logits l.
    """

    alpha: float = 0.1
    """Weight of the behavior-cloning term; published per task and value."""
    norm: bool = False
    """Use layer normalization in the policy (as in TRL)."""
    widths: tuple[int, ...] = (512, 512, 512)
    """Hidden layers of the policy."""

    needs: ClassVar[frozenset[str]] = frozenset({"critic"})
    request: ClassVar[BatchRequest] = BatchRequest()
    discrete: ClassVar[bool] = True
    chunks: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_settings(self, alpha=NOT_NEGATIVE, widths=COUNT)

    def init(self, key: Key, shapes: Shapes) -> Params:
        inputs = shapes.observation + shapes.represented
        return init_mlp(key, inputs, self.widths, shapes.action, norm=self.norm, final=small)

    def loss(self, params: Params, value: ValueFunctions, batch: Batch, view: PolicyView, key: Key) -> Loss:
        assert value.critic is not None, "the recipe checks that the value offers a critic"
        represented = view.encode(batch.observations, batch.actor_goals.vectors)
        outputs = apply_mlp(params, batch.observations, represented)
        q = value.critic(batch.observations, view.head.expected(outputs), represented).min(axis=0)
        maximize = -q.mean() / stop_gradient(jnp.abs(q).mean() + 1e-6)
        imitate = -view.head.log_prob(outputs, batch).mean()
        return maximize + self.alpha * imitate, {"worth": q.mean(), "error": view.head.error(outputs, batch)}

    def act(self, params: Params, states: Array, goals: Array, view: PolicyView, key: Key, temperature: Array) -> Array:
        """A sample at the given temperature; at 0, the most likely action."""
        return view.head.sample(key, apply_mlp(params, states, view.encode(states, goals)), temperature)
