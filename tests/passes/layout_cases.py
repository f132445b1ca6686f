"""Nodes of every operator that may work in another order of axes, between two Transposes."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from tests.text import Array

SPECIAL = [np.nan, 0.0, -0.0, np.inf, -np.inf, 3.4e38, 1e-42, -1.0]


class Refused(Exception):  # noqa: N818  # no error: a drawn case that makes no sense
    """There is no such case of these axes."""


@dataclass
class Case:
    """A node in the making: what comes in has `shape` (in the node's own order of axes)."""

    random: random.Random
    opset: int
    shape: tuple[int, ...]
    order: tuple[int, ...]
    dtype: Any = np.float32

    def __post_init__(self) -> None:
        self.constants: dict[str, Array] = {}
        self.nodes: list[NodeProto] = []
        self.source = np.random.default_rng(self.random.randrange(1 << 30))
        self.moves_results = True

    @property
    def rank(self) -> int:
        return len(self.shape)

    def axis(self) -> int:
        """An axis, counted from either end."""
        return self.random.randrange(-self.rank, self.rank)

    def add(self, array: Any) -> str:
        """A constant."""
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def ints(self, *items: int) -> str:
        return self.add(np.array(items, np.int64))

    def partner(self) -> str:
        """A constant that broadcasts with what comes in, of fewer axes sometimes, or what comes in itself."""
        if self.random.random() < 0.2:
            return "t"
        shape = [size if self.random.random() < 0.6 else 1 for size in self.shape]
        shape = shape[self.random.choice((0, 0, self.rank - 1, self.rank)) :]
        return self.add(values(self.source, self.dtype, tuple(shape)))

    def emit(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> None:
        """The node; its results are r0, r1 and so on."""
        results = [f"r{index}" for index in range(outputs)]
        self.nodes.append(helper.make_node(operator, inputs, results, **attributes))


Make = Callable[[Case], None]


def values(source: np.random.Generator, dtype: Any, shape: tuple[int, ...]) -> Array:
    """Values of a type, special ones among those of floats."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        array: Array = (3 * source.standard_normal(shape)).astype(kind)
        chosen = source.random(shape) < 0.15
        with np.errstate(over="ignore"):
            return np.asarray(np.where(chosen, source.choice(SPECIAL, shape).astype(kind), array))
    return np.asarray(source.integers(0, 2 if kind == np.bool_ else 7, shape)).astype(kind)


def plain(operator: str, **attributes: Any) -> Make:
    return lambda case: case.emit(operator, "t", **attributes)


def binary(operator: str) -> Make:
    def make(case: Case) -> None:
        pair = ["t", case.partner()]
        if operator != "PRelu" and case.random.random() < 0.5:
            pair.reverse()
        case.emit(operator, *pair)

    return make


def variadic(operator: str) -> Make:
    return lambda case: case.emit(operator, "t", case.partner(), case.partner())


def where(case: Case) -> None:
    test = case.add(values(case.source, np.bool_, case.shape))
    case.emit("Where", test, "t", case.partner())


def power(case: Case) -> None:
    case.emit("Pow", "t", case.add(np.array(case.random.choice((0.5, 2, 3)), case.dtype)))


def clip(case: Case) -> None:
    if case.opset < 11:
        case.emit("Clip", "t", min=-0.5, max=1.0)
    else:
        case.emit("Clip", "t", "", case.add(np.array(1, case.dtype)))


def quantize(case: Case) -> None:
    """And back, by one scale or one for each index of an axis."""
    axis = case.axis()
    is_whole = case.random.random() < 0.5
    count = 1 if is_whole else case.shape[axis]
    scale = case.add(np.array(0.1, np.float32) if is_whole else np.linspace(0.1, 0.5, count, dtype=np.float32))
    zero = case.add(np.array(3, np.uint8) if is_whole else np.full(count, 3, np.uint8))
    attributes = {} if is_whole else {"axis": axis}
    case.nodes.append(helper.make_node("QuantizeLinear", ["t", scale, zero], ["quantized"], **attributes))
    case.nodes.append(helper.make_node("DequantizeLinear", ["quantized", scale, zero], ["r0"], **attributes))


def concat(case: Case) -> None:
    axis = case.axis()
    shape = list(case.shape)
    shape[axis] = case.random.randint(1, 3)
    case.emit("Concat", "t", case.add(values(case.source, case.dtype, tuple(shape))), "t", axis=axis)


def split(case: Case) -> None:
    axis = case.axis()
    if case.shape[axis] < 2:
        raise Refused
    sizes = [1, case.shape[axis] - 1]
    if case.opset < 13:
        case.emit("Split", "t", outputs=2, axis=axis, split=sizes)
    else:
        case.emit("Split", "t", case.ints(*sizes), outputs=2, axis=axis)


def gather(case: Case) -> None:
    case.emit("Gather", "t", case.ints(0, 0, -1), axis=case.axis())


def slice_(case: Case) -> None:
    axes = case.random.sample(range(case.rank), case.random.randint(1, case.rank))
    count = len(axes)
    if case.opset < 10:
        case.emit("Slice", "t", axes=axes, starts=[0] * count, ends=[2] * count)
    elif case.random.random() < 0.3:
        case.emit("Slice", "t", case.ints(*[0] * count), case.ints(*[2] * count))
    else:
        axes = [axis - case.rank if case.random.random() < 0.3 else axis for axis in axes]
        ends = case.ints(*[case.random.choice((2, -1, 1 << 40)) for _ in axes])
        case.emit("Slice", "t", case.ints(*[0] * count), ends, case.ints(*axes), case.ints(*[1] * count))


def pad(case: Case) -> None:
    pads = [case.random.randint(0, 2) for _ in range(2 * case.rank)]
    if case.opset < 11:
        case.emit("Pad", "t", pads=pads, value=1.5)
    elif case.opset >= 18 and case.random.random() < 0.4:
        axis = case.axis()
        case.emit("Pad", "t", case.ints(1, 2), "", case.ints(axis), mode=case.random.choice(("constant", "edge")))
    else:
        case.emit("Pad", "t", case.ints(*pads), case.add(np.array(1, case.dtype)))


def tile(case: Case) -> None:
    case.emit("Tile", "t", case.ints(*[case.random.randint(1, 2) for _ in case.shape]))


def expand(case: Case) -> None:
    target = [3 if size == 1 else case.random.choice((1, size)) for size in case.shape]
    case.emit("Expand", "t", case.ints(*target[case.random.choice((0, 0, 1)) :]))


def resize(case: Case) -> None:
    roi = "" if case.opset >= 13 else case.add(np.zeros(0, np.float32))
    if case.opset >= 18 and case.random.random() < 0.4:
        axis = case.axis()
        case.emit("Resize", "t", "", case.add(np.array([2], np.float32)), axes=[axis])
    elif case.random.random() < 0.5:
        scales = np.array([case.random.choice((1, 2)) for _ in case.shape], np.float32)
        case.emit("Resize", "t", roi, case.add(scales), coordinate_transformation_mode="asymmetric")
    else:
        empty = "" if case.opset >= 13 else case.add(np.zeros(0, np.float32))
        case.emit("Resize", "t", roi, empty, case.ints(*[case.random.choice((n, 2 * n)) for n in case.shape]))


def along_last(operator: str) -> Make:
    def make(case: Case) -> None:
        axis = case.random.choice((-1, case.rank - 1, case.axis()))
        if case.order[-1] != case.rank - 1 and axis in (-1, case.rank - 1):
            raise Refused
        if case.opset < 13 and axis not in (-1, case.rank - 1):
            raise Refused
        case.emit(operator, "t", axis=axis)

    return make


def layer_normalization(case: Case) -> None:
    if case.order[-1] != case.rank - 1:
        raise Refused
    width = case.shape[-1:]
    scale, bias = (case.add(values(case.source, case.dtype, width)) for _ in range(2))
    case.emit("LayerNormalization", "t", scale, bias, axis=-1)


def cumulative_sum(case: Case) -> None:
    case.emit("CumSum", "t", case.add(np.array(case.axis())), exclusive=case.random.randint(0, 1))


def reduction(operator: str) -> Make:
    def make(case: Case) -> None:
        axes = case.random.sample(range(case.rank), case.random.randint(1, case.rank))
        places = [case.order.index(axis) for axis in axes]
        if case.rank - 1 in axes and case.rank - 1 not in places:
            raise Refused
        keep = case.random.choice((1, 1, 0))
        left = [axis for axis in case.order if axis not in axes]
        if not keep and left != sorted(left):
            raise Refused
        case.moves_results = bool(keep)
        since = 13 if operator == "ReduceSum" else 18
        axes = [axis - case.rank if case.random.random() < 0.3 else axis for axis in axes]
        if case.random.random() < 0.1:
            case.emit(operator, "t", keepdims=keep)
            case.moves_results = bool(keep)
        elif case.opset >= since:
            case.emit(operator, "t", case.ints(*axes), keepdims=keep)
        else:
            case.emit(operator, "t", axes=axes, keepdims=keep)

    return make


def argument(operator: str) -> Make:
    def make(case: Case) -> None:
        axis = case.axis()
        left = [item for item in case.order if item != axis % case.rank]
        keep = case.random.choice((1, 0)) if left == sorted(left) else 1
        case.moves_results = bool(keep)
        case.emit(operator, "t", axis=axis, keepdims=keep)

    return make


def build(case: Case, make: Make, *, dims: tuple[int | str, ...] | None = None) -> ModelProto:
    """x in the new order, back from it, the node, and to the new order again; y0, y1 and so on are the outputs."""
    make(case)
    back = tuple(case.order.index(axis) for axis in range(case.rank))
    fed = [case.shape[axis] for axis in case.order] if dims is None else list(dims)
    nodes = [helper.make_node("Transpose", ["x"], ["t"], perm=back), *case.nodes]
    outputs = []
    for result in list(case.nodes[-1].output):
        outputs.append(f"y{result[1:]}")
        if case.moves_results:
            nodes.append(helper.make_node("Transpose", [result], outputs[-1:], perm=case.order))
        else:
            nodes[-1].output[0] = outputs[-1]
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(case.dtype))
    graph = helper.make_graph(
        nodes, "between Transposes", [helper.make_tensor_value_info("x", kind, fed)], [],
        [numpy_helper.from_array(array, name) for name, array in case.constants.items()],
    )  # fmt: skip
    imports = [helper.make_opsetid("", case.opset)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=8 if case.opset < 20 else 10)
    inferred = onnx_types(model)
    if not inferred.keys() >= set(outputs):
        raise Refused
    for name in outputs:
        graph_output = model.graph.output.add(name=name)
        graph_output.type.tensor_type.elem_type = inferred[name]
        rank = case.rank if case.moves_results else None
        for axis in range(rank or 0):
            graph_output.type.tensor_type.shape.dim.add(dim_param=f"{name}_{axis}")
    return model


def onnx_types(model: ModelProto) -> dict[str, int]:
    """The element types of all results, as onnx infers them."""
    inferred = onnx.shape_inference.infer_shapes(model)
    return {info.name: info.type.tensor_type.elem_type for info in inferred.graph.value_info}


UNARY: dict[str, Make] = {
    **{
        name: plain(name)
        for name in (
            "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Celu", "Cos", "Cosh", "Elu", "Erf",
            "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "Identity", "IsInf", "IsNaN", "LeakyRelu", "Log",
            "Mish", "Neg", "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh",
            "Softplus", "Softsign", "Sqrt", "Tan", "Tanh", "ThresholdedRelu",
        )
    },
    "Cast": plain("Cast", to=TensorProto.INT32),
    "Clip": clip,
}  # fmt: skip
INTEGERS = ("BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor")
TRUTHS = ("And", "Not", "Or", "Xor")
CASES: dict[str, Make] = {
    **UNARY,
    **{
        name: binary(name)
        for name in (
            "Add", "And", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal", "Greater", "GreaterOrEqual",
            "Less", "LessOrEqual", "Mul", "Or", "PRelu", "Sub", "Xor",
        )
    },
    **{name: variadic(name) for name in ("Max", "Mean", "Min", "Sum")},
    **{name: along_last(name) for name in ("LogSoftmax", "Softmax")},
    **{
        name: reduction(name)
        for name in (
            "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
            "ReduceProd", "ReduceSum", "ReduceSumSquare",
        )
    },
    **{name: argument(name) for name in ("ArgMax", "ArgMin")},
    "BitShift": lambda case: case.emit("BitShift", "t", case.partner(), direction="LEFT"),
    "BitwiseNot": plain("BitwiseNot"),
    "Concat": concat,
    "CumSum": cumulative_sum,
    "DequantizeLinear": quantize,
    "Expand": expand,
    "Gather": gather,
    "LayerNormalization": layer_normalization,
    "Mod": lambda case: case.emit("Mod", "t", case.partner(), fmod=1),
    "Not": plain("Not"),
    "Pad": pad,
    "Pow": power,
    "QuantizeLinear": quantize,
    "Resize": resize,
    "Slice": slice_,
    "Split": split,
    "Swish": plain("Swish"),
    "Tile": tile,
    "Where": where,
}  # fmt: skip
