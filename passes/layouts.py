"""What an operator has to be for its result on permuted operands to be the permuted result: one row an operator.

`moved` gives the attributes and constants of a node in another order of axes. Rows are exact unless they say otherwise:
ONNX Runtime computes some functions otherwise at the end of a row of elements than inside it, and adds up in another
order along another axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from maxfold.model.data import Array, SparseData
from maxfold.model.graph import Constant, Node
from maxfold.model.records import frozen_value
from maxfold.model.view import View
from maxfold.passes.nodes import axes as listed_axes
from maxfold.passes.nodes import integer, integers, known_integers, operand, text
from maxfold.passes.slices import INPUTS_OPSET

# From these operator sets on: operands broadcast as numpy does; Sum and its like do; Softmax is along one axis; pads,
# repeats and axes are inputs.
_BROADCASTING_OPSET = 7
_VARIADIC_OPSET = 8
_ONE_AXIS_OPSET = 13
_PADS_OPSET = 11
_RESIZE_OPSET = 11
_ONLY_RELAXED = "only with --math relaxed: the runtime may round otherwise in another order of axes"


class Refusal(Exception):  # noqa: N818  # no error: rows leave with it
    """Why a node cannot work in another order of axes."""


@frozen_value
class Moved:
    """A node in another order of axes.

    Operands at the places `carried` are permuted, as are the `constants`, which get leading axes of 1 before;
    `replaced` are new values of other constants, and `attributes` are those that change. The results are permuted too,
    unless `moves_results` is false: then they stay as they are.
    """

    carried: tuple[int, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    constants: dict[int, Constant] = field(default_factory=dict)
    replaced: dict[int, Array] = field(default_factory=dict)
    moves_results: bool = True


@frozen_value
class Site:
    """A node, and the order that its operands come in: axis i is axis `order[i]` of before."""

    node: Node
    order: tuple[int, ...]
    opset: int
    view: View

    @property
    def rank(self) -> int:
        return len(self.order)

    @property
    def last(self) -> int:
        return len(self.order) - 1

    def axis(self, axis: int) -> int:
        """An axis, counted from the front."""
        if not -self.rank <= axis < self.rank:
            raise Refusal("it has an axis that is none")
        return axis % self.rank

    def place(self, axis: int) -> int:
        """Where an axis is from now on."""
        return self.order.index(self.axis(axis))

    def permuted(self, values: Sequence[Any]) -> list[Any]:
        """One value an axis, in the new order."""
        if len(values) != self.rank:
            raise Refusal("it does not have one value an axis")
        return [values[axis] for axis in self.order]

    def known(self, index: int) -> list[int]:
        """A constant list of integers."""
        found = known_integers(operand(self.node, index), self.view)
        if found is None:
            raise Refusal(f"input {index} is not constant")
        return found

    def like(self, index: int, values: Sequence[Any]) -> Array:
        """A list of the element type that an input has."""
        kind = self.view.dtype(self.node.inputs[index])
        if kind is None:
            raise Refusal(f"the type of input {index} is not known")
        return np.array(values, kind.numpy)

    def need_relaxed(self) -> None:
        if self.view.math != "relaxed":
            raise Refusal(_ONLY_RELAXED)


Row = Callable[[Site], Moved]


def moved(site: Site) -> Moved:
    """The node in another order of axes. Raises `Refusal` with the reason where it cannot be."""
    if operand(site.node, 0) is None or not site.node.outputs:
        raise Refusal("it is malformed")
    found = ROWS[site.node.op](site)
    if any(operand(site.node, index) is None for index in found.carried):
        raise Refusal("it is malformed")
    data = [site.node.inputs[index] for index in found.carried]
    if not data or any(site.view.rank(tensor) != site.rank for tensor in data):
        raise Refusal("its operands have other ranks")
    if found.moves_results and any(site.view.rank(item) != site.rank for item in site.node.outputs if item.name):
        raise Refusal("its results have another rank")
    return found


def permuted_shape(constant: Constant, order: Sequence[int]) -> tuple[int, ...]:
    """The shape that a constant gets in another order, leading axes of 1 before."""
    shape = _padded(constant, len(order))
    return tuple(shape[axis] for axis in order)


def permuted_array(array: Array, order: Sequence[int]) -> Array:
    """The values of a constant in another order, leading axes of 1 before."""
    padded = array.reshape((1,) * (len(order) - array.ndim) + array.shape)
    return np.ascontiguousarray(np.transpose(padded, order))


def _padded(constant: Constant, rank: int) -> tuple[int, ...]:
    return (1,) * (rank - len(constant.data.shape)) + constant.data.shape


def _unary(site: Site) -> Moved:
    return Moved((0,))


def _unsteady(site: Site) -> Moved:
    """Computed by vectors of elements, and otherwise for those that are left over."""
    site.need_relaxed()
    return Moved((0,))


def _unsteady_in_double(site: Site) -> Moved:
    dtype = site.view.dtype(site.node.outputs[0])
    return _unsteady(site) if dtype is None or dtype.bits > 32 else _unary(site)


def _elementwise(site: Site) -> Moved:
    """All operands broadcast together."""
    if site.opset < _BROADCASTING_OPSET:
        raise Refusal("operands broadcast otherwise in this operator set")
    carried, constants = [], {}
    for index, tensor in enumerate(site.node.inputs):
        if not tensor.name or site.view.rank(tensor) == 0:
            continue
        constant = site.view.constant(tensor)
        if constant is None:
            carried.append(index)
        elif _is_moved(constant, site):
            constants[index] = constant
    return Moved(tuple(carried), constants=constants)


def _is_moved(constant: Constant, site: Site) -> bool:
    """Whether a constant that broadcasts has to be permuted; one of one element broadcasts as it is."""
    if isinstance(constant.data, SparseData) or len(constant.data.shape) > site.rank:
        raise Refusal(f"{constant.name!r} is no constant of so few axes")
    return math.prod(constant.data.shape) != 1


def _variadic(site: Site) -> Moved:
    if site.opset < _VARIADIC_OPSET:
        raise Refusal("operands do not broadcast in this operator set")
    return _elementwise(site)


def _power(site: Site) -> Moved:
    """ONNX Runtime multiplies where several elements in a row have one exponent of 2 or 3, elsewhere it calls pow."""
    exponent = operand(site.node, 1)
    found = None if exponent is None else site.view.constant(exponent)
    if found is None or math.prod(found.data.shape) != 1:
        site.need_relaxed()
    return _elementwise(site)


def _quantization(site: Site) -> Moved:
    if integer(site.node, "block_size", 0):
        raise Refusal("it has a scale for each block")
    scale = operand(site.node, 1)
    shape = None if scale is None else site.view.shape(scale)
    if shape is None:
        raise Refusal("the shape of its scale is not known")
    if shape in ((), (1,)):
        return Moved((0,))
    if site.opset < _ONE_AXIS_OPSET or len(shape) != 1:
        raise Refusal("its scale has several axes")
    return Moved((0,), {"axis": site.place(integer(site.node, "axis", 1))})


def _concat(site: Site) -> Moved:
    attributes = {"axis": site.place(integer(site.node, "axis"))}
    carried, constants = [], {}
    for index, tensor in enumerate(site.node.inputs):
        constant = site.view.constant(tensor)
        if constant is None:
            carried.append(index)
        elif isinstance(constant.data, SparseData) or len(constant.data.shape) != site.rank:
            raise Refusal(f"{constant.name!r} is no constant of as many axes")
        else:
            constants[index] = constant
    return Moved(tuple(carried), attributes, constants)


def _split(site: Site) -> Moved:
    return Moved((0,), {"axis": site.place(integer(site.node, "axis", 0))})


def _gather(site: Site) -> Moved:
    indices = operand(site.node, 1)
    if indices is None or site.view.rank(indices) != 1:
        raise Refusal("its indices are not along one axis")
    return Moved((0,), {"axis": site.place(integer(site.node, "axis", 0))})


def _slice(site: Site) -> Moved:
    node, view = site.node, site.view
    if site.opset < INPUTS_OPSET:
        axes = integers(node, "axes", list(range(len(integers(node, "starts")))))
        return Moved((0,), {"axes": [site.place(axis) for axis in axes]})
    if operand(node, 3) is not None:
        return Moved((0,), replaced={3: site.like(3, [site.place(axis) for axis in site.known(3)])})
    starts = operand(node, 1)
    shape = None if starts is None else view.shape(starts)
    if not shape or shape[0] is None:
        raise Refusal("its axes are not known")
    return Moved((0,), replaced={3: site.like(1, [site.place(axis) for axis in range(shape[0])])})


def _pad(site: Site) -> Moved:
    if site.opset < 2:
        raise Refusal("pads have another name in this operator set")
    if operand(site.node, 3) is not None:
        return Moved((0,), replaced={3: site.like(3, [site.place(axis) for axis in site.known(3)])})
    is_input = site.opset >= _PADS_OPSET
    pads = site.known(1) if is_input else integers(site.node, "pads")
    moved_pads = [*site.permuted(pads[: site.rank]), *site.permuted(pads[site.rank :])]
    return Moved((0,), replaced={1: site.like(1, moved_pads)}) if is_input else Moved((0,), {"pads": moved_pads})


def _tile(site: Site) -> Moved:
    return Moved((0,), replaced={1: site.like(1, site.permuted(site.known(1)))})


def _expand(site: Site) -> Moved:
    target = site.known(1)
    return Moved((0,), replaced={1: site.like(1, site.permuted([1] * (site.rank - len(target)) + target))})


def _resize(site: Site) -> Moved:
    """Of nearest elements: each axis by itself. Runtimes want the axes of other modes in certain places."""
    node = site.node
    if site.opset < _RESIZE_OPSET or text(node, "mode", "nearest") != "nearest":
        raise Refusal("it computes between elements, or has another form in this operator set")
    if text(node, "coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize":
        raise Refusal("it crops")
    if "axes" in node.attrs:
        return Moved((0,), {"axes": [site.place(axis) for axis in integers(node, "axes")]})
    replaced: dict[int, Array] = {}
    for index in (2, 3):
        tensor = operand(node, index)
        if tensor is None or site.view.shape(tensor) == (0,):
            continue
        constant = site.view.constant(tensor)
        if constant is None or constant.data.shape != (site.rank,):
            raise Refusal(f"input {index} is not constant")
        replaced[index] = constant.values[list(site.order)]
    return Moved((0,), replaced=replaced)


def _along_last(site: Site) -> Moved:
    """A norm: each row by itself as long as its axis stays the last one; never away from there."""
    default = -1 if site.opset >= _ONE_AXIS_OPSET else 1
    axis = site.axis(integer(site.node, "axis", default))
    place = site.place(axis)
    if axis == site.last and place != site.last:
        raise Refusal("its axis would not be the last one any more")
    if axis != site.last:
        site.need_relaxed()
        if site.opset < _ONE_AXIS_OPSET:
            raise Refusal("it is along several axes")
    return Moved((0,), {"axis": place})


def _layer_normalization(site: Site) -> Moved:
    axis = site.axis(integer(site.node, "axis", -1))
    if site.order[axis:] != tuple(range(axis, site.rank)):
        raise Refusal("its axes would not be the last ones any more")
    return Moved((0,))


def _cumulative_sum(site: Site) -> Moved:
    site.need_relaxed()
    (axis,) = site.known(1)
    return Moved((0,), replaced={1: site.like(1, site.place(axis))})  # type: ignore[arg-type]


def _extreme(site: Site) -> Moved:
    dtype = site.view.dtype(site.node.inputs[0])
    if dtype is None or dtype.kind == "float":
        site.need_relaxed()
    return _reduction(site)


def _sum(site: Site) -> Moved:
    site.need_relaxed()
    return _reduction(site)


def _reduction(site: Site) -> Moved:
    node = site.node
    named = listed_axes(node, 1, site.view)
    if not named:
        return _reduced(site, range(site.rank), Moved((0,)))
    axes = [site.axis(axis) for axis in named]
    places = [site.place(axis) for axis in axes]
    if site.last in axes and site.last not in places:
        raise Refusal("its axis would not be the last one any more")
    is_input = operand(node, 1) is not None
    return _reduced(
        site, axes, Moved((0,), replaced={1: site.like(1, places)}) if is_input else Moved((0,), {"axes": places})
    )


def _reduced(site: Site, axes: Sequence[int], found: Moved) -> Moved:
    """Without the axes that are reduced the others have to be in the order of before."""
    if integer(site.node, "keepdims", 1):
        return found
    if not axes or (len(axes) == site.rank and integer(site.node, "noop_with_empty_axes", 0)):
        raise Refusal("it may reduce nothing")
    left = [axis for axis in site.order if axis not in axes]
    if left != sorted(left):
        raise Refusal("the axes that it leaves would be in another order")
    return Moved(found.carried, found.attributes, found.constants, found.replaced, moves_results=False)


def _argument(site: Site) -> Moved:
    axis = site.axis(integer(site.node, "axis", 0))
    return _reduced(site, [axis], Moved((0,), {"axis": site.place(axis)}))


def _rows(row: Row, *operators: str) -> dict[str, Row]:
    return dict.fromkeys(operators, row)


ROWS: dict[str, Row] = {
    **_rows(
        _unary, "Abs", "BitwiseNot", "Cast", "Ceil", "Clip", "Floor", "HardSigmoid", "HardSwish", "Identity", "IsInf",
        "IsNaN", "LeakyRelu", "Neg", "Not", "Reciprocal", "Relu", "Round", "Shrink", "Sign", "Sqrt", "ThresholdedRelu",
    ),
    **_rows(_unsteady_in_double, "Erf", "Exp", "Gelu", "Sigmoid", "Softsign", "Tanh"),
    **_rows(
        _unsteady, "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Celu", "Cos", "Cosh", "Elu", "Log", "Mish",
        "Selu", "Sin", "Sinh", "Softplus", "Swish", "Tan",
    ),
    **_rows(
        _elementwise, "Add", "And", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal", "Greater",
        "GreaterOrEqual", "Less", "LessOrEqual", "Mod", "Mul", "Or", "PRelu", "Sub", "Where", "Xor",
    ),
    **_rows(_variadic, "Max", "Mean", "Min", "Sum"),
    **_rows(_quantization, "DequantizeLinear", "QuantizeLinear"),
    **_rows(_along_last, "LogSoftmax", "Softmax"),
    **_rows(_extreme, "ReduceMax", "ReduceMin"),
    **_rows(
        _sum, "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean", "ReduceProd", "ReduceSum",
        "ReduceSumSquare",
    ),
    **_rows(_argument, "ArgMax", "ArgMin"),
    "Concat": _concat,
    "CumSum": _cumulative_sum,
    "Expand": _expand,
    "Gather": _gather,
    "LayerNormalization": _layer_normalization,
    "Pad": _pad,
    "Pow": _power,
    "Resize": _resize,
    "Slice": _slice,
    "Split": _split,
    "Tile": _tile,
}  # fmt: skip
