"""Operators that sum products, and normalizations by given statistics.

Products are added one after the other in double, so that no result depends on the processor or on a library for
matrices. Sources: the documents of all versions of the operators in ONNX opsets 1 to 28.
"""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Sequence

import numpy as np
from onnx import TensorProto

from maxfold.model.broadcast import BroadcastError, numpy_shape
from maxfold.model.dtypes import DType
from maxfold.passes.kernels.call import Array, Call, KernelError, Result, Shape, axis_of
from maxfold.passes.kernels.kernel import Kernel
from maxfold.passes.kernels.reduction import as_double, check_range, largest_number, magnitudes, settled, total
from maxfold.passes.kernels.rounding import widened
from maxfold.passes.kernels.shape import known_dtype

_MOST_PRODUCTS = 1 << 30
_MOST_PRODUCTS_AT_ONCE = 1 << 22
_BROADCASTS_SINCE = 7
_EPSILON, _ALPHA = float(np.float32(1e-5)), float(np.float32(1e-4))
_FLOAT, _INT32 = known_dtype(TensorProto.FLOAT), known_dtype(TensorProto.INT32)


def _broadcast_shape(*shapes: Shape) -> Shape:
    try:
        return numpy_shape(*shapes)
    except BroadcastError as error:
        raise KernelError(str(error)) from error


def _product_shape(a: Shape, b: Shape) -> Shape:
    """The shape of a product of matrices, a vector being one row on the left and one column on the right."""
    if not a or not b:
        raise KernelError("a scalar is no matrix")
    left, right = a if len(a) > 1 else (1, *a), b if len(b) > 1 else (*b, 1)
    if left[-1] != right[-2]:
        raise KernelError(f"shapes {a} and {b} are none of matrices to multiply")
    rows, columns = left[-2:-1] if len(a) > 1 else (), right[-1:] if len(b) > 1 else ()
    shape = (*_broadcast_shape(left[:-2], right[:-2]), *rows, *columns)
    if math.prod(shape) * left[-1] > _MOST_PRODUCTS:
        raise KernelError(f"it takes more than {_MOST_PRODUCTS} products")
    return shape


def _matrix_product(a: Array, b: Array) -> Array:
    """The product of doubles or integers, of `_product_shape`."""
    if a.dtype.kind in "iu":
        return np.asarray(np.matmul(a, b))
    shape = _product_shape(a.shape, b.shape)
    left, right = a if a.ndim > 1 else a[None], b if b.ndim > 1 else b[:, None]
    out = np.zeros((*np.broadcast_shapes(left.shape[:-2], right.shape[:-2]), left.shape[-2], right.shape[-1]))
    for place in range(left.shape[-1]):
        out += left[..., :, place, None] * right[..., None, place, :]
    return out.reshape(shape)


def _matmul_results(call: Call) -> tuple[Result, ...]:
    return (Result(call.dtype(), _product_shape(call.shape(0), call.shape(1))),)


def _matmul(call: Call) -> tuple[Array, ...]:
    (result,) = _matmul_results(call)
    a, b = (as_double(call.array(index), result.dtype) for index in (0, 1))
    with np.errstate(all="ignore"):
        made = settled(_matrix_product(a, b), result)
        _check_products(a, b, made, result.dtype)
        return (made,)


def _check_products(a: Array, b: Array, made: Array, dtype: DType) -> None:
    """Raises KernelError where sums of products may leave the range of the type on the way to a finite result."""
    if dtype.kind != "float" or not made.size or not a.size:
        return
    left, right = magnitudes(a), magnitudes(b)
    if left.max() * right.max() * a.shape[-1] > largest_number(dtype):
        check_range(_matrix_product(left, right), made, dtype)


def _gemm_results(call: Call) -> tuple[Result, ...]:
    a, b = call.shape(0), call.shape(1)
    if len(a) != 2 or len(b) != 2:
        raise KernelError(f"shapes {a} and {b} are not both of matrices")
    a = a[::-1] if call.integer("transA", 0) else a
    b = b[::-1] if call.integer("transB", 0) else b
    shape = _product_shape(a, b)
    if call.optional(2) is None:
        return (Result(call.dtype(), shape),)
    added = call.shape(2)
    is_broadcast = call.opset >= _BROADCASTS_SINCE or bool(call.integer("broadcast", 0))
    if added != shape and not (is_broadcast and len(added) <= 2 and _broadcast_shape(shape, added) == shape):
        raise KernelError(f"C of shape {added} does not become {shape}")
    return (Result(call.dtype(), shape),)


