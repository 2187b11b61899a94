r"""The ellipsoid of uniform density that has the inertia of a body.

A solid ellipsoid with semi-axes :math:`a_1, a_2, a_3` has the principal moments
:math:`I_1 = \tfrac{m}{5} (a_2^2 + a_3^2)` and so on; solved for the axes

.. math:: a_i^2 = \tfrac{5}{2 m} (I_j + I_k - I_i) ,

so that it exists exactly if the triangle inequality holds, and it has the body's mass
distribution to second order.
"""

from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.model import inertia


@dataclass(frozen=True, slots=True, eq=False)
class Ellipsoid:
    """An ellipsoid in the frame of a body."""

    center: Float1D
    """Centre of mass [m], shape (3,)."""
    semi_axes: Float1D
    """[m], shape (3,)."""
    rotation: Float2D
    """Columns: the axes' directions, shape (3, 3)."""


def inertia_ellipsoid(phi: Float1D) -> Ellipsoid | None:
    """Return the ellipsoid of a body's ten parameters; None for a body without mass.

    An axis that the triangle inequality forbids has length zero.
    """
    mass, com, central = inertia.unpack(phi)
    if mass <= 0.0:
        return None
    moments, axes = inertia.principal_axes(central)
    squares = 2.5 / mass * (moments.sum() - 2.0 * moments)
    return Ellipsoid(com, np.sqrt(np.maximum(squares, 0.0)), axes)
