"""Observations and goals as a policy is given them: in the units of the source, as arrays or by the names of their parts."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mvl.data.dataset import Dataset
from mvl.data.signals import Dimension, Signal, Signals, dimensions, numbers, stored, stored_size, unstored, vector_of
from mvl.errors import UsageError


class Inputs(NamedTuple):
    """How observations and goals of the source become those of the data."""

    signals: Signals | None = None
    """Names; None: arrays only."""
    origin: tuple[float, ...] | None = None
    """Subtracted from observations; None: nothing is."""
    goal_origin: tuple[float, ...] | None = None
    """Subtracted from goals."""

    @classmethod
    def of(cls, dataset: Dataset) -> "Inputs":
        """Those of a dataset; goals that are whole observations have the same origin as these."""
        origins = dataset.origin, dataset.origin if dataset.oracle is None else dataset.goal_origin
        return cls(dataset.signals, *(None if origin is None else tuple(origin.tolist()) for origin in origins))

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "signals": self.signals and self.signals.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Inputs":
        """From the entries of run.json; version 0.1 had none."""
        origins = (data.get(name) for name in ("origin", "goal_origin"))
        signals = data.get("signals")
        return cls(signals and Signals.from_json(signals), *(origin and tuple(origin) for origin in origins))

    @property
    def dtype(self) -> type[np.floating[Any]]:
        """Type of numbers in which observations and goals of the source are precise enough."""
        return np.float32 if self.origin is None and self.goal_origin is None else np.float64

    def vector(self, given: ArrayLike | Mapping[str, ArrayLike], what: str) -> np.ndarray:
        """An observation or a goal as the data has it, float32; `what` is `observation` or `goal`.

        It is given as an array, or by the names of its parts. Its size is not checked here.
        """
        signals = self._signals(what)
        if isinstance(given, Mapping):
            if not signals:
                raise UsageError(f"{what} is given by names, but the data of this policy has none; give an array.")
            array = vector_of(signals, given, what)
        else:
            array, source = numbers(given, what), self.dimensions(what)
            array = stored(array, source) if array.shape[-1:] == (len(source),) else array
        origin = self.goal_origin if what == "goal" else self.origin
        if origin is not None and array.ndim and array.shape[-1] % len(origin) == 0:
            array = array - np.tile(origin, array.shape[-1] // len(origin))  # several with a history of observations
        with np.errstate(over="ignore"):  # what is too large becomes infinite, which a policy refuses
            return np.asarray(array, np.float32)

    def original(self, array: np.ndarray, what: str) -> np.ndarray:
        """The inverse of `vector` for arrays: observations or goals of the data, (..., e), as those of the source, float64."""
        origin = self.goal_origin if what == "goal" else self.origin
        wide, source = array.astype(np.float64), self.dimensions(what)
        wide = wide if origin is None else wide + np.asarray(origin)
        return unstored(wide, source) if stored_size(source) == array.shape[-1] else wide

    def dimensions(self, what: str) -> list[Dimension]:
        """The dimensions of an observation or a goal of the source; none if the data has no names."""
        return dimensions(self._signals(what))

    def _signals(self, what: str) -> tuple[Signal, ...]:
        if self.signals is None:
            return ()
        return self.signals.goals if what == "goal" and self.signals.goals else self.signals.observations
