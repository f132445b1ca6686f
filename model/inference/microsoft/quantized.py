"""Quantized operators of ONNX Runtime: integers with a scale and a zero point beside each operand."""

from __future__ import annotations

from maxfold.model.inference.call import Call, Dims, normal_axes, normal_axis
from maxfold.model.inference.concatenation import joined
from maxfold.model.inference.contraction import UINT8
from maxfold.model.inference.convolution import convolution, windowed
from maxfold.model.inference.elementwise import FLOAT, broadcast_dims
from maxfold.model.inference.facts import Fact, Unknown
from maxfold.model.inference.microsoft.fused import product
from maxfold.model.inference.microsoft.row import agreed, last_dim, number, positive, ranked, scalars
from maxfold.model.inference.symbolic import Dim

# Operands of QLinearConcat after its result's scale and zero point: a tensor, its scale and its zero point each.
_FIRST, _EACH = 2, 3
_GATES = 4


def dynamic_quantize_lstm(call: Call) -> list[Fact]:
    """DynamicQuantizeLSTM: weights are [directions, inputs, 4 * hidden], the transpose of LSTM's."""
    hidden = positive(call, "hidden_size")
    directions = 2 if call.attribute("direction", "forward") == "bidirectional" else 1
    length, rows, width = ranked(call, 0, 3)
    batch = agreed(rows, ranked(call, 4, 1)[0])
    for index, sizes in ((1, (directions, width, _GATES * hidden)), (2, (directions, hidden, _GATES * hidden))):
        _fits(ranked(call, index, 3), sizes)
    for index, gates in ((3, 2 * _GATES), (7, _GATES - 1)):
        _fits(ranked(call, index, 2), (directions, gates * hidden))
    for index in (5, 6):
        state = ranked(call, index, 3)
        _fits(state, (directions, batch, hidden))
        batch = agreed(batch, state[1])
    last = Fact(FLOAT, (directions, batch, hidden))
    return [Fact(FLOAT, (length, directions, batch, hidden)), last, last]


def _fits(dims: Dims, wanted: Dims) -> None:
    for pair in zip(dims, wanted, strict=True):
        agreed(*pair)


def dynamic_quantize_matmul(call: Call) -> Fact:
    """DynamicQuantizeMatMul: a product of floats and integers."""
    return Fact(FLOAT, product(call.dims(0), call.dims(1)))


def matmul_integer_to_float(call: Call) -> Fact:
    """MatMulIntegerToFloat: of the type of the scales."""
    return Fact(call.dtype(2) or call.dtype(3), product(call.dims(0), call.dims(1)))


def quantized_gemm(call: Call) -> Fact:
    """QGemm: of the first operand's type, or float without a scale of the result."""
    (rows, left), (right, columns) = (
        ranked(call, index, 2)[:: -1 if call.attribute(flag, 0) else 1]
        for index, flag in ((0, "transA"), (3, "transB"))
    )
    agreed(left, right)
    dtype = call.dtype(8) if call.has(8) else FLOAT
    return Fact(dtype, (rows, columns))


def broadcast_pair(call: Call) -> Fact:
    """QLinearAdd and QLinearMul. Kernels take scales of one element, static checks scalars."""
    scalars(call, 1, 2, 4, 5, 6, 7)
    return Fact(call.dtype(0) or call.dtype(3), broadcast_dims([call.dims(0), call.dims(3)]))


def where(call: Call) -> Fact:
    """QLinearWhere: a condition and two tensors, which broadcast."""
    return Fact(call.dtype(1) or call.dtype(4), broadcast_dims([call.dims(0), call.dims(1), call.dims(4)]))


def concat(call: Call) -> Fact:
    """QLinearConcat: of the type of the result's zero point. Static checks compare empty operands too."""
    tensors, axis = range(_FIRST, call.input_count, _EACH), number(call, "axis")
    if (call.input_count - _FIRST) % _EACH:
        raise ValueError("each tensor needs a scale and a zero point")
    shapes = [dims for index in tensors if (dims := call.dims(index)) is not None]
    if len({len(dims) for dims in shapes}) > 1:
        raise ValueError("the tensors have several ranks")
    for place, sizes in enumerate(zip(*shapes, strict=True)):
        if place != normal_axis(axis, len(shapes[0])):
            agreed(*sizes)
    return Fact(call.dtype(1), joined(call, tensors, axis).dims)


