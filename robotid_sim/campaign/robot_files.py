"""The content of files that trials read robots from: part of what decides a result."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from robotid_sim.errors import FileFormatError, UrdfError
from robotid_sim.inputs import read_file
from robotid_sim.model.catalog_files import catalog
from robotid_sim.model.mjcf_files import mjcf_parts
from robotid_sim.model.mjcf_reader import is_mjcf

SIDE_CAR = "robot.toml"
"""What a robot's file may have beside it."""


class RobotFiles:
    """SHA-256 digests of robot files; every file is read once.

    With digests by path, as a campaign noted them, no file is read.
    """

    def __init__(self, digests: Mapping[str, str] | None = None) -> None:
        self._noted = digests
        self._digests: dict[str, str | None] = {}
        self._catalog = frozenset(catalog())

    @property
    def digests(self) -> dict[str, str]:
        """Digest by path of every file that was asked for and is there."""
        return {path: digest for path, digest in self._digests.items() if digest is not None}

    def of(self, robot: str, nominal: Path | None) -> dict[str, str]:
        """Return the digests of a robot's files by what they are; none of the catalog's own."""
        given = {"robot": Path(robot), "nominal": nominal}
        paths = {
            role: path
            for role, path in given.items()
            if path is not None and str(path) not in self._catalog
        }
        by_role: dict[str, str] = {}
        for role, path in paths.items():
            digest, beside = self._digest(path), self._digest(path.parent / SIDE_CAR)
            if digest is not None:
                by_role[role] = digest
                by_role |= {} if beside is None else {f"{role} settings": beside}
        return by_role

    def _digest(self, path: Path) -> str | None:
        """Return the digest of a file; None without a file that can be read."""
        name = str(path)
        if name not in self._digests:
            noted = self._noted
            self._digests[name] = _digest_of(path) if noted is None else noted.get(name)
        return self._digests[name]


def _digest_of(path: Path) -> str | None:
    try:
        contents = mjcf_parts(path) if is_mjcf(path) else {path: read_file(path)}
    except (OSError, FileFormatError, UrdfError):  # the trial says why the file cannot be used
        return None
    return hashlib.sha256(b"".join(contents.values())).hexdigest()
