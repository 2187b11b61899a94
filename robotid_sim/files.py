"""Atomic writing of files, and the schema tag in every file."""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any

from robotid_sim.errors import FileFormatError, OptionError
from robotid_sim.inputs import read_file

Upgrade = Callable[[dict[str, Any]], dict[str, Any]]

MAX_DIGITS = 40
"""Largest number of digits of an integer in a file, as needed for seeds."""

FILE_SPACE = 64e6
"""Free space needed for writing files: a page, or a log of minutes [bytes]."""


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder; rename it to `path` when the block succeeds.

    A link itself is replaced, not its target. Raises `FileFormatError` if `path` is not a file, or
    the folder does not exist or cannot be written.
    """
    target = Path(path)
    require_output(target)
    try:
        handle, name = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name}.", suffix=target.suffix
        )
        os.close(handle)
    except OSError as error:
        raise FileFormatError(
            f"cannot write {target}: {error.strerror}; choose a folder that exists and is writable"
        ) from error
    temporary = Path(name)
    try:
        yield temporary
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)  # mkstemp makes private files
        temporary.replace(target)
    except OSError as error:
        raise FileFormatError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def require_output(path: Path, *, folder: bool = False) -> None:
    """Raise `FileFormatError` if a path exists that a file, or `folder`, must not replace."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # the path is free, or the writer raises the error
        return
    if S_ISDIR(mode) and not folder:
        raise FileFormatError(f"cannot write {path}: it is a folder; choose another name")
    if not (S_ISREG(mode) or S_ISDIR(mode)):
        raise FileFormatError(
            f"cannot write {path}: it is a device, a pipe or a socket; choose another name"
        )


def require_writable(path: str | Path) -> None:
    """Raise unless a file can be written at `path`; to be called before long work.

    Raises `FileFormatError` if the folder does not exist, cannot be written, or has too little
    space.
    """
    require_output(Path(path))
    try:
        with tempfile.TemporaryFile(dir=Path(path).parent):
            pass
    except OSError as error:
        raise FileFormatError(
            f"cannot write {path}: {error.strerror}; choose a folder that exists and is writable"
        ) from error
    require_space(Path(path).parent, FILE_SPACE)


def require_space(folder: Path, needed: float) -> None:
    """Raise `FileFormatError` unless the file system of a folder has enough free space [bytes]."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise FileFormatError(
            f"{folder} has {1e-6 * free:.0f} MB of free space, and about {1e-6 * needed:.0f} MB "
            "are needed; make room, or choose another folder"
        )


def require_distinct(outputs: Iterable[str | Path], inputs: Iterable[str | Path]) -> None:
    """Raise if an output is the same file as an input or another output; links are followed.

    Raises `OptionError` if one file would destroy another.
    """
    roles = {_identify(path): "is read by this command" for path in inputs}
    for path in outputs:
        reason = roles.setdefault(_identify(path), "")
        if reason:
            raise OptionError(f"cannot write {path}: it {reason}; give the output another name")
        roles[_identify(path)] = "is written twice by this command"


def _identify(path: str | Path) -> object:
    """Identify a file independently of its name."""
    try:
        state = Path(path).stat()
    except OSError:
        return os.path.realpath(path)  # unlike the method of Path it accepts circular links
    return (state.st_dev, state.st_ino) if state.st_ino else os.path.realpath(path)


def write_text(path: str | Path, text: str) -> None:
    """Write UTF-8 text atomically; lone surrogates become escapes."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")


def make_folder(path: str | Path, option: str = "--out") -> Path:
    """Create an output folder if necessary and check that files can be written in it.

    Messages name the option that gave the folder.
    """
    with _folder_errors(path, option) as folder:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder


def require_new_folder(path: str | Path, option: str = "--out") -> None:
    """Raise `FileFormatError` unless a folder is empty or can be created."""
    resolve_folder(path, option)
    if Path(path).is_dir() and any(Path(path).iterdir()):
        raise FileFormatError(f"folder {path} is not empty; choose another {option}")


def resolve_folder(path: str | Path, option: str = "--out") -> Path:
    """Return an output folder, or its existing parent; raise like `make_folder`."""
    with _folder_errors(path, option) as folder:
        with suppress(FileNotFoundError, NotADirectoryError):
            folder.stat()  # raises for an impossible name of a folder
        existing = next(p for p in (folder, *folder.absolute().parents) if os.path.lexists(p))
        with tempfile.TemporaryFile(dir=existing):
            return existing


@contextmanager
def _folder_errors(path: str | Path, option: str) -> Iterator[Path]:
    if not str(path):
        raise FileFormatError(f"the output folder has an empty name; give {option} a folder")
    try:
        yield Path(path)
    except OSError as error:
        raise FileFormatError(
            f"cannot write in folder {path}: {error.strerror}; choose another {option}"
        ) from error


def schema_tag(kind: str, version: int) -> str:
    """Return the tag ``robotid/<kind>/<version>``."""
    return f"robotid/{kind}/{version}"


def check_schema(tag: object, kind: str, version: int, where: str | Path) -> int:
    """Return the version in `tag`; raise if it is of another kind or newer than `version`."""
    parts = str(tag).split("/")
    if len(parts) != 3 or parts[0] != "robotid" or parts[1] != kind or not parts[2].isdecimal():
        raise FileFormatError(
            f"{where}: schema is '{tag}', expected '{schema_tag(kind, version)}'; "
            f"this is not a robotid {kind} file"
        )
    number = int(parts[2])
    if number < 1:
        raise FileFormatError(f"{where}: schema '{tag}' does not exist; versions start at 1")
    if number > version:
        raise FileFormatError(
            f"{where}: schema '{tag}' is newer than this robotid_sim reads "
            f"({schema_tag(kind, version)}); upgrade robotid_sim"
        )
    return number


def write_json(path: str | Path, kind: str, version: int, content: Mapping[str, Any]) -> None:
    """Write a JSON object with its schema tag first; numbers keep all their bits."""
    tagged = {"schema": schema_tag(kind, version), **content}
    write_text(path, json.dumps(tagged, indent=1, allow_nan=False) + "\n")


def read_json(
    path: str | Path, kind: str, version: int, upgrades: Mapping[int, Upgrade] | None = None
) -> dict[str, Any]:
    """Read a JSON object written by `write_json`, upgrading older versions step by step.

    Raises `FileFormatError` if the file is missing, is not JSON, or is of another kind or a newer
    schema.
    """
    file = Path(path)
    try:
        content: dict[str, Any] = json.loads(read_file(file), parse_int=_parse_integer)
    except OSError as error:
        raise FileFormatError(f"cannot read {kind} file {file}: {error.strerror}") from error
    except FileFormatError:
        raise
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{file} is not a {kind} file: {error}") from error
    if not isinstance(content, dict):
        raise FileFormatError(f"{file} is not a {kind} file: it holds no JSON object")
    number = check_schema(content.pop("schema", None), kind, version, path)
    for step in range(number, version):
        content = (upgrades or {})[step](content)
    return content


def _parse_integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)
