"""What the two conversions of each model cost and gave, as tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from rich.console import Console

from bench.table import plain_table, ratio_text

if TYPE_CHECKING:
    from bench.conversion import Row, Side

STATUSES = ("right", "unstable", "wrong", "not loaded", "not judged", "refused", "crashed")
# What the project holds conversion to: time and memory, and latency, over those of OpenVINO's own.
MOST_COST = 0.5
MOST_LATENCY = 1.02


def seconds(side: Side) -> float | None:
    """Wall seconds of the conversion."""
    return side.conversion.seconds_median()


def cpu_seconds(side: Side) -> float | None:
    """User and system seconds of the conversion."""
    return side.conversion.cpu_median()


def growth(side: Side) -> float | None:
    """Megabytes that the conversion takes above its imports."""
    taken = side.conversion.growth_bytes
    return None if taken is None or side.conversion.error else taken / 1e6


def load_seconds(side: Side) -> float | None:
    """Wall seconds of reading and compiling the result."""
    return median(side.times.load_seconds) if side.times.load_seconds else None


def print_all(out: Console, environment: dict[str, Any], rows: Sequence[Row]) -> None:
    """Versions, both tables, the reasons and the totals."""
    versions = ", ".join(f"{name} {version}" for name, version in environment["versions"].items())
    out.print(f"{environment['date']}, {environment['platform']}, {environment['cpu_count']} CPUs")
    out.print(f"{versions}\n")
    out.print(_costs(rows))
    out.print(_results(rows))
    for row in rows:
        for side in (row.ours, row.theirs):
            if side.reason:
                text = f"{row.name}, {side.conversion.tool}: {side.status}: {side.reason}"
                out.print(text, markup=False, soft_wrap=True)
    for line in totals(rows):
        out.print(line, markup=False, soft_wrap=True)


def _costs(rows: Sequence[Row]) -> Any:
    table = plain_table(
        "Conversion", "model", ["s", "theirs", "x", "CPU s", "theirs", "x", "MB", "theirs", "x"],
        "Medians of whole processes; MB: growth of memory above the imports.",
    )  # fmt: skip
    for row in rows:
        cells = []
        for of, digits in ((seconds, 2), (cpu_seconds, 2), (growth, 0)):
            pair = [_number(of(side), digits) for side in (row.ours, row.theirs)]
            cells += [*pair, ratio_text(row.ratio(of))]
        table.add_row(row.name, *cells)
    return table


def _results(rows: Sequence[Row]) -> Any:
    table = plain_table(
        "In OpenVINO", "model", ["ours", "theirs", "off by", "nodes", "theirs", "load x", "latency x"],
        "off by: of ours, over the largest magnitude of an output; -: not known, as where a node has a graph inside.",
    )  # fmt: skip
    for row in rows:
        nodes = [_number(side.nodes(), 0) for side in (row.ours, row.theirs)]
        apart = "-" if row.ours.seen is None or row.ours.status == "not judged" else f"{row.ours.seen.apart:.0e}"
        ratios = [ratio_text(row.ratio(load_seconds)), ratio_text(row.latency())]
        table.add_row(row.name, row.ours.status, row.theirs.status, apart, *nodes, *ratios)
    return table


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def totals(rows: Sequence[Row]) -> list[str]:
    """The last lines: outcomes of both tools, cost, nodes and latency."""
    lines = [
        f"{tool}: of {len(rows)} models {_outcomes([of(row) for row in rows])}"
        for tool, of in (("maxfold", _ours), ("openvino", _theirs))
    ]
    faults = [row.name for row in rows if row.has_fault()]
    lines.append(f"faults of maxfold alone: {', '.join(faults) or 'none'}")
    for what, of in (("time", seconds), ("CPU time", cpu_seconds), ("memory", growth), ("load time", load_seconds)):
        limit = None if of is load_seconds else MOST_COST
        lines += _ratios(what, [(row.name, row.ratio(of)) for row in rows], limit)
    lines += _ratios("latency", [(row.name, row.latency()) for row in rows], MOST_LATENCY)
    counted = [row for row in rows if row.ours.nodes() is not None and row.theirs.nodes() is not None]
    sums = [sum(of(row).nodes() or 0 for row in counted) for of in (_ours, _theirs)]
    more = [_more(row) for row in counted if row.has_more_nodes()]
    lines.append(f"nodes: {sums[0]} over {sums[1]} on {len(counted)} models, more on {len(more)}")
    return lines + more


def _ours(row: Row) -> Side:
    return row.ours


def _theirs(row: Row) -> Side:
    return row.theirs


def _outcomes(sides: Sequence[Side]) -> str:
    counts = Counter(side.status for side in sides)
    converted = sum(not side.conversion.error for side in sides)
    found = [f"{counts[status]} {status}" for status in STATUSES if counts[status] or status in ("right", "wrong")]
    return f"{converted} converted; {', '.join(found)}"


def _ratios(what: str, named: Sequence[tuple[str, float | None]], limit: float | None) -> list[str]:
    found = sorted((ratio, name) for name, ratio in named if ratio)
    if not found:
        return []
    mean = math.exp(sum(math.log(ratio) for ratio, _ in found) / len(found))
    middle, (most, worst) = median(ratio for ratio, _ in found), found[-1]
    line = (
        f"{what}, x OpenVINO's, on {len(found)} models: median {_exact(middle)}, geometric mean {_exact(mean)}, "
        f"most {_exact(most)} ({worst})"
    )
    over = [f"{name} {_exact(ratio)}" for ratio, name in found if limit is not None and ratio > limit]
    return [line] if limit is None else [f"{line}; above {limit:g}: {', '.join(over) or 'none'}"]


def _exact(ratio: float) -> str:
    return f"{ratio:.3f}"


def _more(row: Row) -> str:
    """Which kinds of nodes there are more or fewer of."""
    kinds = [Counter(side.seen.nodes if side.seen else {}) for side in (row.ours, row.theirs)]
    changed = sorted(kind for kind in kinds[0] | kinds[1] if kinds[0][kind] != kinds[1][kind])
    told = ", ".join(f"{kind} {kinds[0][kind]} over {kinds[1][kind]}" for kind in changed)
    return f"- {row.name}: {row.ours.nodes()} over {row.theirs.nodes()} ({told})"
