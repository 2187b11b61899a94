"""Progress of long work: the callback that functions call and the command line displays."""

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""Called with the stage and the share done."""


class Portion(float):
    """A share done of countable work, with its counts."""

    done: int
    total: int
    failed: int

    def __new__(cls, done: int, total: int, *, begin: float = 0.0, failed: int = 0) -> "Portion":
        """Return the share done of a stage whose `total` pieces start at the share `begin`."""
        portion = super().__new__(cls, begin + (1.0 - begin) * done / total)
        portion.done, portion.total, portion.failed = done, total, failed
        return portion


def silent(stage: str, share: float) -> None:
    """Ignore progress; the default callback."""
