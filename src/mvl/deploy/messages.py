"""Messages of openpi's websocket protocol: msgpack maps with NumPy arrays. Nothing that is read can run code."""

import re
from collections.abc import Mapping
from math import prod
from typing import Any

import msgpack
import numpy as np

from mvl.errors import UsageError

NUMBERS = re.compile(r"[<>=|]?[biuf]\d{1,2}")
"""Types of arrays that are read: booleans, integers and floats."""
LIMITS = {"max_map_len": 1000, "max_array_len": 10_000, "max_str_len": 10_000, "max_ext_len": 0}
"""Largest parts of a message. Without limits, a short message can claim lists that fill the memory."""


def pack(message: Mapping[str, Any]) -> bytes:
    """A message as bytes."""
    packed: bytes = msgpack.packb(message, default=_encoded)
    return packed


def unpack(data: bytes | str) -> dict[str, Any]:
    """The message that the bytes hold; anything but a map with text as keys is refused."""
    if isinstance(data, str):
        raise UsageError("the message is text; send a binary msgpack map.")
    try:
        message = msgpack.unpackb(data, object_hook=_decoded, **LIMITS)
    except (ValueError, TypeError, OverflowError, RecursionError, msgpack.exceptions.UnpackException) as error:
        raise UsageError(f"the message cannot be read ({str(error) or 'not msgpack'}); send a msgpack map.") from None
    if not isinstance(message, dict) or not all(isinstance(key, str) for key in message):
        raise UsageError("the message is not a map with text as keys; send one, such as {observation, goal}.")
    return message


def part(message: Mapping[str, Any], what: str) -> Any:
    """The entry `what` of a message: itself, or a map of its named parts, which are sent as `what/name`; None if absent."""
    if what in message:
        return message[what]
    named = {key.removeprefix(f"{what}/"): value for key, value in message.items() if key.startswith(f"{what}/")}
    return named.get("state", named or None)


def vector(given: Any, what: str, size: int) -> np.ndarray:
    """An entry of a message as float32, (size,); anything but finite numbers of this shape is refused.

    This is where named parts become a vector, once the data of a run has names.
    """
    if isinstance(given, dict):
        raise UsageError(
            f"{what} has named parts ({', '.join(map(str, given))}), but the run's data has no names; send a vector."
        )
    try:
        array = np.asarray(given)
    except ValueError:
        raise UsageError(f"{what} is not an array; send a vector of {size} numbers.") from None
    if array.dtype.kind not in "iuf":
        raise UsageError(f"{what} has type {array.dtype}; send numbers.")
    if array.shape != (size,):
        raise UsageError(f"{what} has shape {array.shape}; it must be ({size},).")
    with np.errstate(over="ignore"):
        array = array.astype(np.float32)
    if not np.isfinite(array).all():
        raise UsageError(f"{what} has a value that is not finite; send finite numbers.")
    return array


def _encoded(thing: Any) -> dict[bytes, Any]:
    if not isinstance(thing, np.ndarray | np.generic) or thing.dtype.kind not in "biuf":
        kind = getattr(thing, "dtype", type(thing).__name__)
        raise UsageError(f"a message cannot have a {kind}; use numbers, text, arrays of numbers, lists and maps.")
    if isinstance(thing, np.generic):
        return {b"__npgeneric__": True, b"data": thing.item(), b"dtype": thing.dtype.str}
    return {b"__ndarray__": True, b"data": thing.tobytes(), b"dtype": thing.dtype.str, b"shape": thing.shape}


def _decoded(found: dict[Any, Any]) -> Any:
    if b"__ndarray__" in found:
        return _array(found.get(b"data"), _dtype(found.get(b"dtype")), found.get(b"shape"))
    if b"__npgeneric__" in found:
        return np.array(found.get(b"data"), _dtype(found.get(b"dtype")))[()]
    return found


def _dtype(name: Any) -> np.dtype[Any]:
    if not isinstance(name, str) or not NUMBERS.fullmatch(name):
        raise ValueError(f"an array has type {str(name)[:20]!r}, which is not one of numbers")
    return np.dtype(name)


def _array(data: Any, dtype: np.dtype[Any], shape: Any) -> np.ndarray:
    if not isinstance(data, bytes) or not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError("an array has no bytes or no shape")
    if prod(shape) * dtype.itemsize != len(data):
        raise ValueError(f"an array of {len(data)} bytes cannot have shape {tuple(shape)} and type {dtype}")
    return np.frombuffer(data, dtype).reshape(shape)
