"""Operators on shapes: what reads a shape, gives data another one, or makes data of one.

Sources: the documents of all versions of the operators in ONNX opsets 1 to 28.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import ml_dtypes
import numpy as np
from onnx import TensorProto

from maxfold.model.broadcast import BroadcastError, numpy_shape
from maxfold.model.dtypes import DType, from_onnx
from maxfold.model.graph import Constant
from maxfold.model.reading import places_read_together
from maxfold.passes.kernels.call import Array, Call, KernelError, Piecewise, Result, Shape, axis_of
from maxfold.passes.kernels.kernel import Kernel
from maxfold.passes.signature_table import result_types

EXACT_MOVE = "Elements are moved bit by bit; nothing is computed."

# Since this opset an axis may count from the back, where the operator's first version did not say so.
NEGATIVE_AXES_SINCE = 11


def known_dtype(value: int) -> DType:
    """The element type of a `TensorProto.DataType` value; KernelError where there is none."""
    dtype = from_onnx(value)
    if dtype is None:
        raise KernelError(f"element type {value} is not known")
    return dtype


INT64 = known_dtype(TensorProto.INT64)


def version_axis(call: Call, axis: int, rank: int) -> int:
    """The axis counted from the front, for operators whose axes were not negative before opset 11."""
    if axis < 0 and call.opset < NEGATIVE_AXES_SINCE:
        raise KernelError(f"axis {axis} is negative before opset {NEGATIVE_AXES_SINCE}")
    return axis_of(axis, rank)


def distinct_axes(call: Call, axes: Sequence[int], rank: int) -> list[int]:
    """The axes counted from the front, none of them twice."""
    found = [version_axis(call, axis, rank) for axis in axes]
    if len(set(found)) != len(found):
        raise KernelError(f"axes {list(axes)} name a dimension twice")
    return found


def vector(call: Call, index: int) -> list[int]:
    """The integers of an input of rank 1."""
    if len(call.shape(index)) != 1:
        raise KernelError(f"input {index} has shape {call.shape(index)}, and not one dimension")
    return whole_numbers(call.array(index))


def whole_numbers(values: Array) -> list[int]:
    """The elements as integers: first versions of some operators took sizes in the type of the data."""
    flat: list[float] = values.reshape(-1).tolist()
    if not all(math.isfinite(item) and item == int(item) for item in flat):
        raise KernelError(f"{flat} are no whole numbers")
    return [int(item) for item in flat]


def digits_of(array: Array) -> int:
    """The binary digits of a float array's type, the hidden one included."""
    return int(ml_dtypes.finfo(array.dtype).nmant) + 1  # type: ignore[no-untyped-call]  # ml_dtypes is not


def scalar(call: Call, index: int) -> Array:
    """The one element of an input of rank 0, or of rank 1 as exporters have it, as an array of rank 0."""
    shape = call.shape(index)
    if len(shape) > 1 or math.prod(shape) != 1:
        raise KernelError(f"input {index} has shape {shape}, and is no scalar")
    return call.array(index).reshape(())


def _check_output_type(operator: str, opset: int, dtype: DType) -> None:
    if f"tensor({dtype})" not in result_types(operator, opset):
        raise KernelError(f"{operator} of opset {opset} has no result of type {dtype}")


def _dimensions(call: Call) -> Shape:
    """What Shape gives. Slices of Python clamp `start` and `end` as the operator does."""
    shape = call.shape(0)
    return shape[call.integer("start", 0) : call.integer("end", len(shape))]


def _reshaped(call: Call) -> Shape:
    target = call.integers("shape") if call.opset < 5 else vector(call, 1)
    return _resolve(call.shape(0), target, keeps_zero=bool(call.integer("allowzero", 0)))


