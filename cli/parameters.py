"""The parameters that commands share, as Typer annotations. Their values are checked in `options`.

All are None where they were not given, so that a settings file can say what holds then.
"""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from maxfold.cli.completion import complete_choice, complete_passes
from maxfold.cli.output import write_stdout

_REWRITING, _WRITING, _RUNNING = "What is rewritten", "What is written", "What is run"
_REPORTING = "What is told"

# Typer evaluates these at run time, and some of its releases read only this spelling on Python 3.10.
_Text = Optional[str]  # noqa: UP045
_Texts = Optional[list[str]]  # noqa: UP045
_Switch = Optional[bool]  # noqa: UP045


def _show_version(value: bool | None) -> None:
    if not value:
        return
    from importlib.metadata import version

    write_stdout(f"maxfold {version('maxfold')}\n")
    raise typer.Exit


Version = Annotated[
    _Switch, typer.Option("--version", "-V", callback=_show_version, is_eager=True, help="Print the version and exit.")
]

PassNames = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Argument(metavar="[NAME]...", show_default=False, help="Passes to describe; all without."),
]

Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT...", show_default=False,
        help="ONNX files, or OpenVINO IR (.xml, with .bin beside it); - is standard input.",
    ),
]  # fmt: skip
Input = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", show_default=False,
        help="An ONNX file, or OpenVINO IR (.xml, with .bin beside it); - is standard input.",
    ),
]  # fmt: skip
First = Annotated[str, typer.Argument(metavar="A", show_default=False, help="An ONNX file, or OpenVINO IR (.xml).")]
Second = Annotated[str, typer.Argument(metavar="B", show_default=False, help="The one to compare it with, likewise.")]
OperatorName = Annotated[
    _Text, typer.Argument(metavar="[NAME]", show_default=False, help="An operator of ONNX or OpenVINO, or a part.")
]

