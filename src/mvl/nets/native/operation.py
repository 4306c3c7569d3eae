"""A network as one JAX operation that runs natively, with derivatives of any order in forward and reverse mode.

Three operations, each with a rule for its derivative:
- the network itself: its tangent is the second operation;
- its tangent, linear in the tangents of parameters and inputs: computed by JAX, but its transpose is the third operation;
- the gradients, computed natively: their derivatives are those of the gradients of the JAX formula.
So values and first gradients run natively, and all other derivatives are those that JAX computes from the formula.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.custom_derivatives import SymbolicZero
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from mvl.nets.native import network
from mvl.nets.native.calls import enabled

if TYPE_CHECKING:
    from mvl.nets.mlp import MLP

Formula = Callable[..., Array]
"""(mlp, *inputs) -> outputs, written in JAX."""
Mask = tuple[bool, ...]
"""Which leaves of (mlp, inputs) have a tangent."""


def accelerated(formula: Formula, mlp: "MLP", inputs: tuple[Array, ...]) -> Array:
    """`formula(mlp, *inputs)`, computed natively if possible."""
    fits = mlp.hidden and sum(x.shape[-1] for x in inputs) == mlp.hidden[0].kernel.shape[-2]
    if fits and enabled(*jax.tree.leaves(mlp), *inputs):
        return _network(formula, mlp, inputs)
    return formula(mlp, *inputs)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _network(formula: Formula, mlp: "MLP", inputs: tuple[Array, ...]) -> Array:
    return network.outputs(mlp, inputs)


@partial(_network.defjvp, symbolic_zeros=True)
def _network_rule(formula: Formula, primals: Any, tangents: Any) -> tuple[Array, Array]:
    out, hidden = _network_and_hidden(formula, *primals)
    return out, _tangent(formula, primals, hidden, out, tangents)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _network_and_hidden(formula: Formula, mlp: "MLP", inputs: tuple[Array, ...]) -> tuple[Array, list[Array]]:
    return network.outputs_and_hidden(mlp, inputs)


@partial(_network_and_hidden.defjvp, symbolic_zeros=True)
def _network_and_hidden_rule(formula: Formula, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """Hidden values have zero tangents: only `_gradients` uses them, and its rule takes derivatives by (mlp, inputs)."""
    out, hidden = _network_and_hidden(formula, *primals)
    return (out, hidden), (_tangent(formula, primals, hidden, out, tangents), [jnp.zeros_like(array) for array in hidden])


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _gradients(formula: Formula, mask: Mask, at: Any, hidden: list[Array], out: Array, gradient: Array) -> list[Array]:
    """Gradients of the masked leaves of at = (mlp, inputs), given the gradient of the outputs."""
    mlp, inputs = at
    return _chosen(mask, jax.tree.leaves(network.gradients(mlp, inputs, hidden, out, gradient)))


@partial(_gradients.defjvp, symbolic_zeros=True)
def _gradients_rule(formula: Formula, mask: Mask, primals: Any, tangents: Any) -> tuple[list[Array], list[Array]]:
    def in_jax(at: Any, gradient: Array) -> list[Array]:
        leaves, tree = jax.tree.flatten(at)
        return list(jax.vjp(_of_chosen(formula, mask, leaves, tree), *_chosen(mask, leaves))[1](gradient))

    at, _, _, gradient = primals
    at_tangent, _, _, gradient_tangent = tangents
    return _jvp(in_jax, (at, gradient), (at_tangent, gradient_tangent))


def _tangent(formula: Formula, at: Any, hidden: list[Array], out: Array, tangents: Any) -> Array:
    """Tangent of the outputs; `hidden` and `out` are needed only by its transpose."""
    leaves, tree = jax.tree.flatten(at)
    given = jax.tree.leaves(tangents)
    mask = tuple(not isinstance(leaf, SymbolicZero) for leaf in given)
    tangent: Array = _tangent_p.bind(out, *leaves, *hidden, *_chosen(mask, given), formula=formula, tree=tree, mask=mask)
    return tangent


def _tangent_in_jax(*args: Array, formula: Formula, tree: Any, mask: Mask) -> Array:
    _, at, _, tangents = _parts(args, mask)
    tangent: Array = jax.jvp(_of_chosen(formula, mask, at, tree), _chosen(mask, at), list(tangents))[1]
    return tangent


def _tangent_rule(primals: Sequence[Array], tangents: Sequence[Any], mask: Mask, **given: Any) -> tuple[Array, Array]:
    moving = [type(tangent) is not ad.Zero for tangent in tangents]
    moving[0] = False  # `out` and `hidden` are functions of (mlp, inputs)
    hidden = slice(1 + len(mask), len(primals) - sum(mask))
    moving[hidden] = [False] * len(moving[hidden])

    def function(*moved: Array) -> Array:
        return _tangent_in_jax(*_replaced(tuple(moving), primals, moved), mask=mask, **given)

    return jax.jvp(function, _chosen(moving, primals), _chosen(moving, tangents))


def _tangent_transpose(gradient: Any, *args: Any, formula: Formula, tree: Any, mask: Mask) -> list[Any]:
    out, at, hidden, tangents = _parts(args, mask)
    nothing: list[Any] = [None] * (len(args) - len(tangents))
    if type(gradient) is ad.Zero:
        return nothing + [None] * len(tangents)
    found = _gradients(formula, mask, jax.tree.unflatten(tree, at), list(hidden), out, gradient)
    return nothing + [g if isinstance(t, ad.UndefinedPrimal) else None for g, t in zip(found, tangents, strict=True)]


def _tangent_batched(args: Sequence[Array], axes: Sequence[int | None], **given: Any) -> tuple[Array, int]:
    """One element of the batch after another, as the native calls."""
    mask = tuple(axis is not None for axis in axes)
    batches = [jnp.moveaxis(arg, axis, 0) for arg, axis in zip(args, axes, strict=True) if axis is not None]
    return jax.lax.map(lambda one: _tangent_p.bind(*_replaced(mask, args, one), **given), batches), 0


_tangent_p: Any = Primitive("mvl_network_tangent")
_tangent_p.def_impl(_tangent_in_jax)
_tangent_p.def_abstract_eval(lambda out, *_, **__: out)
mlir.register_lowering(_tangent_p, mlir.lower_fun(_tangent_in_jax, multiple_results=False))
ad.primitive_jvps[_tangent_p] = _tangent_rule
ad.primitive_transposes[_tangent_p] = _tangent_transpose
batching.primitive_batchers[_tangent_p] = _tangent_batched


def _parts(args: Sequence[Any], mask: Mask) -> tuple[Any, Sequence[Any], Sequence[Any], Sequence[Any]]:
    """Arguments of the tangent, split: (out, leaves of (mlp, inputs), hidden, tangents of the masked leaves)."""
    leaves, end = 1 + len(mask), len(args) - sum(mask)
    return args[0], args[1:leaves], args[leaves:end], args[end:]


def _chosen(mask: Sequence[bool], leaves: Sequence[Any]) -> list[Any]:
    return [leaf for leaf, wanted in zip(leaves, mask, strict=True) if wanted]


def _replaced(mask: Sequence[bool], leaves: Sequence[Any], chosen: Sequence[Any]) -> list[Any]:
    """The leaves with the masked ones replaced by `chosen`."""
    new = iter(chosen)
    return [next(new) if wanted else leaf for leaf, wanted in zip(leaves, mask, strict=True)]


def _of_chosen(formula: Formula, mask: Mask, leaves: Sequence[Array], tree: Any) -> Callable[..., Array]:
    """The formula as a function of the masked leaves of (mlp, inputs)."""

    def function(*chosen: Array) -> Array:
        mlp, inputs = jax.tree.unflatten(tree, _replaced(mask, leaves, chosen))
        return formula(mlp, *inputs)

    return function


def _jvp(function: Callable[..., Any], primals: Any, tangents: Any) -> tuple[Any, Any]:
    """`jax.jvp` for tangents of which some are symbolic zeros."""
    leaves, tree = jax.tree.flatten(primals)
    given = jax.tree.leaves(tangents)
    mask = [not isinstance(leaf, SymbolicZero) for leaf in given]
    moved = lambda *chosen: function(*jax.tree.unflatten(tree, _replaced(mask, leaves, chosen)))
    return jax.jvp(moved, _chosen(mask, leaves), _chosen(mask, given))
