"""Dataclasses that cost little: most are finished when their first object is made.

`dataclass` compiles the methods that it gives a class, which takes about as long as importing a small module. Here they
are functions that look at the fields. Of the matches, rules and findings of all passes, a model needs a few.
"""

from __future__ import annotations

import sys
import threading
from abc import ABCMeta
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["frequent_value", "frozen", "frozen_value", "options", "record"]

_Class = TypeVar("_Class", bound=type)
_lock = threading.RLock()

if not TYPE_CHECKING:

    def frozen(owner: _Class) -> _Class:
        """A dataclass for a match or a rule: compared by identity. Only the type checker sees that nothing is set."""
        if isinstance(owner, ABCMeta):
            # Rules are made in every run, and keep no state.
            _give_fields(owner)
            owner.__setattr__ = _refuse_setting
            return owner
        return _finished_later(owner, _give_fields)

    def frozen_value(owner: _Class) -> _Class:
        """A frozen dataclass, compared by value."""
        return _finished_later(owner, _make_value)

    def record(owner: _Class) -> _Class:
        """A dataclass whose fields change, compared by identity."""
        return _finished_later(owner, _give_fields)

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


# What is not finished yet, and what finishes it.
_waiting: dict[type, Callable[[type], None]] = {}


def _finished_later(owner: _Class, finish: Callable[[type], None]) -> _Class:
    def new(cls: type, *arguments: Any, **named: Any) -> Any:
        if owner in _waiting:
            _finish(owner)
        return object.__new__(cls)

    # `__init__` is looked up afterwards.
    owner.__new__ = new  # type: ignore[method-assign,assignment]
    _waiting[owner] = finish
    return owner


def _finish(owner: type) -> None:
    """Makes dataclasses of a class and of those that it is derived from, the most general one first."""
    with _lock:
        for base in reversed(owner.__mro__):
            finish = _waiting.get(base)
            if finish is not None:
                finish(base)
                del _waiting[base]


def _give_fields(owner: Any) -> None:
    """Lets a class have fields, and an `__init__` for them, also where it is told of none itself."""
    dataclass(init=False, repr=False, eq=False)(owner)
    entries = [entry for entry in fields(owner) if entry.init]
    names = [entry.name for entry in entries]
    prepares = hasattr(owner, "__post_init__")

    def initialize(self: Any, *arguments: Any, **named: Any) -> None:
        if named or len(arguments) != len(names):
            arguments = _completed(type(self).__name__, entries, arguments, named)
        # Not by `setattr`, which may be refused.
        self.__dict__.update(zip(names, arguments, strict=True))
        if prepares:
            self.__post_init__()

    owner.__init__ = initialize


def _completed(
    name: str, entries: Sequence[Field[Any]], arguments: Sequence[Any], named: dict[str, Any]
) -> tuple[Any, ...]:
    """A value for each field: those given in order, those given by name, and defaults. TypeError where one is left."""
    if len(arguments) > len(entries):
        raise TypeError(f"{name} takes {len(entries)} values, not {len(arguments)}")
    left = dict(named)
    values = list(arguments)
    for entry in entries[len(arguments) :]:
        if entry.name in left:
            values.append(left.pop(entry.name))
        elif entry.default is not MISSING:
            values.append(entry.default)
        elif entry.default_factory is not MISSING:
            values.append(entry.default_factory())
        else:
            raise TypeError(f"{name} needs a value for {entry.name!r}")
    if left:
        raise TypeError(f"{name} has no field {min(left)!r} that is left to be given")
    return tuple(values)


def _make_value(owner: Any) -> None:
    """Lets a class have fields that do not change, and objects of it be equal where their fields are."""
    _give_fields(owner)
    owner.__setattr__ = _refuse_setting
    owner.__delattr__ = _refuse_deleting
    owner.__repr__ = _shown
    compared = [entry.name for entry in fields(owner) if entry.compare]

    def of(item: Any) -> tuple[Any, ...]:
        return tuple([item.__dict__[name] for name in compared])

    def is_equal(self: Any, other: object) -> Any:
        return of(self) == of(other) if type(other) is type(self) else NotImplemented

    owner.__eq__ = is_equal
    owner.__hash__ = lambda self: hash(of(self))


def _refuse_setting(self: Any, name: str, value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deleting(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _shown(self: Any) -> str:
    told = (f"{entry.name}={getattr(self, entry.name)!r}" for entry in fields(self) if entry.repr)
    return f"{type(self).__qualname__}({', '.join(told)})"
