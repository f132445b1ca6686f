"""Shapes of broadcast results: numpy, ONNX before opset 7, and PaddlePaddle as OpenVINO has it.

Pure functions of known, non-negative Python ints; nothing is allocated and nothing can overflow.
"""

from __future__ import annotations

from collections.abc import Sequence


class BroadcastError(ValueError):
    """Shapes that the rule in question does not broadcast; the message is the reason, in one line."""


def equal_shape(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The one shape that all of `shapes` are; at least one is given.

    The rule of ONNX Max before opset 8, of ONNX Add before opset 7 without `broadcast=1`, and of
    OpenVINO's `auto_broadcast="none"`. Raises BroadcastError where two shapes differ.
    """
    first = _checked(shapes[0])
    for shape in shapes[1:]:
        if _checked(shape) != first:
            raise BroadcastError(f"shapes {first} and {tuple(shape)} differ and nothing broadcasts them")
    return first


def numpy_shape(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape to which `shapes` broadcast in all directions (ONNX "Broadcasting in ONNX", numpy).

    Shapes are aligned at their last dimensions; a 1 or a missing dimension takes the size of the others.
    No shape at all gives (). Raises BroadcastError where two sizes, neither of them 1, meet.
    """
    rank = max((len(shape) for shape in shapes), default=0)
    result = [1] * rank
    origin: list[tuple[int, ...]] = [()] * rank
    for shape in map(_checked, shapes):
        for axis, size in enumerate(shape, start=rank - len(shape)):
            if size in (1, result[axis]):
                continue
            if result[axis] != 1:
                raise BroadcastError(
                    f"shapes {origin[axis]} and {shape} do not broadcast: "
                    f"{result[axis]} meets {size} in dimension {axis - rank}"
                )
            result[axis] = size
            origin[axis] = shape
    return tuple(result)


def legacy_shape(a: Sequence[int], b: Sequence[int], axis: int | None) -> tuple[int, ...]:
    """The shape of a binary ONNX operator before opset 7 with `broadcast=1`: always that of `a`.

    `legacy_align` gives the rule and the errors.
    """
    legacy_align(a, b, axis)
    return tuple(a)


def legacy_align(a: Sequence[int], b: Sequence[int], axis: int | None) -> tuple[int, ...]:
    """The shape of `b` with 1s, such that numpy broadcasting onto `a` does what ONNX before opset 7 did.

    `b` has one element and at most the rank of `a`, or its shape is the run of dimensions of `a` that
    starts at `axis` (negative: counted from the end of `a`; None: the last ones). A 1 in `b` does not
    stretch, and `axis` has no effect on one element. Source: ONNX Add-1 and Add-6. Raises BroadcastError.
    """
    a, b = _checked(a), _checked(b)
    if len(b) > len(a):
        raise BroadcastError(f"shape {b} has more dimensions than shape {a} that it is broadcast to")
    if all(size == 1 for size in b):
        return (1,) * len(a)
    start = len(a) - len(b) if axis is None else axis
    if start < 0:
        start += len(a)
    aligned = _aligned(b, len(a), start, axis)
    if a[start : start + len(b)] != b:
        where = "at the end" if axis is None else f"at axis {axis}"
        raise BroadcastError(f"shape {b} is not found in shape {a} {where}")
    return aligned


def pdpd_shape(a: Sequence[int], b: Sequence[int], axis: int) -> tuple[int, ...]:
    """The shape of an OpenVINO operation with `auto_broadcast="pdpd"`: always that of `a`.

    `b` starts at dimension `axis` of `a` (-1: it ends where `a` ends) and each of its sizes is 1 or that
    of `a`; `a` is never stretched. Source: OpenVINO "Broadcast Rules For Elementwise Operations" as
    OpenVINO 2026.4 carries them out: 1s at the end of `b` must fit into `a` too. Raises BroadcastError.
    """
    a, b = _checked(a), _checked(b)
    for position, (size, own) in enumerate(zip(a, align(b, len(a), axis), strict=True)):
        if own not in (1, size):
            raise BroadcastError(
                f"shape {b} does not broadcast to shape {a} at axis {axis}: {own} meets {size} in dimension {position}"
            )
    return a


def align(b_shape: Sequence[int], a_rank: int, axis: int) -> tuple[int, ...]:
    """`b_shape` between 1s, `a_rank` dimensions in all, so that numpy aligns it at dimension `axis`.

    `axis` is -1 for the tail or at least 0. Raises BroadcastError where `b_shape` does not fit there.
    """
    b_shape = _checked(b_shape)
    return _aligned(b_shape, a_rank, a_rank - len(b_shape) if axis == -1 else axis, axis)


def _aligned(b: tuple[int, ...], a_rank: int, start: int, axis: int | None) -> tuple[int, ...]:
    """`b` from dimension `start` on; `axis` is the caller's spelling of it."""
    if not 0 <= start <= a_rank - len(b):
        raise BroadcastError(f"shape {b} does not fit into {a_rank} dimensions at axis {axis}")
    return (1,) * start + b + (1,) * (a_rank - start - len(b))


def _checked(shape: Sequence[int]) -> tuple[int, ...]:
    """The shape as a tuple, refused where a size is negative."""
    if any(size < 0 for size in shape):
        raise BroadcastError(f"shape {tuple(shape)} has a negative size")
    return tuple(shape)