Output = Annotated[
    _Text,
    typer.Option(
        "-o", "--output", metavar="OUTPUT", rich_help_panel=_WRITING,
        help="The file to write; - is standard output.",
    ),
]  # fmt: skip
InPlace = Annotated[
    _Switch,
    typer.Option("--in-place/--no-in-place", rich_help_panel=_WRITING, help="Write each result over its input."),
]
OutDir = Annotated[
    _Text,
    typer.Option(
        "--out-dir", metavar="DIR", rich_help_panel=_WRITING,
        help="Write each result into DIR under its input's name; DIR is made if needed.",
    ),
]  # fmt: skip
ConvertOutput = Annotated[
    _Text,
    typer.Option(
        "-o", "--output", metavar="OUTPUT", rich_help_panel=_WRITING,
        help="The file to write, .onnx or .xml; - is ONNX to standard output.",
    ),
]  # fmt: skip
ConvertOutDir = Annotated[
    _Text,
    typer.Option(
        "--out-dir", metavar="DIR", rich_help_panel=_WRITING,
        help="Write each result into DIR under its input's name with the other suffix.",
    ),
]  # fmt: skip
Check = Annotated[
    _Switch,
    typer.Option(
        "--check/--no-check", rich_help_panel=_WRITING,
        help="Write nothing; exit with 1 if anything would change.",
    ),
]  # fmt: skip
DryRun = Annotated[
    _Switch,
    typer.Option("--dry-run/--no-dry-run", rich_help_panel=_WRITING, help="Write nothing; show what would be done."),
]
ExternalData = Annotated[
    _Text,
    typer.Option(
        "--external-data", metavar="WHEN", rich_help_panel=_WRITING,
        autocompletion=complete_choice("auto", "always", "never"),
        help="Whether weights go into OUTPUT.data: auto (the default: where the input has it so, or the size "
        "demands it), always, or never.",
    ),
]  # fmt: skip
Verify = Annotated[
    _Switch,
    typer.Option(
        "--verify/--no-verify", rich_help_panel=_WRITING,
        help="Run original and result first, ONNX in ONNX Runtime, IR in OpenVINO; write nothing and exit with 1 if "
        "they differ.",
    ),
]  # fmt: skip
Dim = Annotated[
    _Texts,
    typer.Option(
        "--dim", metavar="NAME=N", rich_help_panel=_REWRITING,
        help="Fix an open dimension of the inputs: a symbol, or INPUT:AXIS=N; may be repeated.",
    ),
]  # fmt: skip
InputShape = Annotated[
    _Texts,
    typer.Option(
        "--input-shape", metavar="INPUT=N,N,...", rich_help_panel=_REWRITING,
        help="Fix the whole shape of an input, as in x=1,3,224,224; may be repeated.",
    ),
]  # fmt: skip
VerifyDim = Annotated[
    _Texts,
    typer.Option(
        "--verify-dim", metavar="NAME=N", rich_help_panel=_WRITING,
        help="The size of an open dimension when --verify runs the models; may be repeated.",
    ),
]  # fmt: skip
FoldQuantized = Annotated[
    _Switch,
    typer.Option(
        "--fold-quantized/--no-fold-quantized", rich_help_panel=_REWRITING,
        help="Let weights that are quantized or in half precision become wider floats, which makes the file larger.",
    ),
]  # fmt: skip
InlineFunctions = Annotated[
    _Switch,
    typer.Option(
        "--inline-functions/--no-inline-functions", rich_help_panel=_REWRITING,
        help="Replace calls of model-local functions by what they do.",
    ),
]  # fmt: skip
Expand = Annotated[
    _Text,
    typer.Option(
        "--expand", metavar="OPERATORS", rich_help_panel=_REWRITING,
        help="Replace these operators, separated by commas, by those that ONNX defines them by. Needs --math relaxed.",
    ),
]  # fmt: skip
FromFormat = Annotated[
    _Text,
    typer.Option(
        "--from", metavar="onnx", rich_help_panel=_WRITING, autocompletion=complete_choice("onnx"),
        help="The format of what comes from standard input.",
    ),
]  # fmt: skip
ToFormat = Annotated[
    _Text,
    typer.Option(
        "--to", metavar="onnx", rich_help_panel=_WRITING, autocompletion=complete_choice("onnx"),
        help="The format of what goes to standard output.",
    ),
]  # fmt: skip
ConvertFrom = Annotated[
    _Text,
    typer.Option(
        "--from", metavar="FORMAT", rich_help_panel=_WRITING, autocompletion=complete_choice("onnx", "openvino"),
        help="The format of the inputs, where it is to be stated; - is onnx.",
    ),
]  # fmt: skip
ConvertTo = Annotated[
    _Text,
    typer.Option(
        "--to", metavar="FORMAT", rich_help_panel=_WRITING, autocompletion=complete_choice("onnx", "openvino"),
        help="The format of the results, likewise.",
    ),
]  # fmt: skip
ConvertOpset = Annotated[
    _Text,
    typer.Option(
        "--opset", metavar="N", rich_help_panel=_WRITING,
        help="The version of ONNX's operator set to write, 13 to 21; default 17, or what the model needs.",
    ),
]  # fmt: skip
IrVersion = Annotated[
    _Text,
    typer.Option(
        "--ir-version", metavar="10|11", rich_help_panel=_WRITING, autocompletion=complete_choice("10", "11"),
        help="The version of OpenVINO IR to write; default 11.",
    ),
]  # fmt: skip
ConvertOutputs = Annotated[
    _Text,
    typer.Option(
        "--outputs", metavar="NAMES", rich_help_panel=_REWRITING,
        help="Make these tensors, separated by commas, the outputs, and leave out what none of them needs.",
    ),
]  # fmt: skip
Layout = Annotated[
    _Texts,
    typer.Option(
        "--layout", metavar="NAME=NCHW", rich_help_panel=_WRITING,
        help="What the axes of an input or output mean, kept in the IR's rt_info; may be repeated.",
    ),
]  # fmt: skip
CompressToFp16 = Annotated[
    _Switch,
    typer.Option(
        "--compress-to-fp16/--no-compress-to-fp16", rich_help_panel=_WRITING,
        help="Store constants of an IR in float16, each with a Convert, as OpenVINO does.",
    ),
]  # fmt: skip
FakeQuantize = Annotated[
    _Text,
    typer.Option(
        "--fake-quantize", metavar="FORM", rich_help_panel=_WRITING,
        autocompletion=complete_choice("integers", "composed"),
        help="What FakeQuantize becomes in ONNX: integers, operators of 8 bits where they fit (the default), or "
        "composed, what OpenVINO's CPU computes.",
    ),
]  # fmt: skip
Optimize = Annotated[
    _Switch,
    typer.Option(
        "--optimize/--no-optimize", rich_help_panel=_WRITING,
        help="Run the passes of 'maxfold optimize' on the result, which is the default; --no-optimize leaves it as "
        "the conversion made it.",
    ),
]  # fmt: skip
Jobs = Annotated[
    _Text,
    typer.Option(
        "--jobs", metavar="N", rich_help_panel=_WRITING,
        help="Work on N inputs at a time, each in a process of its own; default 1.",
    ),
]  # fmt: skip

