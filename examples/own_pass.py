"""A pass of one's own: squares become products. Writes a model that it rewrites: `python own_pass.py OUTPUT.onnx`.

PYTHONPATH=examples maxfold optimize squares.onnx -o fast.onnx --passes all,own_pass:MultiplySquares --math relaxed
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper, numpy_helper

import maxfold
from maxfold.passes.own import Decline, Edit, Match, Node, SingleRulePass, Tensor, View, operand, scalar


@dataclass(frozen=True)
class Product:
    """A power that becomes a product. It holds all that `apply` needs, which cannot fail."""

    node: Node
    base: Tensor

    def apply(self, edit: Edit) -> None:
        """The node keeps its result, whose type and shape stay what they were."""
        edit.become(self.node, "Mul", [self.base, self.base])


class MultiplySquares(SingleRulePass):
    """Pow by 2 becomes Mul. Each application leaves one Pow less, which is why the driver ends."""

    name = "multiply-squares"
    summary = "compute squares of floats as products"
    mode = "relaxed"
    operators = frozenset({("", "Pow")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Looks, and changes nothing. Declines where the result would not be what it was."""
        base = operand(node, 0)
        if base is None or scalar(operand(node, 1), view) != 2:
            return None
        dtype, dims = view.dtype(base), view.dims(base)
        if dtype is None or dtype.kind != "float":
            return Decline("it is not known to be of floats")
        if dims is None or dims != view.dims(node.outputs[0]):
            return Decline("its exponent may change its shape")
        if view.math != "relaxed":
            return Decline("a product may be rounded differently; --math relaxed allows it")
        return Product(node, base)


def squares() -> onnx.ModelProto:
    """`x` (batch, 4) float32 -> `y`, the mean of its squares."""
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["batch", size]) for name, size in ENDS)
    nodes = [
        helper.make_node("Pow", ["x", "two"], ["squares"], "square"),
        helper.make_node("ReduceMean", ["squares"], ["y"], "mean", axes=[1]),
    ]
    two = numpy_helper.from_array(np.array(2, np.float32), "two")
    graph = helper.make_graph(nodes, "squares", [x], [y], [two])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


ENDS = (("x", 4), ("y", 1))


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print("usage: own_pass.py OUTPUT.onnx", file=sys.stderr)
        return 2
    model = squares()
    maxfold.save(model, arguments[0])
    for math in ("exact", "relaxed"):
        loaded = maxfold.load(arguments[0])
        report = maxfold.optimize(loaded, passes="own_pass:MultiplySquares", math=math)
        print(f"{math}: {report.changes['multiply-squares']} changes")
        for decline in report.declines:
            print(f"  left alone: {decline.operator} {decline.node!r}: {decline.reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
