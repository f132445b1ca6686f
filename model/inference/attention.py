"""Attention, of which onnx's own inference says more than its operands show."""

from __future__ import annotations

from collections.abc import Callable

from maxfold.model.inference.call import Call, Dims
from maxfold.model.inference.facts import Fact, Unknown
from maxfold.model.inference.symbolic import Dim, exact_div

_QUERY, _KEY, _VALUE, _MASK, _PAST_KEY, _PAST_VALUE, _LENGTHS = range(7)
_Heads = tuple[Dim, Dim, Dim, Dim]
"""Batch, heads, length and size of a head."""


def attention(call: Call) -> list[Fact]:
    """Attention: the result, the keys and values with those of the past, and the scores.

    Runtimes that compute it by its function body let batches, heads and masks broadcast, so dims are only believed
    where the operands have those that the document asks for.
    """
    query = call.known_dims(_QUERY)
    if len(query) != (3 if call.attribute("q_num_heads", 0) else 4):
        raise Unknown
    if len(_optional(call, _MASK, ())) > 4 or len(_optional(call, _LENGTHS, (1,))) != 1:
        raise Unknown
    found = _consistent(call)
    if found is None:
        shapes: list[Dims] = [(None,) * len(query), *[(None,) * 4] * 3]
    else:
        (batch, heads, length, _), key, value, past = found
        total = past + key[2]
        result = (batch, heads, length, value[3]) if len(query) == 4 else (batch, length, heads * value[3])
        shapes = [result, (*key[:2], total, key[3]), (*value[:2], total, value[3]), (batch, heads, length, total)]
    types = (call.dtype(_QUERY), call.dtype(_KEY), call.dtype(_VALUE), call.dtype(_QUERY))
    return [Fact(dtype, dims) for dtype, dims in zip(types, shapes, strict=True)]


def _consistent(call: Call) -> tuple[_Heads, _Heads, _Heads, Dim] | None:
    """Queries, keys, values and the past length; None where the operands are not known to fit."""
    try:
        query = _by_heads(call, _QUERY, "q_num_heads")
        key, value = (_by_heads(call, index, "kv_num_heads") for index in (_KEY, _VALUE))
        past = _past_length(call, key, value)
    except Unknown:
        return None
    groups = exact_div(query[1], key[1])
    fits = groups is not None and key[:3] == value[:3] and key[0] == query[0] and key[3] == query[3]
    fits = fits and _optional(call, _LENGTHS, query[:1]) == query[:1]
    return (query, key, value, past) if fits and _is_mask_within(call, query) else None


def _optional(call: Call, index: int, otherwise: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """The dims of an input that may be omitted. Raises `Unknown` where its rank is."""
    return call.known_dims(index) if call.has(index) else otherwise


def _by_heads(call: Call, index: int, attribute: str) -> _Heads:
    dims = call.known_dims(index)
    if len(dims) == 4:
        return dims[0], dims[1], dims[2], dims[3]
    heads = call.attribute(attribute)
    size = exact_div(dims[2], heads) if len(dims) == 3 and isinstance(heads, int) and heads > 0 else None
    if size is None:
        raise Unknown
    return dims[0], heads, dims[1], size


def _past_length(call: Call, key: _Heads, value: _Heads) -> Dim:
    """The length of the past keys and values, 0 where there are none."""
    if not call.has(_PAST_KEY) and not call.has(_PAST_VALUE):
        return 0
    past_key, past_value = call.known_dims(_PAST_KEY), call.known_dims(_PAST_VALUE)
    length = past_key[2] if len(past_key) == 4 else None
    fitting = tuple((*dims[:2], length, dims[3]) for dims in (key, value))
    if length is None or (past_key, past_value) != fitting:
        raise Unknown
    return length


def _is_mask_within(call: Call, query: _Heads) -> bool:
    """Whether a mask makes no dim larger; its last one is of the scores alone, and may be shorter than they are."""
    mask = _optional(call, _MASK, ())
    return all(dim in (1, own) for dim, own in zip(mask[-2::-1], query[2::-1], strict=False))


SHAPE_FUNCTIONS: dict[str, Callable[[Call], Fact | list[Fact]]] = {"Attention": attention}
