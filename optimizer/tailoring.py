"""What `convert` does to a model beside converting it: before, and when all else is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from maxfold.model import Model
from maxfold.model.edit import Edit
from maxfold.model.fixing import fix_dimensions
from maxfold.model.interface import keep_outputs
from maxfold.model.model import Lost
from maxfold.model.model_copies import copy_model
from maxfold.passes.remove_dead_nodes import RemoveDeadNodes

if TYPE_CHECKING:
    from maxfold.passes.half_precision import Compressed

CLAMPED = "values beyond float16, which became +-65504, of a constant"


def cut(model: Model, outputs: Sequence[str], input_shapes: Mapping[str, Sequence[int]]) -> Model:
    """A copy, which shares the weights, with other outputs and without what only others needed; inputs get shapes.

    Raises `ModelError` for a name that is none, and for shapes that cannot be.
    """
    made = copy_model(model)
    if input_shapes and made.format == "onnx":
        fix_dimensions(made, {}, input_shapes)
    if outputs:
        keep_outputs(made, outputs)
        RemoveDeadNodes().run(Edit(made))
    return made


def finish(model: Model, layouts: Mapping[str, str], *, compress_to_fp16: bool) -> Compressed | None:
    """Gives an IR layouts, and constants of float16; returns what became of these.

    Raises `ModelError` for a layout that cannot be.
    """
    # Only an IR needs these.
    from maxfold.model.openvino.layouts import set_layouts
    from maxfold.passes.half_precision import compress_to_half

    if layouts:
        set_layouts(model, layouts)
    if not compress_to_fp16:
        return None
    compressed = compress_to_half(model)
    model.lost = (*model.lost, *(Lost(CLAMPED, count, name) for name, count in compressed.clamped.items()))
    return compressed
