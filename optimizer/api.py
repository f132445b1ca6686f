"""Loading, saving and optimizing models: what the command line calls, and scripts can call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import onnx
import onnx_graphsurgeon as gs

from maxfold.model import Model, ModelError, read_onnx, write_onnx
from maxfold.model.adopt import adopt, from_graphsurgeon
from maxfold.model.fixing import fix_dimensions
from maxfold.model.onnx_writer import ExternalData, to_proto
from maxfold.model.view import Math
from maxfold.optimizer.arguments import require_model
from maxfold.optimizer.pipeline import run_pipeline, select_passes
from maxfold.optimizer.report import Report
from maxfold.passes import Progress
from maxfold.passes.targets import TARGETS, Target


def load(source: str | Path | bytes | onnx.ModelProto | gs.Graph) -> Model:
    """A model from a path, serialized bytes, a ModelProto (copied) or a graphsurgeon graph (adopted in place).

    A path with the suffix `.xml` is an OpenVINO IR with its weights in the `.bin` file beside it; others are ONNX.

    Weights stay in the file and are mapped when needed. Raises `ModelError` for anything that is no usable model.
    """
    if isinstance(source, gs.Graph):
        return from_graphsurgeon(source)
    if isinstance(source, (str, Path)) and is_openvino_path(source):
        from maxfold.model import read_openvino

        return read_openvino(source)
    if isinstance(source, (str, Path, bytes, onnx.ModelProto)):
        return read_onnx(source)
    raise TypeError(
        f"a model is loaded from a path, bytes, ModelProto or graphsurgeon Graph, not {type(source).__name__}"
    )


def save(model: Model, target: str | Path | BinaryIO, *, external_data: ExternalData = "auto") -> int:
    """Writes a model to a path or an open binary stream; returns the bytes written, external data included.

    A path appears whole or not at all. `external_data`: "auto" leaves tensors where they were and goes by protobuf's
    limit of 2 GiB, "always" puts tensors of 1 KiB and more into `<name>.onnx.data`, "never" brings all in.
    Raises `ModelError` where that cannot be done.
    """
    require_model("save", model)
    is_openvino = isinstance(target, (str, Path)) and is_openvino_path(target)
    if is_openvino != (model.format == "openvino"):
        there, here = ("OpenVINO IR", "ONNX") if is_openvino else ("ONNX", "OpenVINO IR")
        raise ModelError(f"{target}: would be {there}, but the model is {here}; convert it first")
    if is_openvino and isinstance(target, (str, Path)):
        from maxfold.model import write_openvino

        return write_openvino(model, target)
    return write_onnx(model, target, external_data=external_data)


def is_openvino_path(path: str | Path) -> bool:
    """Whether a path names an IR: by its suffix `.xml`."""
    return str(path).lower().endswith(".xml")


def optimize(
    model: Model | onnx.ModelProto | gs.Graph,
    *,
    math: Math = "exact",
    passes: Sequence[str] | None = None,
    skip: Sequence[str] = (),
    max_growth_bytes: int = 64 * 1024,
    keep: Sequence[str] = (),
    opset: int | None = None,
    dims: Mapping[str, int] | None = None,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    fold_quantized: bool = False,
    inline_functions: bool = False,
    expand: Sequence[str] = (),
    target: Target = "any",
    progress: Progress | None = None,
) -> Report:
    """Rewrites a model in place and tells what was done.

    `math`: "exact" gives the same bits on every input, "relaxed" may change rounding. `passes` names the passes to run
    (all by default, always in the catalogue's order), `skip` those not to. The file may grow by `max_growth_bytes` a
    node. Tensors and nodes named in `keep` are left alone. `opset` is the version of ONNX's operator set to upgrade to.
    `dims` gives open dimensions of the inputs a size, by symbol or as "input:axis", `input_shapes` gives inputs a whole
    shape: the one change of the interface, and only on request. With `fold_quantized`, weights that are quantized or in
    half precision may be widened; with `inline_functions`, calls of model-local functions become what they do.
    Operators named in `expand` become those that ONNX defines them by, with "relaxed".
    `target` is the runtime that is to run the model: "onnxruntime", "openvino", "tensorrt", or "any" of them.
    `progress` is called with the pass and its steps done and known. Raises `ModelError` for a model that cannot be used
    or upgraded, or a name that does not exist.
    """
    if math not in ("exact", "relaxed"):
        raise ModelError(f"math is 'exact' or 'relaxed', not {math!r}")
    if target not in TARGETS:
        raise ModelError(f"target is one of {', '.join(TARGETS)}, not {target!r}")
    if isinstance(model, (str, Path, bytes)):
        raise TypeError("optimize works in place: load() the file first, and save() the model it gives")
    if isinstance(model, (onnx.ModelProto, gs.Graph)):
        loaded = load(model)
    else:
        loaded = model
        adopt(loaded)
    options = {
        "max_growth_bytes": max_growth_bytes, "opset": opset, "fold_quantized": fold_quantized,
        "inline_functions": inline_functions, "expand": tuple(expand), "target": target,
    }  # fmt: skip
    selected = select_passes(passes, skip, options)
    fixed = fix_dimensions(loaded, dims or {}, input_shapes or {}) if dims or input_shapes else 0
    report = run_pipeline(loaded, selected, math=math, keep=keep, progress=progress)
    report = replace(report, dimensions_fixed=fixed)
    if isinstance(model, onnx.ModelProto) and report.changed:
        _replace(model, to_proto(loaded))
    return report


def _replace(model: onnx.ModelProto, new: onnx.ModelProto) -> None:
    """Gives a ModelProto the content of another; whoever holds its graph sees the new one."""
    model.graph.CopyFrom(new.graph)
    new.ClearField("graph")
    for field, _ in model.ListFields():
        if field.name != "graph":
            model.ClearField(field.name)
    model.MergeFrom(new)


def convert(
    model: Model, *, to: str, opset: int | None = None, ir_version: int = 11, fake_quantize: str = "integers"
) -> Model:
    """A new model in the other format; the given one stays as it is, and weights stay in its files.

    `to` is "openvino" or "onnx". `opset` is the version of ONNX's operator set to write: by default 17, or the lowest
    above it that the model needs, which `opset_reason` of the new model explains. `ir_version` is 10 or 11.
    `fake_quantize` says what a FakeQuantize becomes in ONNX: "integers" is QuantizeLinear and DequantizeLinear where
    its range is one of integers of 8 bits, which runtimes compute in 8 bits, "composed" what OpenVINO's CPU computes.
    What the file says beside its graph and has no place in the other format is in `lost` of the new model.
    Raises `ConversionError` (a `ModelError`) that names everything that cannot be converted.
    """
    require_model("convert", model)
    # The table has a hundred rows in thirty files, which only a conversion needs.
    from maxfold.model.openvino.ir import VERSIONS
    from maxfold.passes.conversion import OPSETS, TABLE, convert_to_onnx, convert_to_openvino

    if to not in ("onnx", "openvino"):
        raise ModelError(f"a model is converted to 'onnx' or 'openvino', not {to!r}")
    if to == model.format:
        raise ModelError(f"the model is {to} already; optimize rewrites within one format")
    if to == "openvino":
        if ir_version not in VERSIONS:
            raise ModelError(f"IR versions 10 and 11 can be written, not {ir_version}")
        return convert_to_openvino(model, TABLE, ir_version=ir_version)
    if opset is not None and not OPSETS[0] <= opset <= OPSETS[1]:
        raise ModelError(f"operator sets {OPSETS[0]} to {OPSETS[1]} can be written, not {opset}")
    if fake_quantize not in ("integers", "composed"):
        raise ModelError(f"FakeQuantize becomes 'integers' or 'composed', not {fake_quantize!r}")
    return convert_to_onnx(model, TABLE, opset=opset, composes_steps=fake_quantize == "composed")
