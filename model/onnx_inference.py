"""The one door to onnx's own inference of a node, which is compiled code that trusts some attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx

_IR_VERSION = 8


def infer_outputs(
    schema: onnx.defs.OpSchema,
    node: onnx.NodeProto,
    types: Mapping[str, onnx.TypeProto],
    data: Mapping[str, onnx.TensorProto],
    imports: Sequence[onnx.OperatorSetIdProto],
    *,
    ir_version: int = _IR_VERSION,
) -> dict[str, onnx.TypeProto]:
    """The types of a node's results, by name, from those of its inputs and the values of some.

    Raises `onnx.shape_inference.InferenceError` and whatever else onnx raises.
    """
    reason = _why_not(node)
    if reason is not None:
        raise onnx.shape_inference.InferenceError(reason)
    found: dict[str, onnx.TypeProto] = onnx.shape_inference.infer_node_outputs(
        schema, node, dict(types), dict(data), opset_imports=list(imports), ir_version=ir_version
    )
    return found


def _why_not(node: onnx.NodeProto) -> str | None:
    """Why onnx must not see a node: it would read outside of its shapes, and the process would end."""
    if node.op_type != "GatherND" or node.domain not in ("", "ai.onnx"):
        return None
    is_negative = any(item.name == "batch_dims" and item.i < 0 for item in node.attribute)
    return "[ShapeInferenceError] batch_dims is negative" if is_negative else None
