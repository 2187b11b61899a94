r"""Compiled friction of plants whose friction is not that of their model.

``rows`` (n, 11) are the coefficients of every joint in the order of
`robotid_sim.model.friction_laws.COLUMNS`. A vector ``friction`` opposes the drive:
:math:`(M + I_a) \ddot q = \tau - h - F`. These kernels call none of `kernels`, for the disk cache
does not see edits in a callee of another file.

References
----------
.. [1] Murty (1974), "Note on a Bard-type scheme for solving the complementarity problem",
   Opsearch 11, 123-130.
.. [2] Judice, Pires (1994), "A block principal pivoting algorithm for large-scale strictly monotone
   linear complementarity problems", Computers and Operations Research 21(5), 587-596,
   doi:10.1016/0305-0548(94)90106-6.
"""

import math

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, Int1D
from robotid_sim.compiled import jit

LOAD_TURNS = 100
"""Fixed-point turns for friction that depends on the torque it lets through."""

SETTLED = 1e-13
"""Change of friction at which they end, relative to the largest torque."""

SLACK = 1e-12
"""Share of its limit by which rounding may push a sticking torque over it."""


@jit
def _level(row: Float1D, side: int, speed: float) -> float:
    """Fc + (Fs - Fc) exp(-(speed / vs)^delta) of one direction, 0 forward or 1 backward."""
    Fc, Fs = row[2 + side], row[4 + side]
    level: float = Fc
    if Fs != Fc:
        level += (Fs - Fc) * math.exp(-((speed / row[6]) ** row[7]))
    return level


@jit
def _smooth(row: Float1D, v: float, load: float) -> float:
    """Friction torque of one joint with the smooth sign."""
    side = 0 if v >= 0.0 else 1
    dry = _level(row, side, abs(v)) + row[8] * abs(load)
    torque: float = row[side] * v + dry * math.tanh(v / row[10]) + row[9]
    return torque


@jit
def smooth_acceleration(
    M: Float2D, rotor: Float1D, tau: Float1D, h: Float1D, rows: Float2D, v: Float1D
) -> tuple[Float1D, Float1D, bool]:
    """Acceleration under drive torques, with friction that may depend on the transmitted torque.

    The transmitted torque is l = M ddq + h; friction F(v, l) and (M + Ia) ddq = tau - h - F are
    solved by fixed-point turns, which gain a factor of about mu each. Returned are ddq and F, both
    of shape (n,), and False if the turns did not settle.
    """
    n = v.shape[0]
    drive = M + np.diag(rotor)
    load, friction, ddq = tau.copy(), np.empty(n), tau
    for _ in range(LOAD_TURNS):
        for j in range(n):
            friction[j] = _smooth(rows[j], v[j], load[j])
        ddq = np.linalg.solve(drive, tau - h - friction)
        change, size = 0.0, 1.0
        for j in range(n):
            passed = h[j]
            for k in range(n):
                passed += M[j, k] * ddq[k]
            change = max(change, rows[j, 8] * abs(abs(passed) - abs(load[j])))
            size = max(size, abs(passed))
            load[j] = passed
        if change <= SETTLED * size:
            return ddq, friction, True
    return ddq, friction, False


@jit
def stick_slip_acceleration(
    M: Float2D, rotor: Float1D, rest: Float1D, rows: Float2D, dq: Float1D, dt: float
) -> tuple[Float1D, Float1D, bool]:
    """Acceleration over a step under torques `rest` and set-valued Coulomb friction.

    Finds ddq and the dry friction f with (M + Ia) ddq = rest - f such that at the end of the step
    every joint either slides, with f at the limit that opposes it, or stands still, with f between
    the limits. Limits are those of the speed at the start. A linear complementarity problem with
    bounds and a positive definite matrix has exactly one solution; pivoting always on the first
    joint that is wrong [1], [2] ends there after a few turns. Returned are ddq and f, both of shape
    (n,), and False if pivoting did not end.
    """
    n = dq.shape[0]
    drive = M + np.diag(rotor)
    limit, state = np.empty((n, 2)), np.empty(n, dtype=np.int64)
    for j in range(n):
        for side in range(2):
            limit[j, side] = _level(rows[j], side, abs(dq[j]))
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
