"""What rules ask about nodes: attributes and inputs of the right kind, producers, and whether a pattern may go."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from maxfold.model.data import SparseData
from maxfold.model.dtypes import DType
from maxfold.model.edit import Edit
from maxfold.model.errors import ModelError
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.view import View
from maxfold.passes.gelu_sites import why_not_found
from maxfold.passes.rule import Decline, Match, frozen

# Constants of more bytes are weights, which nobody reads for axes, shapes or scalars.
_SMALL_BYTES = 4096


def integer(node: Node, name: str, default: int | None = None) -> int:
    """An integer attribute. ModelError for one of another kind, or left out where there is no default."""
    value = node.attrs.get(name, default)
    if not isinstance(value, int):
        raise ModelError(f"attribute {name} is not a known integer")
    return value


def number(node: Node, name: str, default: float | None = None) -> float:
    """A float attribute. ModelError for one of another kind, or left out where there is no default."""
    value = node.attrs.get(name, default)
    if not isinstance(value, (int, float)):
        raise ModelError(f"attribute {name} is not a known number")
    return float(value)


def text(node: Node, name: str, default: str) -> str:
    """A string attribute. ModelError for one of another kind."""
    value = node.attrs.get(name, default)
    if not isinstance(value, str):
        raise ModelError(f"attribute {name} is not a known string")
    return value


def integers(node: Node, name: str, default: Sequence[int] | None = None) -> list[int]:
    """An attribute that is a list of integers. ModelError for another kind, or left out where there is no default."""
    value = node.attrs.get(name, default)
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, int) for item in value):
        raise ModelError(f"attribute {name} is not a known list of integers")
    return list(value)


def operand(node: Node, index: int) -> Tensor | None:
    """An input, None where it is left out."""
    tensor = node.inputs[index] if index < len(node.inputs) else None
    return tensor if tensor is not None and tensor.name else None


def axes(node: Node, index: int, view: View, name: str = "axes") -> list[int] | None:
    """A list of integers that is input `index` in newer versions of an operator and an attribute in older ones.

    None where it is neither. ModelError where the input is no known constant.
    """
    tensor = operand(node, index)
    if tensor is None:
        return integers(node, name) if name in node.attrs else None
    values = known_integers(tensor, view)
    if values is None:
        raise ModelError(f"{tensor.name!r} is not constant")
    return values


def known_integers(tensor: Tensor | None, view: View) -> list[int] | None:
    """The values of a small integer constant, flattened; None for anything else."""
    constant = _small(tensor, view)
    if constant is None or constant.data.dtype is None or constant.data.dtype.kind not in ("int", "uint"):
        return None
    return [int(item) for item in constant.values.reshape(-1)]


def scalar(tensor: Tensor | None, view: View) -> float | int | bool | None:
    """The value of a constant of one element and any rank; None for anything else. Exact for every type."""
    constant = _small(tensor, view)
    if constant is None or constant.data.dtype is None or math.prod(constant.data.shape) != 1:
        return None
    kind = constant.data.dtype.kind
    if kind not in ("int", "uint", "float", "bool"):
        return None
    value = constant.values.reshape(-1)[0]
    return float(value) if kind == "float" else bool(value) if kind == "bool" else int(value)


def _small(tensor: Tensor | None, view: View) -> Constant | None:
    constant = None if tensor is None else view.constant(tensor)
    if constant is None or isinstance(constant.data, SparseData) or constant.data.nbytes > _SMALL_BYTES:
        return None
    return constant


def made_by(tensor: Tensor | None, operator: str, view: View, domain: str = "") -> Node | None:
    """The node that makes a tensor as its first result, if it is that operator and in the tensor's scope."""
    node = None if tensor is None else view.producer(tensor)
    if node is None or not view.is_operator(node, operator, domain) or node.outputs[0] is not tensor:
        return None
    return node


