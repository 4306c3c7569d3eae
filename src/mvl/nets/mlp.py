"""Multi-layer perceptrons as pure functions; all sizes are those of the parameters."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from mvl.nets.native.operation import accelerated
from mvl.types import Key

Initializer = jax.nn.initializers.Initializer
glorot = jax.nn.initializers.variance_scaling(1.0, "fan_avg", "uniform")
lecun = jax.nn.initializers.lecun_normal()
small = jax.nn.initializers.variance_scaling(0.01, "fan_avg", "uniform")


class Dense(NamedTuple):
    """A linear layer. Field names of parameters are part of the checkpoint format."""

    kernel: Array  # (inputs, outputs) the weights
    bias: Array  # (outputs,)


class Norm(NamedTuple):
    """Parameters of a LayerNorm."""

    scale: Array  # (width,)
    shift: Array  # (width,)


class MLP(NamedTuple):
    """A multi-layer perceptron, or an ensemble if all arrays have a leading axis for the heads."""

    hidden: tuple[Dense, ...]
    norms: tuple[Norm, ...]
    """One per hidden layer, or empty: no normalization."""
    output: Dense


def init_dense(key: Key, inputs: int, outputs: int, initializer: Initializer = glorot) -> Dense:
    return Dense(initializer(key, (inputs, outputs)), jnp.zeros(outputs))


def init_mlp(key: Key, inputs: int, widths: tuple[int, ...], outputs: int, *, norm: bool, final: Initializer = glorot) -> MLP:
    """Initial parameters; `widths` are the sizes of the hidden layers, `final` initializes the output layer's weights."""
    sizes = (inputs, *widths, outputs)
    keys = jax.random.split(key, len(sizes) - 1)
    layers = [
        init_dense(k, a, b, final if last else glorot)
        for k, a, b, last in zip(keys, sizes[:-1], sizes[1:], [False] * len(widths) + [True], strict=True)
    ]
    norms = tuple(Norm(jnp.ones(width), jnp.zeros(width)) for width in widths) if norm else ()
    return MLP(tuple(layers[:-1]), norms, layers[-1])


def weights_of_inputs(layer: Dense, inputs: Sequence[Array]) -> list[Array]:
    """For each of several concatenated inputs, the rows of the weights that multiply it."""
    bounds = [0, *accumulate(x.shape[-1] for x in inputs)]
    if bounds[-1] != layer.kernel.shape[-2]:
        raise ValueError(f"layer takes {layer.kernel.shape[-2]} inputs, was given {bounds[-1]}")
    return [layer.kernel[..., a:b, :] for a, b in pairwise(bounds)]


def dense(layer: Dense, *inputs: Array) -> Array:
    """The layer applied to the concatenated inputs.

    Each input is multiplied by its own rows of the weights and the products are added, so that an input shared by many
    others (one goal for all neighbors of a state) is multiplied once and broadcast.
    """
    return sum((x @ part for x, part in zip(inputs, weights_of_inputs(layer, inputs), strict=True)), layer.bias)


def normalized_dense(norm: Norm, layer: Dense, x: Array) -> Array:
    """The layer applied to LayerNorm(x) = (x - mean) / std * scale + shift, with one matrix product.

    Centering and scaling are linear, so they are applied to the weights (rows scaled, columns centered); only the division
    by the standard deviation remains for each row of x (docs/speed.md).
    """
    scaled = norm.scale[:, None] * layer.kernel
    mean = x.mean(-1, keepdims=True)
    variance = jnp.maximum(jnp.square(x).mean(-1, keepdims=True) - jnp.square(mean), 0)
    return jax.lax.rsqrt(variance + 1e-6) * (x @ (scaled - scaled.mean(0))) + (norm.shift @ layer.kernel + layer.bias)


def mlp_formula(mlp: MLP, *inputs: Array) -> Array:
    """The network in JAX: each hidden layer is Dense, GELU and, if the network has it, LayerNorm (the order of OGBench)."""
    first, *others = *mlp.hidden, mlp.output
    x = dense(first, *inputs)
    for index, layer in enumerate(others):
        x = jax.nn.gelu(x, approximate=True)
        x = normalized_dense(mlp.norms[index], layer, x) if mlp.norms else dense(layer, x)
    return x


def apply_mlp(mlp: MLP, *inputs: Array) -> Array:
    """The network applied to the concatenated inputs, whose leading axes are broadcast: (..., outputs)."""
    return accelerated(mlp_formula, mlp, inputs)


def init_ensemble(key: Key, heads: int, inputs: int, widths: tuple[int, ...], outputs: int, *, norm: bool) -> MLP:
    """Independent initial parameters for each head, along a leading axis."""
    return jax.vmap(lambda k: init_mlp(k, inputs, widths, outputs, norm=norm))(jax.random.split(key, heads))


def heads_of(mlp: MLP) -> list[MLP]:
    """The networks of an ensemble."""
    return [jax.tree.map(lambda leaf, e=e: leaf[e], mlp) for e in range(mlp.output.bias.shape[0])]


def ensemble_formula(mlp: MLP, *inputs: Array) -> Array:
    """The ensemble in JAX, one head at a time, so that the compiler can skip heads whose gradient is not used."""
    return jnp.stack([mlp_formula(head, *inputs) for head in heads_of(mlp)])


def apply_ensemble(mlp: MLP, *inputs: Array) -> Array:
    """All heads applied to the same concatenated inputs: (heads, ..., outputs)."""
    return accelerated(ensemble_formula, mlp, inputs)
