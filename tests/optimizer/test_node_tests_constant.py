"""ONNX's node tests with all inputs constant: a node is folded to what the test expects, or it stays.

Integers, truth values and strings are exact, and so are floats unless the report tells of rounding; then they may be
off by 16 units in the last place. A model of several nodes has the node test's own tolerance.
"""

from __future__ import annotations

import pytest

from tests.optimizer.node_models import (
    CHUNKS,
    ULPS,
    NodeModel,
    constant_outputs,
    node_models,
    passes_check,
    run,
    with_constants,
)
from tests.optimizer.optimized import optimized


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_folded_nodes_give_what_is_expected(chunk: int) -> None:
    failures = {}
    for case in node_models()[chunk::CHUNKS]:
        try:
            assert_folds_right(case)
        except Exception as error:
            failures[case.name] = f"{type(error).__name__}: {' '.join(str(error).split())}"
    assert not failures, "\n".join(f"{name}: {what}" for name, what in failures.items())


def assert_folds_right(case: NodeModel) -> None:
    """Where anything was folded, the outputs are the expected ones; ONNX Runtime runs what is left."""
    source = with_constants(case)
    after, report = optimized(source, check=False, again=False)
    if not report.changed:
        return
    assert passes_check(after) or not passes_check(source), "the result is invalid"
    folded = constant_outputs(after)
    if folded is not None:
        is_single = len(source.graph.node) == 1
        case.assert_right(folded, ulps=(ULPS if report.notes else 0) if is_single else None)
        return
    before = run(source, case.inputs)
    if before is None or not case.is_right(before):
        return
    outputs = run(after, case.inputs)
    assert outputs is not None, "ONNX Runtime does not run the result"
    case.assert_right(outputs)
