"""Which format a place holds, which files go with it, and whether formats go together.

A place is a path, or "-" for a standard stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from maxfold.cli.errors import CommandError
from maxfold.cli.options import ConvertOptions, OptimizeOptions

STREAM = "-"

ONNX, IR = "onnx", "openvino"
FORMAT_NAMES = {ONNX: "ONNX", IR: "OpenVINO IR"}
OTHER_FORMAT = {ONNX: IR, IR: ONNX}
_SUFFIXES = {ONNX: ".onnx", IR: ".xml"}


def format_of(place: str) -> str:
    """The format by suffix: `.xml` is IR, all else, and what comes from a standard stream, is ONNX."""
    return IR if place.lower().endswith(_SUFFIXES[IR]) else ONNX


def suffix_of(name: str) -> str:
    """The suffix that files of a format have."""
    return _SUFFIXES[name]


def files_of(place: str) -> list[str]:
    """The files that a model at a place certainly consists of, that of the place first."""
    if place == STREAM:
        return []
    return [place, str(Path(place).with_suffix(".bin"))] if format_of(place) == IR else [place]


def names_of(path: Path) -> list[str]:
    """The names of the files that a model may be written to, in its directory."""
    companion = path.with_suffix(".bin").name if format_of(path.name) == IR else f"{path.name}.data"
    return [path.name, companion]


def converted_name(name: str) -> str:
    """A file's name in the other format."""
    own, other = _SUFFIXES[format_of(name)], _SUFFIXES[OTHER_FORMAT[format_of(name)]]
    return f"{name[: -len(own)] if name.lower().endswith(own) else name}{other}"


def check_formats(sources: Sequence[str], options: OptimizeOptions) -> None:
    """Raises `CommandError` where suffixes and options contradict each other, or a stream would hold an IR."""
    targets = set()
    for source in sources:
        own = format_of(source)
        _check_named(source, own, options.from_format, "--from")
        target = OTHER_FORMAT[own] if isinstance(options, ConvertOptions) else own
        targets.add(target)
        _check_named(options.output or "the result", target, options.to_format, "--to")
        if options.output == STREAM and target == IR:
            raise CommandError("-o -: an OpenVINO IR is two files, which no stream can hold; give -o OUTPUT.xml")
        if options.output and options.output != STREAM:
            _check_target(source, options.output, target, options)
    _check_options(targets, options)


def _check_named(place: str, found: str, named: str | None, option: str) -> None:
    if named is None or named == found:
        return
    if place == STREAM:
        raise CommandError(f"{option} {named}: an OpenVINO IR is two files, which no stream can hold; give a path")
    raise CommandError(f"{option} {named} contradicts the suffixes: {place} is {FORMAT_NAMES[found]}; leave it out")


def _check_target(source: str, output: str, target: str, options: OptimizeOptions) -> None:
    if format_of(output) == target:
        return
    if not isinstance(options, ConvertOptions):
        raise CommandError(
            f"{source} is {FORMAT_NAMES[target]}, {output} would be {FORMAT_NAMES[OTHER_FORMAT[target]]}, and optimize "
            f"keeps the format; use 'maxfold convert {source} -o {output}'"
        )
    both = FORMAT_NAMES[format_of(output)]
    raise CommandError(
        f"{source} and {output} are both {both} by their suffixes; convert to a path that ends in {_SUFFIXES[target]}, "
        "or use 'maxfold optimize' to keep the format"
    )


def _check_options(targets: set[str], options: OptimizeOptions) -> None:
    is_conversion = isinstance(options, ConvertOptions)
    if options.opset is not None and (ONNX not in targets if is_conversion else IR in targets):
        raise CommandError("--opset is for ONNX, and the result is OpenVINO IR, which has none; leave it out")
    if isinstance(options, ConvertOptions) and options.ir_version is not None and IR not in targets:
        raise CommandError(
            "--ir-version is for OpenVINO IR, and the result is ONNX; --opset says which version of that"
        )
    if isinstance(options, ConvertOptions) and options.fake_quantize is not None and ONNX not in targets:
        raise CommandError("--fake-quantize is for ONNX, and the result is OpenVINO IR, which has it; leave it out")
    if options.external_data == "never" and IR in targets:
        raise CommandError("--external-data never is for ONNX: an OpenVINO IR always has its weights in a .bin file")
