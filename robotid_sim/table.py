"""Tables, independent of their format."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from robotid_sim.errors import OptionError


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts; numbers in it are sorted as numbers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    text_columns: int = 1
    """Number of leading columns with text, which is left-aligned."""
    marks: tuple[bool | None, ...] = ()
    """Passed or not for every row; only in a list of checks."""
    name: str = ""
    """Stem of the file that contains the table; empty for a table that is only shown."""

    def __post_init__(self) -> None:
        for k, row in enumerate((self.columns, *self.rows)):
            for cell in row:
                if not isinstance(cell, str):
                    where = f"row {k}" if k else "the heading"
                    raise OptionError(
                        f"table '{self.title or self.name}', {where}: {cell!r} is not text; write "
                        "numbers by robotid_sim.section.number"
                    )

    @classmethod
    def from_columns(
        cls,
        columns: Mapping[str, Iterable[str]],
        title: str = "",
        *,
        text_columns: int = 1,
        marks: Sequence[bool] = (),
    ) -> "Table":
        """Make a table from columns, each with heading and cells."""
        rows = tuple(zip(*columns.values(), strict=True))
        return cls(tuple(columns), rows, title, text_columns, tuple(marks))
