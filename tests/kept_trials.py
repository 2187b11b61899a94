"""What the store of a paper's trials holds."""

import sqlite3
from contextlib import closing
from pathlib import Path

from robotid_sim.campaign.trials import FILE_NAME


def _ask(folder: Path, text: str) -> list[str]:
    with closing(sqlite3.connect(folder / FILE_NAME, isolation_level=None)) as rows:
        return [row[0] for row in rows.execute(text)]


def kept_names(folder: Path) -> list[str]:
    """Return the names of the trials that a folder holds."""
    try:
        return _ask(folder, "SELECT name FROM trial")
    except sqlite3.OperationalError:  # it is being made
        return []


def forget_one(folder: Path) -> None:
    """Take the first trial out of a folder."""
    _ask(folder, "DELETE FROM trial WHERE key = (SELECT MIN(key) FROM trial)")
