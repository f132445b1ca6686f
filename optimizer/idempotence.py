"""Whether passes of one's own have come to their end, and left a model that can be read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from maxfold.model import Model, ModelError
from maxfold.optimizer.api import load, save
from maxfold.optimizer.report import Report


def check_end(model: Model, run: Callable[[Model], Report]) -> None:
    """Writes a result, reads it again and runs the same passes on it.

    Raises `ModelError` where it cannot be read, or a pass finds something to change in it.
    """
    import tempfile

    # Where a file that is mapped cannot be removed, it is left.
    with tempfile.TemporaryDirectory(prefix="maxfold-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / ("result.xml" if model.format == "openvino" else "result.onnx")
        save(model, path)
        try:
            again = load(path)
        except ModelError as error:
            message = str(error).replace(str(path), "the result")
            raise ModelError(f"{message}; a pass of one's own must have made it so") from None
        report = run(again)
    changes = ", ".join(f"{name} ({count:,})" for name, count in report.changes.items() if count)
    if changes:
        raise ModelError(f"the result is changed again by a second run: {changes}; passes have to come to an end")
