"""docs/operators.md is what `maxfold ops --markdown` writes."""

from __future__ import annotations

from maxfold.cli.operators_markdown import to_markdown
from maxfold.optimizer.operator_table import operator_table
from tests.contract.repository import ROOT


def test_the_page_is_current() -> None:
    page = (ROOT / "docs" / "operators.md").read_text(encoding="utf-8")
    assert page == to_markdown(operator_table()), "run: maxfold ops --markdown > docs/operators.md"
