"""Steps that change nothing in most nodes: these say which ones.

Source: the operators' specifications, the versions named in `ADAPTERS`.
"""

from __future__ import annotations

from collections.abc import Mapping

from maxfold.model import dtypes
from maxfold.model.dtypes import DType
from maxfold.passes.upgrades.draft import Adapter, Draft, Facts, Refusal, Value

# Operators whose results are never negative.
_NOT_NEGATIVE = ("ArgMax", "ArgMin", "NonZero", "Shape", "Size")

_NO_NEGATIVE_ZERO = ("FLOAT8E4M3FNUZ", "FLOAT8E5M2FNUZ")


def _known(draft: Draft, facts: Facts, index: int) -> DType:
    """The type of an input."""
    dtype = facts.dtype(draft.input(index))
    if dtype is None:
        raise Refusal("the element type of its input is not known")
    return dtype


def _floats_only(draft: Draft, facts: Facts) -> None:
    """Integers have gone."""
    dtype = _known(draft, facts, 0)
    if dtype.kind != "float":
        raise Refusal(f"type {dtype.name} has gone")


def _cast(draft: Draft, facts: Facts) -> None:
    """Infinity became NaN in the types without negative zero, and is the largest number since version 24."""
    dtype = dtypes.from_onnx(draft.attribute("to", 0))
    _refuse_infinity(draft, "" if dtype is None else dtype.name)


def _cast_like(draft: Draft, facts: Facts) -> None:
    _refuse_infinity(draft, _known(draft, facts, 1).name)


def _refuse_infinity(draft: Draft, name: str) -> None:
    if name in _NO_NEGATIVE_ZERO and draft.attribute("saturate", 1):
        raise Refusal(f"infinity as {name} was NaN and is the largest number now")


def _modulo(draft: Draft, facts: Facts) -> None:
    """Version 13 limits `fmod` to floating-point types, and version 28 no longer does."""
    if facts.target < 28 and draft.attribute("fmod", 0) and _known(draft, facts, 0).kind != "float":
        raise Refusal("fmod of integers is not specified there; it takes opset 28 or newer")


def _remainder(draft: Draft, facts: Facts) -> None:
    """Without `fmod`, remainders of floating-point numbers are defined since version 28."""
    dtype = facts.dtype(draft.input(0))
    if dtype is not None and dtype.kind == "float" and not draft.attribute("fmod", 0):
        raise Refusal("fmod 0 was not defined for floating-point numbers")


def _scalar_scale(draft: Draft, facts: Facts) -> None:
    """A scale that is no scalar means one per axis since version 13."""
    if facts.rank(draft.input(1)) not in (0, None):
        raise Refusal("its scale is no scalar")


def _float_scale(draft: Draft, facts: Facts) -> None:
    """Version 19 wants x and its scale to have one type, and version 23 no longer does."""
    if facts.target < 23 and _known(draft, facts, 0).name == "INT32":
        raise Refusal("its input is int32 and its scale float32; it takes opset 23 or newer")


def _one_hot(draft: Draft, facts: Facts) -> None:
    """Negative indices meant no element, and count from the end since version 11."""
    indices = draft.input(0)
    if not _is_not_negative(indices, facts):
        raise Refusal("negative indices, which it may get, mean something else now")


def _is_not_negative(value: Value | None, facts: Facts) -> bool:
    values = facts.constant(value)
    if values is not None:
        return not values.size or bool(values.min() >= 0)
    dtype = facts.dtype(value)
    if dtype is not None and dtype.kind == "uint":
        return True
    producer = facts.producer(value)
    return producer is not None and any(facts.view.is_operator(producer, operator) for operator in _NOT_NEGATIVE)


def _attention(draft: Draft, facts: Facts) -> None:
    """Where the causal mask begins beside a cache, and what the fourth result holds, was corrected in place more than
    once: what a model was written for is not known."""
    if draft.has_output(3):
        raise Refusal("what its fourth result holds was written differently")
    has_cache = draft.input(4) is not None or draft.input(6) is not None
    if draft.attribute("is_causal", 0) and has_cache:
        raise Refusal("where a causal mask begins beside a cache was written differently")


ADAPTERS: Mapping[tuple[str, int], Adapter] = {
    ("Attention", 24): _attention,
    ("Attention", 25): _attention,
    ("Cast", 24): _cast,
    ("CastLike", 24): _cast_like,
    ("DequantizeLinear", 13): _scalar_scale,
    ("Erf", 13): _floats_only,
    ("Mod", 13): _modulo,
    ("Mod", 28): _remainder,
    ("OneHot", 11): _one_hot,
    ("QuantizeLinear", 13): _scalar_scale,
    ("QuantizeLinear", 19): _float_scale,
    ("ReduceLogSum", 28): _floats_only,
    ("ReduceLogSumExp", 28): _floats_only,
}
