r"""Compiled kernels for a point, or a tip with orientation, that some joints move along a path.

Chains are passed as in `robotid_sim.dynamics.kernels`: ``geometry`` (m, 37). ``moved`` holds the
indices of the joints that move, as many as there are ``rows``: 3 for a point, 6 for a point and the
orientation; the others keep their positions. The kernels call one another, so they are in one file.

Positions, velocities and accelerations of a point are trigonometric polynomials of degree one in
the angle of every revolute joint, affine in the position of a prismatic one, quadratic in the
velocities and affine in the accelerations, as are angular velocities and accelerations. Therefore
the central differences of `sensitivity` are exact up to rounding.
"""

import math

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D, Int1D
from robotid_sim.compiled import jit

MAX_STEP = 0.3
"""Longest step of a joint between two solutions, or in an iteration [rad or m]."""

POINT_TOLERANCE = 1e-9
"""Error [m or rad] below which one more iteration reduces the error to rounding."""


@jit
def _cross(a: Float1D, b: Float1D, out: Float1D) -> None:
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@jit
def _place(geometry: Float2D, point: Float1D, q: Float1D, O: Float2D, Z: Float2D) -> Float2D:
    """Write axes into `Z` (m, 3), origins and point into `O` (m + 1, 3); return the rotation.

    All are in the root frame.
    """
    m = q.size
    R, A, B = np.eye(3), np.empty((3, 3)), np.empty((3, 3))
    for i in range(m):
        g = geometry[i]
        slides = g[6] == 1.0
        s, c = (0.0, 1.0) if slides else (math.sin(q[i]), math.cos(q[i]))
        for a in range(3):
            Z[i, a] = R[a, 0] * g[7] + R[a, 1] * g[8] + R[a, 2] * g[9]
            O[i, a] = R[a, 0] * g[0] + R[a, 1] * g[1] + R[a, 2] * g[2]
            O[i, a] += (O[i - 1, a] if i > 0 else 0.0) + (Z[i, a] * q[i] if slides else 0.0)
            for b in range(3):
                k = 10 + 3 * a + b
                A[a, b] = g[k] + c * g[k + 9] + s * g[k + 18]
        for a in range(3):
            for b in range(3):
                B[a, b] = R[a, 0] * A[0, b] + R[a, 1] * A[1, b] + R[a, 2] * A[2, b]
        R[:] = B
    for a in range(3):
        O[m, a] = O[m - 1, a] + R[a, 0] * point[0] + R[a, 1] * point[1] + R[a, 2] * point[2]
    return R


@jit
def _jacobian(geometry: Float2D, moved: Int1D, O: Float2D, Z: Float2D, J: Float2D) -> None:
    """Write columns (z x (p - o), z) of joints, (z, 0) if prismatic, into `J`; 3 or 6 rows."""
    m = Z.shape[0]
    for k in range(moved.size):
        j = moved[k]
        slides = geometry[j, 6] == 1.0
        x, y, z = O[m, 0] - O[j, 0], O[m, 1] - O[j, 1], O[m, 2] - O[j, 2]
        J[0, k] = Z[j, 0] if slides else Z[j, 1] * z - Z[j, 2] * y
        J[1, k] = Z[j, 1] if slides else Z[j, 2] * x - Z[j, 0] * z
        J[2, k] = Z[j, 2] if slides else Z[j, 0] * y - Z[j, 1] * x
        if J.shape[0] == 6:
            for a in range(3):
                J[3 + a, k] = 0.0 if slides else Z[j, a]


@jit
def _tip_rates(
    geometry: Float2D, O: Float2D, Z: Float2D, dq: Float1D, ddq: Float1D, out: Float2D
) -> None:
    """Write the motion of the point into `out` (4, 3): v, w, a, dw; recursive over bodies."""
    m = Z.shape[0]
    r, wr, wz = np.empty(3), np.empty(3), np.empty(3)
    wwr, dwr = np.empty(3), np.empty(3)
    out[:] = 0.0
    for i in range(m + 1):
        for a in range(3):
            r[a] = O[i, a] - (O[i - 1, a] if i > 0 else 0.0)
        _cross(out[1], r, wr)
        _cross(out[1], wr, wwr)
        _cross(out[3], r, dwr)
        for a in range(3):
            out[0, a] += wr[a]
            out[2, a] += dwr[a] + wwr[a]
        if i == m:
            return
        _cross(out[1], Z[i], wz)
        for a in range(3):
            if geometry[i, 6] == 1.0:
                out[0, a] += Z[i, a] * dq[i]
                out[2, a] += 2.0 * wz[a] * dq[i] + Z[i, a] * ddq[i]
            else:
                out[1, a] += Z[i, a] * dq[i]
                out[3, a] += wz[a] * dq[i] + Z[i, a] * ddq[i]


