"""Rows that fail at a node are found here, where users are told that the node is refused."""

from __future__ import annotations

import pytest

from maxfold.passes.conversion import walk


@pytest.fixture(autouse=True)
def faults_of_rows_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "FAULTS", ())
