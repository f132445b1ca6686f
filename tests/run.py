"""Running models: in ONNX Runtime without its optimizations, and by the operators' documents alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import onnxruntime
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, helper, numpy_helper

from tests.passes.kernels import reference

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


def in_onnxruntime(model: ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    """The outputs, computed node by node as the model has them, on one thread."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # A prepacked weight is multiplied by another kernel, which rounds otherwise.
    options.add_session_config_entry("session.disable_prepacking", "1")
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [np.asarray(result) for result in session.run(None, dict(feeds))]


def by_specification(model: ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    """The outputs of a model of Add, Max, Neg, Identity, Constant and If, in Python integers and fractions.

    Where the document leaves a choice, NaN is the positive quiet one and +0.0 wins over -0.0. Nodes must
    stand in topological order.
    """
    opset = next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
    return _run_graph(model.graph, dict(feeds), opset)


def assert_equal(actual: Sequence[Array], expected: Sequence[Array], *, zeros_differ: bool) -> None:
    """Same types, shapes and bits; any NaN equals any other, and where not `zeros_differ`, +0.0 equals -0.0."""
    assert len(actual) == len(expected)
    for position, (own, right) in enumerate(zip(actual, expected, strict=True)):
        assert (own.dtype, own.shape) == (right.dtype, right.shape), f"output {position}"
        if own.dtype.kind in "OSU":
            assert own.tolist() == right.tolist(), f"output {position}"
            continue
        with np.errstate(all="ignore"):
            same = (own == right) | ((own != own) & (right != right))
            if zeros_differ and own.dtype.kind not in "iub":
                same &= (own != own) | (np.signbit(own) == np.signbit(right))
        assert same.all(), f"output {position}: {own} is not {right}"


def _run_graph(graph: GraphProto, known: dict[str, Array], opset: int) -> list[Array]:
    for tensor in graph.initializer:
        known.setdefault(tensor.name, numpy_helper.to_array(tensor))
    for node in graph.node:
        results = _run_node(node, known, opset)
        known.update(zip(node.output, results, strict=True))
    return [known[info.name] for info in graph.output]


def _run_node(node: NodeProto, known: dict[str, Array], opset: int) -> list[Array]:
    attributes = {item.name: item for item in node.attribute}
    operands = [known[name] for name in node.input]
    if node.op_type == "Constant":
        return [_constant(attributes)]
    if node.op_type == "Identity":
        return operands
    if node.op_type == "Neg":
        with np.errstate(over="ignore"):
            return [np.asarray(np.negative(operands[0]))]
    if node.op_type == "If":
        branch = attributes["then_branch" if operands[0].item() else "else_branch"].g
        return _run_graph(branch, dict(known), opset)
    if node.op_type == "Max":
        shape = reference.broadcast_shape([operand.shape for operand in operands])
        return [_chosen(reference.max_arrays(operands), operands[0], shape)]
    assert node.op_type == "Add"
    a, b = operands
    if opset >= 7:
        shape = reference.broadcast_shape([a.shape, b.shape])
        sums = reference.add_arrays(a, b, lambda index: reference.tail_index(index, b.shape), shape)
        return [_chosen(sums, a, shape)]
    axis = attributes["axis"].i if "axis" in attributes else None
    sums = reference.add_arrays(a, b, lambda index: reference.axis_index(index, b.shape, axis), a.shape)
    return [_chosen(sums, a, a.shape)]


def _constant(attributes: Mapping[str, AttributeProto]) -> Array:
    (attribute,) = attributes.values()
    value = helper.get_attribute_value(attribute)
    if attribute.name == "value":
        return numpy_helper.to_array(value)
    kind = np.float32 if attribute.name.startswith("value_float") else np.int64
    return np.array(value, kind)


def _chosen(expected: Sequence[reference.Expected], like: Array, shape: tuple[int, ...]) -> Array:
    """One array out of all that would be right: the least bits, a quiet NaN."""
    dtype = reference.dtype_of(like)
    nan = 0
    if dtype.kind == "float":
        (nan,) = reference.bits_of(np.array([np.nan], like.dtype))
    return reference.array_of([nan if bits is None else min(bits) for bits in expected], dtype, shape)
