"""The conversion table as data: which operators of ONNX and OpenVINO become which, and within what limits."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from maxfold.passes.conversion import TABLE, Row
from maxfold.passes.signature_table import first_version

OPERATORS_SCHEMA = "maxfold.operators/1"


@dataclass(frozen=True, slots=True)
class OperatorPair:
    """An operator of ONNX and one of OpenVINO, and in which directions one becomes the other.

    `onnx_versions` and `openvino_versions` are the first and the last operator set that is covered, None where no end
    is known. `form` is how the two correspond, `tolerance` how exact results are, `limits` what is refused or differs.
    """

    onnx: str
    openvino: str
    to_openvino: bool
    to_onnx: bool
    onnx_versions: tuple[int, int | None]
    openvino_versions: tuple[int, int | None]
    form: str
    tolerance: str
    limits: str

    def to_dict(self) -> dict[str, Any]:
        """The pair as JSON-ready data, an entry of schema "maxfold.operators/1"."""
        return asdict(self)


def operator_table(name: str = "") -> tuple[OperatorPair, ...]:
    """The table in alphabetical order: all of it, or the rows with `name`, in any case, in the name of an operator."""
    wanted = name.casefold()
    rows = [row for row in TABLE.rows if wanted in row.onnx.casefold() or wanted in row.openvino.casefold()]
    return tuple(map(_pair, sorted(rows, key=lambda row: (row.onnx.casefold(), row.openvino.casefold()))))


def _pair(row: Row) -> OperatorPair:
    return OperatorPair(
        onnx=f"{row.domain}.{row.onnx}" if row.domain else row.onnx,
        openvino=row.openvino,
        to_openvino=row.to_openvino is not None,
        to_onnx=row.to_onnx is not None,
        onnx_versions=(1 if row.domain else first_version(row.onnx), None),
        openvino_versions=(row.openvino_versions[0], row.openvino_versions[1] or None),
        form=row.form,
        tolerance=row.tolerance,
        limits=row.limits,
    )
