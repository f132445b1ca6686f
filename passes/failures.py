"""Passes that are not maxfold's own, and what is said where one of them goes wrong."""

from __future__ import annotations

from maxfold.model.errors import ModelError

_MEND = "it is none of maxfold's own: mend it, or leave it out"


class PassError(ModelError):
    """A pass that is not maxfold's own failed, or does not come to an end."""


def is_own(entry: object) -> bool:
    """Whether a pass or rule is somebody's own, and not one of maxfold's."""
    return type(entry).__module__.partition(".")[0] != "maxfold"


def described(error: Exception) -> str:
    """An error's kind and message in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def failed(name: str, error: Exception, place: str = "") -> PassError:
    """What to raise for whatever a pass raised; `place` says at which node."""
    return PassError(f"the pass {name!r} failed{place}: {described(error)}; {_MEND}")


def endless(name: str, changes: int) -> PassError:
    """What to raise for a pass that goes on changing the model."""
    found = f"{changes:,} changes, each of which has to reduce a measure"
    return PassError(f"the pass {name!r} does not come to an end: {found}; {_MEND}")
