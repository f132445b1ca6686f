"""Products, activations and normalizations that ONNX Runtime has as one operator each."""

from __future__ import annotations

from maxfold.model.inference.call import Call, Dims, normal_axis
from maxfold.model.inference.contraction import INT32, gemm
from maxfold.model.inference.convolution import conv
from maxfold.model.inference.elementwise import FLOAT, broadcast_dims, shared_dtype
from maxfold.model.inference.facts import Fact
from maxfold.model.inference.microsoft.row import agreed, last_dim, number, positive, ranked

_BATCH_FIRST_RANK = 3


def like_first(call: Call) -> Fact:
    """Like the first input."""
    return call.fact(0).without_value()


def like_scores(call: Call) -> Fact:
    """NGramRepeatBlock: like the scores, one row of a vocabulary for each row of tokens."""
    tokens, scores = ranked(call, 0, 2), ranked(call, 1, 2)
    return Fact(call.dtype(1), (agreed(scores[0], tokens[0]), scores[1]))


def with_bias(call: Call) -> Fact:
    """BiasGelu and FastGelu: a bias is a vector along the last axis."""
    fact = call.fact(0)
    if not call.has(1):
        return fact.without_value()
    (length,) = ranked(call, 1, 1)
    last = agreed(last_dim(call, 0), length)
    return Fact(shared_dtype(call), None if fact.dims is None else (*fact.dims[:-1], last))


def product(left: Dims | None, right: Dims | None) -> Dims | None:
    """The dims of numpy's matmul. Raises ValueError where the inner dims differ."""
    if left is None or right is None:
        return None
    if not left or not right:
        raise ValueError("a scalar is multiplied")
    agreed(left[-1], right[-2] if len(right) > 1 else right[0])
    batch = broadcast_dims([_all_known(left[:-2]), _all_known(right[:-2])])
    return None if batch is None else (*batch, *left[-2:-1], *(right[-1:] if len(right) > 1 else ()))


def _all_known(dims: Dims) -> tuple[int, ...]:
    return dims  # type: ignore[return-value]  # the dims of operands, which the engine has named


def fused_matmul(call: Call) -> Fact:
    """FusedMatMul and TransposeMatMul: MatMul of transposed operands."""
    sides = [_transposed(call, index, side) for index, side in enumerate("AB")]
    return Fact(shared_dtype(call), product(*sides))


def _transposed(call: Call, index: int, side: str) -> Dims | None:
    """An operand as it is multiplied; the flag of the batch says that the rows stand in front of it."""
    dims: Dims | None = call.dims(index)
    is_batch_inside = bool(call.attribute(f"transBatch{side}", 0))
    if dims is None:
        return None
    if is_batch_inside:
        other = call.dims(1 - index)
        if len(dims) < _BATCH_FIRST_RANK or (other is not None and len(other) != len(dims)):
            raise ValueError("a batch is to be transposed that the operands do not have")
        dims = (*dims[1:-1], dims[0], dims[-1])
    is_turned = bool(call.attribute(f"trans{side}", 0)) and len(dims) > 1
    return (*dims[:-2], dims[-1], dims[-2]) if is_turned else dims


def fused_gemm(call: Call) -> Fact:
    """FusedGemm: Gemm with an activation."""
    inner = [ranked(call, index, 2) for index in (0, 1)]
    agreed(*(dims[_inner(call, index)] for index, dims in enumerate(inner)))
    return gemm(call)


def _inner(call: Call, index: int) -> int:
    return 1 - index if not call.attribute(("transA", "transB")[index], 0) else index


def fused_conv(call: Call) -> Fact:
    """FusedConv: what is added before the activation has the dims of the result, unless that is empty."""
    if call.has(1) and 0 in (call.dims(1) or ()):
        raise ValueError("it has empty filters")
    fact = conv(call)
    if call.has(3) and fact.dims is not None:
        for pair in zip(fact.dims, ranked(call, 3, len(fact.dims)), strict=True):
            agreed(*pair)
    return fact


def matmul_integer_16(call: Call) -> Fact:
    """MatMulInteger16: accumulates in INT32."""
    return Fact(INT32, product(call.dims(0), call.dims(1)))


def simplified_layer_normalization(call: Call) -> list[Fact]:
    """SimplifiedLayerNormalization: of the type of the scale; what it is divided by has 1 for normalized axes."""
    dims, dtype = call.dims(0), call.dtype(1)
    if dims is None:
        return [Fact(dtype), Fact(FLOAT)]
    axis = normal_axis(number(call, "axis", -1), len(dims))
    return [Fact(dtype, dims), Fact(FLOAT, dims[:axis] + (1,) * (len(dims) - axis))]


