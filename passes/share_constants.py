"""share-constants: equal constants of one graph become one."""

from __future__ import annotations

import time
from typing import ClassVar

from maxfold.model.data import SparseData
from maxfold.model.edit import Edit
from maxfold.model.equality import equal_groups
from maxfold.model.graph import Constant, Graph
from maxfold.model.names import is_made
from maxfold.passes.rule import DeclineRecord, Pass, PassResult, Progress
from maxfold.passes.runtime_patterns import makes_scales


class ShareConstants(Pass):
    """Equal means: same dtype, shape and bytes, so +0.0 and -0.0 stay apart.

    Sizes are compared first, then a few bytes of each, then everything: a weight that is the only one of its kind is
    never read. Constants of different graphs stay apart, since an inner graph may run elsewhere. So do vectors among
    the scales of quantized products, which ONNX Runtime fuses if each has a product of scales of its own.
    """

    name: ClassVar[str] = "share-constants"
    summary: ClassVar[str] = "keep one of several equal constants"

    def run(self, edit: Edit, progress: Progress | None = None) -> PassResult:
        """Looks at each scope by itself; of equal constants one that has to stay stays, else the first."""
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
    for group in _equal_constants(scope):
        twin: Constant | None = None
        # Those that have to stay come first, so that others can go for them, then those that a file has named.
        for constant in sorted(group, key=lambda item: (edit.is_removable(item), is_made(item))):
            if _is_scale(constant, edit):
                continue
            reason = edit.why_not_constant(constant) if twin is None else _why_not(twin, constant, edit)
            if reason is not None and edit.use_count(constant):
                declines.append(DeclineRecord(ShareConstants.name, constant.name, "constant", reason))
            if reason is not None:
                continue
            if twin is None:
                twin = constant
                continue
            edit.replace_uses(constant, twin)
            edit.remove_constant(constant)
            changes += 1
    return changes


def _equal_constants(scope: Graph) -> list[list[Constant]]:
    """Groups of constants of one dtype, shape and value, in the file's order."""
    by_type: dict[object, list[Constant]] = {}
    for constant in scope.constants:
        data = constant.data
        if data.dtype is not None and not isinstance(data, SparseData):
            by_type.setdefault((data.dtype, data.shape, data.nbytes), []).append(constant)
    groups: list[list[Constant]] = []
    for constants in by_type.values():
        if len(constants) > 1:
            found = equal_groups([constant.data.contents() for constant in constants])
            groups += [[constants[index] for index in group] for group in found]
    return groups


def _is_scale(constant: Constant, edit: Edit) -> bool:
    """Whether a vector is part of the scales of a quantized product."""
    if len(constant.data.shape) != 1 or constant.data.shape[0] < 2 or not edit.is_single_use(constant):
        return False
    return any(reader.op == "Mul" and makes_scales(reader, edit) for reader in edit.consumers(constant))


def _why_not(twin: Constant, constant: Constant, edit: Edit) -> str | None:
    reason = edit.why_not_constant(constant)
    if reason is not None:
        return reason
    if not edit.is_removable(constant):
        return f"{constant.name!r} is an input or output of its graph"
    return edit.why_not_replaceable(constant, twin)
