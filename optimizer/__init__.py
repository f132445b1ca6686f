"""maxfold's Python side: load a model, optimize or convert it, save it.

from maxfold.optimizer import convert, load, optimize, save

model = load("m.onnx")
report = optimize(model)
save(model, "m.opt.onnx")
save(convert(model, to="openvino"), "m.xml")
"""

from importlib import import_module
from typing import TYPE_CHECKING

from maxfold.model import Model, ModelError
from maxfold.optimizer.api import convert, load, optimize, save
from maxfold.optimizer.pipeline import catalogue
from maxfold.optimizer.report import Report

if TYPE_CHECKING:
    from maxfold.optimizer.difference import diff
    from maxfold.optimizer.inspection import inspect
    from maxfold.optimizer.verification import verify

# Optimizing needs none of these, and they take half as long to import as all that it needs.
_LATER = {"diff": "difference", "inspect": "inspection", "verify": "verification"}

__all__ = [
    "Model",
    "ModelError",
    "Report",
    "catalogue",
    "convert",
    "diff",
    "inspect",
    "load",
    "optimize",
    "save",
    "verify",
]


# Type checkers go by the names above: a function that gives any would hide misspelled ones from them.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """What is imported when it is first asked for."""
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
