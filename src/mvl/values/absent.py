"""No value, for policies that only imitate the data."""

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp

from mvl.batches import Batch, BatchRequest, GoalMix
from mvl.types import Act, Encode, Key, Loss, Params, Shapes


@dataclass(frozen=True)
class Absent:
    """Learns nothing, and offers no value functions."""

    goal_mix: ClassVar[GoalMix] = GoalMix()
    request: ClassVar[BatchRequest] = BatchRequest()
    crosses_goals: ClassVar[bool] = False

    def init(self, key: Key, shapes: Shapes) -> Params:
        return ()

    def targets(self, params: Params) -> Params:
        return ()

    def loss(self, params: Params, targets: Params, batch: Batch, encode: Encode, act: Act) -> Loss:
        return jnp.zeros(()), {}
