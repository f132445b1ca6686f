"""Makers of nodes that leave a choice: which side, which member, which branch; and of layers with a neighbour."""

from __future__ import annotations

from collections.abc import Callable

from onnx import GraphProto, NodeProto, helper

from tests.random_models.builder import DRAWN, RANDOM_OPERATORS, Builder, Value
from tests.random_models.control import DEEPEST, condition, fill, like
from tests.random_models.elementwise import truth
from tests.random_models.layers import image, per_channel
from tests.random_models.movement import any_value, axis_of
from tests.random_models.trial import Refused, subgraphs
from tests.random_models.values import F32, INTS, NUMBERS

Step = Callable[[Builder], object]
_OTHERS = {"Neg": "Abs", "Abs": "Neg", "Add": "Sub", "Mul": "Add", "Exp": "Sin", "Identity": "Neg", "Sub": "Add"}


def inverted(b: Builder) -> Value:
    """Where by a condition that is inverted first, once or twice; something else reads the Not sometimes."""
    test = b.emit("Not", truth(b))
    value = b.pick(*(INTS if b.chance(0.6) else NUMBERS))
    other = b.partner(value)
    made = b.emit("Where", test, value, other)
    if b.chance(0.3):
        made = b.emit("Where", test, other, value)
    if b.chance(0.2):
        b.emit("And", test, truth(b))
    return made


def padded(b: Builder) -> Value:
    """Pad before Conv whose weight a node makes, so that the kernel is known by its shape alone."""
    value = image(b)
    pads = b.random.choice(([0, 0, 1, 1, 0, 0, 1, 1], [0, 0, 0, 2, 0, 0, 1, 0], [0, 1, 0, 0, 0, 0, 0, 0]))
    made = b.emit("Pad", value, b.ints(*pads), b.scalar(b.random.choice((0, 0, 0, 1)), F32))
    weight = b.weights(F32, (2, made.shape[1], 2, 2))
    return b.emit("Conv", made, b.emit(b.random.choice(("Abs", "Neg", "Tanh")), weight))


def normalized(b: Builder) -> Value:
    """A matrix product with BatchNormalization before it, through a Flatten sometimes, or behind it."""
    value = image(b) if b.chance(0.4) else b.pick(F32, rank=2)
    if len({array.shape[1:] for array in value.arrays}) > 1 or not value.shape[1]:
        raise Refused("open channels")
    if b.chance(0.7):
        value = b.emit("BatchNormalization", value, *per_channel(b, value))
    if value.rank > 2:
        value = b.emit("Flatten", value, axis=b.random.choice((1, 1, 1, 2)))
    width = b.random.choice((1, 3))
    if b.chance(0.5):
        made = b.emit("MatMul", value, b.weights(F32, (value.shape[1], width)))
    else:
        bias = b.weights(F32, (width,)) if b.chance(0.6) else None
        factors = {} if b.chance(0.6) else {"alpha": 0.5, "beta": 2.0}
        made = b.emit("Gemm", value, b.weights(F32, (width, value.shape[1])), bias, transB=1, **factors)
    return b.emit("BatchNormalization", made, *per_channel(b, made)) if b.chance(0.5) else made


def sequence(b: Builder) -> Value:
    """Members of a sequence that is split off a value, or made of two; or the whole put together again."""
    value = any_value(b, least=1)
    axis = axis_of(b, value)
    name, made = b.name("sequence"), []
    if b.chance(0.4):
        other = b.emit(b.random.choice(("Identity", "Neg")), value)
        nodes = [helper.make_node("SequenceConstruct", [value.name, other.name], [name])]
        count = 2
    else:
        sizes = {array.shape[axis] for array in value.arrays}
        count = min(sizes)
        parts = b.random.choice(("none", "none", "one", "list"))
        inputs = [value.name]
        if parts != "none" and len(sizes) == 1 and count > 1:
            split = b.scalar(2) if parts == "one" else b.ints(1, count - 1)
            inputs.append(split.name)
            count = 2 if parts == "list" else -(-count // 2)
        keep = {"keepdims": b.random.randint(0, 1)} if len(inputs) == 1 or parts == "list" else {}
        nodes = [helper.make_node("SplitToSequence", inputs, [name], axis=axis, **keep)]
    if not count:
        raise Refused("no members")
    if b.chance(0.25):
        made.append(b.name("joined"))
        new_axis = b.random.randint(0, 1)
        nodes.append(helper.make_node("ConcatFromSequence", [name], made[-1:], axis=axis, new_axis=new_axis))
    for _ in range(b.random.randint(0 if made else 1, 3)):
        made.append(b.name("member"))
        place = b.scalar(b.random.randint(-count, count - 1))
        nodes.append(helper.make_node("SequenceAt", [name, place.name], made[-1:]))
    if b.chance(0.15):
        made.append(b.name("length"))
        nodes.append(helper.make_node("SequenceLength", [name], made[-1:]))
    return b.emit_group(nodes, made)[0]


def alike(b: Builder, step: Step) -> Value:
    """If whose branches are the same but for names, and a node or two."""
    if b.depth >= DEEPEST:
        raise Refused("deep enough")
    test = condition(b)
    models = [b.pick() for _ in range(b.random.choice((1, 1, 2, 3)))]

    def results() -> list[Value]:
        fill(b, step)
        return [like(b, value) for value in models]

    then = b.body("then", [], results)
    other = _renamed(then, "" if b.chance(0.3) else "other_")
    nodes = [node for node in other.node if node.op_type in _OTHERS]
    if nodes and b.chance(0.7):
        changed = b.random.choice(nodes)
        changed.op_type = _OTHERS[changed.op_type]
    return b.emit_all("If", [test], len(models), then_branch=then, else_branch=other)[0]


def _renamed(graph: GraphProto, prefix: str) -> GraphProto:
    """A copy whose own tensors have other names, those of graphs inside not."""
    copy = GraphProto()
    copy.CopyFrom(graph)
    if any(node.op_type in RANDOM_OPERATORS or node.name.startswith(DRAWN) for node in _all_nodes(copy)):
        raise Refused("drawn twice under one name")
    own = {name for node in copy.node for name in node.output} | {item.name for item in copy.initializer}
    names = {name: prefix + name for name in own if name}
    for node in _all_nodes(copy):
        node.input[:] = [names.get(name, name) for name in node.input]
    for node in copy.node:
        node.output[:] = [names.get(name, name) for name in node.output]
    for item in (*copy.initializer, *copy.output, *copy.value_info):
        item.name = names.get(item.name, item.name)
    return copy


def _all_nodes(graph: GraphProto) -> list[NodeProto]:
    inner = [found for node in graph.node for item in subgraphs(node) for found in _all_nodes(item)]
    return [*graph.node, *inner]


MAKERS = {inverted: 2, padded: 1, normalized: 2, sequence: 3}
