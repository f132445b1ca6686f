"""Loading, saving and optimizing models: what the command line calls, and scripts can call."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Literal, cast

import onnx
import onnx_graphsurgeon as gs

from maxfold.model import Model, ModelError, write_onnx
from maxfold.model.fixing import fix_dimensions
from maxfold.model.onnx_writer import ExternalData
from maxfold.model.view import Math
from maxfold.optimizer.pipeline import run_pipeline, select_passes
from maxfold.optimizer.report import Report
from maxfold.optimizer.sources import ModelInPlace, ModelPath, ModelSource, is_openvino_path, model_of, names_of
from maxfold.passes import Progress
from maxfold.passes.targets import TARGETS, Target


def load(source: ModelSource) -> Model:
    """Reads a model.

    `source` is a path (with the suffix `.xml` that of an OpenVINO IR, with its weights in the `.bin` file beside it;
    others are ONNX), the bytes of an ONNX file, a file opened for reading bytes, a ModelProto or ONNXProgram (copied),
    a graphsurgeon graph (adopted: it sees what is done to the model), or a `Model`, which is given back as it is. The
    weights of a path stay in its files and are mapped when needed.

    Raises `ModelError` for anything that is no usable model, and `TypeError` for what is none of these.
    """
    return model_of("load", source)


def save(model: ModelSource, target: ModelPath | BinaryIO, *, external_data: ExternalData = "auto") -> int:
    """Writes a model to a path or an open binary stream; returns the bytes written, external data included.

    `model` is whatever `load` takes. A path appears whole or not at all; with the suffix `.xml` it is an OpenVINO IR,
    others are ONNX. `external_data`: "auto" leaves tensors where they were and goes by protobuf's limit of 2 GiB,
    "always" puts tensors of 1 KiB and more into `<name>.onnx.data`, "never" brings all in.

    Raises `ModelError` where that cannot be done, such as a model of the other format.
    """
    loaded = model_of("save", model)
    path = Path(target) if isinstance(target, (str, os.PathLike)) else None
    if path is None and not hasattr(target, "write"):
        raise TypeError(f"save writes to a path or a file that is open for bytes, not {type(target).__name__}")
    is_openvino = path is not None and is_openvino_path(path)
    if is_openvino != (loaded.format == "openvino"):
        there, here = ("OpenVINO IR", "ONNX") if is_openvino else ("ONNX", "OpenVINO IR")
        raise ModelError(f"{target}: would be {there}, but the model is {here}; convert it first")
    if path is not None and is_openvino:
        from maxfold.model import write_openvino

        return write_openvino(loaded, path)
    return write_onnx(loaded, path or cast("BinaryIO", target), external_data=external_data)


def optimize(
    model: ModelInPlace,
    *,
    math: Math = "exact",
    passes: str | Sequence[str] | None = None,
    skip: str | Sequence[str] = (),
    max_growth_bytes: int = 64 * 1024,
    keep: str | Sequence[str] = (),
    opset: int | None = None,
    dims: Mapping[str, int] | None = None,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    fold_quantized: bool = False,
    inline_functions: bool = False,
    expand: str | Sequence[str] = (),
    target: Target = "any",
    hints: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Rewrites a model in place and tells what was done.

    What cannot be rewritten where it is, such as a path, is to be loaded first. The weights of a ModelProto stay in it
    while it is rewritten, and are copied once, into it, if anything has changed; it must not change meanwhile. A
    graphsurgeon graph sees every rewrite.

    `math`: "exact" gives the same bits on every input, "relaxed" may change rounding. `passes` names the passes to run
    (all by default, always in the catalogue's order), `skip` those not to; names may also be one text with commas
    between. The file may grow by `max_growth_bytes` a node. Tensors and nodes named in `keep` are left alone. `opset`
    is the version of ONNX's operator set to upgrade to. `dims` gives open dimensions of the inputs a size, by symbol
    or as "input:axis", `input_shapes` gives inputs a whole shape: the one change of the interface, and only on
    request. With `fold_quantized`, weights that are quantized or in half precision may be widened; with
    `inline_functions`, calls of model-local functions become what they do. Operators named in `expand` become those
    that ONNX defines them by, with "relaxed". `target` is the runtime that is to run the model: "onnxruntime",
    "openvino", "tensorrt", or "any" of them. With `hints` the report says what other arguments would gain: that takes
    up to as long again, on a copy of the graph whose weights nobody reads. `progress` is called with the pass and its
    steps done and known.

    Raises `ModelError` for a model that cannot be used or upgraded, or a name that does not exist, and `TypeError` for
    what cannot be rewritten in place.
    """
    if math not in ("exact", "relaxed"):
        raise ModelError(f"math is 'exact' or 'relaxed', not {math!r}")
    if target not in TARGETS:
        raise ModelError(f"target is one of {', '.join(TARGETS)}, not {target!r}")
    loaded = _in_place(model)
    options = {
        "max_growth_bytes": max_growth_bytes, "opset": opset, "fold_quantized": fold_quantized,
        "inline_functions": inline_functions, "expand": names_of(expand), "target": target,
    }  # fmt: skip
    selected = select_passes(None if passes is None else names_of(passes), names_of(skip), options)
    fixed = fix_dimensions(loaded, dims or {}, input_shapes or {}) if dims or input_shapes else 0
    report = run_pipeline(loaded, selected, math=math, keep=names_of(keep, None), progress=progress, hints=hints)
    report = replace(report, dimensions_fixed=fixed)
    if isinstance(model, onnx.ModelProto) and report.changed:
        from maxfold.model.in_memory import give_back

        give_back(loaded, model)
    return report


