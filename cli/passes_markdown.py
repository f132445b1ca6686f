"""The catalogue of passes as a page of documentation: docs/passes.md is what this writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from maxfold.cli.operators_markdown import table_row

if TYPE_CHECKING:
    from maxfold.optimizer.pipeline import FoldingInfo, PassInfo

_INTRODUCTION = """\
# Passes

What `maxfold optimize` does, in the order in which it does it; `--passes` and `--skip` choose. Passes that are nothing
but rules for single nodes work on a model together, node by node, and all passes run until none finds anything more.
This page is written by `maxfold passes --markdown > docs/passes.md`.

An *exact* rewrite keeps every bit of every result on every input. Those of *relaxed* passes may round otherwise, and
are done only with `--math relaxed`. Why a rewrite was not done `--explain` tells.
"""

_FOLDING = """
## What is folded

`fold-constants` evaluates these operators where all inputs are constant, each node by itself, rounded to the node's
type. The operator's document is the authority, in all its versions. *Last place* marks results that may differ in their
last place from what a runtime computes, since sums and transcendental functions are not the same everywhere; the report
notes each of them.
"""


def to_markdown(passes: Sequence[PassInfo], folded: Sequence[FoldingInfo]) -> str:
    """The page, with two tables."""
    rows = [table_row("pass", "math", "what it does", "options"), table_row(*["---"] * 4)]
    rows += [
        table_row(f"`{entry.name}`", entry.mode, entry.summary, ", ".join(f"`{name}`" for name in entry.options))
        for entry in passes
    ]
    folding = [table_row("operator", "domain", "last place", "how"), table_row(*["---"] * 4)]
    folding += [
        table_row(
            f"`{entry.operator}`", entry.domain or "ai.onnx", "yes" if entry.is_rounded else "", entry.numeric_policy
        )
        for entry in folded
    ]
    return f"{_INTRODUCTION}\n" + "\n".join(rows) + "\n" + _FOLDING + "\n" + "\n".join(folding) + "\n"
