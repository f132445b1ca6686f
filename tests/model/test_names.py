"""Fresh names: new in every scope, deterministic, and quick however many there are."""

from __future__ import annotations

from onnx import AttributeProto, helper

from maxfold.model import read_onnx
from maxfold.model.names import NameAllocator
from tests.text import model


def allocator(graph: str) -> NameAllocator:
    return NameAllocator(read_onnx(model(graph)))


def test_the_base_itself_where_it_is_free() -> None:
    names = allocator("g (float x) => (float y) { y = Neg(x) }")
    assert [names.fresh("a"), names.fresh("a"), names.fresh("b"), names.fresh("a")] == ["a", "a_1", "b", "a_2"]


def test_taken_names_are_stepped_over() -> None:
    names = allocator("g (float a, float a_2) => (float y) <float a_3 = {1}> { y = Sum(a, a_2, a_3) }")
    assert [names.fresh("a"), names.fresh("a")] == ["a_1", "a_4"]


def test_names_of_all_scopes_are_taken() -> None:
    source = model(
        """
        g (bool c, float x) => (float y) <float declared> {
            y = If (c) <
                then_branch = t () => (float p) <float weight = {1}> { declared = Neg(x)
                    p = Neg(weight) },
                else_branch = e () => (float q) { z = Constant<value = float {1}>()
                    q = Neg(z) }
            >
        }""",
        domains='"custom" : 1',
        functions='<domain: "custom", opset_import: ["" : 17]> f (fx) => (fy) { inner = Neg(fx)\n fy = Neg(inner) }',
    )
    source.graph.node[0].name = "node"
    annotation = source.graph.quantization_annotation.add(tensor_name="annotated")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="scale")
    training = source.training_info.add()
    training.algorithm.node.add(op_type="Neg", input=["ti"], output=["to"], name="tn")
    training.initialization.output.add(name="tout")
    names = NameAllocator(read_onnx(source))
    taken = [
        "c",
        "x",
        "y",
        "p",
        "q",
        "z",
        "weight",
        "declared",
        "f",
        "fx",
        "fy",
        "inner",
        "node",
        "annotated",
        "scale",
        "ti",
        "to",
        "tn",
        "tout",
    ]
    assert [name for name in taken if names.fresh(name) == name] == []


def test_numbers_and_empty_bases() -> None:
    names = allocator("g (float x) => (float y) { y = Neg(x) }")
    assert names.fresh("12") == "12"
    assert names.fresh("12") == "12_1"
    made = [names.fresh("") for _ in range(3)]
    assert all(made)
    assert len(set(made)) == 3


def test_names_that_look_like_fresh_ones() -> None:
    names = allocator("g (float x) => (float y) { y = Neg(x) }")
    made = [names.fresh(base) for base in ("a", "a_1", "a", "a_1", "a", "a_1_1", "a_2")]
    assert len(set(made)) == len(made)


def test_a_hundred_thousand_names_from_one_base() -> None:
    names = allocator("g (float x) => (float y) { y = Neg(x) }")
    made = {names.fresh("x_constant") for _ in range(100_000)}
    assert len(made) == 100_000


def test_the_same_model_gives_the_same_names() -> None:
    graph = "g (float a, float b) => (float y) { y = Add(a, b) }"
    made = [[names.fresh("a"), names.fresh("y"), names.fresh("a")] for names in (allocator(graph), allocator(graph))]
    assert made[0] == made[1]


def test_graphs_in_lists_count() -> None:
    source = model("g (float x) => (float y) { y = Neg(x) }")
    inner = helper.make_graph([helper.make_node("Neg", ["x"], ["deep"])], "i", [], [])
    attribute = AttributeProto(name="graphs", type=AttributeProto.GRAPHS, graphs=[inner])
    source.graph.node[0].attribute.append(attribute)
    assert NameAllocator(read_onnx(source)).fresh("deep") == "deep_1"


def test_names_are_carried_where_no_other_graph_around_or_inside_has_them() -> None:
    read = read_onnx(
        model(
            """
        g (bool c, float x) => (float y) {
            y = If (c) <
                then_branch = t () => (float p) { a = Neg(x) p = Neg(a) },
                else_branch = e () => (float q) { a = Exp(x) q = Neg(a) }
            >
        }""",
            domains='"custom" : 1',
            functions='<domain: "custom", opset_import: ["" : 17]> f (fx) => (fy) { b = Neg(fx)\n fy = Neg(b) }',
        )
    )
    names = NameAllocator(read)
    main, function = read.graph, read.functions[0]
    then_branch = main.nodes[0].attrs["then_branch"]
    assert names.carried("a", main) == "a_1"
    names.release(main.nodes[0].attrs["else_branch"], main.nodes[0].attrs["else_branch"].nodes)
    assert names.carried("a", then_branch) == "a_2"
    names.release(then_branch, then_branch.nodes)
    assert [names.carried("a", main), names.carried("a", main)] == ["a", "a_3"]
    assert [names.carried("b", main), names.carried("b", function), names.carried("", main)] == ["b", "b_1", ""]
    assert names.carried("y", main, is_node=True) == "y"
