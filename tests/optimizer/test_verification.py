"""Verification: which inputs are tried, how outputs are compared, what goes together."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import parser

from maxfold.model import ModelError
from maxfold.optimizer import convert, load, save, verify
from maxfold.optimizer.comparison import compare
from maxfold.optimizer.verification import CROSS_TOLERANCE, UnfitError

pytest.importorskip("onnxruntime")

F32 = np.float32


def write(path: Path, body: str) -> Path:
    onnx.save(parser.parse_model(f'<ir_version: 8, opset_import: ["" : 13]> {body}'), path)
    return path


def write_ir(path: Path, source: Path) -> Path:
    pytest.importorskip("openvino")
    save(convert(load(source), to="openvino"), path)
    return path


@pytest.fixture
def maximum(tmp_path: Path) -> Path:
    return write(tmp_path / "m.onnx", "g (float[N, M] a, float[N, M] b) => (float[N, M] y) { y = Max(a, b) }")


def test_open_dimensions_are_drawn_and_shared(maximum: Path) -> None:
    result = verify(maximum, maximum)
    assert result.is_equal
    assert [(item.name, item.shape, item.run) for item in result.inputs] == [
        ("a", (2, 8), 0), ("b", (2, 8), 0), ("a", (3, 16), 1), ("b", (3, 16), 1),
    ]  # fmt: skip
    assert {item.shape for item in verify(maximum, maximum, dims={"N": 5, "M": 7}, runs=4).inputs} == {(5, 7)}


def test_dimensions_without_a_name(tmp_path: Path) -> None:
    path = write(tmp_path / "m.onnx", "g (float[?, 2] a) => (float[?, 2] y) { y = Neg(a) }")
    assert verify(path, path, dims={"a:0": 9}, runs=1).inputs[0].shape == (9, 2)
    with pytest.raises(ModelError, match="no input has an open dimension 'a:1'; open dimensions: a:0"):
        verify(path, path, dims={"a:1": 9})


def test_a_mask_that_is_not_read(tmp_path: Path) -> None:
    head = "g (float[2, 5] x, int64[2, 5] attention_mask) => (float[2, 5] y)"
    masked = write(tmp_path / "a.onnx", f"{head} {{ m = Cast<to = 1>(attention_mask)\n y = Mul(x, m) }}")
    assert verify(masked, masked).is_equal
    assert not verify(masked, write(tmp_path / "b.onnx", f"{head} {{ y = Identity(x) }}")).is_equal


def test_results_without_elements_tell_nothing(tmp_path: Path) -> None:
    """Sizes are tried until there are some; where there never are, these are compared."""
    body = "g (float[N, M] a) => (float[N, K] y) <int64[1] f = {8}, int64[1] l = {900}, int64[1] o = {1}>"
    path = write(tmp_path / "m.onnx", f"{body} {{ y = Slice(a, f, l, o) }}")
    assert [item.shape for item in verify(path, path).inputs] == [(3, 16), (1, 32)]
    write(path, body.replace("8", "800") + "{ y = Slice(a, f, l, o) }")
    assert [item.shape for item in verify(path, path).inputs] == [(2, 8), (3, 16)]


def test_sizes_that_the_model_cannot_take_are_passed_over(tmp_path: Path) -> None:
    body = "g (float[N] a) => (float[2, M] y) <int64[2] s = {2, -1}> { y = Reshape(a, s) }"
    path = write(tmp_path / "m.onnx", body)
    assert all(item.shape[0] % 2 == 0 for item in verify(path, path).inputs)
    write(path, body.replace("{2, -1}", "{2, 1000}"))
    with pytest.raises(UnfitError, match=r"m\.onnx: ONNX Runtime cannot run it: "):
        verify(path, path)
    with pytest.raises(ModelError, match=r"m\.onnx: ONNX Runtime cannot run it: ") as caught:
        verify(path, path, dims={"N": 3})
    assert not isinstance(caught.value, UnfitError)


def test_sizes_that_openvino_cannot_take_are_passed_over(tmp_path: Path) -> None:
    """A window larger than its input, of which ONNX Runtime makes a result: in a compiled model of open dimensions
    OpenVINO gives an empty one, or ends the process."""
    pool = "MaxPool <kernel_shape = [8], strides = [8]>"
    path = write(
        tmp_path / "m.onnx",
        f"g (float[1, 1, W] a) => (float[1, 1, L] y) {{ b = {pool}(a)  c = {pool}(b)  y = Relu(c) }}",
    )
    ir = write_ir(tmp_path / "m.xml", path)
    result = verify(path, ir, runs=3)
    assert result.is_equal
    assert [item.shape[2] for item in result.inputs] == [64, 128, 224]
    assert [note for note in result.notes if "a [1, 1, 8], which was passed over: layer 'c': Kernel" in note]
    with pytest.raises(ModelError, match=r"m\.xml: OpenVINO cannot run it: layer 'c': Kernel after dilation"):
        verify(path, ir, dims={"W": 8})
    assert verify(ir, path).is_equal


def test_the_seed_decides(maximum: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "n.onnx", "g (float[N, M] a, float[N, M] b) => (float[N, M] y) { y = Min(a, b) }")
    seeds = [verify(maximum, other, seed=seed).outputs for seed in (1, 1, 2)]
    assert seeds[0] == seeds[1] != seeds[2]


def test_inputs_and_outputs_go_together_by_name(tmp_path: Path) -> None:
    first = write(
        tmp_path / "1.onnx", "g (float[2] a, float[2] b) => (float[2] p, float[2] q) { p = Sub(a, b) q = Neg(a) }"
    )
    second = write(
        tmp_path / "2.onnx", "g (float[2] b, float[2] a) => (float[2] q, float[2] p) { p = Sub(a, b) q = Neg(a) }"
    )
    third = write(
        tmp_path / "3.onnx", "g (float[2] c, float[2] d) => (float[2] r, float[2] s) { r = Sub(c, d) s = Neg(c) }"
    )
    result = verify(first, second)
    assert (result.is_equal, result.notes) == (True, ())
    result = verify(first, third)
    assert result.is_equal
    assert result.notes == (
        "inputs are taken by position: no name of 'a', 'b' is in the second model",
        "outputs are taken by position: no name of 'p', 'q' is in the second model",
    )


def test_position_is_for_what_has_no_name_in_the_other(tmp_path: Path) -> None:
    first = write(tmp_path / "1.onnx", "g (float[2] a) => (float[2] p, float[2] q) { p = Abs(a) q = Neg(a) }")
    second = write(tmp_path / "2.onnx", "g (float[2] a) => (float[2] q, float[2] r) { r = Abs(a) q = Neg(a) }")
    result = verify(first, second)
    assert result.is_equal
    assert result.notes == ("outputs are taken by position: no name of 'p' is in the second model",)


def test_names_of_layers_come_behind_names_of_tensors(tmp_path: Path) -> None:
    """Each output's layer is called like the other output."""
    from openvino import Model, opset13, serialize

    x = opset13.parameter([2], np.float32, name="x")
    x.output(0).set_names({"x"})
    results = []
    for node, layer, names in ((opset13.negative(x), "a", {"0", "b"}), (opset13.abs(x), "b", {"1", "a"})):
        node.set_friendly_name(layer)
        node.output(0).set_names(names)
        results.append(opset13.result(node))
    serialize(Model(results, [x], "m"), tmp_path / "m.xml")
    source = write(tmp_path / "1.onnx", "g (float[2] x) => (float[2] a, float[2] b) { a = Abs(x) b = Neg(x) }")
    for pair in ((source, tmp_path / "m.xml"), (tmp_path / "m.xml", source)):
        result = verify(*pair)
        assert (result.is_equal, result.notes) == (True, ())


