"""maxfold inside an onnx-graphsurgeon script: `python in_a_graphsurgeon_script.py INPUT.onnx OUTPUT.onnx`.

The script makes the input of Softmax a second graph output, a typical piece of surgery. Then maxfold
rewrites the same graph object, in place, before graphsurgeon exports it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import onnx
import onnx_graphsurgeon as gs

import maxfold


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 2:
        print("usage: in_a_graphsurgeon_script.py INPUT.onnx OUTPUT.onnx", file=sys.stderr)
        return 2
    source, target = arguments
    graph = gs.import_onnx(onnx.load(source))

    softmax = next(node for node in graph.nodes if node.op == "Softmax")
    logits = softmax.inputs[0]
    logits.dtype = np.float32
    graph.outputs.append(logits)

    report = maxfold.optimize(graph)
    print(f"{report.nodes_before} -> {report.nodes_after} nodes")

    onnx.save(gs.export_onnx(graph), target)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
