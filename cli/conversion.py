"""The work on one input of `maxfold convert`: read, convert, optimize, verify, write."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from maxfold.cli.errors import CommandError
from maxfold.cli.formats import FORMAT_NAMES, IR, OTHER_FORMAT, suffix_of
from maxfold.cli.options import ConvertOptions
from maxfold.cli.work import RefusedError, Work

if TYPE_CHECKING:
    from maxfold.model.model import Lost
    from maxfold.optimizer import Model, Report
    from maxfold.passes.half_precision import Compressed


@dataclass(frozen=True, slots=True)
class Conversion:
    """From what to what: formats with the version of the operator set (ONNX) or of the file format (IR).

    `lost` is what of the input has no place in the other format, `opset_reason` why the operator set is a newer one
    than usual, `compressed` what became of constants that were to be of float16.
    """

    schema: ClassVar[str] = "maxfold.conversion/1"

    from_format: str
    from_version: int
    to_format: str
    to_version: int
    lost: tuple[Lost, ...] = ()
    opset_reason: str = ""
    compressed: Compressed | None = None

    @property
    def source(self) -> str:
        """What the input was, in words."""
        return _words(self.from_format, self.from_version)

    @property
    def result(self) -> str:
        """What the result is, in words."""
        return _words(self.to_format, self.to_version)

    def to_dict(self) -> dict[str, Any]:
        """The fields that a conversion adds to a report."""
        return {
            "from_format": self.from_format, "from_version": self.from_version,
            "to_format": self.to_format, "to_version": self.to_version, "opset_reason": self.opset_reason,
            "lost": [{"what": item.what, "count": item.count, "example": item.example} for item in self.lost],
            "compressed": None if self.compressed is None else asdict(self.compressed),
        }  # fmt: skip


# What the conversion wrote in a small form stays so; shapes and scalars are folded.
_MAX_GROWTH_BYTES = 1024


def _words(name: str, version: int) -> str:
    return f"{FORMAT_NAMES[name]} {'version' if name == IR else 'operator set'} {version}"


# Rounded weights move results by this much, relative to the larger of 1 and the value, or less.
HALF_TOLERANCE = 1e-2


class ConversionWork(Work):
    """Converting one input."""

    _options: ConvertOptions

    def _rewrite(self, model: Model) -> tuple[Model, Report, Conversion | None]:
        from maxfold.optimizer.tailoring import cut, finish

        options = self._options
        require_ir(OTHER_FORMAT[model.format], options)
        fixed = self._fix_dimensions(model) if model.format != IR else 0
        self._source = cut(model, options.outputs, {}) if options.outputs else model
        self._progress.stage("converting")
        result = self._convert(self._source)
        fixed += self._fix_dimensions(result) if model.format == IR else 0
        report = self._optimize(result)
        compressed = finish(result, dict(options.layouts), compress_to_fp16=options.compress_to_fp16)
        report = replace(_between(model, result, report), dimensions_fixed=fixed)
        formats = (model.format, _version(model), result.format, _version(result))
        return result, report, Conversion(*formats, result.lost, result.opset_reason, compressed)

    def _fix_dimensions(self, model: Model) -> int:
        from maxfold.optimizer import optimize

        options = self._options
        if not options.dims and not options.input_shapes:
            return 0
        fixed = optimize(model, passes=(), dims=dict(options.dims), input_shapes=dict(options.input_shapes))
        return fixed.dimensions_fixed

    def _is_to_write(self, report: Report) -> bool:
        return self._options.writes

    def _convert(self, model: Model) -> Model:
        from maxfold.optimizer import convert
        from maxfold.passes.conversion import ConversionError

        options = self._options
        chosen: dict[str, Any] = {}
        if options.ir_version is not None and model.format != IR:
            chosen["ir_version"] = int(options.ir_version)
        if options.opset is not None and model.format == IR:
            chosen["opset"] = options.opset
        if options.fake_quantize is not None and model.format == IR:
            chosen["fake_quantize"] = options.fake_quantize
        try:
            return convert(model, to=cast("Any", OTHER_FORMAT[model.format]), **chosen)
        except ConversionError as error:
            raise RefusedError(f"{self._label}: {error}", self._label, error.refusals) from None

    def _optimize(self, model: Model) -> Report:
        from maxfold.optimizer import optimize

        passes = None if self._options.optimize else ()
        return optimize(model, passes=passes, max_growth_bytes=_MAX_GROWTH_BYTES, progress=self._progress.step)

    def _tolerance(self, report: Report) -> float | None:
        return HALF_TOLERANCE if self._options.compress_to_fp16 else None

    def _original(self, folder: Path) -> Path:
        if not self._options.outputs:
            return self._path
        from maxfold.optimizer import save

        original = folder / f"original{suffix_of(self._source.format)}"
        save(self._source, original)
        return original


def _version(model: Model) -> int:
    return model.net.version if model.net is not None else model.opsets(model.graph).get("", 0)


def _between(model: Model, result: Model, report: Report) -> Report:
    """The report of the passes, with the figures of the input before."""
    return replace(
        report,
        nodes_before=model.node_count(),
        constants_before=sum(1 for _ in model.constants()),
        constant_bytes_before=model.constant_bytes(),
        nodes_after=result.node_count(),
        constants_after=sum(1 for _ in result.constants()),
        constant_bytes_after=result.constant_bytes(),
    )


def require_ir(result_format: str, options: ConvertOptions) -> None:
    """Raises `CommandError` for options that only an IR can follow, where the result is ONNX."""
    given = {"--layout": options.layouts, "--compress-to-fp16": options.compress_to_fp16}
    wrong = [name for name, value in given.items() if value]
    if wrong and result_format != IR:
        raise CommandError(f"{wrong[0]} is for results in OpenVINO IR, and this one is ONNX; leave it out")
