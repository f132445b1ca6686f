"""The row of Pad."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino
import openvino.opset1 as ov1
import openvino.opset12 as ov12
import pytest

from tests.passes.conversion import bound, harness, judged

_WRAP = "its mode 'wrap' does not exist in OpenVINO"
_REFUSED = bound.both({("openvino", "wrap_pad"): _WRAP, ("round", "wrap_pad"): _WRAP})
_LIMITED = bound.both({("onnx", "wrap_pad"): "OpenVINO reads no wrapping Pad"})


@pytest.mark.parametrize(("way", "case"), bound.parameters("Pad"))
def test_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    bound.judge(way, case, tmp_path, refused=_REFUSED, limited=_LIMITED)


@pytest.mark.parametrize(("opset", "name"), [(1, "paddings"), (2, "pads"), (10, "pads")])
@pytest.mark.parametrize("attributes", [{"value": 1.5}, {"mode": "edge"}, {"mode": "reflect"}, {"mode": "constant"}])
def test_attribute_forms(opset: int, name: str, attributes: dict[str, Any], tmp_path: Path) -> None:
    values = judged.floats(3, 4)
    pads: dict[str, Any] = {name: [0, 1, 2, 1]}
    model, inputs = judged.one_node("Pad", {"x": values}, opset=opset, **pads, **attributes)
    mode = attributes.get("mode", "constant")
    extra = {"constant_values": attributes.get("value", 0)} if mode == "constant" else {}
    expected = np.pad(values, [(0, 2), (1, 1)], mode, **extra)
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[expected], rtol=0, atol=0)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
@pytest.mark.parametrize("pads", [[-1, 2], [2, -1], [-1, -2]])
@pytest.mark.parametrize("is_constant", [True, False])
def test_negative_pads(mode: str, pads: list[int], is_constant: bool, tmp_path: Path) -> None:
    operands = {"x": judged.floats(5), "pads": np.array(pads)}
    model, inputs = judged.one_node("Pad", operands, opset=13, constants=["pads"] if is_constant else [], mode=mode)
    judged.assert_same_in_openvino(model, inputs, tmp_path, rtol=0, atol=0)


@pytest.mark.parametrize("constants", [["pads", "axes"], ["axes"], ["pads"], []])
def test_pads_of_some_axes(constants: list[str], tmp_path: Path) -> None:
    operands = {
        "x": judged.floats(2, 3, 4), "pads": np.array([1, 0, 2, 1]), "value": np.array(7, np.float32),
        "axes": np.array([-1, 0]),
    }  # fmt: skip
    model, inputs = judged.one_node("Pad", operands, opset=18, constants=constants)
    judged.assert_same_in_openvino(model, inputs, tmp_path, rtol=0, atol=0)


def test_axes_named_twice_are_refused(tmp_path: Path) -> None:
    operands = {"x": judged.floats(2, 3), "pads": np.array([1, 0, 2, 1]), "": "", "axes": np.array([-1, 1])}
    model, _ = judged.one_node("Pad", operands, opset=18, constants=["pads", "axes"])
    judged.assert_refused_in_openvino(model, tmp_path, "its axes do not match its pads")


@pytest.mark.parametrize("made", [ov1, ov12])
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
@pytest.mark.parametrize("is_constant", [True, False])
def test_pad_to_onnx(made: Any, mode: str, is_constant: bool, tmp_path: Path) -> None:
    x = ov1.parameter([3, 4], np.float32)
    arrays = [np.array([1, 0], np.int32), np.array([2, 1], np.int32)]
    operands = arrays if is_constant else [ov1.parameter([2], np.int32) for _ in arrays]
    extra = [np.float32(2.5)] if mode == "constant" else []
    node = made.pad(x, *operands, mode, *extra)
    parameters = [x] if is_constant else [x, *operands]
    inputs = [judged.floats(3, 4)] if is_constant else [judged.floats(3, 4), *arrays]
    judged.assert_same_in_onnx([node], parameters, inputs, tmp_path, opset=13, rtol=0, atol=0)


def test_pad_without_a_value_to_onnx(tmp_path: Path) -> None:
    x = ov12.parameter([3], np.float32)
    node = ov12.pad(x, np.array([-1]), np.array([2]), "constant")
    judged.assert_same_in_onnx([node], [x], [judged.floats(3)], tmp_path, rtol=0, atol=0)


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize(("before", "behind"), [([0, 1], [0, 2]), ([2, 0], [1, 4]), ([0, 0], [0, 0]), ([2, 4], [2, 4])])
def test_symmetric_padding(before: list[int], behind: list[int], is_open: bool, tmp_path: Path) -> None:
    x = openvino.op.Parameter(openvino.Type.f32, openvino.PartialShape([-1, -1] if is_open else [2, 4]))
    node = ov12.pad(x, np.array(before), np.array(behind), "symmetric")
    judged.assert_same_in_onnx([node], [x], [judged.floats(2, 4)], tmp_path, rtol=0, atol=0)


@pytest.mark.parametrize(("pads", "is_refused"), [([0, 0, 0, 0], False), ([1, 0, 1, 0], True)])
def test_reflection_of_nothing(pads: list[int], is_refused: bool, tmp_path: Path) -> None:
    x = np.zeros((3, 0), np.float32)
    model, inputs = judged.one_node(
        "Pad", {"x": x, "pads": np.array(pads)}, opset=13, constants=["pads"], mode="reflect"
    )
    if is_refused:
        judged.assert_refused_in_openvino(model, tmp_path, "mode 'reflect' of a dimension without elements")
    else:
        harness.assert_close(harness.round_trip(harness.Case("pad", model, inputs, [x]), tmp_path), [x], rtol=0, atol=0)
