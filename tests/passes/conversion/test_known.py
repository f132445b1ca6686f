"""Integers that follow from known shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from maxfold.model.data import ArrayData
from maxfold.model.graph import new_constant, new_graph, new_node, new_variable
from maxfold.passes.conversion.known import values_of


def _values(op: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> list[Any]:
    graph = new_graph("graph")
    arrays = [np.asarray(value) for value in inputs]
    tensors = [new_constant(f"x{index}", ArrayData(array), graph) for index, array in enumerate(arrays)]
    results = [new_variable(f"y{index}", graph) for index in range(outputs)]
    node = new_node(op, tensors, results, graph, domain="", name="node", attributes=attributes, position=0)
    return [value.tolist() for value in values_of(node, arrays, [None] * len(arrays))]


@pytest.mark.parametrize(
    ("op", "inputs", "attributes", "wanted"),
    [
        ("Add", ([1, 2], 3), {}, [4, 5]),
        ("Cast", ([1, 2],), {"to": 7}, [1, 2]),
        ("Concat", ([1], [2, 3]), {"axis": 0}, [1, 2, 3]),
        ("Div", ([7, 8], 2), {}, [3, 4]),
        ("Gather", ([5, 6, 7], -1), {"axis": 0}, 7),
        ("Identity", ([1],), {}, [1]),
        ("Mod", ([7, 8], 2), {"fmod": 0}, [1, 0]),
        ("Mul", ([2, 3], [4, 5]), {}, [8, 15]),
        ("Range", (2, 6, 2), {}, [2, 4]),
        ("Reshape", ([1, 2, 3, 4], [2, -1]), {}, [[1, 2], [3, 4]]),
        ("Slice", ([1, 2, 3, 4], [1], [2**62], [0], [2]), {}, [2, 4]),
        ("Squeeze", ([3], [0]), {}, 3),
        ("Sub", (3, 5), {}, -2),
        ("Unsqueeze", (3, [0]), {}, [3]),
    ],
)
def test_computed(op: str, inputs: tuple[Any, ...], attributes: dict[str, Any], wanted: Any) -> None:
    assert _values(op, *inputs, **attributes) == [wanted]


def test_split() -> None:
    assert _values("Split", [1, 2, 3], [1, 2], outputs=2) == [[1], [2, 3]]
    assert _values("Split", [1, 2, 3], [1, 1], outputs=2) == []


@pytest.mark.parametrize(
    ("op", "inputs"),
    [
        ("Add", ([1.5], [2.5])),
        ("Add", (2**40, 1)),
        ("Div", (-7, 2)),
        ("Div", (7, 0)),
        ("Gather", ([1, 2], 5)),
        ("Mod", (-7, 2)),
        ("Range", (0, 10**9, 1)),
        ("Range", (0, 5, 0)),
        ("Relu", ([1],)),
        ("Reshape", ([1, 2], [0])),
        ("Slice", ([[1, 2]], [0], [1])),
    ],
)
def test_not_computed(op: str, inputs: tuple[Any, ...]) -> None:
    assert _values(op, *inputs) == []


def test_shape() -> None:
    graph = new_graph("graph")
    data, result = new_variable("x", graph), new_variable("y", graph)
    node = new_node("Shape", [data], [result], graph, domain="", name="node", attributes={}, position=0)
    known = onnx.helper.make_tensor_type_proto(1, [2, 3])
    partial = onnx.helper.make_tensor_type_proto(1, [2, "n"])
    assert [value.tolist() for value in values_of(node, [None], [known])] == [[2, 3]]
    assert values_of(node, [None], [partial]) == []
    assert values_of(node, [None], [None]) == []
