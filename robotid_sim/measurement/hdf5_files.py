"""Safe reading of HDF5 files: damage is reported, and no external file is opened."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py

from robotid_sim.errors import FileFormatError, LogError
from robotid_sim.inputs import require_file, require_plausible_size

MAX_DEPTH = 32
"""Maximum depth of nested groups."""

DAMAGE_ERRORS = (
    *(OSError, LookupError, ValueError, TypeError, AttributeError),
    *(RuntimeError, MemoryError, ArithmeticError),
)
"""Errors that h5py, and code that reads a file, may raise for a damaged file."""


@contextmanager
def open_hdf5(path: Path) -> Iterator[h5py.File]:
    """Open a self-contained HDF5 file for reading.

    Raises `FileFormatError` if the file is damaged, also if a read inside the ``with`` block finds
    the damage, or if it refers to other files, or claims more data than its size allows.
    """
    require_file(path)
    try:
        with h5py.File(path, "r") as file:
            _require_self_contained(file, path)
            yield file
    except (FileFormatError, LogError):
        raise
    except DAMAGE_ERRORS as error:
        text = " ".join(str(error).split()) or type(error).__name__
        raise FileFormatError(
            f"{path} is not a complete HDF5 file: {text}; write it again"
        ) from error


def _require_self_contained(file: h5py.File, path: Path) -> None:
    groups, visited, size = [(0, file["/"])], set(), 0
    while groups:
        depth, group = groups.pop()
        if depth > MAX_DEPTH:
            raise FileFormatError(
                f"{path}: groups are deeper than {MAX_DEPTH} levels; flatten them"
            )
        address = h5py.h5o.get_info(group.id).addr
        if address in visited:  # links may be cyclic
            continue
        visited.add(address)
        for name in group:
            link = group.get(name, getlink=True)
            if isinstance(link, h5py.ExternalLink):
                raise FileFormatError(
                    f"{path}: '{name}' is in another file, {link.filename}, which is not opened; "
                    "copy the data into one file"
                )
            if isinstance(link, h5py.HardLink):
                item = group[name]
                if isinstance(item, h5py.Group):
                    groups.append((depth + 1, item))
                elif isinstance(item, h5py.Dataset):
                    if item.is_virtual or item.external:
                        raise FileFormatError(
                            f"{path}: the data of '{name}' are in other files, which are not "
                            "opened; copy them into one file"
                        )
                    chunk = math.prod(item.chunks or (0,)) * item.dtype.itemsize
                    size += max(item.nbytes if item.shape is not None else 0, chunk)
                    require_plausible_size(size, path, f"'{name}'")
