"""Random models over the bridge between the formats, judged in both runtimes.

    there_and_back(case, folder)   ONNX -> IR -> ONNX: the interface and, in ONNX Runtime, the results come back
    in_openvino(case, folder)      ONNX -> IR: the interface and the results in OpenVINO
    settled(case, folder)          ONNX -> IR -> ONNX twice: the second round changes nothing
    from_openvino(case, folder)    the IR that OpenVINO makes -> ONNX: the same in ONNX Runtime

Each gives how the results are right, and raises `ConversionError` where the table refuses the model.
`WAYS` are these with the models that they take.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import onnx
import openvino
from onnx import ModelProto

from maxfold.optimizer import load, optimize, save
from maxfold.optimizer.api import convert
from maxfold.passes.conversion import OPSETS, TABLE
from tests.random_models import RandomModel, random_model
from tests.random_models.judging import RELAXED, ROUNDED, SAME, UNSTABLE, Sources, close, is_unstable, judge, same
from tests.random_models.trial import Session
from tests.random_models.values import Array

# What nodes of random models may be, so that most of them are converted.
CONVERTED = frozenset({*TABLE.by_onnx, "Constant"})
INEXACT = frozenset(row.onnx for row in TABLE.rows if row.tolerance != "exact")
JUDGE_FAILS = "beyond the judge"
_CONFIG = {"INFERENCE_PRECISION_HINT": "f32", "EXECUTION_MODE_HINT": "ACCURACY", "INFERENCE_NUM_THREADS": 1}


def bridge_model(seed: int, *, finite: bool | None = None) -> RandomModel:
    """The model of a seed, of operators that the table has."""
    return random_model(seed, finite=finite, operators=CONVERTED)


def finite_model(seed: int) -> RandomModel:
    """The same without infinity, NaN and large values, which OpenVINO's kernels treat in ways of their own."""
    return bridge_model(seed, finite=True)


def there_and_back(case: RandomModel, folder: Path, *, is_optimized: bool = False) -> str:
    """ONNX -> IR -> ONNX, with or without the passes on both."""
    ir = convert(load(case.model), to="openvino")
    notes = bool(optimize(ir).notes) if is_optimized else False
    save(ir, folder / "there.xml")
    back = convert(load(folder / "there.xml"), to="onnx", opset=_opset(case.model))
    notes |= bool(optimize(back).notes) if is_optimized else False
    save(back, folder / "back.onnx")
    after = onnx.load(folder / "back.onnx")
    onnx.checker.check_model(after, full_check=True)
    for mine, theirs in ((after.graph.input, case.model.graph.input), (after.graph.output, case.model.graph.output)):
        assert [_declared(item) for item in mine] == [_declared(item) for item in theirs]
    # ONNX Runtime's Where gives +0 for -0, and other operators become one.
    zeros_vary = any(node.op_type == "Where" for node in after.graph.node)
    # A GlobalMaxPool becomes a ReduceMax, which ONNX Runtime alone lets NaN through.
    skips_special = not case.finite and "GlobalMaxPool" in case.operators
    return judge(case, after, relaxed=skips_special, rounded=notes, inexact=INEXACT, zeros_vary=zeros_vary)


def optimized_there_and_back(case: RandomModel, folder: Path) -> str:
    """ONNX -> IR -> ONNX, with the passes on both, as the command line does it."""
    return there_and_back(case, folder, is_optimized=True)


def settled(case: RandomModel, folder: Path) -> str:
    """ONNX -> IR -> ONNX twice, with the passes: the second round changes nothing."""
    assert_settled(case.model, folder, opset=_opset(case.model))
    return SAME


def assert_settled(source: ModelProto, folder: Path, *, opset: int | None = None, is_optimized: bool = True) -> None:
    """Raises `AssertionError` where a model that has been an IR is another file once it has been one again."""
    model, rounds = load(source), []
    for count in range(2):
        ir = convert(model, to="openvino")
        if is_optimized:
            optimize(ir)
        save(ir, folder / f"round{count}.xml")
        back = convert(load(folder / f"round{count}.xml"), to="onnx", opset=opset)
        if is_optimized:
            optimize(back)
        save(back, folder / f"round{count}.onnx")
        model = load(folder / f"round{count}.onnx")
        rounds.append((folder / f"round{count}.onnx").read_bytes())
    assert rounds[0] == rounds[1]


def _opset(model: ModelProto) -> int:
    return min(max(model.opset_import[0].version, OPSETS[0]), OPSETS[1])


def _declared(item: onnx.ValueInfoProto) -> tuple[str, str]:
    return item.name, str(item.type)


def in_openvino(case: RandomModel, folder: Path) -> str:
    """ONNX -> IR, in OpenVINO. What OpenVINO's own conversion gets wrong too is `JUDGE_FAILS`."""
    save(convert(load(case.model), to="openvino"), folder / "there.xml")
    if _has_empty(case):
        return JUDGE_FAILS
    compiled = _Compiled(folder / "there.xml")
    compiled.check(case.model)
    onnx.save(case.model, folder / "source.onnx")
    return _compare(case, compiled, folder / "source.onnx")


