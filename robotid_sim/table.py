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
    """Leading columns that hold text, which is aligned left."""
    marks: tuple[bool | None, ...] = ()
    """For a list of checks: passed or not, one per row."""
    name: str = ""
    """Stem of the file that holds it; empty for a table that is only shown."""

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
        """Return the table of these columns; each heading comes with its cells."""
        rows = tuple(zip(*columns.values(), strict=True))
        return cls(tuple(columns), rows, title, text_columns, tuple(marks))
