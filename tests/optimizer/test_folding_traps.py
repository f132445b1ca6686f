"""Folding traps that tools of this kind fall into, each as a test of the whole pipeline."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

from tests.optimizer.optimized import assert_same_in_onnxruntime, optimized, text
from tests.run import in_onnxruntime
from tests.text import Array, golden, model

F32 = np.float32


def initializer(after: ModelProto, name: str) -> Array:
    return onnx.numpy_helper.to_array(next(item for item in after.graph.initializer if item.name == name))


def test_random_operators_are_neither_folded_nor_merged() -> None:
    source = model("""
        g (float[2] x) => (float[2] y) <float[2] k = {1, 2}> {
            a = RandomNormal<shape = [2]>()
            b = RandomUniformLike(k)
            c = Bernoulli(k)
            d = RandomNormalLike(x)
            e = RandomNormalLike(x)
            f = Sub(d, e)
            y = Sum(a, b, c, f, x)
        }""")
    after, report = optimized(source)
    assert (report.changed, after) == (False, source)


def test_dropout_in_training_mode_stays() -> None:
    source = model("""
        g (float[2] x) => (float[2] y) <float[2] k = {1, 2}, float ratio = {0.5}, bool training = {1}> {
            d = Dropout(k, ratio, training)
            y = Add(d, x)
        }""")
    assert optimized(source)[1].changed is False


def overridable(ir_version: int) -> ModelProto:
    return model(
        """
        g (float[2] x, float[2] a) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {3, 4}> {
            s = Add(a, b)
            y = Add(x, s)
        }""",
        ir_version=ir_version,
    )


def test_overridable_initializer() -> None:
    x = {"x": np.zeros(2, F32)}
    after = assert_same_in_onnxruntime(overridable(4), {**x, "a": np.array([10, 20], F32)})
    assert in_onnxruntime(after, x)[0].tolist() == [4, 6]


def test_overridable_initializer_in_a_max_chain() -> None:
    source = model("""
        g (float[2] x, float[2] a) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {3, 4}, float[2] c = {9, 0}> {
            s = Max(a, b)
            t = Max(s, x)
            y = Max(t, c)
        }""")
    feeds = {"x": np.zeros(2, F32), "a": np.array([10, 20], F32)}
    after = assert_same_in_onnxruntime(source, feeds)
    assert len(after.graph.node) == 1


def test_in_ir_version_3_every_initializer_is_constant() -> None:
    source = overridable(3)
    source.graph.input.append(helper.make_tensor_value_info("b", TensorProto.FLOAT, [2]))
    assert text(source) == golden("""
        a = float[2] {1.0, 2.0}
        b = float[2] {3.0, 4.0}
        s = Constant<value=float[2] {4.0, 6.0}>()
        y = Add(x, s)
        """)


@pytest.mark.parametrize(
    ("body", "dims"), [("Max(a, z, b)", "K"), ("Max(b, z, a)", "K"), ("Max(n, z, b)", "K"), ("Max(z, a)", "K")]
)
def test_an_override_may_have_another_shape_than_the_default(body: str, dims: str) -> None:
    source = model(
        f"""
        g (float[N] a, float[{dims}] b) => (float[M] y) <float[3] a = {{1, 2, 3}}> {{
            n = Neg(a)
            y = {body}
        }}""",
        constants={"z": np.full(3, -np.inf, F32)},
    )
    assert_same_in_onnxruntime(source, {"a": np.ones(1, F32), "b": np.zeros(1, F32)})


def test_constant_attributes_have_their_own_types() -> None:
    source = model("""
        g (float x) => (float f, float[2] fs, int64 i, int64[2] is_) {
            a = Constant<value_float = 0.1>()
            b = Constant<value_floats = [0.1, 0.2]>()
            c = Constant<value_int = 1>()
            d = Constant<value_ints = [1, 2]>()
            f = Add(a, a)
            fs = Add(b, a)
            i = Max(c, c)
            is_ = Add(d, c)
        }""")
    after, _ = optimized(source)
    assert [(item.name, item.data_type) for item in after.graph.initializer] == [
        ("f", TensorProto.FLOAT), ("fs", TensorProto.FLOAT), ("i", TensorProto.INT64), ("is_", TensorProto.INT64),
    ]  # fmt: skip
    assert initializer(after, "f") == F32(0.1) + F32(0.1)


def test_constant_strings_stay_strings() -> None:
    source = model("""
        g (float x) => (string a, string[2] b) {
            a = Constant<value_string = "t">()
            b = Constant<value_strings = ["t", "u"]>()
        }""")
    assert optimized(source)[1].changed is False


@pytest.mark.parametrize("linear", [True, False])
def test_a_sparse_constant_folds_dense_and_is_not_lost(linear: bool) -> None:
    values = helper.make_tensor("s", TensorProto.FLOAT, [2], [5, -7])
    indices = np.array([1, 5]) if linear else np.array([[0, 1], [1, 2]])
    sparse = helper.make_sparse_tensor(values, onnx.numpy_helper.from_array(indices), [2, 3])
    source = model("g (float x) => (float[2,3] y, float[2,3] z) <float k = {1}> { y = Add(s, k)\n z = Mul(s, x) }")
    source.graph.sparse_initializer.append(sparse)
    after, _ = optimized(source, check=False)
    assert initializer(after, "y").tolist() == [[1, 6, 1], [1, 1, -6]]
    assert [item.values.name for item in after.graph.sparse_initializer] == ["s"]


def test_a_sparse_constant_node_folds() -> None:
    values = helper.make_tensor("", TensorProto.FLOAT, [1], [5])
    sparse = helper.make_sparse_tensor(values, onnx.numpy_helper.from_array(np.array([2])), [3])
    source = model("g (float x) => (float[3] y) <float k = {1}> { y = Add(s, k) }")
    source.graph.node.insert(0, helper.make_node("Constant", [], ["s"], sparse_value=sparse))
    assert text(source) == "y = float[3] {1.0, 1.0, 6.0}"


def test_a_large_sparse_tensor_is_refused_from_its_shape() -> None:
    values = helper.make_tensor("s", TensorProto.FLOAT, [1], [5])
    sparse = helper.make_sparse_tensor(values, onnx.numpy_helper.from_array(np.array([2])), [1 << 40])
    source = model("g (float x) => (float[N] y) <float k = {1}> { y = Add(s, k) }")
    source.graph.sparse_initializer.append(sparse)
    _, report = optimized(source, check=False)
    assert not report.changed
    assert [decline.reason.split(" by ")[0] for decline in report.declines] == ["the file would grow"]


@pytest.mark.parametrize("operator", ["Max", "Add"])
def test_a_large_sparse_tensor_is_not_merged(operator: str) -> None:
    values = helper.make_tensor("s", TensorProto.INT64, [1], [5])
    sparse = helper.make_sparse_tensor(values, onnx.numpy_helper.from_array(np.array([2])), [1 << 40])
    source = model(
        f"g (int64[N] x) => (int64[N] y) <int64 k = {{1}}> {{ p = {operator}(x, s)\n y = {operator}(p, k) }}"
    )
    source.graph.sparse_initializer.append(sparse)
    after, _ = optimized(source, check=False)
    assert (after.graph.initializer, after.graph.sparse_initializer) == (
        source.graph.initializer, source.graph.sparse_initializer,
    )  # fmt: skip


def test_each_node_rounds_to_its_own_type() -> None:
    bf16, f16 = ml_dtypes.bfloat16, np.float16
    source = model(
        """
        g (float x) => (float y, float z) {
            a = Add(p, q)
            y = Cast<to = 1>(a)
            b = Add(r, r)
            z = Cast<to = 1>(b)
        }""",
        constants={"p": np.array(256, bf16), "q": np.array(1, bf16), "r": np.array(60000, f16)},
    )
    after, _ = optimized(source)
    assert "Add" not in {node.op_type for node in after.graph.node}
    values = {item.name: onnx.numpy_helper.to_array(item) for item in after.graph.initializer}
    rounded = [float(values[name]) for name in ("a", "y") if name in values]
    assert rounded[:1] == [256]
    assert [float(values[name]) for name in ("b", "z") if name in values][:1] == [np.inf]


def test_zeros_of_different_sign_are_different_constants() -> None:
    source = model(
        "g (float[1] x) => (float[1] y, float[1] z) { y = Div(x, p)\n z = Div(x, n) }",
        constants={"p": np.array([0.0], F32), "n": np.array([-0.0], F32)},
    )
    after = assert_same_in_onnxruntime(source, {"x": np.ones(1, F32)})
    assert len(after.graph.initializer) == 2


def test_adding_positive_zero_is_not_the_identity() -> None:
    source = model(
        "g (float[1] x) => (float[1] y) <float z = {0}, float one = {1}> { s = Add(x, z)\n y = Div(one, s) }"
    )
    after = assert_same_in_onnxruntime(source, {"x": np.array([-0.0], F32)})
    assert len(after.graph.node) == 2


def test_adding_negative_zero_is() -> None:
    source = model(
        "g (float[1] x) => (float[1] y) <float one = {1}> { s = Add(x, z)\n y = Div(one, s) }",
        constants={"z": np.array(-0.0, F32)},
    )
    for value in (0.0, -0.0):
        after = assert_same_in_onnxruntime(source, {"x": np.array([value], F32)})
        assert [node.op_type for node in after.graph.node] == ["Div"]


@pytest.mark.parametrize("operator", ["Add", "Max"])
@pytest.mark.parametrize("math", ["exact", "relaxed"])
def test_a_neutral_operand_may_raise_the_rank(operator: str, math: str) -> None:
    neutral = np.full((1, 1), 0 if operator == "Add" else np.iinfo(np.int64).min)
    source = model(
        f"g (int64[3] x) => (int64[N,M] y) {{ n = Neg(x)\n y = {operator}(n, z) }}", constants={"z": neutral}
    )
    assert_same_in_onnxruntime(source, {"x": np.array([1, 2, 3])}, math=math)


def test_blow_up_is_declined() -> None:
    source = model(
        "g (float x) => (float[2048,2048] y) { y = Add(a, b) }",
        constants={"a": np.zeros((2048, 1), F32), "b": np.zeros((1, 2048), F32)},
    )
    after, report = optimized(source)
    assert after == source
    growth = 4 * 2048 * 2048 - 2 * 4 * 2048
    assert [decline.reason for decline in report.declines] == [
        f"the file would grow by {growth} bytes, more than 65536; --max-growth allows more"
    ]


def test_a_weight_used_twice_is_not_doubled() -> None:
    weight = np.ones((200, 200), F32)
    source = model(
        """
        g (float[200] x) => (float[200] y, float[200] z) <float k = {2}> {
            m = Max(w, k)
            y = MatMul(m, x)
            z = MatMul(w, x)
        }""",
        constants={"w": weight},
    )
    after, report = optimized(source)
    assert after == source
    assert report.constant_bytes_after == report.constant_bytes_before
    del source.graph.output[1], source.graph.node[2]
    assert optimized(source)[1].nodes_after == 1


@pytest.mark.parametrize("name", ["FLOAT8E4M3FN", "FLOAT8E5M2", "INT4", "UINT4", "STRING", "BOOL", "COMPLEX64"])
@pytest.mark.parametrize("operator", ["Add", "Max"])
def test_types_that_the_operator_does_not_take_stay(name: str, operator: str) -> None:
    kind = TensorProto.DataType.Value(name)
    if name == "STRING":
        tensors = [TensorProto(name=key, data_type=kind, dims=[2], string_data=[b"0", b"0"]) for key in "ab"]
    else:
        size = {"INT4": 1, "UINT4": 1, "COMPLEX64": 16}.get(name, 2)
        tensors = [TensorProto(name=key, data_type=kind, dims=[2], raw_data=bytes(size)) for key in "ab"]
    y = helper.make_tensor_value_info("y", kind, [2])
    x = helper.make_tensor_value_info("x", kind, [2])
    nodes = [helper.make_node(operator, ["a", "b"], ["p"]), helper.make_node(operator, ["p", "x"], ["q"]),
             helper.make_node(operator, ["q", "b"], ["y"])]  # fmt: skip
    graph = helper.make_graph(nodes, "g", [x], [y], initializer=tensors)
    source = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    after, _ = optimized(source, check=False, skip=["share-constants", "fuse-max"])
    assert after == source
    fused, _ = optimized(source, check=False)
    assert {item.data_type for item in fused.graph.initializer} == {kind}


@pytest.mark.parametrize(
    ("dtype", "a", "b", "expected"),
    [
        (np.int8, 127, 1, -128),
        (np.uint8, 250, 10, 4),
        (np.int64, 2**63 - 1, 2, -(2**63) + 1),
        (np.uint32, 2**32 - 1, 1, 0),
    ],
)
def test_integer_addition_wraps(dtype: type, a: int, b: int, expected: int) -> None:
    name = TensorProto.DataType.Name(helper.np_dtype_to_tensor_dtype(np.dtype(dtype))).lower()
    source = model(
        f"g ({name} x) => ({name} y, {name} z) {{ y = Add(a, b)\n p = Add(x, a)\n z = Add(p, b) }}",
        constants={"a": np.array(a, dtype), "b": np.array(b, dtype)},
    )
    after, _ = optimized(source)
    assert initializer(after, "y").tolist() == expected
    assert [item.name for item in after.graph.initializer] in (["y"], ["y", "z_constant"])
    assert len(after.graph.node) == 1


def test_the_least_integer_is_compared_not_subtracted() -> None:
    least = np.iinfo(np.int64).min
    source = model(
        "g (int64 x) => (int64[2] y) { y = Max(a, b) }",
        constants={"a": np.array([least, 5]), "b": np.array([np.iinfo(np.int64).max, least])},
    )
    assert initializer(optimized(source)[0], "y").tolist() == [np.iinfo(np.int64).max, 5]


def test_empty_names_are_not_constants() -> None:
    source = model(
        "g (float[2] x) => (float[2] y) <float low = {1}, float k = {1}> { y = Clip(x, low, m)\n m = Add(low, k) }"
    )
    source.graph.node[0].input[1] = ""
    after, _ = optimized(source)
    assert list(after.graph.node[0].input) == ["x", "", "m"]
    source.graph.node[0].input[2] = ""
    assert list(optimized(source)[0].graph.node[0].input) == ["x", "", ""]


@pytest.mark.parametrize(
    ("shape", "axis", "expected"),
    [((2, 3, 4), 1, None), ((3, 3), 0, [[0, 0, 0], [1, 1, 1], [2, 2, 2]]), ((3, 3), 1, [[0, 1, 2]] * 3),
     ((3, 3), None, [[0, 1, 2]] * 3), ((3, 3), -2, [[0, 0, 0], [1, 1, 1], [2, 2, 2]])],
)  # fmt: skip
def test_legacy_add_aligns_at_its_axis(shape: tuple[int, ...], axis: int | None, expected: object) -> None:
    attribute = "" if axis is None else f", axis = {axis}"
    dims = ",".join(map(str, shape))
    source = model(
        f"g (float[1] x) => (float[{dims}] y) {{ y = Add<broadcast = 1{attribute}>(a, b) }}",
        opset=6, ir_version=4, constants={"a": np.zeros(shape, F32), "b": np.arange(3, dtype=F32)},
    )  # fmt: skip
    value = initializer(optimized(source)[0], "y")
    right = np.zeros(shape) + np.arange(3).reshape(3, 1) if expected is None else np.array(expected)
    np.testing.assert_array_equal(value, right)


def test_legacy_add_without_broadcast_needs_equal_shapes() -> None:
    source = model(
        "g (float[1] x) => (float[2,3] y) { y = Add(a, b) }",
        opset=6, ir_version=4, constants={"a": np.zeros((2, 3), F32), "b": np.zeros(3, F32)},
    )  # fmt: skip
    assert not optimized(source, check=False)[1].changed


@pytest.mark.parametrize("where", ["output", "intermediate", "body"])
def test_declared_shapes_lie(where: str) -> None:
    """The result of `Max(s, z)` is [3] whatever is declared of s; dropping z would make it [1]."""
    low = np.full(3, -np.inf, F32)
    if where == "body":
        source = model(
            """
            g (float[N] x) => (float[M] y) <int64 n = {2}> {
                y = Loop (n, , x) <
                    body = b (int64 i, bool go, float[3] s) => (bool go2, float[M] t) {
                        go2 = Identity(go)
                        r = Max(s, z)
                        t = Neg(r)
                    }
                >
            }""",
            constants={"z": low},
        )
    else:
        declared = "[3] s" if where == "output" else "[1] s"
        source = model(
            f"g (float[N] x) => (float[M] y, float{declared}) {{ s = Neg(x)\n r = Max(s, z)\n y = Neg(r) }}",
            constants={"z": low},
        )
        if where == "intermediate":
            del source.graph.output[1]
            source.graph.value_info.append(helper.make_tensor_value_info("s", TensorProto.FLOAT, [3]))
    feeds = {"x": np.ones(1, F32)}
    after, _ = optimized(source, check=False)
    assert in_onnxruntime(after, feeds)[0].shape == (3,)