def _gemm(call: Call) -> tuple[Array, ...]:
    (result,) = _gemm_results(call)
    a, b = (as_double(call.array(index), result.dtype) for index in (0, 1))
    a = a.T if call.integer("transA", 0) else a
    b = b.T if call.integer("transB", 0) else b
    with np.errstate(all="ignore"):
        out = _scaled(_matrix_product(a, b), call.number("alpha", 1.0))
        if call.optional(2) is not None:
            out = out + _scaled(as_double(call.array(2), result.dtype), call.number("beta", 1.0))
        made = settled(out, result)
        _check_products(a, b, made, result.dtype)
        return (made,)


def _scaled(values: Array, factor: float) -> Array:
    if factor == 1:
        return values
    if values.dtype.kind in "iu":
        raise KernelError(f"integers times {factor} are rounded in no specified way")
    if factor == 0 and not np.isfinite(values).all():
        raise KernelError("0 times what is not finite is NaN to some and 0 to others")
    return np.asarray(values * factor)


def _integer_results(call: Call) -> tuple[Result, ...]:
    return (Result(_INT32, _product_shape(call.shape(0), call.shape(1))),)


def _integer_product(call: Call) -> tuple[Array, ...]:
    (result,) = _integer_results(call)
    out = np.asarray(np.matmul(_shifted(call, 0, -2), _shifted(call, 1, -1)))
    limits = np.iinfo(np.int32)
    if out.size and not (limits.min <= int(out.min()) and int(out.max()) <= limits.max):
        raise KernelError("a sum is beyond 32 bits")
    return (out.astype(np.int32).reshape(result.shape),)


def _shifted(call: Call, index: int, axis: int) -> Array:
    """An input minus its zero point: a scalar, or one number for each place on `axis` of the matrices."""
    values, point = call.array(index).astype(np.int64), call.optional(index + 2)
    if point is None:
        return values
    zero, shape = point.array.astype(np.int64), values.shape
    if zero.size == 1:
        return np.asarray(values - zero.reshape(()))
    if zero.ndim == 1 and len(shape) == 2 and zero.shape[0] == shape[axis]:
        zero = np.expand_dims(zero, -3 - axis)
    expected = (*shape[:-2], shape[-2], 1) if axis == -2 else (*shape[:-2], 1, shape[-1])
    if zero.shape != expected:
        raise KernelError(f"zero points of shape {point.shape} are none for {shape}")
    return np.asarray(values - zero)


Label = str | int
"""A letter of an equation, or the place, counted from the last one, of a dimension that an ellipsis stands for."""


def _labels(term: str, rank: int) -> list[Label]:
    """One label for each dimension of an operand."""
    before, ellipsis, after = term.partition("...")
    letters = [*before, *after]
    covered = rank - len(letters)
    if any(letter not in string.ascii_letters for letter in letters) or covered < 0 or (covered and not ellipsis):
        raise KernelError(f"{term!r} is no term for rank {rank}")
    return [*before, *range(-covered, 0), *after]


def _equation(call: Call) -> tuple[list[list[Label]], list[Label]]:
    """The labels of each operand and those of the result."""
    terms, arrow, target = call.text("equation", "").replace(" ", "").partition("->")
    if len(terms.split(",")) != len(call.inputs):
        raise KernelError(f"{terms!r} is not of {len(call.inputs)} operands")
    operands = [_labels(term, len(call.shape(index))) for index, term in enumerate(terms.split(","))]
    every = [label for operand in operands for label in operand]
    widest = max((-label for label in every if isinstance(label, int)), default=0)
    if not arrow:
        once = sorted(label for label in set(every) if isinstance(label, str) and every.count(label) == 1)
        return operands, [*range(-widest, 0), *once]
    letters = len(target.replace("...", ""))
    result = _labels(target, letters + (widest if "..." in target else 0))
    if len(set(result)) != len(result) or not set(result) <= set(every):
        raise KernelError(f"{target!r} is no result of {terms!r}")
    return operands, result


def _sizes(call: Call, operands: Sequence[Sequence[Label]]) -> dict[Label, int]:
    sizes: dict[Label, int] = {}
    for index, labels in enumerate(operands):
        for label, size in zip(labels, call.shape(index), strict=True):
            known = sizes.setdefault(label, size)
            if (size not in (known, 1) and known != 1) or (size != known and isinstance(label, str)):
                raise KernelError(f"a dimension of the equation is {known} and {size}")
            sizes[label] = max(known, size) if 0 not in (known, size) else 0
    return sizes