def why_not_absorbed(nodes: Iterable[Node], root: Node, view: View) -> str | None:
    """Why the inner nodes of a pattern that ends in `root` cannot go with it, None where they can.

    Each must stand in the scope of the root, have results that only nodes of the pattern read, and not be kept.
    """
    # In their order, so that of several reasons it is always the same one.
    pattern = dict.fromkeys((*nodes, root))
    for node in pattern:
        if node is root:
            continue
        if node.scope is not root.scope:
            return f"{node.outputs[0].name!r} is made in another graph"
        if view.is_kept(node):
            return f"{node.outputs[0].name!r} is to be kept"
        for tensor in node.outputs:
            reason = _why_not_inner(tensor, pattern, view)
            if reason is not None:
                return reason
    return None


def _why_not_inner(tensor: Tensor, pattern: Collection[Node], view: View) -> str | None:
    if not tensor.name:
        return None
    if view.is_graph_output(tensor):
        return f"{tensor.name!r} is a graph output"
    # Few consumers are asked about: a tensor that many nodes read has others than those of a pattern.
    if view.use_count(tensor) > 4 * len(pattern) or any(node not in pattern for node in view.consumers(tensor)):
        return f"{tensor.name!r} is used elsewhere"
    return view.why_fixed(tensor)


def why_not_target(node: Node, data: Tensor, target: Sequence[int], view: View) -> str | None:
    """Why a Reshape in a graph inside may not get a constant target: no run has to reach it, and it may not fit."""
    dims = view.dims(data)
    if node.scope.parent is None or -1 not in target:
        return None
    if dims is None:
        return f"its target may not fit {data.name!r}, of which more may become known"
    sizes = [dims[axis] if size == 0 and axis < len(dims) else size for axis, size in enumerate(target) if size != -1]
    total, rest = math.prod(dim for dim in dims if isinstance(dim, int)), [size for size in sizes if size != 0]
    if not all(isinstance(dim, int) for dim in (*dims, *rest)):
        return None
    divisor = math.prod(size for size in rest if isinstance(size, int))
    return (
        f"its target may not fit {data.name!r}, which is found out when the file is loaded" if total % divisor else None
    )


@frozen
class GivesOperand:
    """A node whose result is one of its operands, whatever the values."""

    node: Node
    operand: Tensor

    def apply(self, edit: Edit) -> None:
        """Lets the consumers read the operand, and removes the node."""
        edit.replace_uses(self.node.outputs[0], self.operand)
        edit.remove_node(self.node)


def bypassed(node: Node, tensor: Tensor, view: View) -> Match | Decline:
    """The rewrite that lets everybody read `tensor` (visible where the node stands) for the node's only result.

    Declines where the tensor cannot take the result's place.
    """
    result = node.outputs[0]
    reason = view.why_not_replaceable(result, tensor) or why_not_found(result, tensor, view)
    return GivesOperand(node, tensor) if reason is None else Decline(reason)


def other_power(node: Node, view: View, gain: int) -> Decline | None:
    """Why a Pow may not be computed on tensors of other shapes, None where it may, and for all other operators.

    Where several elements in a row have one exponent of 2 or 3, ONNX Runtime multiplies, elsewhere it calls a function.
    """
    if node.op != "Pow":
        return None
    dtype = view.dtype(node.outputs[0])
    if dtype is None or dtype.kind != "float":
        return Decline("powers of integers may be computed in another way in other shapes")
    if view.math == "relaxed":
        return None
    return Decline("Pow may round differently in other shapes; only with --math relaxed", relaxed_gain=gain)


def is_same_axis(own: int, other: int, rank: int | None) -> bool | None:
    """Whether two numbers, which may count from the back, name one axis; None where that takes a rank not known."""
    if own == other:
        return True
    if rank is None:
        return None
    places = [axis + rank if axis < 0 else axis for axis in (own, other)]
    return places[0] == places[1] and 0 <= places[0] < rank


def growth_bytes(made: Iterable[tuple[DType, tuple[int, ...]]], dying: Counter[Constant], view: View) -> int:
    """Bytes that a rewrite adds to the file: constants made, without those all of whose uses (`dying`) go."""
    gone = sum(constant.data.nbytes for constant, uses in dying.items() if view.dies_with(constant, uses))
    return sum(dtype.nbytes(math.prod(shape)) for dtype, shape in made) - gone


def too_large(growth: int, limit: int) -> str:
    """Why a rewrite that makes the file grow by more than the limit that was set is not done."""
    return f"the file would grow by {growth} bytes, more than {limit}; --max-growth allows more"
