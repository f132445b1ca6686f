"""Which tensors cannot hold -0.0, and who computes the same from both zeros.

Of a sum that is rounded to nearest, -0.0 comes out of two -0.0 alone; a product may underflow to -0.0. Payloads of NaN,
and their signs, are not looked at.
"""

from __future__ import annotations

import enum
from collections.abc import Callable

import numpy as np

from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.view import View
from maxfold.passes.rule import Match, frozen


class Zeros(enum.IntEnum):
    """What is known of the zeros in a tensor, the more the greater."""

    ANY = 0
    POSITIVE = 1
    """No element is -0.0."""
    UNSIGNED = 2
    """No element is -0.0 or below 0."""


# How far back operands are looked at, how many, and constants up to which size.
_DEEPEST = 8
_MOST_OPERANDS = 100
_LARGEST_CONSTANT_BYTES = 64 * 1024
# How far on readers are followed, and how many of one tensor.
_MOST_CHANGED = 16
_MOST_CONSUMERS = 16

# Operators whose results have no sign, whatever they are given. Relu is none: runtimes return the zero they are given.
UNSIGNED = frozenset((
    "Abs", "Cosh", "Exp", "ReduceL1", "ReduceL2", "ReduceSumSquare", "Sigmoid", "Softmax", "Softplus",
))  # fmt: skip
# Operators whose result holds elements of the first operand, and no others.
MOVES = frozenset((
    "DepthToSpace", "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "Identity", "Reshape",
    "ReverseSequence", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze",
))  # fmt: skip
# Where nothing is compared, or summed up, the least number, or zero, comes out.
_EXTREMES = frozenset(("GlobalMaxPool", "MaxPool", "ReduceMax"))
_MEANS = frozenset(("AveragePool", "GlobalAveragePool", "ReduceMean"))
_CHOICES = frozenset(("Clip", "Concat", "Max", "Min", "Where"))
# Operators that give one result for both zeros.
SAME_OF_BOTH = frozenset((
    *UNSIGNED, "ArgMax", "ArgMin", "Cos", "Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual",
    "NonZero",
))  # fmt: skip
_EVERY = None
# Operators whose results differ in signs of zeros alone if these operands do.
_CARRIERS: dict[str, tuple[int, ...] | None] = {
    **dict.fromkeys(MOVES | _MEANS | _EXTREMES, (0,)),
    **dict.fromkeys(("Add", "Concat", "Max", "Mean", "Min", "Mul", "Sub", "Sum"), _EVERY),
    **dict.fromkeys(("Conv", "ConvTranspose", "Gemm", "MatMul"), _EVERY),
    **dict.fromkeys(("BatchNormalization", "Div", "Pad", "QuantizeLinear", "ReduceMin", "ReduceSum", "Resize"), (0,)),
    **dict.fromkeys(
        (
            "Asin", "Asinh", "Atan", "Atanh", "Celu", "Ceil", "Elu", "Erf", "Floor", "Gelu", "HardSigmoid", "HardSwish",
            "LeakyRelu", "Neg", "Relu", "Round", "Selu", "Sin", "Sinh", "Softsign", "Sqrt", "Swish", "Tan", "Tanh",
        ), (0,),
    ),
    "Where": (1, 2),
}  # fmt: skip


def zeros(tensor: Tensor, view: View, changing: Tensor | None = None) -> Zeros:
    """What is known of the zeros in a tensor; nothing is of `changing`, which is going to be another."""
    return _Proof(view, changing).of(tensor, _DEEPEST)


class _Proof:
    """What has been found of tensors that one depends on."""

    def __init__(self, view: View, changing: Tensor | None) -> None:
        self._view = view
        self._found: dict[Tensor, Zeros] = {} if changing is None else {changing: Zeros.ANY}

    def of(self, tensor: Tensor, depth: int) -> Zeros:
        """What is known of a tensor, looking at operands down to a depth."""
        found = self._found.get(tensor)
        if found is None:
            is_far = depth == 0 or len(self._found) > _MOST_OPERANDS
            found = self._found[tensor] = Zeros.ANY if is_far else self._derive(tensor, depth)
        return found

    def _derive(self, tensor: Tensor, depth: int) -> Zeros:
        if isinstance(tensor, Constant):
            return _of_constant(tensor, self._view)
        node = self._view.producer(tensor)
        if node is None or not self._view.is_operator(node, node.op):
            return Zeros.ANY
        if node.op in UNSIGNED:
            return Zeros.UNSIGNED

        def of(index: int) -> Zeros:
            given = node.inputs[index] if index < len(node.inputs) else None
            return Zeros.ANY if given is None or not given.name else self.of(given, depth - 1)

        if tensor is not node.outputs[0]:
            return of(0) if node.op == "Split" else Zeros.ANY
        found = _DERIVED.get(node.op)
        return Zeros.ANY if found is None else found(node, self._view, of)


