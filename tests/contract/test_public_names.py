"""The Python API stays small, documented and described."""

from __future__ import annotations

import re

import pytest

from maxfold import optimizer
from tests.contract.repository import documentation

MOST_NAMES = 12


def test_the_api_is_small() -> None:
    assert len(optimizer.__all__) <= MOST_NAMES
    assert len(set(optimizer.__all__)) == len(optimizer.__all__)


@pytest.mark.parametrize("name", optimizer.__all__)
def test_name_is_documented(name: str) -> None:
    assert re.search(rf"`{name}\b", documentation()), f"{name} is in neither README.md nor docs/"
