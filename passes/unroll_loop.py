"""unroll-loop: a Loop that provably runs once becomes its body, one that never runs its initial values."""

from __future__ import annotations

import itertools
from typing import ClassVar

import numpy as np

from maxfold.model.data import Array
from maxfold.model.edit import Edit
from maxfold.model.graph import Graph, Node, Tensor, Variable
from maxfold.model.inference.control import trip_count
from maxfold.model.splice import is_used, why_kept_inside, why_not_moved, why_not_replaced
from maxfold.model.types import declared_shape
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.rule import Decline, Match, frozen

# Inputs of a Loop, and of its body, before the values that it carries; the body returns a condition before them.
_FIRST_CARRIED = 2
_AXES_INPUT_OPSET = 13


@frozen
class NeverRuns:
    """A Loop, the initial values of what it carries, and what it collects: empty arrays, None for what is not used."""

    node: Node
    carried: tuple[Tensor, ...]
    collected: tuple[Array | None, ...]

    def apply(self, edit: Edit) -> None:
        """Lets the consumers read the initial values."""
        empty = [
            tensor if array is None else edit.add_constant(array, like=tensor)
            for tensor, array in zip(self.node.outputs[len(self.carried) :], self.collected, strict=True)
        ]
        edit.replace_results(self.node, [*self.carried, *empty])


@frozen
class RunsOnce:
    """A Loop and its body. `iteration` and `condition` are what the body reads for its first two inputs."""

    node: Node
    body: Graph
    iteration: Array
    condition: Array
    opset: int

    def apply(self, edit: Edit) -> None:
        """Moves the body's nodes in the place of the Loop."""
        node, body = self.node, self.body
        bindings = dict(zip(body.inputs[_FIRST_CARRIED:], node.inputs[_FIRST_CARRIED:], strict=True))
        for tensor, array in zip(body.inputs[:_FIRST_CARRIED], (self.iteration, self.condition), strict=True):
            if edit.use_count(tensor) or tensor in body.outputs[1:]:
                bindings[tensor] = edit.add_constant(array, like=node.outputs[0])
        returned = edit.inline_graph(body, before=node, bindings=bindings)[1:]
        count = len(node.inputs) - _FIRST_CARRIED
        results = returned[:count]
        for result, tensor in zip(node.outputs[count:], returned[count:], strict=True):
            results.append(self._collected(tensor, edit) if is_used(result, edit) else tensor)
        edit.replace_results(node, results)

    def _collected(self, tensor: Tensor, edit: Edit) -> Tensor:
        """The values of one iteration, stacked along a new first axis."""
        if self.opset < _AXES_INPUT_OPSET:
            return edit.add_node("Unsqueeze", [tensor], before=self.node, attributes={"axes": [0]}).outputs[0]
        axes = edit.add_constant(np.array([0], np.int64), like=self.node.outputs[0])
        return edit.add_node("Unsqueeze", [tensor, axes], before=self.node).outputs[0]


class UnrollLoop(SingleRulePass):
    """Trip count and conditions are constants, or computed from sizes that are the same in every run.

    Removes one Loop a match; what it collects needs an Unsqueeze each.
    """

    name: ClassVar[str] = "unroll-loop"
    summary: ClassVar[str] = "replace a Loop that runs once by its body, or never by its initial values"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Loop")})
    results: ClassVar[int | None] = None

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where the number of runs is known and the results cannot be had without the Loop."""
        body = node.attrs.get("body")
        carried = node.inputs[_FIRST_CARRIED:]
        if not isinstance(body, Graph) or len(body.inputs) != len(carried) + _FIRST_CARRIED:
            return Decline("it does not give its body's inputs")
        if len(body.outputs) != len(node.outputs) + 1 or len(node.outputs) < len(carried):
            return Decline("its body does not give its results")
        trips = trip_count(node, body, view.value)
        if trips is None:
            return None
        if not all(tensor.name for tensor in carried):
            return Decline("an initial value is left out")
        return _never(node, body, view) if trips == 0 else _once(node, body, view)


def _never(node: Node, body: Graph, view: View) -> Match | Decline:
    carried = tuple(node.inputs[_FIRST_CARRIED:])
    reason = why_kept_inside(node, view) or why_not_replaced(node, carried, view) or view.why_not_settled(node)
    if reason is not None:
        return Decline(reason)
    collected: list[Array | None] = []
    first = 1 + len(carried)
    infos = itertools.chain(body.output_info[first:], itertools.repeat(None))
    for result, tensor, info in zip(node.outputs[len(carried) :], body.outputs[first:], infos, strict=False):
        shape, dtype = view.shape(tensor), view.dtype(tensor)
        if not is_used(result, view):
            collected.append(None)
        elif shape is None or dtype is None or None in shape:
            return Decline(f"it never runs, and the shape of what it would collect in {result.name!r} is not known")
        elif info is None or declared_shape(info) != shape:
            # Nothing is there to take the shape from: runtimes take it from the declaration, 0 for what that omits.
            return Decline(f"it never runs, and its body does not declare the shape of {tensor.name!r}")
        else:
            collected.append(np.zeros((0, *(dim for dim in shape if dim is not None)), dtype.numpy))
    return NeverRuns(node, carried, tuple(collected))


def _once(node: Node, body: Graph, view: View) -> Match | Decline:
    bindings: dict[Tensor, Tensor | None] = dict.fromkeys(body.inputs[:_FIRST_CARRIED])
    bindings.update(zip(body.inputs[_FIRST_CARRIED:], node.inputs[_FIRST_CARRIED:], strict=True))
    returned = [bindings.get(tensor) or tensor for tensor in body.outputs[1 : len(node.inputs) - 1]]
    reason = why_not_moved(body, node, view, bindings) or why_not_replaced(node, returned, view, body)
    reason = reason or view.why_not_settled(node)
    if reason is not None:
        return Decline(reason)
    opset = view.opset(node)
    iteration, condition = (_declared_rank(tensor) for tensor in body.inputs[:_FIRST_CARRIED])
    if opset is None or max(iteration, condition) > 1:
        return Decline("its body declares that the iteration number or the condition is no scalar")
    return RunsOnce(node, body, np.zeros((1,) * iteration, np.int64), np.ones((1,) * condition, np.bool_), opset)


def _declared_rank(tensor: Tensor) -> int:
    """The rank of the iteration number or condition: 0 by the specification; runtimes follow a body that says 1."""
    return 0 if not isinstance(tensor, Variable) or tensor.shape is None else len(tensor.shape)