Passes = Annotated[
    _Text,
    typer.Option(
        "--passes", metavar="NAMES", rich_help_panel=_REWRITING, autocompletion=complete_passes,
        help="Run only these passes, separated by commas; 'maxfold passes' lists them. 'all' is all of them, and "
        "package.module:Class is one of your own.",
    ),
]  # fmt: skip
Skip = Annotated[
    _Text,
    typer.Option(
        "--skip", metavar="NAMES", rich_help_panel=_REWRITING, autocompletion=complete_passes,
        help="Leave these passes out.",
    ),
]  # fmt: skip
MathMode = Annotated[
    _Text,
    typer.Option(
        "--math", metavar="exact|relaxed", rich_help_panel=_REWRITING,
        autocompletion=complete_choice("exact", "relaxed"),
        help="exact (the default) keeps every bit of every result; relaxed may change rounding.",
    ),
]  # fmt: skip
TargetRuntime = Annotated[
    _Text,
    typer.Option(
        "--target", metavar="RUNTIME", rich_help_panel=_REWRITING,
        autocompletion=complete_choice("any", "onnxruntime", "openvino", "tensorrt"),
        help="The runtime that is to run the model: onnxruntime, openvino, tensorrt, or any (the default), which does "
        "what is good for all.",
    ),
]  # fmt: skip
MaxGrowth = Annotated[
    _Text,
    typer.Option(
        "--max-growth", metavar="BYTES", rich_help_panel=_REWRITING,
        help="How much the file may grow for one folded node: 65536, 64KiB, 1MB; default 64KiB.",
    ),
]  # fmt: skip
Keep = Annotated[
    _Texts,
    typer.Option(
        "--keep", metavar="NAME", rich_help_panel=_REWRITING,
        help="Leave this tensor or node alone; may be repeated.",
    ),
]  # fmt: skip
Opset = Annotated[
    _Text,
    typer.Option(
        "--opset", metavar="N", rich_help_panel=_REWRITING,
        help="First bring the model up to operator set N.",
    ),
]  # fmt: skip

CompareDim = Annotated[
    _Texts,
    typer.Option(
        "--dim", metavar="NAME=N", rich_help_panel=_RUNNING,
        help="The size of an open dimension: of a symbol, or INPUT:AXIS=N; may be repeated.",
    ),
]  # fmt: skip
FeedFile = Annotated[
    _Text,
    typer.Option(
        "--inputs", metavar="FILE.npz", rich_help_panel=_RUNNING,
        help="Take the inputs from a file of numpy.savez, by their names, instead of random ones.",
    ),
]  # fmt: skip
Seed = Annotated[
    _Text, typer.Option("--seed", metavar="N", rich_help_panel=_RUNNING, help="The seed of random inputs; default 0.")
]
Runs = Annotated[
    _Text,
    typer.Option("--runs", metavar="N", rich_help_panel=_RUNNING, help="How many random inputs are tried; default 2."),
]
Tolerance = Annotated[
    _Text,
    typer.Option(
        "--tolerance", metavar="X", rich_help_panel=_RUNNING,
        help="How far apart outputs may be, relative to the larger of 1 and the value; default 0 within one format, "
        "0.0001 between two.",
    ),
]  # fmt: skip

Markdown = Annotated[
    _Switch, typer.Option("--markdown/--no-markdown", rich_help_panel=_REPORTING, help="Print a page of Markdown.")
]
Explain = Annotated[
    _Switch,
    typer.Option(
        "--explain/--no-explain", rich_help_panel=_REPORTING,
        help="Tell why rewrites were considered and not done.",
    ),
]  # fmt: skip
Hints = Annotated[
    _Switch,
    typer.Option(
        "--hints/--no-hints", rich_help_panel=_REPORTING,
        help="Tell what other options would gain, the default; it takes up to as long as optimizing. -q does not.",
    ),
]  # fmt: skip
ReportFile = Annotated[
    _Text,
    typer.Option("--report", metavar="FILE.json", rich_help_panel=_REPORTING, help="Write the report as JSON."),
]
Json = Annotated[
    _Switch,
    typer.Option("--json/--no-json", rich_help_panel=_REPORTING, help="Print JSON to standard output."),
]
Quiet = Annotated[
    _Switch,
    typer.Option("-q", "--quiet/--no-quiet", rich_help_panel=_REPORTING, help="Tell nothing but errors."),
]
Verbose = Annotated[
    _Switch,
    typer.Option("-v", "--verbose/--no-verbose", rich_help_panel=_REPORTING, help="Tell more."),
]
