"""Attention as ONNX Runtime has it: [batch, length, width], and keys and values of the past by heads."""

from __future__ import annotations

from maxfold.model.dtypes import DType
from maxfold.model.inference.call import Call, Dims
from maxfold.model.inference.elementwise import FLOAT
from maxfold.model.inference.facts import Fact, Unknown
from maxfold.model.inference.microsoft.row import agreed, number, positive, ranked
from maxfold.model.inference.symbolic import Dim, Expr, exact_div, maximum

_PACKED_RANK = 5
_Triple = tuple[Dim | None, Dim | None, Dim | None]


def attention(call: Call) -> list[Fact]:
    """Attention: one weight for queries, keys and values; the second result are keys and values with the past."""
    width, sizes = _shared_width(call), call.integers("qkv_hidden_sizes")
    if sizes is None:
        return _attended(call, call.dtype(0), _thirds(width), past=4)
    if len(sizes) != 3 or sizes[0] != sizes[1]:
        raise ValueError("qkv_hidden_sizes are not three, or queries and keys have two sizes")
    agreed(width, sum(sizes))
    return _attended(call, call.dtype(0), (sizes[0], sizes[1], sizes[2]), past=4)


def quantized_attention(call: Call) -> list[Fact]:
    """QAttention: the same of a quantized input and weight."""
    return _attended(call, FLOAT, _thirds(_shared_width(call)), past=8)


def _shared_width(call: Call) -> Dim | None:
    given, weight = ranked(call, 0, 3), ranked(call, 1, 2)
    agreed(given[2], weight[0])
    return agreed(weight[1], ranked(call, 2, 1)[0])


def _thirds(width: Dim | None) -> _Triple:
    third = None if width is None else exact_div(width, 3)
    if third is None and isinstance(width, int):
        raise ValueError(f"{width} is not a third each")
    return third, third, third


def _attended(call: Call, dtype: DType | None, sizes: _Triple, past: int) -> list[Fact]:
    heads = positive(call, "num_heads")
    given, before = ranked(call, 0, 3), ranked(call, past, 5)
    batch = agreed(given[0], before[1])
    head = _head_size(sizes[1], heads) if sizes[1] == sizes[2] else None
    total = _sum(before[3] if call.has(past) else 0, given[1])
    if call.attribute("past_present_share_buffer", 0):
        total = None
    present = (2, batch, heads, total, agreed(head, before[4]))
    return [Fact(dtype, (batch, given[1], sizes[2])), Fact(dtype, present)]


def _head_size(width: Dim | None, heads: int) -> Dim | None:
    """The width of one head. Raises ValueError where the heads do not share it equally."""
    size = None if width is None else exact_div(width, heads)
    if size is None and isinstance(width, int):
        raise ValueError(f"{heads} heads do not divide {width}")
    return size


def _sum(left: Dim | None, right: Dim | None) -> Dim | None:
    return None if left is None or right is None else left + right


def multi_head_attention(call: Call) -> list[Fact]:
    """MultiHeadAttention: keys and values as [batch, length, width], or by heads; the last result are scores."""
    heads, dtype = positive(call, "num_heads"), call.dtype(0)
    batch, length, width = _queries(call)
    if not call.has(1) or not call.has(2):
        raise Unknown
    own, key_size = _by_heads(call, 1, heads)
    other, value_size = _by_heads(call, 2, heads)
    new = agreed(own, other)
    key_size = agreed(key_size, _head_size(width, heads))
    past_key, past_value = ranked(call, 6, 4), ranked(call, 7, 4)
    total = _sum(agreed(past_key[2], past_value[2]), new) if call.has(6) or call.has(7) else new
    if call.has(8) or call.has(9):
        total = None
    return [
        Fact(dtype, (batch, length, None if value_size is None else value_size * heads)),
        Fact(dtype, (batch, heads, total, agreed(key_size, past_key[3]))),
        Fact(dtype, (batch, heads, total, agreed(value_size, past_value[3]))),
        Fact(None, (batch, heads, length, total)),
    ]


def _queries(call: Call) -> Dims:
    """[batch, length, width]. Raises `Unknown` for queries that are packed with keys and values."""
    dims = call.dims(0)
    if dims is not None and len(dims) == _PACKED_RANK:
        raise Unknown
    return ranked(call, 0, 3)


def _by_heads(call: Call, index: int, heads: int) -> tuple[Dim | None, Dim | None]:
    """The length of keys or values, and the size of a head."""
    dims = call.known_dims(index)
    if len(dims) == 3:
        return dims[1], _head_size(dims[2], heads)
    _, own, length, size = ranked(call, index, 4)
    agreed(own, heads)
    return length, size


def masked_attention(call: Call) -> list[Fact]:
    """DecoderMaskedMultiHeadAttention: one new element, put into the buffers of the past."""
    heads, dtype = positive(call, "num_heads"), call.dtype(0)
    batch, length, _ = _queries(call)
    if not call.has(2):
        raise Unknown
    _, size = _by_heads(call, 2, heads)
    buffers = [Fact(call.dtype(index), ranked(call, index, 4)) if call.has(index) else Fact() for index in (5, 6)]
    return [Fact(dtype, (batch, length, None if size is None else size * heads)), *buffers, Fact()]


def grouped_attention(call: Call) -> list[Fact]:
    """GroupQueryAttention: queries in groups that share keys and values, or all packed into the first input."""
    heads, shared = positive(call, "num_heads"), positive(call, "kv_num_heads")
    if heads % shared:
        raise ValueError(f"{heads} heads are not in groups of {shared}")
    batch, length, width = ranked(call, 0, 3)
    is_packed = not call.has(1)
    size = _head_size(width, heads + 2 * shared if is_packed else heads)
    for index in (1, 2) if not is_packed else ():
        agreed(batch, ranked(call, index, 3)[0])
        size = agreed(size, _head_size(ranked(call, index, 3)[2], shared))
    past = [ranked(call, index, 4) for index in (3, 4)]
    is_plain = all(call.attribute(name, "NONE") == "NONE" for name in ("k_quant_type", "v_quant_type"))
    total = _cached(call, agreed(*(dims[2] for dims in past))) if is_plain else None
    present = (batch, shared, total, size if is_plain else None)
    kinds = [call.dtype(index) if call.has(index) else None for index in (3, 4)]
    return [
        Fact(call.dtype(0), (batch, length, size * heads if size is not None else None)),
        *(Fact(kind or (call.dtype(0) if is_plain else None), present) for kind in kinds),
    ]


def _cached(call: Call, past: Dim | None) -> Dim | None:
    """The length of the present keys: that of the past buffer where all fits into it."""
    value = call.value(6)
    total = value.elements[0] if value is not None and len(value.elements) == 1 else None
    if not isinstance(total, (int, Expr)) or number(call, "sliding_window_cache", 0):
        return None
    if not call.has(3):
        return total
    return None if past is None else maximum(past, total)
