"""The table of kernels, and the checks that each gets from its operator's schema."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from onnx import defs

from maxfold.model.dtypes import DTYPES, DType
from maxfold.passes.kernels import KERNELS, Call, Kernel, KernelError, check, find
from maxfold.passes.kernels.add import ADD
from maxfold.passes.kernels.call import axis_of
from maxfold.passes.kernels.kernel import by_operator
from maxfold.passes.kernels.max import MAX
from tests.passes.kernels.strategies import ADD_TYPES, BY_NAME, MAX_TYPES

FLOAT, DOUBLE, INT64 = BY_NAME["FLOAT"], BY_NAME["DOUBLE"], BY_NAME["INT64"]


def kernel_of(operator: str, domain: str = "") -> Kernel:
    """A kernel for the schema checks alone."""
    return Kernel(operator, domain, 1, 1000, "", lambda call: (), lambda call: ())


WITH_SCHEMA = [kernel for kernel in KERNELS if kernel.input_check is None]


@pytest.mark.parametrize("kernel", WITH_SCHEMA, ids=lambda kernel: kernel.operator)
def test_last_version_is_the_newest_there_is(kernel: Kernel) -> None:
    """A new version in a new onnx package is read by a person before the kernel's bound is raised."""
    assert defs.get_schema(kernel.operator, kernel.domain).since_version == kernel.last_version


def test_find() -> None:
    for opset in (1, 6, 7, 13, 22):
        assert find("", "Add", opset) is ADD
        assert find("ai.onnx", "Max", opset) is MAX
    assert find("", "Add", 0) is None
    assert find("", "add", 13) is None
    assert find("com.example", "Add", 13) is None
    assert find("openvino.opset1", "Add", 13) is None


def test_kernel_of_the_latest_opset_is_found_first() -> None:
    old, middle, new = (replace(ADD, since_version=version) for version in (1, 7, 13))
    assert by_operator([middle, MAX, new, old]) == {("", "Add"): [new, middle, old], ("", "Max"): [MAX]}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    ("kernel", "opset", "names"),
    [(ADD, opset, names) for opset, names in ADD_TYPES.items()]
    + [(MAX, opset, names) for opset, names in MAX_TYPES.items()]
    + [(ADD, 12, ADD_TYPES[7]), (MAX, 11, MAX_TYPES[8]), (MAX, 22, MAX_TYPES[13])],
)
def test_types_of_each_version(kernel: Kernel, opset: int, names: tuple[str, ...], dtype: DType) -> None:
    reason = check(kernel, [dtype, dtype], opset)
    if dtype.name in names:
        assert reason is None
    else:
        version = defs.get_schema(kernel.operator, opset).since_version
        assert reason == f"{kernel.operator} version {version} does not take {dtype} as input 0"


@pytest.mark.parametrize(
    ("kernel", "dtypes", "opset", "reason"),
    [
        (ADD, [FLOAT], 14, "Add version 14 does not take 1 inputs"),
        (ADD, [FLOAT] * 3, 14, "Add version 14 does not take 3 inputs"),
        (MAX, [], 13, "Max version 13 does not take 0 inputs"),
        (MAX, [FLOAT], 1, None),
        (MAX, [FLOAT] * 100, 8, None),
        (
            MAX,
            [FLOAT, FLOAT, DOUBLE],
            8,
            "Max version 8 takes one type, but input 0 is float and input 2 double",
        ),
        (ADD, [FLOAT, INT64], 7, "Add version 7 takes one type, but input 0 is float and input 1 int64"),
        (ADD, [FLOAT, INT64], 1, "Add version 1 does not take int64 as input 1"),
        (ADD, [None, FLOAT], 7, "Add version 7 needs input 0, which is left out"),
        (ADD, [FLOAT, FLOAT], 0, "Add does not exist in opset 0"),
        (kernel_of("Clip"), [FLOAT, None, FLOAT], 13, None),
        (kernel_of("Where"), [BY_NAME["BOOL"], FLOAT, FLOAT], 16, None),
        (
            kernel_of("Where"),
            [BY_NAME["BOOL"], FLOAT, DOUBLE],
            16,
            "Where version 16 takes one type, but input 1 is float and input 2 double",
        ),
        (kernel_of("Reshape"), [FLOAT, INT64], 13, None),
        (kernel_of("Reshape"), [FLOAT, FLOAT], 13, "Reshape version 13 does not take float as input 1"),
        (kernel_of("If"), [BY_NAME["BOOL"]], 13, None),
        (kernel_of("Loop"), [INT64, BY_NAME["BOOL"], FLOAT, DOUBLE], 13, None),
        (kernel_of("Upsample"), [FLOAT, FLOAT], 13, "Upsample does not exist in opset 13"),
        (kernel_of("NoSuchOperator"), [FLOAT], 13, "NoSuchOperator does not exist in opset 13"),
        (kernel_of("Normalizer", "ai.onnx.ml"), [FLOAT], 1, None),
    ],
)
def test_inputs(kernel: Kernel, dtypes: list[DType | None], opset: int, reason: str | None) -> None:
    assert check(kernel, dtypes, opset) == reason


