"""What decides a result beside its parameters: our sources and data, and the packages used."""

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path

from robotid_sim.model.catalog import catalog_folder
from robotid_sim.study.study import versions

SHOWS_ONLY = ("cli", "report")
"""Our packages that no computation can import."""
COMPILED = ("__pycache__", ".nbi", ".nbc")
"""Ends of the names of what is made from the sources."""


@cache
def code_state() -> str:
    """Return a hash of our sources, the catalog's files, and the versions of the packages."""
    found = hashlib.sha256(repr(sorted(versions().items())).encode())
    package = Path(str(files("robotid_sim")))
    for root in (package, catalog_folder()):
        for path in _sources(root):
            found.update(f"{path.relative_to(root)}\0".encode())
            found.update(path.read_bytes())
    return found.hexdigest()


def _sources(root: Path) -> Iterator[Path]:
    """Yield the files that a result may depend on, in a fixed order."""
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root)
        made = any(part.endswith(COMPILED) for part in inside.parts)
        if path.is_file() and not made and inside.parts[0] not in SHOWS_ONLY:
            yield path