def why_sign_matters(result: Tensor, view: View) -> tuple[tuple[Tensor, ...], str | None]:
    """Why it matters which zeros a tensor holds, None where nobody can tell.

    With it comes what holds other zeros too then, between the tensor and those of whom both zeros make the same.
    """
    changed: list[Tensor] = []
    pending = [result]
    while pending:
        tensor = pending.pop()
        if view.is_graph_output(tensor) or view.use_count(tensor) > _MOST_CONSUMERS:
            return (), f"{tensor.name!r} is read by others"
        for node in view.consumers(tensor):
            if node.scope is not result.scope or not _carries(node, tensor, view):
                return (), f"{node.op} may tell one zero from the other"
            more = [own for own in node.outputs if own.name and own not in changed and _may_differ(own, result, view)]
            changed += more
            pending += more
        if len(changed) > _MOST_CHANGED:
            return (), "too many depend on it"
    fixed = next((reason for own in changed if (reason := view.why_fixed(own)) is not None), None)
    return (tuple(changed), None) if fixed is None else ((), fixed)


@frozen
class WithOtherZeros:
    """A rewrite, and the tensors that hold other zeros after it."""

    rewrite: Match
    changed: tuple[Tensor, ...]

    def apply(self, edit: Edit) -> None:
        """Makes new tensors of what changes."""
        for tensor in self.changed:
            edit.renew(tensor)
        self.rewrite.apply(edit)


def if_nobody_can_tell(rewrite: Match, node: Node, operand: Tensor, view: View) -> Match | None:
    """The rewrite that lets all read an operand for a node's result, None where the sign of a zero may matter.

    The two are the same but for zeros, which are +0.0 in the result.
    """
    if zeros(operand, view):
        return rewrite
    changed, reason = why_sign_matters(node.outputs[0], view)
    if reason is not None:
        return None
    return WithOtherZeros(rewrite, changed) if changed else rewrite


def _may_differ(tensor: Tensor, changing: Tensor, view: View) -> bool:
    """Whether a result of a carrier holds the other zero where its operand does."""
    node, dtype = tensor.inputs[0], view.dtype(tensor)
    if node.op in SAME_OF_BOTH or (dtype is not None and dtype.kind in ("int", "uint", "bool")):
        return False
    if node.op == "Mul" and node.inputs[0] is node.inputs[1]:
        return False
    return zeros(tensor, view, changing) is Zeros.ANY


def _carries(node: Node, tensor: Tensor, view: View) -> bool:
    """Whether the results of a node differ in signs of zeros alone where a tensor that it reads does."""
    if not view.is_operator(node, node.op):
        return False
    if node.op in SAME_OF_BOTH:
        return True
    if node.op == "Cast":
        dtype = view.dtype(node.outputs[0])
        return dtype is not None and dtype.kind in ("int", "uint", "bool", "float")
    if node.op == "Clip":
        return node.inputs.count(tensor) == 1 and node.inputs[0] is tensor
    if node.op == "Pow":
        return node.inputs[0] is tensor and _is_all(node.inputs[1], view, lambda power: power > 0)
    if node.op not in _CARRIERS or (len(node.outputs) > 1 and node.op != "Split") or node.attrs.get("training_mode"):
        return False
    places = _CARRIERS[node.op]
    return places is None or all(index in places for index, own in enumerate(node.inputs) if own is tensor)


_Operands = Callable[[int], Zeros]
_Rule = Callable[[Node, View, _Operands], Zeros]


def _of_constant(constant: Constant, view: View) -> Zeros:
    dtype = constant.data.dtype
    if dtype is None or view.constant(constant) is None or dtype.kind != "float":
        return Zeros.ANY
    array = _small(constant)
    if array is None:
        return Zeros.ANY
    is_signed = np.signbit(array) & ~np.isnan(array)
    if not is_signed.any():
        return Zeros.UNSIGNED
    return Zeros.ANY if bool((is_signed & (array == 0)).any()) else Zeros.POSITIVE


def _small(constant: Constant) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None:
    """The elements of a small constant, each as it is; None for a large one."""
    return constant.values.astype(np.float64) if constant.data.nbytes <= _LARGEST_CONSTANT_BYTES else None


