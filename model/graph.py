"""graphsurgeon's classes, adopted: compared and hashed by identity, with what graphsurgeon would lose.

A graph is a scope. A `Constant` node of the file is not a node here: its output is a `Constant` tensor that
remembers the node, and the writer puts the node back. So no rewrite ever meets a Constant node, and no count
of nodes includes one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import onnx
import onnx_graphsurgeon as gs
from onnx_graphsurgeon.util.misc import SynchronizedList

from maxfold.model.data import Array, ArrayData, TensorData


class Node(gs.Node):  # type: ignore[misc]  # graphsurgeon is not typed
    """An operation. `scope` is the graph it stands in; `proto` what the file said of it, None if new.

    `position` orders nodes and Constant nodes of one scope as in the file.
    """

    op: str
    name: str
    domain: str
    attrs: dict[str, Any]
    inputs: list[Tensor]
    outputs: list[Tensor]
    scope: Graph
    proto: onnx.NodeProto | None
    position: int

    __eq__ = object.__eq__
    __hash__ = object.__hash__


class Variable(gs.Variable):  # type: ignore[misc]
    """A value computed at run time, or an omitted optional input or output (name "")."""

    name: str
    inputs: list[Node]
    outputs: list[Node]
    dtype: Any
    shape: Any
    type: str
    scope: Graph

    __eq__ = object.__eq__
    __hash__ = object.__hash__


class Constant(gs.Constant):  # type: ignore[misc]
    """A value known before run time: an initializer, or the output of a Constant node.

    `origin` is what the file said of it: a TensorProto or SparseTensorProto without large data, the NodeProto of a
    Constant node, or the Const layer of an IR; None if new. `position` is that of the Constant node.
    """

    name: str
    inputs: list[Node]
    outputs: list[Node]
    scope: Graph
    _values: Any
    origin: Any
    position: int
    type = "tensor_type"

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def data(self) -> TensorData:
        """The values, still undecoded."""
        data = self._values
        if isinstance(data, TensorData):
            return data
        self._values = made = ArrayData(data)
        return made

    @property
    def values(self) -> Array:
        """The values as a read-only array; setting them replaces the data."""
        return self.data.array()

    @values.setter
    def values(self, values: Array | TensorData) -> None:
        self._values = values if isinstance(values, TensorData) else ArrayData(values)

    @property
    def dtype(self) -> Any:
        """The numpy dtype of the values, None where the file's element type is unknown."""
        dtype = self.data.dtype
        return None if dtype is None else dtype.numpy

    @property
    def is_node(self) -> bool:
        """Whether the file has a Constant node for it."""
        return isinstance(self.origin, onnx.NodeProto)


Tensor = Variable | Constant


class Graph(gs.Graph):  # type: ignore[misc]
    """A scope: the main graph, a subgraph, or (as `Function`) the body of a model-local function.

    `constants` lists its initializers and Constant nodes' outputs in the file's order, unused ones too.
    `value_info`, `input_info` and `output_info` keep what the file declares of results, inputs (by name) and outputs;
    declarations of the names in `forgotten` are not written any more. `results` are the Result layers of an IR, one an
    output.
    """

    nodes: list[Node]
    inputs: list[Tensor]
    outputs: list[Tensor]
    constants: list[Constant]
    proto: onnx.GraphProto | onnx.FunctionProto | None
    value_info: list[onnx.ValueInfoProto]
    input_info: dict[str, onnx.ValueInfoProto]
    output_info: list[onnx.ValueInfoProto]
    forgotten: set[str]
    results: list[Any]
    parent: Node | None

    __eq__ = object.__eq__
    __hash__ = object.__hash__


class Function(gs.Function, Graph):  # type: ignore[misc]
    """The body of a model-local function: a scope that sees no other."""

    domain: str

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def key(self) -> tuple[str, str, str]:
        """(domain, name, overload)."""
        overload = self.proto.overload if isinstance(self.proto, onnx.FunctionProto) else ""
        return self.domain, self.name, overload


