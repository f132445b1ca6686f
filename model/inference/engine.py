"""Derives what is known of a tensor when somebody asks, from its producers, without recursion.

Derived are types, symbolic shapes and partial values. Nothing is believed that a file declares of results: exporters
declare wrong ranks. Declared types of the main graph's inputs hold, since a runtime checks them; a declared 0 there
stands for an unknown size in real files.

What was found stays: rewrites keep the value of every tensor that survives.
"""

from __future__ import annotations

import functools
import math
from collections import ChainMap, Counter
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import onnx

from maxfold.model import dtypes
from maxfold.model.data import Array
from maxfold.model.errors import ModelError
from maxfold.model.graph import Constant, Function, Graph, Node, Tensor, Variable, subgraphs
from maxfold.model.inference import control, fallback, microsoft
from maxfold.model.inference.accepted import is_accepted
from maxfold.model.inference.call import Call
from maxfold.model.inference.facts import MOST_ELEMENTS, UNKNOWN, Fact, PartialValue, Unknown
from maxfold.model.inference.spans import MOST_ELEMENTS_OF_ALL
from maxfold.model.inference.symbolic import Atom, Dim, Expr, Monomial, single_atom, symbol
from maxfold.model.inference.table import SHAPE_FUNCTIONS
from maxfold.model.model import ONNX_DOMAINS
from maxfold.model.types import declared, is_as_declared, value_info

if TYPE_CHECKING:
    from maxfold.model.inference.microsoft.row import Row
    from maxfold.model.view import View

# Constants up to this size take part in following values (shape vectors, axes).
_SMALL_BYTES = 1024
_LARGEST_SIZE = 1 << 63
# Bodies of functions are looked into once a call, so that functions that call functions cannot take forever.
_DEEPEST_CALL = 16
_MOST_CALLS = 2000
_NEWEST_OPSET = onnx.defs.onnx_opset_version()
# Damaged models make shape functions fail in these ways; nothing is known then.
_FAILURES = (Unknown, ValueError, TypeError, LookupError, ArithmeticError, AttributeError, ModelError)


