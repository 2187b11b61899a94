"""What a bad input is: words of a command, and what damages a file that they name."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

BAD_INPUT = frozenset({2})
DOUBTED = frozenset({1, 2})
ANY = frozenset({0, 1, 2})
"""Codes of a command; the last for damages that may leave an input in order."""


@dataclass(frozen=True)
class BadInput:
    """Words of a command, and what makes an input of it bad."""

    name: str
    words: tuple[str, ...]
    """Of the command line; paths are inside the folder of the study."""
    damage: Callable[[Path], None] = field(default=lambda _: None)
    """Writes the damaged input into a copy of that folder."""
    codes: frozenset[int] = BAD_INPUT
    """Exit codes that are right."""
    thing: str = ""
    """Pattern of what the line must name, where the code is 2."""


@dataclass(frozen=True)
class Study:
    """The files of a short study, of which the corpus is made."""

    urdf: str
    trajectory: str
    estimate: str
    csv: str
    hdf5: bytes


def written(name: str, content: str | bytes) -> Callable[[Path], None]:
    """Return the damage that puts a file in place of what was there."""
    data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
    return lambda folder: (folder / name).write_bytes(data) and None
