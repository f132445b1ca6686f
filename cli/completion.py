"""What the shell is offered where an option takes one of a few words."""

from __future__ import annotations

from collections.abc import Callable


def complete_choice(*words: str) -> Callable[[str], list[str]]:
    """Offers fixed words."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return complete


def complete_passes(incomplete: str) -> list[str]:
    """Offers names of passes for the part behind the last comma, without those that stand before it."""
    from maxfold.optimizer import catalogue

    before, comma, begun = incomplete.rpartition(",")
    known = [entry.name for entry in catalogue() if entry.name not in before.split(",")]
    return [f"{before}{comma}{name}" for name in known if name.startswith(begun)]
