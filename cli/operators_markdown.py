"""The conversion table as a page of documentation: docs/operators.md is what this writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maxfold.optimizer.operator_table import OperatorPair

_INTRODUCTION = """\
# Operators

What `maxfold convert` converts. An operator that is not listed, or that has an attribute or input beyond the limits, is
refused by name. This page is written by `maxfold ops --markdown > docs/operators.md`.

- An arrow shows the direction: → is from ONNX to OpenVINO IR, ← back, ↔ both.
- Versions are operator sets in which the operator was introduced or changed: 7+ is 7 and all later ones known.
- Form: a *pair* is node by node, with the same attributes under one name or two; a *lowering* is written for its
  direction, and may give other operators beside the one that is named.
- Exactness compares the operator alone in ONNX Runtime and in OpenVINO on the CPU, without their optimizations.
"""

_WITHOUT_FORM = """
## Operations of OpenVINO that ONNX has no form for
"""


def to_markdown(pairs: Sequence[OperatorPair], without_form: Mapping[str, str]) -> str:
    """The page, with one table, and the operations that ONNX has no form for, with the reasons."""
    heads = ("ONNX", "versions", "", "OpenVINO", "versions", "form", "exactness", "limits")
    rows = [table_row(*heads), table_row(*["---"] * 8)]
    rows += map(_pair, pairs)
    refused = [f"- `{operation}`: {reason}." for operation, reason in sorted(without_form.items())]
    parts = [f"{_INTRODUCTION}\n{len(pairs)} pairs:\n", *rows, _WITHOUT_FORM, *refused]
    return "\n".join(parts) + "\n"


def _pair(pair: OperatorPair) -> str:
    return table_row(
        f"`{pair.onnx}`", versions_text(pair.onnx_versions), arrow_text(pair), f"`{pair.openvino}`",
        versions_text(pair.openvino_versions), pair.form, pair.tolerance, pair.limits,
    )  # fmt: skip


def table_row(*cells: str) -> str:
    """One row of a table."""
    return f"| {' | '.join(_escaped(cells))} |"


def _escaped(cells: Iterable[str]) -> Iterable[str]:
    return (cell.replace("|", "\\|").replace("\n", " ") for cell in cells)


def versions_text(versions: tuple[int, int | None]) -> str:
    """ "7+", "7", "7-12"."""
    first, last = versions
    return f"{first}+" if last is None else str(first) if first == last else f"{first}-{last}"


def arrow_text(pair: OperatorPair) -> str:
    """The directions that exist."""
    return "\u2194" if pair.to_openvino and pair.to_onnx else "\u2192" if pair.to_openvino else "\u2190"
