"""Observations and goals in messages: one array, or named parts, checked before a policy sees them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mvl.data.inputs import Inputs
from mvl.data.signals import Signal, dimensions
from mvl.errors import UsageError

Entry = np.ndarray | dict[str, np.ndarray]
"""An observation or a goal in the units of the source: an array, or its parts by name."""


def entry(message: Mapping[str, Any], what: str, signals: tuple[Signal, ...]) -> Entry | None:
    """The observation or the goal of a message, as numbers; None if it has none.

    It is sent as `what`, an array or a map of parts; as parts `what/name`, of which those that the signals do not name, such as
    images, are ignored; or as `what/state`, an array.
    """
    whole, prefix = message.get(what), f"{what}/"
    if whole is not None and not isinstance(whole, dict):
        return _numbers(whole, what)
    parts = whole or {key.removeprefix(prefix): value for key, value in message.items() if key.startswith(prefix)}
    known = {name for one in dimensions(signals) for name in (one.column, one.label)}
    chosen = {name: _numbers(value, f"{what} {name!r}") for name, value in parts.items() if name in known}
    if chosen:
        return chosen
    if "state" in parts:
        return _numbers(parts["state"], what)
    if parts:
        names = ", ".join(sorted(known)) or "no names; send one array"
        raise UsageError(f"{what} has none of the parts that the run's data has, which are: {names}.")
    return None


def vector(given: Entry, what: str, size: int, inputs: Inputs) -> np.ndarray:
    """An observation or a goal as the data has it, (size,) float32; anything but finite numbers of this size is refused."""
    array = inputs.vector(given, what)
    if array.shape != (size,):
        raise UsageError(f"{what} has shape {array.shape}; it must be ({size},).")
    if not np.isfinite(array).all():
        raise UsageError(f"{what} has a value that is not finite; send finite numbers.")
    return array


def _numbers(given: Any, what: str) -> np.ndarray:
    try:
        array = np.asarray(given)
    except ValueError:
        raise UsageError(f"{what} is not an array; send numbers.") from None
    if array.dtype.kind not in "biuf":
        raise UsageError(f"{what} has type {array.dtype}; send numbers.")
    return array
