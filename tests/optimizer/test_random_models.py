"""Random models through the whole pipeline: right in ONNX Runtime, valid, and done after one run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import ModelProto, NodeProto, helper

from maxfold.optimizer import optimize
from maxfold.passes import CATALOGUE
from maxfold.passes.targets import TARGETS
from tests.optimizer.optimized import optimized
from tests.passes.outcome import outcome
from tests.passes.trees import Case, add_models, max_models, mixed_models
from tests.random_models import (
    FUSED,
    LAYOUTS,
    PATTERNS,
    TARGETED,
    NoModelError,
    RandomModel,
    random_model,
    random_models,
)
from tests.random_models.checking import MODES, check, check_seed
from tests.random_models.judging import SAME, UNSTABLE, judge
from tests.run import assert_equal, in_onnxruntime
from tests.text import model

SEEDS = range(100)
# Types for which ONNX Runtime's CPU provider has Add and Max.
IN_RUNTIME = {"float32", "float64", "int32", "int64"}
# What every release must meet in these seeds; the operators that the first rules are about come often.
OFTEN = {"Add", "Max", "Mul", "Cast", "Shape", "Reshape", "Transpose", "Slice", "Concat", "Gather", "Constant"}
LEAST_OPERATORS = 110


@pytest.mark.parametrize("seed", SEEDS)
def test_optimized_models_are_right(seed: int) -> None:
    try:
        check_seed(seed)
    except NoModelError as error:
        pytest.skip(str(error))


def test_a_folded_sum_in_a_branch_whose_terms_cancel() -> None:
    """The runtime's own result is off by more than the last place; that shows if what is summed up is moved."""
    check(random_model(5084), "exact")


@pytest.mark.parametrize("seed", range(25))
def test_regions_between_transposes(seed: int) -> None:
    try:
        case = random_model(seed, kind=LAYOUTS)
    except NoModelError as error:
        pytest.skip(str(error))
    for math in MODES:
        check(case, math)
        check(case, math, passes=["flip-layouts"])


@pytest.mark.parametrize("seed", range(25))
def test_operators_of_the_runtime_and_added_zeros(seed: int) -> None:
    try:
        case = random_model(seed, kind=FUSED)
    except NoModelError as error:
        pytest.skip(str(error))
    for math in MODES:
        check(case, math)


@pytest.mark.parametrize("seed", range(25))
def test_patterns_that_runtimes_fuse(seed: int) -> None:
    try:
        case = random_model(seed, kind=PATTERNS)
    except NoModelError as error:
        pytest.skip(str(error))
    for math in MODES:
        check(case, math)


@pytest.mark.parametrize("seed", range(25))
def test_each_target(seed: int) -> None:
    try:
        case = random_model(seed, kind=TARGETED)
    except NoModelError as error:
        pytest.skip(str(error))
    for target in TARGETS:
        for math in MODES:
            check(case, math, target=target)


@pytest.mark.parametrize("index", range(len(CATALOGUE)), ids=[entry.name for entry in CATALOGUE])
def test_one_pass_at_a_time_is_right_too(index: int) -> None:
    for case in random_models(range(1000 + 3 * index, 1003 + 3 * index)):
        check(case, "exact", passes=[CATALOGUE[index].name])


def test_the_generator_makes_what_it_should() -> None:
    operators: Counter[str] = Counter()
    opsets: set[int] = set()
    failed = defaults = captures = finite = with_max = 0
    for seed in SEEDS:
        try:
            case = random_model(seed)
        except NoModelError:
            failed += 1
            continue
        operators.update(case.operators)
        opsets.add(case.model.opset_import[0].version)
        finite += case.finite
        with_max += "Max" in case.operators
        defaults += bool({item.name for item in case.model.graph.initializer} & set(case.feed_sets[-1]))
        captures += bool(case.operators & {"If", "Loop", "Scan"})
        assert {item.name for item in case.model.graph.input} >= set(case.feeds)
    assert failed <= len(SEEDS) // 20
    assert len(operators) > LEAST_OPERATORS
    assert min(operators[name] for name in OFTEN) > len(SEEDS) // 5
    assert len(opsets) > 4
    assert min(finite, len(SEEDS) - finite, with_max, defaults, captures) > len(SEEDS) // 10


def test_a_seed_makes_the_same_model_each_time() -> None:
    for seed in (3, 4):
        one, other = random_model(seed), random_model(seed)
        assert one.model.SerializeToString() == other.model.SerializeToString()
        assert [sorted(feeds) for feeds in one.feed_sets] == [sorted(feeds) for feeds in other.feed_sets]


def test_relaxed_mode_leaves_no_more_nodes() -> None:
    for case in random_models(range(30)):
        exact, relaxed = (optimized(case.model, math=math)[1] for math in MODES)
        assert relaxed.nodes_after <= exact.nodes_after


