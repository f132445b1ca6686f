"""Dataclasses that cost little: most are finished when their first object is made.

Making the methods of a dataclass takes about as long as importing a small module. Of the matches, rules and findings of
all passes, a model needs a few.
"""

from __future__ import annotations

import sys
import threading
from abc import ABCMeta
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["frequent_value", "frozen", "frozen_value", "options", "record"]

_Class = TypeVar("_Class", bound=type)
_lock = threading.RLock()

if not TYPE_CHECKING:

    def frozen(owner: _Class) -> _Class:
        """A dataclass for a match or a rule: compared by identity. Only the type checker sees that nothing is set."""
        if isinstance(owner, ABCMeta):
            # Rules are made in every run, and keep no state.
            return dataclass(slots=True, eq=False, repr=False)(owner)
        return _finished_later(owner, {"eq": False, "repr": False})

    def frozen_value(owner: _Class) -> _Class:
        """A frozen dataclass, compared by value."""
        return _finished_later(owner, {"frozen": True})

    def record(owner: _Class) -> _Class:
        """A dataclass whose fields change, compared by identity."""
        return _finished_later(owner, {"eq": False})

    def frequent_value(owner: _Class) -> _Class:
        """A dataclass for what is made very often, compared by value. Only the type checker sees that nothing is set:
        objects of a frozen one take three times as long to make."""
        return dataclass(slots=True, unsafe_hash=True)(owner)

    def options(owner: _Class) -> _Class:
        """A frozen dataclass for a pass, whose fields are its options: compared by identity."""
        return dataclass(frozen=True, eq=False, repr=False)(owner)

elif sys.version_info >= (3, 11):
    from typing import dataclass_transform

    @dataclass_transform(frozen_default=True, field_specifiers=(field,))
    def frozen(owner: _Class) -> _Class:
        """A dataclass for a match or a rule: compared by identity. Only the type checker sees that nothing is set."""
        return owner

    @dataclass_transform(frozen_default=True, field_specifiers=(field,))
    def frozen_value(owner: _Class) -> _Class:
        """A frozen dataclass, compared by value."""
        return owner

    @dataclass_transform(field_specifiers=(field,))
    def record(owner: _Class) -> _Class:
        """A dataclass whose fields change, compared by identity."""
        return owner

    @dataclass_transform(frozen_default=True, field_specifiers=(field,))
    def frequent_value(owner: _Class) -> _Class:
        """A dataclass for what is made very often, compared by value."""
        return owner

    @dataclass_transform(frozen_default=True, field_specifiers=(field,))
    def options(owner: _Class) -> _Class:
        """A frozen dataclass for a pass, whose fields are its options: compared by identity."""
        return owner

else:
    from dataclasses import dataclass as frequent_value
    from dataclasses import dataclass as frozen
    from dataclasses import dataclass as frozen_value
    from dataclasses import dataclass as options
    from dataclasses import dataclass as record


# What is not finished yet, and its options.
_waiting: dict[type, dict[str, bool]] = {}


def _finished_later(owner: _Class, options: dict[str, bool]) -> _Class:
    def new(cls: type, *arguments: Any, **named: Any) -> Any:
        if owner in _waiting:
            _finish(owner)
        return object.__new__(cls)

    # `__init__` is looked up afterwards. (A dataclass would keep one that it finds.)
    owner.__new__ = new  # type: ignore[method-assign,assignment]
    _waiting[owner] = options
    return owner


def _finish(owner: type) -> None:
    """Makes dataclasses of a class and of those that it is derived from, the most general one first."""
    with _lock:
        for base in reversed(owner.__mro__):
            options = _waiting.get(base)
            if options is not None:
                dataclass(**options)(base)
                del _waiting[base]
