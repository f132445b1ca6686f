"""`maxfold diff`: what people and scripts see of a difference."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from maxfold.cli.difference_view import show_difference
from maxfold.optimizer import diff, load
from tests.cli.models import RELAXED_ONLY, SETTLED, SHRINKING, chain, write
from tests.cli.shell import fails, maxfold, process
from tests.cli.test_help import completed
from tests.cli.test_json import documented
from tests.cli.test_rendering import terminal_lines

DOCUMENT = Path(__file__).parents[2] / "docs" / "cli.md"


@pytest.fixture
def pair(folder: Path) -> Path:
    """a.onnx, and b.onnx with other operators, inputs, attributes, constants, metadata and a longer description."""
    write(folder / "a.onnx")
    model = onnx.load(
        write(folder / "b.onnx", SHRINKING.replace("Max (t, b)", "Min (a, t)").replace("1, 2, 3", "1, 2, 4"))
    )
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 4
    model.graph.node.append(helper.make_node("Neg", ["y"], ["z"], "third"))
    model.graph.node.append(helper.make_node("Softmax", ["z"], ["last"], axis=0))
    model.metadata_props.add(key="licence", value="none\x1b[31m\nnever")
    del model.graph.initializer[1]
    onnx.save(model, folder / "b.onnx")
    return folder


def test_equal(folder: Path) -> None:
    write(folder / "a.onnx")
    write(folder / "b.onnx")
    run = maxfold("diff", "a.onnx", "b.onnx")
    assert (run.status, run.stderr) == (0, "")
    assert run.stdout.splitlines() == [
        "a.onnx  ONNX  2 nodes  2 constants  24 B",
        "b.onnx  ONNX  2 nodes  2 constants  24 B",
        "",
        "equal",
    ]


def test_different(pair: Path) -> None:
    run = maxfold("diff", "a.onnx", "b.onnx")
    assert (run.status, run.stderr) == (1, "")
    assert run.stdout.splitlines() == [
        "a.onnx  ONNX  2 nodes  2 constants  24 B",
        "b.onnx  ONNX  4 nodes   1 constant  12 B",
        "",
        "interface: 1 changed",
        "           name     type",
        "  changed  input x  shape: [3] → [4]",
        "",
        "metadata: 1 added",
        "         name                    value",
        "  added  metadata_props.licence  none\\x1b[31m never",
        "",
        "operators: 4 other counts",
        "  operator  before  after  change",
        "  Max            2      1      -1",
        "  Min            0      1      +1",
        "  Neg            0      1      +1",
        "  Softmax        0      1      +1",
        "",
        "nodes: 1 changed, 2 added",
        "           name    operator",
        "  changed  second  Max → Min; inputs: [t, b] → [a, t]",
        "  added    third   Neg",
        "  added    last    Softmax",
        "",
        "constants: 1 removed, 1 changed",
        "           name  type",
        "  removed  b     float[3], 12 B",
        "  changed  a     float[3], 12 B, other contents",
        "",
        "different: 1 input or output, 1 piece of metadata, 3 nodes, 2 constants",
    ]


def test_the_other_way_round(pair: Path) -> None:
    run = maxfold("diff", "b.onnx", "a.onnx")
    assert run.status == 1
    assert "nodes: 2 removed, 1 changed\n" in run.stdout
    assert "  removed  third   Neg\n" in run.stdout


def test_quiet(pair: Path) -> None:
    for names, status in ((("a.onnx", "b.onnx"), 1), (("a.onnx", "a.onnx"), 0)):
        run = maxfold("diff", *names, "-q")
        assert (run.status, run.stdout, run.stderr) == (status, "", "")


def test_a_dozen_of_each_kind(folder: Path) -> None:
    chain(folder / "a.onnx", 5)
    chain(folder / "b.onnx", 45)
    run = maxfold("diff", "a.onnx", "b.onnx")
    assert "nodes: 40 added\n" in run.stdout
    assert len(re.findall(r"^  added ", run.stdout, re.MULTILINE)) == 12 + 1
    assert "  and 28 more added (-v lists all)\n" in run.stdout
    run = maxfold("diff", "a.onnx", "b.onnx", "-v")
    assert len(re.findall(r"^  added ", run.stdout, re.MULTILINE)) == 40 + 1
    assert "more" not in run.stdout


def test_all_operators(pair: Path) -> None:
    name = "Relu"
    for path in ("a.onnx", "b.onnx"):
        model = onnx.load(pair / path)
        model.graph.node.append(helper.make_node(name, ["x"], ["unused"]))
        onnx.save(model, pair / path)
    assert name not in maxfold("diff", "a.onnx", "b.onnx").stdout
    assert "  Relu           1      1    same\n" in maxfold("diff", "a.onnx", "b.onnx", "-v").stdout


def test_the_same_operators_with_all(folder: Path) -> None:
    write(folder / "a.onnx")
    write(folder / "b.onnx", SHRINKING.replace("1, 2, 3", "1, 2, 4"))
    assert "operators" not in maxfold("diff", "a.onnx", "b.onnx").stdout
    assert "operators: same counts\n" in maxfold("diff", "a.onnx", "b.onnx", "-v").stdout


def test_long_values_are_cut(folder: Path) -> None:
    for name, letter in (("a", "x"), ("b", "y")):
        model = onnx.load(write(folder / f"{name}.onnx", SETTLED))
        model.doc_string = letter * 1000
        onnx.save(model, folder / f"{name}.onnx")
    assert max(map(len, maxfold("diff", "a.onnx", "b.onnx").stdout.splitlines())) < 300
    assert "x" * 1000 in maxfold("diff", "a.onnx", "b.onnx", "-v").stdout


@pytest.mark.parametrize("width", [40, 80])
def test_on_a_terminal(pair: Path, width: int) -> None:
    model = onnx.load(pair / "b.onnx")
    model.graph.node[0].name = "/a/very/long/name" * 8
    onnx.save(model, pair / "b.onnx")
    difference = diff(load(pair / "a.onnx"), load(pair / "b.onnx"))
    lines = terminal_lines(
        lambda console: show_difference(console, ("a", "b"), difference, is_full=False), width, color_system=None
    )
    shown = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]
    # The verdict is one line, which the terminal breaks.
    assert max(len(line) for line in shown[:-1]) <= width
    assert "Softmax" in "\n".join(shown)


def test_an_encoding_without_arrows(pair: Path) -> None:
    run = process("diff", "a.onnx", "b.onnx", cwd=pair, env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert b"shape: [3] -> [4]" in run.stdout
    assert run.returncode == 1


def test_no_colour_in_a_pipe(pair: Path) -> None:
    assert b"\x1b" not in process("diff", "a.onnx", "b.onnx", cwd=pair).stdout
    assert b"\x1b[3" in process("diff", "a.onnx", "b.onnx", cwd=pair, env={"FORCE_COLOR": "1"}).stdout
    coloured = {"FORCE_COLOR": "1", "NO_COLOR": "1"}
    assert not re.search(rb"\x1b\[[0-9;]*3[0-9]", process("diff", "a.onnx", "b.onnx", cwd=pair, env=coloured).stdout)


def test_json(pair: Path) -> None:
    run = maxfold("diff", "a.onnx", "b.onnx", "--json")
    assert (run.status, run.stderr) == (1, "")
    content = json.loads(run.stdout)
    kinds = ("interface", "metadata", "operators", "nodes", "constants")
    nested = {f"{kind}[].{key}" for kind in kinds for item in content[kind] for key in item}
    assert {*content, *nested} == documented()["maxfold.diff/1"]
    assert (content["first"], content["second"], content["is_equal"]) == ("a.onnx", "b.onnx", False)
    assert content["nodes"][0] == {
        "change": "changed", "kind": "node", "scope": "", "name": "second", "fields": ["operator", "inputs"],
        "before": {"name": "second", "domain": "", "operator": "Max", "inputs": ["t", "b"], "outputs": ["y"],
                   "attributes": {}, "metadata": {}},
        "after": {"name": "second", "domain": "", "operator": "Min", "inputs": ["a", "t"], "outputs": ["y"],
                  "attributes": {}, "metadata": {}},
    }  # fmt: skip
    assert [item["fields"] for item in content["constants"]] == [["contents"], []]
    assert run.stdout == maxfold("diff", "a.onnx", "b.onnx", "--json").stdout


def test_both_formats(folder: Path) -> None:
    write(folder / "a.onnx", RELAXED_ONLY)
    assert maxfold("convert", "a.onnx", "-o", "a.xml", "-q").status == 0
    run = maxfold("diff", "a.onnx", "a.xml")
    assert run.status == 1
    assert re.search(r"^a\.xml +OpenVINO IR +2 nodes ", run.stdout, re.MULTILINE)
    assert "attributes, and what only one of them can say, are not compared" in run.stdout
    assert "  changed  adding  Add → openvino.opset1.Add\n" in run.stdout
    assert maxfold("diff", "a.xml", "a.xml").status == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.onnx"], "missing argument 'B'; try 'maxfold diff --help'"),
        (["a.onnx", "-"], "diff compares two files; give the paths of both; try 'maxfold diff --help'"),
        (["", "a.onnx"], "diff compares two files; give the paths of both; try 'maxfold diff --help'"),
        (["a.onnx", "no.onnx"], "no.onnx: cannot be read: No such file or directory; give the path of a model file"),
        (["empty.onnx", "a.onnx"], "empty.onnx: is empty; give the path of a model file"),
        (["a.onnx", "a.onnx", "-q", "-v"], "-q and -v contradict each other; choose one"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else " ",
)
def test_mistakes(folder: Path, arguments: list[str], message: str) -> None:
    write(folder / "a.onnx")
    (folder / "empty.onnx").write_bytes(b"")
    assert fails("diff", *arguments) == message


def test_a_broken_file(folder: Path) -> None:
    path = write(folder / "a.onnx")
    (folder / "cut.onnx").write_bytes(path.read_bytes()[:-20])
    for arguments in (("a.onnx", "cut.onnx"), ("cut.onnx", "a.onnx"), ("a.onnx", "cut.onnx", "--json")):
        assert fails("diff", *arguments).startswith("cut.onnx: is not an ONNX model, or is cut short: ")


def test_a_sparse_constant_that_cannot_be_decoded(folder: Path) -> None:
    model = onnx.load(write(folder / "a.onnx", SETTLED))
    sparse = model.graph.sparse_initializer.add(dims=[4])
    sparse.values.CopyFrom(onnx.numpy_helper.from_array(np.float32([1]), "s"))
    sparse.indices.CopyFrom(onnx.numpy_helper.from_array(np.int64([1])))
    onnx.save(model, folder / "a.onnx")
    assert maxfold("diff", "a.onnx", "a.onnx").status == 0
    sparse.indices.CopyFrom(onnx.numpy_helper.from_array(np.int64([2])))
    onnx.save(model, folder / "b.onnx")
    assert "sparse float[4]" in maxfold("diff", "a.onnx", "b.onnx").stdout


def test_help() -> None:
    run = maxfold("diff", "--help")
    assert (run.status, run.stderr) == (0, "")
    assert run.stdout.startswith("Usage: maxfold diff [OPTIONS] A B\n")
    assert "maxfold diff model.onnx smaller.onnx" in " ".join(run.stdout.split())
    assert "\n  diff " in maxfold("--help").stdout
    document = DOCUMENT.read_text(encoding="utf-8")
    _, _, section = document.partition("\n## maxfold diff\n")
    for option in ("--json", "-q", "-v"):
        assert option in run.stdout
        assert f"`{option}`" in section.partition("\n## ")[0]


def test_completion() -> None:
    assert completed("maxfold di") == ["diff"]
    assert completed("maxfold diff --js") == ["--json"]
