"""Small models for the tests of the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import parser

_HEADER = '<ir_version: 8, opset_import: ["" : 13]>'

SHRINKING = f"""
{_HEADER}
shrinking (float[3] x) => (float[3] y)
<float[3] a = {{1, 2, 3}}, float[3] b = {{3, 2, 1}}>
{{
  [first] t = Max (x, a)
  [second] y = Max (t, b)
}}
"""
"""Two nodes that become one."""

SETTLED = f"""
{_HEADER}
settled (float[3] x) => (float[3] y)
{{
  [only] y = Neg (x)
}}
"""
"""Nothing can be done to it."""

RELAXED_ONLY = f"""
{_HEADER}
relaxed_only (float[3] x) => (float[3] y)
<float[3] zero = {{0, 0, 0}}>
{{
  t = Tanh (x)
  [adding] y = Add (t, zero)
}}
"""
"""x + 0.0 is x but for x = -0.0."""

NOTED = f"""
{_HEADER}
noted (float[3] x) => (float[3] y)
<float[3] zero = {{0, 0, 0}}>
{{
  t = Tanh (x)
  [adding] s = Add (t, zero)
  [folded] e = Exp (zero)
  y = Max (s, e)
}}
"""
"""x + 0.0 as above, and a result that is folded with a note: not all runtimes round it alike."""

NOT_RUNNABLE = """
<ir_version: 8, opset_import: ["" : 13, "nowhere" : 1]>
odd (float[3] x) => (float[3] y)
{
  y = nowhere.Odd (x)
}
"""
"""No runtime has its operator."""


def write(path: Path, text: str = SHRINKING) -> Path:
    """Writes a model; returns its path."""
    onnx.save(parser.parse_model(text), path)
    return path


def content(text: str = SHRINKING) -> bytes:
    """The bytes of a model's file."""
    return bytes(parser.parse_model(text).SerializeToString())


def write_external(path: Path) -> Path:
    """A model with two nodes that become one, and a weight of 2,000 bytes in `<name>.data`."""
    model = with_weight(SHRINKING, 500)
    onnx.save(model, path, save_as_external_data=True, location=f"{path.name}.data", size_threshold=1000)
    return path


def with_weight(text: str, size: int) -> onnx.ModelProto:
    """The model with a float weight of `size` elements, which is an output of it."""
    model: onnx.ModelProto = parser.parse_model(text)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.arange(size, dtype=np.float32), "weight"))
    model.graph.output.append(onnx.helper.make_tensor_value_info("weight", onnx.TensorProto.FLOAT, [size]))
    return model


def chain(path: Path, length: int) -> Path:
    """A model of many nodes that all have to stay; it takes a while."""
    nodes = [onnx.helper.make_node("Sin", [f"t{i}"], [f"t{i + 1}"]) for i in range(length)]
    ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [3]) for name in ("t0", f"t{length}")]
    graph = onnx.helper.make_graph(nodes, "chain", ends[:1], ends[1:])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8), path)
    return path


def operators(path: Path) -> list[str]:
    """The operators of a model's nodes."""
    return [node.op_type for node in onnx.load(path).graph.node]
