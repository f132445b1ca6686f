"""Messages in memory: what is read of them without their weights, and given back, is what bytes would have given."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from maxfold.model import Model, ModelError, in_memory, read_onnx
from maxfold.model.in_memory import borrow, give_back, to_proto
from maxfold.model.wire import CUT_BYTES

LARGE = np.arange(CUT_BYTES, dtype=np.float32)


def tensor(name: str, *, raw: bool = True, kind: int = TensorProto.FLOAT) -> TensorProto:
    if raw:
        return numpy_helper.from_array(LARGE.astype(helper.tensor_dtype_to_np_dtype(kind)), name)
    return helper.make_tensor(name, kind, LARGE.shape, LARGE.tolist(), raw=False)


def around(nodes: list[onnx.NodeProto], *initializers: TensorProto, **fields: object) -> ModelProto:
    shapes = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [CUT_BYTES]) for name in ("x", "y")}
    graph = helper.make_graph(nodes, "g", [shapes["x"]], [shapes["y"]], initializers)
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("own", 1)], ir_version=9, **fields
    )


def initializer() -> ModelProto:
    made = around([helper.make_node("Add", ["x", "w"], ["y"])], tensor("w"), producer_name="p", doc_string="d")
    made.graph.initializer[0].doc_string = "of w"
    made.graph.metadata_props.add(key="k", value="v")
    made.metadata_props.add(key="k", value="v")
    return made


def typed(kind: int) -> ModelProto:
    nodes = [helper.make_node("Cast", ["w"], ["f"], to=TensorProto.FLOAT), helper.make_node("Add", ["x", "f"], ["y"])]
    return around(nodes, tensor("w", raw=False, kind=kind))


def not_a_number() -> ModelProto:
    """A signaling NaN, whose bits a conversion to Python's floats would change."""
    made = typed(TensorProto.FLOAT)
    serialized = made.SerializeToString()
    return ModelProto.FromString(
        serialized.replace(LARGE[7:9].tobytes(), np.array([0x7F800001, 0x41000000], "<u4").tobytes())
    )


def constant_node() -> ModelProto:
    nodes = [helper.make_node("Constant", [], ["w"], value=tensor("v")), helper.make_node("Add", ["x", "w"], ["y"])]
    return around(nodes)


def tensors_of_an_attribute() -> ModelProto:
    node = helper.make_node("Own", ["x"], ["y"], domain="own", tensors=[tensor("a"), tensor("b")])
    return around([node])


def branches() -> ModelProto:
    inner = [
        helper.make_graph([helper.make_node(operator, ["x", "w"], ["r"])], name, [], [shape("r")], [tensor("w")])
        for operator, name in (("Add", "then"), ("Sub", "else"))
    ]
    condition = numpy_helper.from_array(np.array(True), "c")
    return around([helper.make_node("If", ["c"], ["y"], then_branch=inner[0], else_branch=inner[1])], condition)


def shape(name: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, [CUT_BYTES])


def function() -> ModelProto:
    nodes = [helper.make_node("Constant", [], ["w"], value=tensor("v")), helper.make_node("Add", ["a", "w"], ["b"])]
    made = around([helper.make_node("F", ["x"], ["y"], domain="own")])
    made.functions.append(helper.make_function("own", "F", ["a"], ["b"], nodes, [helper.make_opsetid("", 17)]))
    return made


def sparse() -> ModelProto:
    made = around([helper.make_node("Add", ["x", "w"], ["y"])])
    values, indices = tensor("w"), numpy_helper.from_array(np.arange(CUT_BYTES, dtype=np.int64), "i")
    made.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [CUT_BYTES]))
    return made


def training() -> ModelProto:
    made = initializer()
    made.training_info.add().algorithm.CopyFrom(initializer().graph)
    return made


def unknown_field() -> ModelProto:
    return ModelProto.FromString(initializer().SerializeToString() + b"\xa2\x06\x03abc")


MADE: dict[str, Callable[[], ModelProto]] = {
    function.__name__: function
    for function in (
        initializer, not_a_number, constant_node, tensors_of_an_attribute, branches, function, sparse, training,
        unknown_field,
    )
} | {
    f"typed {kind}": lambda kind=kind: typed(kind)
    for kind in (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.FLOAT16)
}  # fmt: skip


@pytest.fixture(params=MADE)
def made(request: pytest.FixtureRequest) -> ModelProto:
    return MADE[request.param]()


def serialized(message: ModelProto) -> bytes:
    return message.SerializeToString(deterministic=True)


def test_what_is_borrowed_and_given_back_is_what_it_was(made: ModelProto) -> None:
    before = serialized(made)
    give_back(borrow(made), made)
    assert serialized(made) == before


def test_a_model_becomes_the_message_that_it_was(made: ModelProto) -> None:
    assert serialized(to_proto(borrow(made))) == serialized(made)
    assert serialized(to_proto(read_onnx(made))) == serialized(made)


def values(model: Model) -> list[tuple[str, bytes]]:
    return [(constant.name, constant.data.array().tobytes()) for constant in model.constants()]


def test_borrowed_values_are_those_of_the_bytes(made: ModelProto) -> None:
    assert values(borrow(made)) == values(read_onnx(made))


def test_a_message_takes_what_was_made_of_another(made: ModelProto) -> None:
    target = initializer()
    graph = target.graph
    give_back(borrow(made), target)
    assert serialized(target) == serialized(made)
    assert graph == made.graph


def test_large_data_is_taken_once_for_a_tensor_and_kept_by_none(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    take = in_memory._MessageSource._taken

    def counted(source: in_memory._MessageSource) -> bytes:
        taken.append(source.size)
        return take(source)

    monkeypatch.setattr(in_memory._MessageSource, "_taken", counted)
    made = branches()
    model = borrow(made)
    assert taken == []
    give_back(model, made)
    assert taken == [LARGE.nbytes] * 2
    assert in_memory._MessageSource._last is None


def test_messages_that_are_no_model_are_refused() -> None:
    for wrong in (ModelProto(), ModelProto(ir_version=9)):
        with pytest.raises(ModelError, match=r"^<ModelProto>: "):
            borrow(wrong)