def _einsum_results(call: Call) -> tuple[Result, ...]:
    operands, result = _equation(call)
    sizes = _sizes(call, operands)
    if math.prod(sizes.values()) > _MOST_PRODUCTS_AT_ONCE:
        raise KernelError(f"it takes more than {_MOST_PRODUCTS_AT_ONCE} products")
    return (Result(call.dtype(), tuple(sizes[label] for label in result)),)


def _einsum(call: Call) -> tuple[Array, ...]:
    (result,) = _einsum_results(call)
    operands, kept = _equation(call)
    sizes = _sizes(call, operands)
    order = [*kept, *(label for label in sizes if label not in kept)]
    with np.errstate(all="ignore"):
        products = np.ones((), np.float64 if result.dtype.kind == "float" else result.dtype.numpy)
        for index, labels in enumerate(operands):
            products = products * _aligned(as_double(call.array(index), result.dtype), labels, order)
        products = np.broadcast_to(products, [sizes[label] for label in order])
        summed = math.prod(sizes[label] for label in order[len(kept) :])
        rows = products.reshape((*result.shape, summed))
        made = settled(total(rows), result)
        check_range(total(magnitudes(rows)), made, result.dtype)
        return (made,)


def _aligned(values: Array, labels: Sequence[Label], order: Sequence[Label]) -> Array:
    """One dimension for each label of `order`, of size 1 where the operand has none; diagonals where it repeats one."""
    for label in dict.fromkeys(labels):
        places = [place for place, other in enumerate(labels) if other == label]
        for place in reversed(places[1:]):
            values = np.moveaxis(np.diagonal(values, 0, places[0], place), -1, places[0])
            labels = [other for index, other in enumerate(labels) if index != place]
    own = [label for label in order if label in labels]
    moved = values.transpose([labels.index(label) for label in own])
    sizes = iter(moved.shape)
    return moved.reshape([next(sizes) if label in labels else 1 for label in order])


def _is_inference(call: Call) -> bool:
    if call.opset >= 14:
        return not call.integer("training_mode", 0)
    return call.outputs == 1 and bool(call.opset >= 7 or call.integer("is_test", 0))


def _batch_results(call: Call) -> tuple[Result, ...]:
    shape = call.shape(0)
    if not _is_inference(call) or not call.integer("spatial", 1):
        raise KernelError("it trains, or normalizes not by channel")
    if len(shape) < 2 or any(call.shape(index) != shape[1:2] for index in range(1, 5)):
        raise KernelError(f"statistics are not of the channels of shape {shape}")
    return (Result(call.dtype(), shape),)


def _batch_normalization(call: Call) -> tuple[Array, ...]:
    (result,) = _batch_results(call)
    x, *rows = (as_double(call.array(index), call.dtype(index)) for index in range(5))
    scale, bias, mean, variance = (row.reshape([-1, *[1] * (x.ndim - 2)]) for row in rows)
    with np.errstate(all="ignore"):
        out = (x - mean) / np.sqrt(variance + call.number("epsilon", _EPSILON)) * scale + bias
        return (settled(out, result),)


def _layer_results(call: Call) -> tuple[Result, ...]:
    shape, rank = call.shape(0), len(call.shape(0))
    axis = axis_of(call.integer("axis", -1), rank)
    if call.integer("stash_type", 1) != TensorProto.FLOAT or call.dtype().bits > 32:
        raise KernelError("it does not compute in float")
    for index in (1, 2):
        if call.optional(index) is not None and _broadcast_shape(shape, call.shape(index)) != shape:
            raise KernelError(f"input {index} of shape {call.shape(index)} does not become {shape}")
    if 0 in shape[axis:]:
        raise KernelError("nothing has no mean")
    statistic = Result(_FLOAT, (*shape[:axis], *[1] * (rank - axis)))
    return (Result(call.dtype(), shape), statistic, statistic)[: max(call.outputs, 1)]