def global_average_pool(call: Call) -> Fact:
    """QLinearGlobalAveragePool: one element of each spatial axis."""
    dims = call.known_dims(0)
    if len(dims) < _EACH:
        raise ValueError("it takes an input of 3 dimensions or more")
    ones = (1,) * (len(dims) - 2)
    is_last = bool(call.attribute("channels_last", 0))
    return Fact(call.dtype(0), (dims[0], *ones, dims[-1]) if is_last else (*dims[:2], *ones))


def average_pool(call: Call) -> Fact:
    """QLinearAveragePool. Kernels take scales of one element, static checks scalars."""
    scalars(call, 1, 2, 3, 4)
    return _pooled(call, is_last=bool(call.attribute("channels_last", 0)))


def max_pool_nhwc(call: Call) -> Fact:
    """NhwcMaxPool: channels stand last."""
    return _pooled(call, is_last=True)


def _pooled(call: Call, *, is_last: bool) -> Fact:
    dims, kernel = call.known_dims(0), call.integers("kernel_shape")
    if kernel is None or len(kernel) != len(dims) - 2:
        raise ValueError("kernel_shape has not one size for each spatial axis")
    sizes = dims[1:-1] if is_last else dims[2:]
    spatial = windowed(call, sizes, kernel, rounds_up=bool(call.attribute("ceil_mode", 0)))
    return Fact(call.dtype(0), (dims[0], *spatial, dims[-1]) if is_last else (*dims[:2], *spatial))


def conv(call: Call) -> Fact:
    """QLinearConv of com.microsoft: channels may stand last, filters are the same."""
    dims, dtype = call.known_dims(0), call.dtype(7)
    filters = ranked(call, 3, len(dims))
    if 0 in filters:
        raise ValueError("it has empty filters")
    if not call.attribute("channels_last", 0):
        return Fact(dtype, convolution(call, 3))
    kernel = call.integers("kernel_shape") or filters[2:]
    return Fact(dtype, (dims[0], *windowed(call, dims[1:-1], kernel), filters[0]))


def reduce_mean(call: Call) -> Fact:
    """QLinearReduceMean."""
    dims, given = call.known_dims(0), call.integers("axes")
    axes = set(normal_axes(given, len(dims)) if given else range(len(dims)))
    keeps = bool(call.attribute("keepdims", 1))
    left = tuple(1 if axis in axes else dim for axis, dim in enumerate(dims) if keeps or axis not in axes)
    return Fact(call.dtype(0), left)


def quantize(call: Call) -> Fact:
    """QuantizeLinear of com.microsoft: to the type of the zero point, UINT8 without one."""
    return Fact(call.dtype(2) if call.has(2) else UINT8, _scaled_dims(call))


def dequantize(call: Call) -> Fact:
    """DequantizeLinear of com.microsoft: to the type of the scale."""
    return Fact(call.dtype(1), _scaled_dims(call))


def _scaled_dims(call: Call) -> tuple[Dim, ...] | None:
    """The dims of what is scaled, by a scalar or by a vector along an axis, which is 1 where none is named."""
    scale = call.dims(1)
    if scale is not None and len(scale) > 1:
        raise ValueError("its scale has more than one dimension")
    return call.dims(0)


def gather_block(call: Call) -> Fact:
    """GatherBlockQuantized: bytes of the data hold two elements of 4 bits, along the last axis."""
    dims, indices, data = call.known_dims(0), call.known_dims(1), call.dtype(0)
    if data is None:
        raise Unknown
    bits = number(call, "bits", 4)
    if data.name == "UINT8" and bits == 4:
        dims = (*dims[:-1], dims[-1] * 2)
    axis = normal_axis(number(call, "gather_axis", 0), len(dims))
    return Fact(call.dtype(2), dims[:axis] + indices + dims[axis + 1 :])


def softmax(call: Call) -> Fact:
    """QLinearSoftmax: like the input, along an axis that it has."""
    last_dim(call, 0)
    dims = call.dims(0)
    if dims is not None:
        normal_axis(number(call, "axis", -1), len(dims))
    return call.fact(0).without_value()
