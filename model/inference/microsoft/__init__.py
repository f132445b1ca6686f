"""What is known of the operators of ONNX Runtime's own domains, one row an operator.

Few models have one: the table is imported for the first node that may be in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maxfold.model.inference.microsoft.row import Row

__all__ = ["row_of"]

_DOMAINS = frozenset({"com.microsoft", "com.microsoft.nchwc"})
# Operators that ONNX Runtime adds to ONNX's own domain.
_IN_ONNX = frozenset({"SimplifiedLayerNormalization"})


def row_of(domain: str, operator: str) -> Row | None:
    """The row of an operator, None where it has none; "" is ONNX's own domain."""
    if domain not in _DOMAINS and (domain or operator not in _IN_ONNX):
        return None
    from maxfold.model.inference.microsoft.table import TABLE

    return TABLE.get((domain, operator))
