"""What rules may ask about a model. Nothing here changes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, TypeVar

from maxfold.model.bound_names import bound_names
from maxfold.model.data import why_no_array
from maxfold.model.dtypes import DType
from maxfold.model.fragile import contradicted_nodes, frozen_nodes
from maxfold.model.graph import Constant, Function, Graph, Node, Tensor
from maxfold.model.inference import Dim, Fact, Inference, PartialValue
from maxfold.model.inference.nonzero import is_nonzero, nonzero_atoms
from maxfold.model.math_log import MathLog
from maxfold.model.model import ONNX_DOMAINS, Model
from maxfold.model.suppositions import ever_known, refusal_as_output, refusal_under

Math = Literal["exact", "relaxed"]
_Derived = TypeVar("_Derived")

# OpenVINO's operations are nodes of the domains "openvino.opset1", "openvino.opset2" and so on.
IR_DOMAIN = "openvino"
IR_PREFIX = "openvino."

# Of nodes with more inputs it is remembered where they read what, so that edits of each input stay linear together.
_MANY_INPUTS = 16


class View:
    """A model as rules see it, kept up to date by `Edit`.

    `math` is "exact" or "relaxed"; tensors and nodes named in `keep` are left alone. Exporters declare a dimension of
    an input as 0 where they do not know it: only with `believes_zero` it is 0. So it is with an input that is declared
    without any dimension, which runtimes take in any rank: only with `believes_zero` it is a scalar. Without
    `is_checked` no static check will see the model, as where it is converted: then nothing has to stay unknown to them.
    With `supposes_weights` large weights are never read; new ones that they would give are taken to be finite.
    """

    def __init__(
        self,
        model: Model,
        *,
        math: Math = "exact",
        keep: Iterable[str] = (),
        believes_zero: bool = False,
        is_checked: bool = True,
        supposes_weights: bool = False,
    ) -> None:
        self.model = model
        self.believes_zero = believes_zero
        self._is_checked = is_checked
        self._math: Math = math
        self.supposes_weights = supposes_weights
        self.math_log = MathLog()
        self.keep = frozenset(keep)
        self._dead: set[Node] = set()
        self._stale: set[Tensor] = set()
        # Of nodes with many inputs, where they read which tensor.
        self._places: dict[Node, dict[Tensor, list[int]]] = {}
        self._uses: dict[Tensor, int] = {}
        self._output_uses: dict[Tensor, int] = {}
        self._opsets: dict[Graph, dict[str, int]] = {}
        self._find_functions()
        self._inference = Inference(self)
        self._remembered: dict[Callable[[View], Any], Any] = {}
        self._operators: frozenset[tuple[str, int | None]] | None = None
        self._bound = bound_names(model)
        self._graph_inputs: set[Tensor] = set()
        self._shadowed: set[str] = set()
        self._index()

    @property
    def math(self) -> Math:
        """The mode. That somebody asked is logged: what they found may be otherwise in the other."""
        self.math_log.has_asked = True
        return self._math

    def _find_functions(self) -> None:
        self._functions = {
            ("" if function.domain in ONNX_DOMAINS else function.domain, function.name)
            for function in self.model.functions
        }

    def _index(self) -> None:
        defined: dict[Graph, set[str]] = {}
        for scope in self.model.scopes():
            outer = scope.parent.scope if scope.parent is not None else None
            for tensor in scope.outputs:
                self._output_uses[tensor] = self._output_uses.get(tensor, 0) + 1
            for constant in scope.constants:
                self._uses[constant] = len(constant.outputs)
            self._graph_inputs.update(scope.inputs)
            for tensor in scope.inputs:
                self._uses[tensor] = len(tensor.outputs)
            for node in scope.nodes:
                for tensor in node.outputs:
                    self._uses[tensor] = len(tensor.outputs)
            if outer is None and not any(node.attrs for node in scope.nodes):
                continue
            names = {tensor.name for tensor in (*scope.inputs, *scope.constants)}
            names.update(tensor.name for node in scope.nodes for tensor in node.outputs)
            defined[scope] = names
            while outer is not None:
                self._shadowed |= names & defined[outer]
                outer = outer.parent.scope if outer.parent is not None else None
        self._shadowed.discard("")

    def nodes(self) -> Iterator[Node]:
        """All nodes that are left, outer scopes first, each scope in its order."""
        for scope in self.model.scopes():
            for node in scope.nodes:
                if node not in self._dead:
                    yield node

    def is_live(self, node: Node) -> bool:
        """Whether a node has not been removed."""
        return node not in self._dead

    def is_kept(self, item: Node | Tensor) -> bool:
        """Whether the caller asked to leave a node (or any of its results) or a tensor alone."""
        if not self.keep:
            return False
        if item.name in self.keep:
            return True
        return isinstance(item, Node) and any(tensor.name in self.keep for tensor in item.outputs)

    def opset(self, node: Node) -> int | None:
        """The version of the node's operator set, None where the model does not import it."""
        root = node.scope
        while root.parent is not None:
            root = root.parent.scope
        versions = self._opsets.get(root)
        if versions is None:
            versions = self._opsets[root] = self.model.opsets(root)
        domain = domain_of(node)
        if domain == IR_DOMAIN:
            return opset_number(node.domain.removeprefix(IR_PREFIX))
        return versions.get(domain)

    def is_operator(self, node: Node, operator: str, domain: str = "") -> bool:
        """Whether a node is that operator of that domain, and not a model-local function of that name."""
        return node.op == operator and domain_of(node) == domain and not self.is_function_call(node)

    def is_used(self, operator: str, opset: int) -> bool:
        """Whether the model had nodes of that ONNX operator and operator set when this was asked for the first time."""
        if self._operators is None:
            own = (node for node in self.nodes() if self.is_operator(node, node.op))
            self._operators = frozenset((node.op, self.opset(node)) for node in own)
        return (operator, opset) in self._operators

    def is_function_call(self, node: Node) -> bool:
        """Whether a node calls a model-local function."""
        return bool(self._functions) and (domain_of(node), node.op) in self._functions

    def called_function(self, node: Node) -> Function | None:
        """The model-local function that a node calls, None where none or more than one has its name."""
        key = domain_of(node), node.op
        found = [
            function
            for function in self.model.functions
            if ("" if function.domain in ONNX_DOMAINS else function.domain, function.name) == key
        ]
        return found[0] if len(found) == 1 else None

    def producer(self, tensor: Tensor) -> Node | None:
        """The node that makes a tensor; None for graph inputs, constants and omitted tensors."""
        return tensor.inputs[0] if tensor.inputs else None

    def use_count(self, tensor: Tensor) -> int:
        """How often nodes of any scope read a tensor; a node that reads it twice counts twice."""
        return self._uses.get(tensor, 0)

    def consumers(self, tensor: Tensor) -> list[Node]:
        """The nodes that read a tensor, in all scopes, each once."""
        if tensor in self._stale:
            self._refresh(tensor)
        return list(dict.fromkeys(tensor.outputs))

    def only_consumer(self, tensor: Tensor) -> Node | None:
        """The node that reads a tensor if exactly one input of one node does and no graph returns it."""
        return self.consumers(tensor)[0] if self.is_single_use(tensor) else None

    def is_graph_output(self, tensor: Tensor) -> bool:
        """Whether a tensor is an output of any graph, subgraphs and functions included."""
        return tensor in self._output_uses

    def return_count(self, tensor: Tensor) -> int:
        """How many outputs of graphs a tensor is."""
        return self._output_uses.get(tensor, 0)

    def is_graph_input(self, tensor: Tensor) -> bool:
        """Whether a tensor is listed as an input of its graph; a constant may be (its default value)."""
        return tensor in self._graph_inputs

    def is_bound(self, tensor: Tensor) -> bool:
        """Whether the file uses a tensor's name beside the graph: training may change it, annotations describe it."""
        return bool(self._bound) and tensor.name in self._bound

    def why_fixed(self, tensor: Tensor) -> str | None:
        """Why a tensor must stay what and where it is, None where it need not.

        It is kept by request, used beside the graph, or its node is frozen.
        """
        if self.is_bound(tensor):
            return f"{tensor.name!r} {self._bound[tensor.name]}"
        if self.is_kept(tensor):
            return f"{tensor.name!r} is to be kept"
        return self.why_frozen(tensor.inputs[0]) if tensor.inputs else None

    def is_single_use(self, tensor: Tensor) -> bool:
        """Whether exactly one input of one node reads a tensor, and no graph returns it."""
        return self.use_count(tensor) == 1 and not self.is_graph_output(tensor)

    def constant(self, tensor: Tensor) -> Constant | None:
        """The tensor as a constant whose value may be relied on, None where it is none: see `why_not_constant`."""
        if isinstance(tensor, Constant) and self.why_not_constant(tensor) is None:
            return tensor
        return None

    def why_not_constant(self, tensor: Constant) -> str | None:
        """Why the value of a constant may not be computed with, None where it may."""
        if self.model.ir_version >= 4 and self.is_graph_input(tensor):
            return f"{tensor.name!r} is a graph input with a default value, which the caller may override"
        if self.is_bound(tensor):
            return self.why_fixed(tensor)
        if tensor.data.dtype is None:
            return f"{tensor.name!r} has an element type that is not known"
        reason = why_no_array(tensor.data.shape)
        return self.why_fixed(tensor) if reason is None else f"{tensor.name!r} {reason}"

    def is_removable(self, constant: Constant) -> bool:
        """Whether a constant may go from the file once nothing reads it."""
        return not (
            self.is_graph_input(constant)
            or self.is_graph_output(constant)
            or self.is_bound(constant)
            or self.is_kept(constant)
        )

    def dies_with(self, constant: Constant, uses: int) -> bool:
        """Whether a constant could go from the file if `uses` of its uses went."""
        return self.use_count(constant) == uses and self.is_removable(constant)

    def remembered(self, derive: Callable[[View], _Derived]) -> _Derived:
        """What a function derives of the whole model: once, until types are derived anew."""
        found: _Derived | None = self._remembered.get(derive)
        if found is None:
            found = self._remembered[derive] = derive(self)
        return found

    def fact(self, tensor: Tensor) -> Fact:
        """All that is derived of a tensor."""
        self._inference.fact(tensor)
        return self._inference.whole(tensor)

    def dtype(self, tensor: Tensor) -> DType | None:
        """The derived element type, None where it could not be derived."""
        return self._inference.fact(tensor).dtype

    def dims(self, tensor: Tensor) -> tuple[Dim, ...] | None:
        """The derived shape, each dimension a number or symbolic; None for an unknown rank.

        Dimensions that are equal here are equal in every run of the model.
        """
        return self._inference.dims(tensor)

    def shape(self, tensor: Tensor) -> tuple[int | None, ...] | None:
        """The derived shape: None for an unknown rank, None as a dimension for an unknown or symbolic one."""
        dims = self._inference.dims(tensor)
        return None if dims is None else tuple(dim if isinstance(dim, int) else None for dim in dims)

    def rank(self, tensor: Tensor) -> int | None:
        """The derived rank, None where it could not be derived."""
        dims = self._inference.dims(tensor)
        return None if dims is None else len(dims)

    def value(self, tensor: Tensor) -> PartialValue | None:
        """The value of a small tensor of integers or BOOL as far as it is known, None where nothing is.

        It holds before the model runs: constants that may be relied on, shapes, and what is computed from them.
        """
        return self._inference.value(tensor)

    def derived(self, tensor: Tensor) -> Fact:
        """What has been derived of a tensor so far; nothing is derived for it."""
        return self._inference.known(tensor)

    def suppose(self, facts: Mapping[Tensor, Fact]) -> None:
        """Takes facts for granted that are not derived, before anything that depends on them is asked for."""
        self._inference.suppose(facts)

    def refusal(self, node: Node) -> str | None:
        """Why static checks refuse a node with what is derived of its inputs, None where they do not."""
        return self._inference.refusal(node)

    def checked_dims(self, tensor: Tensor) -> tuple[Dim | None, ...] | None:
        """The shape that onnx's checker gives a tensor, wrong where its inference is; None for an unknown one."""
        return self._inference.checked_dims(tensor)

    def is_nonzero(self, dim: Dim) -> bool:
        """Whether a dimension is other than 0 in every run of the model that succeeds."""
        return is_nonzero(dim, self.remembered(nonzero_atoms))

    def why_not_settled(self, node: Node) -> str | None:
        """Why the shape of what a node makes had better stay open, None where it need not.

        Exporters declare outputs with wrong shapes. The declaration is part of the interface and stays; a rewrite that
        lets everybody derive the right shape would make the file one that onnx's checker refuses.
        """
        tensor = self.remembered(contradicted_nodes).get(node) if self._is_checked else None
        if tensor is None:
            return self.why_frozen(node)
        return f"output {tensor.name!r}, which depends on it, is declared with a shape that it does not have"

    def why_frozen(self, node: Node) -> str | None:
        """Why a node has to stay what it is, None where it has not: see `fragile`."""
        return self.remembered(frozen_nodes).get(node) if self._is_checked else None

    def why_frozen_anywhere(self) -> str | None:
        """Why a node of the model has to stay what it is, None where none has to."""
        return next(iter(self.remembered(frozen_nodes).values()), None) if self._is_checked else None

    def ever_known(self, tensor: Tensor) -> Fact:
        """What static checks may ever know of a tensor, to be asked about with `why_not_known`."""
        return ever_known(self, tensor)

    def why_not_known(self, given: Mapping[Tensor, Fact]) -> str | None:
        """Why what a rewrite would make known of tensors had better not be known, None where it may be."""
        return refusal_under(self, given) if self._is_checked else None

    def why_not_replaceable(self, old: Tensor, new: Tensor) -> str | None:
        """Why not every use of `old` can read `new` instead, None where it can.

        `new` is visible where `old` is made. A graph output keeps its name, so `new` must be able to take it.
        """
        if new.name in self._shadowed and any(node.scope is not new.scope for node in self.consumers(old)):
            return f"{new.name!r} is hidden by another tensor of that name in an inner graph"
        fixed = self.why_fixed(old)
        if fixed is not None:
            return fixed
        if not self.is_graph_output(old):
            return None
        if self.model.net is not None and self.model.net.version == 10:
            return f"{old.name!r} is an output, which an IR of version 10 names after the layer that makes it"
        if isinstance(new, Constant):
            return f"{old.name!r} is a graph output and {new.name!r} a constant"
        if not new.inputs or new.scope is not old.scope:
            return f"{old.name!r} is a graph output and {new.name!r} is not made by a node beside it"
        if self.is_graph_output(new):
            return f"{old.name!r} and {new.name!r} are both graph outputs"
        fixed = self.why_fixed(new)
        if fixed is not None:
            return fixed
        if old.name in self._shadowed and any(node.scope is not new.scope for node in self.consumers(new)):
            return f"{old.name!r} is hidden by another tensor of that name in an inner graph"
        return refusal_as_output(self, old, new) if self._is_checked else None

    def _refresh(self, tensor: Tensor) -> None:
        """Drops consumers that are gone from a tensor's list; each removal only marks the list, so that removing
        all consumers of one tensor stays linear."""
        self._stale.discard(tensor)
        left: list[Node] = []
        for node in dict.fromkeys(tensor.outputs):
            if node not in self._dead:
                left += [node] * len(self._places_of(tensor, node))
        list.__setitem__(tensor.outputs, slice(None), left)

    def _places_of(self, tensor: Tensor, node: Node) -> list[int]:
        """The places in which a node reads a tensor."""
        if len(node.inputs) <= _MANY_INPUTS:
            return [index for index, item in enumerate(node.inputs) if item is tensor]
        places = self._places.get(node)
        if places is None:
            places = self._places[node] = {}
            for index, item in enumerate(node.inputs):
                places.setdefault(item, []).append(index)
        return places.get(tensor, [])


def domain_of(node: Node) -> str:
    """The node's domain: "" for ONNX's own under either of its names, "openvino" for any of OpenVINO's."""
    domain = node.domain
    if not domain or domain in ONNX_DOMAINS:
        return ""
    return IR_DOMAIN if domain.startswith(IR_PREFIX) else domain


def opset_number(version: str) -> int | None:
    """The number of an OpenVINO operator set such as "opset1", None for others ("extension")."""
    digits = version.removeprefix("opset")
    return int(digits) if digits != version and digits.isdecimal() and len(digits) < 4 else None
