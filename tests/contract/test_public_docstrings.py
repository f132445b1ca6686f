"""Every exported class and function says what it is."""

from __future__ import annotations

import importlib
import inspect

import pytest

PUBLIC = [
    (module, name)
    for module in ("maxfold.model", "maxfold.optimizer")
    for name in importlib.import_module(module).__all__
]


def own_docstring(value: object) -> str:
    """The docstring written in the source: not an inherited one, nor a dataclass's generated signature."""
    text = (vars(value).get("__doc__") if inspect.isclass(value) else getattr(value, "__doc__", None)) or ""
    return "" if inspect.isclass(value) and text.startswith(f"{value.__name__}(") else text


@pytest.mark.parametrize(("module", "name"), PUBLIC)
def test_exported_name_has_a_docstring(module: str, name: str) -> None:
    value = getattr(importlib.import_module(module), name)
    if not (inspect.isclass(value) or callable(value)):
        return
    assert own_docstring(value), f"{module}.{name}"


@pytest.mark.parametrize(("module", "name"), PUBLIC)
def test_public_methods_have_docstrings(module: str, name: str) -> None:
    value = getattr(importlib.import_module(module), name)
    if not inspect.isclass(value):
        return
    undescribed = [
        member
        for member, definition in vars(value).items()
        if not member.startswith("_")
        and (inspect.isfunction(definition) or isinstance(definition, property | classmethod | staticmethod))
        and not definition.__doc__
    ]
    assert not undescribed, f"{module}.{name}"
