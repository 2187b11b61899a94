"""Checks that convert arguments to read-only float arrays of a known shape."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray
from typing_extensions import TypeAliasType

from robotid_sim.errors import ShapeError

# Named aliases, which `help` shows instead of the array type.
ArrayLike = TypeAliasType("ArrayLike", npt.ArrayLike)
Float = TypeAliasType("Float", NDArray[np.floating[Any]])
Float1D = TypeAliasType("Float1D", NDArray[np.floating[Any]])
Float2D = TypeAliasType("Float2D", NDArray[np.floating[Any]])
Bool1D = TypeAliasType("Bool1D", NDArray[np.bool_])
Bool2D = TypeAliasType("Bool2D", NDArray[np.bool_])
Int1D = TypeAliasType("Int1D", NDArray[np.intp])
Int2D = TypeAliasType("Int2D", NDArray[np.intp])

MotionArrays = tuple[Float2D, Float2D, Float2D]
"""Position, velocity and acceleration, each of shape (N, n)."""


PART = 2048
"""Number of samples of a long signal that are processed at a time and fit into the cache."""


def parts_of(x: Float) -> Iterator[Float]:
    """Yield an array (N, ...) in parts of `PART` samples."""
    for begin in range(0, len(x), PART):
        yield x[begin : begin + PART]


def readonly(value: ArrayLike, *, shape: Sequence[int | None], name: str) -> Float:
    """Return `value` as a read-only, finite float64 array of the given shape.

    It is copied unless it already is such an array and not a view. None in the shape
    accepts any length along that axis; `name` names the array in messages. Raises
    `ShapeError` if the shape differs or an entry is not a finite number.
    """
    if value is None or isinstance(value, str):
        raise ShapeError(f"{name} is not an array of numbers: {value!r}")
    array = _as_float(value, name)
    flags = array.flags
    if flags.writeable or not (flags.owndata and flags.c_contiguous):
        array = array.copy()
    if len(array.shape) != len(shape) or any(
        size is not None and size != n for size, n in zip(shape, array.shape, strict=True)
    ):
        expected = "(" + ", ".join("any" if s is None else str(s) for s in shape)
        expected += ",)" if len(shape) == 1 else ")"
        raise ShapeError(f"{name} has shape {array.shape}, expected {expected}")
    if not np.isfinite(array).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ShapeError(f"{name} is not finite at index {index}: {array[index]}")
    array.setflags(write=False)
    return array


def freeze(
    value: object, shape: Sequence[int | None], *names: str, what: str = "", optional: bool = False
) -> None:
    """Convert fields of a frozen dataclass to arrays by `readonly`, all of one shape.

    Call it in ``__post_init__``. In `shape`, None accepts any length along that axis; messages have
    `what` before a name. With `optional` a field may be None. Raises `ShapeError` if a shape
    differs or an entry is not a finite number.
    """
    for name in names:
        array = getattr(value, name)
        if not (optional and array is None):
            object.__setattr__(value, name, readonly(array, shape=shape, name=f"{what}{name}"))


def states(*values: ArrayLike, dof: int, names: Sequence[str]) -> tuple[list[Float2D], bool]:
    """Return contiguous (N, dof) arrays from arguments that are all (dof,) or all (N, dof).

    The second value is True if they were single samples, (dof,).
    """
    arrays = [np.ascontiguousarray(_as_float(v, n)) for v, n in zip(values, names, strict=True)]
    first = arrays[0].shape
    for array, name in zip(arrays, names, strict=True):
        if array.ndim not in (1, 2) or array.shape[-1] != dof or array.shape != first:
            raise ShapeError(
                f"{name} has shape {array.shape}; give ({dof},) or (N, {dof}), one entry per "
                f"joint, alike for {', '.join(names)}"
            )
    return [a.reshape(-1, dof) for a in arrays], len(first) == 1


def _as_float(value: Any, name: str) -> Float:
    try:
        if np.iscomplexobj(array := np.asarray(value)):
            raise TypeError("it holds complex numbers; give real ones")
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ShapeError(f"{name} is not an array of numbers: {error}") from error


def relative_std(beta: Float1D, std: Float1D) -> Float1D:
    """Return standard deviations over the size of the values, shape (b,), infinite at zero."""
    size = np.abs(beta)
    return np.where(size > 0.0, std / np.where(size > 0.0, size, 1.0), np.inf)


def linear_at(times: Float1D, t: Float1D, x: Float2D) -> Float2D:
    """Interpolate samples x at times t, shape (N, n), linearly at other times."""
    return np.column_stack([np.interp(times, t, column) for column in x.T])


def rms(x: Float2D) -> Float1D:
    """Return the root mean square over the first axis."""
    return np.asarray(np.sqrt((x**2).mean(axis=0)))
