r"""Compiled set-valued Coulomb friction, which lets joints of a plant stick.

A vector ``friction`` opposes the drive: :math:`(M + I_a) \ddot q = \tau - h - F`.

References
----------
.. [1] Murty (1974), "Note on a Bard-type scheme for solving the complementarity problem",
   Opsearch 11, 123-130.
.. [2] Judice, Pires (1994), "A block principal pivoting algorithm for large-scale strictly monotone
   linear complementarity problems", Computers and Operations Research 21(5), 587-596,
   doi:10.1016/0305-0548(94)90106-6.
"""

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, Int1D
from robotid_sim.compiled import jit

SLACK = 1e-12
"""Share of its limit by which rounding may push a sticking torque over it."""


@jit
def stick_slip_acceleration(
    drive: Float2D, rest: Float1D, limit: Float2D, dq: Float1D, dt: float
) -> tuple[Float1D, Float1D, bool]:
    """Acceleration over a step under torques `rest` and set-valued Coulomb friction.

    Finds ddq and the dry friction f with ``drive @ ddq = rest - f`` such that at the end of the
    step every joint either slides, with f at the limit that opposes it, or stands still, with f
    between the limits: forward in ``limit[:, 0]``, backward in ``limit[:, 1]``. A linear
    complementarity problem with bounds and a positive definite matrix has exactly one solution;
    pivoting always on the first joint that is wrong [1], [2] ends there after a few turns. Returned
    are ddq and f, both of shape (n,), and False if pivoting did not end.
    """
    n = dq.shape[0]
    state = np.empty(n, dtype=np.int64)
    for j in range(n):
        state[j] = 1 if dq[j] > 0.0 else -1 if dq[j] < 0.0 else 0
    ddq, friction = np.empty(n), np.empty(n)
    for _ in range(20 * 2**n):
        _partition(drive, rest, limit, state, dq, dt, ddq, friction)
        wrong = -1
        for j in range(n):
            now = state[j]
            if now == 0:
                slack = SLACK * (limit[j, 0] + limit[j, 1])
                if friction[j] > limit[j, 0] + slack:
                    state[j] = 1
                elif friction[j] < -limit[j, 1] - slack:
                    state[j] = -1
            elif now * (dq[j] + dt * ddq[j]) < 0.0:
                state[j] = 0
            if state[j] != now:
                wrong = j
                break
        if wrong < 0:
            return ddq, friction, True
    return ddq, friction, False


@jit
def _partition(
    drive: Float2D,
    rest: Float1D,
    limit: Float2D,
    state: Int1D,
    dq: Float1D,
    dt: float,
    ddq: Float1D,
    friction: Float1D,
) -> None:
    """Fill ddq and friction for given states: 1 and -1 slide, 0 ends the step at rest."""
    n = dq.shape[0]
    slides = np.flatnonzero(state)
    for j in range(n):
        if state[j] == 0:
            ddq[j] = -dq[j] / dt
        else:
            friction[j] = limit[j, 0] if state[j] > 0 else -limit[j, 1]
    m = slides.shape[0]
    if m > 0:
        A, b = np.empty((m, m)), np.empty(m)
        for r in range(m):
            j = slides[r]
            b[r] = rest[j] - friction[j]
            for k in range(n):
                if state[k] == 0:
                    b[r] -= drive[j, k] * ddq[k]
            for c in range(m):
                A[r, c] = drive[j, slides[c]]
        ddq[slides] = np.linalg.solve(A, b)
    for j in range(n):
        if state[j] == 0:
            friction[j] = rest[j]
            for k in range(n):
                friction[j] -= drive[j, k] * ddq[k]
