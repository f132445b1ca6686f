"""remove-neutral-operand: what is neutral on which side, and each reason for leaving it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from tests.passes.cleaning import assert_same_results, nodes
from tests.passes.outcome import BOUND, Outcome, outcome
from tests.text import model


def cleaned(call: str, constant: Any, *, a: str = "float[2,N]", opset: int = 17, **options: Any) -> Outcome:
    kind = a.split("[")[0]
    source = model(
        f"g ({a} a) => ({kind}[A,B] y) {{ b = {call} y = Identity(b) }}",
        opset=opset,
        constants={"k": np.asarray(constant)},
    )
    return outcome("remove-neutral-operand", source, **options)


ODD = np.array([[-0.0, 0.0, np.inf], [-np.inf, np.nan, 1e-45]], np.float32)
F32 = np.float32


@pytest.mark.parametrize("call", ["Mul(a, k)", "Mul(k, a)", "Div(a, k)", "Pow(a, k)"])
@pytest.mark.parametrize("constant", [F32(1), np.ones(1, F32), np.ones((1, 1), F32), np.ones((2, 1), F32)])
def test_one(call: str, constant: Any) -> None:
    result = cleaned(call, constant)
    assert nodes(result) == "y = Identity(a)"
    assert_same_results(result, a=ODD)


def test_zero_is_subtracted_exactly() -> None:
    result = cleaned("Sub(a, k)", F32(0))
    assert nodes(result) == "y = Identity(a)"
    assert_same_results(result, a=ODD)


@pytest.mark.parametrize(
    ("call", "constant", "kind"),
    [
        ("And(a, k)", True, "bool"),
        ("And(k, a)", [True], "bool"),
        ("Or(k, a)", False, "bool"),
        ("Xor(a, k)", [[False]], "bool"),
        ("Mul(a, k)", np.int64(1), "int64"),
        ("Div(a, k)", np.int32(1), "int32"),
        ("Sub(a, k)", np.uint8(0), "uint8"),
        ("Pow(a, k)", np.float32(1), "int32"),
        ("BitwiseOr(a, k)", np.int8(0), "int8"),
        ("BitwiseXor(k, a)", np.uint64(0), "uint64"),
        ('BitShift<direction = "LEFT">(a, k)', np.uint8(0), "uint8"),
        ("Mul(a, k)", np.float16(1), "float16"),
    ],
)
def test_other_types(call: str, constant: Any, kind: str) -> None:
    assert nodes(cleaned(call, constant, a=f"{kind}[2,3]", opset=18)) == "y = Identity(a)"


def test_bfloat16() -> None:
    source = model("g (bfloat16[2] a) => (bfloat16[N] y) { b = Mul(a, k) y = Identity(b) }")
    source.graph.initializer.append(helper.make_tensor("k", TensorProto.BFLOAT16, [], [1.0]))
    assert nodes(outcome("remove-neutral-operand", source)) == "y = Identity(a)"


@pytest.mark.parametrize(
    ("call", "constant"),
    [
        ("Div(k, a)", F32(1)),
        ("Sub(k, a)", F32(0)),
        ("Pow(k, a)", F32(1)),
        ("Mul(a, k)", F32(-1)),
        ("Mul(a, k)", np.array([[1], [2]], F32)),
        ("Mul(a, k)", F32(0)),
        ("Sub(a, k)", np.array([[0.0], [-0.0]], F32)),
        ("Mul(a, a)", F32(1)),
    ],
)
def test_what_is_not_neutral_stays(call: str, constant: Any) -> None:
    result = cleaned(call, constant)
    assert (result.changes, result.reasons) == (0, [])


@pytest.mark.parametrize(
    ("constant", "a", "goes"),
    [
        (np.ones((1, 3), F32), "float[2,3]", True),
        (np.ones((2, 3), F32), "float[2,N]", False),
        (np.ones((1, 1, 1), F32), "float[2,N]", False),
        (np.ones((1, 0), F32), "float[2,1]", False),
        (np.ones((3, 1), F32), "float[N,2]", False),
    ],
)
def test_the_shape_stays(constant: Any, a: str, goes: bool) -> None:
    source = model(f"g ({a} a) => (int64[R] y) {{ b = Mul(a, k) y = Shape(b) }}", constants={"k": constant})
    result = outcome("remove-neutral-operand", source)
    assert (nodes(result) == "y = Shape(a)") is goes
    shape = list(constant.shape)
    expected = [f"'k' is neutral but its shape {shape} may widen the result"]
    assert result.reasons == ([] if goes or not constant.size else expected)


def test_minus_negative_zero_only_relaxed() -> None:
    exact = cleaned("Sub(a, k)", F32(-0.0))
    assert exact.reasons == ["x - (-0.0) is not x for x = -0.0; only with --math relaxed"]
    assert exact.declines[0].relaxed_gain == 1
    assert nodes(cleaned("Sub(a, k)", F32(-0.0), math="relaxed")) == "y = Identity(a)"


def test_legacy_broadcasting_stays() -> None:
    result = cleaned("Mul<broadcast = 1>(a, k)", np.ones(1, F32), opset=6)
    assert result.reasons == ["Mul before operator set 7 broadcasts by attributes"]


def test_a_constant_that_may_change_stays() -> None:
    source = model(
        "g (float[2] a, float k) => (float[2] y) { b = Mul(a, k) y = Neg(b) }", constants={"k": np.array(1, F32)}
    )
    reason = "'k' is a graph input with a default value, which the caller may override"
    assert outcome("remove-neutral-operand", source).reasons == [reason]
    trained = model("g (float[2] a) => (float[2] y) { b = Mul(a, k) y = Neg(b) }", constants={"k": np.array(1, F32)})
    trained.training_info.add().update_binding.add(key="k", value="k")
    assert outcome("remove-neutral-operand", trained).reasons == [f"'k' {BOUND}"]


def test_between_input_and_output_it_stays() -> None:
    source = model("g (float[2] a) => (float[2] y) { y = Mul(a, k) }", constants={"k": np.array(1, F32)})
    assert outcome("remove-neutral-operand", source).reasons == [
        "'y' is a graph output and 'a' is not made by a node beside it"
    ]


def test_runtimes_lose_digits_of_powers_of_large_integers() -> None:
    result = cleaned("Pow(a, k)", np.int64(1), a="int64[2,3]")
    assert result.reasons == ["powers of 64-bit integers are computed as floats, which do not hold them all"]
