"""The table of signatures against the schemas of the installed onnx package."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import onnx
import pytest
from onnx import defs

from maxfold.model.dtypes import DTYPES
from maxfold.passes import signature_table
from maxfold.passes.signature import Attribute
from maxfold.passes.signature_table import HINT, of_schema, refusal, result_types, row, signature
from tests.passes import write_signatures

NEWEST = min(defs.onnx_opset_version(), signature_table._newest())
OWN = sorted({schema.name for schema in defs.get_all_schemas() if not schema.domain})
_FLOAT = next(dtype for dtype in DTYPES if dtype.name == "FLOAT")


def _refuse(*_: object) -> NoReturn:
    raise AssertionError("onnx is asked for a schema")


def test_the_table_says_of_every_version_what_the_schema_says() -> None:
    versions = [
        schema for schema in defs.get_all_schemas_with_history() if not schema.domain and schema.since_version <= NEWEST
    ]
    assert len(versions) > 600
    for schema in versions:
        lines = dict(signature_table._versions(schema.name))
        assert row(lines[schema.since_version]) == of_schema(schema), (schema.name, schema.since_version)
    known = {(schema.name, schema.since_version) for schema in versions}
    for name in {schema.name for schema in versions}:
        assert {(name, version) for version, _ in signature_table._versions(name) if version <= NEWEST} <= known


@pytest.mark.parametrize("opset", range(1, NEWEST + 1))
def test_the_version_in_force_is_that_of_onnx(opset: int) -> None:
    for name in OWN:
        try:
            schema = defs.get_schema(name, opset, "")
        except defs.SchemaError:
            assert signature(name, "", opset) is None
            continue
        found = signature(name, "", opset)
        assert found is not None
        hint = {HINT: Attribute(int(onnx.AttributeProto.INTS), False)} if opset <= 7 else {}
        expected = of_schema(schema)
        assert found.version == expected.version
        assert found.attributes == {**expected.attributes, **hint}


@pytest.mark.skipif(defs.onnx_opset_version() != signature_table._newest(), reason="another version of onnx wrote it")
def test_the_file_is_as_the_script_writes_it() -> None:
    path = Path(signature_table.__file__).with_name("signatures.txt")
    assert path.read_text(encoding="ascii") == write_signatures.text()


def test_onnx_is_not_asked_for_what_the_table_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(defs, "get_schema", _refuse)
    signature.cache_clear()
    assert refusal("Add", "", 14, [_FLOAT, _FLOAT], 17, []) is None
    assert "float64" not in result_types("Cast", 13)
    assert "tensor(string)" in result_types("Cast", 13)
    # Older than its first version.
    assert signature("LayerNormalization", "", 16) is None
    signature.cache_clear()


def test_onnx_is_asked_for_what_the_table_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, ...]] = []
    schema = defs.get_schema("Add", 14)

    def get_schema(*call: object) -> defs.OpSchema:
        asked.append(call)
        return schema

    monkeypatch.setattr(defs, "get_schema", get_schema)
    signature.cache_clear()
    beyond = signature_table._newest() + 1
    for call in (("Binarizer", "ai.onnx.ml", 8), ("Add", "", beyond), ("NewInThisSet", "", 17), ("not a name", "", 17)):
        assert signature(*call) == of_schema(schema)
    assert asked == [
        ("Binarizer", 8, "ai.onnx.ml"), ("Add", beyond, ""), ("NewInThisSet", 17, ""), ("not a name", 17, ""),
    ]  # fmt: skip
    signature.cache_clear()


def test_an_operator_that_nobody_knows_has_no_signature() -> None:
    for name in ("Nothing", "=0", "#", "newest", "\nAdd", "Add 13 | 2 T T"):
        assert signature(name, "", 17) is None


def test_a_version_that_was_replaced_is_no_version() -> None:
    found = signature("Upsample", "", 10)
    assert found is not None
    assert found.is_deprecated
    assert refusal("Upsample", "", 10, [_FLOAT, _FLOAT], 10, []) == "Upsample does not exist in opset 10"
