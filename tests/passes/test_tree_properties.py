"""Random trees of Max and Add: what a pass makes of them gives the same values, by the operators' documents alone.

`outcome` checks the rest: invariants, idempotence, interface, bytes.
"""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.passes.outcome import outcome
from tests.passes.trees import Case, add_models, legacy_add_models, max_models, mixed_models
from tests.run import assert_equal, by_specification
from tests.text import lines

PASSES = ["fold-constants", "fuse-max", "fuse-add", "share-constants", "remove-dead-nodes"]


def assert_same_values(case: Case, name: str, *, zeros_differ: bool, math: str = "exact") -> None:
    """Runs one pass on a model and compares the results before and after."""
    before = outcome("sort-nodes", case.model, check=False).after
    result = outcome(name, before, check=False, math=math)
    expected = by_specification(before, case.feeds)
    if not result.changes:
        return
    try:
        assert_equal(by_specification(result.after, case.feeds), expected, zeros_differ=zeros_differ)
    except AssertionError as error:
        raise AssertionError(f"{lines(before)}\n-> {name} ->\n{lines(result.after)}\n{error}") from error


@pytest.mark.parametrize("name", PASSES)
@given(case=max_models())
def test_max(case: Case, name: str) -> None:
    assert_same_values(case, name, zeros_differ=False)


@given(case=max_models(broadcasts=False))
def test_max_before_broadcasting(case: Case) -> None:
    assert_same_values(case, "fuse-max", zeros_differ=False)


@pytest.mark.parametrize("name", PASSES)
@given(case=add_models())
def test_add(case: Case, name: str) -> None:
    assert_same_values(case, name, zeros_differ=True)


@pytest.mark.parametrize("name", PASSES)
@given(case=mixed_models())
def test_mixed(case: Case, name: str) -> None:
    assert_same_values(case, name, zeros_differ=False)


@pytest.mark.parametrize("name", ["fold-constants", "fuse-add"])
@given(case=legacy_add_models())
def test_add_before_operator_set_7(case: Case, name: str) -> None:
    assert_same_values(case, name, zeros_differ=True)


@pytest.mark.parametrize("name", ["fold-constants", "fuse-max", "fuse-add"])
@given(case=mixed_models())
def test_graphs_out_of_order(case: Case, name: str) -> None:
    """A pass that meets an unsorted graph, since sort-nodes is skipped, still does what is right."""
    expected = by_specification(outcome("sort-nodes", case.model, check=False).after, case.feeds)
    after = outcome(name, case.model, check=False).after
    after = outcome("sort-nodes", after, check=False).after
    assert_equal(by_specification(after, case.feeds), expected, zeros_differ=False)


@given(case=add_models(integers_only=True))
def test_relaxed_sums_of_integers_are_exact(case: Case) -> None:
    assert_same_values(case, "fuse-add", zeros_differ=True, math="relaxed")
