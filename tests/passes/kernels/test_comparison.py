"""The comparison, logic, bitwise and selection kernels: ONNX's node tests, all types, legacy versions, declines."""

from __future__ import annotations

import math
import operator as python
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxfold.model.dtypes import DTYPES
from maxfold.passes.kernels import KERNELS, Call, KernelError, Operand, check
from maxfold.passes.kernels.comparison import COMPARISON
from tests.passes.kernels.node_cases import assert_case, cases
from tests.passes.kernels.reference import (
    FORMATS,
    Array,
    broadcast_shape,
    dtype_of,
    element,
    indices,
    signed,
    tail_index,
)
from tests.passes.kernels.reference import bits_of as raw_bits
from tests.passes.kernels.strategies import BY_NAME, NUMERIC, broadcast_operands, unread

KERNEL = {kernel.operator: kernel for kernel in COMPARISON}
FLOAT8 = ("FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ")


def run(operator: str, *operands: Array, opset: int = 22, **attributes: Any) -> Array:
    """The result of a call that the schema allows."""
    kernel = KERNEL[operator]
    assert check(kernel, [dtype_of(operand) for operand in operands], opset, attributes) is None
    result = kernel.apply(operands, attributes, opset)
    assert result.flags.c_contiguous
    assert not any(np.shares_memory(result, operand) for operand in operands)
    return result


def test_in_the_table() -> None:
    assert set(COMPARISON) <= set(KERNELS)


@pytest.mark.parametrize("operator", KERNEL)
def test_node_tests(operator: str) -> None:
    for case in cases(operator):
        assert_case(case)


COMPARED = {
    "Equal": python.eq,
    "Greater": python.gt,
    "Less": python.lt,
    "GreaterOrEqual": python.ge,
    "LessOrEqual": python.le,
}


def number(bits: int, name: str) -> float | Any:
    """What an element stands for, in a Python number of any size."""
    if name not in FORMATS:
        return signed(bits, BY_NAME[name])
    negative, size, nan = FORMATS[name].decode(bits)
    value = math.nan if nan else math.inf if size is None else size
    return -value if negative else value


@pytest.mark.parametrize("operator", COMPARED)
@given(data=st.data())
def test_comparisons(operator: str, data: st.DataObject) -> None:
    a, b = data.draw(broadcast_operands(2, NUMERIC))
    name = dtype_of(a).name
    result = run(operator, a, b)
    assert result.shape == broadcast_shape([a.shape, b.shape])
    assert result.dtype == np.dtype(np.bool_)
    a_bits, b_bits = raw_bits(a), raw_bits(b)
    expected = [
        COMPARED[operator](
            number(element(a_bits, a.shape, tail_index(index, a.shape)), name),
            number(element(b_bits, b.shape, tail_index(index, b.shape)), name),
        )
        for index in indices(result.shape)
    ]
    assert result.reshape(-1).tolist() == expected


BITWISE = {"BitwiseAnd": python.and_, "BitwiseOr": python.or_, "BitwiseXor": python.xor}


@pytest.mark.parametrize("operator", BITWISE)
@given(data=st.data())
def test_bits(operator: str, data: st.DataObject) -> None:
    names = [name for name in NUMERIC if name not in FORMATS]
    a, b = data.draw(broadcast_operands(2, names))
    expected = BITWISE[operator](a.astype(object), b.astype(object))
    assert run(operator, a, b).tolist() == np.asarray(expected).tolist()
    assert run("BitwiseNot", a).tolist() == (~a).tolist()


@pytest.mark.parametrize(
    ("operator", "expected"),
    [("And", [False, False, False, True]), ("Or", [False, True, True, True]), ("Xor", [False, True, True, False])],
)
@pytest.mark.parametrize("opset", [1, 6, 7, 22])
def test_logic(operator: str, expected: list[bool], opset: int) -> None:
    a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
    assert run(operator, a, b, opset=opset).tolist() == expected
    assert run("Not", a, opset=opset).tolist() == [True, True, False, False]


@pytest.mark.parametrize("operator", ["Equal", "Greater", "Less", "And", "Or", "Xor"])
def test_legacy_broadcast(operator: str) -> None:
    dtype = {"Equal": "INT32", "Greater": "FLOAT", "Less": "FLOAT"}.get(operator, "BOOL")
    a = np.arange(24).reshape(2, 3, 4).astype(BY_NAME[dtype].numpy)
    b = np.array([0, 5, 1]).astype(BY_NAME[dtype].numpy)
    expected = run(operator, a, b.reshape(3, 1), opset=9)
    assert run(operator, a, b, opset=6, broadcast=1, axis=1).tolist() == expected.tolist()
    with pytest.raises(KernelError, match=r"differ and nothing broadcasts them"):
        run(operator, a, b, opset=1)


def test_strings_are_equal() -> None:
    a, b = np.array([["a"], [""]], object), np.array(["a", "b", ""], object)
    assert run("Equal", a, b).tolist() == [[True, False, False], [False, False, True]]
    assert run("Equal", a[0, 0, None], b.astype("U")).tolist() == [True, False, False]


@pytest.mark.parametrize("name", [*FORMATS, *FLOAT8])
def test_nan_and_infinity(name: str) -> None:
    with np.errstate(all="ignore"):
        values = np.array([math.nan, -math.nan, 1.0, -0.0], np.float32).astype(BY_NAME[name].numpy)
    assert run("IsNaN", values).tolist() == [True, True, False, False]
    assert not run("IsInf", values).any()
    if name in ("FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2FNUZ"):
        return
    infinities = np.array([math.inf, -math.inf], np.float32).astype(values.dtype)
    assert run("IsInf", infinities).tolist() == [True, True]
    assert run("IsInf", infinities, detect_negative=0).tolist() == [True, False]
    assert run("IsInf", infinities, detect_positive=0).tolist() == [False, True]
    assert run("IsInf", infinities, detect_positive=0, detect_negative=0).tolist() == [False, False]


WHERE_TYPES = [dtype for dtype in DTYPES if check(KERNEL["Where"], [BY_NAME["BOOL"], dtype, dtype], 16) is None]


@pytest.mark.parametrize("dtype", WHERE_TYPES, ids=str)
def test_where_of_every_type(dtype: Any) -> None:
    x, y = (np.array([first, first + 1]).astype(dtype.numpy) for first in (0, 4))
    if dtype.kind == "string":
        x, y = np.array(["a", "b"], object), np.array(["c", "d"], object)
    condition = np.array([[True], [False]])
    result = run("Where", condition, x, y)
    assert result.dtype == dtype.numpy
    assert result.tolist() == [x.tolist(), y.tolist()]


def test_where_keeps_the_bits_of_nan() -> None:
    x = np.array([0xFFC12345, 0x7F812345], np.uint32).view(np.float32)
    assert raw_bits(run("Where", np.array(True), x, np.zeros((), np.float32))) == raw_bits(x)


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [([(2, 1), (3,), ()], (2, 3)), ([(), (1, 1), (0,)], (1, 0)), ([(2,), (3,), ()], None)],
)
def test_where_shapes(shapes: list[tuple[int, ...]], expected: tuple[int, ...] | None) -> None:
    types = [BY_NAME["BOOL"], BY_NAME["INT64"], BY_NAME["INT64"]]
    call = Call(tuple(Operand(dtype, shape, unread) for dtype, shape in zip(types, shapes, strict=True)), {}, 16)
    if expected is None:
        with pytest.raises(KernelError, match=r"do not broadcast"):
            KERNEL["Where"].results(call)
        return
    (result,) = KERNEL["Where"].results(call)
    assert (result.dtype.name, result.shape) == ("INT64", expected)