def skip_layer_normalization(call: Call) -> list[Fact]:
    """SkipLayerNormalization and its simplified form: a row of statistics each, and the sum."""
    fact, skip = call.fact(0), call.dims(1)
    dtype = shared_dtype(call)
    vectors = [ranked(call, index, 1)[0] for index in range(2, call.input_count)]
    if fact.dims is None:
        return [Fact(dtype), Fact(FLOAT), Fact(FLOAT), Fact(dtype)]
    if len(fact.dims) not in (2, 3) or (skip is not None and len(skip) not in (2, 3)):
        raise ValueError("it takes operands of 2 or 3 dimensions")
    dims = (*fact.dims[:-1], agreed(fact.dims[-1], last_dim(call, 1), *vectors))
    statistics = Fact(FLOAT, (*dims[:-1], 1))
    return [Fact(dtype, dims), statistics, statistics, Fact(dtype, dims)]


def embed_layer_normalization(call: Call) -> list[Fact]:
    """EmbedLayerNormalization: a vector for each token, the number of tokens of each sentence, and the sum."""
    return _embedded(call, ("", "segment", "word", "position", "table", "gamma", "beta", "mask", "positions"))


def quantized_embed_layer_normalization(call: Call) -> list[Fact]:
    """QEmbedLayerNormalization: the same of quantized tables."""
    (*found, _) = _embedded(call, ("", "segment", "word", "position", "table", "gamma", "beta", "mask"))
    return [Fact(call.dtype(8), found[0].dims), found[1]]


def _embedded(call: Call, names: tuple[str, ...]) -> list[Fact]:
    place = {name: index for index, name in enumerate(names)}
    tokens = [ranked(call, place[name], 2) for name in ("", "segment", "mask") if call.has(place[name])]
    batch, length = (agreed(*sizes) for sizes in zip(*tokens, strict=True))
    tables = [ranked(call, place[name], 2)[1] for name in ("word", "position", "table")]
    width = agreed(*tables, *(ranked(call, place[name], 1)[0] for name in ("gamma", "beta")))
    if width == 0:
        raise ValueError("its tables are empty")
    dtype = call.dtype(place["word"])
    return [Fact(dtype, (batch, length, width)), Fact(INT32, (batch,)), Fact(dtype, (batch, length, width))]


def matmul_n_bits(call: Call) -> Fact:
    """MatMulNBits and MatMulBnb4: rows times a packed matrix of K by N."""
    dims, rows, columns = call.dims(0), positive(call, "K"), positive(call, "N")
    agreed(last_dim(call, 0), rows)
    if call.has(5):
        agreed(ranked(call, 5, 1)[0], columns)
    return Fact(call.dtype(0), None if dims is None else (*dims[:-1], columns))


def inverse(call: Call) -> Fact:
    """Inverse: of square matrices."""
    dims = call.known_dims(0)
    if len(dims) < 2:
        raise ValueError("it takes matrices")
    # Kernels take other matrices too, and static checks refuse them.
    agreed(*dims[-2:])
    return like_first(call)


def squared_distances(call: Call) -> Fact:
    """CDist: of each row of one matrix to each of another."""
    left, right = ranked(call, 0, 2), ranked(call, 1, 2)
    agreed(left[1], right[1])
    return Fact(shared_dtype(call), (left[0], right[0]))


def rotary_embedding(call: Call) -> Fact:
    """RotaryEmbedding: like the input, [batch, length, width] or [batch, heads, length, size]."""
    dims = call.dims(0)
    if dims is not None and len(dims) not in (3, 4):
        raise ValueError("it takes an input of 3 or 4 dimensions")
    agreed(ranked(call, 2, 2)[1], ranked(call, 3, 2)[1])
    return like_first(call)


def unfold(call: Call) -> Fact:
    """UnfoldTensor: windows along an axis, which a new last axis holds."""
    dims = call.known_dims(0)
    axis = normal_axis(number(call, "dim", -1), len(dims))
    size, step = positive(call, "size"), positive(call, "step") if "step" in call.node.attrs else 1
    known = dims[axis]
    count = (known - size) // step + 1 if isinstance(known, int) else None
    if count is not None and count < 1:
        raise ValueError("the window is larger than the axis")
    return Fact(call.dtype(0), (*dims[:axis], count, *dims[axis + 1 :], size))
