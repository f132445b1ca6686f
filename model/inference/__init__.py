"""What is known of tensors without running the model: types, symbolic shapes, partial values."""

from maxfold.model.inference.engine import Inference
from maxfold.model.inference.facts import UNKNOWN, Fact, PartialValue
from maxfold.model.inference.symbolic import Dim

__all__ = ["UNKNOWN", "Dim", "Fact", "Inference", "PartialValue"]
