"""The catalogue of passes and the tables of kernels and conversions are the only lists, and they are complete."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import pkgutil
import re
from abc import ABCMeta
from collections.abc import Iterator
from types import ModuleType

import pytest

from maxfold import passes
from maxfold.passes import kernels
from maxfold.passes.conversion import TABLE, Row, rows
from maxfold.passes.conversion.pair import Pair
from maxfold.passes.conversion.row import FromOpenvino
from maxfold.passes.rule import Pass
from tests.contract.repository import ROOT, documentation

MODES = ("exact", "relaxed", "exact, more with relaxed")


def modules_of(package: ModuleType) -> list[ModuleType]:
    found = pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
    return [importlib.import_module(entry.name) for entry in found]


def pass_classes() -> set[type]:
    """Concrete pass classes, wherever in `maxfold.passes` they are defined."""
    return {
        value
        for module in modules_of(passes)
        for value in vars(module).values()
        if type(value) is ABCMeta and issubclass(value, Pass) and not inspect.isabstract(value)
    }


def kernels_in(module: ModuleType) -> Iterator[kernels.Kernel]:
    """Kernels that stand in a module, alone or in a sequence."""
    for value in vars(module).values():
        for item in value if isinstance(value, tuple | list) else (value,):
            if isinstance(item, kernels.Kernel):
                yield item


def test_catalogue_is_what_is_on_disk() -> None:
    assert set(passes.CATALOGUE) == pass_classes()
    assert len(set(passes.CATALOGUE)) == len(passes.CATALOGUE)


def test_pass_names_are_unique() -> None:
    names = [entry.name for entry in passes.CATALOGUE]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("entry", passes.CATALOGUE, ids=lambda entry: entry.name)
def test_pass_is_described_and_tested(entry: type[Pass]) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", entry.name)
    assert entry.mode in MODES
    assert entry.summary
    assert "\n" not in entry.summary
    file_name = entry.name.replace("-", "_")
    assert entry.__module__ == f"maxfold.passes.{file_name}"
    assert (ROOT / "tests" / "passes" / f"test_{file_name}.py").is_file()
    assert f"`{entry.name}`" in documentation()
    assert dataclasses.is_dataclass(entry)


def test_kernel_table_is_what_is_on_disk() -> None:
    on_disk = {id(kernel): kernel for module in modules_of(kernels) for kernel in kernels_in(module)}
    in_table = {id(kernel): kernel for kernel in kernels.KERNELS}
    assert [on_disk[key].operator for key in on_disk.keys() - in_table.keys()] == []
    assert [in_table[key].operator for key in in_table.keys() - on_disk.keys()] == []
    assert {(kernel.domain, kernel.operator) for kernel in kernels.KERNELS} == kernels.OPERATORS


@pytest.mark.parametrize(
    "kernel",
    kernels.KERNELS,
    ids=lambda kernel: f"{kernel.domain or 'ai.onnx'}-{kernel.operator}-{kernel.since_version}",
)
def test_kernel_states_its_policy_and_is_found(kernel: kernels.Kernel) -> None:
    assert kernel.numeric_policy
    assert kernels.find(kernel.domain, kernel.operator, kernel.since_version) is kernel


def test_conversion_table_is_what_is_on_disk() -> None:
    on_disk = {id(row): row for module in modules_of(rows) for row in getattr(module, "ROWS", ())}
    in_table = {id(row): row for row in TABLE.rows}
    assert [on_disk[key].onnx for key in on_disk.keys() - in_table.keys()] == []
    assert [in_table[key].onnx for key in in_table.keys() - on_disk.keys()] == []


@pytest.mark.parametrize("row", TABLE.rows, ids=lambda row: f"{type(row).__name__}-{row.onnx}-{row.openvino}")
def test_conversion_row_is_complete(row: Row) -> None:
    assert not re.search(r"relative 1e|absolute 1e", row.tolerance), "numbers come before what they bound"
    assert row.tolerance


@pytest.mark.parametrize("row", TABLE.rows, ids=lambda row: f"{type(row).__name__}-{row.onnx}-{row.openvino}")
def test_conversion_row_is_tested(row: Row) -> None:
    """The source of each direction is named in a test, as the operator or as the function that makes the operation."""
    sources = [row.openvino] if isinstance(row, FromOpenvino) else [row.onnx.rpartition(".")[2]]
    sources += [row.openvino] if isinstance(row, Pair) else []
    assert [source for source in sources if source.casefold() not in words_of_tests()] == []


@functools.cache
def words_of_tests() -> frozenset[str]:
    """The words of the tests of conversion, without underscores."""
    files = (ROOT / "tests" / "passes" / "conversion").glob("*.py")
    return frozenset(
        word.replace("_", "").casefold() for file in files for word in re.findall(r"\w+", file.read_text())
    )
