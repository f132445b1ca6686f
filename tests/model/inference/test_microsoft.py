"""ONNX Runtime's own operators: what is derived of them is what it gives, and what it refuses to load is known."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto

from maxfold.model import read_onnx
from maxfold.model.inference import Inference
from maxfold.model.inference.microsoft import row_of
from maxfold.model.inference.microsoft.table import TABLE
from maxfold.model.view import View
from tests.model.inference import varied
from tests.model.inference.evaluation import Array, contradictions
from tests.model.inference.microsoft_cases import CASES, NOT_RUN, OTHERWISE, cases
from tests.model.inference.runtime import Runtime
from tests.text import model

MOST_RUNS, MOST_TRIALS = 20, 120
# Their sizes depend on what is fed.
OPEN = {"ConvTransposeWithDynamicPads", "Range", "Unique"}


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    # Of empty filters some runs never come back.
    started = Runtime(patience_seconds=3)
    yield started
    started.close()


def _opened(proto: ModelProto) -> ModelProto:
    """The model without any shape."""
    copy = ModelProto()
    copy.CopyFrom(proto)
    for info in (*copy.graph.input, *copy.graph.output):
        info.type.tensor_type.ClearField("shape")
    return copy


def _wrong(proto: ModelProto, feeds: Mapping[str, Array], results: Mapping[str, Array], kind: str) -> list[str]:
    """Where what is derived is not what a run has given."""
    loaded = read_onnx(varied.declared(proto, feeds, kind, seed=len(results) + sum(map(np.size, feeds.values()))))
    tensors = [*loaded.graph.inputs, *(tensor for node in loaded.graph.nodes for tensor in node.outputs)]
    found = contradictions(View(loaded), tensors, {**feeds, **results})
    return [f"{kind}, {[array.shape for array in feeds.values()]}: {problem}" for problem in found]


def _refusal(proto: ModelProto) -> str | None:
    loaded = read_onnx(proto)
    (node,) = loaded.graph.nodes
    return Inference(View(loaded, believes_zero=True)).refusal(node)


@pytest.mark.parametrize("operator", CASES)
def test_what_is_derived_is_what_a_run_gives(operator: str, runtime: Runtime) -> None:
    choice = random.Random(zlib.crc32(operator.encode()))
    runs = [
        (_opened(proto), dict(zip((info.name for info in proto.graph.input), operands, strict=True)))
        for proto, arrays in cases(operator)
        for operands in varied.variants(arrays)
    ]
    choice.shuffle(runs)
    problems: list[str] = []
    compared = 0
    for proto, feeds in runs[:MOST_TRIALS]:
        static = varied.declared(proto, feeds, choice.choice(("static", "static, constant integers")), 0)
        left = {info.name: feeds[info.name] for info in static.graph.input}
        results = runtime.run(proto, feeds)
        again = runtime.run(static, left)
        if again is None and results is not None and _refusal(static) is None:
            problems.append(f"{[array.shape for array in feeds.values()]} is refused as soon as it is known")
        results = results or again
        if results is None:
            continue
        for kind in choice.sample(varied.KINDS, 3):
            problems += _wrong(proto, feeds, results, kind)
        compared += 1
        if compared == MOST_RUNS:
            break
    assert "\n".join(problems) == ""
    assert compared, "ONNX Runtime took none"


@pytest.mark.parametrize("operator", CASES)
def test_all_is_derived_of_what_is_right(operator: str, runtime: Runtime) -> None:
    """Each model runs as it stands, and rank and sizes of its results are known."""
    for proto, arrays in cases(operator):
        feeds = dict(zip((info.name for info in proto.graph.input), arrays, strict=True))
        results = runtime.run(proto, feeds)
        assert results is not None
        for kind in ("static", "symbolic, constant integers", "static, constant integers"):
            loaded = read_onnx(varied.declared(_opened(proto), feeds, kind, 0))
            view = View(loaded)
            for tensor in loaded.graph.nodes[0].outputs:
                assert view.rank(tensor) == results[tensor.name].ndim, (kind, tensor.name)
                is_open = operator in OPEN or kind != "static, constant integers"
                assert is_open or view.shape(tensor) == results[tensor.name].shape, tensor.name


@pytest.mark.parametrize(("domain", "operator"), TABLE)
def test_rows_take_what_schemas_have(domain: str, operator: str) -> None:
    """Names in their order, and no more left out than the schema has it."""
    row = TABLE[domain, operator]
    (schema,) = (
        item
        for item in onnxruntime.capi.onnxruntime_pybind11_state.get_all_operator_schema()
        if (item.domain, item.name) == (domain, operator)
    )
    for names, listed in ((row.inputs.split(), schema.inputs), (row.results.split(), schema.outputs)):
        assert len(names) == len(listed)
        for name, item in zip(names, listed, strict=True):
            kind = str(item.option).rpartition(".")[2]
            assert not name.endswith("?") or kind == "Optional", name
            assert name.endswith("*") == (kind == "Variadic"), name


def test_each_row_is_run() -> None:
    own = {operator for domain, operator in TABLE if domain != "com.microsoft.nchwc"}
    assert own == {*CASES, *NOT_RUN, *OTHERWISE}


@pytest.mark.parametrize(
    ("inputs", "call", "reason"),
    [
        ("float[2,3] x", "BiasGelu(x)", "its input B is left out"),
        ("float[2,3] x, float[3] y", "Gelu(x, y)", "it takes no more than 1 inputs"),
        ("float[2,3] x, float[3] y", "QuantizeLinear(, x)", "its input x is left out"),
        ("float[2,3] x, float[4] y", "BiasGelu(x, y)", "3 and 4 differ"),
        ("float[2,3] x, float[4,3] y", "FusedMatMul(x, y)", "3 and 4 differ"),
        ("float[2,3] x, float[1,3,4] y", "FusedMatMul<transBatchA = 1>(x, y)",
         "a batch is to be transposed that the operands do not have"),
        ("float[2,3] x, uint8[4,2,8] y, float[4,2] s", "MatMulNBits<K = 32, N = 4, block_size = 16>(x, y, s)",
         "3 and 32 differ"),
        ("float[2,3] x, uint8[4,2,8] y, float[4,2] s", "MatMulNBits<N = 4, block_size = 16>(x, y, s)",
         "attribute K is no integer"),
        ("float[2,3,9] x, float[9,25] w, float[25] b", "Attention<num_heads = 2>(x, w, b)", "25 is not a third each"),
        ("float[2,3,9] q", "MultiHeadAttention<num_heads = 2>(q, q, q)", "2 heads do not divide 9"),
        ("float[2,3,8] q", "MultiHeadAttention(q, q, q)", "attribute num_heads is no integer"),
    ],
)  # fmt: skip
def test_nothing_is_derived_of_what_contradicts_itself(inputs: str, call: str, reason: str) -> None:
    proto = model(
        f"g ({inputs}) => (float z) {{ z = com.microsoft.{call} }}",
        domains='"com.microsoft" : 1',
    )
    loaded = read_onnx(proto)
    view = View(loaded)
    (result,) = loaded.graph.outputs
    assert (view.dtype(result), view.dims(result)) == (None, None)
    assert _refusal(proto) == reason


def test_a_function_of_the_file_is_no_operator_of_the_runtime() -> None:
    proto = model(
        "g (float[2,3] x) => (float y) { y = com.microsoft.Gelu(x) }",
        domains='"com.microsoft" : 1',
        functions='<domain: "com.microsoft", opset_import: ["" : 17]> Gelu (a) => (c) { c = Transpose(a) }',
    )
    loaded = read_onnx(proto)
    assert View(loaded).shape(loaded.graph.outputs[0]) == (3, 2)


def test_text(runtime: Runtime) -> None:
    proto = model(
        "g (string[N,2] x) => (string y) { y = com.microsoft.Tokenizer"
        '<mark = 0, mincharnum = 1, pad_value = "#", separators = [" "]>(x) }',
        domains='"com.microsoft" : 1',
    )
    found = runtime.run(proto, {"x": np.array([["a b", "c"]], object)})
    assert found is not None
    loaded = read_onnx(proto)
    (result,) = loaded.graph.outputs
    view = View(loaded)
    assert (str(view.dtype(result)), view.shape(result)) == ("string", (None, 2, None))
    assert found["y"].shape == (1, 2, 2)


def test_the_blocked_layout(tmp_path: Path, runtime: Runtime) -> None:
    """A model that ONNX Runtime has optimized itself, with all inner tensors as outputs."""
    rng = np.random.default_rng(0)
    constants = {
        "w": rng.standard_normal((20, 3, 3, 3)).astype(np.float32),
        "v": rng.standard_normal((20, 20, 3, 3)).astype(np.float32),
        "s": np.array([1, 1, 2, 2], np.float32),
        "e": np.zeros(0, np.float32),
    }
    proto = model(
        "g (float[1,3,16,16] x) => (float[1,20,A,B] y, float[1,20,1,1] z) {\n"
        "a = Conv<pads = [1,1,1,1]>(x, w)\n b = Relu(a)\n c = MaxPool<kernel_shape = [2,2], strides = [2,2]>(b)\n"
        "d = Conv<strides = [2,2]>(c, v)\n f = AveragePool<kernel_shape = [3,3]>(d)\n z = GlobalAveragePool(f)\n"
        'y = Resize<mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">'
        "(d, e, s) }",
        constants=constants,
        opset=13,
    )
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 4
    onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    optimized = onnx.load(tmp_path / "optimized.onnx")
    if not any(node.domain == "com.microsoft.nchwc" for node in optimized.graph.node):
        pytest.skip("this processor has no blocked layout")
    named = {info.name for info in optimized.graph.output}
    optimized.graph.ClearField("value_info")
    for node in optimized.graph.node:
        optimized.graph.output.extend(onnx.ValueInfoProto(name=name) for name in node.output if name not in named)
    feeds = {"x": rng.standard_normal((1, 3, 16, 16)).astype(np.float32)}
    results = runtime.run(optimized, feeds)
    assert results is not None
    loaded = read_onnx(optimized)
    view = View(loaded)
    tensors = [tensor for node in loaded.graph.nodes for tensor in node.outputs]
    assert contradictions(view, tensors, {**feeds, **results}) == []
    assert all(view.rank(tensor) == 4 for tensor in tensors)


def test_every_row_is_found() -> None:
    assert {key: row_of(*key) for key in TABLE} == TABLE
    assert row_of("", "LayerNormalization") is None
    assert row_of("com.example", "FusedMatMul") is None