def test_opset_newer_than_the_onnx_package() -> None:
    newest = defs.onnx_opset_version()
    assert check(ADD, [FLOAT, FLOAT], newest) is None
    assert check(ADD, [FLOAT, FLOAT], newest + 1) == (
        f"opset {newest + 1} is unknown: the installed onnx package knows opsets up to {newest}"
    )
    assert "unknown" in str(check(kernel_of("Add", "com.example"), [FLOAT], 1))


def test_operator_version_newer_than_the_kernel() -> None:
    older = replace(ADD, last_version=13)
    assert check(older, [FLOAT, FLOAT], 13) is None
    assert check(older, [FLOAT, FLOAT], 14) == "Add version 14 is newer than the kernel knows"


@pytest.mark.parametrize(
    ("kernel", "opset", "attributes", "reason"),
    [
        (ADD, 6, {"alpha": 1}, "attribute alpha is not one of the operator's in this opset"),
        (ADD, 13, {"broadcast": 1, "axis": 0}, "attribute axis, broadcast is not one of the operator's in this opset"),
        (ADD, 6, {"broadcast": 1, "axis": 0, "consumed_inputs": [0]}, None),
        (MAX, 8, {"consumed_inputs": [0]}, "attribute consumed_inputs is not one of the operator's in this opset"),
        (MAX, 6, {"consumed_inputs": [0]}, None),
    ],
)
def test_attributes(kernel: Kernel, opset: int, attributes: dict[str, object], reason: str | None) -> None:
    assert check(kernel, [FLOAT, FLOAT], opset, attributes) == reason


@pytest.mark.parametrize("value", [1.0, "1", b"1", [1], None, np.float32(1), object()])
def test_integer_attribute_of_another_kind(value: object) -> None:
    with pytest.raises(KernelError, match=r"^attribute axis is not a known integer$"):
        Call((), {"axis": value}, 13).integer("axis", 0)


def test_attributes_of_a_call() -> None:
    call = Call((), {"axis": -1, "alpha": 2, "mode": "linear", "axes": [1, 2]}, 13)
    assert (call.integer("axis", 3), call.integer("other", 3)) == (-1, 3)
    assert (call.number("alpha"), call.number("beta", 1.5)) == (2.0, 1.5)
    assert (call.text("mode", ""), call.integers("axes"), call.axes(1)) == ("linear", [1, 2], [1, 2])
    for read in (call.integer, call.number, call.integers):
        with pytest.raises(KernelError, match=r"^attribute absent is not a known"):
            read("absent")
    with pytest.raises(KernelError, match=r"^input 0 is left out$"):
        call.array(0)


@pytest.mark.parametrize(("axis", "rank", "expected"), [(0, 2, 0), (-1, 2, 1), (-2, 2, 0), (2, 2, None), (0, 0, None)])
def test_axis(axis: int, rank: int, expected: int | None) -> None:
    if expected is not None:
        assert axis_of(axis, rank) == expected
        return
    with pytest.raises(KernelError, match=r"^axis \d is outside rank \d$"):
        axis_of(axis, rank)