NOT_COMPARABLE = [
    ("float[N, M] a", "float[N, M] y", "has 2 inputs, and .* has 1"),
    ("float[N, M] a, double[N, M] b", "float[N, M] y", "'b' is float in the first model and double in the second"),
    ("float[N, M] a, float[N] b", "float[N, M] y", r"'b' has the shape \[N, M\] in the first model and \[N\] in"),
]


@pytest.mark.parametrize(("inputs", "output", "message"), NOT_COMPARABLE)
def test_interfaces_that_differ(maximum: Path, tmp_path: Path, inputs: str, output: str, message: str) -> None:
    other = write(tmp_path / "n.onnx", f"g ({inputs}) => ({output}) {{ y = Identity(a) }}")
    with pytest.raises(ModelError, match=message):
        verify(maximum, other)


def test_one_is_no_plural(maximum: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "n.onnx", "g (float[N] a) => (float[N] y) { y = Identity(a) }")
    with pytest.raises(ModelError, match=r"has 1 input, and .* has 2; they cannot be compared"):
        verify(other, maximum)


def test_given_inputs(maximum: Path, tmp_path: Path) -> None:
    values = {"a": np.zeros((2, 3), F32), "b": np.full((2, 3), np.nan, F32)}
    np.savez(tmp_path / "x.npz", **values)
    result = verify(maximum, maximum, inputs=tmp_path / "x.npz")
    assert (result.runs, result.seed, result.is_equal) == (1, None, True)
    bad: list[tuple[dict[str, Any], str]] = [
        ({"a": values["a"]}, "has no array for the input 'b'"),
        (values | {"c": values["a"]}, "has an array 'c', and the inputs are a, b"),
        (values | {"b": np.zeros((2, 3))}, "the array 'b' is float64, and the input is float"),
        (values | {"b": np.zeros(3, F32)}, r"the array 'b' has the shape \[3\], and the input \[N, M\]"),
    ]
    for arrays, message in bad:
        np.savez(tmp_path / "x.npz", **arrays)
        with pytest.raises(ModelError, match=message):
            verify(maximum, maximum, inputs=tmp_path / "x.npz")
    (tmp_path / "x.npz").write_bytes(b"PK")
    with pytest.raises(ModelError, match=r"x\.npz: is not a usable \.npz file"):
        verify(maximum, maximum, inputs=tmp_path / "x.npz")


