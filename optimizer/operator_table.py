"""The conversion table as data: which operators of ONNX and OpenVINO become which, and within what limits."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from maxfold.passes.conversion import TABLE
from maxfold.passes.conversion.pair import Pair
from maxfold.passes.conversion.row import FromOnnx, FromOpenvino, Row
from maxfold.passes.conversion.without_form import REASONS as WITHOUT_FORM
from maxfold.passes.signature_table import first_version

OPERATORS_SCHEMA = "maxfold.operators/1"

__all__ = ["OPERATORS_SCHEMA", "WITHOUT_FORM", "OperatorPair", "operator_table"]


@dataclass(frozen=True, slots=True)
class OperatorPair:
    """An operator of ONNX and one of OpenVINO, and in which directions one becomes the other.

    `onnx_versions` and `openvino_versions` are the first and the last operator set that is covered, None where no end
    is known. `form` is "pair" or "lowering", `tolerance` how exact results are, `limits` what is refused or differs.
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
    """The table in alphabetical order: all of it, or the rows with `name`, in any case, in the name of an operator.

    Lowerings of two operators to each other are one entry.
    """
    wanted = name.casefold()
    found: dict[tuple[str, str], list[Row]] = {}
    for row in TABLE.rows:
        if wanted in row.onnx.casefold() or wanted in row.openvino.casefold():
            found.setdefault((row.onnx, row.openvino), []).append(row)
    return tuple(_pair(found[key]) for key in sorted(found, key=lambda key: (key[0].casefold(), key[1].casefold())))


def _pair(rows: list[Row]) -> OperatorPair:
    return OperatorPair(
        onnx=rows[0].onnx,
        openvino=rows[0].openvino,
        to_openvino=any(not isinstance(row, FromOpenvino) for row in rows),
        to_onnx=any(not isinstance(row, FromOnnx) for row in rows),
        onnx_versions=(1 if "." in rows[0].onnx else first_version(rows[0].onnx), None),
        openvino_versions=(min(row.since for row in rows), None),
        form="pair" if isinstance(rows[0], Pair) else "lowering",
        tolerance=rows[0].tolerance,
        limits=_limits(rows),
    )


def _limits(rows: list[Row]) -> str:
    """What is refused or differs; with the direction, where the two have limits of their own."""
    ways = [[row for row in rows if not isinstance(row, other)] for other in (FromOpenvino, FromOnnx)]
    texts = [" ".join(dict.fromkeys(row.limits for row in way if row.limits)) for way in ways]
    if not all(ways) or texts[0] == texts[1]:
        return texts[0] or texts[1]
    named = zip(("From ONNX", "From OpenVINO"), texts, strict=True)
    return " ".join(f"{way}: {text}" for way, text in named if text)
