"""remove-zero-state: an initial state of zeros is what LSTM, GRU, RNN and DynamicQuantizeLSTM begin with anyway."""

from __future__ import annotations

from typing import ClassVar

from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.inference import Dim
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import integer, operand, text
from maxfold.passes.operands import all_equal_bits, all_finite
from maxfold.passes.rule import Decline, Match, frozen

_OPERATORS = (("", "GRU"), ("", "LSTM"), ("", "RNN"), ("com.microsoft", "DynamicQuantizeLSTM"))
_RECURRENT = 2
# Dimensions of the input of a sequence, which has its batch first with the attribute `layout`.
_SEQUENCE_RANK = 3
# initial_h, and initial_c of an LSTM.
_STATES = (5, 6)
# The result holds elements of the first input and no others, of whatever type.
_MOVES = (
    "Cast",
    "Expand",
    "Flatten",
    "Gather",
    "Identity",
    "Reshape",
    "Slice",
    "Squeeze",
    "Tile",
    "Transpose",
    "Unsqueeze",
)
# How many nodes a state is followed back through.
_MOST_MOVES = 8


@frozen
class WithoutState:
    """A node, and which of its inputs are left out."""

    node: Node
    states: tuple[int, ...]

    def apply(self, edit: Edit) -> None:
        """Leaves the inputs out; what made them goes if nothing else needs it."""
        makers = [maker for index in self.states for maker in self.node.inputs[index].inputs]
        inputs = [
            edit.omitted(self.node.scope) if index in self.states else tensor
            for index, tensor in enumerate(self.node.inputs)
        ]
        while not inputs[-1].name:
            inputs.pop()
        edit.set_inputs(self.node, inputs)
        edit.remove_unused(makers)


class RemoveZeroState(SingleRulePass):
    """All elements are +0.0: a constant, ConstantOfShape without value, or moved parts of one.

    What is not known to have the shape of a state may make a run fail, and stays. A state of RNN that is given ONNX
    Runtime multiplies with the recurrent weights, for one that is left out it adds nothing: only the first makes NaN of
    infinity. Reduces the inputs of the node.
    """

    name: ClassVar[str] = "remove-zero-state"
    summary: ClassVar[str] = "leave out initial states of zeros of LSTM, GRU, RNN and DynamicQuantizeLSTM"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset(_OPERATORS)
    results: ClassVar[int | None] = None

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """None where no state is known to be zero.

        Declines where its shape is not known to be right, or recurrent weights of RNN may not be finite.
        """
        zeros = [index for index in _STATES if (state := operand(node, index)) is not None and _is_zero(state, view)]
        if not zeros:
            return None
        wanted = _state_dims(node, view)
        states = tuple(index for index in zeros if wanted is not None and view.dims(node.inputs[index]) == wanted)
        if not states:
            return Decline("the state is not known to have the shape of one, and might make a run fail")
        weights = operand(node, _RECURRENT)
        constant = view.constant(weights) if weights is not None and node.op == "RNN" else None
        if node.op == "RNN" and (constant is None or not all_finite(constant)):
            return Decline("the recurrent weights may be infinite or NaN, which times 0 is NaN")
        return WithoutState(node, states)


def _state_dims(node: Node, view: View) -> tuple[Dim, ...] | None:
    """The shape of a state: directions, batch and units; None where it is not known."""
    given, units = view.dims(node.inputs[0]), node.attrs.get("hidden_size")
    if units is None:
        weights = view.dims(node.inputs[_RECURRENT])
        units = weights[-1] if weights else None
    if given is None or len(given) != _SEQUENCE_RANK or units is None:
        return None
    directions = 2 if text(node, "direction", "forward") == "bidirectional" else 1
    return (given[0], directions, units) if integer(node, "layout", 0) else (directions, given[1], units)


def _is_zero(tensor: Tensor, view: View) -> bool:
    for _ in range(_MOST_MOVES):
        if isinstance(tensor, Constant):
            return view.constant(tensor) is not None and all_equal_bits(tensor, 0)
        maker = view.producer(tensor)
        if maker is None or not maker.inputs:
            return False
        if view.is_operator(maker, "ConstantOfShape"):
            value = maker.attrs.get("value")
            return value is None or (isinstance(value, Constant) and all_equal_bits(value, 0))
        if not any(view.is_operator(maker, operator) for operator in _MOVES):
            return False
        tensor = maker.inputs[0]
    return False