def _is_all(tensor: Tensor, view: View, is_met: Callable[[float], bool]) -> bool:
    """Whether a tensor is a small constant, all of whose elements meet a condition."""
    constant = view.constant(tensor)
    if constant is None or constant.data.dtype is None or constant.data.dtype.kind not in ("float", "int", "uint"):
        return False
    array = _small(constant)
    return array is not None and all(is_met(item) for item in array.reshape(-1).tolist())


def _first(node: Node, view: View, of: _Operands) -> Zeros:
    return of(0)


def _first_or_least(node: Node, view: View, of: _Operands) -> Zeros:
    return min(of(0), Zeros.POSITIVE)


def _if_unsigned(node: Node, view: View, of: _Operands) -> Zeros:
    """The mean, reciprocal or rounding of numbers without a sign has none; others may become -0.0 by rounding."""
    return Zeros.UNSIGNED if of(0) is Zeros.UNSIGNED else Zeros.ANY


def _unsigned_of_positive(node: Node, view: View, of: _Operands) -> Zeros:
    """Relu and Sqrt."""
    return Zeros.UNSIGNED if of(0) else Zeros.ANY


def _chosen(node: Node, view: View, of: _Operands) -> Zeros:
    """Each element is one of some operand."""
    if "min" in node.attrs or "max" in node.attrs:
        return Zeros.ANY
    indices = (1, 2) if node.op == "Where" else [index for index, own in enumerate(node.inputs) if own.name]
    return min((of(index) for index in indices), default=Zeros.ANY)


def _sum(node: Node, view: View, of: _Operands) -> Zeros:
    levels = [of(index) for index in range(len(node.inputs))]
    return min(levels, default=Zeros.ANY) or min(max(levels, default=Zeros.ANY), Zeros.POSITIVE)


def _difference(node: Node, view: View, of: _Operands) -> Zeros:
    return min(of(0), Zeros.POSITIVE)


def _product(node: Node, view: View, of: _Operands) -> Zeros:
    is_square = node.op == "Mul" and node.inputs[0] is node.inputs[1]
    return Zeros.UNSIGNED if is_square or (of(0) is of(1) is Zeros.UNSIGNED) else Zeros.ANY


def _power(node: Node, view: View, of: _Operands) -> Zeros:
    is_square = _is_all(node.inputs[1], view, lambda power: power == 2)
    return Zeros.UNSIGNED if is_square or of(0) is Zeros.UNSIGNED else Zeros.ANY


def _cast(node: Node, view: View, of: _Operands) -> Zeros:
    """From integers there is one zero; what gets narrower may underflow to -0.0."""
    source, target = view.dtype(node.inputs[0]), view.dtype(node.outputs[0])
    if source is None or target is None or target.kind != "float":
        return Zeros.ANY
    if source.kind != "float":
        return {"int": Zeros.POSITIVE, "uint": Zeros.UNSIGNED, "bool": Zeros.UNSIGNED}.get(source.kind, Zeros.ANY)
    level = of(0)
    return level if level is Zeros.UNSIGNED or target.bits > source.bits else Zeros.ANY


def _dequantized(node: Node, view: View, of: _Operands) -> Zeros:
    """Whole numbers times scales above 0, which do not underflow."""
    source = view.dtype(node.inputs[0])
    is_whole = source is not None and source.kind in ("int", "uint")
    return Zeros.POSITIVE if is_whole and _is_all(node.inputs[1], view, lambda scale: scale > 0) else Zeros.ANY


def _filled(node: Node, view: View, of: _Operands) -> Zeros:
    value = node.attrs.get("value")
    return Zeros.UNSIGNED if value is None else _of_constant(value, view) if isinstance(value, Constant) else Zeros.ANY


_DERIVED: dict[str, _Rule] = {
    **dict.fromkeys(MOVES | {"Floor"}, _first),
    **dict.fromkeys(_EXTREMES, _first_or_least),
    **dict.fromkeys(_MEANS | {"Ceil", "Reciprocal", "Round"}, _if_unsigned),
    **dict.fromkeys(_CHOICES, _chosen),
    **dict.fromkeys(("ReduceMin", "ReduceSum"), _first),
    **dict.fromkeys(("Relu", "Sqrt"), _unsigned_of_positive),
    **dict.fromkeys(("Add", "Sum"), _sum),
    **dict.fromkeys(("Div", "Mul"), _product),
    "Cast": _cast,
    "ConstantOfShape": _filled,
    "DequantizeLinear": _dequantized,
    "Pow": _power,
    "Sub": _difference,
}


# The operators of whose results something is known, and those through which, or up to which, other zeros are followed.
DERIVED = frozenset((*UNSIGNED, *_DERIVED))
CARRYING = frozenset((*_CARRIERS, *SAME_OF_BOTH, "Cast", "Clip", "Pow"))
