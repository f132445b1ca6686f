"""ONNX's own node tests as calls of kernels: `cases(operator)` lists them, `assert_case` runs one."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case import node

from maxfold.model.dtypes import from_numpy
from maxfold.model.onnx_reader import read_onnx
from maxfold.passes.kernels import Call, Kernel, check, find
from maxfold.passes.kernels.call import operand_of
from tests.passes.kernels.reference import Array

ULPS = 16
"""The expected values are float32 formulas of several steps; a kernel that rounds once is this near them."""


@dataclass(frozen=True)
class Case:
    """A node test whose model is one node: its kernel, the call, and the outputs that the test expects."""

    name: str
    kernel: Kernel
    call: Call
    expected: tuple[Array, ...]


def cases(operator: str) -> list[Case]:
    """The node tests of an operator of ai.onnx that has a kernel, in the order of their names; at least one."""
    found = [_case(test) for test in _tests().get(operator, ())]
    assert found, f"no node test of {operator}"
    return found


def assert_case(case: Case, ulps: int = ULPS) -> None:
    """The kernel takes the call, gives the types that it announced, and the expected values.

    Exact unless the kernel is marked as rounded; then `ulps` units in the last place of the type, or of float32.
    """
    kernel, call = case.kernel, case.call
    dtypes = [None if operand is None else operand.dtype for operand in call.inputs]
    assert check(kernel, dtypes, call.opset, call.attributes) is None
    before = [None if operand is None else operand.array.tobytes() for operand in call.inputs]
    results, values = kernel.results(call), kernel.evaluate(call)
    assert [None if operand is None else operand.array.tobytes() for operand in call.inputs] == before
    assert len(results) == len(values) >= len(case.expected)
    for result, value in zip(results, values, strict=True):
        assert value.flags.c_contiguous
        assert (result.dtype.numpy, result.shape) == (value.dtype, value.shape)
    for value, expected in zip(values, case.expected, strict=False):
        assert (value.dtype, value.shape) == (expected.dtype, expected.shape)
        _assert_near(value, expected, ulps if kernel.is_rounded else 0)


def _assert_near(value: Array, expected: Array, ulps: int) -> None:
    dtype = from_numpy(value.dtype)
    assert dtype is not None
    with np.errstate(all="ignore"):
        if dtype.kind != "float":
            np.testing.assert_array_equal(value, expected)
            return
        # Of float32 at most: the tests compute doubles from float32 constants.
        digits = int(ml_dtypes.finfo(value.dtype).nmant)  # type: ignore[no-untyped-call]
        spacing = 2.0 ** -min(digits, 23)
        wide, wide_expected = value.astype(np.float64), expected.astype(np.float64)
        finite = np.abs(wide_expected[np.isfinite(wide_expected)])
        largest = float(finite.max(initial=0.0))
        np.testing.assert_allclose(wide, wide_expected, rtol=ulps * spacing, atol=ulps * spacing * largest)


@cache
def _tests() -> dict[str, Sequence[Any]]:
    """The tests whose model is one node and whose values are tensors, by operator."""
    found: dict[str, list[Any]] = {}
    for test in sorted(_collected(), key=lambda test: str(test.name)):
        if (
            test.model is None
            or not test.data_sets
            or len(test.model.graph.node) != 1
            or test.model.graph.node[0].domain
        ):
            continue
        inputs, outputs = test.data_sets[0]
        if all(isinstance(item, (np.ndarray, np.generic, onnx.TensorProto)) for item in (*inputs, *outputs)):
            found.setdefault(test.model.graph.node[0].op_type, []).append(test)
    return dict(found)


def _collected() -> list[Any]:
    """All tests but those of pooling, which take most of the time and have no kernels.

    Nothing stays in the place of their modules: who collects all tests later gets them.
    """
    names = [f"{node.__name__}.{name}" for name in ("averagepool", "lppool", "maxpool")]
    left_out = [name for name in names if name not in sys.modules]
    sys.modules.update((name, ModuleType(name)) for name in left_out)
    try:
        with warnings.catch_warnings():
            # The tests compute infinities and NaN on purpose.
            warnings.simplefilter("ignore")
            return list(node.collect_testcases(None))
    finally:
        for name in left_out:
            del sys.modules[name]


def _array(value: Any) -> Array:
    return np.asarray(numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value)


def _case(test: Any) -> Case:
    model = read_onnx(test.model)
    (single,) = model.nodes()
    (opset,) = (item.version for item in test.model.opset_import if not item.domain)
    kernel = find("", single.op, opset)
    assert kernel is not None, f"no kernel for {single.op} of operator set {opset}"
    inputs, outputs = test.data_sets[0]
    by_name = dict(zip((item.name for item in test.model.graph.input), map(_array, inputs), strict=True))
    operands = tuple(operand_of(by_name[tensor.name]) if tensor.name else None for tensor in single.inputs)
    call = Call(operands, single.attrs, opset, len(single.outputs))
    expected = dict(zip((item.name for item in test.model.graph.output), map(_array, outputs), strict=True))
    return Case(str(test.name), kernel, call, tuple(expected[item.name] for item in single.outputs if item.name))
