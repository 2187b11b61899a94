"""HDF5 files that others wrote: damage is told, and nothing outside of the file is opened."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py

from robotid_sim.errors import FileFormatError, LogError

PACKED = 2000.0
"""Largest size of a dataset over that of its file: zeros pack well [bytes a byte]."""

LIGHT = 1e8
"""Size of a dataset that any machine holds [bytes]."""

DAMAGE = (
    *(OSError, LookupError, ValueError, TypeError, AttributeError),
    *(RuntimeError, MemoryError, ArithmeticError),
)
"""What h5py raises for files that are damaged, beside errors of our own."""


@contextmanager
def reading_hdf5(path: Path) -> Iterator[h5py.File]:
    """Open an HDF5 file for reading that holds all that it names.

    Raises
    ------
    FileFormatError
        If it is damaged, within the block too, names data in other files, or claims more data than
        a file of its size can hold.
    """
    try:
        with h5py.File(path, "r") as file:
            _require_whole(file, path)
            yield file
    except (FileFormatError, LogError):
        raise
    except DAMAGE as error:
        text = " ".join(str(error).split()) or type(error).__name__
        raise FileFormatError(
            f"{path} is no complete file of its kind: {text}; write it again"
        ) from error


def _require_whole(file: h5py.File, path: Path) -> None:
    groups, seen = [file["/"]], set()
    most = max(LIGHT, PACKED * path.stat().st_size)
    while groups:
        group = groups.pop()
        place = h5py.h5o.get_info(group.id).addr
        if place in seen:  # links may go in circles
            continue
        seen.add(place)
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
                    groups.append(item)
                elif isinstance(item, h5py.Dataset):
                    _require_inside(item, name, path, most)


def _require_inside(dataset: Any, name: str, path: Path, most: float) -> None:
    if dataset.is_virtual or dataset.external:
        raise FileFormatError(
            f"{path}: the data of '{name}' are in other files, which are not opened; copy them "
            "into one file"
        )
    if dataset.shape is not None and dataset.nbytes > most:
        raise FileFormatError(
            f"{path}: '{name}' claims {1e-9 * dataset.nbytes:.3g} GB in a file of "
            f"{1e-6 * path.stat().st_size:.3g} MB; the file is damaged"
        )
