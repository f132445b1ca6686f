"""How an inspection is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rich.text import Text

from maxfold.cli.formats import FORMAT_NAMES, IR
from maxfold.cli.layout import bytes_text, change_text, columns, counted, indented, plain, print_lines

if TYPE_CHECKING:
    from rich.console import Console

    from maxfold.optimizer import Report
    from maxfold.optimizer.inspection import Inspection, TensorInfo

_LARGEST = 5
_LONGEST_VALUE = 200


def show_inspection(console: Console, label: str, inspection: Inspection, possible: Mapping[str, Report]) -> None:
    """Everything in sections; what a model does not have is not mentioned."""
    lines = [plain(label, "bold"), *_about(inspection)]
    lines += _section("inputs", _tensors(inspection.inputs))
    lines += _section("outputs", _tensors(inspection.outputs))
    lines += _section(_nodes_title(inspection), _operators(inspection, console.width), is_optional=False)
    lines += _section(_constants_title(inspection), _constants(inspection), is_optional=False)
    lines += _section("functions", map(plain, inspection.functions))
    lines += _section("metadata", _metadata(inspection))
    lines += _section("maxfold optimize", _possible(inspection, possible))
    print_lines(console, lines)


def _section(title: str, lines: Iterable[Text], *, is_optional: bool = True) -> list[Text]:
    shown = list(lines)
    return [] if is_optional and not shown else [Text(), plain(title, "bold"), *indented(shown)]


def _about(inspection: Inspection) -> list[Text]:
    is_ir = inspection.format == IR
    opsets = ", ".join(
        domain if is_ir else f"{domain or 'ai.onnx'} {version}" for domain, version in inspection.opsets.items()
    )
    version = f"{'' if is_ir else 'IR '}version {inspection.ir_version}"
    rows = [
        ["format", f"{FORMAT_NAMES[inspection.format]}, {version}"],
        ["operator sets", opsets],
        ["producer", inspection.producer],
        ["graph", inspection.graph_name],
        ["files", bytes_text(inspection.file_bytes)],
        ["description", _short(inspection.doc_string)],
    ]
    return indented(columns([row for row in rows if row[1]], "ll", ("dim", "")))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_VALUE else f"{line[:_LONGEST_VALUE]}..."


def _tensors(tensors: Iterable[TensorInfo]) -> list[Text]:
    return columns([[info.name, _type(info)] for info in tensors], "ll", ("", "dim"))


def _type(info: TensorInfo) -> str:
    kind = info.dtype or ("?" if info.type == "tensor" else "")
    shape = "" if info.shape is None else f"[{', '.join('?' if dim is None else str(dim) for dim in info.shape)}]"
    words = [info.type if info.type != "tensor" else "", f"{kind}{shape}", "with a default" if info.has_default else ""]
    return " ".join(filter(None, words))


def _nodes_title(inspection: Inspection) -> str:
    subgraphs = f", {counted(inspection.subgraphs, 'subgraph')}" if inspection.subgraphs else ""
    return f"{counted(inspection.nodes, 'node')}{subgraphs}"


def _operators(inspection: Inspection, width: int) -> list[Text]:
    """Operators with their counts, in as many columns as there is room for, the most frequent first, downwards."""
    items = [(f"{count:,}", name) for name, count in inspection.operators.items()]
    if not items:
        return []
    widest = max(len(count) for count, _ in items) + max(len(name) for _, name in items) + 5
    across = max(1, min(4, (width - 2) // widest))
    down = -(-len(items) // across)
    items += [("", "")] * (down * across - len(items))
    rows = [[cell for column in range(across) for cell in items[column * down + row]] for row in range(down)]
    return columns(rows, "rl" * across, ("bold", "") * across)


def _constants_title(inspection: Inspection) -> str:
    is_apart = inspection.external_constants and inspection.format != IR
    outside = f", {inspection.external_constants:,} in other files" if is_apart else ""
    return f"{counted(inspection.constants, 'constant')}, {bytes_text(inspection.constant_bytes)}{outside}"


def _constants(inspection: Inspection) -> list[Text]:
    rows = [
        [bytes_text(constant.nbytes), f"{constant.dtype or '?'}{list(constant.shape)}", constant.name]
        for constant in inspection.largest_constants[:_LARGEST]
    ]
    lines = columns(rows, "rll", ("bold", "dim", ""))
    if inspection.constants > _LARGEST:
        lines.append(plain(f"and {inspection.constants - _LARGEST:,} smaller", "dim"))
    return lines


def _metadata(inspection: Inspection) -> list[Text]:
    return columns([[key, _short(value)] for key, value in inspection.metadata.items()], "ll", ("dim", ""))


def _possible(inspection: Inspection, possible: Mapping[str, Report]) -> list[Text]:
    rows = []
    for mode, report in possible.items():
        nodes = f"{report.nodes_after:,} nodes"
        data = f"{bytes_text(report.constant_bytes_after)} of constants"
        before = inspection.constant_bytes
        rows.append(
            [f"--math {mode}", nodes, change_text(inspection.nodes, report.nodes_after),
             data, change_text(before, report.constant_bytes_after)]
        )  # fmt: skip
    return columns(rows, "lrrrr", ("", "bold", "", "", ""))
