"""The commands: one line of each, examples, and their options, as ``commands.toml`` has them."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

_texts = tomllib.loads(Path(__file__).with_name("commands.toml").read_text(encoding="utf-8"))


class CommandText(NamedTuple):
    """What the help says of a command beside its own text."""

    summary: str
    """Line in the list of commands, at most 62 characters."""
    examples: list[str]
    """Words after ``robotid``; each can be run as it stands, after those of the commands above."""
    module: str = ""
    """Module in ``cli`` that has the command; by default the one of its name."""
    options: Mapping[str, Mapping[str, Any]] = {}
    """Texts of its options and arguments, by the name of their parameter."""


SHARED: Mapping[str, Mapping[str, Any]] = _texts.pop("shared")
"""Texts of options that several commands have."""
COMMANDS: Mapping[str, CommandText] = {name: CommandText(**text) for name, text in _texts.items()}
