"""Sampling, normalization, first versions, and the steps that only look: results before and after, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto

from tests.passes.upgrades.running import (
    assert_exact,
    assert_gives,
    attributes_of,
    constants_of,
    newest_runnable,
    node_model,
    operators,
    random_array,
    refusal,
    upgraded,
)
from tests.run import Array, in_onnxruntime

IMAGE = random_array(1, 2, 4, 5)
WHOLE = np.array([1, 1, 2, 3], np.float32)
NEW = (13, 18, 21)

HINTED: dict[str, Callable[[Array], Array]] = {
    "Abs": np.abs, "Ceil": np.ceil, "Floor": np.floor, "Neg": np.negative, "Relu": lambda x: np.maximum(x, 0),
    "Reciprocal": lambda x: np.float32(1) / x, "Sqrt": np.sqrt,
}  # fmt: skip


def upsample(opset: int, scales: Array, *, is_constant: bool = True, mode: str = "nearest") -> ModelProto:
    operator = "Resize" if opset == 10 else "Upsample"
    if opset < 9:
        return node_model(operator, {"x": IMAGE}, opset, shape=(1, 2, 8, 15), scales=scales.tolist(), mode=mode)
    constants = ["s"] if is_constant else []
    return node_model(operator, {"x": IMAGE, "s": scales}, opset, constants=constants, shape=(1, 2, 8, 15), mode=mode)


@pytest.mark.parametrize("opset", [7, 9, 10])
def test_repeated_elements(opset: int) -> None:
    source = upsample(opset, WHOLE)
    assert_exact(source, {"x": IMAGE}, [target for target in (9, 10, 11, 13, 18, 19, 21) if target > opset])
    for target in (10, 11):
        if target > opset:
            assert operators(upgraded(source, target)) == ["Resize"]


def test_upsample_1() -> None:
    source = node_model(
        "Upsample", {"x": IMAGE}, 1, shape=(1, 2, 8, 15), height_scale=2.0, width_scale=3.0, mode="nearest"
    )
    assert_gives(source, {"x": IMAGE}, 13, IMAGE.repeat(2, axis=2).repeat(3, axis=3))
    bilinear = node_model("Upsample", {"x": IMAGE}, 6, height_scale=2.0, width_scale=3.0, mode="bilinear")
    assert attributes_of(upgraded(bilinear, 7, check=False), "Upsample")["mode"] == b"linear"


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_resize_11_with_sizes(mode: str) -> None:
    nothing = np.zeros(0, np.float32)
    inputs = {"x": IMAGE, "r": nothing, "s": nothing, "n": np.array([1, 2, 7, 9], np.int64)}
    source = node_model("Resize", inputs, 11, constants=["r", "s", "n"], mode=mode)
    assert_exact(source, {"x": IMAGE}, NEW)
    assert list(upgraded(source, 13).graph.node[0].input) == ["x", "r", "", "n"]


def test_resize_11_with_scales() -> None:
    inputs = {"x": IMAGE, "r": np.zeros(0, np.float32), "s": np.array([1, 1, 0.6, 1.7], np.float32)}
    for mode in ("nearest", "linear", "cubic"):
        source = node_model("Resize", inputs, 11, constants=["r", "s"], mode=mode)
        assert_exact(source, {"x": IMAGE}, NEW)


@pytest.mark.parametrize("mode", ["avg", "max"])
def test_roi_align(mode: str) -> None:
    data = random_array(1, 2, 8, 8)
    boxes: dict[str, Array] = {
        "r": np.array([[0, 0, 5, 5], [1, 2, 7, 7.5]], np.float32),
        "i": np.array([0, 0], np.int64),
    }
    source = node_model(
        "RoiAlign", {"x": data, **boxes}, 10, constants=["r", "i"], output_height=3, output_width=3, mode=mode
    )
    assert_exact(source, {"x": data}, (16, 21))


@pytest.mark.parametrize("mode", [None, "bilinear", "nearest", "bicubic"])
def test_grid_sample(mode: str | None) -> None:
    grid = random_array(1, 3, 3, 2, seed=1)
    attributes: dict[str, Any] = {} if mode is None else {"mode": mode}
    source = node_model("GridSample", {"x": IMAGE, "g": grid}, 16, constants=["g"], **attributes)
    assert_exact(source, {"x": IMAGE}, (20, newest_runnable()))


def batch_normalization(opset: int, outputs: tuple[str, ...] = ("y",), **attributes: Any) -> ModelProto:
    values = {name: np.abs(random_array(2, seed=seed)) for seed, name in enumerate("sbmv")}
    return node_model(
        "BatchNormalization", {"x": IMAGE, **values}, opset, constants="sbmv", outputs=outputs, **attributes
    )


@pytest.mark.parametrize("opset", [7, 9, 14])
def test_batch_normalization(opset: int) -> None:
    attributes: dict[str, Any] = {"spatial": 1} if opset == 7 else {}
    source = batch_normalization(opset, epsilon=0.01, **attributes)
    assert_exact(source, {"x": IMAGE}, [target for target in (9, 14, 15, 21) if target > opset])


def test_batch_normalization_6() -> None:
    source = batch_normalization(6, is_test=1, spatial=1)
    assert attributes_of(upgraded(source, 7), "BatchNormalization") == {"spatial": 1}
    values = {name: array[:, None, None] for name, array in constants_of(source).items()}
    (s, b, m, v) = (values[name] for name in "sbmv")
    expected = (IMAGE - m) / np.sqrt(v + np.float32(1e-5)) * s + b
    after = upgraded(source, 15)
    assert attributes_of(after, "BatchNormalization") == {}
    np.testing.assert_allclose(in_onnxruntime(after, {"x": IMAGE})[0], expected, rtol=1e-4, atol=1e-6)


def test_group_normalization() -> None:
    data = random_array(2, 6, 4, 5)
    values = {"s": random_array(3, seed=1), "b": random_array(3, seed=2)}
    source = node_model("GroupNormalization", {"x": data, **values}, 18, constants="sb", num_groups=3, shape=data.shape)
    assert_exact(source, {"x": data}, (21, newest_runnable()))


@pytest.mark.parametrize("operator", sorted(HINTED))
def test_hints_go(operator: str) -> None:
    data = np.abs(random_array(2, 3)) + np.float32(0.5)
    source = node_model(operator, {"x": data}, 1, shape=data.shape, consumed_inputs=[0])
    assert attributes_of(upgraded(source, 6), operator) == {}
    assert_gives(source, {"x": data}, 13, HINTED[operator](data))


def test_defaults_of_first_versions_are_written_out() -> None:
    data = np.array([np.inf, -np.inf, 2, -1], np.float32)
    clip = node_model("Clip", {"x": data}, 1, shape=(4,), max=1.5)
    assert_gives(clip, {"x": data}, 13, np.array([1.5, -np.inf, 1.5, -1], np.float32))
    selu = upgraded(node_model("Selu", {"x": data}, 1, shape=(4,)), 6)
    assert attributes_of(selu, "Selu") == {"alpha": pytest.approx(1.6732), "gamma": pytest.approx(1.0507)}
    concat = node_model("Concat", {"x": IMAGE, "z": IMAGE}, 1, shape=(1, 4, 4, 5))
    assert_gives(concat, {"x": IMAGE, "z": IMAGE}, 13, np.concatenate([IMAGE, IMAGE], axis=1))
    cast = node_model("Cast", {"x": data}, 1, types=(np.float64,), shape=(4,), to="DOUBLE")
    assert_gives(cast, {"x": data}, 13, data.astype(np.float64))
    split = node_model("Split", {"x": IMAGE}, 1, outputs=("y", "z"), axis=1)
    assert attributes_of(upgraded(split, 2, check=False), "Split") == {"axis": 1}
    pool = upgraded(node_model("GlobalLpPool", {"x": IMAGE}, 1, shape=(1, 2, 1, 1), p=3.0), 2)
    assert attributes_of(pool, "GlobalLpPool") == {"p": 3}


def test_scatter_becomes_scatter_elements() -> None:
    data, indices, updates = random_array(3, 3), np.array([[1, 0, 2]], np.int64), random_array(1, 3, seed=1)
    source = node_model("Scatter", {"x": data, "i": indices, "u": updates}, 9, constants="iu", axis=0)
    assert_exact(source, {"x": data}, (11, 13, 16, 18))
    assert operators(upgraded(source, 11)) == ["ScatterElements"]


def one_hot(indices: Array, *, is_constant: bool) -> ModelProto:
    inputs = {"i": indices, "d": np.array(4, np.int64), "v": np.array([0, 1], np.float32)}
    constants = ["d", "v", "i"] if is_constant else ["d", "v"]
    return node_model("OneHot", inputs, 9, constants=constants, types=(np.float32,))


def test_one_hot() -> None:
    indices = np.array([0, 3, 7], np.int64)
    assert_exact(one_hot(indices, is_constant=True), {}, (11, newest_runnable()))
    unsigned = indices.astype(np.uint8)
    assert operators(upgraded(one_hot(unsigned, is_constant=False), 11)) == ["OneHot"]


def test_pooling_whose_windows_stay_inside() -> None:
    data = random_array(1, 2, 8, 8)
    for kernel, stride, pad, ceil in ((3, 2, 1, 1), (2, 2, 0, 1), (2, 3, 0, 1), (1, 2, 0, 0)):
        source = node_model(
            "MaxPool", {"x": data}, 12, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, ceil_mode=ceil
        )
        assert_exact(source, {"x": data}, (newest_runnable(),))


def test_quantization_of_scalars() -> None:
    data = random_array(2, 3)
    values: dict[str, Array] = {"s": np.array(0.1, np.float32), "z": np.array(3, np.uint8)}
    source = node_model("QuantizeLinear", {"x": data, **values}, 10, constants="sz", types=(np.uint8,))
    assert_exact(source, {"x": data}, (13, 19, 21, 25))


def sequence(operator: str, opset: int, **attributes: Any) -> ModelProto:
    return node_model(operator, {"x": IMAGE, "w": IMAGE, "r": IMAGE}, opset, hidden_size=2, **attributes)


FLAT = np.array([1, 2], np.int32)
SCALES: dict[str, Array | None] = {"s": np.array([0.1], np.float32), "z": np.array([3], np.uint8)}
POOL: dict[str, Any] = {"kernel_shape": [1, 1], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1}
FNUZ = TensorProto.FLOAT8E4M3FNUZ


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        (upsample(9, WHOLE, is_constant=False), 11, "its scales are not constant"),
        (upsample(9, WHOLE, mode="linear"), 11, "mode 'linear' places its samples was not specified"),
        (upsample(9, np.array([1, 1, 1.5, 2], np.float32)), 11, "scales that are not whole"),
        (upsample(10, np.array([1, 1, 0.5, 2], np.float32)), 11, "scales that are not whole"),
        (node_model("Upsample", {"x": IMAGE}, 1, mode="nearest"), 7, "'height_scale' and 'width_scale' are missing"),
        (
            node_model("Resize", {"x": IMAGE, "r": WHOLE, "s": WHOLE}, 11,
                       coordinate_transformation_mode="tf_half_pixel_for_nn"), 13, "'tf_half_pixel_for_nn' has gone",
        ),
        (
            node_model("Resize", {"x": IMAGE, "r": WHOLE, "s": WHOLE, "n": np.ones(4, np.int64)}, 11), 13,
            "it has scales and sizes",
        ),
        (batch_normalization(6), 7, "in training mode"),
        (batch_normalization(6, is_test=1, spatial=0), 7, "spatial = 0"),
        (batch_normalization(7, spatial=0), 9, "spatial = 0"),
        (batch_normalization(9, outputs=("y", "p", "q", "t", "u")), 14, "it is in training mode"),
        (node_model("Dropout", {"x": IMAGE}, 6), 7, "without 'is_test' it is in training mode"),
        (sequence("GRU", 6), 7, "other recurrent weights"),
        (sequence("LSTM", 6), 7, "other recurrent weights"),
        (sequence("RNN", 6), 7, "other recurrent weights"),
        (node_model("Tile", {"x": IMAGE, "t": WHOLE, "a": WHOLE}, 1), 6, "its number of repetitions"),
        (one_hot(np.array([-1]), is_constant=True), 11, "negative indices"),
        (one_hot(np.array([1]), is_constant=False), 11, "negative indices"),
        (node_model("Erf", {"x": FLAT}, 9), 13, "type INT32 has gone"),
        (node_model("ReduceLogSum", {"x": FLAT}, 18), 28, "type INT32 has gone"),
        (node_model("Mod", {"x": FLAT, "z": FLAT}, 10, fmod=1), 13, "it takes opset 28"),
        (node_model("Cast", {"x": IMAGE}, 19, to=FNUZ), 24, "infinity as FLOAT8E4M3FNUZ was NaN"),
        (node_model("QuantizeLinear", {"x": IMAGE, **SCALES}, 10, types=(np.uint8,)), 13, "its scale is no scalar"),
        (
            node_model("QuantizeLinear", {"x": FLAT, "s": np.array(0.1, np.float32)}, 13, types=(np.uint8,)), 19,
            "it takes opset 23",
        ),
        (node_model("MaxPool", {"x": IMAGE}, 12, **POOL), 22, "may start in the padding at the end"),
        (node_model("MaxPool", {"x": IMAGE}, 12, dynamic=True, **POOL), 22, "may start in the padding at the end"),
        (node_model("ConvTranspose", {"x": IMAGE, "w": IMAGE}, 7, auto_pad="SAME_LOWER"), 11, "written differently"),
        (node_model("ConvTranspose", {"x": IMAGE, "w": IMAGE}, 7, output_shape=[9, 9]), 11, "was written differently"),
        (node_model("GlobalLpPool", {"x": IMAGE}, 1, p=2.5), 2, "p = 2.5 is not whole"),
        (node_model("LpPool", {"x": IMAGE}, 1), 2, "'kernel_shape' is missing"),
        (node_model("Cast", {"x": IMAGE}, 1, to="QUARTER"), 6, "'QUARTER' is no type"),
        (node_model("Split", {"x": IMAGE, "s": WHOLE}, 1, axis=0), 2, "lengths of its results are an input"),
        (node_model("Split", {"x": IMAGE}, 1), 2, "attribute 'axis' is missing"),
        (node_model("Scan", {"x": IMAGE}, 8), 9, "batches and sequence lengths have gone"),
    ],
)  # fmt: skip
def test_refusals(source: ModelProto, target: int, reason: str) -> None:
    assert reason in refusal(source, target)


def test_types_that_stay_are_let_through() -> None:
    data = random_array(2, 3)
    assert_exact(node_model("Erf", {"x": data}, 9), {"x": data}, (13,))
    assert_exact(node_model("Mod", {"x": data, "z": data + 4}, 10, fmod=1), {"x": data, "z": data + 4}, (13,))
    assert operators(upgraded(node_model("Cast", {"x": data}, 19, to=TensorProto.FLOAT8E4M3FN), 24, check=False))
    assert operators(upgraded(node_model("Cast", {"x": data}, 19, to=FNUZ, saturate=0), 24, check=False))