def from_openvino(case: RandomModel, folder: Path) -> str:
    """The IR that OpenVINO makes of a model -> ONNX, in ONNX Runtime."""
    shared = {item.name for item in case.model.graph.input} & {item.name for item in case.model.graph.output}
    # OpenVINO makes two inputs of one that is an output too, and integer divisions that its operations' specification
    # rounds down, where its CPU, like ONNX, rounds towards zero.
    if shared or _divides_integers(case) or _has_empty(case):
        return JUDGE_FAILS
    onnx.save(case.model, folder / "source.onnx")
    try:
        theirs = openvino.convert_model(folder / "source.onnx")
    except Exception:  # what OpenVINO cannot read is no question to us
        return JUDGE_FAILS
    openvino.save_model(theirs, folder / "theirs.xml", compress_to_fp16=False)
    save(convert(load(folder / "theirs.xml"), to="onnx", opset=_opset(case.model)), folder / "back.onnx")
    after = onnx.load(folder / "back.onnx")
    onnx.checker.check_model(after, full_check=True)
    assert len(after.graph.output) == len(case.model.graph.output)
    session, names = Session(after), [item.name for item in after.graph.input]
    return _compare(case, lambda feeds: session(dict(zip(names, feeds.values(), strict=True))), folder / "theirs.xml")


def _has_empty(case: RandomModel) -> bool:
    """Whether some tensor has no elements: several of OpenVINO's kernels end the process then."""
    return any(not array.size for arrays in case.values.values() for array in arrays)


def _divides_integers(case: RandomModel) -> bool:
    return any(
        node.op_type == "Div" and case.values[node.output[0]][0].dtype.kind == "i" for node in case.model.graph.node
    )


class _Compiled:
    """A file in OpenVINO; values by position."""

    def __init__(self, path: Path) -> None:
        core = openvino.Core()
        self._compiled = core.compile_model(core.read_model(path), "CPU", _CONFIG)

    def check(self, model: ModelProto) -> None:
        """Raises `AssertionError` where inputs and outputs are not those of a model."""
        graph = model.graph
        for ports, items in ((self._compiled.inputs, graph.input), (self._compiled.outputs, graph.output)):
            assert len(ports) == len(items)
            for port, item in zip(ports, items, strict=True):
                assert item.name in port.names, f"{item.name} is called {sorted(port.names)}"
                declared = onnx.helper.tensor_dtype_to_np_dtype(item.type.tensor_type.elem_type)
                assert port.get_element_type().to_dtype() == declared

    def __call__(self, feeds: Mapping[str, Array]) -> list[Array]:
        request = self._compiled.create_infer_request()
        for index, value in enumerate(feeds.values()):
            tensor = openvino.Tensor(np.ascontiguousarray(value).reshape(value.shape))
            request.set_input_tensor(index, tensor)
        request.infer()
        return [request.get_output_tensor(index).data.copy() for index in range(len(self._compiled.outputs))]


Runner = Callable[[Mapping[str, Array]], list[Array]]


def _compare(case: RandomModel, run: Runner, judge_path: Path) -> str:
    """How the results of a runner are right, against ONNX Runtime on the model itself.

    Where OpenVINO, given the file of the judge, is wrong too or does not run it, this says nothing.
    """
    reference, sources = Session(case.model), Sources(case.model, relaxed=True, zeros_vary=case.has_max)
    variants: list[Session] = []
    worst, failure = SAME, ""
    try:
        for feeds in _ordered(case):
            expected, actual = reference(feeds), run(feeds)
            for position, (own, right) in enumerate(zip(actual, expected, strict=True)):
                if _is_close(own, right):
                    worst = worst if same(own, right, zeros_differ=False) else max(worst, ROUNDED, key=_ORDER.index)
                    continue
                variants = variants or [Session(model) for model in sources.variants()]
                moved = [variant(feeds)[position] for variant in variants]
                if own.dtype == right.dtype and is_unstable(own, right, moved, skip_special=False):
                    worst = UNSTABLE
                    continue
                failure = f"output {case.model.graph.output[position].name}: {own} is not {right}"
    except RuntimeError as error:
        failure = f"does not run: {' '.join(str(error).split())[:200]}"
    if not failure:
        return worst
    assert not _judges(case, reference, judge_path), failure
    return JUDGE_FAILS


def _ordered(case: RandomModel) -> list[dict[str, Array]]:
    """The sets of values in the order of the inputs."""
    return [{item.name: feeds[item.name] for item in case.model.graph.input} for feeds in case.feed_sets]


_ORDER = (SAME, ROUNDED, UNSTABLE)


def _judges(case: RandomModel, reference: Runner, path: Path) -> bool:
    """Whether OpenVINO gets a model right by itself."""
    try:
        judge = _Compiled(path)
        return all(
            _is_close(own, right)
            for feeds in _ordered(case)
            for own, right in zip(judge(feeds), reference(feeds), strict=True)
        )
    except RuntimeError:
        return False


def _is_close(own: Array, right: Array) -> bool:
    if own.dtype != right.dtype or own.shape != right.shape:
        return False
    return same(own, right, zeros_differ=False) or close(own, right, RELAXED, skip_special=False)


Check = Callable[[RandomModel, Path], str]
# What each way takes, and what it does with that. Models of any operators are mostly refused.
WAYS: dict[str, tuple[Callable[[int], RandomModel], Check]] = {
    "any operators": (random_model, there_and_back),
    "plain": (bridge_model, there_and_back),
    "optimized": (bridge_model, optimized_there_and_back),
    "settled": (bridge_model, settled),
    "in OpenVINO": (finite_model, in_openvino),
    "from OpenVINO": (finite_model, from_openvino),
}
