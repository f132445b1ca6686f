"""The checks that every kernel gets from its operator's ONNX schema."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from onnx import defs

from maxfold.model.dtypes import DType
from maxfold.passes.kernels.call import Attributes

# An optimization hint of version 1 that never changed a result; exporters went on writing it.
HINT = "consumed_inputs"


def refusal(
    operator: str, domain: str, last_version: int, dtypes: Sequence[DType | None], opset: int, attributes: Attributes
) -> str | None:
    """Why a node is none that its operator's schema allows, in a version up to `last_version`; None where it is."""
    _, newest_opset = defs.C.schema_version_map().get(domain, (0, 0))
    if opset > newest_opset:
        return f"opset {opset} is unknown: the installed onnx package knows opsets up to {newest_opset}"
    signature = _signature(operator, domain, opset)
    if signature is None:
        return f"{operator} does not exist in opset {opset}"
    if signature.version > last_version:
        return f"{operator} version {signature.version} is newer than the kernel knows"
    unknown = sorted(attributes.keys() - signature.attributes)
    if unknown:
        return f"attribute {', '.join(unknown)} is not one of the operator's in this opset"
    return _inputs_reason(f"{operator} version {signature.version}", signature, dtypes)


@dataclass(frozen=True, slots=True)
class _Input:
    """One formal input: `variable` is the type variable whose inputs agree, None where each goes alone."""

    variable: str | None
    types: frozenset[str]
    optional: bool


@dataclass(frozen=True, slots=True)
class _Signature:
    """Inputs of one version of an operator; the last one repeats where `most` exceeds their number."""

    version: int
    inputs: tuple[_Input, ...]
    least: int
    most: int
    attributes: frozenset[str]


@functools.cache
def _signature(operator: str, domain: str, opset: int) -> _Signature | None:
    try:
        schema = defs.get_schema(operator, opset, domain)
    except defs.SchemaError:
        return None
    if schema.deprecated:
        return None
    # `FormalParameter.types` would say the same, but fails in onnx 1.20.
    allowed = {row.type_param_str: frozenset(row.allowed_type_strs) for row in schema.type_constraints}
    inputs = tuple(
        _Input(
            variable=formal.type_str if formal.is_homogeneous else None,
            types=allowed.get(formal.type_str, frozenset([formal.type_str])),
            optional=formal.option == defs.OpSchema.FormalParameterOption.Optional,
        )
        for formal in schema.inputs
    )
    names = frozenset(schema.attributes)
    # Hints stayed in files that were upgraded from version 1 to 6, where they are none of the operator's any more.
    known = names | {HINT} if opset < 8 else names
    return _Signature(schema.since_version, inputs, schema.min_input, schema.max_input, known)


def _inputs_reason(operator: str, signature: _Signature, dtypes: Sequence[DType | None]) -> str | None:
    if not signature.least <= len(dtypes) <= signature.most:
        return f"{operator} does not take {len(dtypes)} inputs"
    bound: dict[str, tuple[int, DType]] = {}
    for position, dtype in enumerate(dtypes):
        formal = signature.inputs[min(position, len(signature.inputs) - 1)]
        if dtype is None:
            if formal.optional:
                continue
            return f"{operator} needs input {position}, which is left out"
        if f"tensor({dtype})" not in formal.types:
            return f"{operator} does not take {dtype} as input {position}"
        if formal.variable is None:
            continue
        first, expected = bound.setdefault(formal.variable, (position, dtype))
        if dtype != expected:
            return f"{operator} takes one type, but input {first} is {expected} and input {position} {dtype}"
    return None
