"""Random models for whole-pipeline tests: valid, runnable in ONNX Runtime, full of what passes look for.

    random_model(seed)        a model of 5 to 40 nodes and two sets of values for its inputs, always the same
    random_model(seed, kind=SHAPES)        one that computes with the shapes of its inputs
    random_model(seed, kind=TARGETED)      one of what is rewritten for one runtime and not for another
    random_model(seed, kind=PATTERNS)      one of what runtimes fuse

Constants come as initializers, Constant nodes and defaults that a caller may override, some equal, some neutral;
the batch has another size in each set; results are read often, by branches and loop bodies too, which reuse local
names; outputs are taken from anywhere. Each node runs while the model is made, so that hardly any model is invalid.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import onnx
from onnx import ModelProto, helper

from maxfold.passes.targets import TARGETS, Target
from tests.random_models import (
    choices,
    elementwise,
    fused,
    idioms,
    layers,
    layouts,
    movement,
    patterns,
    shapes,
    targeted,
    traps,
)
from tests.random_models.builder import Builder, Value, info
from tests.random_models.control import control
from tests.random_models.trial import Refused, Session, subgraphs
from tests.random_models.values import BOOL, F32, F64, I32, I64, Array

OPSETS = (11, 13, 15, 17, 18, 20, 23)
_MOST_TRIES = 4


class NoModelError(ValueError):
    """The model of this seed is invalid, or ONNX Runtime does not run it; str() says why."""


@dataclass(frozen=True)
class RandomModel:
    """A model and sets of values for its inputs, those with a default too.

    `draws` are, for each set, values for the results of nodes of chance, by "<name of the node> <output>";
    `values` are what each tensor of the main graph holds. `finite` models have no infinity, NaN or large value.
    `target` is the runtime that it is to be rewritten for.
    """

    model: ModelProto
    feed_sets: list[dict[str, Array]]
    draws: list[dict[str, Array]]
    finite: bool
    values: dict[str, tuple[Array, ...]] = field(repr=False)
    target: Target = "any"

    @property
    def feeds(self) -> dict[str, Array]:
        """The first set of values; it leaves all defaults as they are."""
        return self.feed_sets[0]

    @property
    def operators(self) -> set[str]:
        """The operators of all nodes, of those in bodies too."""
        return _operators(self.model.graph)

    @property
    def has_max(self) -> bool:
        """Whether the sign of a zero may be anybody's choice."""
        return bool(self.operators & _CHOOSERS)


_CHOOSERS = {
    "Max", "Min", "Clip", "Relu", "ReduceMax", "ReduceMin", "MaxPool", "GlobalMaxPool", "HardSigmoid", "HardSwish",
    "TopK", "Pad", "Round", "Mod",
}  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """What a model begins with, and what makes its nodes, by how often."""

    inputs: Callable[[Builder], object]
    makers: dict[Any, int]


def step(b: Builder, kind: Kind) -> None:
    """One more node, or a few that belong together."""
    (maker,) = b.random.choices(list(kind.makers), list(kind.makers.values()))
    if maker in (control, choices.alike):
        maker(b, partial(step, kind=kind))
    else:
        maker(b)


def _inputs(b: Builder) -> None:
    dims: tuple[tuple[int | str, ...], ...] = (
        ("N", 3), ("N", 4), ("N", 2, 3), ("N", 2, 4, 4), ("N",), (3,), (), (2, 3), (1, 1, 3), (2, 1), (4, 4), (0, 3),
    )  # fmt: skip
    b.input(F32, b.random.choice(dims[:4]))
    for _ in range(b.random.randint(1, 3)):
        b.input(b.random.choice((F32, F32, F64, I64, I32)), b.random.choice(dims))
    if b.chance(0.5):
        b.input(BOOL, b.random.choice(((), (1,), ("N", 1))))


WHOLE = Kind(
    _inputs,
    {
        **elementwise.MAKERS,
        **movement.MAKERS,
        **layers.MAKERS,
        **traps.MAKERS,
        **idioms.MAKERS,
        **choices.MAKERS,
        control: 5,
        choices.alike: 3,
    },
)
SHAPES = Kind(shapes.inputs, {**shapes.MAKERS, control: 2, choices.alike: 2})
LAYOUTS = Kind(_inputs, {**layouts.MAKERS, movement.transpose: 1, control: 1})
TARGETED = Kind(_inputs, {**targeted.MAKERS, elementwise.unary: 2, elementwise.arithmetic: 2, control: 1})
FUSED = Kind(
    _inputs, {**fused.MAKERS, elementwise.unary: 2, elementwise.arithmetic: 2, movement.transpose: 1, control: 1}
)
PATTERNS = Kind(_inputs, {**patterns.MAKERS, layers.matmul: 2, elementwise.arithmetic: 2, movement.transpose: 1})
KINDS = {
    "fused": FUSED,
    "whole": WHOLE,
    "shapes": SHAPES,
    "layouts": LAYOUTS,
    "targeted": TARGETED,
    "patterns": PATTERNS,
}


