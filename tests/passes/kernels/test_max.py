"""The kernel of ONNX Max against the reference, in every version, type and way of broadcasting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxfold.passes.kernels import KernelError
from maxfold.passes.kernels.max import MAX
from tests.passes.kernels.reference import Array, Shape, assert_elements, bits_of, broadcast_shape, max_arrays
from tests.passes.kernels.strategies import BY_NAME, MAX_TYPES, broadcast_operands, equal_operands, shape_of

FLOATS = ["FLOAT16", "BFLOAT16", "FLOAT", "DOUBLE"]
QUIET_NAN = {"FLOAT16": 0x7E00, "BFLOAT16": 0x7FC0, "FLOAT": 0x7FC00000, "DOUBLE": 0x7FF8000000000000}


def evaluate(operands: list[Array], opset: int, **attributes: object) -> Array:
    """The kernel's result, checked for what every result is: shape, type, layout, new memory."""
    before = [operand.tobytes() for operand in operands]
    result = MAX.apply(operands, attributes, opset)
    assert isinstance(result, np.ndarray)
    assert result.shape == shape_of(MAX, [operand.shape for operand in operands], attributes, opset)
    assert result.dtype == operands[0].dtype
    assert result.flags.c_contiguous
    assert not any(np.shares_memory(result, operand) for operand in operands)
    assert [operand.tobytes() for operand in operands] == before
    return result


@pytest.mark.parametrize("opset", [8, 12, 13, 11, 22])
@given(data=st.data())
def test_broadcasts_in_all_directions(opset: int, data: st.DataObject) -> None:
    version = max(version for version in MAX_TYPES if version <= opset)
    count = data.draw(st.integers(1, 4))
    operands = data.draw(broadcast_operands(count, MAX_TYPES[version]))
    result = evaluate(operands, opset)
    assert result.shape == broadcast_shape([operand.shape for operand in operands])
    assert_elements(result, max_arrays(operands))


@pytest.mark.parametrize("opset", [1, 6, 7])
@given(data=st.data())
def test_equal_shapes_before_broadcasting(opset: int, data: st.DataObject) -> None:
    operands = data.draw(equal_operands(data.draw(st.integers(1, 4)), MAX_TYPES[6 if opset >= 6 else 1]))
    assert_elements(evaluate(operands, opset), max_arrays(operands))
    assert_elements(evaluate(operands, opset, consumed_inputs=[0]), max_arrays(operands))


@given(data=st.data())
def test_one_operand_is_copied_bit_by_bit(data: st.DataObject) -> None:
    (operand,) = data.draw(broadcast_operands(1))
    assert bits_of(evaluate([operand], 13)) == bits_of(operand)


@given(data=st.data())
def test_operand_order_does_not_matter(data: st.DataObject) -> None:
    operands = data.draw(broadcast_operands(3))
    expected = bits_of(evaluate(operands, 13))
    assert bits_of(evaluate(operands[::-1], 13)) == expected
    inner = evaluate(operands[1:], 13)
    assert bits_of(evaluate([operands[0], inner], 13)) == expected


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize("shape", [(), (1,), (3,), (8,), (37,), (2, 17)])
def test_nan_of_any_operand_propagates(name: str, position: int, shape: Shape) -> None:
    dtype = BY_NAME[name].numpy
    operands = [np.full(shape, value, dtype) for value in (1, -np.inf, np.inf)]
    operands[position] = np.full((), -np.nan, dtype)
    assert set(bits_of(evaluate(operands, 13))) == {QUIET_NAN[name]}


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("sign", [0, 1])
def test_every_kind_of_nan_propagates(name: str, sign: int) -> None:
    dtype = BY_NAME[name]
    quiet = QUIET_NAN[name]
    infinity = quiet & (quiet - 1) if name == "FLOAT16" else quiet - (quiet & -quiet)
    kinds = np.array([infinity + 1, quiet, quiet + 1, quiet | (quiet - infinity - 1)], f"u{dtype.bits // 8}")
    nan = (kinds | np.array(sign << (dtype.bits - 1), kinds.dtype)).view(dtype.numpy)
    one = np.ones((), dtype.numpy)
    assert set(bits_of(evaluate([nan, one], 13))) == {quiet}
    assert set(bits_of(evaluate([one, nan], 13))) == {quiet}


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("shape", [(), (5,), (37,)])
def test_positive_zero_is_the_greater_zero(name: str, shape: Shape) -> None:
    """The document allows either zero; a fixed one keeps files equal from machine to machine."""
    plus, minus, below = (np.full(shape, value, BY_NAME[name].numpy) for value in (0.0, -0.0, -1.0))
    for operands in ([plus, minus], [minus, plus], [minus, below, plus]):
        assert set(bits_of(evaluate(operands, 13))) == {0}
    for operands in ([minus, minus], [below, minus]):
        assert set(bits_of(evaluate(operands, 13))) == {1 << (BY_NAME[name].bits - 1)}


@pytest.mark.parametrize(
    ("name", "a", "b", "expected"),
    [
        ("INT64", 2**53 + 1, 2**53, 2**53 + 1),
        ("INT64", -(2**63), 2**63 - 1, 2**63 - 1),
        ("UINT64", 2**64 - 1, 1, 2**64 - 1),
        ("UINT32", 2**32 - 1, 1, 2**32 - 1),
        ("INT8", -128, -1, -1),
        ("UINT8", 128, 3, 128),
    ],
)
def test_integers_are_compared_in_their_own_type(name: str, a: int, b: int, expected: int) -> None:
    dtype = BY_NAME[name].numpy
    assert evaluate([np.array(a, dtype), np.array(b, dtype)], 13).tolist() == expected


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ([(3,), (1, 1)], (1, 3)),
        ([(3,), (), (2, 1, 1)], (2, 1, 3)),
        ([(0,), (1,)], (0,)),
        ([(2, 0, 3), (3,)], (2, 0, 3)),
        ([(), ()], ()),
    ],
)
def test_shapes(shapes: list[Shape], expected: Shape) -> None:
    assert evaluate([np.ones(shape, np.float32) for shape in shapes], 13).shape == expected


@pytest.mark.parametrize(
    ("shapes", "opset", "attributes", "reason"),
    [
        ([(2, 3), (2,)], 8, {}, "shapes (2, 3) and (2,) do not broadcast: 3 meets 2 in dimension -1"),
        ([(4,), (1,), (3,)], 13, {}, "shapes (4,) and (3,) do not broadcast: 4 meets 3 in dimension -1"),
        ([(2, 3), (2, 3), (3,)], 7, {}, "shapes (2, 3) and (3,) differ and nothing broadcasts them"),
        ([(), (1,)], 1, {}, "shapes () and (1,) differ and nothing broadcasts them"),
    ],
)
def test_declines(shapes: list[Shape], opset: int, attributes: dict[str, object], reason: str) -> None:
    with pytest.raises(KernelError) as shape_error:
        shape_of(MAX, shapes, attributes, opset)
    assert str(shape_error.value).startswith(reason)
    with pytest.raises(KernelError) as error:
        MAX.apply([np.ones(shape, np.float32) for shape in shapes], attributes, opset)
    assert str(error.value) == str(shape_error.value)


def test_mixed_types_are_never_promoted() -> None:
    with pytest.raises(TypeError):
        MAX.apply([np.zeros(2, np.float32), np.zeros(2, np.float64)], {}, 13)
