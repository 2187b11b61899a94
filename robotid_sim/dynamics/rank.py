"""Independent columns of a matrix, by QR with column pivoting [1]_.

References
----------
.. [1] Gautier (1991), "Numerical calculation of the base inertial parameters of robots",
   J. Robotic Systems, doi:10.1002/rob.4620080405.
"""

import numpy as np
from scipy.linalg import qr

from robotid_sim.arrays import Float2D, Int1D

RANK_TOLERANCE = 1e-9
"""Smallest diagonal of R over the largest that is not rounding; in practice, below 1e-11 is."""

FAINT = 1e-3
"""Smallest diagonal of R over the largest that always counts; arms of all kinds have > 3e-2.

Between these two the largest gap decides. A URDF with angles to four digits, such as 1.5708, turns
dependent columns by 1e-6, and no signal would ever show that.
"""


def independent_columns(W: Float2D, scale: float | None = None) -> Int1D:
    """Return the indices of independent columns of W, shape (R, c), most independent first.

    Dependence is judged by the size of entries, by default that of the largest column.
    """
    return np.concatenate(columns_by_strength(W, scale))


def columns_by_strength(W: Float2D, scale: float | None = None) -> tuple[Int1D, Int1D]:
    """Return the columns of `independent_columns` on both sides of the largest gap; see `FAINT`."""
    if W.shape[1] == 0:
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    R, order = qr(W, mode="r", pivoting=True)
    size = np.abs(np.diag(R))
    reference = size[0] if scale is None else scale * np.sqrt(len(W))
    strength = size[size > RANK_TOLERANCE * reference] / max(reference, np.finfo(float).tiny)
    ladder = np.concatenate([[1.0], strength, [RANK_TOLERANCE]])
    gap = np.where(ladder[1:] < FAINT, ladder[:-1] / ladder[1:], 0.0)
    strong, known = int(gap.argmax()), strength.size
    columns = np.asarray(order, dtype=np.intp)
    return columns[:strong], columns[strong:known]
