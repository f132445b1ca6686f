"""Lets nodes work in another order of axes."""

from __future__ import annotations

from maxfold.model.computed import is_small, transposed
from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.passes.layout_regions import Order, Region
from maxfold.passes.layouts import Moved, permuted_array, permuted_shape


def rewrite(region: Region, flipped: set[Node], edit: Edit) -> None:
    """Makes those nodes of a region work in its order. All other tensors stay what they are."""
    _Rewrite(region, flipped, edit).run()


class _Rewrite:
    """The new tensors of one rewrite, by the old ones."""

    def __init__(self, region: Region, flipped: set[Node], edit: Edit) -> None:
        self._region = region
        self._nodes = [node for node in region.nodes if node in flipped]
        self._edit = edit
        self._made: dict[Tensor, Tensor] = {}
        self._permuted: dict[Tensor, Tensor] = {}

    def run(self) -> None:
        region, edit = self._region, self._edit
        for node in self._nodes:
            for tensor in list(node.outputs):
                if tensor.name and region.nodes[node].moves_results:
                    self._made[tensor] = edit.displace(tensor)
        inputs = [self._inputs(node, region.nodes[node]) for node in self._nodes]
        for node, operands in zip(self._nodes, inputs, strict=True):
            edit.set_inputs(node, operands)
            for name, value in region.nodes[node].attributes.items():
                edit.set_attribute(node, name, value)
        for old, new in self._made.items():
            self._settle(old, new)
        edit.remove_unused(meeting.back for meeting in region.meetings.values() if meeting.back is not None)

    def _inputs(self, node: Node, found: Moved) -> list[Tensor]:
        operands = list(node.inputs)
        for index in found.carried:
            operands[index] = self._carried(operands[index], node)
        for index, constant in found.constants.items():
            operands[index] = self._constant(constant, node)
        for index, array in found.replaced.items():
            operands += [self._edit.omitted(node.scope) for _ in range(index + 1 - len(operands))]
            operands[index] = self._edit.add_constant(array, like=node.outputs[0])
        return operands

    def _carried(self, tensor: Tensor, node: Node) -> Tensor:
        """An operand in the new order, transposed where nothing has it so."""
        if tensor in self._made:
            return self._made[tensor]
        if tensor not in self._permuted:
            meeting = self._region.meetings[tensor]
            if meeting.back is not None:
                found = meeting.back.inputs[0]
            elif meeting.onwards:
                found = meeting.onwards[0].outputs[0]
            else:
                found = self._transpose(tensor, self._region.order, node)
            self._permuted[tensor] = found
        return self._permuted[tensor]

    def _transpose(self, tensor: Tensor, order: Order, node: Node) -> Tensor:
        return self._edit.add_node("Transpose", [tensor], before=node, attributes={"perm": list(order)}).outputs[0]

    def _constant(self, constant: Constant, node: Node) -> Tensor:
        if constant not in self._permuted:
            order, data = self._region.order, constant.data
            shape = permuted_shape(constant, order)
            assert data.dtype is not None
            if is_small(data.dtype, shape):
                made = self._edit.add_constant(permuted_array(data.array(), order), like=constant)
            else:
                padded = (1,) * (len(order) - len(data.shape)) + data.shape
                made = self._edit.add_constant(transposed(data, padded, order), like=constant)
            self._permuted[constant] = made
        return self._permuted[constant]

    def _settle(self, old: Tensor, new: Tensor) -> None:
        """Whoever still reads what a node made before gets it from a Transpose back."""
        edit, region = self._edit, self._region
        for node in region.meetings[old].onwards:
            edit.replace_uses(node.outputs[0], new)
            edit.remove_node(node)
        if not edit.use_count(old) and not edit.is_graph_output(old):
            edit.forget_declaration(old)
            return
        (maker,) = new.inputs
        back = tuple(region.order.index(axis) for axis in range(len(region.order)))
        edit.take_place(old, self._transpose(new, back, maker))
