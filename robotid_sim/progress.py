"""Progress of long work: what functions call and the command line draws."""

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""Called with the stage and the share done."""


def silent(stage: str, share: float) -> None:
    """Report progress to nobody."""
