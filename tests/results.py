"""Result folders made by hand."""

import hashlib
from pathlib import Path

from robotid_sim.result_folder import MANIFEST, Run


def sealed(folder: Path, kind: str = "study", subject: str = "2r") -> Path:
    """Return a folder after listing its files as those of one run."""
    files = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST
    }
    Run(kind, subject, "robotid run", files=files).write(folder / MANIFEST)
    return folder
