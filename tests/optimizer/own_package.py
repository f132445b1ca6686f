"""A package of passes of one's own, right and wrong ones, which tests install under the name `mypkg`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from maxfold.passes.own import Decline, ModelError, Pass, PassResult, SingleRulePass, made_by, operand


@dataclass(frozen=True)
class Renamed:
    node: Any
    operator: str
    source: Any = None

    def apply(self, edit):
        edit.become(self.node, self.operator, [self.source or self.node.inputs[0]])


class Negate(SingleRulePass):
    """Abs of Neg is Abs. Each application leaves one Abs of a Neg less."""

    name, summary = "abs-of-neg", "let Abs read what Neg does"
    operators = frozenset({("", "Abs")})

    def match(self, node, view):
        inner = made_by(operand(node, 0), "Neg", view)
        if inner is None:
            return None
        if view.use_count(inner.outputs[0]) > 1:
            return Decline(f"{inner.outputs[0].name!r} is used elsewhere")
        return Renamed(node, "Abs", inner.inputs[0])


class Restless(SingleRulePass):
    name, summary = "restless", "make Neg Abs and Abs Neg"
    operators = frozenset({("", "Neg"), ("", "Abs")})

    def match(self, node, view):
        return Renamed(node, "Abs" if node.op == "Neg" else "Neg")


class Raising(SingleRulePass):
    name, summary = "raising", "raise"
    operators = frozenset({("", "Abs")})

    def match(self, node, view):
        return node.inputs[7]


class RaisingLater(Raising):
    name = "raising-later"

    def match(self, node, view):
        return Renamed(None, "Abs")


class Refusing(Raising):
    name = "refusing"

    def match(self, node, view):
        raise ModelError("its constant cannot be decoded")


class WholeRaising(Pass):
    name, summary = "whole-raising", "raise"

    def run(self, edit, progress=None):
        raise KeyError("gone")


class WholeRestless(Pass):
    name, summary = "whole-restless", "say that something changed"

    def run(self, edit, progress=None):
        return PassResult("another name", 2, (), 1e9)


class Whole(Pass):
    name, summary = "whole", "count nodes"

    def run(self, edit, progress=None):
        self.nodes = sum(1 for _ in edit.nodes())
        return PassResult("another name", 0, (), 1e9)


DONE = []


class Forgetful(SingleRulePass):
    """Its state is the process's, so that it finds something in each run."""

    name, summary = "forgetful", "take one Neg away in each run"
    operators = frozenset({("", "Neg")})

    def match(self, node, view):
        if view.model in DONE:
            return None
        DONE.append(view.model)
        return Renamed(node, "Abs")


class Breaking(SingleRulePass):
    name, summary = "breaking", "give a result the name of another"
    operators = frozenset({("", "Abs")})

    def match(self, node, view):
        return None if node.outputs[0].name == "z" else Renaming(node)


@dataclass(frozen=True)
class Renaming:
    node: Any

    def apply(self, edit):
        self.node.outputs[0].name = "z"


class Unfinished(SingleRulePass):
    name, summary = "unfinished", "lack match"
    operators = frozenset()


class Nameless(Raising):
    name = "Not A Name"


class Taken(Raising):
    name = "fuse-max"


class Silent(Raising):
    name, summary = "silent", ""


class Aimless(Raising):
    name, operators = "aimless", {"Abs"}


class Needy(Raising):
    name = "needy"

    def __init__(self, size):
        self.size = size


class Double(Raising):
    name = "abs-of-neg"


@dataclass(frozen=True)
class Sized(SingleRulePass):
    """Gets what the option of that name is."""

    name, summary = "sized", "decline with its options"
    operators = frozenset({("", "Abs")})
    max_growth_bytes: int = 1
    limit: int = 3

    def match(self, node, view):
        return Decline(f"{self.max_growth_bytes} and {self.limit}")
