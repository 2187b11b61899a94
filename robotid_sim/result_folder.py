"""A folder that holds the results of one run: locked while it is written, and checked when read.

A run writes into its subfolder ``incomplete``; at the end of the run these files replace the files
of an earlier run. Then ``manifest.json`` lists every file with its SHA-256: a folder without it has
no complete run. Files of the user remain, but must not have the name of a file that a run writes.
"""

import hashlib
import os
import shutil
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath

from robotid_sim.errors import FileFormatError, OptionError
from robotid_sim.files import make_folder, read_json, require_space, resolve_folder, write_json
from robotid_sim.inputs import open_file, real_path, require_reference_allowed

try:
    import fcntl
except ImportError:  # Windows: two runs into one folder are not noticed there
    # Type checkers do not permit another value for the name of a module.
    fcntl = None  # type: ignore[assignment]

MANIFEST, REPLACED = "manifest.json", "replaced.json"

INCOMPLETE_FOLDER = "incomplete"
"""Folder in a result folder that a run writes into."""

RUN_FILE = "run.json"
"""File in `INCOMPLETE_FOLDER` that identifies the run."""


@dataclass(frozen=True, slots=True)
class Run:
    """Run to which a result folder belongs."""

    kind: str
    """Kind of the run, such as ``study``."""
    subject: str
    """The robot, or the paper."""
    command: str
    """Command of the run."""
    host: str = ""
    pid: int = 0
    began: str = ""
    """Local time of the start."""
    files: Mapping[str, str] | None = None
    """SHA-256 of every file by its name relative to the folder; None while they are written."""

    @classmethod
    def read(cls, path: Path) -> "Run | None":
        """Read a manifest; None if there is none, or it is not of robotid."""
        try:
            run = cls(**read_json(path, "manifest", 1))
        except (FileFormatError, TypeError):  # other programs also write files of this name
            return None
        files = {} if run.files is None else run.files
        if not isinstance(files, dict) or not all(map(_is_within, files)):
            return None  # written by another program, or with names outside of the folder
        return run if all(isinstance(digest, str) for digest in files.values()) else None

    def write(self, path: Path) -> None:
        """Write the manifest as JSON."""
        write_json(path, "manifest", 1, asdict(self))


def _is_within(name: str) -> bool:
    """Return whether a name in a manifest denotes a file below its folder."""
    parts = PurePosixPath(name).parts
    return bool(parts) and ".." not in parts and not PurePosixPath(name).is_absolute()


@contextmanager
def result_folder(
    path: str | Path, names: Iterable[str], run: Run, space: float = 0.0
) -> Iterator[Path]:
    """Yield a folder for results, which are moved to `path` when the block succeeds.

    After an error, or if the run is killed, they remain in the folder ``incomplete``, and an
    earlier run is unchanged. The run writes only the named files, and needs some free space
    [bytes]. Raises `OptionError` if the folder holds another subject's results or other files at
    `names`, or another run writes into it, and `FileFormatError` if it cannot be written, or has
    too little space.
    """
    folder = make_folder(path)
    with lock_folder(folder):
        _require_free(folder, names, run)
        require_space(folder, space)
        stage = folder / INCOMPLETE_FOLDER
        if not (folder / MANIFEST).is_file():  # a run was killed while its files were moved
            _remove(folder, _list_files(folder))
        _clear(stage)
        stage.mkdir()
        began = time.strftime("%Y-%m-%d %H:%M:%S")
        run = replace(run, host=socket.gethostname(), pid=os.getpid(), began=began)
        run.write(stage / RUN_FILE)
        yield stage
        _move_in(folder, run)


def require_usable(path: str | Path, names: Iterable[str], run: Run, space: float = 0.0) -> None:
    """Raise the errors of `result_folder` without changing any file."""
    folder = resolve_folder(path)
    if folder == Path(path):
        with lock_folder(folder):
            _require_free(folder, names, run)
    require_space(folder, space)


def place_of(folder: Path) -> Path:
    """Return the final location of the files of a folder."""
    return (
        folder.parent
        if (folder / RUN_FILE).is_file() and folder.name == INCOMPLETE_FOLDER
        else folder
    )


def require_complete(folder: Path) -> Run:
    """Return the run in a result folder after checking that all files are from this run.

    Raises `FileFormatError` if there is none, or a file is missing or changed.
    """
    run = Run.read(folder / MANIFEST)
    if run is None:
        if stopped := Run.read(folder / INCOMPLETE_FOLDER / RUN_FILE):
            raise FileFormatError(
                f"{folder} is incomplete: the run that began {stopped.began} has not ended; wait, "
                f"or repeat it: {stopped.command}"
            )
        raise FileFormatError(
            f"{folder} holds no complete run of robotid: it has no {MANIFEST}; repeat the run"
        )
    for name, digest in (run.files or {}).items():
        _require_same(folder, name, digest)
    return run


def require_of_run(path: Path) -> None:
    """Raise `FileFormatError` if a file in a result folder was changed after its run."""
    folder = path.parent
    run = Run.read(folder / MANIFEST)
    if run is None:
        if path.name in _list_files(folder):  # some files are still from the old run
            require_complete(folder)
    elif path.name in (run.files or {}) and path.is_file():
        _require_same(folder, path.name, (run.files or {})[path.name])


