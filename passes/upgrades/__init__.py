"""The table of steps between versions of ONNX's own operators: what each does to a node.

A step is missing where an operator is newer than this table, and refused like those that `REFUSED` names.
"""

from collections.abc import Mapping
from types import MappingProxyType

from maxfold.passes.upgrades import (
    broadcasting,
    customary,
    first_versions,
    guards,
    normalization,
    operands,
    pooling,
    sampling,
    softmax,
    unchanged,
)
from maxfold.passes.upgrades.draft import Adapter, Draft, Facts, Refusal, Value

NEWEST_OPSET = 28
"""The operator set version up to which each step is in the table."""

REFUSED: Mapping[tuple[str, int], str] = MappingProxyType(
    {
        ("GRU", 7): "the formula was written with other recurrent weights before",
        ("LSTM", 7): "the formula was written with other recurrent weights before",
        ("RNN", 7): "the formula was written with other recurrent weights before",
        ("Scan", 9): "batches and sequence lengths have gone",
    }
)
"""Steps that no node is taken through, and why."""

ADAPTERS: Mapping[tuple[str, int], Adapter] = MappingProxyType(
    {
        key: adapter
        for family in (
            broadcasting, first_versions, guards, normalization, operands, pooling, sampling, softmax,
        )
        for key, adapter in family.ADAPTERS.items()
    }
)  # fmt: skip
"""Steps that rewrite a node, or look whether they need not."""

CUSTOMARY: Mapping[tuple[str, int], Adapter] = customary.ADAPTERS
"""Steps that conversion takes in place of those above, where the older text was not clear and runtimes agree."""

UNCHANGED: frozenset[tuple[str, int]] = frozenset(
    (operator, version)
    for group in (unchanged.MORE_TYPES, unchanged.CLEARER_TEXT, unchanged.MORE_OPTIONS)
    for operator, versions in group.items()
    for version in versions
)
"""Steps that change nothing."""

__all__ = [
    "ADAPTERS",
    "CUSTOMARY",
    "NEWEST_OPSET",
    "REFUSED",
    "UNCHANGED",
    "Adapter",
    "Draft",
    "Facts",
    "Refusal",
    "Value",
]
