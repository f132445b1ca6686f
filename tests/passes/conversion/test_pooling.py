"""Rows of pooling."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import openvino.opset8 as ov
import openvino.opset14 as ov14
import openvino.opset16 as ov16
import pytest

from tests.passes.conversion import harness, judged

REFUSED = {
    ("onnx", "maxpool_2d_ceil_output_size_reduce_by_one"): "leaves a window wholly in the padding",
}


@pytest.mark.parametrize(
    ("way", "case"), judged.parameters("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool")
)
def test_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    # One case has its expected values rounded to four digits.
    judged.judge(way, case, tmp_path, refused=REFUSED, limited={}, rtol=1e-3, atol=1e-5)


WINDOWS = [
    window
    for window in itertools.product((5, 6, 7), (2, 3), (1, 2, 3), ((0, 0), (1, 0), (0, 1), (1, 1)))
    if sum(window[3]) or window[2] > 1
]


@pytest.mark.parametrize(("size", "kernel", "stride", "pads"), WINDOWS[::6])
def test_rounding_up(size: int, kernel: int, stride: int, pads: tuple[int, int], tmp_path: Path) -> None:
    values = judged.floats(1, 2, size)
    for op, more in (("MaxPool", {}), ("AveragePool", {}), ("AveragePool", {"count_include_pad": 1})):
        model, inputs = judged.one_node(
            op, {"x": values}, opset=11, kernel_shape=[kernel], strides=[stride], pads=list(pads), ceil_mode=1, **more
        )
        judged.assert_same_in_openvino(model, inputs, tmp_path)
        case = harness.Case("rounding", model, inputs, harness.run_onnx(tmp_path / "made.onnx", inputs))
        harness.assert_close(harness.round_trip(case, tmp_path), case.outputs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rounding", ["ceil", "ceil_torch"])
@pytest.mark.parametrize(("size", "kernel", "stride", "pads"), WINDOWS[1::4])
def test_rounding_up_of_openvino(
    size: int, kernel: int, stride: int, pads: tuple[int, int], rounding: str, tmp_path: Path
) -> None:
    """Right, or refused where a window lies wholly in the padding."""
    x = ov.parameter([1, 2, size, size + 1], np.float32)
    inputs = [judged.floats(1, 2, size, size + 1)]
    common: list[Any] = [[stride, 1], [pads[0], 0], [pads[1], 0], [kernel, 2]]
    results = [
        ov14.avg_pool(x, *common, True, rounding), ov14.avg_pool(x, *common, False, rounding),
        ov14.max_pool(x, common[0], [1, 1], *common[1:], rounding).output(0),
    ]  # fmt: skip
    left = (size + sum(pads) - kernel) % stride
    is_in_padding = bool(left) and size + sum(pads) - kernel - left + stride >= size + pads[0]
    if rounding == "ceil" and is_in_padding:
        reason = "leaves a window wholly in the padding"
        for result in results:
            judged.assert_refused_in_onnx([result], [x], tmp_path, reason)
        return
    judged.assert_same_in_onnx(results, [x], inputs, tmp_path)


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER", "VALID"])
@pytest.mark.parametrize("include", [0, 1])
def test_automatic_padding(auto_pad: str, include: int, tmp_path: Path) -> None:
    values = judged.floats(1, 1, 7, 8)
    common: dict[str, Any] = {"opset": 8, "kernel_shape": [3, 2], "strides": [2, 1], "auto_pad": auto_pad}
    for op, more in (("MaxPool", {}), ("AveragePool", {"count_include_pad": include})):
        model, inputs = judged.one_node(op, {"x": values}, dynamic=["x"], **common, **more)
        judged.assert_same_in_openvino(model, inputs, tmp_path)
        case = harness.Case("padding", model, inputs, harness.run_onnx(tmp_path / "made.onnx", inputs))
        harness.assert_close(harness.round_trip(case, tmp_path, opset=13), case.outputs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("opset", [1, 7])
def test_first_versions(opset: int, tmp_path: Path) -> None:
    values = judged.floats(1, 1, 5, 5)
    # ONNX Runtime does not have the first AveragePool.
    for op in ("MaxPool", "AveragePool")[:opset]:
        model, inputs = judged.one_node(op, {"x": values}, opset=opset, kernel_shape=[2, 2], pads=[1, 0, 0, 1])
        judged.assert_same_in_openvino(model, inputs, tmp_path)
    for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
        model, inputs = judged.one_node(op, {"x": values}, opset=opset if op != "GlobalLpPool" else 2)
        judged.assert_same_in_openvino(model, inputs, tmp_path)


@pytest.mark.parametrize(("axis", "kind"), [(0, "i64"), (2, "i32"), (-2, "i64"), (1, "i64")])
def test_indices(axis: int, kind: str, tmp_path: Path) -> None:
    x = ov.parameter([2, 2, 5, 6], np.float32)
    pool = ov.max_pool(x, [2, 2], [1, 1], [1, 0], [0, 1], [2, 3], "floor", "explicit", kind, axis)
    inputs = [judged.floats(2, 2, 5, 6)]
    judged.assert_same_in_onnx([pool.output(0), pool.output(1)], [x], inputs, tmp_path)


def test_dilations(tmp_path: Path) -> None:
    x = ov.parameter([1, 1, 8, 8], np.float32)
    pool = ov16.avg_pool(x, [1, 1], [0, 0], [0, 0], [2, 3], True, dilations=[2, 1])
    judged.assert_same_in_onnx([pool], [x], [judged.floats(1, 1, 8, 8)], tmp_path, opset=19)
    judged.assert_refused_in_onnx([pool], [x], tmp_path, "dilation needs operator set 19; choose --opset 19")


@pytest.mark.parametrize("auto_pad", ["same_upper", "same_lower"])
@pytest.mark.parametrize("dilations", [[2, 1], [2, 2]])
def test_dilated_automatic_padding(auto_pad: str, dilations: list[int], tmp_path: Path) -> None:
    reason = "its automatic padding of dilated windows needs an input of a known shape"
    known, unknown = [2, 3, 8, 9], [-1, 3, -1, -1]
    for stride, shape, is_refused in ((2, known, False), (1, unknown, False), (2, unknown, True)):
        x = ov.parameter(shape, np.float32)
        common: list[Any] = [[0, 0], [0, 0], [3, 3]]
        pools = [
            ov14.max_pool(x, [stride] * 2, dilations, *common, "floor", auto_pad).output(0),
            ov16.avg_pool(x, [stride] * 2, *common, True, "floor", auto_pad, dilations=dilations).output(0),
        ]
        for pool in pools:
            if is_refused:
                judged.assert_refused_in_onnx([pool], [x], tmp_path, reason)
                continue
            judged.assert_same_in_onnx([pool], [x], [judged.floats(2, 3, 8, 9)], tmp_path, opset=19)


@pytest.mark.parametrize("auto_pad", ["same_upper", "explicit"])
def test_padding_as_large_as_the_kernel(auto_pad: str, tmp_path: Path) -> None:
    x = ov.parameter([1, 1, 8, 8], np.float32)
    pool = ov14.max_pool(x, [1, 1], [1, 3], [0, 2], [0, 2], [1, 2], "floor", auto_pad)
    reason = "ONNX Runtime takes no padding as large as its kernel of [1, 2]"
    judged.assert_refused_in_onnx([pool.output(0)], [x], tmp_path, reason)


def test_refused_forms(tmp_path: Path) -> None:
    values = judged.floats(1, 1, 6)
    more: dict[str, Any] = {"opset": 11, "kernel_shape": [3], "strides": [2], "ceil_mode": 1}
    model, _ = judged.one_node("MaxPool", {"x": values}, auto_pad="VALID", **more)
    judged.assert_refused_in_openvino(model, tmp_path, "ceil_mode with auto_pad VALID is read in two ways")
    model, _ = judged.one_node("AveragePool", {"x": values}, pads=[1, 0], count_include_pad=1, dynamic=["x"], **more)
    judged.assert_refused_in_openvino(model, tmp_path, "rounding up with padding needs an input of a known shape")
    model, _ = judged.one_node("GlobalAveragePool", {"x": judged.floats(2, 3)}, opset=11)
    judged.assert_refused_in_openvino(model, tmp_path, "of 2 dimensions it has nothing to pool")


BEYOND: list[tuple[list[int], list[int], list[int], list[int]]] = [
    # Sizes, kernel, strides, pads.
    ([5], [7], [7], [0, 0]),
    ([5], [7], [3], [0, 0]),
    ([3], [7], [4], [1, 1]),
    ([3], [7], [6], [0, 1]),
    ([3, 8], [7, 3], [7, 2], [0, 0, 0, 0]),
    ([8, 3], [3, 6], [2, 4], [1, 0, 1, 0]),
    ([4, 5, 6], [5, 6, 7], [2, 2, 2], [0] * 6),
]


@pytest.mark.parametrize(
    ("op", "more"),
    [("MaxPool", {}), ("MaxPool", {"outputs": 2}), ("AveragePool", {}), ("AveragePool", {"count_include_pad": 1})],
)
@pytest.mark.parametrize(("sizes", "kernel", "strides", "pads"), BEYOND)
def test_windows_beyond_the_input(
    sizes: list[int], kernel: list[int], strides: list[int], pads: list[int], op: str, more: Any, tmp_path: Path
) -> None:
    values = judged.floats(1, 2, *sizes)
    common: dict[str, Any] = {"opset": 11, "kernel_shape": kernel, "strides": strides, "pads": pads, "ceil_mode": 1}
    model, inputs = judged.one_node(op, {"x": values}, **common, **more)
    judged.assert_same_in_openvino(model, inputs, tmp_path)
    case = harness.Case("beyond", model, inputs, harness.run_onnx(tmp_path / "made.onnx", inputs))
    harness.assert_close(harness.round_trip(case, tmp_path), case.outputs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize(
    "more",
    [
        {"kernel_shape": [7], "strides": [7]},
        {"kernel_shape": [7], "strides": [2], "ceil_mode": 1},
        {"kernel_shape": [8], "strides": [2], "ceil_mode": 1, "pads": [0, 1]},
        {"kernel_shape": [7], "auto_pad": "VALID"},
    ],
)
def test_windows_without_a_result(op: str, more: Any, tmp_path: Path) -> None:
    model, _ = judged.one_node(op, {"x": judged.floats(1, 2, 5)}, opset=11, **more)
    judged.assert_refused_in_openvino(
        model, tmp_path, f"its window of {more['kernel_shape']} is larger than its padded"
    )


def test_windows_over_open_sizes(tmp_path: Path) -> None:
    model, inputs = judged.one_node(
        "AveragePool", {"x": judged.floats(1, 2, 9)}, opset=11, kernel_shape=[7], strides=[7], ceil_mode=1,
        dynamic=["x"],
    )  # fmt: skip
    judged.assert_same_in_openvino(model, inputs, tmp_path)


@pytest.mark.parametrize("shape", [(2, 3, 5), (2, 3, 4, 5), (2, 2, 4, 5, 3), (1, 1, 5000, 4001)], ids=str)
def test_indices_that_count_the_first_dimension_fastest(shape: tuple[int, ...], tmp_path: Path) -> None:
    """Of equal values too, and of more of them than single precision counts."""
    values = np.random.default_rng(0).integers(0, 5, shape).astype(np.float32)
    kernel = [size // 2 if size > 1000 else 2 for size in shape[2:]]
    model, inputs = judged.one_node(
        "MaxPool", {"x": values}, opset=12, outputs=2, kernel_shape=kernel, strides=kernel, storage_order=1
    )
    judged.assert_same_in_openvino(model, inputs, tmp_path)


def test_such_indices_of_open_sizes_are_refused(tmp_path: Path) -> None:
    model, _ = judged.one_node(
        "MaxPool", {"x": judged.floats(1, 2, 4, 4)}, opset=12, outputs=2, dynamic=["x"], kernel_shape=[2, 2],
        storage_order=1,
    )  # fmt: skip
    judged.assert_refused_in_openvino(model, tmp_path, "its indices need an input of a known shape")