def owner_of(path: Path) -> Run | None:
    """Return the run to which a file in a result folder belongs, if any."""
    run = Run.read(path.parent / MANIFEST)
    return run if run is not None and path.name in (run.files or {}) else None


def is_replaced(path: Path, folder: Path) -> bool:
    """Return whether a run that writes into a folder replaces a file."""
    try:
        name = real_path(path).relative_to(real_path(folder)).as_posix()
    except ValueError:
        return False
    return name in _list_files(folder)


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock a folder for one run; the system releases it when the process ends.

    Raises `OptionError` if another process holds the lock.
    """
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            run, holder = Run.read(folder / INCOMPLETE_FOLDER / RUN_FILE), ""
            if run is not None:
                holder = f": process {run.pid} on {run.host} since {run.began}, {run.command}"
            raise OptionError(
                f"another run writes into {folder}{holder}; wait for it, or choose another --out"
            ) from error
        except OSError:  # a file system without locks
            pass
        yield
    finally:
        os.close(descriptor)


def _require_free(folder: Path, names: Iterable[str], run: Run) -> None:
    """Raise unless all files with these names are from an earlier run of the same subject."""
    stage, earlier = folder / INCOMPLETE_FOLDER, Run.read(folder / MANIFEST)
    foreign = [path for path in _children(stage) if not path.name.startswith(f".{RUN_FILE}.")]
    if foreign and not (stage / RUN_FILE).is_file():
        raise OptionError(f"{stage} is not a folder of a run; move it, or choose another --out")
    owner = earlier or Run.read(stage / RUN_FILE)
    if owner is not None and (owner.kind, owner.subject) != (run.kind, run.subject):
        raise OptionError(
            f"{folder} holds the {owner.kind} of {owner.subject}; choose another --out"
        )
    listed = {MANIFEST, *_list_files(folder)} if earlier else set(_list_files(folder))
    for name in (*names, MANIFEST):
        # Contents of a folder with this name may remain, unless they block a file.
        path = folder / name
        is_blocking = path.is_file() or path.is_symlink() or (path.is_dir() and path.suffix != "")
        special = os.path.lexists(path) and not (path.is_file() or path.is_dir())
        if (is_blocking and name not in listed) or special:
            raise OptionError(
                f"cannot write {path}: it is of no run that {folder / MANIFEST} lists; move it, or "
                "give --out another name"
            )
    if earlier is None:
        return
    for name, digest in (earlier.files or {}).items():
        if (folder / name).is_file():
            _require_same(folder, name, digest)


def _list_files(folder: Path) -> Mapping[str, str]:
    """Return the files of the run in a folder, including those of an interrupted replacement."""
    stage = folder / INCOMPLETE_FOLDER
    manifests = (folder / MANIFEST, stage / REPLACED, stage / MANIFEST)
    runs = [Run.read(path) for path in manifests]
    return {name: d for run in runs if run is not None for name, d in (run.files or {}).items()}


def _require_same(folder: Path, name: str, digest: str) -> None:
    require_reference_allowed(folder / MANIFEST, folder / name, str(folder / name))
    try:
        same = _digest(folder / name) == digest
    except OSError as error:
        raise FileFormatError(
            f"{folder / name} of the run in this folder is missing; repeat the run"
        ) from error
    if not same:
        raise FileFormatError(
            f"{folder / name} is not as the run in this folder wrote it: changed, or of another "
            "run; restore it, or move it and repeat the run"
        )


def _digest(path: Path) -> str:
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _move_in(folder: Path, run: Run) -> None:
    """Replace the files of the previous run; meanwhile the folder has no manifest."""
    stage, old = folder / INCOMPLETE_FOLDER, _list_files(folder)
    paths = [p for p in sorted(stage.rglob("*")) if p.is_file() or p.is_symlink()]
    files = {p.relative_to(stage).as_posix(): p for p in paths if p != stage / RUN_FILE}
    if foreign := [name for name in files if (folder / name).exists() and name not in old]:
        raise OptionError(
            f"{folder / foreign[0]} is of no run and in the way of this one, whose results are in "
            f"{stage}; move it and repeat the run"
        )
    digests = {name: _digest(path) for name, path in files.items()}
    replace(run, files=digests).write(stage / MANIFEST)
    with suppress(FileNotFoundError):
        (folder / MANIFEST).replace(stage / REPLACED)
    _remove(folder, old)
    for name, path in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        path.replace(folder / name)
    (stage / MANIFEST).replace(folder / MANIFEST)
    _clear(stage)


def _remove(folder: Path, names: Iterable[str]) -> None:
    for name in names:
        if not real_path((folder / name).parent).is_relative_to(real_path(folder)):
            continue  # reached through a link that leads out of the folder
        (folder / name).unlink(missing_ok=True)
        with suppress(OSError):  # the folder contains other files
            (folder / name).parent.rmdir()


def _clear(stage: Path) -> None:
    """Remove the files of a run; the file that identifies the run is the last."""
    for path in sorted(_children(stage), key=lambda child: child.name == RUN_FILE):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    with suppress(FileNotFoundError):
        stage.rmdir()


def _children(stage: Path) -> list[Path]:
    return list(stage.iterdir()) if stage.is_dir() else []