def _layer_normalization(call: Call) -> tuple[Array, ...]:
    """The first stage in double, rounded; then, as the document has it, scale and bias in the node's type."""
    results = _layer_results(call)
    axis = axis_of(call.integer("axis", -1), len(call.shape(0)))
    x = as_double(call.array(0), call.dtype())
    kept = x.shape[:axis]
    with np.errstate(all="ignore"):
        rows = x.reshape((*kept, math.prod(x.shape[axis:])))
        centered = rows - (total(rows) / rows.shape[-1])[..., None]
        inverse = 1 / np.sqrt(total(centered * centered) / rows.shape[-1] + call.number("epsilon", _EPSILON))
        out = settled(centered * inverse[..., None], results[0])
        for index, function in ((1, np.multiply), (2, np.add)):
            if call.optional(index) is not None:
                out = settled(
                    function(as_double(out, call.dtype()), as_double(call.array(index), call.dtype())), results[0]
                )
        statistics = (total(rows) / rows.shape[-1], inverse)
        return out, *(settled(item, result) for item, result in zip(statistics, results[1:], strict=False))


def _lp_axis(call: Call) -> int:
    if call.integer("p", 2) not in (1, 2):
        raise KernelError(f"p {call.integer('p')} is neither 1 nor 2")
    return axis_of(call.integer("axis", -1), len(call.shape(0)))


def _lp_results(call: Call) -> tuple[Result, ...]:
    _lp_axis(call)
    return (Result(call.dtype(), call.shape(0)),)


def _lp_normalization(call: Call) -> tuple[Array, ...]:
    (result,) = _lp_results(call)
    rows = np.moveaxis(as_double(call.array(0), result.dtype), _lp_axis(call), -1)
    with np.errstate(all="ignore"):
        norm = total(np.abs(rows)) if call.integer("p", 2) == 1 else np.sqrt(total(rows * rows))
        if ((norm == 0) & (rows != 0).any(axis=-1)).any():
            raise KernelError("squares are too small for a norm")
        # A norm of 0 gives 0, by definition.
        values = np.where(norm[..., None] == 0, 0, rows / norm[..., None])
        return (settled(np.moveaxis(values, -1, _lp_axis(call)), result),)


def _response_results(call: Call) -> tuple[Result, ...]:
    if len(call.shape(0)) < 3 or call.integer("size") < 1:
        raise KernelError(f"size {call.integer('size')} is none for channels of shape {call.shape(0)}")
    return (Result(call.dtype(), call.shape(0)),)


def _response_normalization(call: Call) -> tuple[Array, ...]:
    """LRN: the squares of `size` channels around each one, more of them after it where `size` is even."""
    (result,) = _response_results(call)
    size, channels = call.integer("size"), call.shape(0)[1]
    with np.errstate(all="ignore"):
        x = widened(call.array(0), result.dtype)
        squares = np.zeros_like(x)
        for offset in range(-((size - 1) // 2), size // 2 + 1):
            kept = slice(max(0, -offset), max(0, channels - max(0, offset)))
            source = slice(max(0, offset), max(0, channels - max(0, -offset)))
            squares[:, kept] += x[:, source] * x[:, source]
        scale = call.number("bias", 1.0) + call.number("alpha", _ALPHA) / size * squares
        return (settled(x / scale ** call.number("beta", 0.75), result),)


def _summing(
    operator: str,
    since: int,
    last: int,
    results: Callable[[Call], tuple[Result, ...]],
    evaluate: Callable[[Call], tuple[Array, ...]],
) -> Kernel:
    policy = (
        "Products are added in double, in a fixed order, and rounded once to the node's type; integers wrap around."
    )
    return Kernel(operator, "", since, last, policy, results, evaluate, is_rounded=True)


PRODUCT: tuple[Kernel, ...] = (
    _summing("MatMul", 1, 13, _matmul_results, _matmul),
    _summing("Gemm", 1, 13, _gemm_results, _gemm),
    _summing("Einsum", 12, 28, _einsum_results, _einsum),
    _summing("BatchNormalization", 1, 15, _batch_results, _batch_normalization),
    _summing("LayerNormalization", 17, 17, _layer_results, _layer_normalization),
    _summing("LpNormalization", 1, 22, _lp_results, _lp_normalization),
    _summing("LRN", 1, 13, _response_results, _response_normalization),
    Kernel(
        "MatMulInteger", "", 10, 10, "Exact; sums beyond 32 bits are left alone.", _integer_results, _integer_product
    ),
)
"""MatMul, Gemm, Einsum, BatchNormalization (inference), LayerNormalization, LpNormalization, LRN, MatMulInteger."""
