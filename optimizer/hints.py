"""What other options would gain, found out by going on with a copy of the result, whose weights nobody reads.

A number is what the option really comes to, or is not given. New values of large weights are taken to be finite.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from maxfold.model import Model, ModelError
from maxfold.model.computed import UnreadError
from maxfold.model.edit import Edit
from maxfold.model.fixing import fix_dimensions, open_dimensions
from maxfold.model.fragile import contradicted_nodes, frozen_nodes
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.model_copies import copy_model
from maxfold.model.view import Math, View, domain_of
from maxfold.optimizer.report import Hint
from maxfold.optimizer.rounds import ContinuedEdit, run_from, steps_of
from maxfold.passes import Pass, failures
from maxfold.passes.driver import RulePass
from maxfold.passes.kernels import KernelError
from maxfold.passes.rule import Decline
from maxfold.passes.upgrade_opset import UpgradeOpset

# Of larger models only the hint of relaxed mode is worked out, whose cost is that of the rewrites that it would do.
_MOST_NODES = 5000
# Operator sets that introduced an operator which is made of others.
_OPSETS = (14, 17, 18, 20, 23)
# Operators that make sizes into values: where open dimensions keep nodes in the graph, it is these.
_SIZE_OPERATORS = frozenset(("Shape", "Size"))


def find_hints(
    model: Model, edit: Edit, passes: Sequence[Pass], *, was_frozen: bool
) -> tuple[int | None, tuple[Hint, ...]]:
    """How many nodes relaxed mode would remove, None where that is not known, and what arguments would gain that were
    not given, where they gain something. `edit` is that of the run before.

    Where a node of the model `was_frozen`, since static checks would refuse it if more were known, nothing is said of
    arguments that make more known. The model is not changed.
    """
    finder = _Finder(model, edit, passes, edit.math)
    gain = finder.relaxed() if edit.math == "exact" else 0
    hints = [Hint({"math": "relaxed"}, gain or 0), *(() if was_frozen else finder.others())]
    return gain, tuple(hint for hint in hints if hint.nodes > 0 or hint.operators)


class _Finder:
    def __init__(self, model: Model, edit: Edit, passes: Sequence[Pass], math: Math) -> None:
        self._model = model
        self._edit = edit
        self._passes = passes
        self._math = math
        self._count = model.node_count()

    def others(self) -> Iterator[Hint]:
        """What sizes and a newer operator set would gain."""
        if self._model.format != "onnx" or self._count > _MOST_NODES:
            return
        for found in (self._sizes(), self._opset()):
            if found is not None:
                yield found

    def relaxed(self) -> int | None:
        """How many more nodes relaxed mode would remove; None where that is not known.

        The rewriting goes on where a rule asked for the mode and did nothing.
        """
        log = self._edit.math_log
        if not log.undecided_passes and not any(self._edit.is_live(node) for node in log.undecided):
            return 0
        tried = self._go_on("relaxed", self._passes, log.undecided_passes)
        return None if tried is None else self._count - tried.node_count()

    def _go_on(
        self, math: Math, passes: Sequence[Pass], needed: Collection[str], others: Collection[Node] = ()
    ) -> Model | None:
        """What becomes of a copy where rules begin at undecided nodes and at `others`, and passes `needed` run too."""
        tried = copy_model(self._model)
        undecided = self._edit.math_log.undecided
        copies: list[Node] = []
        sizes: dict[Tensor, dict[int, int]] = {}
        frozen, known = {}, self._edit.remembered(frozen_nodes)
        for node, copy in _pairs(self._model, tried):
            if node in undecided or node in others:
                copies.append(copy)
            if node in undecided:
                sizes.update(_forgotten(node, copy, self._edit))
            if node in known:
                frozen[copy] = known[node]
        edit = ContinuedEdit(tried, sizes, math=math, keep=self._edit.keep, supposes_weights=True)
        edit.know(frozen_nodes, frozen)
        steps = steps_of(passes)
        try:
            run_from(steps, edit, copies, [step for step in steps if isinstance(step, Pass) and step.name in needed])
        except (UnreadError, ModelError):
            return None
        return tried

    def _sizes(self) -> Hint | None:
        """What it would gain if all open dimensions of the inputs had a size."""
        dims = _likely_sizes(self._model)
        nodes = self._edit.nodes()
        if not dims or not any(node.op in _SIZE_OPERATORS and not domain_of(node) for node in nodes):
            return None
        tried = copy_model(self._model)
        try:
            fix_dimensions(tried, dims, {})
            edit = ContinuedEdit(tried, {}, math=self._math, keep=self._edit.keep, supposes_weights=True)
            # Such sizes contradict what the file declares, or static checks would refuse it with them.
            if edit.why_frozen_anywhere() is not None or edit.remembered(contradicted_nodes):
                return None
            steps = steps_of(self._passes)
            run_from(steps, edit, list(edit.nodes()), [step for step in steps if isinstance(step, Pass)])
        except (UnreadError, ModelError):
            return None
        return Hint({"dims": dims}, self._count - tried.node_count())

    def _opset(self) -> Hint | None:
        """What would become one node in relaxed mode in a newer operator set, the lowest that has all of that."""
        # What a pass of somebody's own may raise only the driver takes.
        known = (entry for entry in self._passes if isinstance(entry, RulePass) and not failures.is_own(entry))
        rules = [entry for entry in known if entry.makes]
        own = self._model.opsets(self._model.graph).get("")
        upgrade = next((place for place, entry in enumerate(self._passes) if entry.name == UpgradeOpset.name), None)
        if own is None or upgrade is None or not rules:
            return None
        view = _AssumedView(self._edit)
        found = {opset: view.matches(rules, opset) for opset in (own, *(item for item in _OPSETS if item > own))}
        opset = max(found, key=lambda item: (len(found[item]), -item))
        if len(found[opset]) == len(found[own]):
            return None
        passes = [*self._passes]
        passes[upgrade] = UpgradeOpset(opset)
        tried = self._go_on("relaxed", passes, {*self._edit.math_log.undecided_passes, UpgradeOpset.name}, found[opset])
        if tried is None:
            return None
        makes = frozenset[str]().union(*(entry.makes for entry in rules))
        made = _operators(tried) - _operators(self._model)
        operators = {name: made[name] for name in sorted(makes) if made[name]}
        arguments = {"opset": opset, **({"math": "relaxed"} if self._math == "exact" else {})}
        return Hint(arguments, self._count - tried.node_count(), operators)


class _AssumedView(View):
    """A model as rules would see it in relaxed mode and in another operator set, with all that is derived of it."""

    def __init__(self, edit: Edit) -> None:
        self.__dict__.update(edit.__dict__)
        self._math = "relaxed"
        self.supposes_weights = True
        self.assumed = 0

    def opset(self, node: Node) -> int | None:
        """See `View`."""
        own = super().opset(node)
        return own if own is None or domain_of(node) else max(own, self.assumed)

    def matches(self, passes: Sequence[RulePass], opset: int) -> set[Node]:
        """The nodes that rules of passes match in an operator set."""
        self.assumed = opset
        rules = [rule for entry in passes for rule in entry.rules()]
        return {node for node in self.nodes() if self._is_matched(rules, node)}

    def _is_matched(self, rules: Sequence[Any], node: Node) -> bool:
        key = (domain_of(node), node.op)
        for rule in rules:
            if key not in rule.operators or len(node.outputs) != 1:
                continue
            try:
                found = rule.match(node, self)
            except (KernelError, ModelError, UnreadError):
                continue
            if found is not None and not isinstance(found, Decline):
                return True
        return False


def _pairs(model: Model, copy: Model) -> Iterator[tuple[Node, Node]]:
    """The nodes of a model and those of its copy."""
    for scope, made in zip(model.scopes(), copy.scopes(), strict=True):
        yield from zip(scope.nodes, made.nodes, strict=True)


def _operators(model: Model) -> Counter[str]:
    return Counter(node.op for scope in model.scopes() for node in scope.nodes if not domain_of(node))


def _forgotten(node: Node, copy: Node, edit: Edit) -> dict[Tensor, dict[int, int]]:
    """Sizes of a node's tensors, by axis, that were known when a rule looked at it, and cannot be derived any more."""
    found: dict[Tensor, dict[int, int]] = {}
    tensors, copied = (*node.inputs, *node.outputs), (*copy.inputs, *copy.outputs)
    for tensor, same in zip(tensors, copied, strict=True):
        was = edit.math_log.undecided[node].get(tensor)
        if was is None or was.dims is None or isinstance(tensor, Constant):
            continue
        now = edit.derived(tensor)
        pairs = enumerate(zip(was.dims, now.dims or (), strict=False))
        sizes = {axis: dim for axis, (dim, left) in pairs if isinstance(dim, int) and not isinstance(left, int)}
        if sizes:
            found[same] = sizes
    return found


def _likely_sizes(model: Model) -> dict[str, int]:
    """A size for each open dimension of the inputs: 1 for the first axis, 224 for those of images, 16 elsewhere."""
    found: dict[str, int] = {}
    for name, axis, rank in open_dimensions(model):
        size = 1 if axis == 0 else 224 if rank == 4 and axis >= 2 else 16
        found.setdefault(name, size)
    return found
