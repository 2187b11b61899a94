"""The box of the search, and the repair of points outside of it."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from robotid_sim.arrays import Float1D, Float2D, readonly
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import OptionError, ShapeError

WallRule = Literal["clip", "reflect", "absorb", "none"]
"""Treatment of a point outside the box, coordinate by coordinate.

``clip`` puts it on the wall and leaves its velocity; ``absorb`` also stops it there; ``reflect``
mirrors it and its velocity at the walls; ``none`` leaves it: the cost is evaluated outside the box.
"""

PositionWallRule = Literal["clip", "reflect", "none"]
"""The `WallRule` of algorithms without velocities."""


@document_attributes
@dataclass(frozen=True, eq=False)
class Box:
    """A box of finite size.

    Raises
    ------
    ShapeError
        If the bounds are not two vectors of one length of finite numbers.
    OptionError
        If an upper bound is not above its lower bound, or a first point lies outside.
    """

    lower: Float1D
    upper: Float1D
    """Bounds, shape (d,)."""
    first: Float2D | None = None
    """Points that are known before the search, shape (k, d); populations begin with them."""
    width: Float1D = field(init=False)
    """Upper less lower bounds, shape (d,)."""

    def __post_init__(self) -> None:
        lower = readonly(self.lower, shape=(None,), name="the vector of lower bounds")
        if not lower.size:
            raise ShapeError("the vector of lower bounds is empty; give one number per coordinate")
        upper = readonly(self.upper, shape=(lower.size,), name="the vector of upper bounds")
        for k in np.flatnonzero(lower >= upper)[:1]:
            raise OptionError(f"coordinate {k}: the bounds [{lower[k]}, {upper[k]}] are inverted")
        with np.errstate(over="ignore"):
            width = readonly(upper - lower, shape=(None,), name="the width of the box")
        first = self.first
        if first is not None:
            first = readonly(first, shape=(None, lower.size), name="the first points")
            if ((first < lower) | (first > upper)).any():
                raise OptionError("the first points of a search must lie in its box")
        for name, value in (("lower", lower), ("upper", upper), ("width", width), ("first", first)):
            object.__setattr__(self, name, value)

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.lower.size

    def scatter(self, count: int, region: float, rng: np.random.Generator) -> Float2D:
        """Return uniform points of the middle part of the box, shape (count, d).

        The first of them are replaced by the points that are known before the search. They
        are drawn from the share `region` of the width of every side, about its middle.
        """
        share = 0.5 + region * (rng.random((count, self.dim)) - 0.5)
        points = repair_points(self.lower + share * self.width, self, "clip")  # against rounding
        if self.first is not None:
            points[: len(self.first)] = self.first[:count]
        return points


def repair_motion(X: Float2D, V: Float2D, box: Box, bounds: str) -> None:
    """Bring points and their velocities back into the box, in place."""
    if bounds == "none":
        return
    if bounds == "reflect":
        np.negative(V, out=V, where=_fold(X, box))
        return
    if bounds == "absorb":
        V[(X < box.lower) | (X > box.upper)] = 0.0
    _clip(X, box)


def repair_points(X: Float2D, box: Box, bounds: str) -> Float2D:
    """Return `X` itself, its points brought back into the box in place."""
    if bounds == "reflect":
        _fold(X, box)
    elif bounds != "none":
        _clip(X, box)
    return X


def _clip(X: Float2D, box: Box) -> None:
    np.maximum(X, box.lower, out=X)
    np.minimum(X, box.upper, out=X)


def _fold(X: Float2D, box: Box) -> NDArray[np.bool_]:
    """Mirror points at the walls as often as needed; return where that was an odd number."""
    odd = (X < box.lower) | (X > box.upper)
    outside = np.nonzero(odd)
    if outside[0].size:
        lower, width = box.lower[outside[1]], box.width[outside[1]]
        turns = (X[outside] - lower) / width
        share = turns % 2.0  # there and back
        odd[outside] = np.floor(turns) % 2.0 == 1.0
        X[outside] = lower + width * np.minimum(share, 2.0 - share)
        _clip(X, box)  # against rounding
    return odd
