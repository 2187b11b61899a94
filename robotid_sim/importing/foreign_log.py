"""What a foreign file holds before anyone knows what its columns mean: names and samples."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robotid_sim.arrays import Float1D
from robotid_sim.errors import FileFormatError
from robotid_sim.representation import public_value

EXACT = 2**53
"""Largest integer up to which a float has them all."""


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class ForeignLog:
    """Columns of numbers of equal length; missing samples are NaN."""

    columns: Mapping[str, Float1D]
    """Samples by the name that the file gives them, each of shape (N,)."""
    notes: tuple[str, ...] = ()
    """What the reader did beside reading, one sentence each."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `Log` that the file states."""

    def __post_init__(self) -> None:
        if not self.columns:
            raise FileFormatError("there are no columns of numbers in it")
        arrays = {name: np.array(column, dtype=float) for name, column in self.columns.items()}
        for array in arrays.values():
            array.setflags(write=False)
        object.__setattr__(self, "columns", MappingProxyType(arrays))

    @property
    def samples(self) -> int:
        """Number of samples."""
        return next(iter(self.columns.values())).size


def log_of_arrays(arrays: Mapping[str, NDArray[Any]]) -> ForeignLog:
    """Return the arrays of one length as columns; those of another one are left out.

    An array (N, k) or (k, N) gives the columns ``name.1`` to ``name.k``. N is the length that most
    columns have. Arrays that hold no real numbers are passed over.
    """
    flat = {name: np.squeeze(a) for name, a in arrays.items() if a.dtype.kind in "biuf"}
    flat = {name: a for name, a in flat.items() if a.ndim in (1, 2) and a.size > 1}
    weights: Counter[int] = Counter()
    for array in flat.values():
        weights[max(array.shape)] += min(array.shape) if array.ndim == 2 else 1
    if not weights:
        raise FileFormatError("there are no columns of numbers in it")
    length = max(weights, key=lambda size: (weights[size], size))
    columns: dict[str, Float1D] = {}
    others = []
    for name, array in flat.items():
        if max(array.shape) != length:
            others.append(name)
        elif array.ndim == 1:
            columns[name] = _floats(array)
        else:
            tall = array if array.shape[0] == length else array.T
            columns |= {f"{name}.{k + 1}": _floats(tall[:, k]) for k in range(tall.shape[1])}
    notes = (f"arrays without {length} samples are left out: {', '.join(others)}",)
    return ForeignLog(columns, notes if others else ())


def joined(recordings: Sequence[ForeignLog], paths: Iterable[Path]) -> ForeignLog:
    """Return the columns of several files as one recording.

    A name that files share is kept once if its samples are the same; otherwise it is put behind the
    stem of its file. Raises `FileFormatError` if the files differ in length.
    """
    stems = [path.name.partition(".")[0] for path in paths]
    sizes = {stem: r.samples for stem, r in zip(stems, recordings, strict=True)}
    if len(set(sizes.values())) > 1:
        text = ", ".join(f"{stem} {size}" for stem, size in sizes.items())
        raise FileFormatError(
            f"the files are no columns of one log: their samples are {text}; import them apart"
        )
    columns: dict[str, Float1D] = {}
    for stem, recording in zip(stems, recordings, strict=True):
        for name, column in recording.columns.items():
            sharing = [r.columns[name] for r in recordings if name in r.columns]
            same = all(np.array_equal(column, other, equal_nan=True) for other in sharing)
            is_alike = len(sharing) == 1 or (same and (np.diff(column) > 0.0).all())
            columns[name if is_alike else f"{stem}.{name}"] = column
    return ForeignLog(columns, tuple(note for r in recordings for note in r.notes))


def _floats(array: NDArray[Any]) -> Float1D:
    """Return integers as floats; large ones, such as stamps in ns, counted from the first."""
    if array.dtype.kind in "iu" and array.size and int(array.max()) > EXACT:
        array = array - array[0]
    return array.astype(float)
