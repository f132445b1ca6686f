"""Rows of arithmetic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino
import openvino.opset15 as ov
import pytest

from tests.passes.conversion import elementwise, harness, judged

EXACT = ("Add", "Sub", "Mul", "Max", "Min", "Sum")
ROUNDED = ("Div", "Mod", "Pow", "Mean")
_NOT_READ = "OpenVINO does not read Mod with fmod 0 of floating-point numbers"
_INFINITE = "OpenVINO's FloorMod is a - floor(a / b) * b, which is NaN for infinities"
_EDGES = [f"mod_float_edge_cases_fmod_0_float{bits}" for bits in (16, 32, 64)]
LIMITED = {
    **elementwise.every(("onnx",), [f"mod_float{bits}_mixed_sign_fmod_0" for bits in (16, 32, 64)], _NOT_READ),
    **elementwise.every(("onnx",), _EDGES, _NOT_READ),
    **elementwise.every(("openvino", "round"), _EDGES, _INFINITE),
}
NUMPY = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Pow": np.power}


@pytest.mark.parametrize(("way", "case"), judged.parameters(*EXACT, share=2))
def test_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    elementwise.judge(way, case, tmp_path)


@pytest.mark.parametrize(("way", "case"), judged.parameters(*ROUNDED, share=2))
def test_node_cases_of_rounded_ones(way: str, case: harness.Case, tmp_path: Path) -> None:
    elementwise.judge(way, case, tmp_path, limited=LIMITED, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("op", NUMPY)
@pytest.mark.parametrize(
    ("shape", "attributes"),
    [
        ((3,), {"broadcast": 1, "axis": 1}),
        ((3,), {"broadcast": 1, "axis": -2}),
        ((2, 3), {"broadcast": 1, "axis": 0}),
        ((3, 3), {"broadcast": 1}),
        ((1, 3), {"broadcast": 1, "axis": 1}),
        ((2, 3, 3), {}),
    ],
)
def test_broadcasting_by_axis(op: str, shape: tuple[int, ...], attributes: dict[str, int], tmp_path: Path) -> None:
    a, b = np.abs(judged.floats(2, 3, 3)) + 1, np.abs(judged.floats(*shape, seed=1)) + 1
    axis = attributes.get("axis", 3 - len(shape)) % 3
    aligned = b.reshape(*shape, *[1] * (3 - axis - len(shape)))
    model, inputs = judged.one_node(op, {"a": a, "b": b}, opset=6, **attributes)
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[NUMPY[op](a, aligned)], rtol=1e-6)


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Mean"])
def test_the_hint_of_the_first_operator_set(op: str, tmp_path: Path) -> None:
    a, b = judged.floats(2, 3), judged.floats(2, 3, seed=1)
    function = {"Max": np.maximum, "Min": np.minimum, "Sum": np.add, "Mean": lambda a, b: (a + b) / 2, **NUMPY}[op]
    model, inputs = judged.one_node(op, {"a": a, "b": b}, opset=1, consumed_inputs=[0, 1])
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[function(a, b)], rtol=1e-6)


@pytest.mark.parametrize("op", ["Max", "Min", "Sum", "Mean"])
@pytest.mark.parametrize("count", [1, 3])
def test_any_number_of_operands(op: str, count: int, tmp_path: Path) -> None:
    shapes = [(2, 3), (3,), (4, 1, 1)][:count]
    inputs = {f"x{index}": judged.floats(*shape, seed=index) for index, shape in enumerate(shapes)}
    model, values = judged.one_node(op, inputs, opset=13, dynamic=list(inputs))
    judged.assert_same_in_openvino(model, values, tmp_path, rtol=1e-6)
    operations = elementwise.layers(tmp_path / "made.xml")
    if count == 1:
        # An output that is an input under another name keeps its own by a conversion to the same type.
        assert [name for name, _ in operations] == ["Convert"]
        return
    assert len(operations) == (3 if op == "Mean" else 2)


def test_integers_divide_towards_zero(tmp_path: Path) -> None:
    a, b = np.array([-7, 7, -7, 7, 6], np.int32), np.array([2, -2, -2, 2, -3], np.int32)
    model, inputs = judged.one_node("Div", {"a": a, "b": b}, opset=13)
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[np.array([-3, -3, 3, 3, -2])], rtol=0, atol=0)
    assert elementwise.layers(tmp_path / "made.xml") == [
        ("Divide", {"auto_broadcast": "numpy", "m_pythondiv": "false"})
    ]
    back = harness.Case("div", model, inputs, [np.array([-3, -3, 3, 3, -2])])
    harness.assert_close(harness.round_trip(back, tmp_path), back.outputs, rtol=0, atol=0)


def test_floating_point_division_is_written_as_openvino_does(tmp_path: Path) -> None:
    model, inputs = judged.one_node("Div", {"a": judged.floats(3), "b": judged.floats(3, seed=1)}, opset=13)
    judged.assert_same_in_openvino(model, inputs, tmp_path, rtol=1e-6, atol=0)
    assert elementwise.layers(tmp_path / "made.xml") == [("Divide", {"auto_broadcast": "numpy", "m_pythondiv": "true"})]


@pytest.mark.parametrize("flag", ["true", "false"])
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_pythondiv_divides_towards_zero_as_the_cpu_does(dtype: Any, flag: str, tmp_path: Path) -> None:
    values = np.array([-7, 7, -7, 7, 6, -6, 0, 127, -128], dtype), np.array([2, -2, -2, 2, -3, 3, -5, -3, 5], dtype)
    a, b = (ov.parameter([9], dtype) for _ in range(2))
    edits = {'m_pythondiv="true"': f'm_pythondiv="{flag}"'}
    operators, (result,) = elementwise.run_in_onnx([ov.divide(a, b)], [a, b], values, tmp_path, edits=edits)
    np.testing.assert_array_equal(result, np.trunc(values[0] / values[1]).astype(dtype))
    np.testing.assert_array_equal(result, harness.run_openvino(tmp_path / "edited.xml", list(values))[0])
    assert operators == ["Div"]


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_pythondiv_says_nothing_of_others(dtype: Any, tmp_path: Path) -> None:
    values = np.array([7, 8, 9], dtype), np.array([2, 3, 4], dtype)
    a, b = (ov.parameter([3], dtype) for _ in range(2))
    operators, (result,) = elementwise.run_in_onnx([ov.divide(a, b)], [a, b], values, tmp_path)
    np.testing.assert_array_equal(result, (values[0] / values[1]).astype(dtype))
    assert operators == ["Div"]


@pytest.mark.parametrize("operation", [ov.mod, ov.floor_mod])
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint8, np.float32, np.float16])
def test_remainders(operation: Any, dtype: Any, tmp_path: Path) -> None:
    values = np.array([7, 9, 5, 8], dtype), np.array([2, 4, 7, 3], dtype)
    if np.dtype(dtype).kind != "u":
        values = np.array([-7, 9, -5, 8], dtype), np.array([2, -4, -7, 3], dtype)
    a, b = (ov.parameter([4], dtype) for _ in range(2))
    expected = (np.fmod if operation is ov.mod else np.mod)(*values)
    judged.assert_same_in_onnx(
        [operation(a, b)], [a, b], values, tmp_path, opset=13 if dtype != np.int8 else 17, expected=[expected]
    )
    harness.assert_close(harness.run_openvino(tmp_path / "made.xml", list(values)), [expected], rtol=1e-3, atol=0)


def test_floor_mod_of_floating_point_numbers_before_it_was_defined(tmp_path: Path) -> None:
    model, _ = judged.one_node("Mod", {"a": judged.floats(3), "b": judged.floats(3, seed=1)}, opset=13)
    judged.assert_refused_in_openvino(model, tmp_path, "fmod 0 was not defined for floating-point numbers")


@pytest.mark.parametrize("base", [np.int32, np.int64, np.float16, np.float32, np.float64])
@pytest.mark.parametrize(
    "exponent", [np.int8, np.int32, np.int64, np.uint8, np.uint32, np.float16, np.float32, np.float64]
)
def test_powers_of_two_types(base: Any, exponent: Any, tmp_path: Path) -> None:
    a, b = np.array([4, 9, 2, 1, 3], base), np.array([2, 1, 0, 3, 3], exponent)
    if np.dtype(exponent).kind == "f":
        # Two whole results of fractional exponents.
        b[:2] = 0.5
    expected = np.power(a.astype(np.float64), b.astype(np.float64)).astype(base)
    model, inputs = judged.one_node("Pow", {"a": a, "b": b}, opset=13)
    judged.assert_same_in_openvino(
        model, inputs, tmp_path, expected=[expected], rtol=1e-3 if base == np.float16 else 1e-5
    )
    if base in (np.float32, np.int64, np.int32):
        case = harness.Case("pow", model, inputs, [expected])
        harness.assert_close(harness.round_trip(case, tmp_path), [expected], rtol=1e-5, atol=0)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.uint32])
def test_powers_of_types_that_onnx_has_none_of(dtype: Any, tmp_path: Path) -> None:
    values = np.array([2, 3, 5, 7], dtype), np.array([3, 2, 0, 2], dtype)
    a, b = (ov.parameter([4], dtype) for _ in range(2))
    operators, (result,) = elementwise.run_in_onnx([ov.power(a, b)], [a, b], values, tmp_path, opset=13)
    np.testing.assert_array_equal(result, np.power(*values))
    assert operators == ["Cast", "Cast", "Pow", "Cast"]


def test_powers_of_uint64(tmp_path: Path) -> None:
    a, b = (ov.parameter([4], np.uint64) for _ in range(2))
    values = np.array([2, 2, 3, 2**21 - 1], np.uint64), np.array([63, 0, 20, 2], np.uint64)
    _, (result,) = elementwise.run_in_onnx([ov.power(a, b)], [a, b], values, tmp_path)
    np.testing.assert_array_equal(result, values[0] ** values[1])


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8])
def test_squared_difference(dtype: Any, tmp_path: Path) -> None:
    values = np.array([[1, 2, 3], [9, 5, 4]], dtype), np.array([3, 2, 9], dtype)
    a, b = ov.parameter([2, 3], dtype), ov.parameter([3], dtype)
    operators, (result,) = elementwise.run_in_onnx([ov.squared_difference(a, b)], [a, b], values, tmp_path)
    np.testing.assert_array_equal(result, (values[0] - values[1]) ** 2)
    assert operators == ["Sub", "Mul"]


def test_names_that_repeat(tmp_path: Path) -> None:
    x = total = ov.parameter([1], np.float32)
    names = ("first", "second", "third")
    for power, name in enumerate(names):
        constant = ov.constant(np.array([10.0**power], np.float32))
        constant.set_friendly_name(name)
        total = ov.add(total, constant)
    edits = {f'name="{name}"': f'name="{new}"' for name, new in zip(names, ("c", "c", "c_1"), strict=True)}
    _, (result,) = elementwise.run_in_onnx([total], [x], [np.zeros(1, np.float32)], tmp_path, edits=edits)
    np.testing.assert_array_equal(result, [111])


BINARY = {
    ov.add: np.add, ov.subtract: np.subtract, ov.multiply: np.multiply, ov.divide: np.divide, ov.maximum: np.maximum,
    ov.minimum: np.minimum, ov.mod: np.fmod, ov.floor_mod: np.mod, ov.power: np.power,
}  # fmt: skip


@pytest.mark.parametrize("operation", BINARY, ids=lambda operation: operation.__name__)
@pytest.mark.parametrize(("shape", "axis"), [((3,), 1), ((2, 3), 0), ((4,), -1), ((), 0), ((3, 1), 1)])
def test_broadcasting_by_pdpd(operation: Any, shape: tuple[int, ...], axis: int, tmp_path: Path) -> None:
    values = np.abs(judged.floats(2, 3, 4)) + 1, np.asarray(np.abs(judged.floats(*shape, seed=1)) + 1)
    start = axis if axis >= 0 else 3 - len(shape)
    expected = BINARY[operation](values[0], values[1].reshape(*shape, *[1] * (3 - start - len(shape))))
    a, b = ov.parameter([2, 3, 4], np.float32), ov.parameter(openvino.PartialShape.dynamic(), np.float32)
    edits = {
        'auto_broadcast="numpy"': f'auto_broadcast="pdpd" auto_broadcast.auto_broadcast_axis="{axis}"',
        'shape="..."': f'shape="{",".join(map(str, shape))}"',
    }
    _, actual = elementwise.run_in_onnx([operation(a, b)], [a, b], values, tmp_path, opset=13, edits=edits)
    harness.assert_close(actual, [expected], rtol=1e-5, atol=1e-6)
    if operation in (ov.add, ov.multiply, ov.maximum, ov.minimum):
        # OpenVINO's CPU does not run the others.
        again = harness.run_openvino(tmp_path / "edited.xml", list(values))
        harness.assert_close(again, [expected], rtol=1e-5, atol=1e-6)
