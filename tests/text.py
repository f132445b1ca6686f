"""Models from ONNX's text syntax, and back to a compact text of our own for comparing.

    model("agraph (float[N] x) => (float[N] y) <float c = {1}> { y = Max(x, c) }", opset=13)

`lines` gives one line an initializer, node or function head, subgraphs indented:

    c = float {1.0}
    y = Max(x, c)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from textwrap import dedent
from typing import Any, TypeAlias

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, SparseTensorProto, TensorProto, numpy_helper

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_MOST_VALUES = 16


def model(
    graph: str,
    *,
    opset: int = 17,
    ir_version: int = 8,
    functions: str = "",
    domains: str = "",
    constants: Mapping[str, Array] | None = None,
) -> ModelProto:
    """The model of a graph in ONNX's text syntax; `domains` is more of the opset list, `functions` their text.

    `constants` are more initializers, for values that the syntax has no words for.
    """
    imports = f'"" : {opset}' + (f", {domains}" if domains else "")
    proto = onnx.parser.parse_model(
        f"<ir_version: {ir_version}, opset_import: [{imports}]>\n{dedent(graph)}\n{dedent(functions)}"
    )
    for name, array in (constants or {}).items():
        proto.graph.initializer.append(numpy_helper.from_array(array, name))
    return proto


def lines(proto: ModelProto) -> str:
    """The compact text of a model's graph and functions; names of nodes and all documentation are left out."""
    text = list(_graph(proto.graph))
    for function in proto.functions:
        text.append(f"{function.domain}.{function.name}({', '.join(function.input)}) => {', '.join(function.output)}")
        text += [f"  {line}" for node in function.node for line in _node(node)]
    return "\n".join(text)


def golden(text: str) -> str:
    """An expected text as it stands in a test, without its indentation."""
    return dedent(text).strip("\n")


def _graph(graph: GraphProto) -> Iterator[str]:
    for tensor in graph.initializer:
        yield f"{tensor.name} = {_tensor(tensor)}"
    for sparse in graph.sparse_initializer:
        yield f"{sparse.values.name} = {_sparse(sparse)}"
    for node in graph.node:
        yield from _node(node)


def _node(node: NodeProto) -> Iterator[str]:
    flat = sorted(f"{item.name}={_attribute(item)}" for item in node.attribute if not _graphs(item))
    attributes = f"<{', '.join(flat)}>" if flat else ""
    operator = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
    yield f"{', '.join(node.output)} = {operator}{attributes}({', '.join(node.input)})"
    for attribute in node.attribute:
        for graph in _graphs(attribute):
            inputs = ", ".join(info.name for info in graph.input)
            yield f"  {attribute.name}({inputs}) => {', '.join(info.name for info in graph.output)}"
            yield from (f"    {line}" for line in _graph(graph))


def _graphs(attribute: AttributeProto) -> list[GraphProto]:
    return [attribute.g] if attribute.type == AttributeProto.GRAPH else list(attribute.graphs)


def _attribute(attribute: AttributeProto) -> str:
    if attribute.ref_attr_name:
        return f"@{attribute.ref_attr_name}"
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, TensorProto):
        return _tensor(value)
    if isinstance(value, SparseTensorProto):
        return _sparse(value)
    return value.decode() if isinstance(value, bytes) else str(value)


def _tensor(tensor: TensorProto) -> str:
    array = numpy_helper.to_array(tensor)
    values = [str(value) for value in array.reshape(-1).tolist()]
    listed = ", ".join(values) if len(values) <= _MOST_VALUES else f"{len(values)} values"
    return f"{_type(tensor.data_type, tensor.dims)} {{{listed}}}"


def _sparse(sparse: SparseTensorProto) -> str:
    return f"sparse {_type(sparse.values.data_type, sparse.dims)} {{{len(sparse.values.dims)}}}"


def _type(element_type: int, dims: Iterable[int]) -> str:
    shape = ",".join(map(str, dims))
    return TensorProto.DataType.Name(element_type).lower() + (f"[{shape}]" if shape else "")
