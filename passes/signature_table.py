"""The signatures of ONNX's operators, by the version that is in force in an operator set.

Those of ONNX's own operators stand in `signatures.txt`, since onnx registers all of its schemas, with documentation and
functions, when it is first asked for one. It is asked for other domains, for operators that the table does not have,
and in operator sets newer than the table. Kernels and conversion rows see only nodes that pass.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from onnx import AttributeProto, defs

from maxfold.model.dtypes import DType
from maxfold.passes.signature import Attribute, Formal, Signature

# An optimization hint of version 1 that never changed a result; exporters went on writing it.
HINT = "consumed_inputs"
# In files that were upgraded the hint stayed up to this operator set.
_LAST_HINT_OPSET = 7
# What schemas say where there is no highest number.
_ENDLESS = 2**31 - 1
_OPTIONAL, _REPEATED, _VARIED = "?", "*", "~"
_NO_TENSOR = ("seq(", "optional(", "map(", "sparse_tensor(")


@functools.cache
def signature(operator: str, domain: str, opset: int) -> Signature | None:
    """The version of an operator in force in an operator set, None where it has none."""
    lines = _versions(operator) if not domain and opset <= _newest() else []
    if not lines:
        return _asked(operator, domain, opset)
    in_force = [line for version, line in lines if version <= opset]
    return _with_hint(row(in_force[-1]), opset) if in_force else None


def first_version(operator: str) -> int:
    """The operator set that introduced one of ONNX's own operators."""
    versions = _versions(operator)
    return versions[0][0] if versions else 1


def had_hint(operator: str) -> bool:
    """Whether the first version of one of ONNX's own operators had the hint."""
    versions = _versions(operator)
    return bool(versions) and HINT in row(versions[0][1]).attributes


def of_schema(schema: defs.OpSchema) -> Signature:
    """What a schema of onnx says."""
    # `FormalParameter.types` would say the same, but fails in onnx 1.20.
    allowed = {row.type_param_str: frozenset(row.allowed_type_strs) for row in schema.type_constraints}
    return Signature(
        schema.name,
        schema.since_version,
        tuple(_formal_of(formal, allowed) for formal in schema.inputs),
        tuple(_formal_of(formal, allowed) for formal in schema.outputs),
        (schema.min_input, schema.max_input),
        (schema.min_output, schema.max_output),
        {name: Attribute(_number(formal.type), formal.required) for name, formal in schema.attributes.items()},
        schema.deprecated,
    )


def result_types(operator: str, opset: int) -> frozenset[str]:
    """The types that the first result of one of ONNX's own operators may have, as schemas write them."""
    found = signature(operator, "", opset)
    return frozenset() if found is None or not found.results else found.results[0].types


def refusal(
    operator: str,
    domain: str,
    last_version: int,
    dtypes: Sequence[DType | None],
    opset: int,
    attributes: Iterable[str],
) -> str | None:
    """Why constants of these types (None: left out) are none that the operator's schema allows, in a version up to
    `last_version`; None where they are."""
    _, newest_opset = defs.C.schema_version_map().get(domain, (0, 0))
    if opset > newest_opset:
        return f"opset {opset} is unknown: the installed onnx package knows opsets up to {newest_opset}"
    found = signature(operator, domain, opset)
    if found is None or found.is_deprecated:
        return f"{operator} does not exist in opset {opset}"
    if found.version > last_version:
        return f"{found.name} is newer than the kernel knows"
    unknown = found.unknown(attributes)
    if unknown:
        return f"attribute {', '.join(unknown)} is not one of the operator's in this opset"
    return found.why_not_inputs([dtype is not None for dtype in dtypes], dtypes)


def _asked(operator: str, domain: str, opset: int) -> Signature | None:
    try:
        schema = defs.get_schema(operator, opset, domain)
    except defs.SchemaError:
        return None
    return _with_hint(of_schema(schema), opset)


def _with_hint(found: Signature, opset: int) -> Signature:
    if opset > _LAST_HINT_OPSET:
        return found
    hint = {HINT: Attribute(int(AttributeProto.INTS), False)}
    return dataclasses.replace(found, attributes={**found.attributes, **hint})


def _formal_of(formal: Any, allowed: Mapping[str, frozenset[str]]) -> Formal:
    return Formal(
        variable=formal.type_str if formal.is_homogeneous else None,
        types=allowed.get(formal.type_str, frozenset([formal.type_str])),
        is_optional=formal.option == defs.OpSchema.FormalParameterOption.Optional,
    )


def _number(kind: Any) -> int:
    """A kind as a number: onnx's schemas have an enumeration of their own, with the numbers of AttributeProto."""
    return int(getattr(kind, "value", kind))


@functools.cache
def _text() -> str:
    return Path(__file__).with_name("signatures.txt").read_text(encoding="ascii")


@functools.cache
def _newest() -> int:
    """The newest operator set that the table knows."""
    (_, newest) = _lines("=newest")[0].split()
    return int(newest)


def _lines(name: str) -> list[str]:
    """The lines that begin with a name; those of an operator stand together."""
    text, found = _text(), []
    start = text.find(f"\n{name} ") + 1
    while start and text.startswith(f"{name} ", start):
        end = text.index("\n", start)
        found.append(text[start:end])
        start = end + 1
    return found


def _versions(operator: str) -> list[tuple[int, str]]:
    """All versions of an operator in the table with their lines, oldest first."""
    lines = _lines(operator) if operator.isidentifier() else []
    return [(int(line.split(maxsplit=2)[1]), line) for line in lines]


def row(line: str) -> Signature:
    """What a line of the table says."""
    head, inputs, results, attributes, variables = (part.split() for part in line.split("|"))
    allowed = {name: _types(number) for name, _, number in (item.partition("=") for item in variables)}
    return Signature(
        head[0],
        int(head[1]),
        tuple(_formal(item, allowed) for item in inputs[1:]),
        tuple(_formal(item, allowed) for item in results[1:]),
        _counts(inputs[0]),
        _counts(results[0]),
        dict(_attribute(item) for item in attributes),
        len(head) > 2,
    )


def _counts(written: str) -> tuple[int, int]:
    least, dash, most = written.partition("-")
    return int(least), int(most or _ENDLESS) if dash else int(least)


def _formal(written: str, allowed: Mapping[str, frozenset[str]]) -> Formal:
    name = written.rstrip(_OPTIONAL + _REPEATED + _VARIED)
    kind = name if name in allowed else _whole(name)
    mark = written[len(name) :]
    return Formal(None if mark == _VARIED else kind, allowed.get(name, frozenset([kind])), mark == _OPTIONAL)


def _attribute(written: str) -> tuple[str, Attribute]:
    name, _, kind = written.partition(":")
    return name, Attribute(AttributeProto.AttributeType.Value(kind.rstrip("!").upper()), kind.endswith("!"))


@functools.cache
def _types(number: str) -> frozenset[str]:
    (line,) = _lines(f"={number}")
    return frozenset(map(_whole, line.split()[1:]))


@functools.cache
def _whole(kind: str) -> str:
    return kind if kind.startswith(_NO_TENSOR) else f"tensor({kind})"
