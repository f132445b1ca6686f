"""The one exception that a person who runs maxfold may cause."""

from __future__ import annotations

# Names in files can be of any length; a message stays readable.
_MAX_CHARACTERS = 500


class ModelError(Exception):
    """A model, a file or a request that cannot be used.

    The message is one printable line: what is wrong, where, and what to do about it.
    """

    def __init__(self, message: str) -> None:
        super().__init__(_one_line(message))


def _one_line(message: str) -> str:
    line = " ".join(message.split())
    if len(line) > _MAX_CHARACTERS:
        half = _MAX_CHARACTERS // 2
        line = f"{line[:half]} ... {line[-half:]}"
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in line)
