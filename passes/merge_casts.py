"""merge-casts: of two casts in a row the first goes where it loses nothing."""

from __future__ import annotations

from typing import Any, ClassVar

import ml_dtypes
import numpy as np

from maxfold.model.dtypes import DType
from maxfold.model.graph import Node
from maxfold.model.view import View
from maxfold.passes.chains import ReadsThrough, cancelled, node_before
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.remove_no_op_cast import target
from maxfold.passes.rule import Decline, Match

_NUMBERS = ("int", "uint", "float")


class MergeCasts(SingleRulePass):
    """Cast(Cast(x)) is one Cast, or x itself, where the inner type holds every value of the type of x.

    Shortens a path by one node. Types narrower than a byte, 8-bit floats, strings and complex numbers stay.
    """

    name: ClassVar[str] = "merge-casts"
    summary: ClassVar[str] = "make one cast of two where the first loses nothing"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Cast"), ("", "CastLike")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where the inner cast may lose something, or the conversion would be another one."""
        inner = node_before(node, ("Cast", "CastLike"), view)
        if inner is None:
            return None
        types = view.dtype(inner.inputs[0]), target(inner, view), target(node, view)
        source, between, wanted = types
        if source is None or between is None or wanted is None:
            return None
        if not _holds(between, source):
            return Decline(f"{between} does not hold every {source}")
        if wanted is source:
            return cancelled(node, inner, view)
        if not _is_same_conversion(source, between, wanted):
            return Decline(f"{source} to {wanted} may differ from {between} to {wanted} for values that do not fit")
        return ReadsThrough(node, inner)


def _holds(wide: DType, narrow: DType) -> bool:
    """Whether every value of one type is one of the other, and comes back from it."""
    if wide is narrow:
        return True
    if narrow.kind == "bool":
        return _is_plain(wide)
    if not _is_plain(wide) or not _is_plain(narrow):
        return False
    if narrow.kind == "float":
        return wide.kind == "float" and _float_holds(_finfo(wide), _finfo(narrow))
    low, high = _range(narrow)
    if wide.kind == "float":
        return max(-low, high) <= 1 << (int(_finfo(wide).nmant) + 1)
    wide_low, wide_high = _range(wide)
    return wide_low <= low and high <= wide_high


def _is_same_conversion(source: DType, between: DType, wanted: DType) -> bool:
    """Whether a value that both types hold is converted alike. Floats beyond an integer type are undefined."""
    if wanted.kind == "bool" or between is source:
        return True
    if not _is_plain(wanted):
        return False
    if between.kind == "float" and wanted.kind != "float":
        return _holds(wanted, source)
    return True


def _is_plain(dtype: DType) -> bool:
    return dtype.kind in _NUMBERS and dtype.bits >= (16 if dtype.kind == "float" else 8)


def _range(dtype: DType) -> tuple[int, int]:
    limits = np.iinfo(dtype.numpy)
    return int(limits.min), int(limits.max)


def _finfo(dtype: DType) -> Any:
    return ml_dtypes.finfo(dtype.numpy)  # type: ignore[no-untyped-call]  # ml_dtypes is not


def _float_holds(wide: Any, narrow: Any) -> bool:
    """Subnormal numbers of the narrow type too: its smallest is no smaller than the wide one's."""
    return bool(
        wide.nmant >= narrow.nmant
        and wide.maxexp >= narrow.maxexp
        and wide.minexp - wide.nmant <= narrow.minexp - narrow.nmant
    )