class Inference:
    """What is known of a view's tensors.

    `sizes` are dims that are no plain symbols, and not negative since a tensor of the main graph has them; `nonzero`
    are factors that a Reshape of the main graph has shown not to be 0.
    """

    def __init__(self, view: View, caller: Inference | None = None) -> None:
        self.view = view
        self.sizes: set[Dim] = set()
        self.nonzero: set[Atom] = set()
        # Shapes of tensors of the main graph, and the numbers and the factors of those that somebody has asked about.
        self._shapes: set[tuple[Dim | None, ...]] = set()
        self._volumes: dict[tuple[Atom, ...], int] = {}
        self._facts: MutableMapping[Tensor, Fact] = {}
        self._versions: dict[tuple[Graph, str], int | None] = {}
        self._values: dict[Constant, PartialValue | None] = {}
        self._depth: int = 0 if caller is None else caller._depth + 1
        self._calls: Iterator[int] = iter(range(_MOST_CALLS)) if caller is None else caller._calls

    def fact(self, tensor: Tensor) -> Fact:
        """What is known of a tensor; its dims are all known or symbolic."""
        found = self._facts.get(tensor)
        return self._derive(tensor) if found is None else found

    def suppose(self, facts: Mapping[Tensor, Fact]) -> None:
        """Takes facts for granted, before anything that depends on them is asked for."""
        for tensor, fact in facts.items():
            self._store(tensor, fact)

    def dims(self, tensor: Tensor) -> tuple[Dim, ...] | None:
        """The dims of a tensor."""
        return self.fact(tensor).dims  # type: ignore[return-value]  # `_named` has left no None

    def value(self, tensor: Tensor) -> PartialValue | None:
        """The value of a tensor of integers or BOOL, as far as it is known."""
        fact = self.fact(tensor)
        if fact.dtype is None or fact.dtype.kind not in ("int", "uint", "bool"):
            return None
        return self.constant_value(tensor) if isinstance(tensor, Constant) else fact.value

    def most(self, monomial: Monomial) -> int | None:
        """A number that a product of dims is never above, None where no tensor is known to have them all.

        The dims of one tensor that are not 0 have a product which memory has room for.
        """
        for dims in self._shapes:
            atoms = tuple(atom for dim in dims if dim is not None and (atom := single_atom(dim)))
            number = math.prod(dim for dim in dims if isinstance(dim, int) and dim)
            self._volumes[atoms] = max(number, self._volumes.get(atoms, 1))
        self._shapes.clear()
        wanted = Counter(monomial)
        found = [number for atoms, number in self._volumes.items() if wanted <= Counter(atoms)]
        return MOST_ELEMENTS_OF_ALL // max(found) if found else None

    def apart(self) -> Inference:
        """What is known here, to suppose more of it: nothing that follows is known here."""
        found = Inference(self.view, self)
        found._facts = ChainMap({}, self._facts)
        return found

    def refusal(self, node: Node) -> str | None:
        """Why a static check that knows all of this refuses a node, None where it does not, or none is known."""
        domain = operator_domain(node)
        version = self._version(node, domain)
        if version is None or self.view.is_function_call(node):
            return None
        for tensor in node.inputs:
            self.fact(tensor)
        call, row = Call(self, node, version), microsoft.row_of(domain, node.op)
        if row is not None:
            return _contradiction(row, call)
        return None if not domain and is_accepted(call) else fallback.refusal(call, domain)

    def checked_dims(self, tensor: Tensor) -> tuple[Dim | None, ...] | None:
        """The dims that onnx's own inference gives what a node makes, None where it gives none."""
        node = tensor.inputs[0] if tensor.inputs else None
        version = None if node is None else self._version(node, operator_domain(node))
        if node is None or version is None:
            return None
        for source in node.inputs:
            self.fact(source)
        try:
            found = fallback.infer(Call(self, node, version), operator_domain(node))
        except _FAILURES:
            return None
        return found[node.outputs.index(tensor)].dims

    def known(self, tensor: Tensor) -> Fact:
        """What has been derived of a tensor so far."""
        return self._facts.get(tensor, UNKNOWN)

    def whole(self, tensor: Tensor) -> Fact:
        """What has been derived of a tensor so far, with the value of a small constant too."""
        fact = self.known(tensor)
        if not isinstance(tensor, Constant) or fact.dtype is None or fact.dtype.kind not in ("int", "uint", "bool"):
            return fact
        return replace(fact, value=self.constant_value(tensor))

    def constant_value(self, constant: Constant) -> PartialValue | None:
        """The value of a small constant that may be relied on."""
        if constant not in self._values:
            self._values[constant] = self._read(constant)
        return self._values[constant]

    def _derive(self, wanted: Tensor) -> Fact:
        facts = self._facts
        entered: set[Tensor] = set()
        stack = [wanted]
        while stack:
            tensor = stack[-1]
            if tensor in facts:
                stack.pop()
                continue
            missing: list[Tensor] = []
            if tensor not in entered:
                entered.add(tensor)
                # What has been entered and is not settled depends on this tensor: a cycle, which stays unknown.
                missing = [source for source in self._sources(tensor) if source not in facts and source not in entered]
            if missing:
                stack += missing
                continue
            stack.pop()
            self._settle(tensor)
        return facts[wanted]

    def _sources(self, tensor: Tensor) -> list[Tensor]:
        """The tensors that a tensor's fact is derived from."""
        if isinstance(tensor, Constant):
            return []
        if not tensor.inputs:
            return control.sources_of_input(tensor)
        node = tensor.inputs[0]
        if node.op not in control.SHAPE_FUNCTIONS:
            return node.inputs
        return [*node.inputs, *(output for scope in subgraphs(node) for output in scope.outputs)]

    def _settle(self, tensor: Tensor) -> None:
        if isinstance(tensor, Constant):
            self._store(tensor, self._constant(tensor))
        elif not tensor.inputs:
            self._store(tensor, self._input(tensor))
        else:
            node = tensor.inputs[0]
            found = self._infer(node)
            for index, result in enumerate(node.outputs):
                if result not in self._facts:
                    self._store(result, found[index] if index < len(found) else UNKNOWN)
            self._facts.setdefault(tensor, UNKNOWN)

    def _infer(self, node: Node) -> list[Fact]:
        if self.view.is_function_call(node):
            return self._called(node)
        domain = operator_domain(node)
        version = self._version(node, domain)
        if version is None:
            return []
        call = Call(self, node, version)
        try:
            result = self._function(node, domain)(call)
        except _FAILURES:
            return []
        return [result] if isinstance(result, Fact) else result

    @staticmethod
    def _function(node: Node, domain: str) -> Callable[[Call], Fact | list[Fact]]:
        """The shape function of a node, onnx's own inference where there is none."""
        function = None if domain else SHAPE_FUNCTIONS.get(node.op)
        if function is not None:
            return function
        row = microsoft.row_of(domain, node.op)
        return functools.partial(fallback.infer, domain=domain) if row is None else row.facts

    def _called(self, node: Node) -> list[Fact]:
        """The results of a call of a model-local function, from its body with the facts of this call's inputs."""
        function = self.view.called_function(node)
        if function is None or self._depth == _DEEPEST_CALL or next(self._calls, None) is None:
            return []
        body = self.of_call(function, node)
        return [body.fact(output) for output in function.outputs]

    def of_call(self, function: Function, node: Node) -> Inference:
        """What is known inside a function with the inputs of a call."""
        for tensor in node.inputs:
            self.fact(tensor)
        body = Inference(self.view, self)
        parameters = zip(function.inputs, node.inputs, strict=False)
        body.suppose({parameter: self._argument(argument) for parameter, argument in parameters})
        return body

    def _argument(self, tensor: Tensor) -> Fact:
        fact = self.known(tensor)
        if not isinstance(tensor, Constant):
            return fact
        return Fact(fact.dtype, fact.dims, self.constant_value(tensor), is_named=True)

    def _version(self, node: Node, domain: str) -> int | None:
        """The version of a node's operator set, None for one that is not known yet."""
        key = node.scope, domain
        if key not in self._versions:
            version = self.view.opset(node)
            is_known = version is not None and 0 < version <= (_NEWEST_OPSET if domain == "" else version)
            self._versions[key] = version if is_known else None
        return self._versions[key]

    def _constant(self, constant: Constant) -> Fact:
        if self.view.model.ir_version >= 4 and self.view.is_graph_input(constant):
            # The caller's value has the declared type, and not the shape of the default.
            return self._declared(constant)
        return Fact(constant.data.dtype, constant.data.shape)

    def _input(self, tensor: Tensor) -> Fact:
        if not tensor.name:
            return UNKNOWN
        holder = tensor.scope.parent
        if holder is None:
            return self._declared(tensor)
        return control.input_fact(self, holder, tensor)

    def _declared(self, tensor: Tensor) -> Fact:
        scope = tensor.scope
        if scope is not self.view.model.graph or not self.view.is_graph_input(tensor):
            return UNKNOWN
        info = scope.input_info.get(tensor.name)
        if isinstance(tensor, Variable) and (info is None or not is_as_declared(tensor)):
            try:
                info = value_info(tensor.name, tensor.dtype, tensor.shape)
            except _FAILURES:
                return UNKNOWN
        if info is None:
            return UNKNOWN
        kind, _, shape = declared(info)
        if kind != "tensor_type":
            return Fact(proto=fallback.without_shapes(info.type))
        if self.view.model.format == "onnx" and not shape and not self.view.believes_zero:
            # ONNX Runtime takes tensors of any rank where no dimension is declared.
            shape = None
        return Fact(dtypes.from_onnx(info.type.tensor_type.elem_type), _sizes(shape, self.view.believes_zero))

    def _is_relied_on(self, constant: Constant) -> bool:
        """Whether the value of a constant may be followed."""
        return self.view.constant(constant) is not None

    def _read(self, constant: Constant) -> PartialValue | None:
        data = constant.data
        if data.nbytes > _SMALL_BYTES or data.dtype is None or data.dtype.kind not in ("int", "uint", "bool", "float"):
            return None
        # A sparse tensor of few bytes may have any number of elements.
        if not self._is_relied_on(constant) or math.prod(data.shape) > MOST_ELEMENTS:
            return None
        try:
            array: Array = data.array()
        except (ModelError, ValueError):
            return None
        kind: Any = {"float": float, "bool": bool}.get(data.dtype.kind, int)
        return PartialValue(tuple(array.shape), tuple(kind(item) for item in array.reshape(-1)))

    def _store(self, tensor: Tensor, fact: Fact) -> None:
        self._facts[tensor] = fact if fact.is_named else self._named(tensor, fact)

    def _named(self, tensor: Tensor, fact: Fact) -> Fact:
        """The fact with symbols for unknown dims; sizes that no tensor can have make all unknown but the type."""
        dims = fact.dims if fact.dims is not None or fact.value is None else fact.value.shape
        if dims is None:
            return Fact(fact.dtype, proto=fact.proto, is_named=True)
        is_static = True
        for dim in dims:
            if not isinstance(dim, int):
                is_static = False
            elif not 0 <= dim < _LARGEST_SIZE:
                return Fact(fact.dtype, proto=fact.proto, is_named=True)
        if is_static:
            return Fact(fact.dtype, tuple(dims), fact.value, fact.proto, is_named=True)
        if tensor.scope.parent is None:
            self.sizes.update(dim for dim in dims if isinstance(dim, Expr))
        if None in dims:
            dims = tuple(symbol(f"{tensor.name}.{axis}") if dim is None else dim for axis, dim in enumerate(dims))
        if tensor.scope.parent is None and sum(isinstance(dim, Expr) for dim in dims) > 1:
            self._shapes.add(dims)
        return Fact(fact.dtype, tuple(dims), fact.value, fact.proto, is_named=True)


def _contradiction(row: Row, call: Call) -> str | None:
    """What does not fit in a node, None where that is nothing, or not known."""
    try:
        row.facts(call)
    except ValueError as error:
        return str(error)
    except _FAILURES:
        return None
    return None


def operator_domain(node: Node) -> str:
    """A node's domain, "" for ONNX's own under any of its names."""
    return "" if not node.domain or node.domain in ONNX_DOMAINS else node.domain


def _sizes(shape: Any, believes_zero: bool) -> tuple[Dim | None, ...] | None:
    if shape is None:
        return None
    least = 0 if believes_zero else 1
    return tuple(dim if isinstance(dim, int) and dim >= least else None for dim in shape)