def is_node(operator: str, **attributes: object) -> Callable[[NodeProto], bool]:
    """Whether a node is one of an operator with these attributes."""

    def test(node: NodeProto) -> bool:
        found = {item.name: helper.get_attribute_value(item) for item in node.attribute}
        return node.op_type == operator and all(found.get(name) == value for name, value in attributes.items())

    return test


def bypass(wanted: Callable[[NodeProto], bool]) -> Callable[[ModelProto], None]:
    """A wrong rewrite: what the nodes do is left out."""

    def rewrite(proto: ModelProto) -> None:
        for node in proto.graph.node:
            if wanted(node):
                node.op_type = "Identity"
                del node.input[1:]
                del node.attribute[:]

    return rewrite


def merge_draws(proto: ModelProto) -> None:
    """A wrong rewrite: two nodes of chance become one."""
    found = [node for node in proto.graph.node if node.op_type in ("RandomNormal", "RandomUniformLike")]
    for first, second in pairwise(found):
        if first.op_type == second.op_type and first.attribute == second.attribute and first.input == second.input:
            second.op_type, second.name = "Identity", ""
            second.input[:] = [first.output[0]]
            del second.attribute[:]


def merge_reshapes(proto: ModelProto) -> None:
    """A wrong rewrite: a Reshape of a Reshape reads what the first one reads."""
    made = {node.output[0]: node for node in proto.graph.node if node.op_type == "Reshape"}
    for node in made.values():
        if node.input[0] in made:
            node.input[0] = made[node.input[0]].input[0]


def reassociate(proto: ModelProto) -> None:
    """A wrong rewrite: the operands of a subtraction change places."""
    for node in proto.graph.node:
        if node.op_type == "Sub":
            node.input[:] = reversed(node.input)


WRONG = {
    "Slice": bypass(is_node("Slice")),
    "Cast": bypass(is_node("Cast")),
    "Floor": bypass(is_node("Floor")),
    "Transpose": bypass(is_node("Transpose", perm=[1, 0])),
    "merged draws": merge_draws,
    "merged Reshapes": merge_reshapes,
    "reversed Sub": reassociate,
}


@pytest.mark.parametrize("rewrite", WRONG.values(), ids=WRONG.keys())
def test_the_judge_sees_a_wrong_rewrite(rewrite: Callable[[ModelProto], None]) -> None:
    assert any(is_seen(case, rewrite) for case in random_models(range(200)))


def is_seen(case: RandomModel, rewrite: Callable[[ModelProto], None]) -> bool:
    after = ModelProto()
    after.CopyFrom(case.model)
    rewrite(after)
    try:
        judge(case, after)
    except Exception:
        return True
    return False


def test_the_judge_takes_the_original_for_right() -> None:
    assert {judge(case, case.model) for case in random_models(range(20))} == {SAME}


def rounded_otherwise(source: ModelProto, factor: float) -> ModelProto:
    """The model with the result of its Exp multiplied."""
    after = ModelProto()
    after.CopyFrom(source)
    after.graph.node[0].output[0] = "b"
    after.graph.node.insert(1, helper.make_node("Constant", [], ["f"], value_float=factor))
    after.graph.node.insert(2, helper.make_node("Mul", ["b", "f"], ["a"]))
    return after


def test_rounding_is_told_from_an_error() -> None:
    source = model(
        "g (float[3] x) => (float[3] y, float[3] z) { a = Exp(x)\n y = Sub(a, c)\n z = Neg(a) }",
        constants={"c": np.exp(np.array([1, 2, 3], np.float32))},
    )
    case = RandomModel(source, [{"x": np.array([1, 2, 3], np.float32)}], [{}], True, {})
    nearly = rounded_otherwise(source, 1 + 2**-20)
    assert judge(case, nearly, relaxed=True) == UNSTABLE
    for wrong, relaxed in ((nearly, False), (rounded_otherwise(source, 1.001), True)):
        with pytest.raises(AssertionError, match="is not"):
            judge(case, wrong, relaxed=relaxed)


@pytest.mark.parametrize("models", [max_models(), add_models(), mixed_models()], ids=["max", "add", "mixed"])
def test_trees(models: st.SearchStrategy[Case]) -> None:
    ran = 0

    @given(case=models)
    @settings(max_examples=120)
    def run(case: Case) -> None:
        nonlocal ran
        types = {str(np.asarray(value).dtype) for value in case.feeds.values()} - {"bool"}
        if types <= IN_RUNTIME:
            ran += runtime_agrees(case)

    run()
    assert ran > 10


def runtime_agrees(case: Case) -> bool:
    """Whether ONNX Runtime takes the model; if so, all passes leave its results as they are."""
    before = outcome("sort-nodes", case.model, check=False).after
    for node in before.graph.node:
        node.name = ""  # it wants unique names
    try:
        expected = in_onnxruntime(before, case.feeds)
    except Exception:
        return False
    after = type(before)()
    after.CopyFrom(before)
    optimize(after)
    assert_equal(in_onnxruntime(after, case.feeds), expected, zeros_differ=False)
    return True
