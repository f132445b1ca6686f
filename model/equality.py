"""Which of many byte ranges are equal, reading as little as that takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest

from maxfold.model.records import frozen_value
from maxfold.model.storage import ComputedSource, Region, Source

_SAMPLE_BYTES = 64


@frozen_value
class Contents:
    """Bytes to compare with others of the same `form`, and for nothing else: they need not be those of the values."""

    form: str
    _bytes: Region | bytes

    def key(self) -> bytes:
        """The bytes, read: to be compared or hashed."""
        return b"".join(self._bytes.chunks()) if isinstance(self._bytes, Region) else self._bytes

    @property
    def region(self) -> Region:
        """The bytes, not read."""
        found = self._bytes
        return found if isinstance(found, Region) else Region(Source(found), 0, len(found))


def equal_groups(items: Sequence[Contents]) -> list[list[int]]:
    """Groups of at least two places whose form and bytes are equal, each in ascending order.

    Sizes are compared first, then a few bytes of each, then everything: an item that is the only one of its kind is
    never read. Empty items of one form are all equal.
    """
    regions = [item.region for item in items]
    groups: list[list[int]] = []
    for same_size in _grouped(range(len(regions)), lambda index: (items[index].form, regions[index].nbytes)):
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
    if isinstance(a.source, ComputedSource) or isinstance(b.source, ComputedSource):
        return a.nbytes == b.nbytes and a.digest() == b.digest()
    return all(left == right for left, right in zip_longest(a.chunks(), b.chunks()))
