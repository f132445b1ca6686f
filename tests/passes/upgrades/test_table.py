"""The table against the schemas: every step is in it once, and is what its group says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import onnx
import pytest

from maxfold.passes import upgrades
from maxfold.passes.upgrades import unchanged
from tests.contract.repository import ROOT

KNOWN = min(upgrades.NEWEST_OPSET, onnx.defs.onnx_opset_version())


def schemas() -> dict[str, dict[int, onnx.defs.OpSchema]]:
    found: dict[str, dict[int, onnx.defs.OpSchema]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if not schema.domain and schema.since_version <= KNOWN:
            found.setdefault(schema.name, {})[schema.since_version] = schema
    return found


SCHEMAS = schemas()

STEPS = {
    (operator, newer): (SCHEMAS[operator][older], SCHEMAS[operator][newer])
    for operator, versions in SCHEMAS.items()
    for older, newer in zip(sorted(versions), sorted(versions)[1:], strict=False)
}

# Steps of MORE_OPTIONS that also mend a misspelled default, or let an attribute be absent.
MENDED = {("GRU", 3): "direction", ("Constant", 11): "value"}


def rows() -> Iterator[tuple[str, int]]:
    yield from upgrades.UNCHANGED
    yield from upgrades.ADAPTERS
    yield from upgrades.REFUSED


def in_group(group: Mapping[str, tuple[int, ...]]) -> list[tuple[str, int]]:
    keys = [(operator, version) for operator, versions in group.items() for version in versions]
    return [key for key in keys if key in STEPS]


def attributes_of(schema: onnx.defs.OpSchema) -> dict[str, tuple[Any, ...]]:
    return {
        name: (attribute.type, attribute.required, attribute.default_value.SerializeToString())
        for name, attribute in schema.attributes.items()
    }


def operands_of(schema: onnx.defs.OpSchema) -> list[list[tuple[str, Any]]]:
    return [[(item.name, item.option) for item in side] for side in (schema.inputs, schema.outputs)]


def has_lost_types(older: onnx.defs.OpSchema, newer: onnx.defs.OpSchema) -> bool:
    new = {item.name: set(item.types) for item in (*newer.inputs, *newer.outputs)}
    return any(set(item.types) - new[item.name] for item in (*older.inputs, *older.outputs) if item.name in new)


def test_every_step_has_one_row() -> None:
    found = list(rows())
    assert len(found) == len(set(found))
    assert sorted(set(STEPS) - set(found)) == []
    assert sorted(key for key in found if key[1] <= KNOWN and key not in STEPS) == []


@pytest.mark.parametrize("key", [*in_group(unchanged.MORE_TYPES), *in_group(unchanged.CLEARER_TEXT)], ids=str)
def test_nothing_but_types_and_text_is_new(key: tuple[str, int]) -> None:
    older, newer = STEPS[key]
    assert not newer.deprecated
    assert attributes_of(older) == attributes_of(newer)
    assert operands_of(older) == operands_of(newer)
    assert not has_lost_types(older, newer)


@pytest.mark.parametrize("key", in_group(unchanged.MORE_TYPES), ids=str)
def test_only_types_are_new(key: tuple[str, int]) -> None:
    """Spaces aside, the text is the same too."""
    older, newer = STEPS[key]
    assert (older.doc or "").split() == (newer.doc or "").split()


@pytest.mark.parametrize("key", in_group(unchanged.MORE_OPTIONS), ids=str)
def test_only_options_are_new(key: tuple[str, int]) -> None:
    older, newer = STEPS[key]
    assert not newer.deprecated
    assert not has_lost_types(older, newer)
    before, after = attributes_of(older), attributes_of(newer)
    before.pop(MENDED.get(key, ""), None)
    assert before.items() <= after.items()
    assert not any(newer.attributes[name].required for name in after.keys() - before.keys())
    for old, new in zip(operands_of(older), operands_of(newer), strict=True):
        assert [name for name, _ in old] == [name for name, _ in new[: len(old)]]
    assert newer.min_input <= older.min_input
    assert newer.min_output <= older.min_output


@pytest.mark.parametrize("key", [key for key, (older, newer) in STEPS.items() if has_lost_types(older, newer)], ids=str)
def test_lost_types_are_looked_at(key: tuple[str, int]) -> None:
    assert key not in upgrades.UNCHANGED


def test_the_documentation_counts_the_rows() -> None:
    text = (ROOT / "docs" / "opset-upgrade.md").read_text(encoding="utf-8")
    counts = [len(upgrades.UNCHANGED), len(upgrades.ADAPTERS), len(upgrades.REFUSED)]
    numbers = re.search(r"\*\*(\d+) steps\*\*: (\d+) change nothing, (\d+) .*? and (\d+) ", text)
    assert numbers is not None
    assert [int(number) for number in numbers.groups()] == [sum(counts), *counts]
    from_7 = sum(version > 7 for _, version in rows())
    assert f"{from_7} of them" in text
