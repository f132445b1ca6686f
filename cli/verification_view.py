"""How a verification is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from maxfold.cli.layout import columns, counted, plain, print_lines

if TYPE_CHECKING:
    from rich.console import Console

    from maxfold.optimizer.verification import OutputComparison, Verification

_STYLES = ("bold", "", "", "", "", "dim", "dim")


def show_verification(console: Console, names: tuple[str, str], verification: Verification, *, is_full: bool) -> None:
    """What was run, each output at its worst (with `is_full` in each run), and the verdict."""
    lines = columns(list(zip(names, verification.runtimes, strict=True)), "ll", ("bold", "dim"))
    lines += [Text(), *_runs(verification), Text(), *_outputs(verification, is_full)]
    lines += [Text(), *(plain(note) for note in verification.notes), _verdict(verification)]
    print_lines(console, lines)


def _runs(verification: Verification) -> list[Text]:
    origin = "given inputs" if verification.seed is None else f"random inputs, seed {verification.seed}"
    rows = []
    for run in range(verification.runs):
        fed = [f"{item.name} {item.dtype}{list(item.shape)}" for item in verification.inputs if item.run == run]
        rows.append(["" if run else f"{counted(verification.runs, 'run')}, {origin}", ", ".join(fed)])
    return columns(rows, "ll", ("", "dim"))


def _outputs(verification: Verification, is_full: bool) -> list[Text]:
    shown = list(verification.outputs) if is_full else _worst(verification.outputs)
    rows = [["output", "bits", "max abs", "max rel", "max ulp", *(["run"] if is_full else []), ""]]
    for item in shown:
        numbers = [_number(item.max_abs), _number(item.max_rel), _number(item.max_ulp)]
        bits = "same" if item.is_bit_equal else "differ"
        rows.append([item.name, bits, *numbers, *([str(item.run + 1)] if is_full else []), item.mismatch])
    lines = columns(rows, "llrrrll" if is_full else "llrrrl", _STYLES)
    lines[0].stylize("dim")
    for line, item in zip(lines[1:], shown, strict=True):
        if not item.is_bit_equal and item.max_rel > verification.tolerance:
            line.stylize("yellow")
    return lines


def _worst(outputs: Sequence[OutputComparison]) -> list[OutputComparison]:
    found: dict[str, OutputComparison] = {}
    for item in outputs:
        other = found.get(item.name)
        if other is None or (item.max_rel, not item.is_bit_equal) > (other.max_rel, not other.is_bit_equal):
            found[item.name] = item
    return list(found.values())


def _number(value: float | None) -> str:
    return "" if value is None else "0" if not value else f"{value:.3g}"


def _verdict(verification: Verification) -> Text:
    if all(item.is_bit_equal for item in verification.outputs):
        return plain("equal: the same bits", "green")
    if verification.is_equal:
        within = f"within {verification.tolerance:g}" if verification.tolerance else "but for the sign of zeros"
        return plain(f"equal {within}", "green")
    worst = sum(
        item.max_rel > verification.tolerance and not item.is_bit_equal for item in _worst(verification.outputs)
    )
    return plain(f"different: {counted(worst, 'output')} beyond {verification.tolerance:g}", "yellow")
