"""Actions in the units of the source: what -1 and 1, and the indices of discrete actions, stand for."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from mvl.data.dataset import Dataset


class ActionUnits(NamedTuple):
    """How actions of the data, which a policy returns, become those of the source."""

    limits: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    """The actions that -1 and 1 stand for, in each dimension; None: -1 and 1."""
    levels: tuple[tuple[float, ...], ...] = ()
    """The values of each dimension's levels, whose indices the data has; empty for a continuous one, and if all are."""

    @classmethod
    def of(cls, dataset: Dataset) -> "ActionUnits":
        limits = None if dataset.action_range is None else dataset.action_range.tolist()
        signals = dataset.signals.actions if dataset.signals else ()
        levels = [signal.levels for signal in signals for _ in signal.labels]
        return cls.from_json({"action_range": limits, "action_levels": levels if any(levels) else None})

    @property
    def counts(self) -> tuple[int, ...]:
        """How many levels each dimension has, 0 if it is continuous; empty if all are."""
        return tuple(map(len, self.levels))

    def original(self, actions: np.ndarray) -> np.ndarray:
        """Actions of a policy, (..., a), in the units of the source."""
        scaled = actions
        if self.limits is not None:
            low, high = np.asarray(self.limits, np.float32)
            scaled = low + (actions + 1) / 2 * (high - low)
        if not self.levels:
            return scaled
        pairs = zip(self.levels, np.moveaxis(actions, -1, 0), np.moveaxis(scaled, -1, 0), strict=True)
        found = [np.asarray(values, np.float32)[np.rint(one).astype(int)] if values else other for values, one, other in pairs]
        return np.stack(found, axis=-1)

    def normalized(self, actions: np.ndarray) -> np.ndarray:
        """Actions in the units of the source, (..., a), as those of a policy: the inverse of `original`."""
        scaled = actions
        if self.limits is not None:
            low, high = np.asarray(self.limits, np.float32)
            scaled = 2 * (actions - low) / (high - low) - 1
        if not self.levels:
            return scaled
        pairs = zip(self.levels, np.moveaxis(actions, -1, 0), np.moveaxis(scaled, -1, 0), strict=True)
        found = [np.abs(np.subtract.outer(one, values)).argmin(axis=-1) if values else other for values, one, other in pairs]
        return np.stack(found, axis=-1).astype(np.float32)

    def to_json(self) -> dict[str, Any]:
        return {"action_range": self.limits, "action_levels": self.levels or None}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "ActionUnits":
        """From the entries of run.json; version 0.1 had no levels."""
        limits, levels = data.get("action_range"), data.get("action_levels") or ()
        return cls(limits and (tuple(limits[0]), tuple(limits[1])), tuple(map(tuple, levels)))
