"""Operations of ONNX in the order in which they run, and the layers that networks are made of."""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mvl.nets.mlp import MLP, Dense, heads_of, weights_of_inputs

FLOAT, INTEGER, DOUBLE = 1, 7, 11
"""ONNX's numbers of the types float32, int64 and float64."""


class Tensor(NamedTuple):
    """A result of an operation, or an input: an array of rows."""

    name: str
    size: int
    """Length of the last axis."""

    @property
    def shape(self) -> tuple[int]:
        """The length of the last axis as `weights_of_inputs` asks for it."""
        return (self.size,)


class Operation(NamedTuple):
    kind: str
    inputs: list[str]
    output: str
    attributes: dict[str, Any]


class Given(NamedTuple):
    """An input: rows of numbers."""

    size: int
    dtype: Any


class Network:
    """Operations under construction, with their constants and inputs."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.constants: dict[str, np.ndarray] = {}
        self.inputs: dict[str, Given] = {}

    def given(self, name: str, size: int, dtype: Any = np.float32) -> Tensor:
        """An input of that name; asked for twice, it is the same one."""
        self.inputs.setdefault(name, Given(size, dtype))
        return Tensor(name, size)

    def add(self, kind: str, *inputs: Tensor, size: int | None = None, **attributes: Any) -> Tensor:
        """The result of an operation of ONNX; its rows are as long as those of its first input unless `size` says otherwise."""
        output = f"{kind.lower()}_{len(self.operations)}"
        self.operations.append(Operation(kind, [tensor.name for tensor in inputs], output, attributes))
        return Tensor(output, inputs[0].size if size is None else size)

    def constant(self, values: ArrayLike, dtype: Any = np.float32) -> Tensor:
        array = np.asarray(values, dtype)
        name = f"constant_{len(self.constants)}"
        self.constants[name] = array
        return Tensor(name, array.shape[-1] if array.ndim else 1)

    def columns(self, tensor: Tensor, chosen: Sequence[int]) -> Tensor:
        """Some columns of a tensor."""
        return self.add("Gather", tensor, self.constant(chosen, np.int64), size=len(chosen), axis=-1)

    def beside(self, *tensors: Tensor) -> Tensor:
        """Tensors beside each other on the last axis."""
        if len(tensors) == 1:
            return tensors[0]
        return self.add("Concat", *tensors, size=sum(tensor.size for tensor in tensors), axis=-1)


def dense(network: Network, layer: Dense, *inputs: Tensor) -> Tensor:
    """The layer applied to the concatenated inputs; each is multiplied by its own weights, so that one row may meet many."""
    first, *others = weights_of_inputs(layer, inputs)  # type: ignore[arg-type]
    size = layer.bias.shape[-1]
    products = [network.add("Gemm", inputs[0], network.constant(first), network.constant(layer.bias), size=size)]
    products += [network.add("MatMul", x, network.constant(part), size=size) for x, part in zip(inputs[1:], others, strict=True)]
    return reduce(lambda one, other: network.add("Add", one, other), products)


def mlp(network: Network, params: MLP, *inputs: Tensor) -> Tensor:
    """As `mvl.nets.mlp.mlp_formula`."""
    first, *others = *params.hidden, params.output
    x = dense(network, first, *inputs)
    for index, layer in enumerate(others):
        x = network.add("Gelu", x, approximate="tanh")
        if params.norms:
            scale, shift = (network.constant(array) for array in params.norms[index])
            x = network.add("LayerNormalization", x, scale, shift, epsilon=1e-6)
        x = dense(network, layer, x)
    return x


def mean_of_heads(network: Network, heads: Sequence[Tensor]) -> Tensor:
    return heads[0] if len(heads) == 1 else network.add("Mean", *heads)


def ensemble(network: Network, params: MLP, *inputs: Tensor) -> list[Tensor]:
    """Each head applied to the same concatenated inputs."""
    return [mlp(network, head, *inputs) for head in heads_of(params)]


def mean_ensemble(network: Network, params: MLP, *inputs: Tensor) -> Tensor:
    return mean_of_heads(network, ensemble(network, params, *inputs))


Encode = Callable[[Tensor, Tensor], Tensor]
"""States and goals -> represented goals."""
