"""`maxfold convert` as users of OpenVINO's converter know it: outputs, shapes, layouts, float16."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.cli.shell import fails, maxfold
from tests.text import model

F32 = np.float32
SOURCE = """g (float[N,3,H,8] x) => (float[N,3,H,8] y, float[N,3,H,8] z) {
    [first] m = Mul(x, c)  [second] y = Exp(m)  [third] z = Add(x, d) }"""
CONSTANTS = {"c": np.linspace(0.25, 0.75, 24, dtype=F32).reshape(3, 1, 8), "d": np.array([[[1e6]], [[1]], [[2]]], F32)}


@pytest.fixture
def source(folder: Path) -> str:
    onnx.save(model(SOURCE, constants=CONSTANTS), folder / "m.onnx")
    return "m.onnx"


def test_all_of_it_at_once(source: str, folder: Path) -> None:
    ov = pytest.importorskip("openvino")
    run = maxfold(
        "convert", source, "-o", "m.xml", "--outputs", "m,z", "--input-shape", "x=1,3,4,8", "--layout", "x=NCHW",
        "--compress-to-fp16", "--json",
    )  # fmt: skip
    assert run.status == 0
    assert "  2 constants in float16\n" in run.stderr
    assert "not carried over: values beyond float16, which became +-65504, of a constant (1, such as 'd')" in run.stderr
    report = json.loads(run.stdout)
    assert report["compressed"] == {"count": 2, "kept": 0, "clamped": {"d": 1}, "is_quantized": False}
    assert report["constant_bytes_after"] == 2 * 27
    read = ov.Core().read_model("m.xml")
    assert [output.any_name for output in read.outputs] == ["m", "z"]
    assert read.inputs[0].shape == ov.Shape([1, 3, 4, 8])
    assert ov.layout_helpers.get_layout(read.inputs[0]) == ov.Layout("NCHW")


def test_without_them_nothing_is_said(source: str) -> None:
    report = json.loads(maxfold("convert", source, "--dry-run", "-o", "m.xml", "--json", "-q").stdout)
    assert report["compressed"] is None


def test_the_result_is_verified_against_what_was_kept(source: str) -> None:
    pytest.importorskip("openvino")
    pytest.importorskip("onnxruntime")
    run = maxfold("convert", source, "-o", "m.xml", "--outputs", "m", "--verify")
    assert (run.status, "verified: " in run.stderr) == (0, True)
    run = maxfold("convert", source, "-o", "m.xml", "--outputs", "y", "--compress-to-fp16", "--verify")
    assert (run.status, "verified: at most " in run.stderr) == (0, True)
    run = maxfold("convert", "m.xml", "-o", "back.onnx", "--outputs", "m", "--verify")
    assert (run.status, "verified: " in run.stderr) == (0, True)


def test_a_quantized_model_says_why(folder: Path) -> None:
    text = """g (float[3] x) => (float[3] y) <float s = {0.5}, int8 z = {0}> {
        q = QuantizeLinear(x, s, z)  y = DequantizeLinear(q, s, z) }"""
    onnx.save(model(text), folder / "q.onnx")
    run = maxfold("convert", "q.onnx", "-o", "q.xml", "--compress-to-fp16")
    assert "  no constant in float16: OpenVINO leaves quantized models as they are\n" in run.stderr


def test_layouts_as_the_model_optimizer_took_them(source: str, folder: Path) -> None:
    assert maxfold("convert", source, "-o", "m.xml", "--layout", "x(nchw),y([n,c,h,w])", "-q").status == 0
    assert (folder / "m.xml").read_text().count('layout="[N,C,H,W]"') == 2
    assert maxfold("convert", source, "-o", "m.xml", "--layout", "nchw", "--layout", "z=N...", "-q").status == 0
    assert (folder / "m.xml").read_text().count('name="layout"') == 2


def test_shapes_of_an_ir(source: str, folder: Path) -> None:
    assert maxfold("convert", source, "-o", "m.xml", "-q").status == 0
    run = maxfold("convert", "m.xml", "-o", "back.onnx", "--input-shape", "x=2,3,4,8")
    assert (run.status, "  2 dimensions of the inputs fixed\n" in run.stderr) == (0, True)
    dims = onnx.load(folder / "back.onnx").graph.input[0].type.tensor_type.shape.dim
    assert [dim.dim_value for dim in dims] == [2, 3, 4, 8]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--outputs", "yy"], "nothing in the main graph is named 'yy'; did you mean 'y'?"),
        (["--outputs", "other"], "nothing in the main graph is named 'other'; the outputs are y, z"),
        (["--outputs", "y,y"], "output 'y' is named twice; name each once"),
        (["--outputs", ","], "--outputs must be one name or more, separated by commas"),
        (["--layout", "X=NCHW"], "no input or output is named 'X'; did you mean 'x'?"),
        (["--layout", "x=NC"], "layout 'NC' has 2 axes, but 'x' has 4 dimensions"),
        (["--layout", "x=N..C"], "'N..C' is no layout; give one as NCHW, N...C or [N,C,H,W]"),
        (["--layout", "x(nhwc->nchw)"], "--layout must be an input or output and its layout, as in x=NCHW"),
        (["--layout", "x(nchw)y(nchw)"], "--layout must be an input or output and its layout, as in x=NCHW"),
        (["--layout", "x="], "--layout must be an input or output and its layout, as in x=NCHW"),
        (["--layout", "x=NCHW", "--ir-version", "10"], "layouts are kept in an IR of version 11 alone"),
        (["--input-shape", "X=1,3,4,8"], "no input is named 'X'; did you mean 'x'?"),
    ],
)
def test_what_cannot_be(source: str, folder: Path, options: list[str], message: str) -> None:
    assert message in fails("convert", source, "-o", "m.xml", *options)
    assert not (folder / "m.xml").exists()


def test_what_only_an_ir_has(source: str, folder: Path) -> None:
    assert maxfold("convert", source, "-o", "m.xml", "-q").status == 0
    for option in (["--layout", "x=NCHW"], ["--compress-to-fp16"]):
        message = fails("convert", "m.xml", "-o", "back.onnx", *option)
        assert f"{option[0]} is for results in OpenVINO IR, and this one is ONNX; leave it out" in message
    assert not (folder / "back.onnx").exists()
