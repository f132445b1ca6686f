"""The work on one input of `maxfold convert`: read, convert, optimize, verify, write."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

from maxfold.cli.formats import FORMAT_NAMES, IR, OTHER_FORMAT
from maxfold.cli.options import ConvertOptions
from maxfold.cli.work import RefusedError, Work

if TYPE_CHECKING:
    from maxfold.model.model import Lost
    from maxfold.optimizer import Model, Report


@dataclass(frozen=True, slots=True)
class Conversion:
    """From what to what: formats with the version of the operator set (ONNX) or of the file format (IR).

    `lost` is what of the input has no place in the other format, `opset_reason` why the operator set is a newer one
    than usual.
    """

    schema: ClassVar[str] = "maxfold.conversion/1"

    from_format: str
    from_version: int
    to_format: str
    to_version: int
    lost: tuple[Lost, ...] = ()
    opset_reason: str = ""

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
        }  # fmt: skip


# What the conversion wrote in a small form stays so; shapes and scalars are folded.
_MAX_GROWTH_BYTES = 1024


def _words(name: str, version: int) -> str:
    return f"{FORMAT_NAMES[name]} {'version' if name == IR else 'operator set'} {version}"


class ConversionWork(Work):
    """Converting one input."""

    _options: ConvertOptions

    def _rewrite(self, model: Model) -> tuple[Model, Report, Conversion | None]:
        fixed = self._fix_dimensions(model)
        self._progress.stage("converting")
        result = self._convert(model)
        report = replace(_between(model, result, self._optimize(result)), dimensions_fixed=fixed)
        formats = (model.format, _version(model), result.format, _version(result))
        return result, report, Conversion(*formats, result.lost, result.opset_reason)

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
        return None


def _version(model: Model) -> int:
    return model.net.version if model.net is not None else model.opsets(model.graph).get("", 0)


def _between(model: Model, result: Model, report: Report) -> Report:
    """The report of the passes, with the figures of the input before."""
    return replace(
        report,
        nodes_before=model.node_count(),
        constants_before=sum(1 for _ in model.constants()),
        constant_bytes_before=model.constant_bytes(),
    )
