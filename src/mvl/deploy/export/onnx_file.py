"""Networks as the bytes of ONNX files, with what they mean in their metadata."""

import json
from typing import Any

import numpy as np

from mvl import __version__
from mvl.deploy.export.network import Network, Tensor
from mvl.runtime import sealed

OPSET, FILE_VERSION = 20, 10
"""The oldest set of operations with GELU, and the version of the file format that goes with it."""


def as_onnx(network: Network, outputs: dict[str, Tensor], axes: dict[str, list[Any]], about: dict[str, Any], text: str) -> bytes:
    """The file of a network; `axes` names the axes of each input and output, and `text` says what it is."""
    import onnx
    from onnx import helper, numpy_helper

    described = {name: given.dtype for name, given in network.inputs.items()} | dict.fromkeys(outputs, np.float32)
    values = {
        name: helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), axes[name])
        for name, dtype in described.items()
    }
    nodes = [helper.make_node(one.kind, one.inputs, [one.output], **one.attributes) for one in network.operations]
    nodes += [helper.make_node("Identity", [tensor.name], [name]) for name, tensor in outputs.items()]
    constants = [numpy_helper.from_array(array, name) for name, array in network.constants.items()]
    graph = helper.make_graph(
        nodes, "policy", [values[name] for name in network.inputs], [values[name] for name in outputs], constants
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=FILE_VERSION, producer_name="mvl", doc_string=text
    )
    model.producer_version = __version__
    helper.set_model_props(model, {"mvl": json.dumps(about)})
    onnx.checker.check_model(model, full_check=True)
    return sealed(model.SerializeToString())
