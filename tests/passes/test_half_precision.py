"""Constants of an IR in float16: which, what of them, and how they are written, compared with OpenVINO's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lxml import etree
from onnx import ModelProto

from maxfold.optimizer import Model, convert, load, optimize, save
from maxfold.passes.half_precision import Compressed, compress_to_half
from tests.run import Array
from tests.text import model

ov = pytest.importorskip("openvino")
F32 = np.float32
RNG = np.random.default_rng(7)

Stored = dict[str, tuple[str, str, bytes]]


def adding(values: Array, kind: str = "float") -> ModelProto:
    """Adds a constant."""
    shape = ",".join(map(str, values.shape))
    return model(f"g ({kind}[{shape}] x) => ({kind}[{shape}] y) {{ y = Add(x, c) }}", constants={"c": values})


def stored(path: Path) -> tuple[Stored, set[str]]:
    """The constants of an IR by name, and the Converts that are marked to give back compressed ones."""
    root = etree.parse(str(path)).getroot()
    weights = path.with_suffix(".bin").read_bytes()
    constants: Stored = {}
    marked: set[str] = set()
    for layer in root.iter("layer"):
        data = layer.find("data")
        if layer.get("type") == "Const":
            start = int(data.get("offset"))
            place = weights[start : start + int(data.get("size"))]
            constants[layer.get("name")] = (data.get("element_type"), data.get("shape"), place)
        if any(item.get("name") == "decompression" for item in layer.iterfind("rt_info/attribute")):
            assert layer.get("type") == "Convert"
            marked.add(layer.get("name"))
    return constants, marked


def compared(source: Model, folder: Path) -> tuple[Compressed, Stored]:
    """Compresses an IR as it is, and by OpenVINO; both must have written the same constants."""
    save(source, folder / "wide.xml")
    ov.save_model(ov.Core().read_model(folder / "wide.xml"), folder / "theirs.xml", compress_to_fp16=True)
    found = compress_to_half(source)
    save(source, folder / "ours.xml")
    ours, theirs = stored(folder / "ours.xml"), stored(folder / "theirs.xml")
    assert ours == theirs
    ov.Core().read_model(folder / "ours.xml")
    return found, ours[0]


VALUES = {
    "ordinary": RNG.standard_normal(40).astype(F32),
    "large ones": RNG.uniform(100, 2000, 40).astype(F32),
    "one that moves by more than 1": np.array([1, 2, 33333], F32),
    "small ones": RNG.uniform(1e-6, 3e-5, 40).astype(F32),
    "below all": np.array([1e-9, 1, 2, 3, 4], F32),
    "mostly below all": np.array([1e-9, 2e-9, 3e-9, 4], F32),
    "beyond": np.array([1e5, -7e4, 1, 2], F32),
    "next to the end": np.array([65504, 65505, 65519, 65520, 1, 2, 3, 4], F32),
    "mostly beyond": np.array([1e5, -1e5, 1e6, 1], F32),
    "infinite": np.array([np.inf, -np.inf, 1, 2, 3], F32),
    "zeros": np.array([0.0, -0.0, 1.5], F32),
    "ties": np.array([2049.0, 2051.0, 1 + 2.0**-11, 1 + 3 * 2.0**-11], F32),
    "one value": np.array([0.1], F32),
    "one value that fits": np.array([0.5], F32),
    "of three dimensions": RNG.standard_normal((3, 4, 5)).astype(F32),
    "in several pieces": RNG.standard_normal((700, 100)).astype(F32),
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES.keys())
def test_values(values: Array, tmp_path: Path) -> None:
    compared(convert(adding(values), to="openvino"), tmp_path)


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES.keys())
def test_values_of_float64(values: Array, tmp_path: Path) -> None:
    compared(convert(adding(values.astype(np.float64), "double"), to="openvino"), tmp_path)


def test_seven_of_ten_do_and_eight_do_not(tmp_path: Path) -> None:
    for count, kept in ((7, 0), (8, 1)):
        values = np.array([1e-9] * count + [1] * (10 - count), F32)
        found, _ = compared(convert(adding(values), to="openvino"), tmp_path)
        assert (found.count, found.kept) == (1 - kept, kept)


def test_what_is_clamped_is_named(tmp_path: Path) -> None:
    found, constants = compared(convert(adding(VALUES["beyond"]), to="openvino"), tmp_path)
    assert found.clamped == {"c": 2}
    assert np.frombuffer(constants["c_compressed"][2], np.float16).tolist() == [65504, -65504, 1, 2]
    made = convert(adding(VALUES["beyond"]), to="openvino", compress_to_fp16=True)
    assert [(item.count, item.example) for item in made.lost] == [(2, "c")]
    assert "65504" in made.lost[0].what


def test_a_nan_stays_one() -> None:
    made = convert(adding(np.array([np.nan, 1, 2], F32)), to="openvino", compress_to_fp16=True)
    (constant,) = made.constants()
    assert np.isnan(constant.values[0])


def test_an_empty_constant_stays() -> None:
    made = convert(adding(np.zeros((0, 3), F32)), to="openvino")
    assert compress_to_half(made) == Compressed(0, 1, {})


def test_integers_and_half_precision_stay(tmp_path: Path) -> None:
    for values, kind in ((np.arange(3), "int64"), (np.ones(3, np.float16), "float16")):
        found, _ = compared(convert(adding(values, kind), to="openvino"), tmp_path)
        assert (found.count, found.kept) == (0, 0)


def test_sizes_stay_wide(tmp_path: Path) -> None:
    source = model(
        """g (float[1,2,4,4] x) => (float[1,2,8,8] y) {
            r = Resize<mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">(x, , s)
            y = Mul(r, c)
        }""",
        constants={"s": np.array([1, 1, 2, 2], F32), "c": RNG.standard_normal((1, 2, 1, 1)).astype(F32)},
    )
    found, constants = compared(convert(source, to="openvino"), tmp_path)
    assert (found.count, found.kept) == (1, 1)
    assert {kind for kind, _, _ in constants.values()} >= {"f16", "f32"}


def test_a_quantized_model_stays_wide(tmp_path: Path) -> None:
    source = model(
        """g (float[3] x) => (float[3] y) <float s = {0.5}, int8 z = {0}> {
            q = QuantizeLinear(x, s, z)  d = DequantizeLinear(q, s, z)  y = Add(d, c) }""",
        constants={"c": VALUES["ties"][:3]},
    )
    made = convert(source, to="openvino")
    assert any(node.op == "FakeQuantize" for node in made.graph.nodes)
    found, _ = compared(made, tmp_path)
    assert (found.count, found.is_quantized) == (0, True)


def test_weights_of_few_bits_stay_wide(tmp_path: Path) -> None:
    source = model(
        """g (float[2,3] x) => (float[2,4] y) { w = DequantizeLinear(q, s, z)  m = MatMul(x, w)  y = Add(m, c) }""",
        constants={
            "q": RNG.integers(-9, 9, (3, 4)).astype(np.int8), "s": np.array(0.25, F32), "z": np.array(1, np.int8),
            "c": VALUES["ties"],
        },
    )  # fmt: skip
    found, _ = compared(convert(source, to="openvino"), tmp_path)
    assert (found.count, found.is_quantized) == (0, True)


def test_names_stay_and_results_agree(tmp_path: Path) -> None:
    source = model(
        """g (float[N,3,8,8] x) => (float[N,4,6,6] y, float[N,4,6,6] z) {
            c = Conv(x, w, b)  y = Relu(c)  z = Mul(c, k) }""",
        constants={
            "w": RNG.standard_normal((4, 3, 3, 3)).astype(F32), "b": RNG.standard_normal(4).astype(F32),
            "k": RNG.standard_normal((1, 4, 1, 1)).astype(F32),
        },
    )  # fmt: skip
    made = convert(source, to="openvino")
    optimize(made)
    compared(made, tmp_path)
    feeds = {"x": RNG.standard_normal((2, 3, 8, 8)).astype(F32)}
    results = []
    for name in ("theirs.xml", "ours.xml"):
        compiled = ov.compile_model(ov.Core().read_model(tmp_path / name), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        results.append([compiled(feeds)[output] for output in ("y", "z")])
    for first, second in zip(*results, strict=True):
        np.testing.assert_array_equal(first, second)


def test_it_comes_back(tmp_path: Path) -> None:
    made = convert(adding(VALUES["ordinary"]), to="openvino", compress_to_fp16=True)
    save(made, tmp_path / "m.xml")
    again = load(tmp_path / "m.xml")
    assert not optimize(again).changed
    assert compress_to_half(again).count == 0
    save(again, tmp_path / "again.xml")
    assert stored(tmp_path / "again.xml") == stored(tmp_path / "m.xml")
    back = convert(again, to="onnx")
    assert [node.op for node in back.graph.nodes] == ["Cast", "Add"]
