"""Reading untrusted files: of bounded size, with references only into their own folders.

The content of a file is data. A file name in it is followed only below its own folder, or below
folders that the user has named; and nothing is unpacked that is far larger than its file.
"""

import io
import os
import re
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any

from robotid_sim.errors import FileFormatError

MAX_TEXT_SIZE = 32_000_000
"""Largest size of a text that is read at once [bytes]."""

MAX_XML_SIZE = 10_000_000
"""Largest size of an XML file [bytes]; its tree takes fifty times as much memory."""

MAX_TOML_SIZE = 1_000_000
"""Largest size of a TOML file [bytes]; the parser of Python takes a second for it."""

MAX_MESH_SIZE = 500_000_000
"""Largest size of a mesh file [bytes]."""

MAX_TOML_DEPTH, MAX_TOML_DOTS = 20, 100
"""Largest depth of tables in a TOML file, and number of dots in a line, not counting decimal
points."""

MAX_INTEGER = 10**1000

MAX_UNPACKING_RATIO = 100.0
"""Largest unpacked size over the size of the file."""

MAX_SMALL_SIZE = 1e8
"""Size that fits into the memory of any machine [bytes]."""

PACKAGE_PATH_VARIABLE = "ROS_PACKAGE_PATH"
"""Environment variable with folders, separated by ``:``, to whose files any robot may refer."""

_NUMBER_PATTERN = re.compile(r"(?<![\w.])\d+\.\d+(?:[eE][-+]?\d+)?(?![\w.])")


def require_file(path: Path, largest: float = float("inf")) -> None:
    """Raise `FileFormatError` if there is something other than a file or folder at a path.

    A device may never end, a pipe may never begin, and neither can be read twice. A file may not be
    larger than `largest` [bytes].
    """
    try:
        state = path.stat()
    except (OSError, ValueError):  # a missing file is reported by its reader
        return
    _require_regular(path, state, largest)


def _require_regular(path: Path, state: os.stat_result, largest: float) -> None:
    if not (S_ISREG(state.st_mode) or S_ISDIR(state.st_mode)):
        raise FileFormatError(
            f"{path} is a device or a pipe; save its content to a file and read that"
        )
    if S_ISREG(state.st_mode) and state.st_size > largest:
        raise FileFormatError(
            f"{path} has {1e-6 * state.st_size:.4g} MB; files of its kind may have at most "
            f"{1e-6 * largest:.4g} MB; give a smaller file"
        )
    stored = 512 * getattr(state, "st_blocks", state.st_size)
    if S_ISREG(state.st_mode) and state.st_size > max(MAX_SMALL_SIZE, MAX_UNPACKING_RATIO * stored):
        raise FileFormatError(
            f"{path} has {1e-9 * state.st_size:.3g} GB, nearly all of it sparse; give a "
            "completely written file"
        )


def open_file(path: str | Path, largest: float = float("inf")) -> io.BufferedReader:
    """Open a regular file for reading; anything else is not opened.

    Raises `FileFormatError` if it is a device or a pipe, or larger than `largest` [bytes]; OSError
    if it cannot be read.
    """
    require_file(Path(path), largest)  # opening a device or a pipe has side effects
    file = io.FileIO(path, opener=_open_nonblocking)
    try:
        _require_regular(Path(path), os.fstat(file.fileno()), largest)
    except BaseException:
        file.close()
        raise
    return io.BufferedReader(file)


def _open_nonblocking(path: str, flags: int) -> int:
    # Without blocking, in case a pipe has just taken the place of the file.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_file(path: str | Path, largest: float = MAX_TEXT_SIZE) -> bytes:
    """Read a regular file whole; see `open_file`."""
    with open_file(path, largest) as file:
        content = file.read(int(largest) + 1)
    if len(content) > largest:  # system files, as in /proc, report no size
        raise FileFormatError(f"{path} does not end after {1e-6 * largest:.4g} MB")
    return content


