"""Rows of casts, selection, and operators that hand their input on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import openvino
import openvino.opset15 as ov
import openvino.opset16 as ov16
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.passes.conversion import elementwise, harness, judged

_MODE = "whether it is in training mode is computed at run time"
TRAINING = [f"training_dropout{ratio}{mask}" for ratio in ("", "_default", "_zero_ratio") for mask in ("", "_mask")]
REFUSED = elementwise.every(("openvino", "round"), TRAINING, _MODE)
LIMITED = elementwise.every(("onnx",), TRAINING, "OpenVINO does not read Dropout whose mode is computed at run time")
NATIVE = (np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, np.float16,
          np.float32, np.float64)  # fmt: skip
F8, F8_WIDE = TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2
LARGEST = {F8: 448.0, F8_WIDE: 57344.0}
NUMPY = {F8: ml_dtypes.float8_e4m3fn, F8_WIDE: ml_dtypes.float8_e5m2}
SPECIAL = np.array([0, 0.1, -3.3, 448, 463, 465, 1e6, -1e6, np.inf, -np.inf, np.nan, 57344], np.float32)


@pytest.mark.parametrize(("way", "case"), judged.parameters("Where", "Identity", "Dropout"))
def test_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    elementwise.judge(way, case, tmp_path, refused=REFUSED, limited=LIMITED)


def _values(dtype: Any) -> Any:
    """Values that every type holds which has a sign as `dtype` does, and fractions where it has them."""
    kind = np.dtype(dtype).kind
    values = [0, 1, 2.75, 100.5] if kind == "f" else [0, 1, 2, 100]
    return np.array([*values, *([-1, -2.75] if kind == "f" else [-1, -2] if kind == "i" else [])]).astype(dtype)


@pytest.mark.parametrize("source", NATIVE)
@pytest.mark.parametrize("to", NATIVE)
def test_casts_within_range(source: Any, to: Any, tmp_path: Path) -> None:
    x = _values(source)
    if np.dtype(to).kind == "u":
        x = x[:4]
    expected = [x.astype(to)]
    model, inputs = judged.one_node("Cast", {"x": x}, opset=13, to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=expected, rtol=0, atol=0)
    case = harness.Case("cast", model, inputs, expected)
    harness.assert_close(harness.round_trip(case, tmp_path, opset=13), expected, rtol=0, atol=0)


@pytest.mark.parametrize("to", [np.int8, np.uint8, np.int16, np.uint16])
def test_integers_wrap_around(to: Any, tmp_path: Path) -> None:
    x = np.array([200, -200, 300, 70000, -70000, 1 << 30], np.int32)
    model, inputs = judged.one_node("Cast", {"x": x}, opset=13, to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[x.astype(to)], rtol=0, atol=0)


def test_types_by_name(tmp_path: Path) -> None:
    x = np.array([1.5, 0], np.float32)
    for name, dtype in (("INT64", np.int64), ("BOOL", np.bool_), ("DOUBLE", np.float64)):
        model = _model([helper.make_node("Cast", ["x"], ["y"], to=name)], {"x": x}, opset=5)
        judged.assert_same_in_openvino(model, [x], tmp_path, expected=[x.astype(dtype)], rtol=0, atol=0)
    model = _model([helper.make_node("Cast", ["x"], ["y"], to="HALF")], {"x": x}, opset=5)
    judged.assert_refused_in_openvino(model, tmp_path, "'HALF' is no type")


def _model(
    nodes: list[onnx.NodeProto], inputs: dict[str, Any], *, opset: int, constants: dict[str, Any] | None = None
) -> onnx.ModelProto:
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in inputs.items()
    ]
    initializers = [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()]
    graph = helper.make_graph(nodes, "graph", infos, [onnx.ValueInfoProto(name="y")], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    return onnx.shape_inference.infer_shapes(model)


def _there_and_back(through: int, dtype: Any, **attributes: Any) -> onnx.ModelProto:
    """A cast to a type that no runtime hands out, and one back."""
    nodes = [
        helper.make_node("Cast", ["x"], ["narrow"], to=through, **attributes),
        helper.make_node("Cast", ["narrow"], ["y"], to=TensorProto.FLOAT),
    ]
    return _model(nodes, {"x": np.zeros(SPECIAL.shape, dtype)}, opset=19)


@pytest.mark.parametrize("through", [F8, F8_WIDE])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_saturating_casts(through: int, dtype: Any, tmp_path: Path) -> None:
    with np.errstate(over="ignore"):
        # OpenVINO's CPU has no infinities of float64.
        x = np.where(np.isinf(SPECIAL) & (dtype == np.float64), 1, SPECIAL).astype(dtype)
    expected = (
        np.clip(x.astype(np.float32), -LARGEST[through], LARGEST[through]).astype(NUMPY[through]).astype(np.float32)
    )
    model = _there_and_back(through, dtype)
    judged.assert_same_in_openvino(model, [x], tmp_path, expected=[expected], rtol=0, atol=0)
    case = harness.Case("cast", model, [x], [expected])
    harness.assert_close(harness.round_trip(case, tmp_path, opset=19), [expected], rtol=0, atol=0)
    with pytest.raises(judged.ModelError, match="--opset 19 has it"):
        harness.round_trip(case, tmp_path, opset=18)


@pytest.mark.parametrize("through", [F8, F8_WIDE])
def test_casts_that_do_not_saturate(through: int, tmp_path: Path) -> None:
    expected = SPECIAL.astype(NUMPY[through]).astype(np.float32)
    model = _there_and_back(through, np.float32, saturate=0)
    judged.assert_same_in_openvino(model, [SPECIAL], tmp_path, expected=[expected], rtol=0, atol=0)
    assert [name for name, _ in elementwise.layers(tmp_path / "made.xml")] == ["Convert", "Convert"]
    case = harness.Case("cast", model, [SPECIAL], [expected])
    harness.assert_close(harness.round_trip(case, tmp_path, opset=19), [expected], rtol=0, atol=0)


def test_integers_saturate_too(tmp_path: Path) -> None:
    x = np.array([3, 1000, -1000], np.int32)
    nodes = [
        helper.make_node("Cast", ["x"], ["narrow"], to=F8),
        helper.make_node("Cast", ["narrow"], ["y"], to=TensorProto.FLOAT),
    ]
    model = _model(nodes, {"x": x}, opset=19)
    judged.assert_same_in_openvino(
        model, [x], tmp_path, expected=[np.array([3, 448, -448], np.float32)], rtol=0, atol=0
    )


@pytest.mark.parametrize(
    "dtype",
    [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.int4, ml_dtypes.uint4, np.float16],
)
def test_casts_from_constants_of_other_types(dtype: Any, tmp_path: Path) -> None:
    x, narrow = np.array([10, 20, 30], np.float32), np.array([1, 2, 3]).astype(dtype)
    nodes = [
        helper.make_node("Cast", ["narrow"], ["wide"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["x", "wide"], ["y"]),
    ]
    model = _model(nodes, {"x": x}, opset=21, constants={"narrow": narrow})
    expected = [np.array([11, 22, 33], np.float32)]
    judged.assert_same_in_openvino(model, [x], tmp_path, expected=expected, rtol=0, atol=0)
    case = harness.Case("cast", model, [x], expected)
    harness.assert_close(harness.round_trip(case, tmp_path, opset=21), expected, rtol=0, atol=0)


PACKED = {TensorProto.INT4: (-8, 16), TensorProto.UINT4: (0, 16), TensorProto.UINT2: (0, 4)}


@pytest.mark.parametrize("like", [False, True])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.float16, np.float32])
@pytest.mark.parametrize("to", PACKED)
def test_casts_to_packed_integers_wrap(to: int, dtype: Any, like: bool, tmp_path: Path) -> None:
    """What a processor does with two casts in a row changes nothing either."""
    x = np.array([0, 1, 3, 7, 8, 9, 15, 16, 17, 100, -1, -8, -9, -100][: 10 if dtype is np.uint8 else None], dtype)
    if like:
        narrow = helper.make_node("CastLike", ["x", "like"], ["narrow"])
        shown = [helper.make_node("Cast", ["one"], ["like"], to=to)]
    else:
        narrow, shown = helper.make_node("Cast", ["x"], ["narrow"], to=to), []
    back = helper.make_node("Cast", ["narrow"], ["y"], to=TensorProto.FLOAT)
    model = _model([*shown, narrow, back], {"x": x}, opset=25, constants={"one": np.array([1], np.int32)})
    lowest, count = PACKED[to]
    expected = ((x.astype(np.int64) - lowest) % count + lowest).astype(np.float32)
    judged.assert_same_in_openvino(model, [x], tmp_path, expected=[expected], rtol=0, atol=0)


@pytest.mark.parametrize(
    ("to", "reason"),
    [
        (TensorProto.INT2, "OpenVINO has no int2"),
        (TensorProto.FLOAT8E4M3FNUZ, "OpenVINO has no float8e4m3fnuz"),
        (TensorProto.FLOAT8E8M0, "a cast to float8e8m0 rounds in a way that OpenVINO does not have"),
        (TensorProto.STRING, "OpenVINO has no cast from float to string"),
        (99, "its attribute 'to' has the value 99, which is no type"),
    ],
)
def test_casts_that_are_refused(to: int, reason: str, tmp_path: Path) -> None:
    x = np.array([1.5], np.float32)
    model, _ = judged.one_node("Cast", {"x": x}, opset=25, to=to) if to != 99 else _unknown(x)
    judged.assert_refused_in_openvino(model, tmp_path, reason)


def _unknown(x: Any) -> tuple[onnx.ModelProto, Any]:
    model, values = judged.one_node("Cast", {"x": x}, opset=25, to=TensorProto.FLOAT)
    model.graph.node[0].attribute[0].i = 99
    return model, values


@pytest.mark.parametrize("opset", [13, 21])
def test_a_decompressed_weight(opset: int, tmp_path: Path) -> None:
    x, values = ov.parameter([4], np.float32), judged.floats(4)
    sums = openvino.Model([ov.add(x, ov.constant(judged.floats(4, seed=1)))], [x])
    openvino.save_model(sums, tmp_path / "compressed.xml", compress_to_fp16=True)
    expected = harness.run_openvino(tmp_path / "compressed.xml", [values])
    path = elementwise.converted(tmp_path / "compressed.xml", opset)
    harness.assert_close(harness.run_onnx(path, [values]), expected, rtol=0, atol=0)
    back = onnx.load(path).graph
    assert [node.op_type for node in back.node] == ["Cast", "Add"]
    assert [weight.data_type for weight in back.initializer] == [TensorProto.FLOAT16]


def test_converts_that_are_refused(tmp_path: Path) -> None:
    x = ov.parameter([4], np.float32)
    judged.assert_refused_in_onnx([ov.convert(x, openvino.Type.u1)], [x], tmp_path, "ONNX has no u1")
    judged.assert_refused_in_onnx([ov.convert(x, openvino.Type.i4)], [x], tmp_path, "has no int4")
    with pytest.raises(judged.ModelError, match="its attribute 'destination_type' is missing"):
        elementwise.run_in_onnx(
            [ov.convert(x, "i32")], [x], [], tmp_path, edits={'<data destination_type="i32" />': ""}
        )


@pytest.mark.parametrize("dtype", [np.float16, np.int32, np.bool_])
@pytest.mark.parametrize("opset", [13, 17, 21])
def test_types_of_another_tensor(dtype: Any, opset: int, tmp_path: Path) -> None:
    x, like = np.array([0, 1.75, 100], np.float32), np.zeros((2, 2), dtype)
    model, inputs = judged.one_node("CastLike", {"x": x, "like": like}, opset=19)
    expected = [x.astype(dtype)]
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=expected, rtol=0, atol=0)
    assert [name for name, _ in elementwise.layers(tmp_path / "made.xml")] == ["ConvertLike"]
    case = harness.Case("cast_like", model, inputs, expected)
    harness.assert_close(harness.round_trip(case, tmp_path, opset=opset), expected, rtol=0, atol=0)
    back = onnx.load(tmp_path / "round.onnx").graph.node
    assert [node.op_type for node in back] == ["Cast" if opset == 13 else "CastLike"]


@pytest.mark.parametrize("saturate", [0, 1])
def test_saturating_casts_to_the_type_of_another_tensor(saturate: int, tmp_path: Path) -> None:
    like = np.zeros(1, ml_dtypes.float8_e4m3fn)
    nodes = [
        helper.make_node("CastLike", ["x", "like"], ["narrow"], saturate=saturate),
        helper.make_node("Cast", ["narrow"], ["y"], to=TensorProto.FLOAT),
    ]
    model = _model(nodes, {"x": SPECIAL}, opset=19, constants={"like": like})
    held = np.clip(SPECIAL, -448, 448) if saturate else SPECIAL
    expected = [held.astype(ml_dtypes.float8_e4m3fn).astype(np.float32)]
    judged.assert_same_in_openvino(model, [SPECIAL], tmp_path, expected=expected, rtol=0, atol=0)
    case = harness.Case("cast_like", model, [SPECIAL], expected)
    harness.assert_close(harness.round_trip(case, tmp_path, opset=19), expected, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_, np.uint8])
def test_selection_with_broadcasting(dtype: Any, tmp_path: Path) -> None:
    condition, a, b = np.array([[True], [False]]), np.array([1, 0, 1], dtype), np.array([[[0]], [[1]]], dtype)
    model, inputs = judged.one_node("Where", {"c": condition, "a": a, "b": b}, opset=9)
    expected = [np.where(condition, a, b)]
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=expected, rtol=0, atol=0)
    if dtype != np.bool_:
        case = harness.Case("where", model, inputs, expected)
        harness.assert_close(harness.round_trip(case, tmp_path, opset=13), expected, rtol=0, atol=0)


def test_selection_by_pdpd(tmp_path: Path) -> None:
    condition, a = ov.parameter([2], np.bool_), ov.parameter([2], np.float32)
    edits = {'auto_broadcast="numpy"': 'auto_broadcast="pdpd"'}
    with pytest.raises(judged.ModelError, match="its auto_broadcast 'pdpd' is not covered"):
        elementwise.run_in_onnx([ov.select(condition, a, a)], [condition, a], [], tmp_path, edits=edits)


def test_identities_of_inputs_constants_and_results(tmp_path: Path) -> None:
    x, c = judged.floats(3), judged.floats(3, seed=1)
    nodes = [
        helper.make_node("Identity", ["x"], ["a_copy"]),
        helper.make_node("Identity", ["c"], ["c_copy"]),
        helper.make_node("Add", ["a_copy", "c_copy"], ["sum"]),
        helper.make_node("Identity", ["sum"], ["y"]),
    ]
    model = _model(nodes, {"x": x}, opset=13, constants={"c": c})
    for name in ("a_copy", "c_copy", "sum"):
        model.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]))
    expected = [x + c, x, c, x + c]
    judged.assert_same_in_openvino(model, [x], tmp_path, expected=expected, rtol=0, atol=0)
    case = harness.Case("identity", model, [x], expected)
    harness.assert_close(harness.round_trip(case, tmp_path), expected, rtol=0, atol=0)


def test_an_identity_of_openvino(tmp_path: Path) -> None:
    x, values = ov.parameter([3], np.int64), np.array([1, 2, 3])
    operators, (result,) = elementwise.run_in_onnx([ov16.identity(x)], [x], [values], tmp_path)
    np.testing.assert_array_equal(result, values)
    assert operators == ["Identity"]


@pytest.mark.parametrize(
    ("opset", "attributes"),
    [
        (1, {"is_test": 1, "consumed_inputs": [0]}), (6, {"is_test": 1, "ratio": 0.9}), (6, {"ratio": 0.0}),
        (7, {"ratio": 0.5}), (10, {}), (12, {"seed": 3}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("outputs", [1, 2])
def test_dropout_in_inference(opset: int, attributes: dict[str, Any], outputs: int, tmp_path: Path) -> None:
    """A mask that only has a name is no mask that is used. Input and output stay two tensors."""
    x = judged.floats(2, 3)
    model, inputs = judged.one_node("Dropout", {"x": x}, opset=opset, outputs=outputs, **attributes)
    del model.graph.output[1:]
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[x], rtol=0, atol=0)
    assert elementwise.layers(tmp_path / "made.xml") == [("Convert", {"destination_type": "f32"})]


@pytest.mark.parametrize(
    ("ratio", "training", "is_refused"), [(0.5, True, True), (0.5, False, False), (0.0, True, False)]
)
def test_dropout_by_inputs(ratio: float, training: bool, is_refused: bool, tmp_path: Path) -> None:
    inputs = {"x": judged.floats(3), "ratio": np.float32(ratio), "training": np.bool_(training)}
    model, values = judged.one_node("Dropout", inputs, opset=12, constants=["ratio", "training"])
    if is_refused:
        judged.assert_refused_in_openvino(model, tmp_path, "it is in training mode")
    else:
        judged.assert_same_in_openvino(model, values, tmp_path, expected=[inputs["x"]], rtol=0, atol=0)


def test_dropout_in_training(tmp_path: Path) -> None:
    model, _ = judged.one_node("Dropout", {"x": judged.floats(3)}, opset=6)
    judged.assert_refused_in_openvino(model, tmp_path, "it is in training mode")


@pytest.mark.parametrize("opset", [12, 22])
def test_masks_keep_all(opset: int, tmp_path: Path) -> None:
    x = judged.floats(2, 3)
    model, inputs = judged.one_node("Dropout", {"x": x}, opset=opset, outputs=2, dynamic=["x"])
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[x, np.ones((2, 3), np.bool_)], rtol=0, atol=0)
