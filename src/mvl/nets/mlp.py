"""Multi-layer perceptrons as pure functions: parameters carry all sizes, so applying one needs nothing else."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from mvl.kernels.calls import usable
from mvl.kernels.network import Layers, ensemble
from mvl.types import Key, Params

glorot = jax.nn.initializers.variance_scaling(1.0, "fan_avg", "uniform")
lecun = jax.nn.initializers.lecun_normal()
WIDE = 16
"""Numbers in an input from which on it is worth multiplying once what many rows share."""

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


class Smooth(MLP):
    """A network that never runs by kernels, which have first derivatives only."""

    __slots__ = ()


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


def apply_mlp(mlp: MLP, *inputs: Array) -> Array:
    """Hidden layers are Dense, GELU, then LayerNorm where there is one (in that order, as OGBench)."""
    if _suits_kernels(mlp, inputs):
        return _by_kernels(jax.tree.map(lambda leaf: leaf[None], mlp), inputs)[0]
    first, *others = *mlp.hidden, mlp.output
    x = dense(first, *inputs)
    for index, layer in enumerate(others):
        x = jax.nn.gelu(x, approximate=True)
        x = normalized_dense(mlp.norms[index], layer, x) if mlp.norms else dense(layer, x)
    return x


def _suits_kernels(mlp: MLP, inputs: Sequence[Array]) -> bool:
    return bool(mlp.hidden) and not isinstance(mlp, Smooth) and usable(mlp.output.kernel, *inputs)


def _by_kernels(mlp: MLP, inputs: Sequence[Array]) -> Array:
    """All heads. A wide input that lies along the last axes only is multiplied here, once; rows begin with its product."""
    first, *others = *mlp.hidden, mlp.output
    shape = jnp.broadcast_shapes(*(x.shape[:-1] for x in inputs))
    own: list[tuple[Array, Array]] = []
    shared: list[tuple[Array, Array]] = []
    for x, part in zip(inputs, parts_of(first, inputs), strict=True):
        (shared if x.shape[-1] >= WIDE and _repeats(x.shape[:-1], shape) else own).append((x, part))
    rows, kernel = _joined(own, shape)
    base = first.bias[:, None]
    if shared:
        repeated, part = _joined(shared, jnp.broadcast_shapes(*(_inner(x.shape[:-1]) for x, _ in shared)))
        base = base + repeated @ part
    pairs = zip(others, mlp.norms, strict=True) if mlp.norms else ((layer, ()) for layer in others)
    out = ensemble(rows, base, Layers(kernel, [(*layer, *norm) for layer, norm in pairs]))
    return out.reshape(out.shape[0], *shape, out.shape[-1])


def _joined(pairs: list[tuple[Array, Array]], shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Several inputs and their parts of the kernel as one of each: (rows, d), (heads, d, width)."""
    spread = [jnp.broadcast_to(x.reshape(_inner(x.shape[:-1]) + x.shape[-1:]), shape + x.shape[-1:]) for x, _ in pairs]
    rows = jnp.concatenate(spread, axis=-1)
    return rows.reshape(-1, rows.shape[-1]), jnp.concatenate([part for _, part in pairs], axis=-2)


def _repeats(part: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    """Whether an array of the first shape, written again and again, fills one of the second."""
    inner, outer = _inner(part), _inner(whole)
    return len(inner) < len(outer) and inner == outer[len(outer) - len(inner) :]


def _inner(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Without leading axes of length one."""
    return _inner(shape[1:]) if shape[:1] == (1,) else shape


def smooth(params: Params) -> Params:
    """The same networks, for derivatives of derivatives."""
    is_network = lambda node: isinstance(node, MLP)
    return jax.tree.map(lambda node: Smooth(*node) if is_network(node) else node, params, is_leaf=is_network)


def init_ensemble(key: Key, heads: int, *args, **kwargs) -> MLP:
    """Independent parameter sets along a leading axis."""
    return jax.vmap(lambda k: init_mlp(k, *args, **kwargs))(jax.random.split(key, heads))


def heads_of(mlp: MLP) -> list[MLP]:
    """The networks of an ensemble, one by one."""
    return [jax.tree.map(lambda leaf, e=e: leaf[e], mlp) for e in range(mlp.output.bias.shape[0])]


def apply_ensemble(mlp: MLP, *inputs: Array) -> Array:
    """All heads on the same inputs: (heads, ..., outputs).

    Without kernels written out head by head: who looks at one head alone (a gradient) then pays for that one only.
    """
    if _suits_kernels(mlp, inputs):
        return _by_kernels(mlp, inputs)
    return jnp.stack([apply_mlp(head, *inputs) for head in heads_of(mlp)])
