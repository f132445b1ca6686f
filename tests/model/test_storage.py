"""Bytes that are computed when somebody asks for them."""

from __future__ import annotations

import functools
import io

from maxfold.model.storage import ComputedSource, Region


def test_computed_bytes_are_kept_only_while_they_are_the_last_ones() -> None:
    calls: list[str] = []

    def compute(name: str, _: int) -> memoryview:
        calls.append(name)
        return memoryview(name.encode() * 4)

    first, second = (ComputedSource(4, 4, functools.partial(compute, name)) for name in "ab")
    assert first.read(1, 2) == b"aa"
    assert bytes(first.view(0, 4)) == b"aaaa"
    assert second.read(0, 4) == b"bbbb"
    assert first.read(0, 1) == b"a"
    target = io.BytesIO()
    Region(first, 0, 4).copy_to(target)
    assert target.getvalue() == b"aaaa"
    assert calls == ["a", "b", "a"]
