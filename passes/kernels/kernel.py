"""What a folding kernel is, and the checks that every kernel gets from its operator's ONNX schema."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from onnx import defs

from maxfold.model.dtypes import DType

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Shape: TypeAlias = tuple[int, ...]
Attributes: TypeAlias = Mapping[str, object]


class KernelError(ValueError):
    """A node that a kernel declines to evaluate; the message is the reason, in one line."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """How nodes of one operator are evaluated when all their inputs are constant.

    `operator` and `domain` ("" is ai.onnx) name it, `since_version` is the first opset that the kernel
    covers and `last_version` the newest version of the operator that it knows: the schema's, not an
    opset. `numeric_policy` says in one sentence how it rounds, wraps and treats NaN.

    `output_shape(shapes, attributes, opset)` allocates nothing. `evaluate(arrays, attributes, opset)`
    gives a new C-contiguous array of that shape and of the node's type, and leaves its inputs alone.
    Both expect inputs that `check` found right, and raise KernelError. `input_check(dtypes)` says what is
    wrong with the inputs of an operator that has no ONNX schema.
    """

    operator: str
    domain: str
    since_version: int
    last_version: int
    numeric_policy: str
    output_shape: Callable[[Sequence[Shape], Attributes, int], Shape]
    evaluate: Callable[[Sequence[Array], Attributes, int], Array]
    input_check: Callable[[Sequence[DType | None]], str | None] | None = None


def by_operator(kernels: Iterable[Kernel]) -> dict[tuple[str, str], list[Kernel]]:
    """Kernels by domain and operator; of one operator, those that begin at later opsets come first."""
    table: dict[tuple[str, str], list[Kernel]] = {}
    for kernel in sorted(kernels, key=lambda kernel: kernel.since_version, reverse=True):
        table.setdefault((kernel.domain, kernel.operator), []).append(kernel)
    return table


def check(kernel: Kernel, dtypes: Sequence[DType | None], opset: int) -> str | None:
    """Why a node with inputs of `dtypes` (None: left out) is not the kernel's to evaluate, or None.

    Asks the operator's schema in force at `opset` for the number of inputs, their types, and the equality
    of types that are bound to one type variable.
    """
    if kernel.input_check is not None:
        return kernel.input_check(dtypes)
    newest_opset = _newest_opset(kernel.domain)
    if opset > newest_opset:
        return f"opset {opset} is unknown: the installed onnx package knows opsets up to {newest_opset}"
    signature = _signature(kernel.operator, kernel.domain, opset)
    if signature is None:
        return f"{kernel.operator} does not exist in opset {opset}"
    if signature.version > kernel.last_version:
        return f"{kernel.operator} version {signature.version} is newer than the kernel knows"
    return _inputs_reason(f"{kernel.operator} version {signature.version}", signature, dtypes)


def integer(attributes: Attributes, name: str, default: int | None) -> int | None:
    """The integer attribute `name`, or `default` where the node has none; KernelError for another kind."""
    if name not in attributes:
        return default
    value = attributes[name]
    if not isinstance(value, int):
        raise KernelError(f"attribute {name} is not a known integer")
    return value


def require_known(attributes: Attributes, known: Collection[str]) -> None:
    """Raise KernelError for an attribute that is not in `known`: what it would change is not known either."""
    unknown = sorted(attributes.keys() - set(known))
    if unknown:
        raise KernelError(f"attribute {', '.join(unknown)} is not one of the operator's in this opset")


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


def _newest_opset(domain: str) -> int:
    _, newest = defs.C.schema_version_map().get(domain, (0, 0))
    return newest


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
    return _Signature(schema.since_version, inputs, schema.min_input, schema.max_input)


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
