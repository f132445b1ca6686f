"""Makers of what cleaning passes look for: nodes that do nothing, and others that only look so."""

from __future__ import annotations

import numpy as np
from onnx import NodeProto

from tests.random_models.builder import DRAWN, RANDOM_OPERATORS, Builder, Value
from tests.random_models.elementwise import cast_to
from tests.random_models.movement import any_value, axis_of, slice_of, squeeze, unsqueeze
from tests.random_models.trial import Refused
from tests.random_models.values import ALL, BOOL, F16, F32, F64, FLOATS, I32, I64, NUMBERS, Dtype

_FAR = (1 << 63) - 1


def neutral_operand(b: Builder) -> Value:
    """x + 0, x * 1 and their like; the constant may raise the rank, and +0.0 is not neutral for floats."""
    value = b.pick()
    operator, item = b.random.choice(
        (("Add", 0.0), ("Add", 0.0), ("Add", -0.0), ("Sub", 0.0), ("Sub", -0.0), ("Mul", 1.0), ("Div", 1.0),
         ("Pow", 1.0), ("Mul", 0.0), ("Mul", -1.0))
    )  # fmt: skip
    if operator == "Pow" and value.dtype not in FLOATS:
        raise Refused("no powers of integers")
    shape = b.random.choice(((), (), (1,), b.shape_for(value), (1,) * (value.rank + 1)))
    constant = b.constant(np.full(shape, item, value.dtype))
    is_first = operator in ("Add", "Mul") and b.chance(0.4)
    return b.emit(operator, *((constant, value) if is_first else (value, constant)))


def neutral_bound(b: Builder) -> Value:
    """Max, Min or Clip by a bound that no value passes, or And and Or with a neutral truth value."""
    if b.chance(0.25):
        value = b.emit("Equal", b.pick(*NUMBERS), b.scalar(1, F32)) if b.chance(0.1) else b.pick(BOOL)
        return b.emit(b.random.choice(("And", "Or", "Xor")), value, b.constant(np.array(b.chance(0.5))))
    value = b.pick(*(NUMBERS if b.opset >= 12 else FLOATS))
    operator = b.random.choice(("Max", "Min"))
    limits = np.finfo(value.dtype) if value.dtype.kind == "f" else np.iinfo(value.dtype)
    bound = limits.min if operator == "Max" else limits.max
    if value.dtype.kind == "f" and b.chance(0.5):
        bound = -np.inf if operator == "Max" else np.inf
    shape = b.random.choice(((), (1,), (1,) * (value.rank + 1)))
    return b.emit(operator, value, b.constant(np.full(shape, bound, value.dtype)))


def twice(b: Builder) -> Value:
    """A node applied to its own result: nothing, once or twice as much remains."""
    value = b.pick(*FLOATS)
    operator = b.random.choice(("Neg", "Abs", "Relu", "Identity", "Floor", "Round", "Reciprocal", "Sign"))
    return b.emit(operator, b.emit(operator, value))


def transposes(b: Builder) -> Value:
    """Transpose by nothing, or two of them that undo each other or do not."""
    value = any_value(b, least=2)
    axes = list(range(value.rank))
    if b.chance(0.3):
        return b.emit("Transpose", value, perm=axes)
    first = b.random.sample(axes, len(axes))
    second = [first.index(axis) for axis in axes] if b.chance(0.6) else b.random.sample(axes, len(axes))
    value = b.emit("Transpose", value, perm=first)
    if b.chance(0.3):
        value = b.emit(b.random.choice(("Identity", "Neg", "Abs")), value)
    return b.emit("Transpose", value, perm=second)


def same_shape(b: Builder) -> Value:
    """Reshape or Expand to the shape that is already there, given or computed."""
    value = any_value(b)
    operator = b.random.choice(("Reshape", "Expand"))
    if b.chance(0.4):
        return b.emit(operator, value, b.emit("Shape", value))
    if operator == "Reshape" and b.chance(0.5) and value.rank:
        return b.emit(operator, value, b.ints(*[0] * (value.rank - 1), b.random.choice((0, -1))))
    if not value.is_static:
        raise Refused("the shape is not constant")
    return b.emit(operator, value, b.ints(*value.shape))


