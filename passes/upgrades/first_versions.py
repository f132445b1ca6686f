"""What changed between the first versions of operators, up to 6, beside shapes and inputs; and renamed operators.

Source: the operators' specifications, the versions named in `ADAPTERS`.
"""

from __future__ import annotations

from collections.abc import Mapping

import onnx

from maxfold.passes.upgrades.draft import Adapter, Draft, Facts, Refusal


def _without_hints(draft: Draft, facts: Facts) -> None:
    """`consumed_inputs` allowed to compute in place; it never had a part in results."""
    draft.take("consumed_inputs")


def _clip(draft: Draft, facts: Facts) -> None:
    """No limit is one limit of float32 from version 6 on."""
    draft.take("consumed_inputs")
    draft.attributes.setdefault("min", float("-inf"))
    draft.attributes.setdefault("max", float("inf"))


def _selu(draft: Draft, facts: Facts) -> None:
    """The defaults got more digits."""
    draft.take("consumed_inputs")
    draft.attributes.setdefault("alpha", 1.6732)
    draft.attributes.setdefault("gamma", 1.0507)


def _cast(draft: Draft, facts: Facts) -> None:
    """`to` was the name of a type."""
    name = draft.attribute("to")
    if name not in onnx.TensorProto.DataType.keys():  # noqa: SIM118  # an enum, which has no other test
        raise Refusal(f"{name!r} is no type")
    draft.attributes["to"] = int(onnx.TensorProto.DataType.Value(name))


def _concat(draft: Draft, facts: Facts) -> None:
    """`axis` had a default."""
    draft.attributes.setdefault("axis", 1)


def _split(draft: Draft, facts: Facts) -> None:
    """Lengths were an input or an attribute, and `axis` had no default that is specified."""
    if draft.input(1) is not None:
        raise Refusal("the lengths of its results are an input")
    if draft.attribute("axis") is None:
        raise Refusal("attribute 'axis' is missing")


def _scatter(draft: Draft, facts: Facts) -> None:
    """Scatter goes on as ScatterElements."""
    draft.op = "ScatterElements"


_HINTED = (
    "Abs", "Add", "BatchNormalization", "Ceil", "Div", "Dropout", "Elu", "Exp", "Floor", "HardSigmoid",
    "InstanceNormalization", "LeakyRelu", "Log", "Max", "Mean", "Min", "Mul", "Neg", "PRelu", "Reciprocal", "Relu",
    "Sigmoid", "Sqrt", "Sub", "Sum", "Tanh",
)  # fmt: skip

ADAPTERS: Mapping[tuple[str, int], Adapter] = {
    **{(operator, 6): _without_hints for operator in _HINTED},
    ("Cast", 6): _cast,
    ("Clip", 6): _clip,
    ("Concat", 4): _concat,
    ("Scatter", 11): _scatter,
    ("Selu", 6): _selu,
    ("Split", 2): _split,
}
