"""Sizes to try for open dimensions: small batches, then what models of text, sound and images ask for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from maxfold.optimizer.runtimes import Dim, Port

# Axes of an image beside the batch: channels and two or three in space.
_IMAGE_RANKS = (4, 5)
_STATE_RANK = 3
_MOST_OF_VOLUMES = 64
_CHANNELS = (1, 2, 3, 4)
_BATCH_NAME = re.compile(r"(^|_)(batch(_?size)?|bs|n|b)$", re.IGNORECASE)
_TERM = re.compile(r"\s*([+*])\s*")


@dataclass(frozen=True, slots=True)
class Sizes:
    """One choice: of the first axis, of channels, of axes in space, of all others, and of a sampling rate in Hz."""

    batch: int
    channels: int
    space: int
    other: int
    rate: int = 16000


SIZES = (
    Sizes(2, 3, 64, 8), Sizes(3, 3, 96, 16), Sizes(1, 3, 64, 32), Sizes(1, 1, 64, 64), Sizes(1, 3, 128, 128),
    Sizes(2, 3, 128, 2), Sizes(1, 3, 224, 224), Sizes(3, 1, 32, 1), Sizes(1, 64, 64, 512), Sizes(1, 3, 320, 96),
    Sizes(1, 3, 512, 320), Sizes(1, 1, 64, 576), Sizes(1, 3, 64, 256, 8000), Sizes(3, 2, 3, 3), Sizes(1, 4, 1, 16),
)  # fmt: skip


def drawn_shape(port: Port, sizes: Sizes, symbols: dict[str, int], otherwise: int) -> list[int]:
    """The shape of an input; `otherwise` is the rank of one without. Symbols get a size when they are met first.

    A symbol of the form "a + 1" or "2*a" is computed of others.
    """
    dims: Sequence[Dim] = (None,) * otherwise if port.shape is None else port.shape
    shape: list[int] = []
    for axis, dim in enumerate(dims):
        if isinstance(dim, int):
            shape.append(dim)
            continue
        own = f"{port.name}:{axis}" if dim is None else dim
        if own not in symbols:
            size = _bounded(port, axis, _size(dim, axis, dims, sizes))
            symbols[own] = _computed(own, size, symbols) if dim is not None else size
        shape.append(symbols[own])
    return shape


def _size(dim: Dim, axis: int, dims: Sequence[Dim], sizes: Sizes) -> int:
    # States of recurrent layers have their number first: [layers, batch, hidden].
    is_state = axis == 1 and len(dims) == _STATE_RANK and isinstance(dims[0], int)
    if axis == 0 or is_state or (isinstance(dim, str) and _BATCH_NAME.search(dim)):
        return sizes.batch
    if len(dims) not in _IMAGE_RANKS:
        return sizes.other
    is_last = isinstance(dims[-1], int) and dims[-1] in _CHANNELS and not isinstance(dims[1], int)
    if not is_last and axis == 1:
        return sizes.channels
    # Volumes of that many elements a side would take gigabytes.
    return sizes.space if len(dims) == _IMAGE_RANKS[0] else min(sizes.space, _MOST_OF_VOLUMES)


def _bounded(port: Port, axis: int, size: int) -> int:
    low, high = port.bounds[axis] if axis < len(port.bounds) else (0, None)
    return max(size, low) if high is None else min(max(size, low), high)


def _computed(symbol: str, size: int, symbols: dict[str, int]) -> int:
    """The size of a symbol, of which the parts of a sum or product have their own."""
    parts = _TERM.split(symbol.strip("() "))
    if len(parts) == 1 or not all(parts):
        return size
    values = [int(part) if part.isdecimal() else symbols.setdefault(part, size) for part in parts[::2]]
    total = values[0]
    for operator, value in zip(parts[1::2], values[1:], strict=True):
        total = total + value if operator == "+" else total * value
    return total