def reshapes(b: Builder) -> Value:
    """Reshape of Reshape; a 0 of the second copies a dim of the first."""
    value = any_value(b, least=2)
    first = b.random.choice(([-1], [0, -1], [-1, value.shape[-1]], [1, -1], [0, -1, 1]))
    value = b.emit("Reshape", value, b.ints(*first))
    second = b.random.choice(([0, -1], [-1], [-1, 0][: value.rank], [-1, 1], [0, 1, -1], [1, 0]))
    return b.emit("Reshape", value, b.ints(*second))


def casts(b: Builder) -> Value:
    """Cast to the type that is there, or there and back; values may get lost on the way."""
    kinds: tuple[Dtype, ...] = ALL if b.half else tuple(kind for kind in ALL if kind != F16)
    value = b.pick(*kinds)
    if b.chance(0.3):
        return cast_to(b, value, value.dtype)
    pairs = {F32: (F64, F64, I64, I32), F64: (F32, I64), I64: (I32, F64, F32), I32: (I64, F32, F64)}
    through = b.random.choice(pairs.get(value.dtype, (I64, F32)))
    return cast_to(b, cast_to(b, value, through), value.dtype)


def slices(b: Builder) -> Value:
    """Slice of everything, forwards or backwards, or a slice of a slice."""
    value = any_value(b, least=1)
    axis = axis_of(b, value)
    if b.chance(0.3):
        value = slice_of(b, value, [b.random.choice((0, 1))], [_FAR], [axis], [1])
        return slice_of(b, value, [0], [b.random.choice((-1, 2, _FAR))], [axis], [b.random.choice((1, 2))])
    if b.chance(0.25):
        return slice_of(b, value, [-1], [-_FAR], [axis], [-1])
    end = b.random.choice((_FAR, (1 << 31) - 1, max(array.shape[axis] for array in value.arrays)))
    return slice_of(b, value, [0], [end], [axis], [1])


def nothing(b: Builder) -> Value:
    """Pad by nothing, Concat or Sum of one, Tile by one, Identity, a lone Max; nested sometimes."""
    value = b.pick(*NUMBERS, least=1)
    operator = b.random.choice(("Pad", "Concat", "Tile", "Identity", "Max", "Sum", "Flatten", "ReduceSum"))
    if operator == "Pad":
        return b.emit(
            "Pad", value, b.ints(*[0] * 2 * value.rank), mode=b.random.choice(("constant", "edge", "reflect"))
        )
    if operator == "Concat":
        return b.emit("Concat", value, axis=axis_of(b, value))
    if operator == "Tile":
        return b.emit("Tile", value, b.ints(*[1] * value.rank))
    if operator == "ReduceSum" and b.opset >= 13:
        return b.emit("ReduceSum", value, b.constant(np.zeros(0, I64)), noop_with_empty_axes=b.random.randint(0, 1))
    return b.emit("Identity" if operator == "ReduceSum" else operator, value)


def there_and_back(b: Builder) -> Value:
    """Unsqueeze and Squeeze, Split and Concat, Squeeze and Unsqueeze at axes that agree or not."""
    value = any_value(b)
    axis = b.random.randint(0, value.rank)
    if b.chance(0.6):
        other = axis if b.chance(0.7) else b.random.randint(0, value.rank)
        return squeeze(b, unsqueeze(b, value, [axis]), [other])
    ones = [place for place, dim in enumerate(value.shape) if dim == 1]
    if not ones:
        raise Refused("nothing to squeeze")
    place = b.random.choice(ones)
    return unsqueeze(b, squeeze(b, value, [place]), [place if b.chance(0.6) else 0])


