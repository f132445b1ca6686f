"""maxfold's Python side: load a model, optimize it, save it.

from maxfold.optimizer import load, optimize, save

model = load("m.onnx")
report = optimize(model)
save(model, "m.opt.onnx")
"""

from maxfold.model import Model, ModelError
from maxfold.optimizer.api import load, optimize, save
from maxfold.optimizer.inspection import Inspection, inspect
from maxfold.optimizer.pipeline import catalogue
from maxfold.optimizer.report import Report
from maxfold.optimizer.verification import verify_files

__all__ = [
    "Inspection",
    "Model",
    "ModelError",
    "Report",
    "catalogue",
    "inspect",
    "load",
    "optimize",
    "save",
    "verify_files",
]
