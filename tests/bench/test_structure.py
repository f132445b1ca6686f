"""What the benchmark reads off model files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import parser

from bench.structure import checker_error, count_nodes, interface_changes, metadata_lost, model_files

BRANCHES = """
<ir_version: 9, opset_import: ["" : 17]>
agraph (bool c, float[N] x) => (float[N] y)
{
  one = Constant <value = float[1] {1.0}> ()
  y = If (c) <
    then_branch = g1 () => (float[N] a) { a = Add(x, one) },
    else_branch = g2 () => (float[N] b) { t = Relu(x)  b = Identity(t) }
  >
}
"""

SIMPLE = """
<ir_version: 9, opset_import: ["" : 17]>
agraph (float[N, 3] x, float[N, 3] z) => (float[N, 3] y)
{
  y = Add(x, z)
}
"""


def test_nodes_of_all_scopes_count_and_constants_do_not() -> None:
    assert count_nodes(parser.parse_model(BRANCHES)) == 4


def test_function_bodies_count_once() -> None:
    model = parser.parse_model(
        """
        <ir_version: 9, opset_import: ["" : 17, "local" : 1]>
        agraph (float[N] x) => (float[N] y) { t = local.twice(x)  y = local.twice(t) }
        <opset_import: ["" : 17], domain: "local">
        twice (a) => (b) { b = Add(a, a) }
        """
    )
    assert count_nodes(model) == 3


def test_the_same_interface_has_no_changes() -> None:
    model = parser.parse_model(SIMPLE)
    model.graph.input[0].type.denotation = "IMAGE"
    assert interface_changes(model, parser.parse_model(SIMPLE)) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("float[N, 3] x, float[N, 3] z", "float[N, 3] z, float[N, 3] x", ["input order"]),
        ("float[N, 3] y", "float16[N, 3] y", ["output dtypes"]),
        ("float[N, 3] y", "float[M, 3] y", ["output shapes"]),
        ("float[N, 3] y", "float[2, 3] y", ["output shapes"]),
        ("float[N, 3] z)", "float[N, 3] z, float w)", ["input names"]),
    ],
)
def test_interface_changes_are_named(old: str, new: str, expected: list[str]) -> None:
    assert interface_changes(parser.parse_model(SIMPLE), parser.parse_model(SIMPLE.replace(old, new))) == expected


def _with_metadata(levels: str) -> onnx.ModelProto:
    model = parser.parse_model(SIMPLE)
    places: dict[str, Any] = {"m": model, "g": model.graph, "n": model.graph.node[0], "v": model.graph.input[0]}
    for level in levels:
        places[level].metadata_props.add(key="k", value=level)
    return model


@pytest.mark.parametrize(
    ("kept", "lost"),
    [
        ("mgnv", []),
        ("gnv", ["model"]),
        ("m", ["graph", "node", "value"]),
        ("", ["graph", "model", "node", "value"]),
    ],
)
def test_lost_metadata_is_named_by_level(kept: str, lost: list[str]) -> None:
    assert metadata_lost(_with_metadata("mgnv"), _with_metadata(kept)) == lost


def test_metadata_of_a_node_that_is_gone_is_not_lost() -> None:
    after = _with_metadata("mgv")
    after.graph.node[0].op_type = "Sub"
    assert metadata_lost(_with_metadata("mgnv"), after) == []


def test_the_checker_passes_or_says_why(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    model = parser.parse_model(SIMPLE)
    onnx.save(model, str(path))
    assert checker_error(path) == ""
    assert model_files(path) == [path]
    model.graph.node[0].input[0] = "nowhere"
    onnx.save(model, str(path))
    assert "nowhere" in checker_error(path)
