"""Operations on images: convolution and pooling as slices and matrix products, and shifts.

XLA's own convolution is slow on a CPU inside a loop, which the training steps of one compiled call are (docs/speed.md).
"""

import jax.numpy as jnp
from jax import Array

from mvl.nets.mlp import Dense, glorot
from mvl.types import Key

SIDE = 3
"""Side of the window of convolution and pooling."""


def init_convolution(key: Key, channels: int, outputs: int, side: int = SIDE) -> Dense:
    """Weights of a window of `side` x `side` places, Glorot uniform as for a kernel with two axes of places."""
    kernel = glorot(key, (side, side, channels, outputs))
    return Dense(kernel.reshape(-1, outputs), jnp.zeros(outputs))


def convolve(layer: Dense, x: Array) -> Array:
    """3 x 3 convolution of images (n, height, width, channels), zero outside of them: the nine shifts of x, and one product."""
    height, width = x.shape[1:3]
    padded = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    shifts = [padded[:, i : i + height, j : j + width] for i in range(SIDE) for j in range(SIDE)]
    return jnp.concatenate(shifts, axis=-1) @ layer.kernel + layer.bias


def max_pool(x: Array) -> Array:
    """Maxima over 3 x 3 windows at every second place of images (n, height, width, channels)."""
    return _max_of_three(_max_of_three(x, 1), 2)


def squares(x: Array, side: int) -> Array:
    """The squares of `side` x `side` places as single places with all their numbers as channels; an incomplete edge is padded."""
    count, height, width, channels = x.shape
    rows, columns = -(-height // side), -(-width // side)
    padded = jnp.pad(x, ((0, 0), (0, rows * side - height), (0, columns * side - width), (0, 0)))
    parts = padded.reshape(count, rows, side, columns, side, channels).transpose(0, 1, 3, 2, 4, 5)
    return parts.reshape(count, rows, columns, -1)


def shifted(x: Array, offsets: Array) -> Array:
    """Images (n, height, width, channels), each moved by its offsets (n, 2) along height and width, with its edges repeated."""
    count, height, width, channels = x.shape
    rows = jnp.clip(jnp.arange(height) + offsets[:, :1], 0, height - 1)
    columns = jnp.clip(jnp.arange(width) + offsets[:, 1:], 0, width - 1)
    places = (rows[:, :, None] * width + columns[:, None]).reshape(count, -1, 1)
    return jnp.take_along_axis(x.reshape(count, -1, channels), places, axis=1).reshape(x.shape)


def _max_of_three(x: Array, axis: int) -> Array:
    """Maxima of three neighbors at every second place of an axis, with the edges of `SAME` padding."""
    count = -(-x.shape[axis] // 2)
    missing = 2 * count + 1 - x.shape[axis]
    padding = [(0, 0)] * x.ndim
    padding[axis] = (missing // 2, missing - missing // 2)
    padded = jnp.moveaxis(jnp.pad(x, padding, constant_values=-jnp.inf), axis, 0)
    pairs = padded[:-1].reshape(count, 2, *padded.shape[1:])  # strided slices have slow gradients
    last = padded[1:].reshape(count, 2, *padded.shape[1:])[:, 1]
    found = jnp.maximum(jnp.maximum(pairs[:, 0], pairs[:, 1]), last)
    return jnp.moveaxis(found, 0, axis)