def read_toml(path: str | Path, what: str) -> dict[str, Any]:
    """Read a TOML file, called `what` in messages.

    Raises `FileFormatError` if it cannot be read, is not TOML, or is too large or too deeply
    nested.
    """
    try:
        text = read_file(path, MAX_TOML_SIZE).decode("utf-8")
        if any(
            _NUMBER_PATTERN.sub("", line).count(".") > MAX_TOML_DOTS for line in text.split("\n")
        ):
            raise ValueError(f"a line has more than {MAX_TOML_DOTS} dots")
        content = tomllib.loads(text)
        for depth, value in _walk_values(content):
            if depth > MAX_TOML_DEPTH:
                raise ValueError(f"tables are deeper than {MAX_TOML_DEPTH} levels")
            if isinstance(value, int) and abs(value) >= MAX_INTEGER:
                raise ValueError("a whole number has more than 1000 digits")
    except FileFormatError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else " ".join(str(error).split())
        raise FileFormatError(f"cannot read {what} {path}: {reason}; correct it") from error
    return content


def _walk_values(content: Any) -> Iterator[tuple[int, Any]]:
    """Yield all values in tables and lists, each with its depth."""
    pending = [(0, content)]
    while pending:
        depth, value = pending.pop()
        yield depth, value
        parts = value.values() if isinstance(value, dict) else value
        pending += [(depth + 1, part) for part in parts] if isinstance(value, dict | list) else []


def estimate_unpacked_size(path: Path) -> int:
    """Return the largest size that a file may have when it is unpacked [bytes]."""
    return int(max(MAX_SMALL_SIZE, MAX_UNPACKING_RATIO * path.stat().st_size))


def require_plausible_size(size: float, path: Path, what: str = "its content") -> None:
    """Raise `FileFormatError` if a file claims to hold far more than its own size [bytes]."""
    if size > estimate_unpacked_size(path):
        raise FileFormatError(
            f"{path}: {what} claims {1e-9 * size:.3g} GB in a file of "
            f"{1e-6 * path.stat().st_size:.3g} MB; the file is damaged, or made to fill memory: "
            "write it again without compression"
        )


def require_plausible_zip_size(path: Path) -> None:
    """Raise `FileFormatError` if the parts of a ZIP file are far larger than it."""
    with open_file(path) as file, zipfile.ZipFile(file) as archive:
        require_plausible_size(sum(part.file_size for part in archive.infolist()), path)


def real_path(path: Path) -> Path:
    """Resolve all symbolic links of a path; circular links remain."""
    return Path(os.path.realpath(path))  # Path.resolve raises for circular links


def is_reference_allowed(owner: Path, file: Path, *folders: Path) -> bool:
    """Check whether the file `owner` may refer to `file`; symbolic links are followed.

    The file must lie below the folder of the owner, of the owner's ROS package, one of
    ``ROS_PACKAGE_PATH``, or one of further `folders`.
    """
    real = real_path(file)
    owner_folders = {real_path(owner.absolute().parent), real_path(owner).parent}
    packages = [
        next((above for above in (f, *f.parents) if (above / "package.xml").is_file()), f)
        for f in owner_folders
    ]
    allowed = [*owner_folders, *packages, *map(real_path, (*package_folders(), *folders))]
    return any(real.is_relative_to(folder) for folder in allowed)


def package_folders() -> list[Path]:
    """List the folders of ``ROS_PACKAGE_PATH``, of ament's prefixes and of Gazebo's models."""

    def folders(variable: str) -> list[Path]:
        return [Path(name) for name in os.environ.get(variable, "").split(os.pathsep) if name]

    shares = [prefix / "share" for prefix in folders("AMENT_PREFIX_PATH")]
    models = [*folders("GZ_SIM_RESOURCE_PATH"), *folders("GAZEBO_MODEL_PATH")]
    return [*folders(PACKAGE_PATH_VARIABLE), *shares, *models]


def require_reference_allowed(
    owner: Path, file: Path, what: str, largest: float = float("inf")
) -> None:
    """Raise `FileFormatError` if a file that another one refers to must not be read.

    The file may be missing; messages call it `what`; `largest` is its largest size [bytes].
    """
    if os.path.lexists(file) and not is_reference_allowed(owner, file):
        raise FileFormatError(
            f"{what} leads out of the folder of {owner}; copy it there, or name a folder above "
            f"both in {PACKAGE_PATH_VARIABLE}"
        )
    require_file(file, largest)


def read_beside(owner: Path, name: str) -> dict[str, Any]:
    """Read the TOML file `name` next to the file `owner`; an empty table if it is missing.

    Raises `FileFormatError` as `read_toml` and `require_reference_allowed` do.
    """
    file = owner.parent / name
    require_reference_allowed(owner, file, str(file), MAX_TOML_SIZE)
    return read_toml(file, "settings") if file.exists() else {}
