"""Memory does not grow with the weights that rewrites make: they are computed while they are written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import NodeProto, TensorProto, helper, numpy_helper

_SIZE = 1024
_COUNT = 16

# The peak of the process once everything has been used that has a cost of its own, and at the end.
_GROWTH = """
import sys
from maxfold.optimizer import load, optimize, save

def peak_bytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))

def run(source, target):
    model = load(source)
    report = optimize(model, math="relaxed", fold_quantized=True, max_growth_bytes=1 << 30)
    save(model, target)
    return report.nodes_after

small, large, target = sys.argv[1:]
run(small, target)
before = peak_bytes()
nodes = run(large, target)
print(nodes, peak_bytes() - before)
"""


def _write(path: Path, count: int, size: int) -> None:
    """Products with weights that are turned, widened, scaled and shifted before or behind."""
    rng = np.random.default_rng(1)
    nodes: list[NodeProto] = []
    tensors: list[TensorProto] = []
    x = "x"
    for index in range(count):
        weight, w = rng.random((size, size), np.float32) / np.float32(size), f"w{index}"
        tensors.append(numpy_helper.from_array(weight.astype(np.float16 if index % 4 == 3 else np.float32), w))
        parameters = rng.random((2, size), np.float32) + np.float32(0.5)
        tensors += [numpy_helper.from_array(parameters[0], f"scale{index}")]
        tensors += [numpy_helper.from_array(parameters[1], f"shift{index}")]
        steps = [("Transpose", [w], {"perm": [1, 0]}), ("Neg", [w], {}), None, ("Cast", [w], {"to": 1})]
        step = steps[index % 4]
        if step is not None:
            nodes.append(helper.make_node(step[0], step[1], [f"{w}_made"], **step[2]))
            w = f"{w}_made"
        nodes += [
            helper.make_node("MatMul", [x, w], [f"m{index}"]),
            helper.make_node("Mul", [f"m{index}", f"scale{index}"], [f"a{index}"]),
            helper.make_node("Add", [f"a{index}", f"shift{index}"], [f"b{index}"]),
            helper.make_node("Relu", [f"b{index}"], [f"r{index}"]),
        ]
        x = f"r{index}"
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, size]) for name in ("x", x)]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_new_weights_take_memory_one_at_a_time(tmp_path: Path) -> None:
    small, large, target = (tmp_path / name for name in ("small.onnx", "large.onnx", "out.onnx"))
    _write(small, 4, 300)
    _write(large, _COUNT, _SIZE)
    command = [sys.executable, "-c", _GROWTH, str(small), str(large), str(target)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    nodes, growth_bytes = map(int, result.stdout.split())
    assert nodes == 2 * _COUNT
    # Three times the largest of them, which is turned as a whole; all of them are 60 MB.
    assert growth_bytes < 16 * _SIZE * _SIZE


# What is in memory when the message has been parsed is not counted.
_IN_MEMORY = """
import sys
import onnx
import maxfold

def bytes_of(kind):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(kind))

small, large = sys.argv[1:]
maxfold.optimize(onnx.load(small), math="relaxed")
model = onnx.load(large)
before = bytes_of("VmRSS")
with open("/proc/self/clear_refs", "w") as peak:
    peak.write("5")
report = maxfold.optimize(model, math="relaxed")
print(report.nodes_after, bytes_of("VmHWM") - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_message_is_rewritten_with_one_copy_of_its_weights(tmp_path: Path) -> None:
    small, large = tmp_path / "small.onnx", tmp_path / "large.onnx"
    _write(small, 4, 300)
    _write(large, _COUNT, _SIZE)
    command = [sys.executable, "-c", _IN_MEMORY, str(small), str(large)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    nodes, growth_bytes = map(int, result.stdout.split())
    assert nodes < 4 * _COUNT
    # One copy, and what one tensor is made of; the largest has four bytes an element.
    assert growth_bytes < large.stat().st_size + 16 * _SIZE * _SIZE