def _resolve(shape: Shape, target: Sequence[int], *, keeps_zero: bool) -> Shape:
    """The shape that `target` means for data of `shape`: -1 is what is left, 0 (unless kept) is copied."""
    if any(size < -1 for size in target) or target.count(-1) > 1:
        raise KernelError(f"{list(target)} is no shape to reshape to")
    if keeps_zero and 0 in target and -1 in target:
        raise KernelError("0 and -1 are together in a shape with allowzero")
    if not keeps_zero and any(size == 0 and place >= len(shape) for place, size in enumerate(target)):
        raise KernelError(f"a 0 of {list(target)} copies no dimension of {shape}")
    sizes = [shape[place] if size == 0 and not keeps_zero else size for place, size in enumerate(target)]
    total, known = math.prod(shape), math.prod(size for size in sizes if size != -1)
    if -1 in sizes and (known == 0 or total % known):
        raise KernelError(f"the -1 of {list(target)} has no size for shape {shape}")
    resolved = tuple(total // known if size == -1 else size for size in sizes)
    if math.prod(resolved) != total:
        raise KernelError(f"shape {shape} has not as many elements as {resolved}")
    return resolved


def _flattened(call: Call) -> Shape:
    shape, axis = call.shape(0), call.integer("axis", 1)
    split = axis if axis == len(shape) else version_axis(call, axis, len(shape))
    return math.prod(shape[:split]), math.prod(shape[split:])


def _squeezed(call: Call) -> Shape:
    shape, axes = call.shape(0), call.axes(1)
    if axes is None:
        return tuple(size for size in shape if size != 1)
    if not axes:
        raise KernelError("axes is empty, which means no axis to some and all to others")
    dropped = distinct_axes(call, axes, len(shape))
    if any(shape[axis] != 1 for axis in dropped):
        raise KernelError(f"dimensions {axes} of {shape} are not all 1")
    return tuple(size for axis, size in enumerate(shape) if axis not in dropped)


def _unsqueezed(call: Call) -> Shape:
    axes = call.axes(1)
    if axes is None:
        raise KernelError("axes is left out")
    rank = len(call.shape(0)) + len(axes)
    added = distinct_axes(call, axes, rank)
    sizes = iter(call.shape(0))
    return tuple(1 if axis in added else next(sizes) for axis in range(rank))


def _expanded(call: Call) -> Shape:
    try:
        return numpy_shape(call.shape(0), vector(call, 1))
    except BroadcastError as error:
        raise KernelError(str(error)) from error


def _fill_value(call: Call) -> tuple[DType, Array]:
    """The type and the one element that ConstantOfShape repeats; positive float32 zero by default."""
    value = call.attributes.get("value")
    if value is None:
        return known_dtype(TensorProto.FLOAT), np.zeros((), np.float32)
    if not isinstance(value, Constant) or value.data.dtype is None or math.prod(value.data.shape) != 1:
        raise KernelError("attribute value is not a tensor of one element")
    _check_output_type("ConstantOfShape", call.opset, value.data.dtype)
    return value.data.dtype, value.values.reshape(())


def _constant_results(call: Call) -> tuple[Result, ...]:
    shape = tuple(vector(call, 0))
    if any(size < 0 for size in shape):
        raise KernelError(f"{shape} has a negative size")
    return (Result(_fill_value(call)[0], shape),)


def _constant(call: Call) -> tuple[Array, ...]:
    (result,) = _constant_results(call)
    return (np.full(result.shape, _fill_value(call)[1], result.dtype.numpy),)


def _eye_results(call: Call) -> tuple[Result, ...]:
    if len(call.shape(0)) != 2:
        raise KernelError(f"shape {call.shape(0)} is no matrix")
    dtype = known_dtype(call.integer("dtype")) if "dtype" in call.attributes else call.dtype()
    _check_output_type("EyeLike", call.opset, dtype)
    return (Result(dtype, call.shape(0)),)


def _eye(call: Call) -> tuple[Array, ...]:
    (result,) = _eye_results(call)
    rows, columns = result.shape
    row = np.arange(rows)[:, None]
    return ((np.arange(columns) - row == call.integer("k", 0)).astype(result.dtype.numpy),)


def _range_results(call: Call) -> tuple[Result, ...]:
    start, limit, delta = (scalar(call, index) for index in range(3))
    return (Result(call.dtype(), (_range_count(start, limit, delta),)),)


def _range_count(start: Array, limit: Array, delta: Array) -> int:
    """How many numbers there are, where all ways to compute it agree."""
    if delta == 0:
        raise KernelError("delta is 0")
    if start.dtype.kind in "iu":
        return max(0, -(-(int(limit) - int(start)) // int(delta)))
    if not all(math.isfinite(float(item)) for item in (start, limit, delta)):
        raise KernelError("start, limit or delta is not finite")
    a, b, step = (Fraction(float(item)) for item in (start, limit, delta))
    count = max(0, math.ceil((b - a) / step))
    for dtype in (start.dtype, np.dtype(np.float32), np.dtype(np.float64)):
        with np.errstate(all="ignore"):
            steps = float((limit.astype(dtype) - start.astype(dtype)) / delta.astype(dtype))
        if not math.isfinite(steps) or max(0, math.ceil(steps)) != count:
            raise KernelError("how many numbers there are depends on rounding")
    return count


def _range(call: Call) -> tuple[Array, ...]:
    start, limit, delta = (scalar(call, index) for index in range(3))
    count = _range_count(start, limit, delta)
    if start.dtype.kind not in "iu":
        _check_exact_steps(start, delta, count)
        return ((float(start) + np.arange(count) * float(delta)).astype(start.dtype),)
    return ((int(start) + np.arange(count) * int(delta)).astype(start.dtype),)


def _check_exact_steps(start: Array, delta: Array, count: int) -> None:
    """Raises KernelError unless each product and sum is a number of the type: runtimes add up, the document multiplies.

    All of them are whole multiples of one power of two, so those of few enough digits are exact.
    """
    if start == 0 and np.signbit(start):
        raise KernelError("start is -0.0, which some runtimes make +0.0")
    a, step = Fraction(float(start)), Fraction(float(delta))
    denominator = max(a.denominator, step.denominator)
    whole_start, whole_step = int(a * denominator), int(step * denominator)
    common = math.gcd(whole_start, whole_step)
    unit = common & -common
    largest = max(abs(whole_start), abs(whole_step) * count, abs(whole_start + whole_step * count))
    if largest // unit > 1 << digits_of(start):
        raise KernelError("the numbers are rounded, and runtimes do so at different steps")


def _permutation(call: Call) -> list[int]:
    rank = len(call.shape(0))
    permutation = call.integers("perm", range(rank - 1, -1, -1))
    if sorted(permutation) != list(range(rank)):
        raise KernelError(f"perm {permutation} is no permutation of {rank} axes")
    return permutation


def _transposed_results(call: Call) -> tuple[Result, ...]:
    return (Result(call.dtype(), tuple(call.shape(0)[axis] for axis in _permutation(call))),)


def _transposed(call: Call) -> tuple[Array, ...]:
    return (call.array(0).transpose(_permutation(call)).copy(),)


def _transposed_pieces(call: Call) -> tuple[Piecewise, ...]:
    permutation, operand = _permutation(call), call.operand(0)
    first = permutation[0]

    def rows(part: slice) -> Array:
        return operand.along(first, part).transpose(permutation).copy()

    return (Piecewise(rows, places_read_together(operand.dtype, operand.shape, first)),)


def _same_data(operator: str, since: int, last: int, shape: Callable[[Call], Shape]) -> Kernel:
    """An operator that gives the first input's elements, in their order, another shape."""
    return Kernel(
        operator=operator,
        domain="",
        since_version=since,
        last_version=last,
        numeric_policy=EXACT_MOVE,
        results=lambda call: (Result(call.dtype(), shape(call)),),
        evaluate=lambda call: (call.array(0).reshape(shape(call)).copy(),),
        keeps_bytes=True,
    )


def _made(
    operator: str,
    since: int,
    last: int,
    results: Callable[[Call], tuple[Result, ...]],
    evaluate: Callable[[Call], tuple[Array, ...]],
    policy: str = "Exact.",
    *,
    pieces: Callable[[Call], tuple[Piecewise, ...]] | None = None,
) -> Kernel:
    return Kernel(operator, "", since, last, policy, results, evaluate, pieces=pieces)


SHAPE: tuple[Kernel, ...] = (
    _made(
        "Shape", 1, 25,
        lambda call: (Result(INT64, (len(_dimensions(call)),)),),
        lambda call: (np.array(_dimensions(call), np.int64),),
    ),
    _made(
        "Size", 1, 25,
        lambda call: (Result(INT64, ()),),
        lambda call: (np.array(math.prod(call.shape(0)), np.int64),),
    ),
    _same_data("Reshape", 1, 25, _reshaped),
    _same_data("Flatten", 1, 25, _flattened),
    _same_data("Squeeze", 1, 25, _squeezed),
    _same_data("Unsqueeze", 1, 25, _unsqueezed),
    _same_data("Identity", 1, 25, lambda call: call.shape(0)),
    _made(
        "Expand", 8, 13,
        lambda call: (Result(call.dtype(), _expanded(call)),),
        lambda call: (np.broadcast_to(call.array(0), _expanded(call)).copy(),),
        EXACT_MOVE,
    ),
    _made("ConstantOfShape", 9, 25, _constant_results, _constant),
    _made("EyeLike", 9, 22, _eye_results, _eye),
    _made(
        "Range", 11, 27, _range_results, _range,
        "Exact; floats whose count or values depend on where a runtime rounds are left alone.",
    ),
    _made("Transpose", 1, 25, _transposed_results, _transposed, EXACT_MOVE, pieces=_transposed_pieces),
)  # fmt: skip
"""Shape, Size, Reshape, Flatten, Squeeze, Unsqueeze, Identity, Expand, ConstantOfShape, EyeLike, Range, Transpose."""
