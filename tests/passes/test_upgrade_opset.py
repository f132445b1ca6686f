"""upgrade-opset as a whole: all scopes, all or nothing, versions, and what the optimizer makes of it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import onnx
import onnx_graphsurgeon as gs
import pytest
from onnx import FunctionProto, ModelProto, helper

from maxfold.model import ModelError, read_onnx
from maxfold.model.edit import Edit
from maxfold.optimizer import load, optimize
from maxfold.passes.rule import PassResult
from maxfold.passes.upgrade_opset import UpgradeOpset
from tests.effort import calls
from tests.passes.outcome import outcome, saved
from tests.passes.upgrades.running import (
    NEWEST,
    assert_exact,
    graph_model,
    node_model,
    operators,
    random_array,
    refusal,
    upgraded,
)
from tests.run import assert_equal, in_onnxruntime
from tests.text import golden, lines, model

X = random_array(1, 3)

SQUEEZES = """
    g (float[1,3] x) => (float[3] y) {
        a = Squeeze<axes = [0]>(x)
        b = Relu(a)
        y = Softmax<axis = 0>(b)
    }"""


def imports_of(proto: ModelProto | FunctionProto) -> dict[str, int]:
    return {entry.domain: entry.version for entry in proto.opset_import}


def test_without_a_version_nothing_happens() -> None:
    assert outcome("upgrade-opset", model(SQUEEZES, opset=11)).changes == 0


def test_the_version_of_the_model_is_no_change() -> None:
    source = model(SQUEEZES, opset=11)
    assert saved(read_onnx(upgraded(source, 11, changes=0))) == saved(read_onnx(source))


def test_nodes_and_version_change() -> None:
    """One change a node that is rewritten, and one for the version: Relu and Softmax stay as they are."""
    after = upgraded(model(SQUEEZES, opset=11), 13, changes=2)
    assert lines(after) == golden("""
        a_constant = int64[1] {0}
        a = Squeeze(x, a_constant)
        b = Relu(a)
        y = Softmax<axis=0>(b)
        """)
    assert imports_of(after) == {"": 13}


def test_a_default_that_changed_is_written_out() -> None:
    source = node_model("Softmax", {"x": X}, 11)
    assert upgraded(source, 13, changes=2).graph.node[0].attribute[0].i == 1


def test_other_domains_and_the_rest_of_the_file_stay() -> None:
    source = model("g (float[1,3] x) => (float[3] y) { y = Squeeze<axes = [0]>(x) }", opset=11, domains='"com.x" : 3')
    source.producer_name = "someone"
    source.metadata_props.add(key="k", value="v")
    source.graph.node[0].doc_string = "note"
    after = upgraded(source, 21)
    assert imports_of(after) == {"": 21, "com.x": 3}
    assert (after.producer_name, after.metadata_props[0].key) == ("someone", "k")
    assert after.graph.node[0].doc_string == "note"


def test_the_other_name_of_the_domain() -> None:
    source = model("g (float[1,3] x) => (float[3] y) { y = Squeeze<axes = [0]>(x) }", opset=11)
    source.opset_import[0].domain = source.graph.node[0].domain = "ai.onnx"
    loaded = read_onnx(source)
    UpgradeOpset(13).run(Edit(loaded))
    assert imports_of(ModelProto.FromString(saved(loaded))) == {"ai.onnx": 13}
    source.opset_import.add(domain="", version=12)
    assert "in two versions, [11, 12]" in refusal(source, 13)


NESTED = """
    g (bool c, float[2,1,3] x) => (float[N] y) {
        y = If (c) <
            then_branch = t () => (float[N] p) { p = ReduceSum<axes = [0, 1], keepdims = 0>(x) },
            else_branch = e () => (float[N] q) {
                q = If (c) <
                    then_branch = i () => (float[N] r) { s = Neg(x) r = ReduceSum<axes = [0, 1], keepdims = 0>(s) },
                    else_branch = j () => (float[N] u) { v = Abs(x) u = ReduceSum<axes = [-2, 0], keepdims = 0>(v) }
                >
            }
        >
    }"""


def test_graphs_inside() -> None:
    source = model(NESTED, opset=11)
    upgraded(source, 13, changes=4)
    for flag in (True, False):
        assert_exact(source, {"c": np.array(flag), "x": random_array(2, 1, 3)}, (13, 18, 21))


def with_function(body: str, imports: str = '"" : 11') -> ModelProto:
    return model(
        "g (float[1,3] x) => (float[A,B,C] y) { y = local.f(x) }",
        opset=11,
        domains='"local" : 1',
        functions=f'<domain: "local", opset_import: [{imports}]> f (x) => (y) {{ {body} }}',
    )


def test_functions() -> None:
    source = with_function("a = Unsqueeze<axes = [0]>(x) y = Relu(a)")
    after = upgraded(source, 21, changes=2)
    assert imports_of(after.functions[0]) == {"": 21}
    assert [node.op_type for node in after.functions[0].node] == ["Constant", "Unsqueeze", "Relu"]
    assert_exact(source, {"x": X}, (13, 21))


def test_functions_of_other_versions() -> None:
    source = with_function("y = Unsqueeze<axes = [0]>(x)", '"" : 12')
    assert imports_of(upgraded(source, 13, changes=2).functions[0]) == {"": 13}
    assert "the model is at opset 12, and can only be upgraded" in refusal(source, 11)
    foreign = with_function("y = other.Op(x)", '"other" : 1')
    assert imports_of(upgraded(foreign, 13, changes=1, check=False).functions[0]) == {"other": 1}


def test_a_function_is_refused_with_the_rest() -> None:
    """Types inside functions are not known."""
    message = refusal(with_function("y = Erf(x)"), 13)
    assert "Erf 9 -> 13 (1 node); 'y': the element type of its input is not known" in message


def test_attributes_from_the_caller_are_refused() -> None:
    source = with_function("y = Relu(x)")
    function = source.functions[0]
    function.attribute.append("axes")
    function.node[0].op_type = "Unsqueeze"
    function.node[0].attribute.add(name="axes", ref_attr_name="axes", type=onnx.AttributeProto.INTS)
    assert "attribute 'axes' is given by the caller of the function" in refusal(source, 13)


def test_a_function_with_the_name_of_an_operator_is_left_alone() -> None:
    source = with_function("y = Relu(x)")
    source.functions[0].name, source.functions[0].domain = "Squeeze", ""
    source.graph.node[0].op_type, source.graph.node[0].domain = "Squeeze", ""
    loaded = read_onnx(source)
    assert UpgradeOpset(13).run(Edit(loaded)).changes == 1


def test_old_ir_versions() -> None:
    """IR version 3 stays: its initializers are constant, and those of version 4 could be overridden."""
    source = node_model("Squeeze", {"x": X}, 11, ir_version=3, axes=[0])
    after = upgraded(source, 21)
    assert after.ir_version == 3
    assert operators(after) == ["Constant", "Squeeze"]
    assert_exact(source, {"x": X}, (13, 21))
    first = node_model("Relu", {"x": X}, 1, ir_version=2, shape=X.shape, consumed_inputs=[0])
    after = upgraded(first, 13)
    assert (after.ir_version, imports_of(after)) == (3, {"": 13})
    assert_equal(in_onnxruntime(after, {"x": X}), [np.maximum(X, 0)], zeros_differ=True)
    first.ir_version = 1
    assert "IR version 1" in refusal(first, 13)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (0, "opset 0 is not known"),
        (-3, "opset -3 is not known"),
        (NEWEST + 1, f"give one from 1 to {NEWEST}"),
        (10, "the model is at opset 11, and can only be upgraded; give --opset 11 or more"),
    ],
)
def test_targets_that_cannot_be(target: int, message: str) -> None:
    assert message in refusal(model(SQUEEZES, opset=11), target)


REFUSED = """
    g (float[1,2,3,4] x, float[4] s) => (float[A,B,C,D] y) {
        a = Squeeze<axes = [0]>(x)
        b = Unsqueeze<axes = [0]>(a)
        c = Upsample(b, s)
        d = Upsample(c, s)
        e = Upsample<mode = "linear">(d, s)
        i = Cast<to = 6>(e)
        j = Erf(i)
        k = Erf(i)
        y = Cast<to = 1>(j)
    }"""


def test_all_that_is_not_covered_is_named_and_nothing_changes() -> None:
    message = refusal(model(REFUSED, opset=9), 13)
    assert message.startswith("opset 13 is out of reach for Resize 10 -> 11 (3 nodes), Erf 9 -> 13 (2 nodes); ")
    for part in ("'c': its scales are not constant", "'e': how mode 'linear'", "'j': type INT32 has gone"):
        assert part in message
    assert "\n" not in message


def test_kept_nodes_are_not_changed() -> None:
    source = model(SQUEEZES, opset=11)
    assert "it is to be kept" in refusal(source, 13, keep=["a"])
    loaded = read_onnx(source)
    assert UpgradeOpset(13).run(Edit(loaded, keep=["b"])).changes == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"op_type": "Crop"}, "Crop (1 node); 'node': it is no operator of opset 11"),
        ({"op_type": "Gelu"}, "it is no operator of opset 11"),
    ],
)
def test_unknown_operators_are_refused(change: dict[str, str], message: str) -> None:
    source = node_model("Relu", {"x": X}, 11)
    source.graph.node[0].op_type = change["op_type"]
    assert message in refusal(source, 21)


def test_nodes_without_an_import_are_refused() -> None:
    source = with_function("y = Relu(x)", '"local" : 1')
    assert "imports no version of ONNX's operator set" in refusal(source, 13)


def test_training_is_refused() -> None:
    source = model(SQUEEZES, opset=11)
    source.training_info.add().algorithm.name = "train"
    assert "training information" in refusal(source, 13)
    upgraded(source, 11, changes=0)


def test_steps_between_operators() -> None:
    """Upsample becomes Resize, whose later steps it then takes."""
    source = node_model("Upsample", {"x": random_array(1, 1, 2, 2)}, 7, scales=[1.0, 1.0, 2.0, 2.0], mode="nearest")
    assert operators(upgraded(source, 9)) == ["Upsample"]
    assert operators(upgraded(source, 10)) == ["Resize"]
    assert_exact(source, {"x": random_array(1, 1, 2, 2)}, (9, 10, 11, 13, 19))


def test_in_the_optimizer() -> None:
    source = model(SQUEEZES, opset=11)
    before = in_onnxruntime(source, {"x": X})
    report = optimize(source, opset=17)
    assert imports_of(source) == {"": 17}
    assert report.changed
    assert {entry.name: entry.changes for entry in report.passes}["upgrade-opset"] == 2
    assert_equal(in_onnxruntime(source, {"x": X}), before, zeros_differ=True)
    assert not optimize(source, opset=17).changed


def test_the_optimizer_needs_the_pass() -> None:
    options: list[dict[str, Any]] = [{"skip": ["upgrade-opset"]}, {"passes": ["fold-constants"]}]
    for chosen in options:
        with pytest.raises(ModelError, match="needs the pass 'upgrade-opset'"):
            optimize(model(SQUEEZES, opset=11), opset=17, **chosen)
    assert optimize(model(SQUEEZES, opset=11), opset=17, passes=["upgrade-opset"]).changed


def test_a_graphsurgeon_graph() -> None:
    graph = gs.import_onnx(model(SQUEEZES, opset=11))
    optimize(graph, opset=17)
    assert graph.opset == 17
    assert len(graph.nodes[0].inputs) == 2
    assert imports_of(ModelProto.FromString(saved(load(graph)))) == {"": 17}


def test_the_effort_grows_with_the_nodes() -> None:
    assert _upgraded(2000) < 5 * _upgraded(500)


def _upgraded(count: int) -> int:
    names = [f"t{index}" for index in range(count + 1)]
    nodes = [
        helper.make_node("Unsqueeze" if index % 2 == 0 else "Squeeze", [old], [new], axes=[0])
        for index, (old, new) in enumerate(pairwise(names))
    ]
    source = graph_model(nodes, {"t0": X}, {names[-1]: np.float32}, 11)
    edit = Edit(read_onnx(source))
    results: list[PassResult] = []
    effort = calls(lambda: results.append(UpgradeOpset(21).run(edit)))
    assert [result.changes for result in results] == [count + 1]
    return effort
