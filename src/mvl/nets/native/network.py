"""Forward and backward pass of a whole network, each as one call of C++."""

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.custom_batching import custom_vmap

from mvl.nets.native.calls import call

if TYPE_CHECKING:
    from mvl.nets.mlp import MLP

WIDE = 16
"""Smallest size of an input shared by many rows for which it pays to multiply it by its weights only once."""


class Layers(NamedTuple):
    """Parameters of an ensemble, with heads along the first axis."""

    first: Array  # (heads, inputs, width); its bias is part of `Joined.base`
    others: list[tuple[Array, ...]]
    """Weights (heads, inputs, outputs), bias (heads, outputs) and, with LayerNorm, scale and shift (heads, inputs) of each."""


class Joined(NamedTuple):
    """Arguments of the C++ functions: a network and its inputs, with h_0 = base + rows @ first; row r uses base[r % period]."""

    rows: Array  # (rows, inputs)
    base: Array  # (heads, period, width)
    layers: Layers


def outputs(mlp: "MLP", inputs: Sequence[Array]) -> Array:
    """Outputs (..., outputs) of a network, or (heads, ..., outputs) of an ensemble."""
    return _shaped(_outputs(*_join(mlp, inputs)), mlp, inputs)


def outputs_and_hidden(mlp: "MLP", inputs: Sequence[Array]) -> tuple[Array, list[Array]]:
    """The outputs, and for the backward pass the inputs of each GELU, (heads, rows, width)."""
    out, *hidden = _forward(*_join(mlp, inputs), keep=True)
    return _shaped(out, mlp, inputs), hidden


def gradients(
    mlp: "MLP", inputs: Sequence[Array], hidden: list[Array], outputs: Array, gradient: Array
) -> tuple["MLP", Sequence[Array]]:
    """Gradients of the network's parameters and of its inputs, given the gradient of its outputs."""
    joined, backward = jax.vjp(_join, mlp, inputs)
    flat = jax.tree.leaves(joined.layers)
    ends = [array.reshape(*hidden[-1].shape[:-1], array.shape[-1]) for array in (outputs, gradient)]
    shapes = [array.shape for array in (hidden[0], joined.base, *flat)]
    below, base, *layers = call(
        "mvl_mlp_backward", shapes, joined.rows, joined.base, *flat, *hidden, *ends, norm=_has_norm(joined.layers)
    )
    rows = jnp.einsum("erw,edw->rd", below, joined.layers.first)  # removed by the compiler where it is not used
    found: tuple[MLP, Sequence[Array]] = backward(
        Joined(rows, base, jax.tree.unflatten(jax.tree.structure(joined.layers), layers))
    )
    return found


@custom_vmap
def _outputs(rows: Array, base: Array, layers: Layers) -> Array:
    return _forward(rows, base, layers, keep=False)[0]


@_outputs.def_vmap
def _outputs_of_many(size: int, batched: Any, rows: Array, base: Array, layers: Layers) -> tuple[Array, bool]:
    """`vmap`: one call if only the rows have a batch axis (one policy acts in many environments), otherwise one call each."""
    if not any(jax.tree.leaves(batched[1:])) and rows.shape[1] % base.shape[1] == 0:
        out = _outputs(rows.reshape(-1, rows.shape[-1]), base, layers)
        return jnp.moveaxis(out.reshape(out.shape[0], size, -1, out.shape[-1]), 1, 0), True
    repeated = lambda leaf, has_axis: leaf if has_axis else jnp.broadcast_to(leaf, (size, *leaf.shape))
    arguments = jax.tree.map(repeated, (rows, base, layers), tuple(batched))
    return jax.lax.map(lambda one: _outputs(*one), arguments), True


def _forward(rows: Array, base: Array, layers: Layers, keep: bool) -> Sequence[Array]:
    """Outputs (heads, rows, outputs) and, with `keep`, h_0, h_1, ... (heads, rows, width)."""
    heads, _, width = layers.first.shape
    widths = [width, *(weights.shape[-1] for weights, *_ in layers.others)]
    shapes = [(heads, rows.shape[0], width) for width in (widths[-1], *(widths[:-1] if keep else []))]
    return call("mvl_mlp_forward", shapes, rows, base, *jax.tree.leaves(layers), norm=_has_norm(layers))


def _has_norm(layers: Layers) -> bool:
    return len(layers.others[0]) == 4


def _join(mlp: "MLP", inputs: Sequence[Array]) -> Joined:
    """Inputs as one array of rows; wide ones that repeat along leading axes are multiplied once and become part of `base`."""
    if mlp.output.bias.ndim == 1:
        mlp = jax.tree.map(lambda leaf: leaf[None], mlp)
    first, *others = *mlp.hidden, mlp.output
    shape = jnp.broadcast_shapes(*(x.shape[:-1] for x in inputs))
    own: list[tuple[Array, Array]] = []
    shared: list[tuple[Array, Array]] = []
    for x, part in zip(inputs, jnp.split(first.kernel, [*accumulate(x.shape[-1] for x in inputs)][:-1], axis=-2), strict=True):
        (shared if x.shape[-1] >= WIDE and _repeats(x.shape[:-1], shape) else own).append((x, part))
    rows, weights = _concatenated(own, shape)
    base = first.bias[:, None]
    if shared:
        repeated, part = _concatenated(shared, jnp.broadcast_shapes(*(_inner(x.shape[:-1]) for x, _ in shared)))
        base = base + repeated @ part
    pairs = zip(others, mlp.norms, strict=True) if mlp.norms else ((layer, ()) for layer in others)
    return Joined(rows, base, Layers(weights, [(*layer, *norm) for layer, norm in pairs]))


def _concatenated(pairs: list[tuple[Array, Array]], shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Pairs of inputs and weights, concatenated to one input (rows, d) and one weight array (heads, d, width)."""
    expanded = [jnp.broadcast_to(x.reshape(_inner(x.shape[:-1]) + x.shape[-1:]), shape + x.shape[-1:]) for x, _ in pairs]
    rows = jnp.concatenate(expanded, axis=-1)
    return rows.reshape(-1, rows.shape[-1]), jnp.concatenate([part for _, part in pairs], axis=-2)


def _shaped(out: Array, mlp: "MLP", inputs: Sequence[Array]) -> Array:
    """Outputs (heads, rows, outputs) with the leading axes of the inputs, and without heads for a single network."""
    shape = jnp.broadcast_shapes(*(x.shape[:-1] for x in inputs)) + out.shape[-1:]
    return out.reshape(shape if mlp.output.bias.ndim == 1 else (out.shape[0], *shape))


def _repeats(part: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    """Whether an array of shape `part`, repeated along leading axes, has the shape `whole`."""
    inner, outer = _inner(part), _inner(whole)
    return len(inner) < len(outer) and inner == outer[len(outer) - len(inner) :]


def _inner(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape without leading axes of length one."""
    return _inner(shape[1:]) if shape[:1] == (1,) else shape
