"""QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear: node tests, plain loops, versions, declines."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxfold.passes.kernels import KERNELS, Call, KernelError, check
from maxfold.passes.kernels.call import operand_of
from maxfold.passes.kernels.quantization import QUANTIZATION
from tests.passes.kernels.node_cases import assert_case, cases
from tests.passes.kernels.reference import Array, Shape, bits_of
from tests.passes.kernels.strategies import BY_NAME

KERNEL = {kernel.operator: kernel for kernel in QUANTIZATION}
NAN, INF = math.nan, math.inf
INTEGERS = ("INT8", "UINT8", "INT16", "UINT16", "INT4", "UINT4", "INT2", "UINT2")


def run(operator: str, *operands: Array | None, opset: int = 25, **attributes: Any) -> tuple[Array, ...]:
    """The results of a call that the schema allows, checked against the types announced."""
    kernel = KERNEL[operator]
    call = Call(tuple(None if item is None else operand_of(item) for item in operands), attributes, opset)
    dtypes = [None if item is None else item.dtype for item in call.inputs]
    assert check(kernel, dtypes, opset, attributes) is None
    values = kernel.evaluate(call)
    assert [(value.dtype, value.shape) for value in values] == [
        (result.dtype.numpy, result.shape) for result in kernel.results(call)
    ]
    return values


def array(values: Any, name: str = "FLOAT") -> Array:
    with np.errstate(all="ignore"):
        return np.array(values).astype(BY_NAME[name].numpy)


def test_in_the_table() -> None:
    assert set(QUANTIZATION) <= set(KERNELS)


@pytest.mark.parametrize("operator", KERNEL)
def test_node_tests(operator: str) -> None:
    for case in cases(operator):
        if case.name != "test_quantizelinear_float4e2m1":  # a zero point of a float type meets -0.0
            assert_case(case)


LAYOUTS: list[tuple[Shape, Shape, dict[str, int]]] = [
    ((2, 3), (), {}),
    ((2, 3), (1,), {"axis": 0}),
    ((2, 3), (3,), {}),
    ((2, 3), (2,), {"axis": 0}),
    ((2, 3, 2), (3,), {"axis": -2}),
    ((3,), (3,), {"axis": 0}),
    ((2, 5), (2, 3), {"axis": 1, "block_size": 2}),
    ((5, 2), (2, 2), {"axis": 0, "block_size": 3}),
    ((4,), (2,), {"axis": 0, "block_size": 2}),
    ((0, 2), (2,), {}),
]


def owner(index: Shape, shape: Shape, scale: Shape, attributes: dict[str, int]) -> Shape:
    """Where an element finds its scale."""
    axis, block = attributes.get("axis", 1), attributes.get("block_size", 1)
    if scale in ((), (1,)):
        return (0,) * len(scale)
    place = list(index)
    place[axis] //= block
    return tuple(place) if "block_size" in attributes else (index[axis],)


@pytest.mark.parametrize(("shape", "scale_shape", "attributes"), LAYOUTS)
@given(data=st.data())
def test_plain_loops(shape: Shape, scale_shape: Shape, attributes: dict[str, int], data: st.DataObject) -> None:
    dtype = BY_NAME[data.draw(st.sampled_from(INTEGERS))]
    low = -(1 << dtype.bits - 1) if dtype.kind == "int" else 0
    high = low + (1 << dtype.bits) - 1
    size, scales = math.prod(shape), math.prod(scale_shape)
    numbers = st.floats(-400, 400, width=32)
    x = array(data.draw(st.lists(numbers, min_size=size, max_size=size))).reshape(shape).astype(np.float32)
    scale = array(data.draw(st.lists(st.floats(0.5, 8, width=32), min_size=scales, max_size=scales)))
    scale = scale.astype(np.float32).reshape(scale_shape)
    offsets = data.draw(st.lists(st.integers(low, high), min_size=scales, max_size=scales))
    offset = array(offsets, dtype.name).reshape(scale_shape)
    (quantized,) = run("QuantizeLinear", x, scale, offset, **attributes)
    (restored,) = run("DequantizeLinear", quantized, scale, offset, **attributes)
    for index in itertools.product(*map(range, shape)):
        place = owner(index, shape, scale_shape, attributes)
        whole = round(float(np.float32(x[index] / scale[place]))) + int(offset[place])
        expected = min(max(whole, low), high)
        assert int(quantized[index]) == expected
        difference = expected - int(offset[place])
        assert restored[index] == np.float32(difference) * scale[place]


@pytest.mark.parametrize(
    ("x", "scale", "zero_point", "opset", "attributes", "expected"),
    [
        ([0.5, 1.5, -2.5], 1.0, None, 10, {}, ("UINT8", [0, 2, 0])),
        ([0.5, 1.5, 300.0], 1.0, None, 25, {"output_dtype": 3}, ("INT8", [0, 2, 127])),
        ([INF, -INF], 1.0, None, 13, {}, ("UINT8", [255, 0])),
        ([1e30, -1e30], 1e-9, ("INT16", 5), 21, {}, ("INT16", [32767, -32768])),
        ([1000.0], 1.0, ("FLOAT8E4M3FN", 0), 19, {}, ("FLOAT8E4M3FN", [448])),
        ([1e6, NAN], 1.0, ("FLOAT8E5M2", 0), 19, {"saturate": 0}, ("FLOAT8E5M2", [INF, NAN])),
        ([5.1, -100.0], 1.0, None, 23, {"output_dtype": 23}, ("FLOAT4E2M1", [6, -6])),
    ],
)
def test_quantize(
    x: list[float], scale: float, zero_point: Any, opset: int, attributes: dict[str, int], expected: Any
) -> None:
    offset = [] if zero_point is None else [array(zero_point[1], zero_point[0])]
    (result,) = run("QuantizeLinear", array(x), array(scale), *offset, opset=opset, **attributes)
    name, values = expected
    assert result.dtype == BY_NAME[name].numpy
    np.testing.assert_array_equal(result.astype(np.float32), np.array(values, np.float32))


def test_quotient_is_rounded_to_the_precision_of_the_scale() -> None:
    """8.5 + 2^-10 is 8.5 in bfloat16, which rounds to 8 rather than 9."""
    x = array([8.5 + 2**-10])
    assert run("QuantizeLinear", x, array(1.0), opset=25)[0].tolist() == [9]
    halves = array([2055.0], "FLOAT16"), array(2.0, "FLOAT16")
    assert run("QuantizeLinear", *halves, None, output_dtype=4)[0].tolist() == [1028]
    assert run("QuantizeLinear", array([259.0], "FLOAT16"), array(2.0), precision=1)[0].tolist() == [130]
    with pytest.raises(KernelError, match=r"^an input is not exact in bfloat16"):
        run("QuantizeLinear", x, array(1.0), precision=16)


@pytest.mark.parametrize(
    ("x", "scale", "zero_point", "opset", "attributes", "expected"),
    [
        (("INT8", [-128, 3]), ("FLOAT", 0.1), ("INT8", 127), 10, {}, ("FLOAT", [-255 * 0.1, -124 * 0.1])),
        (("INT32", [2**24, -7]), ("FLOAT", 0.5), None, 13, {}, ("FLOAT", [2.0**23, -3.5])),
        (("INT32", [4]), ("FLOAT", 0.5), ("INT32", 0), 13, {}, ("FLOAT", [2.0])),
        (("UINT4", [15, 0]), ("FLOAT16", 0.1), ("UINT4", 8), 21, {}, ("FLOAT16", [7 * 0.1, -8 * 0.1])),
        (("FLOAT8E4M3FN", [448.0, NAN]), ("BFLOAT16", 3.0), None, 19, {}, ("BFLOAT16", [1344.0, NAN])),
        (("FLOAT8E5M2", [4.0]), ("FLOAT", 0.5), ("FLOAT8E5M2", 1.0), 19, {}, ("FLOAT", [1.5])),
        (("INT8", [3]), ("FLOAT", 0.5), None, 23, {"output_dtype": 10}, ("FLOAT16", [1.5])),
        (("INT8", [3]), ("FLOAT8E8M0", 0.25), None, 24, {"output_dtype": 1}, ("FLOAT", [0.75])),
        (("FLOAT8E4M3FN", [-0.0]), ("FLOAT", 1.0), None, 19, {}, ("FLOAT", [-0.0])),
    ],
)
def test_dequantize(x: Any, scale: Any, zero_point: Any, opset: int, attributes: dict[str, int], expected: Any) -> None:
    offset = [] if zero_point is None else [array(zero_point[1], zero_point[0])]
    (result,) = run(
        "DequantizeLinear", array(x[1], x[0]), array(scale[1], scale[0]), *offset, opset=opset, **attributes
    )
    name, values = expected
    wide_scale = float(array(scale[1], scale[0]).astype(np.float64))
    exact = [value / scale[1] * wide_scale for value in values]
    assert bits_of(result) == bits_of(array(exact, name))


@pytest.mark.parametrize(
    ("operator", "operands", "opset", "attributes", "reason"),
    [
        ("QuantizeLinear", [array([NAN]), array(1.0)], 13, {}, "the specification does not say what NaN becomes"),
        ("QuantizeLinear", [array([0.0]), array(0.0)], 13, {}, "the specification does not say what NaN becomes"),
        ("QuantizeLinear", [array([2**24 + 1], "INT32"), array(1.0)], 13, {}, "an input is not exact in float"),
        ("QuantizeLinear", [array([1], "INT32"), array(1, "INT32")], 19, {}, "how the quotient is rounded in int32"),
        ("QuantizeLinear", [array([1.0]), array(1.0, "FLOAT8E8M0")], 24, {}, "how the quotient is rounded in float8"),
        (
            "QuantizeLinear",
            [array([1.0]), array(1.0), array(1.0, "FLOAT8E5M2")],
            19,
            {},
            "how a zero point of a float type is added is not specified",
        ),
        (
            "QuantizeLinear",
            [array([-0.0]), array(1.0), array(0.0, "FLOAT8E5M2")],
            19,
            {},
            "a zero point is added to -0.0",
        ),
        (
            "QuantizeLinear",
            [array([1.0]), array(1.0), array(0, "INT8")],
            21,
            {"output_dtype": 2},
            "attribute output_dtype names uint8, and the zero point is of type int8",
        ),
        ("QuantizeLinear", [array([1.0]), array(1.0)], 21, {"output_dtype": 1}, "attribute output_dtype is 1, no type"),
        ("QuantizeLinear", [array([1.0]), array(1.0)], 23, {"precision": 11}, "attribute precision is 11, no type"),
        ("QuantizeLinear", [array([[1.0]]), array([1.0, 2.0])], 10, {}, r"the scale is of shape \(2,\), and in this"),
        ("QuantizeLinear", [array([[1.0]]), array([1.0, 2.0])], 13, {}, r"a scale of shape \(2,\) does not fit shape"),
        ("QuantizeLinear", [array([[1.0]]), array([1.0, 2.0])], 13, {"axis": 2}, "axis 2 is outside rank 2"),
        ("QuantizeLinear", [array([1.0, 2.0]), array([1.0, 2.0])], 13, {}, "axis 1 is outside rank 1"),
        ("QuantizeLinear", [array([[1.0, 1.0]]), array([[1.0]])], 21, {"block_size": 1}, r"a scale of shape \(1, 1\)"),
        ("QuantizeLinear", [array([[1.0]]), array([[1.0]])], 21, {"block_size": -1}, r"a scale of shape \(1, 1\)"),
        ("QuantizeLinear", [array([[1.0]]), array([[1.0]])], 21, {}, r"a scale of shape \(1, 1\)"),
        (
            "QuantizeLinear",
            [array([[1.0, 2.0]]), array([1.0, 2.0]), array(0, "INT8")],
            13,
            {},
            r"the zero point is of shape \(\), and the scale of shape \(2,\)",
        ),
        ("DequantizeLinear", [array([2**24 + 1], "INT32"), array(1.0)], 13, {}, "an input without its zero point"),
        (
            "DequantizeLinear",
            [array([1], "INT32"), array(1.0), array(1, "INT32")],
            13,
            {},
            "a zero point of type int32",
        ),
        (
            "DequantizeLinear",
            [array([1], "INT8"), array(0.1)],
            23,
            {"output_dtype": 10},
            "a scale is not exact in float16",
        ),
        ("DequantizeLinear", [array([1], "INT8"), array(1.0)], 23, {"output_dtype": 2}, "attribute output_dtype is 2"),
        ("DequantizeLinear", [array([1], "INT8"), array(1.0, "FLOAT8E8M0")], 24, {}, "the scale is of type float8e8m0"),
        ("DynamicQuantizeLinear", [array([])], 11, {}, "the range of the values is empty or not finite"),
        ("DynamicQuantizeLinear", [array([1.0, INF])], 11, {}, "the range of the values is empty or not finite"),
        ("DynamicQuantizeLinear", [array([0.0, -0.0])], 11, {}, "the range of the values has no scale"),
        ("DynamicQuantizeLinear", [array([3e38, -3e38])], 11, {}, "the range of the values has no scale"),
    ],
)
def test_declines(operator: str, operands: list[Array], opset: int, attributes: dict[str, int], reason: str) -> None:
    with pytest.raises(KernelError, match=f"^{reason}"):
        run(operator, *operands, opset=opset, **attributes)


def test_the_range_of_dynamic_quantization_includes_0() -> None:
    for numbers, zero_point in (([1.0, 2.0, 5.1], 0), ([-1.0, -2.55], 255), ([-1.0, 1.55], 100)):
        quantized, scale, offset = run("DynamicQuantizeLinear", array(numbers), opset=11)
        assert int(offset) == zero_point
        np.testing.assert_allclose((quantized.astype(int) - zero_point) * scale, numbers, atol=float(scale) / 2)
