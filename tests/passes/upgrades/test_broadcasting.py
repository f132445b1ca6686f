"""Broadcasting before version 7: what `broadcast` and `axis` meant stays, also where shapes are square."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from maxfold.model import ModelError, broadcast
from tests.passes.upgrades.running import (
    assert_gives,
    attributes_of,
    node_model,
    operators,
    random_array,
    refusal,
    upgraded,
)
from tests.run import Array

A = random_array(2, 3, 4, 5)
SQUARE = random_array(3, 3, 3)
SQUARE_OF_WHOLE = np.arange(9, dtype=np.float32).reshape(3, 3)

FLOATS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide,
    "Less": np.less, "Greater": np.greater,
}  # fmt: skip
BOOLS: dict[str, Callable[[Any, Any], Any]] = {
    "And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor,
}  # fmt: skip


def binary(operator: str, a: Array, b: Array, opset: int = 6, **attributes: Any) -> ModelProto:
    logical = operator in ("Less", "Greater", "Equal", *BOOLS)
    types = (np.bool_,) if logical else ()
    return node_model(operator, {"a": a, "b": b}, opset, types=types, shape=a.shape, **attributes)


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -2])
@pytest.mark.parametrize("operator", [*FLOATS, *BOOLS, "Equal"])
def test_axis(operator: str, axis: int | None) -> None:
    a, b = SQUARE, random_array(3, seed=1)
    if operator in BOOLS:
        a, b = a > 0, b > 0
    elif operator == "Equal":
        a, b = np.sign(a).astype(np.int32), np.sign(b).astype(np.int32)
    attributes = {"broadcast": 1} if axis is None else {"broadcast": 1, "axis": axis}
    numpy_operators: dict[str, Callable[[Any, Any], Any]] = {**FLOATS, **BOOLS, "Equal": np.equal}
    numpy_operator = numpy_operators[operator]
    rank = a.ndim
    place = rank - 1 if axis is None else axis % rank
    expected = numpy_operator(a, b.reshape(broadcast.align(b.shape, rank, place)))
    for opset, target in ((6, 7), (1, 13), (6, 21)):
        assert_gives(binary(operator, a, b, opset, **attributes), {"a": a, "b": b}, target, expected)


def test_pow() -> None:
    a, b = np.abs(SQUARE), np.array([1, 2, 0], np.float32)
    source = binary("Pow", a, b, broadcast=1, axis=0)
    expected = np.power(a, b.reshape(3, 1, 1).astype(np.float64)).astype(np.float32)
    assert_gives(source, {"a": a, "b": b}, 17, expected, ulps=2)


@pytest.mark.parametrize(
    ("shape", "attributes", "aligned"),
    [
        ((3, 4), {"broadcast": 1, "axis": 1}, (3, 4, 1)),
        ((4, 5), {"broadcast": 1, "axis": 2}, (4, 5)),
        ((4, 5), {"broadcast": 1}, (4, 5)),
        ((), {"broadcast": 1}, ()),
        ((1, 1), {"broadcast": 1, "axis": 3}, (1, 1)),
        ((2, 3, 4, 5), {"broadcast": 0, "axis": 1}, (2, 3, 4, 5)),
        ((2, 3, 4, 5), {}, (2, 3, 4, 5)),
    ],
)
def test_shapes(shape: tuple[int, ...], attributes: dict[str, int], aligned: tuple[int, ...]) -> None:
    b = random_array(*shape, seed=1)
    assert_gives(binary("Add", A, b, **attributes), {"a": A, "b": b}, 13, A + b.reshape(aligned))


def test_the_rank_of_an_input_without_dimensions_is_not_known() -> None:
    with pytest.raises(ModelError, match="the ranks of its inputs are not known"):
        upgraded(binary("Add", A, random_array(seed=1), broadcast=1, axis=0), 13)


def test_an_axis_becomes_an_unsqueeze_only_where_it_must() -> None:
    b = random_array(3)
    after = upgraded(binary("Add", A, b, broadcast=1, axis=1), 9)
    assert operators(after) == ["Unsqueeze", "Add"]
    assert attributes_of(after, "Unsqueeze") == {"axes": [1, 2]}
    assert attributes_of(after, "Add") == {}
    assert operators(upgraded(binary("Add", A, random_array(5), broadcast=1, axis=3), 9)) == ["Add"]


def test_dimensions_need_not_be_known() -> None:
    a, b = random_array(2, 3, 3), random_array(3, seed=1)
    source = node_model("Add", {"a": a, "b": b}, 6, dynamic=True, broadcast=1, axis=1)
    assert_gives(source, {"a": a, "b": b}, 13, a + b.reshape(3, 1))


@pytest.mark.parametrize("opset", [1, 6])
def test_prelu(opset: int) -> None:
    for slope, aligned in ((random_array(3), (3, 1, 1)), (random_array(1), (1,))):
        x = random_array(2, 3, 3, 3)
        source = node_model("PRelu", {"x": x, "slope": slope}, opset, shape=x.shape)
        assert_gives(source, {"x": x, "slope": slope}, 16, np.where(x < 0, slope.reshape(aligned) * x, x))
    x, slope = random_array(2, 3), random_array(3)
    assert operators(upgraded(node_model("PRelu", {"x": x, "slope": slope}, 6), 7)) == ["PRelu"]


def test_gemm() -> None:
    a, b = np.array([[1, 2], [3, 4], [5, 6]], np.float32), np.array([[1, 0, 2], [0, 1, 3]], np.float32)
    for c in (np.array([1, 2, 3], np.float32), np.array(4, np.float32), SQUARE_OF_WHOLE):
        source = node_model("Gemm", {"a": a, "b": b, "c": c}, 6, broadcast=1, alpha=1.0)
        assert attributes_of(upgraded(source, 7), "Gemm") == {"alpha": 1.0}
        for target in (7, 11, 13):
            assert_gives(source, {"a": a, "b": b, "c": c}, target, a @ b + c)


@pytest.mark.parametrize("operator", ["Max", "Min", "Mean", "Sum"])
def test_variadic_operators_of_equal_shapes(operator: str) -> None:
    a, b = random_array(2, 3), random_array(2, 3, seed=1)
    expected = {"Max": np.maximum(a, b), "Min": np.minimum(a, b), "Mean": (a + b) / 2, "Sum": a + b}[operator]
    for opset in (1, 6, 7):
        source = node_model(operator, {"a": a, "b": b}, opset, shape=a.shape)
        assert_gives(source, {"a": a, "b": b}, 13, expected.astype(np.float32))


def unranked(operator: str, **attributes: Any) -> ModelProto:
    source = binary(operator, A, random_array(3), **attributes)
    source.graph.input[1].type.tensor_type.ClearField("shape")
    return source


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (unranked("Add", broadcast=1, axis=1), "ranks of its inputs are not known"),
        (unranked("PRelu"), "not known to be those of one slope per channel"),
        (binary("Add", A, random_array(5), broadcast=1, axis=-5), "outside its first input"),
        (binary("Add", A, random_array(4, 5), broadcast=1, axis=3), "does not leave room"),
    ],
)
def test_refusals(source: ModelProto, reason: str) -> None:
    assert reason in refusal(source, 7)


def test_an_unknown_rank_matters_only_with_an_axis() -> None:
    assert operators(upgraded(unranked("Add", broadcast=1), 7, check=False)) == ["Add"]
