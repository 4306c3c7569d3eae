"""Whole networks as one operation, forward and backward, with the kernels of `mlp.h`."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.custom_batching import custom_vmap

from mvl.kernels.calls import call


class Layers(NamedTuple):
    """An ensemble's parameters, heads along the first axis."""

    first: Array  # (heads, inputs, width)
    others: list[tuple[Array, ...]]
    """Kernel (heads, inputs, outputs), bias (heads, outputs) and, with LayerNorm, scale and shift (heads, inputs) of each."""


@jax.custom_vjp
def ensemble(x: Array, base: Array, layers: Layers) -> Array:
    """Outputs (heads, rows, outputs) of all heads for inputs x (rows, d).

    h_0 = base + x first, then GELU, LayerNorm where there is one, and the next layer, and so on. Of the n rows of base
    (heads, n, width), row r begins with that of r modulo n.
    """
    return _outputs(x, base, layers)


@custom_vmap
def _outputs(x: Array, base: Array, layers: Layers) -> Array:
    return _forward(x, base, layers, keep=False)[0]


@_outputs.def_vmap
def _outputs_of_many(size: int, batched: Any, x: Array, base: Array, layers: Layers) -> tuple[Array, bool]:
    """Where only x has a batch axis, as when one network acts for many, all are rows of one call."""
    if not any(jax.tree.leaves(batched[1:])) and x.shape[1] % base.shape[1] == 0:
        out = _outputs(x.reshape(-1, x.shape[-1]), base, layers)
        return jnp.moveaxis(out.reshape(out.shape[0], size, -1, out.shape[-1]), 1, 0), True
    given = (x, base, layers)
    spread = jax.tree.map(lambda leaf, own: leaf if own else jnp.broadcast_to(leaf, (size, *leaf.shape)), given, tuple(batched))
    return jax.lax.map(lambda mine: _outputs(*mine), spread), True


def _forward(x: Array, base: Array, layers: Layers, keep: bool) -> Sequence[Array]:
    """Outputs and, to be kept for the backward pass, h_0, h_1, ..."""
    heads, _, width = layers.first.shape
    widths = [width, *(kernel.shape[-1] for kernel, *_ in layers.others)]
    shapes = [(heads, x.shape[0], width) for width in (widths[-1], *(widths[:-1] if keep else []))]
    return call("mvl_mlp_forward", shapes, x, base, *jax.tree.leaves(layers), norm=_has_norm(layers))


def _forward_rule(x: Array, base: Array, layers: Layers) -> tuple[Array, Any]:
    outputs, *hidden = _forward(x, base, layers, keep=True)
    return outputs, (x, base, layers, hidden, outputs)


def _backward_rule(saved: Any, gradient: Array) -> tuple[Array, Array, Layers]:
    x, base, layers, hidden, outputs = saved
    below, base_gradient, *flat = _backward(x, base, layers, hidden, outputs, gradient)
    x_gradient = jnp.einsum("erw,edw->rd", below, layers.first)  # dropped where nobody asks
    return x_gradient, base_gradient, jax.tree.unflatten(jax.tree.structure(layers), flat)


ensemble.defvjp(_forward_rule, _backward_rule)


def _backward(x: Array, base: Array, layers: Layers, hidden: list[Array], outputs: Array, gradient: Array) -> Sequence[Array]:
    """Gradients of (h_0, base, every parameter in turn)."""
    flat = jax.tree.leaves(layers)
    shapes = [array.shape for array in (hidden[0], base, *flat)]
    return call("mvl_mlp_backward", shapes, x, base, *flat, *hidden, outputs, gradient, norm=_has_norm(layers))


def _has_norm(layers: Layers) -> bool:
    return len(layers.others[0]) == 4
