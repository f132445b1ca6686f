"""The process in which OpenVINO runs, since bad files crash it: one request a line, one answer a line, in JSON.

Started by `tests.model.openvino.oracle`; not for use by hand.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import openvino as ov
from openvino.utils.node_factory import NodeFactory

from maxfold.model.openvino.text import spell
from tests.model.openvino import made, node_cases, operation_samples
from tests.model.openvino.plain import differences
from tests.model.openvino.running import CannotJudgeError, run_both
from tests.model.openvino.structure import describe


class Worker:
    """Answers requests; each public method is one kind of request."""

    def __init__(self) -> None:
        self.core = ov.Core()

    def count(self) -> int:
        """How many operator cases there are."""
        return len(node_cases.cases())

    def convert(self, number: int, folder: str) -> str:
        """Makes the IR of an operator case; its path."""
        return str(node_cases.convert(self.core, number, Path(folder)))

    def make(self, name: str, path: str) -> None:
        """Makes one of the models of `tests.model.openvino.made`."""
        made.write(name, Path(path))

    def read(self, path: str) -> None:
        """Fails if OpenVINO does not read the file."""
        self.core.read_model(Path(path))

    def layer(self, path: str) -> dict[str, Any]:
        """What OpenVINO reads of the layer of an operation's sample."""
        nodes = self.core.read_model(Path(path)).get_ops()
        node = next(node for node in nodes if node.get_friendly_name() == operation_samples.LAYER)
        attributes = {name: spell(value) for name, value in node.get_attributes().items()}
        results = node.get_output_size()
        return {"version": node.get_type_info().version_id, "attributes": attributes, "results": results}

    def version(self, kind: str, opset: int) -> str:
        """The version of an operation that an operator set has."""
        made = NodeFactory(f"opset{opset}").create(kind)
        return str(made.get_type_info().version_id)

    def made(self, kind: str, opset: int) -> dict[str, str]:
        """The attributes of an operation before it is given any."""
        attributes = NodeFactory(f"opset{opset}").create(kind).get_attributes()
        return {name: spell(value) for name, value in attributes.items()}

    def compare(self, original: str, rewritten: str) -> list[str]:
        """Where two models differ, as OpenVINO reads them."""
        before, after = (describe(self.core.read_model(Path(path))) for path in (original, rewritten))
        return differences(before, after)

    def run(self, original: str, rewritten: str, case: int | None, seed: int) -> list[str] | None:
        """Where the outputs of two models differ; None where running the original says nothing."""
        feeds = None if case is None else node_cases.inputs(case)
        try:
            return run_both(self.core, Path(original), Path(rewritten), feeds, seed)
        except CannotJudgeError:
            return None


def _answer(worker: Worker, request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"result": getattr(worker, request["do"])(*request["arguments"])}
    except Exception as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        return {"error": f"{type(error).__name__}: {lines[-1] if lines else ''}"}


def main() -> None:
    # What a library prints must not come between the answers.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        worker = Worker()
        for line in sys.stdin:
            answers.write(json.dumps(_answer(worker, json.loads(line))) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