@jit
def _motion(
    geometry: Float2D, point: Float1D, q: Float1D, dq: Float1D, ddq: Float1D, out: Float2D
) -> None:
    """Write the motion of the point into `out` (4, 3): v, w, a, dw."""
    O, Z = np.empty((q.size + 1, 3)), np.empty((q.size, 3))
    _place(geometry, point, q, O, Z)
    _tip_rates(geometry, O, Z, dq, ddq, out)


@jit
def _solve_linear(A: Float2D, b: Float1D) -> bool:
    """Solve A x = b in place by elimination with pivots; return False if A is singular."""
    n = b.size
    for i in range(n):
        p = i
        for r in range(i + 1, n):
            if abs(A[r, i]) > abs(A[p, i]):
                p = r
        if not abs(A[p, i]) > 0.0:
            return False
        for k in range(n):
            A[i, k], A[p, k] = A[p, k], A[i, k]
        b[i], b[p] = b[p], b[i]
        for r in range(i + 1, n):
            f = A[r, i] / A[i, i]
            b[r] -= f * b[i]
            for k in range(i, n):
                A[r, k] -= f * A[i, k]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            b[i] -= A[i, k] * b[k]
        b[i] /= A[i, i]
        if not math.isfinite(b[i]):
            return False
    return True


@jit
def _turn(R_wanted: Float2D, R: Float2D, turn: Float1D) -> None:
    """Compute the rotation vector from R to the target rotation, in the root frame."""
    E = np.zeros((3, 3))
    for a in range(3):
        for b in range(3):
            for k in range(3):
                E[a, b] += R_wanted[a, k] * R[b, k]
    turn[0] = 0.5 * (E[2, 1] - E[1, 2])
    turn[1] = 0.5 * (E[0, 2] - E[2, 0])
    turn[2] = 0.5 * (E[1, 0] - E[0, 1])
    sine = math.sqrt(turn[0] ** 2 + turn[1] ** 2 + turn[2] ** 2)
    if sine > 1e-12:
        angle = math.atan2(sine, 0.5 * (E[0, 0] + E[1, 1] + E[2, 2] - 1.0))
        for a in range(3):
            turn[a] *= angle / sine


@jit
def run_newton(
    geometry: Float2D,
    point: Float1D,
    moved: Int1D,
    q: Float1D,
    target: Float1D,
    orientation: Float2D,
    rows: int,
) -> bool:
    """Solve for `q` with the point at the target.

    False if this fails or the solution is far away.
    """
    m = q.size
    error, start, J = np.empty(rows), q.copy(), np.empty((rows, rows))
    O, Z = np.empty((m + 1, 3)), np.empty((m, 3))
    for _ in range(12):
        R = _place(geometry, point, q, O, Z)
        for a in range(3):
            error[a] = target[a] - O[m, a]
        if rows == 6:
            _turn(orientation, R, error[3:])
        size = 0.0
        for a in range(rows):
            size = max(size, abs(error[a]))
        _jacobian(geometry, moved, O, Z, J)
        if not _solve_linear(J, error):
            return False
        for j in range(rows):
            q[moved[j]] += error[j]
            if abs(q[moved[j]] - start[moved[j]]) > MAX_STEP:
                return False
        if size < POINT_TOLERANCE:
            return True
    return False


@jit
def follow(
    geometry: Float2D,
    point: Float1D,
    moved: Int1D,
    q_start: Float1D,
    p_start: Float1D,
    targets: Float2D,
    orientation: Float2D,
    rows: int,
) -> tuple[Float2D, int]:
    """Compute joint positions (N, m) along targets (N, 3) from a known start, and their number.

    The straight path to the next target is halved until no step is too long. Every step begins at
    the previous solution: extrapolation by the velocity would pass through singular poses.
    """
    Q = np.empty((targets.shape[0], q_start.size))
    q, p = q_start.copy(), p_start.copy()
    for k in range(targets.shape[0]):
        share, step = 0.0, 1.0
        while share < 1.0:
            trial = q.copy()
            target = targets[k] if share + step >= 1.0 else p + (share + step) * (targets[k] - p)
            if run_newton(geometry, point, moved, trial, target, orientation, rows):
                q = trial
                share += step
            else:
                step *= 0.5
                if step < 1.0 / 64.0:
                    return Q, k
        Q[k], p = q, targets[k]
    return Q, targets.shape[0]


