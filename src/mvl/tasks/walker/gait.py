"""The policy of an ant that walks in a given direction: an MLP in NumPy, so that generating data does not need JAX."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file
from safetensors.numpy import save as serialized

from mvl.errors import MvlError
from mvl.files import atomic

SHIPPED = Path(__file__).with_name("ant-walker.safetensors")
"""Trained by `mvl data expert ant --to FILE` with its default steps and seed."""
BODY = 27
"""Length of a body's state: positions and velocities of torso and joints, without the position on the plane."""
JOINTS = 8


ARRAYS = ("kernel", "bias")
"""Names of a layer's arrays in a file."""


class Layer(NamedTuple):
    weights: np.ndarray  # (inputs, outputs)
    bias: np.ndarray  # (outputs,)


Walker = tuple[Layer, ...]
"""Layers with 29 inputs, the body and a unit direction, and 16 outputs: mean and log deviation of each joint before tanh."""


def outputs(walker: Walker, body: np.ndarray, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and log standard deviation of the action before tanh, each (..., 8)."""
    x = np.concatenate([body, direction], axis=-1).astype(np.float32)
    for layer in walker[:-1]:
        x = _gelu(x @ layer.weights + layer.bias)
    both = x @ walker[-1].weights + walker[-1].bias
    return both[..., :JOINTS], both[..., JOINTS:]


def walk(walker: Walker, body: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """The action, (..., 8), that moves the body in a direction."""
    action: np.ndarray = np.tanh(outputs(walker, body, direction)[0])
    return action


def upside_down(body: np.ndarray) -> bool:
    """Whether the torso is upside down, by its quaternion (w, x, y, z), which follows the height in `body`."""
    return bool(body[2] ** 2 + body[3] ** 2 > 0.5)


def save(path: Path, walker: Walker, notes: dict[str, str]) -> None:
    """Write a walker to a safetensors file, with `notes` in its header."""
    arrays = {
        f"{i}.{name}": np.ascontiguousarray(array)
        for i, layer in enumerate(walker)
        for name, array in zip(ARRAYS, layer, strict=True)
    }
    with atomic(path) as partial:
        partial.write_bytes(serialized(arrays, notes))


def load(path: Path = SHIPPED) -> Walker:
    """Read a walker from a file; by default the one that ships with mvl."""
    try:
        arrays = load_file(path)
    except (SafetensorError, OSError) as error:
        raise MvlError(f"{path}: not a readable walker ({error}); make one with mvl data expert ant.") from None
    count = len(arrays) // 2
    names = {f"{i}.{name}" for i in range(count) for name in ARRAYS}
    fits = arrays.keys() == names and count > 0
    if not fits or arrays["0.kernel"].shape[0] != BODY + 2 or arrays[f"{count - 1}.bias"].shape != (2 * JOINTS,):
        raise MvlError(f"{path}: not a walker of 29 inputs and 16 outputs; make one with mvl data expert ant.")
    return tuple(Layer(arrays[f"{i}.kernel"], arrays[f"{i}.bias"]) for i in range(count))


def _gelu(x: np.ndarray) -> np.ndarray:
    activation: np.ndarray = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi).astype(np.float32) * (x + 0.044715 * x**3)))
    return activation
