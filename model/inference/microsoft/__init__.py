"""What is known of the operators of ONNX Runtime's own domains, one row an operator."""

from maxfold.model.inference.microsoft.row import Row
from maxfold.model.inference.microsoft.table import TABLE

__all__ = ["TABLE", "Row"]
