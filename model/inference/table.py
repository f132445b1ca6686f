"""Which function derives the results of which ONNX operator. Operators that are not listed are left to onnx."""

from __future__ import annotations

from collections.abc import Callable

from maxfold.model.inference import (
    attention,
    contraction,
    control,
    convolution,
    einsum,
    elementwise,
    movement,
    reduction,
    slicing,
)
from maxfold.model.inference.call import Call
from maxfold.model.inference.concatenation import concat
from maxfold.model.inference.facts import Fact

SHAPE_FUNCTIONS: dict[str, Callable[[Call], Fact | list[Fact]]] = {
    **elementwise.SHAPE_FUNCTIONS,
    **movement.SHAPE_FUNCTIONS,
    **slicing.SHAPE_FUNCTIONS,
    **reduction.SHAPE_FUNCTIONS,
    **attention.SHAPE_FUNCTIONS,
    **contraction.SHAPE_FUNCTIONS,
    **einsum.SHAPE_FUNCTIONS,
    **convolution.SHAPE_FUNCTIONS,
    **control.SHAPE_FUNCTIONS,
    "Concat": concat,
}
