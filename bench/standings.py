"""maxfold against the best peer of each model: relaxed mode against valid results, exact mode against the same bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.table import Table

from bench.compare import ModelResult, ToolResult
from bench.peers import Tool
from bench.table import plain_table

EXACT, RELAXED = "maxfold", "maxfold-relaxed"


@dataclass(frozen=True, slots=True)
class Standing:
    """Nodes that maxfold leaves of one model, and those of the peer that leaves the fewest.

    Where no peer has a result that counts, `peer` is "" and `peer_nodes` are those of the original.
    """

    model: str
    nodes: int
    peer: str
    peer_nodes: int

    @property
    def ahead(self) -> int:
        """How many nodes fewer maxfold leaves; negative where the peer leaves fewer."""
        return self.peer_nodes - self.nodes


def is_valid(model: ModelResult, result: ToolResult) -> bool:
    """Whether a result can stand in for the original: it is accepted as that is, runs, and has the same interface.

    Values may differ, by more than rounding too: a peer gets the benefit of the doubt.
    """
    verdict = result.verdict
    if result.error or verdict is None or verdict.nodes is None or verdict.interface:
        return False
    if verdict.checker and not model.original.checker:
        return False
    if model.original.not_judged:
        return True
    return verdict.outputs == "same bits" or (verdict.outputs == "differ" and not verdict.detail)


def is_exact(model: ModelResult, result: ToolResult) -> bool:
    """Whether a result is valid and gives the same bits; where outputs are not judged, validity has to do."""
    if not is_valid(model, result):
        return False
    return bool(model.original.not_judged) or (result.verdict is not None and result.verdict.outputs == "same bits")


def standings(
    results: list[ModelResult], tools: tuple[Tool, ...], own: str, counts: Callable[[ModelResult, ToolResult], bool]
) -> list[Standing]:
    """How maxfold, as the tool `own`, compares on each model with the peers whose results count."""
    peers = {tool.name for tool in tools if tool.is_peer}
    found = []
    for model in results:
        mine = model.tool(own)
        if mine is None:
            continue
        best = min(
            (
                (result.verdict.nodes, result.tool)
                for result in model.tools
                if result.tool in peers
                and counts(model, result)
                and result.verdict
                and result.verdict.nodes is not None
            ),
            default=(model.original.nodes, ""),
        )
        nodes = mine.verdict.nodes if counts(model, mine) and mine.verdict is not None else None
        found.append(Standing(model.name, model.original.nodes if nodes is None else nodes, best[1], best[0]))
    return found


def summary(found: list[Standing], what: str) -> str:
    """One paragraph: on how many models maxfold leaves fewer, as many and more nodes, and on which more."""
    fewer = sum(item.ahead > 0 for item in found)
    more = [item for item in found if item.ahead < 0]
    text = f"{what}: fewer nodes on {fewer} models, as many on {len(found) - fewer - len(more)}, more on {len(more)}; "
    text += f"{sum(item.nodes for item in found)} nodes against {sum(item.peer_nodes for item in found)}."
    if more:
        text += " More on " + ", ".join(f"{item.model} (+{-item.ahead}, {item.peer})" for item in more) + "."
    return text


def standings_table(results: list[ModelResult], tools: tuple[Tool, ...]) -> Table | None:
    """A row a model with both modes; None without maxfold or without a peer."""
    if not any(tool.is_peer for tool in tools):
        return None
    relaxed = standings(results, tools, RELAXED, is_valid)
    exact = standings(results, tools, EXACT, is_exact)
    texts = [
        summary(found, what)
        for found, what in ((relaxed, "Relaxed, all valid peers"), (exact, "Exact, peers of the same bits"))
        if found
    ]
    if not texts:
        return None
    columns = ["nodes", "relaxed", "best\npeer", "fewer\nby", "exact", "best\nexact", "fewer\nby"]
    table = plain_table("Against the best peer of each model", "model", columns, "\n".join(texts))
    by_name = [{item.model: item for item in found} for found in (relaxed, exact)]
    for model in results:
        cells = [cell for found in by_name for cell in _cells(found.get(model.name))]
        table.add_row(model.name, str(model.original.nodes), *cells)
    return table


def _cells(standing: Standing | None) -> list[str]:
    if standing is None:
        return ["-", "-", "-"]
    return [str(standing.nodes), str(standing.peer_nodes), f"{standing.ahead:+d}" if standing.ahead else "0"]
