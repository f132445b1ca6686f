"""Writing ONNX files: inline or with external data, whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO, Literal

from maxfold.model.adopt import adopt
from maxfold.model.data import RegionData, TensorData
from maxfold.model.errors import ModelError
from maxfold.model.external import ExternalLayout
from maxfold.model.model import Model, guard_weights
from maxfold.model.onnx_encoder import encode_model
from maxfold.model.output import parts_writer, real_path, write_files, write_stream
from maxfold.model.wire import Pieces

ExternalData = Literal["auto", "always", "never"]

# protobuf's parsers refuse messages of 2 GiB; the margin is for what comes with the tensors.
MAX_MESSAGE_BYTES = (1 << 31) - (1 << 24)


def write_onnx(model: Model, target: str | Path | BinaryIO, *, external_data: ExternalData = "auto") -> int:
    """Writes a model to a path (atomically) or an open binary stream; returns the bytes written.

    `external_data`: "auto" keeps tensors where the file read had them, and moves them out where the model would
    pass protobuf's limit of 2 GiB; "always" moves all tensors of at least 1 KiB to `<name>.onnx.data` beside the
    target; "never" brings all in. Raises `ModelError` where the model cannot be written so.
    """
    if external_data not in ("auto", "always", "never"):
        raise ModelError(f"external_data is 'auto', 'always' or 'never', not {external_data!r}")
    adopt(model)
    if not isinstance(target, (str, Path)):
        pieces = _encode_inline(model)
        write_stream(target, pieces.write_to)
        return pieces.nbytes
    # A link is written through: the data file then belongs beside the file that it leads to.
    path = real_path(target)
    if external_data == "never" or (external_data == "auto" and not model.has_external_data and _fits(model)):
        guard_weights(model, path)
        pieces = _encode_inline(model)
        return write_files([(path, pieces.write_to)], [pieces.nbytes])
    guard_weights(model, path, path.with_name(f"{path.name}.data"))
    keep_inline = external_data == "auto" and _fits_partly(model)
    layout = ExternalLayout(f"{path.name}.data")
    pieces = encode_model(model, layout, keep_inline=keep_inline)
    if layout.has_checksums and not layout.is_copy():
        layout = ExternalLayout(layout.location, keep_checksums=False)
        pieces = encode_model(model, layout, keep_inline=keep_inline)
    _check_limit(pieces)
    if not layout.parts:
        return write_files([(path, pieces.write_to)], [pieces.nbytes])
    files = [(path.with_name(layout.location), parts_writer(layout.parts)), (path, pieces.write_to)]
    return write_files(files, [layout.nbytes, pieces.nbytes])


def to_bytes(model: Model) -> bytes:
    """The bytes of a file without external data. Raises `ModelError` where they would be 2 GiB or more."""
    adopt(model)
    return _encode_inline(model).to_bytes()


def _encode_inline(model: Model) -> Pieces:
    pieces = encode_model(model)
    _check_limit(pieces)
    return pieces


def _check_limit(pieces: Pieces) -> None:
    if pieces.nbytes >= 1 << 31:
        raise ModelError(
            f"the model would have {pieces.nbytes} bytes in one file, and protobuf reads less than 2 GiB; "
            "use --external-data always and a file as output"
        )


def _fits(model: Model) -> bool:
    return model.constant_bytes() < MAX_MESSAGE_BYTES


def _fits_partly(model: Model) -> bool:
    """Whether what the file read had inline still fits into one message."""
    inline = (constant.data.nbytes for constant in model.constants() if not _is_external(constant.data))
    return sum(inline) < MAX_MESSAGE_BYTES


def _is_external(data: TensorData) -> bool:
    return isinstance(data, RegionData) and data.field is None
