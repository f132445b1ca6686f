"""What options can be: the same checks for a flag's text and for a value in a settings file.

A kind takes the value and returns it as the commands use it. It raises `ValueError` with what the value must be.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Kind = Callable[[object], object]

_UNITS = {
    "": 1, "b": 1,
    "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
}  # fmt: skip
_SIZE = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})?) ?([a-z]*)", re.ASCII)


def switch(value: object) -> bool:
    """On or off."""
    if isinstance(value, bool):
        return value
    raise ValueError("true or false")


def path(value: object) -> str:
    """A path, or "-"."""
    if isinstance(value, str) and value:
        return value
    raise ValueError("a path")


def choice(*allowed: str) -> Kind:
    """One of a few words."""

    def check(value: object) -> str:
        if isinstance(value, str) and value in allowed:
            return value
        raise ValueError(" or ".join(filter(None, (", ".join(allowed[:-1]), allowed[-1]))))

    return check


def names(value: object) -> tuple[str, ...]:
    """Names separated by commas, or a list of them."""
    parts = value.split(",") if isinstance(value, str) else value
    if isinstance(parts, (list, tuple)) and all(isinstance(part, str) for part in parts):
        stripped = tuple(part.strip() for part in parts if part.strip())
        if stripped:
            return stripped
    raise ValueError("one name or more, separated by commas")


def texts(value: object) -> tuple[str, ...]:
    """A list of texts, or one of them; a comma has no meaning."""
    parts = [value] if isinstance(value, str) else value
    if isinstance(parts, (list, tuple)) and all(isinstance(part, str) and part for part in parts):
        return tuple(parts)
    raise ValueError("a name or a list of names")


def count(value: object) -> int:
    """A whole number of at least 1; text only from a flag, see `from_flag`."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise ValueError("a whole number of at least 1")


def whole(value: object) -> int:
    """A whole number of at least 0; text only from a flag."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise ValueError("a whole number of at least 0")


def difference(value: object) -> float:
    """A number of at least 0, as text too."""
    try:
        number = float(value) if isinstance(value, (str, int, float)) else -1.0
    except ValueError:
        number = -1.0
    if 0 <= number < float("inf"):
        return number
    raise ValueError("a number of at least 0")


def dims(value: object) -> tuple[tuple[str, int], ...]:
    """Sizes of dimensions, each as "name=size"; one of them or a list."""
    found = []
    for part in (value,) if isinstance(value, str) else value if isinstance(value, (list, tuple)) else (None,):
        name, _, size = part.rpartition("=") if isinstance(part, str) else ("", "", "")
        if not name or not re.fullmatch(r"[0-9]{1,9}", size, re.ASCII):
            raise ValueError("a dimension and its size, as in N=4 or input:0=4")
        found.append((name, int(size)))
    return tuple(found)


def shapes(value: object) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Shapes of inputs, each as "name=1,3,224,224"; one of them or a list. "name=" is the shape of a scalar."""
    found = []
    for part in (value,) if isinstance(value, str) else value if isinstance(value, (list, tuple)) else (None,):
        name, _, sizes = part.rpartition("=") if isinstance(part, str) else ("", "", "?")
        if not name or not re.fullmatch(r"(?:[0-9]{1,9}(?:,[0-9]{1,9})*)?", sizes, re.ASCII):
            raise ValueError("an input and its shape, as in x=1,3,224,224")
        found.append((name, tuple(int(size) for size in sizes.split(",") if size)))
    return tuple(found)


def layouts(value: object) -> tuple[tuple[str, str], ...]:
    """What axes mean, each as "name=NCHW" or "name(nchw)", or without a name for the only input; of the second form,
    several may stand in one text with commas between."""
    found: list[tuple[str, str]] = []
    for part in (value,) if isinstance(value, str) else value if isinstance(value, (list, tuple)) else (None,):
        found += _layouts_in(part) if isinstance(part, str) else [("", "")]
    if not found or any(not layout or "->" in layout for _, layout in found):
        raise ValueError("an input or output and its layout, as in x=NCHW")
    return tuple(found)


def _layouts_in(text: str) -> list[tuple[str, str]]:
    if text.endswith(")"):
        whole = re.fullmatch(r"[^()]+\([^()]+\)(?:,[^()]+\([^()]+\))*", text)
        return re.findall(r"([^(),][^()]*)\(([^()]+)\)", text) if whole else [("", "")]
    name, _, layout = text.rpartition("=")
    return [(name, layout)]


def size_bytes(value: object) -> int:
    """A number of bytes: 65536, "64KiB" (binary), "1MB" (decimal), in any case; parts of a byte are cut off."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    found = _SIZE.fullmatch(value.strip().lower()) if isinstance(value, str) else None
    if found is None or found[2] not in _UNITS or ("." in found[1] and _UNITS[found[2]] == 1):
        raise ValueError("a number of bytes such as 65536, 64KiB or 1MB")
    whole, _, fraction = found[1].partition(".")
    nbytes: int = int(whole + fraction) * _UNITS[found[2]] // 10 ** len(fraction)
    return nbytes


def from_flag(kind: Kind, value: object) -> object:
    """A flag's value as a settings file would have it: digits are a number there."""
    if kind in (count, whole) and isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value, re.ASCII):
        return int(value)
    return value


def shown(value: object) -> str:
    """A value as messages show it."""
    return repr(value[0] if isinstance(value, list) and len(value) == 1 else value)