def _in_place(model: ModelInPlace) -> Model:
    """The model of what is rewritten where it is."""
    if isinstance(model, onnx.ModelProto):
        from maxfold.model.in_memory import borrow

        return borrow(model)
    if isinstance(model, (Model, gs.Graph)):
        return model_of("optimize", model)
    raise TypeError(
        "optimize works in place and takes an onnx.ModelProto, an onnx_graphsurgeon.Graph or a maxfold.Model, not "
        f"{type(model).__name__}: load() it first, and save() the model that gives"
    )


def convert(
    model: ModelSource,
    *,
    to: Literal["onnx", "openvino"],
    opset: int | None = None,
    ir_version: int = 11,
    fake_quantize: Literal["integers", "composed"] = "integers",
    outputs: str | Sequence[str] = (),
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    layouts: Mapping[str, str] | None = None,
    compress_to_fp16: bool = False,
) -> Model:
    """A new model in the other format; the given one stays as it is, and weights stay in its files.

    `model` is whatever `load` takes. `to` is "openvino" or "onnx". `opset` is the version of ONNX's operator set to
    write: by default 17, or the lowest above it that the model needs, which `opset_reason` of the new model explains.
    `ir_version` is 10 or 11. `fake_quantize` says what a FakeQuantize becomes in ONNX: "integers" is QuantizeLinear
    and DequantizeLinear where its range is one of integers of 8 bits, which runtimes compute in 8 bits, "composed"
    what OpenVINO's CPU computes.

    `outputs` names the tensors that are to be the outputs, inner ones too (names, or one text with commas between);
    what no output needs goes, inputs stay. `input_shapes` gives inputs a whole shape. For an IR,
    `layouts` says what the axes of inputs and outputs mean, by name, as "NCHW", and `compress_to_fp16` stores constants
    in float16 as OpenVINO's `save_model` does: what it keeps wide stays so, and what is beyond float16 is clamped,
    which `lost` names. Optimize before that, by itself, if at all: passes leave such constants as they are.

    What the file says beside its graph and has no place in the other format is in `lost` of the new model.

    Raises `ConversionError` (a `ModelError`) that names everything that cannot be converted.
    """
    source = model_of("convert", model)
    # The table has a hundred rows in thirty files, which only a conversion needs.
    from maxfold.model.openvino.ir import VERSIONS
    from maxfold.optimizer.tailoring import cut, finish
    from maxfold.passes.conversion import OPSETS, TABLE, convert_to_onnx, convert_to_openvino

    if to not in ("onnx", "openvino"):
        raise ModelError(f"a model is converted to 'onnx' or 'openvino', not {to!r}")
    if to == source.format:
        raise ModelError(f"the model is {to} already; optimize rewrites within one format")
    if outputs or input_shapes:
        source = cut(source, names_of(outputs), input_shapes or {})
    if to == "openvino":
        if ir_version not in VERSIONS:
            raise ModelError(f"IR versions 10 and 11 can be written, not {ir_version}")
        made = convert_to_openvino(source, TABLE, ir_version=ir_version)
        finish(made, layouts or {}, compress_to_fp16=compress_to_fp16)
        return made
    if layouts or compress_to_fp16:
        what = "layouts are kept" if layouts else "constants are compressed to float16"
        raise ModelError(f"{what} in an OpenVINO IR alone; leave that out where the result is ONNX")
    if opset is not None and not OPSETS[0] <= opset <= OPSETS[1]:
        raise ModelError(f"operator sets {OPSETS[0]} to {OPSETS[1]} can be written, not {opset}")
    if fake_quantize not in ("integers", "composed"):
        raise ModelError(f"FakeQuantize becomes 'integers' or 'composed', not {fake_quantize!r}")
    made = convert_to_onnx(source, TABLE, opset=opset, composes_steps=fake_quantize == "composed")
    if input_shapes:
        fix_dimensions(made, {}, input_shapes)
    return made
