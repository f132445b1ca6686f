"""share-constants: equal constants of one graph become one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar

from maxfold.model.data import SparseData, TensorData
from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Graph
from maxfold.passes.rule import DeclineRecord, Pass, PassResult, Progress


@dataclass(frozen=True)
class ShareConstants(Pass):
    """Equal means: same dtype, shape and bytes, so +0.0 and -0.0 stay apart.

    Sizes are compared first, then a few bytes of each, then everything: a weight that is the only one of its kind is
    never read. Constants of different graphs stay apart, since an inner graph may run elsewhere.
    """

    name: ClassVar[str] = "share-constants"
    summary: ClassVar[str] = "keep one of several equal constants"

    def run(self, edit: Edit, progress: Progress | None = None) -> PassResult:
        """Looks at each scope by itself; the first of equal constants stays."""
        started = time.perf_counter()
        changes = 0
        declines: list[DeclineRecord] = []
        for scope in edit.model.scopes():
            changes += _share(scope, edit, declines)
        edit.flush()
        edit.take_touched()
        return PassResult(self.name, changes, tuple(declines), time.perf_counter() - started)


def _share(scope: Graph, edit: Edit, declines: list[DeclineRecord]) -> int:
    changes = 0
    for group in _candidates(scope):
        kept: list[Constant] = []
        for constant in group:
            twins = [other for other in kept if _is_equal(other.data, constant.data)]
            reasons = [_why_not(twin, constant, edit) for twin in twins]
            if None in reasons:
                edit.replace_uses(constant, twins[reasons.index(None)])
                edit.remove_constant(constant)
                changes += 1
                continue
            kept.append(constant)
            if reasons and edit.use_count(constant):
                declines.append(DeclineRecord(ShareConstants.name, constant.name, "constant", str(reasons[0])))
    return changes


def _candidates(scope: Graph) -> Iterator[list[Constant]]:
    """Groups of constants that agree in dtype, shape, size and a sample, in the file's order.

    Bytes are sampled only where another constant has the same dtype, shape and size.
    """
    known = [
        constant
        for constant in scope.constants
        if constant.data.dtype is not None and not isinstance(constant.data, SparseData)
    ]
    for group in _grouped(known, lambda data: (data.dtype, data.shape, data.nbytes)):
        yield from _grouped(group, lambda data: data.sample())


def _grouped(constants: list[Constant], key: Callable[[TensorData], object]) -> list[list[Constant]]:
    groups: dict[object, list[Constant]] = {}
    for constant in constants:
        groups.setdefault(key(constant.data), []).append(constant)
    return [group for group in groups.values() if len(group) > 1]


def _is_equal(a: TensorData, b: TensorData) -> bool:
    return all(left == right for left, right in zip_longest(a.chunks(), b.chunks()))


def _why_not(twin: Constant, constant: Constant, edit: Edit) -> str | None:
    for item in (twin, constant):
        reason = edit.why_not_constant(item)
        if reason is not None:
            return reason
    if not edit.is_removable(constant):
        return f"{constant.name!r} is an input or output of its graph"
    return edit.why_not_replaceable(constant, twin)
