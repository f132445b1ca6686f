"""What tests of passes share that only remove or join nodes: the nodes that are left, and that they compute the same.

nodes(result)                                   one line a node, constants left out
assert_same_results(result, x=np.ones(3))       before and after, in ONNX Runtime, bit by bit
"""

from __future__ import annotations

from tests.passes.outcome import Outcome
from tests.run import assert_equal, in_onnxruntime
from tests.text import Array


def nodes(result: Outcome) -> str:
    """The text of the nodes alone."""
    return "\n".join(result.text.splitlines()[len(result.after.graph.initializer) :])


def assert_same_results(result: Outcome, **feeds: Array) -> None:
    """Both models give the same types, shapes and bits."""
    assert_equal(in_onnxruntime(result.after, feeds), in_onnxruntime(result.before, feeds), zeros_differ=True)