def test_types_without_random_values(tmp_path: Path) -> None:
    path = write(tmp_path / "m.onnx", "g (seq(float[2]) a) => (int64 y) { y = SequenceLength(a) }")
    with pytest.raises(ModelError, match=r"input 'a' is of type seq\(tensor\(float\)\), which has no random values"):
        verify(path, path)


def test_across_formats(maximum: Path, tmp_path: Path) -> None:
    ir = write_ir(tmp_path / "m.xml", maximum)
    result = verify(maximum, ir)
    assert (result.is_equal, result.tolerance) == (True, CROSS_TOLERANCE)
    assert result.runtimes == ("ONNX Runtime", "OpenVINO")
    assert verify(ir, ir).tolerance == 0
    assert {item.shape for item in verify(ir, ir, dims={"N": 4, "M": 1}).inputs} == {(4, 1)}


def test_a_nan_that_openvino_loses_is_explained(maximum: Path, tmp_path: Path) -> None:
    ir = write_ir(tmp_path / "m.xml", maximum)
    np.savez(tmp_path / "x.npz", a=np.array([[np.nan, 0]], F32), b=np.array([[1, np.nan]], F32))
    result = verify(maximum, ir, inputs=tmp_path / "x.npz")
    assert not result.is_equal
    assert result.outputs[0].mismatch == "NaN in one of the two, in 1 of 2 values"
    assert result.notes == (
        "OpenVINO's Maximum and Minimum give their second operand where the first is NaN, ONNX gives NaN",
    )


