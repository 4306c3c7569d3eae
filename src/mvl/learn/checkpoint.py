"""Checkpoints: a safetensors file with every array of the state by name, and JSON notes in its header; written atomically.

The notes have a checksum of the arrays, since one wrong bit may change a policy without any other sign.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as serialized

from mvl.errors import DamagedError, MvlError
from mvl.files import atomic

FORMAT = 1


def _named(tree: Any) -> dict[str, Any]:
    """Leaves of a tree, by their path in it."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {jax.tree_util.keystr(path, simple=True, separator="."): leaf for path, leaf in leaves}


def _arrays(tree: Any) -> dict[str, np.ndarray]:
    return {name: np.array(leaf, order="C") for name, leaf in _named(tree).items()}


def checksum(tree: Any) -> str:
    """SHA-256 of a tree of arrays, by which a file can say what it was computed from."""
    return _digest(_arrays(tree))


def save(path: Path, tree: Any, notes: dict[str, Any]) -> None:
    """Write a tree of arrays, and `notes` as JSON in the header."""
    arrays = _arrays(tree)
    with atomic(path) as partial:
        # Written as bytes, because safetensors' own writer reports a full disk without the system's error number.
        partial.write_bytes(serialized(arrays, {"mvl": json.dumps({"format": FORMAT, "sha256": _digest(arrays), **notes})}))


def _digest(arrays: dict[str, np.ndarray]) -> str:
    """SHA-256 of the arrays with their names, types and shapes, as hexadecimal digits."""
    found = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        found.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The open file and its notes; DamagedError if its size does not match its header. Arrays are not read."""
    try:
        with safe_open(path, framework="numpy") as file:
            notes = json.loads((file.metadata() or {}).get("mvl", "{}"))
            if not isinstance(notes, dict):
                raise ValueError("its notes are not a JSON object")
            if notes.get("format") != FORMAT:
                raise MvlError(
                    f"{path}: checkpoint format {notes.get('format')}, but this mvl reads {FORMAT}; use the mvl that wrote it."
                )
            yield file, notes
    except (SafetensorError, ValueError) as error:
        raise DamagedError(f"{path}: not a readable checkpoint ({error}).") from None
    except OSError as error:
        raise MvlError(f"{path}: not a readable checkpoint ({error}).") from None


def step_of(path: Path) -> int:
    """The step of the state in a checkpoint; reads no other array."""
    with _opened(path) as (file, _):
        return int(file.get_tensor("step").flat[0])


def load_arrays(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """All arrays by name, and the notes; DamagedError if the checksum is wrong. Files of version 0.1 have none."""
    with _opened(path) as (file, notes):
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    if notes.get("sha256", _digest(arrays)) != _digest(arrays):
        raise DamagedError(f"{path}: its content has changed since it was written; use a copy, or train again.")
    return arrays, notes


def load(path: Path, like: Any) -> tuple[Any, dict[str, Any]]:
    """The tree and the notes of a checkpoint; names, shapes and types must be those of `like`."""
    expected = _named(like)
    arrays, notes = load_arrays(path)
    if arrays.keys() != expected.keys():
        odd = sorted(arrays.keys() ^ expected.keys())
        raise MvlError(f"{path}: does not fit this recipe: {odd[0]} is in only one of the two.")
    for name, leaf in expected.items():
        if arrays[name].shape != leaf.shape:
            raise MvlError(f"{path}: {name} has shape {arrays[name].shape}, the recipe makes {leaf.shape}.")
        if arrays[name].dtype != leaf.dtype:
            raise MvlError(f"{path}: {name} has type {arrays[name].dtype}, the recipe makes {leaf.dtype}.")
    ordered = [jnp.asarray(arrays[name]) for name in expected]
    return jax.tree.unflatten(jax.tree.structure(like), ordered), notes
