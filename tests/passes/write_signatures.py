"""Writes `passes/signatures.txt` anew: `python -m tests.passes.write_signatures > passes/signatures.txt`."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from onnx import AttributeProto, defs

_OPTIONS = defs.OpSchema.FormalParameterOption
_ENDLESS = 2**31 - 1
_HEAD = """\
# ONNX's own operators, a line a version, as the schemas of the onnx package have them. Written by
# tests/passes/write_signatures.py, read by passes/signature_table.py, compared by tests/passes/test_signature_table.py.
# Name and version | inputs | results | attributes | the type sets of type variables. Before the types of inputs and
# results stands how many a node may have. ? is optional, * repeats with one type, ~ with any; ! has to be there.
"""


def text() -> str:
    """The table of the installed onnx package."""
    newest = defs.onnx_opset_version()
    schemas = [schema for schema in defs.get_all_schemas_with_history() if not schema.domain]
    schemas = sorted(schemas, key=lambda schema: (schema.name, schema.since_version))
    sets: dict[tuple[str, ...], str] = {}
    rows = [_row(schema, sets) for schema in schemas if schema.since_version <= newest]
    lines = [f"=newest {newest}", *(f"={number} {' '.join(kinds)}" for kinds, number in sets.items()), *rows]
    return _HEAD + "\n".join(lines) + "\n"


def _row(schema: defs.OpSchema, sets: dict[tuple[str, ...], str]) -> str:
    inputs = _formals(schema.inputs, schema.min_input, schema.max_input)
    results = _formals(schema.outputs, schema.min_output, schema.max_output)
    attributes = [
        f"{name}:{_kind(formal)}{'!' if formal.required else ''}" for name, formal in sorted(schema.attributes.items())
    ]
    variables = []
    for row in schema.type_constraints:
        kinds = tuple(sorted(map(_short, row.allowed_type_strs)))
        variables.append(f"{row.type_param_str}={sets.setdefault(kinds, str(len(sets)))}")
    name = f"{schema.name} {schema.since_version}{' deprecated' if schema.deprecated else ''}"
    return " | ".join((name, inputs, results, " ".join(attributes), " ".join(variables))).rstrip()


def _formals(formals: Iterable[defs.OpSchema.FormalParameter], least: int, most: int) -> str:
    counts = str(least) if least == most else f"{least}-{'' if most == _ENDLESS else most}"
    return " ".join((counts, *map(_formal, formals)))


def _formal(formal: defs.OpSchema.FormalParameter) -> str:
    marks = {_OPTIONS.Single: "", _OPTIONS.Optional: "?", _OPTIONS.Variadic: "*" if formal.is_homogeneous else "~"}
    return _short(formal.type_str) + marks[formal.option]


def _short(kind: str) -> str:
    return kind[len("tensor(") : -1] if kind.startswith("tensor(") else kind


def _kind(formal: defs.OpSchema.Attribute) -> str:
    number = int(getattr(formal.type, "value", formal.type))
    return AttributeProto.AttributeType.Name(number).lower()


if __name__ == "__main__":
    sys.stdout.write(text())
