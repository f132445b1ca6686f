"""Comparison of nested plain data, with a path to each difference."""

from __future__ import annotations

from typing import TypeAlias, Union

Plain: TypeAlias = Union["dict[str, Plain]", "list[Plain]", str, int, bytes, None]

MOST_LINES = 12
_MOST_CHARACTERS = 200


def differences(expected: Plain, actual: Plain, where: str = "model") -> list[str]:
    """One line for each place where the two differ, at most `MOST_LINES`; empty if they are equal."""
    if expected == actual and type(expected) is type(actual):
        return []
    if isinstance(expected, dict) and isinstance(actual, dict):
        return _in_dicts(expected, actual, where)[:MOST_LINES]
    if isinstance(expected, list) and isinstance(actual, list):
        return _in_lists(expected, actual, where)[:MOST_LINES]
    return [f"{where}: {_shown(expected)} became {_shown(actual)}"]


def _in_dicts(expected: dict[str, Plain], actual: dict[str, Plain], where: str) -> list[str]:
    lines = [f"{where}: {key} = {_shown(expected[key])} is lost" for key in expected if key not in actual]
    lines += [f"{where}: {key} = {_shown(actual[key])} is new" for key in actual if key not in expected]
    for key in expected:
        if key in actual:
            lines += differences(expected[key], actual[key], f"{where}.{key}")
    return lines


def _in_lists(expected: list[Plain], actual: list[Plain], where: str) -> list[str]:
    lines = []
    for position, (old, new) in enumerate(zip(expected, actual, strict=False)):
        lines += differences(old, new, f"{where}[{position}]")
    if len(expected) != len(actual):
        lines.insert(0, f"{where}: {len(expected)} entries became {len(actual)}")
    return lines


def _shown(value: Plain) -> str:
    text = repr(value)
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}..."
