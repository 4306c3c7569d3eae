"""IMPALA's encoder of images, in the small version of OGBench."""

from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from mvl.checks import COUNT, NATURAL, UNIT, check_settings
from mvl.errors import UsageError
from mvl.nets.images import convolve, init_convolution, max_pool, squares
from mvl.nets.mlp import Dense, dense, init_dense
from mvl.types import ImageShape, Key, Params


class Stack(NamedTuple):
    first: Dense
    residual: tuple[Dense, Dense]


class Networks(NamedTuple):
    stacks: tuple[Stack, ...]
    output: Dense


@dataclass(frozen=True)
class Impala:
    """Stacks of a convolution, max-pooling and a residual block, x + conv(relu(conv(relu(x)))); then a dense layer with GELU.

    Convolutions and pooling have windows of 3 x 3; pooling takes every second place. Bytes are divided by 255.
    """

    channels: tuple[int, ...] = (16, 32, 32)
    """Channels of each stack."""
    size: int = 512
    """Length of the latent vector."""
    patch: int = 0
    """Side of the squares of pixels of which one linear map replaces the first stack's convolution and pooling, which takes
    most of the time; 0: none does, as published."""
    fusion: Literal["early", "late"] = "early"
    """early: the value and the policy have an encoder each, of observation and goal stacked (the paper's table 7); late: one
    encoder, of single images, is shared by all networks."""
    augment: float = 0.5
    """Probability that the images of a batch are shifted at random, by at most 3 pixels; observation and goals by the same."""
    shaped_by_regularizer: bool = False
    """Whether the regularizer trains the encoder; otherwise it shapes the value as a function of latent vectors alone."""

    def __post_init__(self) -> None:
        check_settings(self, channels=COUNT, size=COUNT, patch=NATURAL, augment=UNIT)
        if not self.channels:
            raise UsageError("impala needs at least one stack; give its channels.")

    def init(self, key: Key, shape: ImageShape) -> Params:
        *blocks, last = jax.random.split(key, 3 * len(self.channels) + 1)
        stacks, inputs = list[Stack](), shape[2]
        for number, outputs in enumerate(self.channels):
            side = self.patch if self.patch and not number else 3
            first, one, other = blocks[3 * number : 3 * number + 3]
            residual = init_convolution(one, outputs, outputs), init_convolution(other, outputs, outputs)
            stacks.append(Stack(init_convolution(first, inputs, outputs, side), residual))
            inputs = outputs
        return Networks(tuple(stacks), init_dense(last, prod(self.places(shape)[-1]) * inputs, self.size))

    def encode(self, params: Params, images: Array) -> Array:
        """Latent vectors (n, size) of images (n, height, width, channels) of bytes."""
        x = images.astype(jnp.float32) / 255
        for number, (first, residual) in enumerate(params.stacks):
            x = dense(first, squares(x, self.patch)) if self.patch and not number else max_pool(convolve(first, x))
            x = x + convolve(residual[1], jax.nn.relu(convolve(residual[0], jax.nn.relu(x))))
        return jax.nn.gelu(dense(params.output, jax.nn.relu(x).reshape(len(x), -1)), approximate=True)

    def places(self, shape: ImageShape) -> list[tuple[int, int]]:
        """Height and width of an image, and of what each stack makes of it."""
        found = [shape[:2]]
        for number in range(len(self.channels)):
            side = self.patch if self.patch and not number else 2
            found.append((-(-found[-1][0] // side), -(-found[-1][1] // side)))
        return found

    def operations(self, shape: ImageShape) -> float:
        """Floating-point operations of the products for one image."""
        total, inputs = 0, shape[2]
        for number, (outputs, (before, after)) in enumerate(zip(self.channels, pairwise(self.places(shape)), strict=True)):
            linear = self.patch and not number
            total += prod(after) * self.patch**2 * inputs * outputs if linear else prod(before) * 9 * inputs * outputs
            total += 2 * prod(after) * 9 * outputs * outputs
            inputs = outputs
        return 2.0 * (total + prod(self.places(shape)[-1]) * inputs * self.size)
