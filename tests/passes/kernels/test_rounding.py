"""Rounding once to every float type, against fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxfold.passes.kernels import KernelError, rounding
from maxfold.passes.kernels.rounding import WIDE, number_in, rounded, widened
from tests.passes.kernels.reference import FORMATS, array_of, bits_of
from tests.passes.kernels.strategies import BY_NAME, elements

NARROW = [name for name in FORMATS if name != "DOUBLE"]


@pytest.mark.parametrize("name", NARROW)
@given(data=st.data())
def test_doubles_near_ties(name: str, data: st.DataObject) -> None:
    """Halfway points of the narrow type, moved by the least that a double can be."""
    form, dtype = FORMATS[name], BY_NAME[name]
    bits = data.draw(elements(dtype))
    negative, size, nan = form.decode(bits)
    if size is None or nan:
        return
    neighbour = form.decode(bits + 1)[1]
    middle = np.float64(float((size + neighbour) / 2 if neighbour is not None else size))
    for value in (middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf)):
        signed = -value if negative else value
        expected = form.encode(bool(np.signbit(signed)), abs(Fraction(float(signed))))
        assert bits_of(rounded(np.array([signed]), dtype)) == [expected]
        assert bits_of(rounded(np.array([signed], WIDE), dtype)) == [expected]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("source", [np.int64, np.uint64, np.int8])
@given(data=st.data())
def test_integers(name: str, source: type[np.integer], data: st.DataObject) -> None:
    info = np.iinfo(source)
    near = st.builds(lambda power, step: (1 << power) + step, st.integers(0, info.bits - 2), st.integers(-3, 3))
    value = data.draw(st.integers(info.min, info.max) | near.filter(lambda value: info.min <= value <= info.max))
    expected = FORMATS[name].encode(value < 0, Fraction(abs(value)))
    assert bits_of(rounded(np.array([value], source), BY_NAME[name])) == [expected]


@pytest.mark.parametrize("name", FORMATS)
@given(data=st.data())
def test_there_and_back(name: str, data: st.DataObject) -> None:
    dtype = BY_NAME[name]
    values = array_of(data.draw(st.lists(elements(dtype), max_size=5)), dtype, (-1,))
    with np.errstate(all="ignore"):
        numbers = values[~np.isnan(values)]
        assert bits_of(rounded(widened(numbers, dtype), dtype)) == bits_of(numbers)


def test_number_in() -> None:
    assert number_in(BY_NAME["FLOAT16"], 0.1) == np.float16(0.1)
    assert number_in(BY_NAME["FLOAT"], 3.4028234663852886e38) == np.finfo(np.float32).max
    assert number_in(BY_NAME["FLOAT16"], 1e6) == np.inf


def test_what_is_not_exact_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounding, "WIDE", np.float64)
    monkeypatch.setattr(rounding, "_DIGITS", 53)
    with pytest.raises(KernelError, match=r"wider than double"):
        widened(np.ones(1), BY_NAME["DOUBLE"])
    with pytest.raises(KernelError, match=r"integers beyond 2\*\*53"):
        widened(np.array([2**53 + 1]), BY_NAME["INT64"])
    assert widened(np.array([2**53]), BY_NAME["INT64"]).dtype == np.float64