def random_model(
    seed: int, *, kind: Kind = WHOLE, finite: bool | None = None, operators: Container[str] | None = None
) -> RandomModel:
    """The model of a seed; with `operators` only these are in it, and no defaults that a caller may override.

    Raises `NoModelError` where it is invalid or ONNX Runtime does not run it.
    """
    source = random.Random(seed)
    opset = source.choice(OPSETS)
    is_finite = source.random() < 0.6 if finite is None else finite
    b = Builder(seed, opset, finite=is_finite, half=source.random() < 0.25, operators=operators)
    kind.inputs(b)
    wanted = b.random.randint(5, 40)
    for _ in range(_MOST_TRIES * wanted):
        if len(b.scope.nodes) >= wanted:
            break
        try:
            step(b, kind)
        except Refused:
            continue
    # Drawn by itself: the models of seeds stay what they are.
    target = random.Random(f"target of {seed}").choice(TARGETS)
    values = {name: value.arrays for name, value in b.known.items()}
    made = RandomModel(assemble(b), b.feeds, b.draws, is_finite, values, target)
    try:
        onnx.checker.check_model(made.model, full_check=True)
        session = Session(made.model)
        for feed in made.feed_sets:
            session(feed)
    except Exception as error:
        raise NoModelError(f"seed {seed}: {error}") from error
    return made


def random_models(seeds: Iterable[int], *, kind: Kind = WHOLE, finite: bool | None = None) -> Iterator[RandomModel]:
    """The models of seeds, without those that there are none of."""
    for seed in seeds:
        with suppress(NoModelError):
            yield random_model(seed, kind=kind, finite=finite)


def assemble(b: Builder) -> ModelProto:
    """The model of what has been made; its outputs are taken from anywhere."""
    graph = helper.make_graph(b.scope.nodes, "random", b.inputs, [], initializer=b.scope.initializers)
    read = {name for node in b.scope.nodes for name in node.input}
    made = {name: b.known[name] for node in b.scope.nodes for name in node.output if name in b.known}
    ends = [value for name, value in made.items() if name not in read]
    chosen = b.random.sample(ends, min(len(ends), 5))
    chosen += b.random.sample(list(made.values()), min(len(made), b.random.randint(1, 3)))
    if b.chance(0.1):
        chosen.append(b.random.choice([b.known[item.name] for item in b.inputs]))
    graph.output.extend(info(value, _dims(b, value)) for value in dict.fromkeys(chosen))
    if b.chance(0.3):
        outputs = {item.name for item in graph.output}
        named = [value for name, value in made.items() if name not in outputs and b.chance(0.5)]
        graph.value_info.extend(info(value, _dims(b, value)) for value in named)
    imports = [helper.make_opsetid("", b.opset)]
    if any(node.domain == fused.DOMAIN for node in _nodes(graph)):
        imports.append(helper.make_opsetid(fused.DOMAIN, 1))
    return helper.make_model(
        graph, opset_imports=imports, ir_version=b.random.choice((7, 8, 9) if b.opset < 21 else (10, 11))
    )


def _dims(b: Builder, value: Value) -> list[int | str | None]:
    """Dims that are right for all sets of feeds, some of them unnamed or left out."""
    dims: list[int | str | None] = []
    for axis, sizes in enumerate(zip(*(array.shape for array in value.arrays), strict=True)):
        if len(set(sizes)) == 1 and b.chance(0.7):
            dims.append(int(sizes[0]))
        else:
            dims.append(f"{value.name}_{axis}" if b.chance(0.7) else None)
    return dims


def _operators(graph: onnx.GraphProto) -> set[str]:
    return {node.op_type for node in _nodes(graph)}


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """The nodes of a graph, those in bodies too."""
    for node in graph.node:
        yield node
        for inner in subgraphs(node):
            yield from _nodes(inner)
