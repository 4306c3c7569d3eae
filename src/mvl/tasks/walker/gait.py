"""A trained ant that walks where it is told: three layers in NumPy, so that makers of data need nothing else."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file
from safetensors.numpy import save as serialized

from mvl.errors import MvlError
from mvl.files import atomic

SHIPPED = Path(__file__).with_name("ant-walker.safetensors")
"""Made by `mvl data expert ant --to FILE` with its default steps and seed."""
BODY = 27
"""Position and velocity of torso and joints without where on the plane the ant stands."""
JOINTS = 8


class Layer(NamedTuple):
    kernel: np.ndarray  # (inputs, outputs)
    bias: np.ndarray  # (outputs,)


Walker = tuple[Layer, ...]
"""Of 29 inputs, the body and a unit direction, and 16 outputs: mean and log deviation of every joint before tanh."""


def outputs(walker: Walker, body: np.ndarray, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and log deviation before tanh, each (..., 8)."""
    x = np.concatenate([body, direction], axis=-1).astype(np.float32)
    for layer in walker[:-1]:
        x = _gelu(x @ layer.kernel + layer.bias)
    both = x @ walker[-1].kernel + walker[-1].bias
    return both[..., :JOINTS], both[..., JOINTS:]


def walk(walker: Walker, body: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """The action, (..., 8), that carries the body in that direction."""
    return np.tanh(outputs(walker, body, direction)[0])


def upside_down(body: np.ndarray) -> bool:
    """Whether the torso's own up points down; its quaternion (w, x, y, z) follows the height."""
    return bool(body[2] ** 2 + body[3] ** 2 > 0.5)


def save(path: Path, walker: Walker, notes: dict[str, str]) -> None:
    arrays = {
        f"{i}.{name}": np.ascontiguousarray(array) for i, layer in enumerate(walker) for name, array in layer._asdict().items()
    }
    with atomic(path) as partial:
        partial.write_bytes(serialized(arrays, notes))


def load(path: Path = SHIPPED) -> Walker:
    try:
        arrays = load_file(path)
    except (SafetensorError, OSError) as error:
        raise MvlError(f"{path}: not a readable walker ({error}); make one with mvl data expert ant.") from None
    count = len(arrays) // 2
    names = {f"{i}.{field}" for i in range(count) for field in Layer._fields}
    fits = arrays.keys() == names and count > 0
    if not fits or arrays["0.kernel"].shape[0] != BODY + 2 or arrays[f"{count - 1}.bias"].shape != (2 * JOINTS,):
        raise MvlError(f"{path}: not a walker of 29 inputs and 16 outputs; make one with mvl data expert ant.")
    return tuple(Layer(arrays[f"{i}.kernel"], arrays[f"{i}.bias"]) for i in range(count))


def _gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi).astype(np.float32) * (x + 0.044715 * x**3)))
