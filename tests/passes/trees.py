"""Hypothesis strategies for small models of Max and Add: any tree or DAG that the operators' documents allow.

A drawn model may have constants (initializers, Constant nodes, overridable defaults) and inputs of any type the
operator takes, of shapes that broadcast in all directions; shared operands; results that are graph outputs or are
captured by the branches of an If; nodes out of order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import onnx
from hypothesis import strategies as st
from onnx import ModelProto, NodeProto, ValueInfoProto, helper, numpy_helper

from maxfold.model.dtypes import DType
from tests.passes.kernels import reference
from tests.passes.kernels.strategies import ADD_TYPES, MAX_TYPES, arrays, broadcast_shapes, dtypes, shapes

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


@dataclass(frozen=True)
class Case:
    """A model and values for its inputs, those with a default too."""

    model: ModelProto
    feeds: dict[str, Array]


@dataclass
class _Parts:
    dtype: DType
    known: dict[str, Array] = field(default_factory=dict)
    feeds: dict[str, Array] = field(default_factory=dict)
    inputs: list[ValueInfoProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)
    nodes: list[NodeProto] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)


@st.composite
def max_models(draw: st.DrawFn, *, broadcasts: bool = True) -> Case:
    """A model of Max nodes."""
    since = draw(st.sampled_from([8, 12, 13] if broadcasts else [1, 6]))
    opset = {1: 1, 6: 6, 8: draw(st.integers(8, 11)), 12: 12, 13: draw(st.integers(13, 22))}[since]
    return _model(draw, ["Max"], draw(dtypes(MAX_TYPES[since])), opset)


@st.composite
def add_models(draw: st.DrawFn, *, integers_only: bool = False) -> Case:
    """A model of Add nodes, of operator set 7 and later."""
    since = draw(st.sampled_from([7, 13, 14]))
    opset = {7: draw(st.integers(7, 12)), 13: 13, 14: draw(st.integers(14, 22))}[since]
    names = [name for name in ADD_TYPES[since] if "INT" in name or not integers_only]
    return _model(draw, ["Add"], draw(dtypes(names)), opset)


@st.composite
def mixed_models(draw: st.DrawFn) -> Case:
    """A model of Add, Max, Neg and Identity nodes."""
    dtype = draw(dtypes(("FLOAT16", "FLOAT", "DOUBLE", "BFLOAT16", "INT8", "INT32", "INT64")))
    return _model(draw, ["Add", "Max", "Max", "Add", "Neg", "Identity"], dtype, draw(st.integers(14, 22)))


@st.composite
def legacy_add_models(draw: st.DrawFn) -> Case:
    """A chain of Add nodes before operator set 7: with `broadcast` and `axis`, or of equal shapes."""
    dtype = draw(dtypes(ADD_TYPES[6]))
    shape = draw(shapes())
    parts = _Parts(dtype)
    _value(draw, parts, "a", shape, is_input=True)
    last = "a"
    for index in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(shape)))
        stop = draw(st.integers(start, len(shape)))
        name = f"c{index}"
        _value(draw, parts, name, shape[start:stop], is_input=draw(st.integers(0, 3)) == 0)
        attributes: dict[str, Any] = {"broadcast": 1}
        if stop != len(shape) or draw(st.booleans()):
            attributes["axis"] = start
        if stop - start == len(shape) and draw(st.booleans()):
            attributes = {}
        if draw(st.booleans()):
            attributes["consumed_inputs"] = [0, 0]
        parts.nodes.append(helper.make_node("Add", [last, name], [f"r{index}"], **attributes))
        last = f"r{index}"
    parts.known[last] = parts.known["a"]
    parts.outputs.append(last)
    return _case(draw, parts, 6)


def _model(draw: st.DrawFn, operators: Sequence[str], dtype: DType, opset: int) -> Case:
    parts = _Parts(dtype)
    broadcasts = opset >= 7 and (opset >= 8 or "Max" not in operators)
    count = draw(st.integers(2, 5))
    drawn = draw(broadcast_shapes(count)) if broadcasts else [draw(shapes())] * count
    for index, shape in enumerate(drawn):
        _value(draw, parts, f"v{index}", shape, is_input=index == 0 or draw(st.integers(0, 2)) == 0)
    for index in range(draw(st.integers(1, 6))):
        operator = draw(st.sampled_from(operators))
        operands = _operands(draw, parts, operator)
        name = f"n{index}"
        attributes: dict[str, Any] = (
            {"consumed_inputs": [0] * len(operands)} if opset == 1 and draw(st.booleans()) else {}
        )
        parts.nodes.append(
            helper.make_node(operator, operands, [name], name=draw(st.sampled_from(["", name, "n"])), **attributes)
        )
        shape = reference.broadcast_shape([parts.known[operand].shape for operand in operands])
        parts.known[name] = np.zeros(shape, dtype.numpy)
    made = [node.output[0] for node in parts.nodes]
    parts.outputs = sorted({made[-1], *draw(st.lists(st.sampled_from(made), max_size=2))})
    if opset >= 11 and draw(st.integers(0, 2)) == 0:
        _add_branches(draw, parts, operators[0], made)
    return _case(draw, parts, opset)


def _operands(draw: st.DrawFn, parts: _Parts, operator: str) -> list[str]:
    """Operands that favour the newest results, so that chains grow long."""
    newest = list(parts.known)[-3:]
    choice = st.sampled_from(newest) | st.sampled_from(list(parts.known))
    if operator == "Max":
        return draw(st.lists(choice, min_size=1, max_size=4))
    return [draw(choice) for _ in range(2 if operator == "Add" else 1)]


def _value(draw: st.DrawFn, parts: _Parts, name: str, shape: tuple[int, ...], *, is_input: bool) -> None:
    """An input, an initializer, a Constant node, or a default that the caller may override."""
    array = draw(_neutral(parts.dtype, shape) | arrays(parts.dtype, shape))
    parts.known[name] = array
    kind = "input" if is_input else draw(st.sampled_from(["initializer", "initializer", "node", "default"]))
    tensor = numpy_helper.from_array(np.array(array, order="C"), name)
    if kind == "node":
        parts.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        return
    if kind != "input":
        parts.initializers.append(tensor)
    if kind != "initializer":
        is_known = draw(st.booleans())
        dims = [size if is_known else f"{name}_{axis}" for axis, size in enumerate(shape)]
        parts.inputs.append(helper.make_tensor_value_info(name, tensor.data_type, dims))
        parts.feeds[name] = draw(arrays(parts.dtype, shape)) if kind == "default" else array


def _neutral(dtype: DType, shape: tuple[int, ...]) -> st.SearchStrategy[Array]:
    """The values that passes look for: zeros of both signs, the least value."""
    if dtype.kind == "float":
        values: list[Any] = [0.0, -0.0, -np.inf]
    else:
        info = np.iinfo(dtype.numpy)
        values = [0, info.min]
    return st.sampled_from(values).map(lambda value: np.full(shape, value, dtype.numpy))


def _add_branches(draw: st.DrawFn, parts: _Parts, operator: str, made: list[str]) -> None:
    """An If whose branches read results of the outer graph, one of them through an Add or Max of its own."""
    captured = draw(st.sampled_from(made))
    other = draw(st.sampled_from(list(parts.known)))
    inner = [captured, other] if draw(st.booleans()) else [captured, captured]
    branches: dict[str, Any] = {
        "then_branch": helper.make_graph(
            [helper.make_node(operator, inner, ["local"])], "then", [], [ValueInfoProto(name="local")]
        ),
        "else_branch": helper.make_graph(
            [helper.make_node("Identity", [captured], ["local"])], "else", [], [ValueInfoProto(name="local")]
        ),
    }
    parts.inputs.append(helper.make_tensor_value_info("condition", onnx.TensorProto.BOOL, []))
    parts.feeds["condition"] = np.array(draw(st.booleans()))
    parts.nodes.append(helper.make_node("If", ["condition"], ["branched"], **branches))
    parts.known["branched"] = parts.known[captured]
    parts.outputs.append("branched")


def _case(draw: st.DrawFn, parts: _Parts, opset: int) -> Case:
    outputs = []
    for name in parts.outputs:
        info = helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(parts.known[name].dtype), None)
        rank = parts.known[name].ndim
        is_branched = name == "branched"
        if not is_branched:
            info.type.tensor_type.shape.SetInParent()
            for axis in range(rank):
                info.type.tensor_type.shape.dim.add(dim_param=f"{name}_{axis}")
        outputs.append(info)
    nodes = parts.nodes
    if draw(st.integers(0, 3)) == 0:
        nodes = draw(st.permutations(nodes))
    graph = helper.make_graph(nodes, "g", parts.inputs, outputs, initializer=parts.initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return Case(model, parts.feeds)