def moves(b: Builder) -> Value:
    """Two moves in a row that may become one: Gather of Gather, Concat of Concat, Flatten of Reshape."""
    value = any_value(b, least=2)
    which = b.random.randint(0, 2)
    if which == 0:
        inner = b.emit("Gather", value, b.ints(0, 0), axis=0)
        return b.emit("Gather", inner, b.scalar(b.random.choice((0, -1))), axis=b.random.choice((0, 1)))
    if which == 1:
        inner = b.emit("Concat", value, value, axis=0)
        return b.emit("Concat", inner, value, axis=b.random.choice((0, 0, 1)))
    return b.emit("Flatten", b.emit("Reshape", value, b.ints(0, 1, -1)), axis=b.random.choice((0, 1, 2)))


def shape_chain(b: Builder) -> Value:
    """Shape, then Gather or Slice, arithmetic, Unsqueeze and Concat, then Reshape or Expand, as exporters write it."""
    value = any_value(b, least=1)
    shape = b.emit("Shape", value)
    if b.chance(0.4):
        first = b.emit("Gather", shape, b.ints(0))
    elif b.chance(0.5):
        first = slice_of(b, shape, [0], [1], [0], [1])
    else:
        first = unsqueeze(b, b.emit("Gather", shape, b.scalar(b.random.choice((0, -value.rank)))), [0])
    if b.chance(0.3):
        first = b.emit("Cast", b.emit("Cast", first, to=b.random.choice((1, 6))), to=7)
    if b.chance(0.3):
        doubled = b.emit("Mul", first, b.ints(2))
        return b.emit("Reshape", b.emit("Concat", value, value, axis=0), b.emit("Concat", doubled, b.ints(-1), axis=0))
    if b.chance(0.4):
        target = b.emit("Concat", b.ints(b.random.choice((1, 2))), shape, axis=0)
        return b.emit("Expand", value, where_minus_one(b, target) if b.chance(0.5) else target)
    rest = [b.ints(-1)] if b.chance(0.7) else [b.ints(1), b.ints(-1)]
    return b.emit("Reshape", value, b.emit("Concat", first, *rest, axis=0))


def where_minus_one(b: Builder, target: Value) -> Value:
    """A shape in which each -1 becomes 1, as exporters of Expand write it."""
    ones = b.emit("ConstantOfShape", b.ints(target.shape[0]))
    ones = b.emit("Add", ones, b.scalar(1, F32)) if ones.dtype == F32 else ones
    ones = b.emit("Cast", ones, to=7)
    return b.emit("Where", b.emit("Equal", target, b.ints(*[-1] * target.shape[0])), ones, target)


def shapes_of_constants(b: Builder) -> Value:
    """Arithmetic on the sizes of a value, as far as they are known."""
    value = any_value(b, least=1)
    shape = b.emit("Shape", value)
    if b.chance(0.5):
        return b.emit("ReduceProd", shape, keepdims=b.random.randint(0, 1))
    size = b.emit("Gather", shape, b.scalar(axis_of(b, value)))
    return b.emit(b.random.choice(("Add", "Mul", "Sub")), size, b.scalar(b.random.choice((1, 2))))


def again(b: Builder) -> Value:
    """An equal node once more, under another name."""
    nodes = [node for node in b.scope.nodes if len(node.output) == 1 and node.op_type not in ("Loop", "If", "Scan")]
    if not nodes:
        raise Refused("nothing to repeat")
    node: NodeProto = b.random.choice(nodes)
    if node.op_type in RANDOM_OPERATORS or node.name.startswith(DRAWN) or node.op_type == "Constant":
        raise Refused("not to be repeated")
    if any(name not in b.known for name in (*node.input, *node.output) if name):
        raise Refused("a sequence")
    copy = NodeProto()
    copy.CopyFrom(node)
    if b.chance(0.2) and len(copy.input) == 2 and copy.op_type in ("Add", "Mul", "Max", "Sub"):
        copy.input[:] = reversed(copy.input)
    return b.append(copy)


MAKERS = {
    neutral_operand: 5, neutral_bound: 2, twice: 2, transposes: 3, same_shape: 3, reshapes: 2, casts: 2, slices: 2,
    nothing: 3, there_and_back: 2, moves: 2, shape_chain: 4, shapes_of_constants: 1, again: 4,
}  # fmt: skip