@jit
def polish(
    geometry: Float2D,
    point: Float1D,
    moved: Int1D,
    Q: Float2D,
    targets: Float2D,
    orientation: Float2D,
    rows: int,
) -> int:
    """Move every row of `Q` to its target; return the number of rows before the first failure."""
    for k in range(targets.shape[0]):
        if not run_newton(geometry, point, moved, Q[k], targets[k], orientation, rows):
            return k
    return len(targets)


@jit
def rates(
    geometry: Float2D, point: Float1D, moved: Int1D, Q: Float2D, V: Float2D, A: Float2D, rows: int
) -> tuple[Float2D, Float2D, int]:
    """Compute joint velocities and accelerations, (N, m) each, along a path, and their number.

    dq = J^-1 v and ddq = J^-1 (a - dJ dq), without rotation if there are six rows.
    """
    N, m = Q.shape
    DQ, DDQ, none, out = np.zeros((N, m)), np.zeros((N, m)), np.zeros(m), np.empty((4, 3))
    O, Z, b, J = np.empty((m + 1, 3)), np.empty((m, 3)), np.empty(rows), np.empty((rows, rows))
    for k in range(N):
        _place(geometry, point, Q[k], O, Z)
        for order in range(2):
            if order == 1:
                _tip_rates(geometry, O, Z, DQ[k], none, out)
            for a in range(rows):
                bias = out[2 + a // 3, a % 3] if order == 1 else 0.0
                motion = A if order == 1 else V
                b[a] = (motion[k, a] if a < 3 else 0.0) - bias
            _jacobian(geometry, moved, O, Z, J)
            if not _solve_linear(J, b):
                return DQ, DDQ, k
            for j in range(rows):
                (DQ if order == 0 else DDQ)[k, moved[j]] = b[j]
    return DQ, DDQ, N


@jit
def _difference(ahead: Float2D, behind: Float2D, out: Float1D) -> None:
    """Write half of a difference of (2, 3) numbers into `out`, up to its length."""
    for a in range(out.size):
        out[a] = 0.5 * (ahead[a // 3, a % 3] - behind[a // 3, a % 3])


@jit
def sensitivity(
    geometry: Float2D,
    point: Float1D,
    moved: Int1D,
    Q: Float2D,
    DQ: Float2D,
    DDQ: Float2D,
    rows: int,
) -> tuple[Float, Float, Float, Float]:
    """Compute Jacobians J, dV/dq, dA/dq, dA/ddq of the tip's velocity V and acceleration A.

    Each has shape (N, rows, rows); the last index is the joint.
    """
    N, r = Q.shape[0], rows
    J, Vq, Aq, Adq = (
        np.empty((N, r, r)),
        np.empty((N, r, r)),
        np.empty((N, r, r)),
        np.empty((N, r, r)),
    )
    O, Z = np.empty((Q.shape[1] + 1, 3)), np.empty((Q.shape[1], 3))
    ahead, behind = np.empty((4, 3)), np.empty((4, 3))
    for k in range(N):
        _place(geometry, point, Q[k], O, Z)
        _jacobian(geometry, moved, O, Z, J[k])
        q, dq = Q[k].copy(), DQ[k].copy()
        for c in range(moved.size):
            j = moved[c]
            shift = 1.0 if geometry[j, 6] == 1.0 else 0.5 * math.pi
            q[j] = Q[k, j] + shift
            _motion(geometry, point, q, dq, DDQ[k], ahead)
            q[j] = Q[k, j] - shift
            _motion(geometry, point, q, dq, DDQ[k], behind)
            q[j] = Q[k, j]
            _difference(ahead[:2], behind[:2], Vq[k, :, c])
            _difference(ahead[2:], behind[2:], Aq[k, :, c])
            dq[j] = DQ[k, j] + 1.0
            _motion(geometry, point, q, dq, DDQ[k], ahead)
            dq[j] = DQ[k, j] - 1.0
            _motion(geometry, point, q, dq, DDQ[k], behind)
            dq[j] = DQ[k, j]
            _difference(ahead[2:], behind[2:], Adq[k, :, c])
    return J, Vq, Aq, Adq
