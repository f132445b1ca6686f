"""docs/operators.md and docs/passes.md are what `maxfold ops --markdown` and `maxfold passes --markdown` write."""

from __future__ import annotations

from maxfold.cli import operators_markdown, passes_markdown
from maxfold.optimizer import catalogue
from maxfold.optimizer.operator_table import WITHOUT_FORM, operator_table
from maxfold.optimizer.pipeline import folded_operators
from tests.contract.repository import ROOT


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_the_page_of_operators_is_current() -> None:
    current = operators_markdown.to_markdown(operator_table(), WITHOUT_FORM)
    assert page("operators.md") == current, "run: maxfold ops --markdown > docs/operators.md"


def test_the_page_of_passes_is_current() -> None:
    current = passes_markdown.to_markdown(catalogue(), folded_operators())
    assert page("passes.md") == current, "run: maxfold passes --markdown > docs/passes.md"
