"""Constant targets of Reshape, with 0 for a dimension that is copied and -1 for one that is left."""

from __future__ import annotations

from collections.abc import Sequence

from maxfold.model.inference import Dim
from maxfold.model.inference.facts import Element
from maxfold.model.inference.symbolic import Expr
from maxfold.model.view import View


def settled_target(
    elements: Sequence[Element],
    data: Sequence[Dim] | None,
    result: Sequence[Dim] | None,
    view: View,
    *,
    is_zero_allowed: bool = False,
) -> tuple[int, ...] | None:
    """The constant target, None where there is none that always says the same."""
    if is_zero_allowed and any(element == 0 or (-1 in elements and _may_be_0(element, view)) for element in elements):
        return None
    target: list[int | None] = []
    for axis, element in enumerate(elements):
        known = result[axis] if result is not None and len(result) == len(elements) else None
        if isinstance(known, int) and known > 0:
            # Whether the element is that number, a 0 that copies it, or a -1 that leaves it to the rest.
            target.append(known)
        elif isinstance(element, int):
            target.append(int(element))
        elif data is not None and axis < len(data) and element is not None and element == data[axis]:
            target.append(0)
        else:
            target.append(None)
    open_axes = [axis for axis, size in enumerate(target) if size is None]
    if not open_axes:
        return tuple(size for size in target if size is not None)
    if len(open_axes) > 1 or any(size == -1 for size in target):
        return None
    # Beside -1, what a 0 copies must not be 0 itself.
    copied = [data[axis] for axis, size in enumerate(target) if size == 0 and data is not None and axis < len(data)]
    if len(copied) < target.count(0) or not all(view.is_nonzero(dim) for dim in copied):
        return None
    return tuple(-1 if size is None else size for size in target)


def _may_be_0(element: Element, view: View) -> bool:
    return not isinstance(element, (int, Expr)) or not view.is_nonzero(element)
