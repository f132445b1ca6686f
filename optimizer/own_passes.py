"""Passes that are not maxfold's own: named as `package.module:Class`, or by a name among the entry points."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from maxfold.model import ModelError
from maxfold.passes import CATALOGUE, Pass
from maxfold.passes.driver import RulePass
from maxfold.passes.failures import described
from maxfold.passes.rule import Rule

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "maxfold.passes"
ALL = "all"
"""Stands for all passes of the catalogue where passes are chosen."""

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MEND = "see docs/own-passes.md"


def installed() -> dict[str, EntryPoint]:
    """The passes that installed packages bring, by name."""
    from importlib.metadata import entry_points

    found = sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value))
    return {entry.name: entry for entry in found}


def is_own_name(name: str) -> bool:
    """Whether a name is that of a pass that is not in the catalogue; it may be one that cannot be used."""
    if name == ALL or any(entry.name == name for entry in CATALOGUE):
        return False
    return ":" in name or name in installed()


def has_own(names: Iterable[str] | None) -> bool:
    """Whether one of the names is of such a pass."""
    return any(map(is_own_name, names or ()))


@functools.cache
def own_pass(name: str) -> type[Pass]:
    """The pass of a name for which `is_own_name` holds. Raises `ModelError` where it cannot be used."""
    entry = None if ":" in name else installed()[name]
    found = _imported(name, name if entry is None else entry.value)
    reason = _why_not_usable(found)
    if reason is None and entry is not None and found.name != name:
        reason = f"its class has the name {found.name!r}; give both the same"
    if reason is not None:
        raise ModelError(f"the pass {name!r} cannot be used: {reason}; {_MEND}")
    usable: type[Pass] = found
    return usable


def _imported(name: str, path: str) -> Any:
    module_name, _, attributes = path.partition(":")
    try:
        found: Any = importlib.import_module(module_name.strip())
        for attribute in attributes.strip().split("."):
            found = getattr(found, attribute)
    except Exception as error:
        # Whatever a module does when it is imported.
        hint = "spell it package.module:Class, and have it installed or on PYTHONPATH"
        raise ModelError(f"the pass {name!r} cannot be imported: {described(error)}; {hint}") from error
    return found


def _why_not_usable(found: Any) -> str | None:
    if not inspect.isclass(found) or not issubclass(found, Pass):
        return "it is no subclass of maxfold.passes.own.Pass"
    missing = sorted(found.__abstractmethods__)
    if missing:
        return f"it does not define {' and '.join(missing)}"
    name, summary = getattr(found, "name", None), getattr(found, "summary", None)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return f"its name is {name!r}, not small letters and digits with hyphens between"
    if any(entry.name == name for entry in CATALOGUE):
        return f"the catalogue has a pass {name!r} already; give it another name"
    if not isinstance(summary, str) or not summary or "\n" in summary:
        return "its summary is not one line of text"
    return None


def made(entry: type[Pass], options: dict[str, Any]) -> Pass:
    """A pass with its options. Raises `ModelError` for one of one's own that cannot be made, or whose rules cannot be
    asked."""
    if any(entry is known for known in CATALOGUE):
        return entry(**options)
    try:
        found = entry(**options)
        rules = found.rules() if isinstance(found, RulePass) else ()
    except Exception as error:
        what = described(error)
        raise ModelError(f"the pass {entry.name!r} cannot be made without arguments: {what}; {_MEND}") from error
    for rule in rules:
        if not _has_operators(rule):
            raise ModelError(f"the pass {entry.name!r} has a rule without operators, pairs of domain and name; {_MEND}")
    return found


def _has_operators(rule: Rule) -> bool:
    operators = getattr(rule, "operators", None)
    if not isinstance(operators, (frozenset, set)) or not operators:
        return False
    pairs = [item for item in operators if isinstance(item, tuple) and len(item) == 2]
    return len(pairs) == len(operators) and all(isinstance(part, str) for pair in pairs for part in pair)


def own_passes(names: Iterable[str]) -> list[type[Pass]]:
    """Those of one's own among passes, in that order, each once. Raises `ModelError` where two have one name."""
    found = list(dict.fromkeys(own_pass(name) for name in names if is_own_name(name)))
    for place, entry in enumerate(found):
        for other in found[:place]:
            if other.name == entry.name:
                raise ModelError(f"two passes have the name {entry.name!r}; leave one out, or give it another name")
    return found
