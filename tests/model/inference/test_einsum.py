"""Einsum: sizes of 1 broadcast, an ellipsis stands for any dims, letters may repeat and the result may be implicit."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

from maxfold.model import read_onnx
from maxfold.model.view import View
from tests.model.inference.evaluation import contradictions
from tests.model.inference.runtime import Runtime

Shape = tuple[int | str, ...]


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    started = Runtime()
    yield started
    started.close()


def einsum(equation: str, *shapes: Shape | None) -> ModelProto:
    """A model of one Einsum; None is an unknown rank."""
    inputs = [
        helper.make_tensor_value_info(f"x{index}", TensorProto.FLOAT, shape) for index, shape in enumerate(shapes)
    ]
    node = helper.make_node("Einsum", [info.name for info in inputs], ["y"], equation=equation)
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def dims_of(equation: str, *shapes: Shape | None) -> str:
    """The dims of y as text."""
    loaded = read_onnx(einsum(equation, *shapes))
    dims = View(loaded).dims(loaded.graph.outputs[0])
    return "unknown" if dims is None else ", ".join(map(repr, dims))


@pytest.mark.parametrize(
    ("equation", "shapes", "expected"),
    [
        ("ij,ij->ij", [(1, 3), (5, 3)], "5, 3"),
        ("ij,ij->ij", [(5, 3), (1, 3)], "5, 3"),
        ("ij,jk", [(2, 1), (3, 4)], "2, 4"),
        ("ij,jk->ik", [("N", 3), (3, "M")], "x0.0, x1.1"),
        ("ij,ij->ij", [("N", 3), ("M", 3)], "broadcast(x0.0, x1.0), 3"),
        ("ij,ij->ij", [("N", 3), (4, 3)], "4, 3"),
        ("ba", [(2, 3)], "3, 2"),
        ("ii->i", [(3, 3)], "3"),
        ("ii", [("N", "N")], ""),
        (" i j , j k - > i k ", [(2, 3), (3, 4)], "2, 4"),
        ("...ij,...jk->...ik", [(7, 1, 2, 3), (7, 5, 3, 4)], "7, 5, 2, 4"),
        ("...ij,jk", [("N", 2, 3), (3, 4)], "x0.0, 2, 4"),
        ("i...->...", [(2, "N", 4)], "x0.1, 4"),
        ("i...", [(2, 3)], "3, 2"),
        ("...->...", [(1,)], "1"),
        ("ij->", [(2, 3)], ""),
        ("ij,jk->ik", [(2, 3), None], "unknown"),
        ("ij->ii", [(2, 3)], "unknown"),
        ("ij->k", [(2, 3)], "unknown"),
        ("ij,jk->ik", [(2, 3)], "unknown"),
        ("i->i", [(2, 3)], "unknown"),
        ("i.j->ij", [(2, 3)], "unknown"),
        ("ij->...ij->", [(2, 3)], "unknown"),
        ("i,i->i", [(2,), (3,)], "unknown"),
    ],
)
def test_dims(equation: str, shapes: list[Shape | None], expected: str) -> None:
    assert dims_of(equation, *shapes) == expected


@pytest.mark.parametrize("damage", [lambda node: node.ClearField("attribute"), lambda node: node.input.append("")])
def test_damaged_nodes_are_unknown(damage: object) -> None:
    source = einsum("ij->ij", (2, 3))
    assert callable(damage)
    damage(source.graph.node[0])
    loaded = read_onnx(source)
    assert View(loaded).dims(loaded.graph.outputs[0]) is None


def random_einsum(choice: random.Random) -> tuple[str, list[tuple[int, ...]]]:
    """An equation and the shapes of its operands, in which about every fifth size is 1 instead."""
    sizes = {letter: choice.choice([0, 1, 2, 3, 4]) for letter in "ijklm"}
    covered = [choice.choice([1, 2, 3]) for _ in range(choice.choice([0, 0, 1, 2]))]
    terms, shapes = [], []
    for _ in range(choice.choice([1, 2, 2, 3])):
        letters = [choice.choice("ijklm") for _ in range(choice.choice([0, 1, 2, 2, 3]))]
        place = choice.randint(0, len(letters)) if covered else 0
        full = [
            *(sizes[letter] for letter in letters[:place]),
            *covered,
            *(sizes[letter] for letter in letters[place:]),
        ]
        shapes.append(tuple(1 if choice.random() < 0.2 else size for size in full))
        before, after = "".join(letters[:place]), "".join(letters[place:])
        terms.append(f"{before}{'...' * bool(covered)}{after}")
    equation = ",".join(terms)
    if choice.random() < 0.7:
        used = sorted(set(equation) & set(sizes))
        kept = choice.sample(used, choice.randint(0, len(used)))
        equation += "->" + "".join(["...", *kept] if covered else kept)
    return equation, shapes


def test_random_equations_are_what_a_run_gives(runtime: Runtime) -> None:
    choice = random.Random(0)
    compared = 0
    for _ in range(400):
        equation, shapes = random_einsum(choice)
        open_shapes = [tuple(f"x{index}_{axis}" for axis in range(len(shape))) for index, shape in enumerate(shapes)]
        feeds = {f"x{index}": np.ones(shape, np.float32) for index, shape in enumerate(shapes)}
        results = runtime.run(einsum(equation, *open_shapes), feeds)
        if results is None:
            continue
        compared += 1
        partly = [
            tuple(size if choice.random() < 0.5 else name for size, name in zip(shape, names, strict=True))
            for shape, names in zip(shapes, open_shapes, strict=True)
        ]
        for declared in (shapes, open_shapes, partly):
            loaded = read_onnx(einsum(equation, *declared))
            view, (result,) = View(loaded), loaded.graph.outputs
            found = contradictions(view, [*loaded.graph.inputs, result], {**feeds, **results})
            assert not found, (equation, shapes, declared, found)
            # Neither sizes of 0 nor inputs without dimensions are believed.
            if declared is shapes and all(shapes) and 0 not in itertools.chain(*shapes):
                assert view.shape(result) == results["y"].shape, (equation, shapes)
    assert compared > 100
