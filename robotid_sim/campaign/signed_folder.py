"""Files by which the processes of one run share values: pickles that only this run can read."""

import hmac
import secrets
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cloudpickle

from robotid_sim.files import atomic_path

SIGNATURE = 32
"""Bytes of a signature at the begin of a file."""


@dataclass(frozen=True, slots=True)
class SignedFolder:
    """A folder of pickles, each signed with a key that exists in memory only.

    A pickle runs code when it is read. A file of another run, or of anyone else, has no valid
    signature and is never unpickled. Goes to processes, with its key.
    """

    folder: Path
    key: bytes = field(default_factory=lambda: secrets.token_bytes(SIGNATURE), repr=False)
    """Secret of the run."""

    def write(self, name: str, value: object) -> None:
        """Write a value under a name; replaces what is there.

        Raises `FileFormatError` if the folder cannot be written.
        """
        content = cloudpickle.dumps(value)
        with atomic_path(self._file(name)) as temporary:
            temporary.write_bytes(self._signature(name, content) + content)

    def read(self, name: str) -> Any:
        """Return the value of a name; None if this run wrote none that can be read."""
        try:
            signed = self._file(name).read_bytes()
        except OSError:
            return None
        signature, content = signed[:SIGNATURE], signed[SIGNATURE:]
        if not hmac.compare_digest(signature, self._signature(name, content)):
            return None
        return cloudpickle.loads(content)

    def remove(self, names: Iterable[str]) -> None:
        """Remove the files of names, and the folder if nothing else is in it."""
        with suppress(OSError):
            for name in names:
                self._file(name).unlink(missing_ok=True)
            self.folder.rmdir()

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.pkl"

    def _signature(self, name: str, content: bytes) -> bytes:
        return hmac.digest(self.key, name.encode() + b"\0" + content, "sha256")
