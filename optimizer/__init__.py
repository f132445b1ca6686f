"""maxfold's Python side: load a model, optimize or convert it, save it.

from maxfold.optimizer import convert, load, optimize, save

model = load("m.onnx")
report = optimize(model)
save(model, "m.opt.onnx")
save(convert(model, to="openvino"), "m.xml")
"""

from maxfold.model import Model, ModelError
from maxfold.optimizer.api import convert, load, optimize, save
from maxfold.optimizer.inspection import inspect
from maxfold.optimizer.pipeline import catalogue
from maxfold.optimizer.report import Report
from maxfold.optimizer.verification import verify

__all__ = [
    "Model",
    "ModelError",
    "Report",
    "catalogue",
    "convert",
    "inspect",
    "load",
    "optimize",
    "save",
    "verify",
]
