"""What distances between links ask of an engine: convex bodies, and how near two of them are."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from robotid_sim.arrays import Float1D
from robotid_sim.engine.closing import Closing

MARGIN = 1e-3
"""Margin around a mesh [m], PyBullet's own: distances are that much too small, never too large."""


class ClosestPoints(NamedTuple):
    """Where two bodies are nearest, or deepest in one another."""

    distance: float
    """[m]; negative where they penetrate."""
    first: Sequence[float] | Float1D
    """Point on the first body [m], shape (3,)."""
    second: Sequence[float] | Float1D
    """Point on the second body [m], shape (3,)."""
    normal: Sequence[float] | Float1D
    """Unit vector from the second body to the first, shape (3,)."""


class ConvexBodies(Closing):
    """Convex bodies in an engine, by their number in the order of their shapes.

    Every body is a shape in its own frame, a mesh being the convex hull of what its file holds, and
    stands at the origin at first.
    """

    @abstractmethod
    def box(self, body: int) -> tuple[Float1D, Float1D]:
        """Return the lowest and highest corner of a box around a body in its own frame [m]."""

    @abstractmethod
    def place(self, body: int, position: Sequence[float], turn: Sequence[float]) -> None:
        """Put a body at a position [m] and a turn, a quaternion x, y, z, w."""

    @abstractmethod
    def closest(self, first: int, second: int, reach: float) -> ClosestPoints | None:
        """Return where two bodies are nearest; None if they are farther apart than `reach` [m]."""
