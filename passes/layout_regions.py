"""Regions whose nodes may work in another order of axes, and which of their nodes had better.

A node has label 1 where it is to work in the new order, else 0. What makes a tensor, and each that reads it, has a
label; where two of them differ the tensor has to be transposed, once. Nodes that cannot change, graph inputs and
outputs have label 0. A Transpose back from the new order makes what label 1 reads, and a Transpose to it reads what
label 1 makes. The labels of least cost are a minimum cut. The cost is first the elements that are transposed, then the
number of Transposes.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import field

from maxfold.model.dtypes import DType
from maxfold.model.errors import ModelError
from maxfold.model.graph import Graph, Node, Tensor
from maxfold.model.inference import Dim
from maxfold.model.inference.symbolic import Expr, Monomial, product
from maxfold.model.records import record
from maxfold.model.view import View
from maxfold.passes.layouts import ROWS, Moved, Refusal, Site, moved
from maxfold.passes.minimum_cut import UNBOUNDED, Network
from maxfold.passes.nodes import operand
from maxfold.passes.remove_no_op_transpose import permutation
from maxfold.passes.runtime_patterns import elementwise_pattern, why_protected

Order = tuple[int, ...]

# More than the tensors of a region; a tensor of this many elements counts as much as a larger one.
_ONE_ELEMENT = 1 << 24
_MOST_ELEMENTS = 1 << 60
# What an open dimension is taken for where sizes are compared first.
_TYPICAL_SIZE = 64
# Looks at edges of a network, for each of its edges.
_BUDGET = 60
_BFLOAT16_OPSET = 13


@record
class Meeting:
    """A tensor between nodes of a region, or at its border.

    `maker` is the node of the region that makes it, `back` a Transpose from the new order that does; `readers` are
    those in the region, `onwards` Transposes to the new order. `is_needed`: something else reads it as it is.
    """

    tensor: Tensor
    maker: Node | None = None
    back: Node | None = None
    readers: list[Node] = field(default_factory=list)
    onwards: list[Node] = field(default_factory=list)
    is_needed: bool = False

    def is_transposed(self, flipped: set[Node]) -> bool:
        """Whether it has to be, where these nodes have label 1."""
        made = self.back is not None or self.maker in flipped
        labels = {node in flipped for node in self.readers}
        return (made and (self.is_needed or False in labels)) or (not made and (bool(self.onwards) or True in labels))


@record
class Region:
    """Connected nodes that may change, what each becomes then, and the tensors that they read and make."""

    order: Order
    view: View
    nodes: dict[Node, Moved] = field(default_factory=dict)
    meetings: dict[Tensor, Meeting] = field(default_factory=dict)

    def best(self) -> tuple[set[Node], str | None]:
        """The nodes that had better change, and why others do not that would."""
        if not any(meeting.back or meeting.onwards for meeting in self.meetings.values()):
            return set(), None
        flipped = self._cut()
        if not flipped:
            return flipped, None
        saved: Counter[Monomial] = Counter()
        for meeting in self.meetings.values():
            difference = meeting.is_transposed(set()) - meeting.is_transposed(flipped)
            for monomial, factor in _terms(product(self.view.dims(meeting.tensor) or ())) if difference else ():
                saved[monomial] += difference * factor
        if all(factor >= 0 and _is_counted(monomial) for monomial, factor in saved.items() if factor):
            return flipped, None
        return set(), "whether fewer elements would be transposed depends on sizes that are not known"

    def _cut(self) -> set[Node]:
        network = Network()
        numbers = {node: network.add_node() for node in self.nodes}
        edges = sum(2 + len(meeting.readers) for meeting in self.meetings.values())
        for meeting in self.meetings.values():
            self._add(meeting, numbers, network)
        side = network.source_side(_BUDGET * edges + 1000)
        if side is not None:
            return {node for node, number in numbers.items() if number in side}
        everything = set(self.nodes)
        return everything if self._cost(everything) < self._cost(set()) else set()

    def _cost(self, flipped: set[Node]) -> int:
        return sum(self._weight(item) for item in self.meetings.values() if item.is_transposed(flipped))

    def _weight(self, meeting: Meeting) -> int:
        return min(elements(self.view, meeting.tensor), _MOST_ELEMENTS) * _ONE_ELEMENT + 1

    def _add(self, meeting: Meeting, numbers: dict[Node, int], network: Network) -> None:
        # The source stands for label 1, the sink for label 0.
        source, sink = 0, 1
        maker = numbers[meeting.maker] if meeting.maker is not None else sink if meeting.back is None else source
        readers = [numbers[node] for node in dict.fromkeys(meeting.readers)]
        zeros = readers + [sink] * meeting.is_needed
        ones = readers + [source] * bool(meeting.onwards)
        weight = UNBOUNDED if self._is_tied(meeting) else self._weight(meeting)
        if maker != sink and zeros:
            # Label 1 makes it, and somebody has label 0.
            joint = network.add_node()
            network.connect(maker, joint, weight)
            for reader in zeros:
                network.connect(joint, reader, UNBOUNDED)
        if maker != source and ones:
            joint = network.add_node()
            network.connect(joint, maker, weight)
            for reader in ones:
                network.connect(reader, joint, UNBOUNDED)

    def _is_tied(self, meeting: Meeting) -> bool:
        """Whether no Transpose may come in between: patterns and quantized operators that runtimes fuse."""
        if meeting.is_transposed(set()):
            return False
        maker = self.view.producer(meeting.tensor)
        if maker is None:
            return False
        if maker.op == "DequantizeLinear" or any(
            reader.op == "QuantizeLinear" for reader in meeting.readers if reader.inputs[0] is meeting.tensor
        ):
            return True
        return elementwise_pattern(maker, self.view) and any(
            elementwise_pattern(reader, self.view) for reader in meeting.readers
        )


def elements(view: View, tensor: Tensor) -> int:
    """About how many elements a tensor of known rank has."""
    terms = _terms(product(view.dims(tensor) or ()))
    return max(0, sum(factor * int(_TYPICAL_SIZE ** len(monomial)) for monomial, factor in terms))


def _terms(dim: Dim) -> Iterable[tuple[Monomial, int]]:
    return dim.terms.items() if isinstance(dim, Expr) else (((), dim),)


def _is_counted(monomial: Monomial) -> bool:
    return all(atom.low is not None and atom.low >= 0 for atom in monomial)


class Finder:
    """Finds the regions of a scope that have Transposes of an order, or back from it, at their border.

    `refusals` are the nodes met that cannot change, each with the reason, "" for operators that never can.
    """

    def __init__(self, scope: Graph, order: Order, view: View, max_growth_bytes: int) -> None:
        self._scope = scope
        self._order = order
        self._back = tuple(order.index(axis) for axis in range(len(order)))
        self._view = view
        self._max_growth_bytes = max_growth_bytes
        self._seen: set[Node] = set()
        self.refusals: dict[Node, str] = {}

    def regions(self) -> Iterator[Region]:
        """Each region, as the graph is when it is asked for."""
        view = self._view
        for node in list(self._scope.nodes):
            if not view.is_live(node) or node.op != "Transpose" or not view.is_operator(node, "Transpose"):
                continue
            if operand(node, 0) is None or not node.outputs:
                continue
            starts: list[Node] = []
            if self._permutes(node, self._order):
                starts += node.inputs[0].inputs[:1]
            if view.is_live(node) and self._permutes(node, self._back):
                starts += view.consumers(node.outputs[0])
            for start in starts:
                if start not in self._seen and start not in self.refusals and view.is_live(start):
                    region = self._grown(start)
                    if region.nodes:
                        yield region

    def _permutes(self, node: Node, order: Order) -> bool:
        return order_of(node, len(order)) == order

    def _grown(self, start: Node) -> Region:
        region = Region(self._order, self._view)
        pending = deque([start])
        while pending:
            node = pending.popleft()
            if node in self._seen or node.scope is not self._scope:
                continue
            found = self._moved(node)
            if found is None:
                continue
            self._seen.add(node)
            region.nodes[node] = found
            tensors = [node.inputs[index] for index in found.carried]
            tensors += [item for item in node.outputs if item.name and found.moves_results]
            for tensor in tensors:
                if tensor not in region.meetings:
                    region.meetings[tensor] = Meeting(tensor)
                    pending.extend(item for item in tensor.inputs[:1] if item not in self.refusals)
                    pending.extend(item for item in self._view.consumers(tensor) if item not in self.refusals)
        self._fill(region)
        return region

    def _fill(self, region: Region) -> None:
        """Who makes and reads each tensor; only when all nodes are known."""
        view = self._view
        for tensor, meeting in region.meetings.items():
            maker = view.producer(tensor)
            if maker is not None and maker in region.nodes and region.nodes[maker].moves_results:
                meeting.maker = maker
            elif maker is not None and self._may_go(maker, self._back):
                meeting.back = maker
        # Of an order that is its own inverse one Transpose may be both. It counts once.
        backs = {meeting.back for meeting in region.meetings.values()}
        for tensor, meeting in region.meetings.items():
            meeting.is_needed = view.is_graph_output(tensor)
            for reader in view.consumers(tensor):
                if reader in region.nodes and self._is_carried(reader, tensor, region):
                    meeting.readers.append(reader)
                elif reader not in backs and self._leads_on(reader, meeting):
                    meeting.onwards.append(reader)
                else:
                    meeting.is_needed = True

    def _is_carried(self, reader: Node, tensor: Tensor, region: Region) -> bool:
        return any(reader.inputs[index] is tensor for index in region.nodes[reader].carried)

    def _leads_on(self, node: Node, meeting: Meeting) -> bool:
        """Whether a Transpose to the new order gives what label 1 makes."""
        if node.scope is not self._scope or not self._view.is_operator(node, "Transpose"):
            return False
        if meeting.maker is None:
            # It stays, and others may read it.
            return meeting.back is None and self._permutes(node, self._order)
        view = self._view
        if view.is_graph_output(node.outputs[0]) and (view.use_count(meeting.tensor) > 1 or meeting.is_needed):
            return False
        return self._may_go(node, self._order)

    def _may_go(self, node: Node, order: Order) -> bool:
        view = self._view
        if node.scope is not self._scope or not view.is_operator(node, "Transpose") or not self._permutes(node, order):
            return False
        return not view.is_kept(node) and view.why_fixed(node.outputs[0]) is None

    def _moved(self, node: Node) -> Moved | None:
        if node in self.refusals:
            return None
        try:
            return self._checked(node)
        except (Refusal, ModelError) as refusal:
            self.refusals[node] = str(refusal)
            return None

    def _checked(self, node: Node) -> Moved:
        view = self._view
        opset = view.opset(node)
        if node.op not in ROWS or not view.is_operator(node, node.op) or opset is None:
            raise Refusal("")
        if view.is_kept(node):
            raise Refusal("it is to be kept")
        reason = view.why_not_settled(node)
        for tensor in node.outputs:
            reason = reason or (view.why_fixed(tensor) if tensor.name else None)
        if reason is None and not elementwise_pattern(node, view):
            reason = why_protected(node, view)
        if reason is not None:
            raise Refusal(reason)
        found = moved(Site(node, self._order, opset, view))
        for tensor in (*(node.inputs[index] for index in found.carried), *node.outputs):
            if tensor.name and not _is_transposable(view.dtype(tensor), opset):
                raise Refusal(f"{tensor.name!r} is of a type that is not transposed everywhere")
        for constant in found.constants.values():
            grown = 0 if view.dies_with(constant, node.inputs.count(constant)) else constant.data.nbytes
            if grown > self._max_growth_bytes:
                raise Refusal(f"the file would grow by {grown} bytes, more than {self._max_growth_bytes}")
        return found


def order_of(node: Node, rank: int | None) -> Order | None:
    """The order that a Transpose brings about, None where it is not known."""
    try:
        found = permutation(node, rank) if operand(node, 0) is not None else None
    except ModelError:
        return None
    return None if found is None else tuple(found)


def _is_transposable(dtype: DType | None, opset: int) -> bool:
    if dtype is None or dtype.is_packed or dtype.kind not in ("bool", "int", "uint", "float") or dtype.bits < 8:
        return False
    return (dtype.kind != "float" or dtype.bits > 8) and (dtype.name != "BFLOAT16" or opset >= _BFLOAT16_OPSET)
