"""The command line that is running, for the pages that it writes."""

import shlex
from collections.abc import Sequence
from contextvars import ContextVar

_words: ContextVar[tuple[str, ...]] = ContextVar("words", default=())


def remember_command(words: Sequence[str]) -> None:
    """Keep the words of the command line for reports."""
    _words.set(tuple(words))


def command_line() -> str:
    """Return the command that is running, as a shell would take it."""
    return shlex.join(["robotid", *_words.get()])
