"""Where a factor can go: which constants to multiply so that a tensor comes out multiplied, or may come in so.

Each step is an equation over real numbers: a linear operator commutes with a factor, a product takes it in at either
operand, and operators such as Relu commute with factors above zero.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import field

import numpy as np

from maxfold.model.data import Array, TensorData
from maxfold.model.dtypes import DType
from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.records import record
from maxfold.model.view import View
from maxfold.passes.affine import is_precise, scaled, why_not_weight
from maxfold.passes.driver import named_results
from maxfold.passes.nodes import growth_bytes, operand
from maxfold.passes.rule import frozen
from maxfold.passes.runtime_patterns import is_protected

# Nodes looked at for one factor; what is further away is not found.
_MOST_VISITS = 10
_MOST_READERS = 8
_BROADCASTING_OPSET = 7
# Their results are elements of their first input, or their negatives.
_MOVING = frozenset(
    (
        "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Slice", "Gather", "Expand", "Tile",
        "DepthToSpace", "SpaceToDepth", "Neg",
    )
)  # fmt: skip
_LINEAR = _MOVING | {"ReduceMean", "ReduceSum", "GlobalAveragePool", "AveragePool"}
_POSITIVE = frozenset(
    ("Relu", "LeakyRelu", "PRelu", "Abs", "MaxPool", "GlobalMaxPool", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2")
)
# Their second and third inputs multiply and shift what comes out.
_NORMALIZING = frozenset(("BatchNormalization", "InstanceNormalization", "LayerNormalization", "RMSNormalization"))
_CONVOLVING = frozenset(("Conv", "ConvTranspose"))
_ADDING = frozenset(("Add", "Sub", "Concat"))
# Results on the way that are multiplied by more, or divided, may leave the range of float32 where they did not.
_LARGEST_FACTOR = 2.0**32

Place = tuple[Node, int]


@record
class Scaling:
    """The constants to multiply, by the node and input that read them, and by what. `root` is left as it is.

    `scaled` are the results that come out multiplied or divided.
    """

    view: View
    root: Node
    factors: dict[Place, float] = field(default_factory=dict)
    scaled: list[Tensor] = field(default_factory=list)
    visits: int = 0
    is_deep: bool = False
    """Whether a result on the way is multiplied that is not one of the root's, or may be larger than before."""

    def multiply_result(self, tensor: Tensor, factor: float) -> bool:
        """Plans that a tensor, which the caller knows who reads, comes out multiplied; False where nothing is found.

        What was planned before a False is void.
        """
        node = self.view.producer(tensor)
        self.scaled.append(tensor)
        self.visits += 1
        if node is None or self.visits > _MOST_VISITS or not self._is_open(node):
            return False
        op = node.op
        if op in _LINEAR or (op in _POSITIVE and factor > 0):
            return self._multiply_operand(node, 0, factor)
        if op in ("MatMul", "Mul"):
            return self._either(node, factor)
        if op == "Div":
            return self._constant(node, 1, 1.0 / factor) or self._multiply_operand(node, 0, factor)
        if op in _ADDING:
            return all(self._multiply_operand(node, index, factor) for index in range(len(node.inputs)))
        if op in _CONVOLVING or op == "Gemm" or op in _NORMALIZING:
            return self._constant(node, 1, factor) and (operand(node, 2) is None or self._constant(node, 2, factor))
        return False

    def divide_readers(self, tensor: Tensor, factor: float) -> bool:
        """Plans that all but the root give what they give now though a tensor will come in divided by `factor`."""
        view = self.view
        self.scaled.append(tensor)
        readers = view.consumers(tensor)
        if view.is_graph_output(tensor) or view.why_fixed(tensor) is not None or len(readers) > _MOST_READERS:
            return False
        places = [
            (node, index)
            for node in readers
            if node is not self.root
            for index, item in enumerate(node.inputs)
            if item is tensor
        ]
        producer = view.producer(tensor)
        scope = tensor.scope if producer is None else producer.scope
        return all(node.scope is scope and self._divide_reader(node, index, factor) for node, index in places)

    def _divide_reader(self, node: Node, index: int, factor: float) -> bool:
        self.visits += 1
        if self.visits > _MOST_VISITS or not self._is_open(node):
            return False
        op = node.op
        if op in ("MatMul", "Mul"):
            other = 1 - index
            if node.inputs[0] is node.inputs[1]:
                return False
            if self._attempt(lambda: self._multiply_operand(node, other, factor)):
                return True
            return self._divide_result(node, factor)
        if index != 0:
            return False
        if op in _CONVOLVING or op == "Gemm":
            return self._constant(node, 1, factor)
        if op == "Div":
            if self._constant(node, 1, 1.0 / factor):
                return True
            return self._divide_result(node, factor)
        if op in _LINEAR or (op in _POSITIVE and factor > 0):
            return self._divide_result(node, factor)
        return False

    def _divide_result(self, node: Node, factor: float) -> bool:
        if node.op not in _MOVING:
            self.is_deep = True
        return self.divide_readers(node.outputs[0], factor)

    def _either(self, node: Node, factor: float) -> bool:
        """A product takes a factor in at a constant operand, or at whichever can be multiplied."""
        if len(node.inputs) != 2 or node.inputs[0] is node.inputs[1]:
            return False
        if self._constant(node, 1, factor) or self._constant(node, 0, factor):
            return True
        return self._attempt(lambda: self._multiply_operand(node, 0, factor)) or self._multiply_operand(node, 1, factor)

    def _attempt(self, plan: Callable[[], bool]) -> bool:
        before, scaled = dict(self.factors), len(self.scaled)
        if plan():
            return True
        self.factors = before
        del self.scaled[scaled:]
        return False

    def _multiply_operand(self, node: Node, index: int, factor: float) -> bool:
        """A constant operand is multiplied itself; another has to be made for this node alone."""
        if index >= len(node.inputs) or self._constant(node, index, factor):
            return index < len(node.inputs)
        tensor = node.inputs[index]
        view = self.view
        producer = view.producer(tensor)
        if isinstance(tensor, Constant) or producer is None or producer.scope is not node.scope:
            return False
        if not view.is_single_use(tensor) or view.why_fixed(tensor) is not None:
            return False
        if node.op not in _MOVING and (node.op not in _ADDING or abs(factor) > 1):
            self.is_deep = True
        return self.multiply_result(tensor, factor)

    def _constant(self, node: Node, index: int, factor: float) -> bool:
        tensor = operand(node, index)
        if not isinstance(tensor, Constant) or why_not_weight(tensor, self.view) is not None:
            return False
        self.factors[node, index] = self.factors.get((node, index), 1.0) * factor
        return True

    def _is_open(self, node: Node) -> bool:
        """Whether a node may give other values than now: an ONNX operator of one result that nobody asked to keep."""
        view = self.view
        opset = view.opset(node)
        return (
            node is not self.root
            and opset is not None
            and opset >= _BROADCASTING_OPSET
            and view.is_operator(node, node.op)
            and named_results(node) == 1
            and not view.is_kept(node)
            and not is_protected(node, view)
        )


