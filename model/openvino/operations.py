"""OpenVINO's operations: which version an operator set has, how many inputs and results, and which attributes.

As OpenVINO 2026.4 reads them. The table grows with the conversion table; what it does not list is not judged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from maxfold.model.errors import ModelError
from maxfold.model.openvino import text

# An operation and its version; how many inputs ("2", "1-2", "1+") and results; attributes with their kinds, "!" where
# the reader has no default.
_OPERATIONS = """
Abs 1 1 1
Acos 1 1 1
Acosh 4 1 1
Add 1 2 1 @broadcast
Asin 1 1 1
Asinh 4 1 1
Atan 1 1 1
Atanh 4 1 1
AvgPool 1 1 1 @window rounding_type:text exclude-pad:flag
AvgPool 14 1 1 @window rounding_type:text exclude-pad:flag
AvgPool 16 1 1 @window rounding_type:text exclude-pad:flag dilations:integers
BatchNormInference 1 5 1 epsilon:number
BatchNormInference 5 5 1 epsilon:number
BitwiseAnd 13 2 1 @broadcast
BitwiseLeftShift 15 2 1 @broadcast
BitwiseNot 13 1 1
BitwiseOr 13 2 1 @broadcast
BitwiseRightShift 15 2 1 @broadcast
BitwiseXor 13 2 1 @broadcast
Broadcast 1 2-3 1 mode:text!
Broadcast 3 2-3 1 mode:text
Ceiling 1 1 1
Clamp 1 1 1 min:number max:number
Concat 1 1+ 1 axis:integer
Convert 1 1 1 destination_type:type!
ConvertLike 1 2 1
Convolution 1 2 1 @convolution
ConvolutionBackpropData 1 2-3 1 @convolution
Cos 1 1 1
Cosh 1 1 1
CumSum 3 1-2 1 exclusive:flag reverse:flag
DepthToSpace 1 1 1 block_size:integer! mode:text
Divide 1 2 1 @broadcast m_pythondiv:flag
Einsum 7 1+ 1 equation:text!
Elu 1 1 1 alpha:number
Equal 1 2 1 @broadcast
Erf 1 1 1
Exp 1 1 1
Eye 9 3-4 1 output_type:type!
Floor 1 1 1
FloorMod 1 2 1 @broadcast
Gather 1 3 1
Gather 7 3 1 batch_dims:integer
Gather 8 3 1 batch_dims:integer
GatherElements 6 2 1 axis:integer
GatherND 5 2 1 batch_dims:integer
GatherND 8 2 1 batch_dims:integer
Gelu 2 1 1
Gelu 7 1 1 approximation_mode:text
Greater 1 2 1 @broadcast
GreaterEqual 1 2 1 @broadcast
GroupConvolution 1 2 1 @convolution
GroupConvolutionBackpropData 1 2-3 1 @convolution
GroupNormalization 12 3 1 num_groups:integer! epsilon:number
HSigmoid 5 1 1
HSwish 4 1 1
HardSigmoid 1 3 1
Identity 16 1 1
Interpolate 1 2 1 mode:text! antialias:flag pads_begin:integers pads_end:integers align_corners:flag axes:integers!
Interpolate 4 3-4 1 @interpolation
Interpolate 11 2-3 1 @interpolation
IsFinite 10 1 1
IsInf 10 1 1 detect_negative:flag detect_positive:flag
IsNaN 10 1 1
LRN 1 2 1 alpha:number beta:number bias:number size:integer
Less 1 2 1 @broadcast
LessEqual 1 2 1 @broadcast
Log 1 1 1
LogSoftmax 5 1 1 axis:integer
LogicalAnd 1 2 1 @broadcast
LogicalNot 1 1 1
LogicalOr 1 2 1 @broadcast
LogicalXor 1 2 1 @broadcast
MVN 1 1 1 eps:number normalize_variance:flag across_channels:flag reduction_axes:integers
MVN 6 2 1 eps:number normalize_variance:flag eps_mode:text
MatMul 1 2 1 transpose_a:flag transpose_b:flag
MaxPool 1 1 1 @window rounding_type:text
MaxPool 8 1 2 @window rounding_type:text dilations:integers index_element_type:type axis:integer
MaxPool 14 1 2 @window rounding_type:text dilations:integers index_element_type:type axis:integer
Maximum 1 2 1 @broadcast
Minimum 1 2 1 @broadcast
Mish 4 1 1
Mod 1 2 1 @broadcast
Multiply 1 2 1 @broadcast
Negative 1 1 1
NonZero 3 1 1 output_type:type
NormalizeL2 1 2 1 eps:number eps_mode:text
NotEqual 1 2 1 @broadcast
OneHot 1 4 1 axis:integer
OneHot 16 4 1 axis:integer negative_indices_mode:text
PReLU 1 2 1
Pad 1 3-4 1 pad_mode:text
Pad 12 3-4 1 pad_mode:text
Power 1 2 1 @broadcast
Range 1 3 1
Range 4 3 1 output_type:type!
ReLU 1 1 1
ReduceL1 4 2 1 keep_dims:flag
ReduceL2 4 2 1 keep_dims:flag
ReduceLogicalAnd 1 2 1 keep_dims:flag
ReduceLogicalOr 1 2 1 keep_dims:flag
ReduceMax 1 2 1 keep_dims:flag
ReduceMean 1 2 1 keep_dims:flag
ReduceMin 1 2 1 keep_dims:flag
ReduceProd 1 2 1 keep_dims:flag
ReduceSum 1 2 1 keep_dims:flag
Reshape 1 2 1 special_zero:flag!
Reverse 1 2 1 mode:text
ReverseSequence 1 2 1 batch_axis:integer seq_axis:integer
Round 5 1 1 mode:text
ScatterElementsUpdate 3 4 1
ScatterElementsUpdate 12 4 1 reduction:text use_init_val:flag
ScatterNDUpdate 4 3 1
ScatterNDUpdate 15 3 1 reduction:text
ScatterUpdate 3 4 1
Select 1 3 1 @broadcast
Selu 1 3 1
ShapeOf 1 1 1
ShapeOf 3 1 1 output_type:type!
Sigmoid 1 1 1
Sign 1 1 1
Sin 1 1 1
Sinh 1 1 1
Slice 8 4-5 1
SoftMax 1 1 1 axis:integer
SoftMax 8 1 1 axis:integer
SoftPlus 4 1 1
SoftSign 9 1 1
SpaceToDepth 1 1 1 block_size:integer! mode:text
Split 1 2 1+ num_splits:integer!
Sqrt 1 1 1
SquaredDifference 1 2 1 @broadcast
Squeeze 1 1-2 1
Squeeze 15 1-2 1 allow_axis_skip:flag
StridedSlice 1 3-4 1 begin_mask:integers! @masks
Subtract 1 2 1 @broadcast
Swish 4 1-2 1
Tan 1 1 1
Tanh 1 1 1
Tile 1 2 1
TopK 1 2 2 axis:integer mode:text sort:text index_element_type:type
TopK 3 2 2 axis:integer mode:text sort:text index_element_type:type
TopK 11 2 2 axis:integer mode:text sort:text! index_element_type:type stable:flag
Transpose 1 2 1
Unique 10 1-2 4 sorted:flag index_element_type:type count_element_type:type
Unsqueeze 1 2 1
VariadicSplit 1 3 1+
"""
_SHARED = {
    "@broadcast": "auto_broadcast:text auto_broadcast.auto_broadcast_axis:integer",
    # Old writers give every convolution `output_padding`; OpenVINO reads it of the backward ones only.
    "@convolution": "strides:integers dilations:integers pads_begin:integers pads_end:integers auto_pad:text "
    "output_padding:integers",
    "@window": "kernel:integers! strides:integers! pads_begin:integers pads_end:integers auto_pad:text",
    "@interpolation": "mode:text shape_calculation_mode:text coordinate_transformation_mode:text nearest_mode:text "
    "antialias:flag pads_begin:integers pads_end:integers cube_coeff:number",
    "@masks": "end_mask:integers new_axis_mask:integers shrink_axis_mask:integers ellipsis_mask:integers",
}
_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity|nan)", re.IGNORECASE)
_WORDS = {"number": "a number", "flag": "a flag"}


@dataclass(frozen=True, slots=True)
class Attribute:
    """What an attribute's text means ("text", "flag", "integer", "integers", "number", "type"), and whether the
    reader has no default for it."""

    kind: str
    is_required: bool


@dataclass(frozen=True, slots=True)
class Operation:
    """One version of an operation: the lowest and the highest number (None: no end) of inputs and results."""

    type: str
    version: int
    inputs: tuple[int, int | None]
    results: tuple[int, int | None]
    attributes: Mapping[str, Attribute]

    @property
    def name(self) -> str:
        """Type and version, as specifications write them."""
        return f"{self.type}-{self.version}"

    def why_not(self, inputs: int, results: int, attributes: Mapping[str, object]) -> str | None:
        """Why a layer is none of this operation, by its counts and attributes; None where it is."""
        if not _is_between(inputs, self.inputs):
            return f"{self.name} does not take {inputs} inputs"
        if not _is_between(results, self.results):
            return f"{self.name} does not have {results} results"
        unknown = sorted(attributes.keys() - self.attributes.keys())
        if unknown:
            return f"its attribute {unknown[0]!r} is none of {self.name}"
        missing = sorted(
            name for name, known in self.attributes.items() if known.is_required and name not in attributes
        )
        if missing:
            return f"its attribute {missing[0]!r} is missing"
        reasons = (_why_not_of_kind(name, value, self.attributes[name].kind) for name, value in attributes.items())
        return next((reason for reason in reasons if reason is not None), None)


def _is_between(count: int, bounds: tuple[int, int | None]) -> bool:
    least, most = bounds
    return least <= count and (most is None or count <= most)


def _why_not_of_kind(name: str, value: object, kind: str) -> str | None:
    what = f"its attribute {name!r}"
    try:
        value = text.spell(value)
    except TypeError:
        return f"{what} is no text"
    try:
        if kind == "integer":
            text.integer(value, what)
        elif kind == "integers":
            text.integers(value, what)
        elif kind == "type":
            text.element_type(value, what)
    except ModelError as error:
        return str(error)
    is_valid = {"number": _NUMBER.fullmatch(value.strip()), "flag": text.is_boolean(value)}.get(kind, True)
    return None if is_valid else f"{what} is {value[:40]!r}, not {_WORDS[kind]}"


def operation(kind: str, opset: int) -> Operation | None:
    """The version of an operation that an operator set has, None where the table has none."""
    found = [version for version in OPERATIONS.get(kind, ()) if version.version <= opset]
    return found[-1] if found else None


def _parsed(lines: str) -> dict[str, tuple[Operation, ...]]:
    found: dict[str, tuple[Operation, ...]] = {}
    for line in lines.split("\n"):
        if line:
            made = _operation(line)
            found[made.type] = (*found.get(made.type, ()), made)
    return found


def _operation(line: str) -> Operation:
    kind, version, inputs, results, *attributes = line.split()
    listed = " ".join(_SHARED.get(item, item) for item in attributes).split()
    parts = [item.removesuffix("!").split(":") for item in listed]
    known = {name: Attribute(of, item.endswith("!")) for (name, of), item in zip(parts, listed, strict=True)}
    return Operation(kind, int(version), _bounds(inputs), _bounds(results), known)


def _bounds(written: str) -> tuple[int, int | None]:
    if written.endswith("+"):
        return int(written[:-1]), None
    low, _, high = written.partition("-")
    return int(low), int(high or low)


OPERATIONS = _parsed(_OPERATIONS)
"""All known versions of each operation, oldest first."""
