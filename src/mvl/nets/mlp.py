"""Multi-layer perceptrons as pure functions: parameters carry all sizes, so applying one needs nothing else."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from mvl.nets.native.operation import accelerated
from mvl.types import Key

glorot = jax.nn.initializers.variance_scaling(1.0, "fan_avg", "uniform")
lecun = jax.nn.initializers.lecun_normal()
small = jax.nn.initializers.variance_scaling(0.01, "fan_avg", "uniform")


class Dense(NamedTuple):
    kernel: Array  # (inputs, outputs)
    bias: Array  # (outputs,)


class Norm(NamedTuple):
    scale: Array  # (width,)
    shift: Array  # (width,)


class MLP(NamedTuple):
    hidden: tuple[Dense, ...]
    norms: tuple[Norm, ...]
    """One per hidden layer, or empty: no normalization."""
    output: Dense


def init_dense(key: Key, inputs: int, outputs: int, initializer=glorot) -> Dense:
    return Dense(initializer(key, (inputs, outputs)), jnp.zeros(outputs))


def init_mlp(key: Key, inputs: int, widths: tuple[int, ...], outputs: int, *, norm: bool, final=glorot) -> MLP:
    sizes = (inputs, *widths, outputs)
    keys = jax.random.split(key, len(sizes) - 1)
    layers = [
        init_dense(k, a, b, final if last else glorot)
        for k, a, b, last in zip(keys, sizes[:-1], sizes[1:], [False] * len(widths) + [True], strict=True)
    ]
    norms = tuple(Norm(jnp.ones(width), jnp.zeros(width)) for width in widths) if norm else ()
    return MLP(tuple(layers[:-1]), norms, layers[-1])


def parts_of(layer: Dense, inputs: Sequence[Array]) -> list[Array]:
    """The rows of the kernel that each of several concatenated inputs meets."""
    bounds = [0, *accumulate(x.shape[-1] for x in inputs)]
    if bounds[-1] != layer.kernel.shape[-2]:
        raise ValueError(f"layer takes {layer.kernel.shape[-2]} inputs, was given {bounds[-1]}")
    return [layer.kernel[..., a:b, :] for a, b in pairwise(bounds)]


def dense(layer: Dense, *inputs: Array) -> Array:
    """The layer on the concatenated inputs.

    Each input meets its own rows of the kernel and the products are added, so an input shared by many
    others (one goal for all neighbors of a state) is multiplied once and broadcast.
    """
    return sum((x @ part for x, part in zip(inputs, parts_of(layer, inputs), strict=True)), layer.bias)


def normalized_dense(norm: Norm, layer: Dense, x: Array) -> Array:
    """The layer on (x - mean) / deviation * scale + shift, LayerNorm of x, in one product.

    Centering and scaling are linear, so they move into the kernel, whose rows are scaled and columns centered; what is
    left for every input row is one division by its deviation (docs/speed.md).
    """
    scaled = norm.scale[:, None] * layer.kernel
    mean = x.mean(-1, keepdims=True)
    variance = jnp.maximum(jnp.square(x).mean(-1, keepdims=True) - jnp.square(mean), 0)
    return jax.lax.rsqrt(variance + 1e-6) * (x @ (scaled - scaled.mean(0))) + (norm.shift @ layer.kernel + layer.bias)


def mlp_formula(mlp: MLP, *inputs: Array) -> Array:
    """Hidden layers are Dense, GELU, then LayerNorm where there is one (in that order, as OGBench)."""
    first, *others = *mlp.hidden, mlp.output
    x = dense(first, *inputs)
    for index, layer in enumerate(others):
        x = jax.nn.gelu(x, approximate=True)
        x = normalized_dense(mlp.norms[index], layer, x) if mlp.norms else dense(layer, x)
    return x


def apply_mlp(mlp: MLP, *inputs: Array) -> Array:
    """The network on the concatenated inputs, whose leading axes are broadcast: (..., outputs)."""
    return accelerated(mlp_formula, mlp, inputs)


def init_ensemble(key: Key, heads: int, *args, **kwargs) -> MLP:
    """Independent parameter sets along a leading axis."""
    return jax.vmap(lambda k: init_mlp(k, *args, **kwargs))(jax.random.split(key, heads))


def heads_of(mlp: MLP) -> list[MLP]:
    """The networks of an ensemble, one by one."""
    return [jax.tree.map(lambda leaf, e=e: leaf[e], mlp) for e in range(mlp.output.bias.shape[0])]


def ensemble_formula(mlp: MLP, *inputs: Array) -> Array:
    """Written out head by head, so that the compiler can skip heads whose gradient is not used."""
    return jnp.stack([mlp_formula(head, *inputs) for head in heads_of(mlp)])


def apply_ensemble(mlp: MLP, *inputs: Array) -> Array:
    """All heads on the same inputs: (heads, ..., outputs)."""
    return accelerated(ensemble_formula, mlp, inputs)
