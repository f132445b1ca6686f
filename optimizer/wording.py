"""Numbers as people read them."""

from __future__ import annotations

from collections.abc import Sequence


def bytes_text(nbytes: int | None) -> str:
    """A size in decimal units with three digits: "812 B", "5.11 MB"."""
    if nbytes is None:
        return "?"
    value, units = float(nbytes), ["B", "kB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:
        value /= 1000
        units.pop(0)
    if units[0] == "B":
        return f"{nbytes} B"
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f} {units[0]}"


def seconds_text(seconds: float) -> str:
    """A time: "<1 ms", "4 ms", "0.52 s", "12.3 s", "3 min 20 s"."""
    if seconds < 0.0005:
        return "<1 ms"
    if seconds < 0.0995:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 9.995:
        return f"{seconds:.2f} s"
    if seconds < 119.5:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def change_text(before: int, after: int) -> str:
    """How much more or less: "-12.3%", "same"; a change is never called 0%."""
    if before == after:
        return "same"
    if not before:
        return "new"
    percent = 100 * (after - before) / before
    if abs(percent) < 0.05:
        return "-<0.1%" if percent < 0 else "+<0.1%"
    return f"{percent:+.1f}%"


def listed(items: Sequence[str]) -> str:
    """Things in a row: "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, (", ".join(items[:-1]), *items[-1:])))


def counted(count: int, noun: str) -> str:
    """A count with its noun: "1 node", "1,234 nodes"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
