"""What options can be."""

from __future__ import annotations

import dataclasses

import pytest

from maxfold.cli import values
from maxfold.cli.options import _CONVERT_KINDS, _KINDS, ConvertOptions, OptimizeOptions, _field
from tests.cli.shell import fails

SIZES = [
    ("0", 0), ("65536", 65536), ("64KiB", 65536), ("64 KiB", 65536), ("64kib", 65536), ("1MB", 1_000_000),
    ("1MiB", 1 << 20), ("2kB", 2000), ("1.5MiB", 3 << 19), ("0.3KiB", 307), ("3B", 3), ("1GB", 10**9),
    ("1GiB", 1 << 30), ("2TB", 2 * 10**12), ("1TiB", 1 << 40), (" 7 ", 7),
]  # fmt: skip


@pytest.mark.parametrize(("text", "nbytes"), SIZES)
def test_sizes(text: str, nbytes: int) -> None:
    assert values.size_bytes(text) == nbytes


@pytest.mark.parametrize(
    "text",
    ["", "-1", "1K", "1M", "64 Ki B", "0x10", "1e3", "1.5", "1.5B", ".5MB", "MB", "1MBit", "\u0661", "9" * 30, "nan"],
)
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="a number of bytes such as 65536, 64KiB or 1MB"):
        values.size_bytes(text)


@pytest.mark.parametrize("value", [-1, True, 1.5, None, []])
def test_what_is_no_size_in_settings(value: object) -> None:
    with pytest.raises(ValueError, match="a number of bytes"):
        values.size_bytes(value)


def test_names() -> None:
    assert values.names("a") == ("a",)
    assert values.names(" a, b ,,") == ("a", "b")
    assert values.names(["a", "b "]) == ("a", "b")
    for value in ("", " , ", [], [1], 3, None):
        with pytest.raises(ValueError, match="separated by commas"):
            values.names(value)


def test_texts() -> None:
    assert values.texts("a,b") == ("a,b",)
    assert values.texts(["a", "b"]) == ("a", "b")
    for value in ([""], [1], 3, None):
        with pytest.raises(ValueError, match="a list of names"):
            values.texts(value)


def test_every_option_has_a_kind_and_a_field() -> None:
    fields = {field.name for field in dataclasses.fields(OptimizeOptions)} - {"settings"}
    assert {_field(name) for name in _KINDS} == fields
    fields_of_convert = {field.name for field in dataclasses.fields(ConvertOptions)}
    assert {_field(name) for name in _CONVERT_KINDS} <= fields_of_convert


def test_dims() -> None:
    assert values.dims("N=4") == (("N", 4),)
    assert values.dims(["a=b=0", "x:0=12"]) == (("a=b", 0), ("x:0", 12))
    for value in ("N", "=4", "N=", "N=-1", "N=1.5", [1], 3, None):
        with pytest.raises(ValueError, match="a dimension and its size"):
            values.dims(value)


def test_differences() -> None:
    assert [values.difference(value) for value in ("1e-3", 0, 0.5)] == [0.001, 0.0, 0.5]
    for value in ("", "-1", "nan", "inf", "x", None, []):
        with pytest.raises(ValueError, match="a number of at least 0"):
            values.difference(value)


BAD_FLAGS = [
    ("--math", "fast", "--math must be exact or relaxed, not 'fast'"),
    ("--max-growth", "64K", "--max-growth must be a number of bytes such as 65536, 64KiB or 1MB, not '64K'"),
    ("--max-growth", "-1", "--max-growth must be a number of bytes such as 65536, 64KiB or 1MB, not '-1'"),
    ("--external-data", "maybe", "--external-data must be auto, always or never, not 'maybe'"),
    ("--jobs", "0", "--jobs must be a whole number of at least 1, not '0'"),
    ("--jobs", "two", "--jobs must be a whole number of at least 1, not 'two'"),
    ("--opset", "1.5", "--opset must be a whole number of at least 1, not '1.5'"),
    ("--passes", ",", "--passes must be one name or more, separated by commas, not ','"),
    ("--keep", "", "--keep must be a name or a list of names, not ''"),
    ("--report", "", "--report must be a path, not ''"),
]


@pytest.mark.parametrize(("flag", "value", "message"), BAD_FLAGS)
def test_bad_flags(flag: str, value: str, message: str) -> None:
    assert fails("optimize", "m.onnx", "-o", "out.onnx", flag, value) == f"{message}; try 'maxfold optimize --help'"
