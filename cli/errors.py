"""Errors as the command line tells them: one line on standard error, never a traceback."""

from __future__ import annotations

import errno
import os
import sys
import traceback

DEBUG_VARIABLE = "MAXFOLD_DEBUG"


class CommandError(Exception):
    """A request that cannot be carried out. The message is one line: what is wrong, where, and what to do."""


def describe(error: BaseException) -> str:
    """One line for any exception: what happened and what to do. Not more than 2,000 characters."""
    return one_line(_describe(error))


def _describe(error: BaseException) -> str:
    if is_model_error(error) or isinstance(error, CommandError):
        return str(error)
    if isinstance(error, MemoryError):
        return "there is not enough memory; free some, or use a machine that has more"
    if isinstance(error, RecursionError):
        return "the model is nested too deeply; take some of its subgraphs out"
    if isinstance(error, OSError) and error.strerror:
        return _describe_os_error(error)
    frame = (traceback.extract_tb(error.__traceback__) or [None])[-1]
    place = "" if frame is None else f" in {frame.name}, {os.path.basename(frame.filename)} line {frame.lineno}"  # noqa: PTH119
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return (
        f"internal error: {what}{place}; this is a bug in maxfold, please report it "
        f"({DEBUG_VARIABLE}=1 shows the traceback)"
    )


def _describe_os_error(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    hint = {
        errno.ENOSPC: "; free some space",
        errno.EACCES: "; check its permissions",
        errno.ENOENT: "; check the path",
    }.get(error.errno or 0, "")
    return f"{where}{error.strerror}{hint}"


def is_model_error(error: BaseException) -> bool:
    """Whether it is a `ModelError`; its module, which brings onnx with it, is not imported to find out."""
    module = sys.modules.get("maxfold.model.errors")
    return module is not None and isinstance(error, module.ModelError)


def is_unfit(error: BaseException) -> bool:
    """Whether sizes that were drawn for open dimensions are at fault."""
    module = sys.modules.get("maxfold.optimizer.verification")
    return module is not None and isinstance(error, module.UnfitError)


def one_line(text: str, limit: int = 2000) -> str:
    """The text in one line, with control characters and what cannot be encoded written as escapes."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= limit else f"{line[: limit // 2]} ... {line[-limit // 2 :]}"


def printable(text: str) -> str:
    """Names in model files may hold anything, escape sequences for the terminal too; those are written as escapes."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def encodable(text: str, encoding: str | None) -> str:
    """The text with what the encoding lacks written as escapes."""
    name = encoding or "utf-8"
    return text.encode(name, "backslashreplace").decode(name)


def show_traceback(error: BaseException) -> None:
    """Prints the traceback where the developer's variable asks for it."""
    if os.environ.get(DEBUG_VARIABLE, "") not in ("", "0"):
        traceback.print_exception(error)