def new_variable(name: str, scope: Graph) -> Variable:
    """A variable without producer and consumers."""
    variable = Variable.__new__(Variable)
    variable.__dict__.update(name=name, dtype=None, shape=None, type="tensor_type", scope=scope)
    _add_links(variable)
    return variable


def new_constant(name: str, data: TensorData, scope: Graph, origin: Any = None, position: int = -1) -> Constant:
    """A constant without consumers."""
    constant = Constant.__new__(Constant)
    constant.__dict__.update(
        name=name, _values=data, data_location=None, _export_dtype=None, scope=scope, origin=origin, position=position
    )
    _add_links(constant)
    return constant


def new_node(
    op: str, inputs: Iterable[Tensor], outputs: Iterable[Tensor], scope: Graph, *, domain: str = "", name: str = "",
    attributes: dict[str, Any] | None = None, proto: onnx.NodeProto | None = None, position: int = -1,
) -> Node:  # fmt: skip
    """A node linked with its inputs and outputs, not yet in any list of nodes."""
    node = Node.__new__(Node)
    node.__dict__.update(
        op=op, name=name, domain=domain, attrs={} if attributes is None else attributes, scope=scope, proto=proto,
        position=position, inputs=_links(node, "outputs", inputs), outputs=_links(node, "inputs", outputs),
    )  # fmt: skip
    for tensor in node.inputs:
        list.append(tensor.outputs, node)
    for tensor in node.outputs:
        list.append(tensor.inputs, node)
    return node


def new_graph(name: str, parent: Node | None = None, proto: onnx.GraphProto | None = None) -> Graph:
    """An empty scope."""
    graph = Graph(name=name)
    init_scope(graph, parent, proto)
    return graph


def new_function(proto: onnx.FunctionProto) -> Function:
    """An empty function body."""
    function = Function(name=proto.name, domain=proto.domain, doc_string=proto.doc_string)
    function.import_domains = list(proto.opset_import)
    init_scope(function, None, proto)
    return function


def init_scope(graph: Graph, parent: Node | None, proto: Any) -> None:
    graph.constants = []
    graph.proto = proto
    graph.value_info, graph.input_info, graph.output_info = [], {}, []
    graph.forgotten = set()
    graph.results = []
    graph.parent = parent


def subgraphs(node: Node) -> list[Graph]:
    """The graphs in a node's attributes, those in lists too."""
    values = node.attrs.values()
    return [graph for value in values if type(value) not in _PLAIN for graph in _graphs_in(value)]


# Most attributes are numbers and text, or lists of them.
_PLAIN = frozenset((int, float, str, bytes))


def _graphs_in(value: Any) -> Sequence[Graph]:
    if isinstance(value, Graph):
        return (value,)
    if not isinstance(value, list) or _PLAIN.issuperset(map(type, value)):
        return ()
    return [item for item in value if isinstance(item, Graph)]


def scopes_of(root: Graph) -> Iterator[Graph]:
    """A graph and all graphs inside it, outer ones first, in the order of the file."""
    pending = [root]
    while pending:
        graph = pending.pop()
        yield graph
        lists = [node.attrs.values() for node in graph.nodes if node.attrs]
        inner = [
            item for values in lists for value in values if type(value) not in _PLAIN for item in _graphs_in(value)
        ]
        pending.extend(reversed(inner))


class _Links(SynchronizedList):  # type: ignore[misc]
    """A list of graphsurgeon's that has no dict of its own: there are two for every node and every tensor."""

    __slots__ = ("field_name", "parent_obj")

    parent_obj: Any
    field_name: str


def _links(owner: Any, field: str, members: Iterable[Any]) -> _Links:
    links = _Links.__new__(_Links)
    links.parent_obj = owner
    links.field_name = field
    list.extend(links, members)
    return links


def _add_links(tensor: Tensor) -> None:
    tensor.__dict__["inputs"] = _links(tensor, "outputs", ())
    tensor.__dict__["outputs"] = _links(tensor, "inputs", ())
