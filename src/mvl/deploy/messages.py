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
