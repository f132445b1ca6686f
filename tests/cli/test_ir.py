"""OpenVINO IR as input and output of `maxfold optimize` and `maxfold inspect`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.models import write, write_external
from tests.cli.shell import fails, maxfold


@pytest.fixture
def ir(folder: Path) -> Path:
    """m.xml and m.bin, with a constant that stands there twice."""
    write_external(folder / "source.onnx")
    assert maxfold("convert", "source.onnx", "-o", "m.xml", "-q", "--no-optimize").status == 0
    for path in folder.glob("source*"):
        path.unlink()
    return folder / "m.xml"


CROSSING = (
    "m.xml is OpenVINO IR, x.onnx would be ONNX, and optimize keeps the format; use 'maxfold convert m.xml -o x.onnx'"
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_optimize(folder: Path, ir: Path) -> None:
    run = maxfold("optimize", "m.xml", "-o", "out.xml", "--json")
    assert run.status == 0
    assert "wrote out.xml and out.bin in " in run.stderr
    report = json.loads(run.stdout)
    for key, name in (("input_bytes", "m"), ("output_bytes", "out")):
        assert report[key] == sum((folder / f"{name}{suffix}").stat().st_size for suffix in (".xml", ".bin"))
    assert names(folder) == ["m.bin", "m.xml", "out.bin", "out.xml"]


def test_the_size_is_told_without_writing(folder: Path, ir: Path) -> None:
    dry = json.loads(maxfold("optimize", "m.xml", "--dry-run", "--json", "-q").stdout)
    assert names(folder) == ["m.bin", "m.xml"]
    wet = json.loads(maxfold("optimize", "m.xml", "-o", "out.xml", "--json", "-q").stdout)
    assert dry["output_bytes"] == wet["output_bytes"]


def test_in_place_and_out_dir(folder: Path, ir: Path) -> None:
    assert maxfold("optimize", "m.xml", "--out-dir", "out").status == 0
    assert names(folder / "out") == ["m.bin", "m.xml"]
    assert maxfold("optimize", "m.xml", "--in-place").status == 0
    assert ir.read_bytes() == (folder / "out" / "m.xml").read_bytes()
    assert maxfold("optimize", "m.xml", "--check").status == 0


def test_verified(folder: Path, ir: Path) -> None:
    pytest.importorskip("openvino")
    run = maxfold("optimize", "m.xml", "-o", "out.xml", "--verify")
    assert run.status == 0
    assert "  verified: the same bits in 2 runs in OpenVINO\n" in run.stderr
    assert names(folder) == ["m.bin", "m.xml", "out.bin", "out.xml"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "x.onnx"], CROSSING),
        (["-o", "-"], "-o -: an OpenVINO IR is two files, which no stream can hold; give -o OUTPUT.xml"),
        (["-o", "m.xml"], "m.xml: is the input itself; write elsewhere, or use --in-place to overwrite it"),
        (["-o", "m.XML"],
         "m.bin: holds the weights of m.xml; write elsewhere, or use --in-place to overwrite it"),
        (["-o", "link.xml"],
         "link.bin: holds the weights of m.xml; write elsewhere, or use --in-place to overwrite it"),
        (["-o", "x.xml", "--report", "m.bin"], "m.bin: is also a model of this run; give --report another path"),
        (["-o", "x.xml", "--opset", "17"],
         "--opset is for ONNX, and the result is OpenVINO IR, which has none; leave it out"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else " ",
)  # fmt: skip
def test_mistakes(folder: Path, ir: Path, options: list[str], message: str) -> None:
    (folder / "link.bin").symlink_to("m.bin")
    before = (folder / "m.bin").read_bytes()
    assert fails("optimize", "m.xml", *options) == message
    assert (folder / "m.bin").read_bytes() == before
    assert names(folder) == ["link.bin", "m.bin", "m.xml"]


def test_onnx_to_a_path_of_ir(folder: Path) -> None:
    write(folder / "m.onnx")
    assert fails("optimize", "m.onnx", "-o", "x.xml").endswith("use 'maxfold convert m.onnx -o x.xml'")


def test_two_results_with_one_weights_file(folder: Path, ir: Path) -> None:
    (folder / "sub").mkdir()
    message = fails("optimize", "m.xml", "sub/m.xml", "--out-dir", "out")
    assert message == "m.xml and sub/m.xml would both write out/m.xml; rename one, or use two output directories"


def test_inspect(folder: Path, ir: Path) -> None:
    content = json.loads(maxfold("inspect", "m.xml", "--json").stdout)
    assert (content["format"], content["ir_version"]) == ("openvino", 11)
    assert content["operators"] == {"Maximum": 2}
    assert content["opsets"] == {"opset1": 1}
    assert [(item["name"], item["dtype"], item["shape"]) for item in content["inputs"]] == [("x", "float", [3])]
    output = content["outputs"][0]
    assert (output["name"], output["dtype"], output["shape"]) == ("y", "float", [3])
    text = maxfold("inspect", "m.xml").stdout
    assert "  format         OpenVINO IR, version 11\n  operator sets  opset1\n" in text
    assert "in other files" not in text


def test_without_the_weights(folder: Path, ir: Path) -> None:
    (folder / "m.bin").unlink()
    assert "m.bin" in fails("inspect", "m.xml")
