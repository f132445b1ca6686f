"""`maxfold verify`: two models run and compared."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from maxfold.optimizer import runtimes
from tests.cli.models import NOT_RUNNABLE, RELAXED_ONLY, write
from tests.cli.shell import fails, maxfold
from tests.cli.test_json import check

pytest.importorskip("onnxruntime")

MAX = '<ir_version: 8, opset_import: ["" : 13]> g (float[N, 2] x) => (float[N, 2] y) {{ y = {} (x, x) }}'

UNFIT = (
    '<ir_version: 8, opset_import: ["" : 13]> g (float[N] x) => (float[2, M] y) <int64[2] s = {2, 1000}> '
    "{ y = Reshape (x, s) }"
)
LOST_NAN = """
<ir_version: 8, opset_import: ["" : 13]> g (float[3] x) => (float[3] y) <float zero = {0}>
{ a = Abs (x)  b = Neg (a)  c = Sqrt (b)  y = Max (c, zero) }
"""


def write_states(path: Path) -> None:
    """y = x + memory; memory = y"""
    import openvino
    from openvino import opset6

    x = opset6.parameter([1, 3], np.float32, name="x")
    total = opset6.add(x, opset6.read_value(opset6.constant(np.ones((1, 3), np.float32)), "m", np.float32, [1, 3]))
    sink = opset6.assign(total, "m")
    openvino.serialize(openvino.Model([opset6.result(total)], [sink], [x], "g"), path)


def test_the_same(folder: Path) -> None:
    write(folder / "a.onnx", MAX.format("Max"))
    write(folder / "b.onnx", MAX.format("Min"))
    run = maxfold("verify", "a.onnx", "b.onnx", "--dim", "N=5", "--runs", "3", "--seed", "7", "-v")
    assert (run.status, run.stderr) == (0, "")
    lines = run.stdout.splitlines()
    assert lines[0] == "a.onnx  ONNX Runtime"
    assert lines[3] == "3 runs, random inputs, seed 7  x float[5, 2]"
    assert [line.split() for line in lines[8:11]] == [["y", "same", "0", "0", "0", str(run)] for run in (1, 2, 3)]
    assert lines[-1] == "equal: the same bits"


def test_a_difference(folder: Path) -> None:
    write(folder / "a.onnx", MAX.format("Max"))
    write(folder / "b.onnx", MAX.format("Add"))
    run = maxfold("verify", "a.onnx", "b.onnx")
    assert (run.status, run.stderr) == (1, "")
    assert run.stdout.splitlines()[-1] == "different: 1 output beyond 0"
    assert maxfold("verify", "a.onnx", "b.onnx", "--tolerance", "10").status == 0
    quiet = maxfold("verify", "a.onnx", "b.onnx", "-q")
    assert (quiet.status, quiet.stdout, quiet.stderr) == (1, "", "")


def test_json(folder: Path) -> None:
    write(folder / "a.onnx", RELAXED_ONLY)
    content = json.loads(maxfold("verify", "a.onnx", "a.onnx", "--json").stdout)
    check(content)
    assert (content["first"], content["runtimes"]) == ("a.onnx", ["ONNX Runtime", "ONNX Runtime"])
    assert content["outputs"][0] == {
        "name": "y", "is_bit_equal": True, "max_abs": 0.0, "max_rel": 0.0, "max_ulp": 0.0, "mismatch": "", "run": 0,
    }  # fmt: skip


def test_given_inputs(folder: Path) -> None:
    write(folder / "a.onnx", MAX.format("Max"))
    np.savez(folder / "x.npz", x=np.array([[np.nan, 1]], np.float32))
    run = maxfold("verify", "a.onnx", "a.onnx", "--inputs", "x.npz")
    assert run.status == 0
    assert "1 run, given inputs  x float[1, 2]\n" in run.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.onnx"], "missing argument 'B'; try 'maxfold verify --help'"),
        (["a.onnx", "-"], "verify compares two files; give the paths of both; try 'maxfold verify --help'"),
        (["a.onnx", "no.onnx"],
         "no.onnx: cannot be read: No such file or directory; give the path of a model file"),
        (["a.onnx", "a.onnx", "--dim", "M=3"],
         "a.onnx and a.onnx: no input has an open dimension 'M'; open dimensions: N"),
        (["a.onnx", "a.onnx", "--runs", "0"],
         "--runs must be a whole number of at least 1, not '0'; try 'maxfold verify --help'"),
        (["a.onnx", "a.onnx", "--seed", "-1"],
         "--seed must be a whole number of at least 0, not '-1'; try 'maxfold verify --help'"),
        (["a.onnx", "a.onnx", "--tolerance", "nan"],
         "--tolerance must be a number of at least 0, not 'nan'; try 'maxfold verify --help'"),
        (["a.onnx", "a.onnx", "--inputs", "x.npz", "--seed", "1"],
         "--inputs and --seed contradict each other; choose one"),
        (["a.onnx", "a.onnx", "--inputs", "x.npz"],
         "x.npz: No such file or directory; write it with numpy.savez(path, name=array, ...)"),
        (["a.onnx", "a.onnx", "-q", "-v"], "-q and -v contradict each other; choose one"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else " ",
)  # fmt: skip
def test_mistakes(folder: Path, arguments: list[str], message: str) -> None:
    write(folder / "a.onnx", MAX.format("Max"))
    assert fails("verify", *arguments) == message


def test_models_that_do_not_run(folder: Path) -> None:
    write(folder / "a.onnx", MAX.format("Max"))
    write(folder / "odd.onnx", NOT_RUNNABLE)
    for arguments in (("a.onnx", "odd.onnx"), ("odd.onnx", "a.onnx")):
        assert fails("verify", *arguments).startswith("odd.onnx: ONNX Runtime cannot load it: ")


def test_what_does_not_go_together_is_said(folder: Path) -> None:
    pytest.importorskip("openvino")
    write(folder / "a.onnx", LOST_NAN)
    refusal = maxfold("convert", "a.onnx", "-o", "a.xml", "--verify", "--no-optimize")
    assert refusal.status == 1
    assert "nothing written: output 'y' differs: NaN in one of the two, in 3 of 3 values; OpenVINO's " in refusal.stderr
    assert maxfold("convert", "a.onnx", "-o", "a.xml", "-q", "--no-optimize").status == 0
    for options in ((), ("-v",)):
        run = maxfold("verify", "a.onnx", "a.xml", *options)
        assert "  NaN in one of the two, in 3 of 3 values\n" in run.stdout
    assert [line.split()[5] for line in run.stdout.splitlines() if line.startswith("y ")] == ["1", "2"]


def test_sizes_that_do_not_fit(folder: Path) -> None:
    write(folder / "a.onnx", UNFIT)
    hint = "; --dim fixes open dimensions, --inputs gives real values"
    assert fails("verify", "a.onnx", "a.onnx").endswith(hint)
    assert hint not in fails("verify", "a.onnx", "a.onnx", "--dim", "N=3")
    hint = "; --verify-dim gives an open dimension its size; leave out --verify to have the result unverified"
    assert fails("optimize", "a.onnx", "-o", "b.onnx", "--verify").endswith(hint)
    assert fails("convert", "a.onnx", "-o", "b.xml", "--verify").endswith(hint)
    assert maxfold("optimize", "a.onnx", "-o", "b.onnx", "--verify", "--verify-dim", "N=2000").status == 0


def test_states_are_not_compared(folder: Path) -> None:
    pytest.importorskip("openvino")
    write_states(folder / "s.xml")
    message = "s.xml keeps states from one run to the next, which are inputs and outputs in ONNX; the two cannot be "
    message += "compared by running them"
    refusal = fails("convert", "s.xml", "-o", "s.onnx", "--verify")
    assert refusal == f"{message}; leave out --verify to have the result unverified"
    assert maxfold("convert", "s.xml", "-o", "s.onnx", "-q").status == 0
    assert fails("verify", "s.xml", "s.onnx") == message
    assert maxfold("verify", "s.xml", "s.xml").status == 0


@pytest.mark.parametrize(("missing", "kind"), [("onnxruntime", "ONNX models"), ("openvino", "OpenVINO IR")])
def test_without_a_runtime(folder: Path, monkeypatch: pytest.MonkeyPatch, missing: str, kind: str) -> None:
    monkeypatch.setattr(runtimes, "find_spec", lambda name: None if name == missing else name)
    message = fails("verify", "a.onnx", "a.xml")
    assert f"verification runs {kind} in " in message
    assert message.endswith("which is not here: pip install 'maxfold[verify]'")


def test_across_formats(folder: Path) -> None:
    pytest.importorskip("openvino")
    write(folder / "a.onnx", MAX.format("Max"))
    assert maxfold("convert", "a.onnx", "-o", "a.xml", "-q").status == 0
    run = maxfold("verify", "a.xml", "a.onnx", "--dim", "N=3")
    assert run.status == 0, run.stderr
    assert run.stdout.startswith("a.xml   OpenVINO\na.onnx  ONNX Runtime\n")
    assert "x float[3, 2]" in run.stdout
