"""What runtimes fuse themselves: normalizations, Gelu and other gates, and quantized products, found as they find them.

ONNX Runtime and OpenVINO make one kernel of such a pattern if it is whole, in one of the forms that they know. So its
nodes are one opaque function to rules that move constants or factors: nothing goes in, out or through. The matchers are
looser than the runtimes', which differ from each other and from release to release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from maxfold.model.edit import Edit
from maxfold.model.errors import ModelError
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.view import View
from maxfold.passes.gelu import gelu
from maxfold.passes.nodes import made_by, operand
from maxfold.passes.patterns import clip_bounds, factor, orders, scalar_maker
from maxfold.passes.root_mean_square import root_mean_square
from maxfold.passes.softmax import softmax

# How far constants of a pattern may be from the exact ones: some exporters write few digits, or half precision.
_TOLERANCE = 1e-2
NORMALIZATIONS = ("LayerNormalization", "RMSNormalization")
_ARTICLES = {"RMSNormalization": "an"}
_ELEMENTWISE = ("Gelu", "HardSwish", "Mish", "QuickGelu", "Swish")


def pattern_of(node: Node, view: View) -> str | None:
    """The pattern that a node is part of, None where it is part of none."""
    return view.remembered(_protected).get(node)


def why_protected(node: Node, view: View) -> str | None:
    """Why a node has to stay what it is: it is part of a pattern that runtimes fuse. None where it is not."""
    name = pattern_of(node, view)
    return None if name is None else f"part of {_ARTICLES.get(name, 'a')} {name}, left as runtimes fuse it"


def is_protected(node: Node, view: View) -> bool:
    """Whether a node is part of a pattern that runtimes fuse."""
    return pattern_of(node, view) is not None


def add_to_pattern(node: Node, member: Node, view: View) -> None:
    """Makes a node that a rewrite adds part of the pattern that another node is part of."""
    name = pattern_of(member, view)
    if name is not None:
        view.remembered(_protected)[node] = name


def forget_patterns(edit: Edit) -> None:
    """Lets patterns be found anew: rewrites may have made some whole that were not, such as those of equal parts."""
    edit.forget_derived(_protected)


def elementwise_pattern(node: Node, view: View) -> bool:
    """Whether a node is part of a pattern that computes each element by itself."""
    return pattern_of(node, view) in _ELEMENTWISE


def makes_scales(node: Node, view: View) -> bool:
    """Whether a node multiplies the two scales of a quantized product, as the graph stands now."""
    if not view.is_operator(node, "Mul") or not node.outputs:
        return False
    readers = (reader for reader in view.consumers(node.outputs[0]) if view.is_operator(reader, "Mul"))
    return any(node in nodes for reader in readers for _, nodes in _quantized_product(reader, view))


def _protected(view: View) -> dict[Node, str]:
    """The nodes of all patterns, and what they are part of."""
    found: dict[Node, str] = {}
    for node in view.nodes() if view.model.format == "onnx" else ():
        for matcher in _MATCHERS.get(node.op, ()) if view.is_operator(node, node.op) else ():
            # An attribute of another kind, or axes that are no constant: no runtime finds a pattern there.
            with suppress(ModelError):
                for name, nodes in matcher(node, view):
                    found.update({inner: name for inner in nodes if inner not in found})
    return found


_Found = Iterator[tuple[str, Iterable[Node]]]


def _normalization(node: Node, view: View) -> _Found:
    """Along the last axes, with or without the mean; scale and bias behind it, Casts around."""
    found = root_mean_square(node, view)
    if found is None or found.trailing(view) is None:
        return
    nodes = [*found.inner, node]
    d = view.producer(found.d)
    while d is not None and d.op == "Cast":
        nodes.append(d)
        d = view.producer(d.inputs[0])
    minus = d if d is not None and view.is_operator(d, "Sub") and len(d.inputs) == 2 else None
    mean = None if minus is None else made_by(minus.inputs[1], "ReduceMean", view)
    is_centred = minus is not None and mean is not None and mean.inputs[0] is minus.inputs[0]
    if is_centred and minus is not None and mean is not None:
        nodes += [minus, mean]
    yield NORMALIZATIONS[0 if is_centred else 1], [*nodes, *_tail(node, is_centred, view)]


def _tail(node: Node, is_centred: bool, view: View) -> Iterator[Node]:
    """What scales and shifts by constants behind a normalization, for each reader, and Casts between."""
    pending: list[tuple[Node, tuple[str, ...]]] = [(node, ("Mul", "Add") if is_centred else ("Mul",))]
    while pending:
        maker, wanted = pending.pop()
        result = maker.outputs[0]
        for reader in view.consumers(result):
            if view.is_operator(reader, "Cast"):
                yield reader
                pending.append((reader, wanted))
            place = next((item for item in wanted if _is_with_constant(reader, item, result, view)), None)
            if place is not None:
                yield reader
                pending.append((reader, wanted[wanted.index(place) + 1 :]))


def _is_with_constant(node: Node, operator: str, variable: Tensor, view: View) -> bool:
    pairs = orders(node, operator, view)
    return any(left is variable and isinstance(right, Constant) for left, right in pairs)


def _gelu(node: Node, view: View) -> _Found:
    found = gelu(node, view, _TOLERANCE)
    if found is not None:
        yield "Gelu", [*found.inner, node]


def _softmax(node: Node, view: View) -> _Found:
    found = softmax(node, view)
    if found is not None:
        yield found.operator, [*found.inner, node]


def _gate(node: Node, view: View) -> _Found:
    """x * Sigmoid(c * x), x * Tanh(Softplus(x)), x * HardSigmoid(x)."""
    for x, gate in orders(node, "Mul", view):
        maker = view.producer(gate)
        if maker is None or not view.is_operator(maker, maker.op) or not maker.inputs:
            continue
        argument = maker.inputs[0]
        before = view.producer(argument)
        scale = factor(before, view)
        if maker.op == "Sigmoid" and argument is x:
            yield "Swish", [maker, node]
        elif maker.op == "Sigmoid" and before is not None and scale is not None and scale[0] is x:
            yield "QuickGelu", [before, maker, node]
        elif maker.op == "HardSigmoid" and argument is x:
            yield "HardSwish", [maker, node]
        elif maker.op == "Tanh" and before is not None and before.op == "Softplus" and before.inputs[0] is x:
            yield "Mish", [before, maker, node]


def _hard_sigmoid(node: Node, view: View) -> _Found:
    """Clip(x + 3, 0, 6) / 6, with a product of x before or behind the division."""
    plus = scalar_maker(operand(node, 0), "Add", view)
    bounds = clip_bounds(node, view)
    if plus is None or bounds is None or bounds[0] != 0 or bounds[1] <= 0:
        return
    nodes = [plus.node, node]
    for _ in range(2):
        reader = view.only_consumer(nodes[-1].outputs[0])
        if reader is None or not (view.is_operator(reader, "Mul") or view.is_operator(reader, "Div")):
            break
        scale = factor(reader, view)
        is_product = any(other is plus.variable for other in reader.inputs)
        if not is_product and (scale is None or abs(scale[1] * bounds[1] - 1) > _TOLERANCE):
            break
        nodes.append(reader)
    if len(nodes) > 2:
        yield "HardSwish", nodes


def _quantized_product(node: Node, view: View) -> _Found:
    """Cast(MatMulInteger(a, b)) * (sa * sb), with the bias behind it."""
    for product, scales in orders(node, "Mul", view):
        cast = made_by(product, "Cast", view)
        source = None if cast is None else view.producer(cast.inputs[0])
        if cast is None or source is None or source.op not in ("MatMulInteger", "ConvInteger"):
            continue
        maker = made_by(scales, "Mul", view)
        bias = view.only_consumer(node.outputs[0])
        nodes = [cast, source, node, *([] if maker is None else [maker])]
        if bias is not None and _is_with_constant(bias, "Add", node.outputs[0], view):
            nodes.append(bias)
        yield "quantized product", nodes


_Matcher = Callable[[Node, View], _Found]
_MATCHERS: dict[str, tuple[_Matcher, ...]] = {
    "Clip": (_hard_sigmoid,),
    "Div": (_normalization, _gelu, _softmax),
    "Mul": (_normalization, _gelu, _gate, _quantized_product, _softmax),
    "Sub": (_softmax,),
}
