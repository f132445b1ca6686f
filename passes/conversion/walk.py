"""What both directions do with the rows: find them, and collect what they refuse."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from maxfold.model.errors import ModelError
from maxfold.model.graph import Node
from maxfold.passes.conversion.errors import ConversionError, InsideError, Refusal, UnsupportedError
from maxfold.passes.conversion.sites.site import Target

_Way = TypeVar("_Way")
_Site = TypeVar("_Site")


def way_for(ways: Mapping[str, Mapping[str, _Way]], node: Node, domain: str) -> _Way:
    """The function that converts a node's operator, of functions by domain, the usual one first. Raises
    `UnsupportedError` where there is none."""
    way = ways.get(domain, {}).get(node.op)
    if way is None:
        where = f" of domain {node.domain!r}" if domain != next(iter(ways)) else ""
        raise UnsupportedError(f"the operator{where} is not covered")
    return way


class Source:
    """A node as its file has it, by which it is refused, whatever it became."""

    def __init__(self, operator: str, name: str) -> None:
        self.operator = operator
        self.name = name

    @staticmethod
    def of(node: Node) -> Source:
        """A node that is what its file has, named after its result where it has no name."""
        return Source(node.op, node.name or next((tensor.name for tensor in node.outputs if tensor.name), ""))


# What rows fail with at a node that is none of its operator, and that neither they nor the checks before them look at.
# Tests of conversion let these through.
FAULTS: tuple[type[Exception], ...] = (LookupError, ValueError, TypeError, ArithmeticError)


def run_row(way: Callable[[_Site], None], site: _Site) -> None:
    """Runs a row. Raises `UnsupportedError` too where it fails in another way."""
    try:
        way(site)
    except FAULTS as error:
        what = f"{type(error).__name__}: {error}"
        raise UnsupportedError(f"it cannot be made sense of ({what}); if the file is right, please report it") from None


class Refusals:
    """Everything that could not be converted so far; the walk goes on behind a refusal, so that all are found."""

    def __init__(self, target: str) -> None:
        self._target = target
        # The refused by what they are refused for: one source of several nodes is one.
        self._found: dict[tuple[str, str], dict[object, str]] = {}
        self._opsets: dict[tuple[str, str], int | None] = {}
        # How many were refused so far.
        self.count = 0

    def add(
        self, operator: str, reason: str, example: str, opset: int | None = None, source: Source | None = None
    ) -> None:
        """Notes one refusal, and the operator set with which there would be none."""
        self._found.setdefault((operator, reason), {})[source or object()] = example
        self._opsets[operator, reason] = opset
        self.count += 1

    def attempt(self, operator: str, name: str, convert: Callable[[], object], source: Source | None = None) -> bool:
        """Runs a conversion; returns whether it was refused."""
        try:
            convert()
        except UnsupportedError as error:
            self.add(operator, str(error), name, error.opset, source)
        except ModelError as error:
            self.add(operator, str(error), name, source=source)
        except InsideError:
            pass
        else:
            return False
        return True

    def attempt_node(
        self,
        node: Node,
        target: Target,
        find: Callable[[], _Way],
        convert: Callable[[_Way], None],
        source: Source | None = None,
    ) -> None:
        """Finds what converts a node and does so. Where what it reads was refused, that is only looked for, since
        nothing is known of its inputs any more. `source` is the node of the file, where that is another."""
        source = source or Source.of(node)
        if any(tensor.name and not target.has(tensor) for tensor in node.inputs):
            self.attempt(source.operator, source.name, find, source)
        elif self.attempt(source.operator, source.name, lambda: convert(find()), source):
            for tensor in node.outputs:
                target.tensors.pop(tensor, None)

    def raise_if_any(self) -> None:
        """Raises `ConversionError` where anything was refused."""
        if not self._found:
            return
        refusals = [
            Refusal(*kind, len(names), next(iter(names.values())), self._opsets[kind])
            for kind, names in self._found.items()
        ]
        refusals.sort(key=lambda refusal: (-refusal.count, refusal.operator, refusal.reason))
        raise ConversionError(self._target, refusals)
