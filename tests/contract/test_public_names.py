"""The Python API stays small, documented and described."""

from __future__ import annotations

import re
from importlib.metadata import version

import pytest

import maxfold
from maxfold import optimizer
from tests.contract.repository import documentation

MOST_NAMES = 12


def test_the_api_is_small() -> None:
    assert len(optimizer.__all__) <= MOST_NAMES
    assert len(set(optimizer.__all__)) == len(optimizer.__all__)


@pytest.mark.parametrize("name", optimizer.__all__)
def test_name_is_documented(name: str) -> None:
    assert re.search(rf"`{name}\b", documentation()), f"{name} is in neither README.md nor docs/"


def test_the_package_has_the_names_of_the_api_and_its_version() -> None:
    assert sorted(maxfold.__all__) == sorted([*optimizer.__all__, "__version__"])
    assert set(maxfold.__all__) <= set(dir(maxfold))
    for name in optimizer.__all__:
        assert getattr(maxfold, name) is getattr(optimizer, name)


def test_a_name_that_is_none_is_refused() -> None:
    with pytest.raises(AttributeError, match="module 'maxfold' has no attribute 'optimise'"):
        maxfold.optimise  # type: ignore[attr-defined]  # noqa: B018


def test_the_version_is_that_of_the_distribution() -> None:
    assert maxfold.__version__ == version("maxfold")
