"""What to do about a rewrite that was not done: by what the reason says."""

from __future__ import annotations

import re

# The first that fits; a reason that names an option says itself what to do.
_ADVICE = (
    (r"--[a-z]", ""),
    ("left as runtimes fuse it", "nothing to do, the runtime fuses it"),
    ("default value, which the caller may override", "take it out of the inputs if nobody does"),
    (r"\bto be kept\b", "leave out --keep for it"),
    ("training mode", "export it for inference"),
    ("in training|quantization annotation", "nothing to do, the file names it"),
    (r"declared with a shape|when the file is loaded", "correct that shape, or leave it out of the file"),
    ("graph output", "nothing to do, an output stays"),
    (r"used elsewhere|is needed|\buses\b|in another graph|in both branches", "nothing to do, it is needed there"),
    ("known to be matrices", "nothing to do, Gemm takes matrices"),
    (r"\bnot (?:\w+ )*known\b|neither known", "--dim or --input-shape may help"),
    (r"\bmay (?:have another shape|widen|not fit)", "--dim or --input-shape may help"),
    ("not constant|no constant|not the same constant", "nothing to do, unless it can be made a constant"),
    ("no kernel for|imports no operator set", "nothing to do, it is computed as it stands"),
    ("does not hold every|may differ from", "nothing to do, values would change"),
)  # fmt: skip
_REST = "nothing to do, it stays"


def advice(reason: str) -> str:
    """What a user can do about a reason, "" where the reason says it."""
    return next((text for pattern, text in _ADVICE if re.search(pattern, reason)), _REST)


def with_advice(reason: str) -> str:
    """A reason that ends with what to do."""
    said = advice(reason)
    return f"{reason}: {said}" if said else reason