def why_out_of_range(plan: Scaling, factor: float, dtype: DType) -> str | None:
    """Why results between the root and the constants of a plan may overflow or vanish, None where not."""
    if not plan.is_deep:
        return None
    if dtype.name == "FLOAT16":
        return "results on the way may leave the range of float16"
    is_moderate = 1 / _LARGEST_FACTOR <= abs(factor) <= _LARGEST_FACTOR
    return None if is_moderate else f"results on the way may overflow or vanish, multiplied by {factor:g}"


def growth_of(plan: Scaling, view: View) -> int:
    """Bytes that the file grows by where the planned constants get new values."""
    constants = [_constant_at(place) for place in plan.factors]
    made = [(item.data.dtype, item.data.shape) for item in constants if item.data.dtype is not None]
    return growth_bytes(made, Counter(constants), view)


@frozen
class Multiplied:
    """New values of constants by the places that they stand in, and the results that come out as others by that."""

    values: tuple[tuple[Place, Array | TensorData], ...]
    results: tuple[Tensor, ...]

    def apply(self, edit: Edit) -> None:
        """Puts the new constants in their places; results of other values are new tensors."""
        for tensor in self.results:
            edit.renew(tensor)
        for (node, index), values in self.values:
            inputs = list(node.inputs)
            inputs[index] = edit.add_constant(values, like=inputs[index])
            edit.set_inputs(node, inputs)


def multiplied(plan: Scaling, gone: Tensor | None = None) -> Multiplied | None:
    """The plan carried out, None where a value would not be finite, or be too small for its type.

    `gone` is a tensor that the caller lets go itself.
    """
    values: list[tuple[Place, Array | TensorData]] = []
    for place, factor in plan.factors.items():
        multiple = _multiple(_constant_at(place).data, factor, place, is_supposed=plan.view.supposes_weights)
        if multiple is None:
            return None
        values.append((place, multiple))
    return Multiplied(tuple(values), tuple(item for item in dict.fromkeys(plan.scaled) if item is not gone))


def _multiple(data: TensorData, factor: float, place: Place, *, is_supposed: bool) -> Array | TensorData | None:
    if math.prod(data.shape) > 1:
        table = np.full((1,) * len(data.shape), factor)
        return scaled(data, lambda _: table, _summed(place), is_supposed=is_supposed)
    # As `scaled` has it, without its cost: long chains have one such constant a node.
    values = data.array()
    with np.errstate(all="ignore"):
        product = np.asarray(values.astype(np.float64) * factor)
        result = np.asarray(product.astype(values.dtype))
    return result if is_precise(result, product) else None


def _summed(place: Place) -> tuple[int, ...]:
    """The axes of a constant along which a number too small for its type may be measured by the largest one.

    None for what multiplies element by element; those along which products are added up; all for what is added.
    """
    node, index = place
    rank = len(_constant_at(place).data.shape)
    if node.op in ("Mul", "Div") or (node.op in _NORMALIZING and index == 1):
        return ()
    if node.op == "MatMul":
        return (max(rank - 2, 0) if index else rank - 1,)
    if node.op in _CONVOLVING and index == 1:
        return (0 if node.op == "ConvTranspose" else 1, *range(2, rank))
    if node.op == "Gemm" and index == 1:
        return (1 if node.attrs.get("transB", 0) else 0,)
    return tuple(range(max(rank, 1)))


def _constant_at(place: Place) -> Constant:
    node, index = place
    constant = node.inputs[index]
    assert isinstance(constant, Constant)
    return constant
