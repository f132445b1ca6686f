"""`maxfold convert`: from one format to the other."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from tests.cli.models import SHRINKING, content, operators, write, write_external
from tests.cli.shell import fails, maxfold

UNSUPPORTED = """
<ir_version: 8, opset_import: ["" : 13, "nowhere" : 1]>
odd (float[3] x) => (float[3] y, float[3] z, float[3] w)
{
  [first] y = nowhere.Odd (x)
  [second] z = nowhere.Odd (x)
  [third] w = nowhere.Even (x)
}
"""


def test_there_and_back(folder: Path) -> None:
    write(folder / "m.onnx")
    run = maxfold("convert", "m.onnx", "-o", "m.xml")
    assert (run.status, run.stdout) == (0, "")
    assert "  converted from ONNX operator set 13 to OpenVINO IR version 11\n" in run.stderr
    assert "wrote m.xml and m.bin in " in run.stderr
    run = maxfold("convert", "m.xml", "-o", "back.onnx", "--opset", "15")
    assert run.status == 0
    assert "  converted from OpenVINO IR version 11 to ONNX operator set 15\n" in run.stderr
    back = onnx.load(folder / "back.onnx")
    onnx.checker.check_model(back, full_check=True)
    assert operators(folder / "back.onnx") == ["Max"]
    assert [info.name for info in (*back.graph.input, *back.graph.output)] == ["x", "y"]
    assert sorted(path.name for path in folder.iterdir()) == ["back.onnx", "m.bin", "m.onnx", "m.xml"]


def test_without_optimizing(folder: Path) -> None:
    write(folder / "m.onnx")
    assert maxfold("convert", "m.onnx", "-o", "m.xml", "--no-optimize", "--ir-version", "10").status == 0
    assert '<net name="shrinking" version="10">' in (folder / "m.xml").read_text()
    run = maxfold("convert", "m.xml", "-o", "back.onnx", "--no-optimize")
    assert "  no passes were run\n" in run.stderr
    assert operators(folder / "back.onnx") == ["Max", "Max"]


def test_what_is_refused(folder: Path) -> None:
    write(folder / "m.onnx", UNSUPPORTED)
    run = maxfold("convert", "m.onnx", "-o", "m.xml", "--json")
    assert (run.status, run.stdout) == (2, "")
    *table, line = run.stderr.splitlines()
    assert [row.split()[:2] for row in table] == [["operator", "count"], ["Odd", "2"], ["Even", "1"]]
    assert table[1].endswith("  first")
    assert line.startswith(
        "maxfold: error: m.onnx: cannot be converted: 3 obstacles, listed above; nothing was written"
    )
    assert [path.name for path in folder.iterdir()] == ["m.onnx"]


def test_what_is_refused_quietly(folder: Path) -> None:
    write(folder / "m.onnx", UNSUPPORTED)
    line = fails("convert", "m.onnx", "-o", "m.xml", "-q")
    assert line.startswith("m.onnx: cannot be converted to OpenVINO IR: Odd: ")
    assert "Even: " in line


def test_several_inputs(folder: Path) -> None:
    write(folder / "a.onnx")
    write(folder / "bad.onnx", UNSUPPORTED)
    assert maxfold("convert", "a.onnx", "-o", "b.xml", "-q").status == 0
    run = maxfold("convert", "a.onnx", "bad.onnx", "b.xml", "--out-dir", "out", "--json")
    assert run.status == 2
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["a.bin", "a.xml", "b.onnx"]
    reports = json.loads(run.stdout)
    assert [report["output"] for report in reports["reports"]] == ["out/a.xml", "out/b.onnx"]
    assert [report["to_format"] for report in reports["reports"]] == ["openvino", "onnx"]
    assert reports["errors"][0]["error"].startswith("bad.onnx: cannot be converted to OpenVINO IR: Odd")


def test_in_worker_processes(folder: Path) -> None:
    write(folder / "a.onnx")
    write(folder / "bad.onnx", UNSUPPORTED)
    run = maxfold("convert", "a.onnx", "bad.onnx", "--out-dir", "out", "--jobs", "2")
    assert run.status == 2
    assert "Odd " in run.stderr
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["a.bin", "a.xml"]


def test_streams(folder: Path) -> None:
    assert maxfold("convert", "-", "-o", "m.xml", "-q", "--from", "onnx", stdin=content()).status == 0
    run = maxfold("convert", "m.xml", "-o", "-", "--to", "onnx", "-q")
    assert (run.status, run.stderr) == (0, "")
    assert [node.op_type for node in onnx.load_from_string(run.stdout_bytes).graph.node] == ["Max"]


def test_dry_run_and_the_report(folder: Path) -> None:
    write(folder / "m.onnx")
    report = json.loads(maxfold("convert", "m.onnx", "--dry-run", "--json", "-q").stdout)
    assert [path.name for path in folder.iterdir()] == ["m.onnx"]
    told = maxfold("convert", "m.onnx", "--dry-run").stderr.splitlines()[-1]
    assert told == "nothing written (--dry-run): the model can be converted"
    told = maxfold("convert", "m.onnx", "m.onnx", "--dry-run").stderr.splitlines()[-1]
    assert told == "nothing written (--dry-run): 2 models can be converted"
    assert (report["schema"], report["written"], report["output"]) == ("maxfold.conversion/1", False, None)
    assert maxfold("convert", "m.onnx", "-o", "m.xml", "-q", "--report", "r.json").status == 0
    written = json.loads((folder / "r.json").read_text())
    nbytes = sum((folder / name).stat().st_size for name in ("m.xml", "m.bin"))
    assert (written["output_bytes"], report["output_bytes"]) == (nbytes, nbytes)
    assert (written["from_version"], written["to_version"], written["nodes_before"]) == (13, 11, 2)


def test_external_data_becomes_a_bin(folder: Path) -> None:
    write_external(folder / "m.onnx")
    assert maxfold("convert", "m.onnx", "-o", "m.xml", "-q").status == 0
    assert (folder / "m.bin").stat().st_size > 2000
    assert maxfold("convert", "m.xml", "-o", "n.onnx", "-q", "--external-data", "always").status == 0
    assert (folder / "n.onnx.data").stat().st_size >= 2000


NO_DESTINATION = (
    "nothing says where the result goes: give -o OUTPUT, --out-dir DIR or --dry-run; try 'maxfold convert --help'"
)
BOTH_ONNX = (
    "m.onnx and x.onnx are both ONNX by their suffixes; convert to a path that ends in .xml, or use "
    "'maxfold optimize' to keep the format"
)
MISTAKES = [
    ([], NO_DESTINATION),
    (["-o", "x.onnx"], BOTH_ONNX),
    (["-o", "-"], "-o -: an OpenVINO IR is two files, which no stream can hold; give -o OUTPUT.xml"),
    (["-o", "x.xml", "--opset", "17"],
     "--opset is for ONNX, and the result is OpenVINO IR, which has none; leave it out"),
    (["-o", "x.xml", "--fake-quantize", "composed"],
     "--fake-quantize is for ONNX, and the result is OpenVINO IR, which has it; leave it out"),
    (["-o", "x.xml", "--ir-version", "9"], "--ir-version must be 10 or 11, not '9'; try 'maxfold convert --help'"),
    (["-o", "x.xml", "--external-data", "never"],
     "--external-data never is for ONNX: an OpenVINO IR always has its weights in a .bin file"),
    (["-o", "x.xml", "--from", "openvino"],
     "--from openvino contradicts the suffixes: m.onnx is ONNX; leave it out"),
    (["-o", "x.xml", "--to", "onnx"], "--to onnx contradicts the suffixes: x.xml is OpenVINO IR; leave it out"),
    (["-o", "x.xml", "--dim", "N"],
     "--dim must be a dimension and its size, as in N=4 or input:0=4, not 'N'; try 'maxfold convert --help'"),
    (["-o", "x.xml", "--report", "x.bin"], "x.bin: is also a model of this run; give --report another path"),
    (["-o", "no/x.xml"], "no/x.xml: cannot be written: there is no directory no; make it first"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "message"), MISTAKES, ids=[" ".join(options) or "none" for options, _ in MISTAKES])
def test_mistakes(folder: Path, options: list[str], message: str) -> None:
    write(folder / "m.onnx")
    assert fails("convert", "m.onnx", *options) == message
    assert [path.name for path in folder.iterdir()] == ["m.onnx"]


def test_mistakes_with_ir(folder: Path) -> None:
    write(folder / "m.onnx")
    assert maxfold("convert", "m.onnx", "-o", "m.xml", "-q").status == 0
    assert "m.xml and x.xml are both OpenVINO IR" in fails("convert", "m.xml", "-o", "x.xml")
    assert fails("convert", "m.xml", "-o", "x.onnx", "--ir-version", "10").startswith("--ir-version is for OpenVINO IR")
    assert "operator sets 13 to 21 can be written, not 3" in fails("convert", "m.xml", "-o", "x.onnx", "--opset", "3")
    assert "two files" in fails("convert", "-", "-o", "x.onnx", "--from", "openvino", stdin=b"")
    message = fails("convert", "m.xml", "m.onnx", "--out-dir", ".")
    assert message == "m.onnx: is the input m.onnx; write elsewhere"


def test_weights_of_an_input_are_not_overwritten(folder: Path) -> None:
    model = parser.parse_model(SHRINKING)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(500, np.float32), "w"))
    model.graph.output.append(onnx.helper.make_tensor_value_info("w", onnx.TensorProto.FLOAT, [500]))
    onnx.save(model, folder / "m.onnx", save_as_external_data=True, location="x.bin", size_threshold=0)
    before = (folder / "x.bin").read_bytes()
    assert "x.bin" in fails("convert", "m.onnx", "-o", "x.xml")
    assert (folder / "x.bin").read_bytes() == before


def test_verified(folder: Path) -> None:
    pytest.importorskip("openvino")
    write(folder / "m.onnx")
    run = maxfold("convert", "m.onnx", "-o", "m.xml", "--verify")
    assert run.status == 0
    assert "  verified: the same bits in 2 runs in ONNX Runtime and OpenVINO\n" in run.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["m.bin", "m.onnx", "m.xml"]


def test_what_is_lost_is_said(folder: Path) -> None:
    write(folder / "m.onnx")
    model = onnx.load(folder / "m.onnx")
    model.graph.quantization_annotation.add(tensor_name="x")
    onnx.save(model, folder / "m.onnx")
    run = maxfold("convert", "m.onnx", "-o", "m.xml", "--report", "report.json")
    assert (run.status, run.stdout) == (0, "")
    assert "  not carried over: quantization annotations (1, such as 'x')\n" in run.stderr
    lost = json.loads((folder / "report.json").read_text(encoding="utf-8"))["lost"]
    assert lost == [{"what": "quantization annotations", "count": 1, "example": "x"}]


def test_what_is_lost_of_several_inputs(folder: Path) -> None:
    for name in ("a.onnx", "b.onnx", "c.onnx"):
        write(folder / name)
    model = onnx.load(folder / "a.onnx")
    model.graph.quantization_annotation.add(tensor_name="x")
    onnx.save(model, folder / "a.onnx")
    run = maxfold("convert", "a.onnx", "b.onnx", "--out-dir", "out")
    assert (run.status, run.stdout) == (0, "")
    assert "\nnot all is carried over of 1 model (-v says what)\n" in run.stderr
    run = maxfold("convert", "a.onnx", "b.onnx", "--out-dir", "out", "-v")
    assert "\na.onnx: not carried over: quantization annotations (1, such as 'x')\n" in run.stderr
    assert "b.onnx: not carried over" not in run.stderr
    assert "-v says what" not in run.stderr
    run = maxfold("convert", "b.onnx", "c.onnx", "--out-dir", "out")
    assert run.stderr.endswith("wrote 2 models in out\n")
    assert "not all" not in run.stderr
