"""`maxfold inspect` and `maxfold passes` as people see them."""

from __future__ import annotations

import re
from pathlib import Path

import onnx
from onnx import TensorProto, helper, parser

from maxfold.optimizer import catalogue
from tests.cli.models import SETTLED, content, write, write_external
from tests.cli.shell import maxfold

RICH_MODEL = """
<ir_version: 10, opset_import: ["" : 18, "local" : 1], producer_name: "hand", producer_version: "2">
rich (float16[batch, 3, ?] x, float d = {1}, bool flag) => (float16[] y, int64[batch] z)
<int64[2] c = {1, 2}>
{
  y = local.fun (x)
  z = If (flag) <
    then_branch = then () => (int64[2] t) { t = Add (c, c) },
    else_branch = other () => (int64[2] t) { t = Add (c, c) }
  >
}
<domain: "local", opset_import: ["" : 18]>
fun (a) => (b) { b = ReduceMax (a) }
"""


def test_all_that_can_be_told(folder: Path) -> None:
    model = parser.parse_model(RICH_MODEL)
    model.doc_string = "One line.\n  Another."
    helper.set_model_props(model, {"licence": "none\x1b[31m", "task": "test"})
    onnx.save(model, folder / "m.onnx")
    run = maxfold("inspect", "m.onnx")
    assert (run.status, run.stderr) == (0, "")
    lines = [re.sub(" {2,}", "  ", line.strip()) for line in run.stdout.splitlines()]
    for line in [
        "m.onnx",
        "format  ONNX, IR version 10",
        "operator sets  ai.onnx 18, local 1",
        "producer  hand 2",
        "graph  rich",
        "description  One line. Another.",
        "x  float16[batch, 3, ?]",
        "d  float[] with a default",
        "flag  bool[]",
        "y  float16",
        "z  int64[batch]",
        "5 nodes, 2 subgraphs",
        "2  Add  1  If  1  ReduceMax  1  local.fun",
        "2 constants, 20 B",
        "16 B  int64[2]  c",
        "local::fun",
        "licence  none\\x1b[31m",
        "task  test",
    ]:
        assert line in lines, run.stdout
    assert re.search(r"^  --math exact +\d+ nodes ", run.stdout, re.MULTILINE)
    assert re.search(r"^  --math relaxed +\d+ nodes ", run.stdout, re.MULTILINE)


def test_what_a_model_lacks_is_not_mentioned(folder: Path) -> None:
    write(folder / "m.onnx", SETTLED)
    run = maxfold("inspect", "m.onnx")
    for word in ("functions", "metadata", "producer", "description", "subgraph", "in other files"):
        assert word not in run.stdout


def test_types_that_are_no_tensors(folder: Path) -> None:
    model = parser.parse_model(SETTLED)
    model.graph.input.append(helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None))
    model.graph.input.append(helper.make_tensor_value_info("unranked", TensorProto.INT64, None))
    onnx.save(model, folder / "m.onnx")
    run = maxfold("inspect", "m.onnx")
    assert re.search(r"^  s +sequence", run.stdout, re.MULTILINE)
    assert re.search(r"^  unranked +int64$", run.stdout, re.MULTILINE)


def test_weights_elsewhere(folder: Path) -> None:
    write_external(folder / "m.onnx")
    assert "1 in other files" in maxfold("inspect", "m.onnx").stdout


def test_standard_input() -> None:
    assert maxfold("inspect", "-", stdin=content()).stdout.startswith("standard input\n")


def test_no_operators_and_many(folder: Path) -> None:
    model = parser.parse_model(SETTLED)
    names = [f"Operator{index}" for index in range(30)]
    for name in names:
        model.graph.node.append(helper.make_node(name, ["x"], [f"{name}_out"], domain="somewhere"))
    model.opset_import.add(domain="somewhere", version=1)
    onnx.save(model, folder / "m.onnx")
    run = maxfold("inspect", "m.onnx", COLUMNS="60")
    for name in names:
        assert f"1  somewhere.{name}" in run.stdout
    assert max(map(len, run.stdout.splitlines())) <= 60
    del model.graph.node[:]
    model.graph.output[0].name = "x"
    onnx.save(model, folder / "m.onnx")
    assert re.search(r"^0 nodes\n\n0 constants, 0 B\n", maxfold("inspect", "m.onnx").stdout, re.MULTILINE)


def test_passes() -> None:
    run = maxfold("passes")
    assert (run.status, run.stderr) == (0, "")
    lines = run.stdout.splitlines()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == [entry.name for entry in catalogue()]
    assert "    max_growth_bytes = 65536" in lines
    for entry in catalogue():
        assert entry.summary in run.stdout
