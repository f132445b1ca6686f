"""The options of `maxfold optimize` and `maxfold convert`, from flags and settings files, checked."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from maxfold.cli import values
from maxfold.cli.errors import CommandError
from maxfold.cli.settings import Settings
from maxfold.cli.shell import usage_error

_KINDS: dict[str, values.Kind] = {
    "output": values.path,
    "in-place": values.switch,
    "out-dir": values.path,
    "check": values.switch,
    "dry-run": values.switch,
    "passes": values.names,
    "skip": values.names,
    "math": values.choice("exact", "relaxed"),
    "target": values.choice("any", "onnxruntime", "openvino", "tensorrt"),
    "max-growth": values.size_bytes,
    "keep": values.texts,
    "opset": values.count,
    "external-data": values.choice("auto", "always", "never"),
    "verify": values.switch,
    "dim": values.dims,
    "input-shape": values.shapes,
    "verify-dim": values.dims,
    "fold-quantized": values.switch,
    "inline-functions": values.switch,
    "expand": values.names,
    "from": values.choice("onnx"),
    "to": values.choice("onnx"),
    "jobs": values.count,
    "explain": values.switch,
    "hints": values.switch,
    "report": values.path,
    "json": values.switch,
    "quiet": values.switch,
    "verbose": values.switch,
}

_CONVERT_KINDS: dict[str, values.Kind] = {
    **{
        name: _KINDS[name]
        for name in (
            "output", "out-dir", "dry-run", "opset", "external-data", "verify", "dim", "input-shape", "verify-dim",
            "jobs", "explain", "report", "json", "quiet", "verbose",
        )
    },
    "from": values.choice("onnx", "openvino"),
    "to": values.choice("onnx", "openvino"),
    "optimize": values.switch,
    "ir-version": values.choice("10", "11"),
    "fake-quantize": values.choice("integers", "composed"),
    "outputs": values.names,
    "layout": values.layouts,
    "compress-to-fp16": values.switch,
}  # fmt: skip

# A flag also wins over a setting of another name that contradicts it.
_ALTERNATIVES = (("output", "in-place", "out-dir"), ("quiet", "verbose"))

_FIELDS = {
    "from": "from_format", "to": "to_format", "max-growth": "max_growth_bytes", "dim": "dims",
    "input-shape": "input_shapes", "verify-dim": "verify_dims", "layout": "layouts",
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OptimizeOptions:
    """What `maxfold optimize` was asked to do; the fields are the long names of its options.

    `settings` is the file that some of it came from, None without one.
    """

    command: ClassVar[str] = "optimize"

    output: str | None = None
    in_place: bool = False
    out_dir: str | None = None
    check: bool = False
    dry_run: bool = False
    passes: tuple[str, ...] | None = None
    skip: tuple[str, ...] = ()
    math: str = "exact"
    target: str = "any"
    max_growth_bytes: int | None = None
    keep: tuple[str, ...] = ()
    opset: int | None = None
    external_data: str = "auto"
    verify: bool = False
    dims: tuple[tuple[str, int], ...] = ()
    input_shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    verify_dims: tuple[tuple[str, int], ...] = ()
    fold_quantized: bool = False
    inline_functions: bool = False
    expand: tuple[str, ...] = ()
    from_format: str | None = None
    to_format: str | None = None
    jobs: int = 1
    explain: bool = False
    hints: bool = True
    report: str | None = None
    json: bool = False
    quiet: bool = False
    verbose: bool = False
    settings: Path | None = None

    @property
    def is_conversion(self) -> bool:
        """Whether the result is of the other format."""
        return self.command == "convert"

    @property
    def shows_hints(self) -> bool:
        """Whether somebody will see what other options would gain."""
        is_read = not self.quiet or self.json or self.report is not None
        return self.hints and is_read and not self.is_conversion

    @property
    def writes(self) -> bool:
        """Whether a model is to be written."""
        return not (self.check or self.dry_run)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ConvertOptions(OptimizeOptions):
    """What `maxfold convert` was asked to do. `opset` and `ir_version` are what to write; settings files do not count.

    Without `optimize` the result is left as the conversion made it.
    """

    command: ClassVar[str] = "convert"

    optimize: bool = True
    ir_version: str | None = None
    fake_quantize: str | None = None
    outputs: tuple[str, ...] = ()
    layouts: tuple[tuple[str, str], ...] = ()
    compress_to_fp16: bool = False


def resolve_convert(flags: Mapping[str, object]) -> ConvertOptions:
    """The options in force, likewise; `CommandError` for a value that is none."""
    chosen = {name: _flag(name, value, _CONVERT_KINDS, "convert") for name, value in _given(flags).items()}
    arguments: dict[str, Any] = {_field(name): value for name, value in chosen.items()}
    return ConvertOptions(**arguments)


def _given(flags: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in flags.items() if value is not None and value != [] and value != ()}


def resolve(flags: Mapping[str, object], settings: Settings) -> OptimizeOptions:
    """The options in force. `flags` has the long names; None and empty lists were not given.

    Raises `CommandError` for a value that is none, and for a key of the settings file that is no option.
    """
    given = _given(flags)
    chosen = {name: _flag(name, value, _KINDS, "optimize") for name, value in given.items()}
    overruled = {other for group in _ALTERNATIVES for name in group if chosen.get(name) for other in group}
    for name, value in settings.values.items():
        checked = _setting(name, value, settings)
        if name not in chosen and name not in overruled:
            chosen[name] = checked
    _check_names(chosen, given, settings)
    arguments: dict[str, Any] = {_field(name): value for name, value in chosen.items()}
    return OptimizeOptions(**arguments, settings=settings.path)


def _field(name: str) -> str:
    return _FIELDS.get(name, name.replace("-", "_"))


def _flag(name: str, value: object, kinds: Mapping[str, values.Kind], command: str) -> object:
    kind = kinds[name]
    try:
        return kind(values.from_flag(kind, value))
    except ValueError as error:
        raise usage_error(f"--{name} must be {error}, not {values.shown(value)}", command) from None


def _setting(name: str, value: object, settings: Settings) -> object:
    kind = _KINDS.get(name)
    if kind is None:
        close = difflib.get_close_matches(name, _KINDS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else "its keys are the long options of 'maxfold optimize'"
        raise CommandError(f"{settings.label} has the unknown key {name!r}; {hint}")
    try:
        return kind(value)
    except ValueError as error:
        raise CommandError(f"{settings.label} {name} must be {error}, not {value!r}; correct it there") from None


def _check_names(chosen: Mapping[str, Any], given: Mapping[str, object], settings: Settings) -> None:
    """Names of passes and operators are checked before any file is read."""
    wanted = [(key, name) for key in ("passes", "skip", "expand") for name in chosen.get(key, ())]
    if not wanted:
        return
    from maxfold.optimizer.known_names import why_no_operator, why_no_pass
    from maxfold.optimizer.own_passes import ALL

    for key, name in wanted:
        if (key, name) == ("passes", ALL):
            continue
        reason = why_no_operator(name) if key == "expand" else why_no_pass(name, "'maxfold passes' lists them")
        if reason is not None:
            where = f"--{key}" if key in given else f"{settings.label} {key}"
            raise CommandError(f"{where}: {reason}")
