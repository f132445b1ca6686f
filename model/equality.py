"""Which of many byte ranges are equal, reading as little as that takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest

from maxfold.model.storage import Region, Source

_SAMPLE_BYTES = 64


def equal_groups(items: Sequence[Region | bytes]) -> list[list[int]]:
    """Groups of at least two places whose bytes are equal, each in ascending order.

    Sizes are compared first, then a few bytes of each, then everything: an item that is the only one of its kind is
    never read. Empty items are all equal.
    """
    regions = [item if isinstance(item, Region) else Region(Source(item), 0, len(item)) for item in items]
    groups: list[list[int]] = []
    for same_size in _grouped(range(len(regions)), lambda index: regions[index].nbytes):
        for same_sample in _grouped(same_size, lambda index: regions[index].sample(_SAMPLE_BYTES)):
            groups += _split(same_sample, regions)
    return groups


def _grouped(indices: Sequence[int], key: Callable[[int], object]) -> list[list[int]]:
    groups: dict[object, list[int]] = {}
    for index in indices:
        groups.setdefault(key(index), []).append(index)
    return [group for group in groups.values() if len(group) > 1]


def _split(indices: Sequence[int], regions: Sequence[Region]) -> list[list[int]]:
    """Groups of equal regions among some that look alike."""
    groups: list[list[int]] = []
    for index in indices:
        found = next((group for group in groups if _is_equal(regions[group[0]], regions[index])), None)
        if found is None:
            groups.append([index])
        else:
            found.append(index)
    return [group for group in groups if len(group) > 1]


def _is_equal(a: Region, b: Region) -> bool:
    if a.source is b.source and a.offset == b.offset:
        return True
    return all(left == right for left, right in zip_longest(a.chunks(), b.chunks()))
