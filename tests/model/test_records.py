"""Dataclasses that are finished when their first object is made."""

from __future__ import annotations

import dataclasses
import pickle
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import pytest

from maxfold.model.records import field, frequent_value, frozen, frozen_value, options, record


@frozen_value
class Point:
    x: int
    y: int = 2
    rest: list[int] = dataclasses.field(default_factory=list, compare=False)


@frozen_value
class Labelled(Point):
    label: str = ""


def test_compared_by_value() -> None:
    point = Point(1)
    assert (point.x, point.y, point.rest) == (1, 2, [])
    assert point == Point(x=1, y=2)
    assert hash(point) == hash(Point(1))
    assert point != Point(1, 3)
    assert repr(point) == "Point(x=1, y=2, rest=[])"
    assert dataclasses.replace(point, y=5) == Point(1, 5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(point, "x", 3)  # noqa: B010  # as the type checker knows


def test_fields_of_bases_come_first() -> None:
    @frozen_value
    class Base:
        first: int

    @frozen_value
    class Derived(Base):
        second: int

    derived = Derived(1, 2)
    assert (derived.first, derived.second) == (1, 2)
    assert Base(3).first == 3
    assert Derived(1, 2) == derived


def test_plain_class_derived_from_one() -> None:
    @frozen_value
    class Base:
        first: int

    class Derived(Base):
        pass

    assert Derived(4).first == 4
    assert isinstance(Derived(4), Base)


def test_compared_by_identity() -> None:
    @frozen
    class Found:
        node: Any
        others: tuple[Any, ...] = ()

    found = Found(1)
    assert found.others == ()
    assert found != Found(1)
    assert len({found, Found(1)}) == 2


def test_fields_of_records_change() -> None:
    @record
    class Plan:
        nodes: list[int] = field(default_factory=list)
        is_done: bool = False

        def __post_init__(self) -> None:
            self.nodes = [*self.nodes, 0]

    plan = Plan([1])
    plan.is_done = True
    assert (plan.nodes, plan.is_done) == ([1, 0], True)
    assert (Plan().nodes, Plan().is_done) == ([0], False)
    assert plan != Plan([1])


def test_frequent_values_are_compared_by_value() -> None:
    @frequent_value
    class Pair:
        first: int
        second: int = 2

    assert Pair(1) == Pair(1, 2)
    assert hash(Pair(1)) == hash(Pair(1, 2))
    assert Pair(1) != Pair(2)
    assert dataclasses.replace(Pair(1), second=3) == Pair(1, 3)
    assert not hasattr(Pair(1), "__dict__")


def test_options_are_fields_that_do_not_change() -> None:
    @options
    class Step:
        limit: int = 3

    @options
    class Longer(Step):
        reach: int = 4

    @dataclasses.dataclass(frozen=True)
    class OfSomebodyElse(Step):
        reach: int = 5

    assert [field.name for field in dataclasses.fields(Longer)] == ["limit", "reach"]
    assert (Longer(limit=1).limit, Longer().reach, OfSomebodyElse().reach) == (1, 4, 5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(Longer(), "reach", 5)  # noqa: B010  # as the type checker knows


def test_wrong_arguments_are_refused() -> None:
    @frozen
    class Found:
        node: Any

    make: Callable[..., Any] = Found
    with pytest.raises(TypeError, match="node"):
        make()
    with pytest.raises(TypeError, match="other"):
        make(1, other=2)


def test_abstract_classes_stay_abstract() -> None:
    class Base(ABC):
        __slots__ = ()

        @abstractmethod
        def match(self) -> int: ...

    @frozen
    class Unfinished(Base):
        limit: int = 3

    @frozen
    class Finished(Base):
        limit: int = 3

        def match(self) -> int:
            return self.limit

    assert Finished().match() == 3
    assert "limit" in Finished.__dataclass_fields__  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        setattr(Finished(), "state", 1)  # noqa: B010  # as the type checker knows
    make: Callable[[], Any] = Unfinished
    with pytest.raises(TypeError, match="abstract"):
        make()


def test_objects_out_of_a_pickle_are_the_same() -> None:
    data = pickle.dumps(Labelled(1, label="a"))
    assert pickle.loads(data) == Labelled(1, label="a")


def test_first_objects_made_by_many_threads_at_once() -> None:
    for _ in range(50):

        @frozen_value
        class Value:
            first: int
            second: int = 2

        start = threading.Barrier(8)
        made: list[Any] = []

        def make(kind: Callable[..., Any] = Value, start: threading.Barrier = start, made: list[Any] = made) -> None:
            start.wait()
            made.append(kind(1))

        threads = [threading.Thread(target=make) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert made == [Value(1)] * 8
