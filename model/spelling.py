"""What somebody may have meant who wrote a name that is none."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """The question that a message ends with, None where no known name is close; upper and lower case are not told
    apart."""
    spellings = {item.lower(): item for item in known}
    close = difflib.get_close_matches(name.lower(), spellings, 1)
    return f"did you mean {spellings[close[0]]!r}?" if close else None