def test_rows_in_another_order_are_explained(tmp_path: Path) -> None:
    body = "g (float[5, 4] x) => (float[5, 4] y) <int64[5] p = {{{}}}> {{ y = Gather <axis = 0> (x, p) }}"
    first = write(tmp_path / "m.onnx", body.format("0, 1, 2, 3, 4"))
    result = verify(first, write(tmp_path / "n.onnx", body.format("0, 2, 1, 3, 4")))
    assert not result.is_equal
    assert len(result.notes) == 1
    assert result.notes[0].startswith("'y' has the same rows in another order: ")
    assert verify(first, write(tmp_path / "n.onnx", body.format("0, 1, 1, 3, 4"))).notes == ()


def test_types_that_openvino_narrows_are_named(tmp_path: Path) -> None:
    body = "g (int64[2] a, float16[2] b) => (int64[2] y, float16[2] z) { y = Add(a, a) z = Neg(b) }"
    path = write(tmp_path / "m.onnx", body)
    result = verify(path, write_ir(tmp_path / "m.xml", path))
    assert result.is_equal
    assert result.notes == ("OpenVINO's CPU computes i64 in 32 bits",)


def test_a_bad_file_is_told_by_maxfold(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.xml").write_text("<net></net>")
    with pytest.raises(ModelError, match="is an IR without a version"):
        verify(tmp_path / "m.xml", tmp_path / "m.xml")
    assert capfd.readouterr() == ("", "")


COMPARISONS: list[tuple[Any, Any, bool, float, float, float | None]] = [
    (np.array([1, 2], F32), np.array([1, 2], F32), True, 0, 0, 0),
    (np.array([np.nan], F32), np.array([-np.nan], F32), True, 0, 0, 0),
    (np.array([0.0], F32), np.array([-0.0], F32), False, 0, 0, 0),
    (np.array([1.0], F32), np.array([1 + 2**-23], F32), False, 2**-23, 2**-23, 1),
    (np.array([-1.0]), np.array([-1 - 2**-52]), False, 2**-52, 2**-52, 1),
    (np.array([100.0], F32), np.array([101.0], F32), False, 1, 0.01, 131072),
    (np.array([np.inf], F32), np.array([1], F32), False, math.inf, math.inf, 0x7F800000 - 0x3F800000),
    (np.array([np.nan], F32), np.array([1], F32), False, math.inf, math.inf, math.inf),
    (np.array([1], np.float16), np.array([1 + 2**-10], np.float16), False, 2**-10, 2**-10, 1),
    (np.array([1], ml_dtypes.bfloat16), np.array([1 + 2**-7], ml_dtypes.bfloat16), False, 2**-7, 2**-7, 1),
    (np.array([2**62]), np.array([2**62 + 1]), False, 1, 2**-62, None),
    (np.array([250], np.uint8), np.array([5], np.uint8), False, 245, 0.98, None),
    (np.array([True]), np.array([False]), False, math.inf, math.inf, None),
    (np.array(["a"], object), np.array(["a"]), True, 0, 0, None),
    (np.array(["a"], object), np.array(["b"], object), False, math.inf, math.inf, None),
    (np.zeros(2, F32), np.zeros(3, F32), False, math.inf, math.inf, None),
    (np.zeros(2, F32), np.zeros(2), False, math.inf, math.inf, None),
    (np.zeros(0, F32), np.zeros(0, F32), True, 0, 0, 0),
    ([np.zeros(1, F32)], [np.zeros(1, F32)], True, 0, 0, 0),
    ([np.zeros(1, F32)], [], False, math.inf, math.inf, None),
    (None, None, True, 0, 0, None),
]


@pytest.mark.parametrize(("left", "right", "is_bit_equal", "max_abs", "max_rel", "max_ulp"), COMPARISONS)
def test_comparisons(
    left: Any, right: Any, is_bit_equal: bool, max_abs: float, max_rel: float, max_ulp: float | None
) -> None:
    result = compare("y", left, right)
    assert (result.is_bit_equal, result.max_abs, result.max_rel, result.max_ulp) == (
        is_bit_equal, pytest.approx(max_abs), pytest.approx(max_rel), max_ulp,
    )  # fmt: skip
