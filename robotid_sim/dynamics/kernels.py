r"""Compiled rigid-body kernels: per-sample loops that read like the textbook.

A chain is passed as arrays, so that one call costs little:

``geometry`` (n, 37)
    Per joint, packed by `robotid_sim.model.joint.pack_geometry`: its origin in the previous body
    (3) [m], unit axis u in the joint frame (3), 1.0 if prismatic, u in the frame of the previous
    body (3), and three matrices (9 each, row-major) with R(q) = R0 uu^T + cos(q) R0 (1 - uu^T) +
    sin(q) R0 [u x]: R0, the rotation of the joint frame at q = 0, times Rodrigues' formula.
``phi`` (14 n,)
    Standard parameters in the order of `robotid_sim.model.parameters`: ten per link about the link
    frame, then ``Fv Fc Fo Ia`` per joint.
``gravity`` (3,)
    In the root frame [m/s^2].
``eps`` (n,)
    Transition velocities [rad/s].

All vectors of body i are in its frame, at its origin; ``R`` (n, 3, 3) and ``p`` (n, 3) place body i
in body i - 1. Accelerations of origins are those minus gravity, as if the base accelerated upward.
Kernels that call one another are in one file: the disk cache sees no change of another file.

References
----------
.. [1] Luh, Walker, Paul (1980), "On-line computational scheme for mechanical manipulators",
   J. Dynamic Systems, Measurement, and Control, doi:10.1115/1.3149599.
.. [2] Atkeson, An, Hollerbach (1986), "Estimation of inertial parameters of manipulator loads and
   links", Int. J. Robotics Research, doi:10.1177/027836498600500306.
.. [3] Echeandia, Wensing (2021), "Numerical methods to compute the Coriolis matrix and Christoffel
   symbols for rigid-body systems", J. Computational and Nonlinear Dynamics, doi:10.1115/1.4051169.
"""

import math

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D, Int1D
from robotid_sim.compiled import jit

MAX_NEWTON_ITERATIONS = 60
"""Maximum iterations of Newton's method for friction; two to four are usual, about ten where joints
stop."""

FULL_STEP_ITERATIONS = 10
"""Iterations with full steps; without half steps after them, 2 in 10,000 stiff arms never end."""

VELOCITY_TOLERANCE = 1e-5
"""Relative change of velocity at which iterations end; convergence is quadratic, the error its
square."""

ROUGH_TOLERANCE = 1e-2
"""The same for the velocity that only determines the stiffness of friction."""

CORIOLIS_PASSES = 1
"""Passes for the velocity in Coriolis forces; each reduces the error by a factor of about dt."""

MAX_LOAD_ITERATIONS = 100
"""Maximum iterations for friction that depends on the transmitted torque."""

LOAD_TOLERANCE = 1e-13
"""Change of friction at which these iterations end, relative to the largest torque."""

# --------------------------------------------------------------------------------- vectors


@jit
def _cross(a: Float1D, b: Float1D, out: Float1D) -> None:
    x = a[1] * b[2] - a[2] * b[1]
    y = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]
    out[0] = x
    out[1] = y


@jit
def _dot(a: Float1D, b: Float1D) -> float:
    dot: float = a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    return dot


@jit
def _rotate(R: Float2D, a: Float1D, out: Float1D) -> None:
    """Out = R a: from the frame of a body to the frame of the previous one."""
    x, y, z = a[0], a[1], a[2]
    for i in range(3):
        out[i] = R[i, 0] * x + R[i, 1] * y + R[i, 2] * z


@jit
def _rotate_back(R: Float2D, a: Float1D, out: Float1D) -> None:
    """Out = R^T a: from the frame of the previous body to the frame of a body."""
    x, y, z = a[0], a[1], a[2]
    for i in range(3):
        out[i] = R[0, i] * x + R[1, i] * y + R[2, i] * z


@jit
def _momentum(b: Float1D, w: Float1D, v: Float1D, n: Float1D, f: Float1D) -> None:
    """Spatial inertia times motion: n = L w + l x v, f = m v + w x l, with b = (m, l, L)."""
    m, lx, ly, lz = b[0], b[1], b[2], b[3]
    n[0] = b[4] * w[0] + b[5] * w[1] + b[7] * w[2] + ly * v[2] - lz * v[1]
    n[1] = b[5] * w[0] + b[6] * w[1] + b[8] * w[2] + lz * v[0] - lx * v[2]
    n[2] = b[7] * w[0] + b[8] * w[1] + b[9] * w[2] + lx * v[1] - ly * v[0]
    f[0] = m * v[0] + w[1] * lz - w[2] * ly
    f[1] = m * v[1] + w[2] * lx - w[0] * lz
    f[2] = m * v[2] + w[0] * ly - w[1] * lx


# ------------------------------------------------------------------------------ kinematics


@jit
def place(geometry: Float2D, q: Float1D, R: Float, p: Float2D) -> None:
    """Rotation R[i] and origin p[i] of every body in the previous one (Rodrigues)."""
    for i in range(q.shape[0]):
        g = geometry[i]
        slide = g[6] * q[i]
        s, c = (0.0, 1.0) if g[6] == 1.0 else (math.sin(q[i]), math.cos(q[i]))
        for r in range(3):
            p[i, r] = g[r] + slide * g[7 + r]
            for k in range(3):
                m = 10 + 3 * r + k
                R[i, r, k] = g[m] + c * g[m + 9] + s * g[m + 18]


@jit
def link_poses(geometry: Float2D, q: Float1D) -> Float:
    """Pose of every body in the root frame, shape (n, 4, 4)."""
    n = q.shape[0]
    R, p = np.empty((n, 3, 3)), np.empty((n, 3))
    place(geometry, q, R, p)
    T = np.zeros((n, 4, 4))
    for i in range(n):
        T[i, 3, 3] = 1.0
        for r in range(3):
            before = T[i - 1, r]
            T[i, r, 3] = p[0, r] if i == 0 else before[3] + _dot(before, p[i])
            for c in range(3):
                T[i, r, c] = R[0, r, c] if i == 0 else _dot(before, R[i, :, c])
    return T


@jit
def jacobian(geometry: Float2D, q: Float1D, point: Float1D) -> Float2D:
    """Geometric Jacobian, shape (6, n): velocity, then angular velocity, in the root frame.

    Of the point with coordinates `point` in the last body; column j of a revolute joint is
    (z_j x (r - o_j), z_j), of a prismatic one (z_j, 0).
    """
    n = q.shape[0]
    T = link_poses(geometry, q)
    J = np.zeros((6, n))
    z, arm = np.empty(3), np.empty(3)
    for j in range(n):
        _rotate(T[j, :3, :3], geometry[j, 3:6], z)
        if geometry[j, 6] == 1.0:
            J[:3, j] = z
            continue
        for r in range(3):
            arm[r] = T[n - 1, r, 3] + _dot(T[n - 1, r], point) - T[j, r, 3]
        _cross(z, arm, J[:3, j])
        J[3:, j] = z
    return J


# ------------------------------------------------------------------------ Newton-Euler [1]


@jit
def _body_motion(
    geometry: Float2D,
    R: Float,
    p: Float2D,
    gravity: Float1D,
    dq: Float1D,
    ddq: Float1D,
    w: Float2D,
    dw: Float2D,
    a: Float2D,
) -> None:
    """Angular velocity, angular acceleration and origin acceleration of every body [1]."""
    w0 = w1 = w2 = d0 = d1 = d2 = 0.0
    a0, a1, a2 = -gravity[0], -gravity[1], -gravity[2]
    for i in range(dq.shape[0]):
        if i > 0:  # a + dw x p + w x (w x p), still in the frame of body i - 1
            x, y, z = p[i, 0], p[i, 1], p[i, 2]
            h0, h1, h2 = w1 * z - w2 * y, w2 * x - w0 * z, w0 * y - w1 * x
            a0 += d1 * z - d2 * y + w1 * h2 - w2 * h1
            a1 += d2 * x - d0 * z + w2 * h0 - w0 * h2
            a2 += d0 * y - d1 * x + w0 * h1 - w1 * h0
        for r in range(3):
            w[i, r] = R[i, 0, r] * w0 + R[i, 1, r] * w1 + R[i, 2, r] * w2
            dw[i, r] = R[i, 0, r] * d0 + R[i, 1, r] * d1 + R[i, 2, r] * d2
            a[i, r] = R[i, 0, r] * a0 + R[i, 1, r] * a1 + R[i, 2, r] * a2
        w0, w1, w2 = w[i, 0], w[i, 1], w[i, 2]
        x, y, z = geometry[i, 3], geometry[i, 4], geometry[i, 5]
        h0, h1, h2 = w1 * z - w2 * y, w2 * x - w0 * z, w0 * y - w1 * x  # w x axis
        if geometry[i, 6] == 1.0:
            a[i, 0] += x * ddq[i] + 2.0 * h0 * dq[i]
            a[i, 1] += y * ddq[i] + 2.0 * h1 * dq[i]
            a[i, 2] += z * ddq[i] + 2.0 * h2 * dq[i]
        else:
            w0, w1, w2 = w0 + x * dq[i], w1 + y * dq[i], w2 + z * dq[i]
            w[i, 0], w[i, 1], w[i, 2] = w0, w1, w2
            dw[i, 0] += x * ddq[i] + h0 * dq[i]
            dw[i, 1] += y * ddq[i] + h1 * dq[i]
            dw[i, 2] += z * ddq[i] + h2 * dq[i]
        d0, d1, d2 = dw[i, 0], dw[i, 1], dw[i, 2]
        a0, a1, a2 = a[i, 0], a[i, 1], a[i, 2]


@jit
def _joint_projection(
    geometry: Float2D, R: Float, p: Float2D, force: Float2D, moment: Float2D, tau: Float1D
) -> None:
    """Joint torques that balance all wrenches; `force` and `moment` become their sums outwards."""
    f, n = np.empty(3), np.empty(3)
    for i in range(tau.shape[0] - 1, -1, -1):
        along = moment[i] if geometry[i, 6] == 0.0 else force[i]
        tau[i] = _dot(geometry[i, 3:6], along)
        if i > 0:
            _rotate(R[i], force[i], f)
            _rotate(R[i], moment[i], n)
            for r in range(3):
                force[i - 1, r] += f[r]
                moment[i - 1, r] += n[r]
            _cross(p[i], f, n)
            for r in range(3):
                moment[i - 1, r] += n[r]


@jit
def newton_euler(
    geometry: Float2D,
    R: Float,
    p: Float2D,
    gravity: Float1D,
    phi: Float1D,
    dq: Float1D,
    ddq: Float1D,
    work: Float,
    tau: Float1D,
) -> None:
    """Rigid-body torques tau of one sample; `work` is scratch of shape (5, n, 3)."""
    n = dq.shape[0]
    w, dw, a, force, moment = work[0], work[1], work[2], work[3], work[4]
    _body_motion(geometry, R, p, gravity, dq, ddq, w, dw, a)
    u, h = np.empty(3), np.empty(3)
    for i in range(n):
        body = phi[10 * i : 10 * i + 10]
        _momentum(body, dw[i], a[i], moment[i], force[i])  # L dw + l x a,  m a + dw x l
        _cross(w[i], body[1:4], h)
        _cross(w[i], h, u)
        for r in range(3):
            force[i, r] += u[r]  # + w x (w x l)
        h[0] = body[4] * w[i, 0] + body[5] * w[i, 1] + body[7] * w[i, 2]
        h[1] = body[5] * w[i, 0] + body[6] * w[i, 1] + body[8] * w[i, 2]
        h[2] = body[7] * w[i, 0] + body[8] * w[i, 1] + body[9] * w[i, 2]
        _cross(w[i], h, u)
        for r in range(3):
            moment[i, r] += u[r]  # + w x L w
    _joint_projection(geometry, R, p, force, moment, tau)


@jit
def inverse_dynamics(
    geometry: Float2D, gravity: Float1D, phi: Float1D, q: Float2D, dq: Float2D, ddq: Float2D
) -> Float2D:
    """Rigid-body torques without friction and rotors, shape (N, n)."""
    N, n = q.shape
    R, p, work = np.empty((n, 3, 3)), np.empty((n, 3)), np.empty((5, n, 3))
    tau = np.empty((N, n))
    for k in range(N):
        place(geometry, q[k], R, p)
        newton_euler(geometry, R, p, gravity, phi, dq[k], ddq[k], work, tau[k])
    return tau


@jit
def joint_torque(
    geometry: Float2D,
    gravity: Float1D,
    phi: Float1D,
    eps: Float1D,
    q: Float2D,
    dq: Float2D,
    ddq: Float2D,
) -> Float2D:
    """Torques of the drives: rigid body, friction and reflected rotor inertia, shape (N, n)."""
    N, n = q.shape
    tau = inverse_dynamics(geometry, gravity, phi, q, dq, ddq)
    for k in range(N):
        for j in range(n):
            rotor = phi[10 * n + 4 * j + 3]
            tau[k, j] += _friction(phi, eps, j, dq[k, j]) + rotor * ddq[k, j]
    return tau


@jit
def _friction(phi: Float1D, eps: Float1D, j: int, dq: float) -> float:
    """Fv dq + Fc tanh(dq / eps) + Fo of joint j."""
    first = 10 * eps.shape[0] + 4 * j
    coulomb = phi[first + 1] * math.tanh(dq / eps[j])
    torque: float = phi[first] * dq + coulomb + phi[first + 2]
    return torque


# ------------------------------------------------------- regressor [2] and mass matrix


@jit
def _advance_jacobian(
    geometry: Float2D, R: Float, p: Float2D, body: int, Jw: Float2D, Jv: Float2D
) -> None:
    """From the Jacobian of body - 1 to that of `body`, in their frames; rows are joints."""
    x, y, z = p[body, 0], p[body, 1], p[body, 2]
    # Scalars, because the compiler would reload R after every store into Jw and Jv.
    r00, r01, r02 = R[body, 0, 0], R[body, 0, 1], R[body, 0, 2]
    r10, r11, r12 = R[body, 1, 0], R[body, 1, 1], R[body, 1, 2]
    r20, r21, r22 = R[body, 2, 0], R[body, 2, 1], R[body, 2, 2]
    for i in range(body):
        w0, w1, w2 = Jw[i, 0], Jw[i, 1], Jw[i, 2]
        v0 = Jv[i, 0] + w1 * z - w2 * y  # velocity of the next origin, Jv + Jw x p
        v1 = Jv[i, 1] + w2 * x - w0 * z
        v2 = Jv[i, 2] + w0 * y - w1 * x
        Jw[i, 0] = r00 * w0 + r10 * w1 + r20 * w2
        Jw[i, 1] = r01 * w0 + r11 * w1 + r21 * w2
        Jw[i, 2] = r02 * w0 + r12 * w1 + r22 * w2
        Jv[i, 0] = r00 * v0 + r10 * v1 + r20 * v2
        Jv[i, 1] = r01 * v0 + r11 * v1 + r21 * v2
        Jv[i, 2] = r02 * v0 + r12 * v1 + r22 * v2
    prismatic = geometry[body, 6] == 1.0
    for r in range(3):
        axis = geometry[body, 3 + r]
        Jv[body, r] = axis if prismatic else 0.0
        Jw[body, r] = 0.0 if prismatic else axis


@jit
def _wrench_regressor(w: Float1D, dw: Float1D, a: Float1D, A: Float2D) -> None:
    """Wrench of one body, A (m, l, Lxx Lxy Lyy Lxz Lyz Lzz): rows force, then moment [2].

    Force = m a + ([dw x] + [w x][w x]) l, moment = -[a x] l + ([. dw] + [w x][. w]) L,
    where [. w] L is the inertia times w; `A` must hold zeros in all other entries.
    """
    x, y, z = w[0], w[1], w[2]
    ax, ay, az = a[0], a[1], a[2]
    dx, dy, dz = dw[0], dw[1], dw[2]
    A[0, 0], A[0, 1], A[0, 2], A[0, 3] = ax, -y * y - z * z, x * y - dz, x * z + dy
    A[1, 0], A[1, 1], A[1, 2], A[1, 3] = ay, x * y + dz, -x * x - z * z, y * z - dx
    A[2, 0], A[2, 1], A[2, 2], A[2, 3] = az, x * z - dy, y * z + dx, -x * x - y * y
    A[3, 2], A[3, 3], A[4, 1], A[4, 3], A[5, 1], A[5, 2] = az, -ay, -az, ax, ay, -ax
    A[3, 4], A[3, 5], A[3, 6] = dx, dy - x * z, -y * z
    A[3, 7], A[3, 8], A[3, 9] = dz + x * y, y * y - z * z, y * z
    A[4, 4], A[4, 5], A[4, 6] = x * z, dx + y * z, dy
    A[4, 7], A[4, 8], A[4, 9] = z * z - x * x, dz - x * y, -x * z
    A[5, 4], A[5, 5], A[5, 6] = -x * y, x * x - y * y, x * y
    A[5, 7], A[5, 8], A[5, 9] = dx - y * z, dy + x * z, dz


@jit
def regressor(
    geometry: Float2D,
    gravity: Float1D,
    eps: Float1D,
    q: Float2D,
    dq: Float2D,
    ddq: Float2D,
    columns: Int1D,
    W: Float,
) -> None:
    """Fill W (N, n, len(columns)) with columns of the drive-torque regressor: tau = Y phi.

    A `W` of all 14 n columns is filled in place, in their order, and must be zero at first.
    Row i of the block of body j is J_ji^T A_j, with the Jacobian J_ji of body j and its wrench
    regressor A_j [2]; the last 4 n columns of Y are friction and rotors.
    """
    N, n = q.shape
    R, p = np.empty((n, 3, 3)), np.empty((n, 3))
    w, dw, a = np.empty((n, 3)), np.empty((n, 3)), np.empty((n, 3))
    Jw, Jv, A = np.empty((n, 3)), np.empty((n, 3)), np.zeros((6, 10))
    all_columns = W.shape[2] == 14 * n
    scratch = np.zeros((n, 14 * n))  # of one sample, so that it stays in the cache
    for k in range(N):
        Y = W[k] if all_columns else scratch
        place(geometry, q[k], R, p)
        _body_motion(geometry, R, p, gravity, dq[k], ddq[k], w, dw, a)
        for j in range(n):
            _advance_jacobian(geometry, R, p, j, Jw, Jv)
            _wrench_regressor(w[j], dw[j], a[j], A)
            for i in range(j + 1):
                v0, v1, v2 = Jv[i, 0], Jv[i, 1], Jv[i, 2]
                w0, w1, w2 = Jw[i, 0], Jw[i, 1], Jw[i, 2]
                for c in range(4):
                    force = v0 * A[0, c] + v1 * A[1, c] + v2 * A[2, c]
                    Y[i, 10 * j + c] = force + w0 * A[3, c] + w1 * A[4, c] + w2 * A[5, c]
                for c in range(4, 10):
                    Y[i, 10 * j + c] = w0 * A[3, c] + w1 * A[4, c] + w2 * A[5, c]
            first = 10 * n + 4 * j
            Y[j, first] = dq[k, j]
            Y[j, first + 1] = math.tanh(dq[k, j] / eps[j])
            Y[j, first + 2] = 1.0
            Y[j, first + 3] = ddq[k, j]
        if not all_columns:
            for i in range(n):
                for c in range(columns.shape[0]):
                    W[k, i, c] = Y[i, columns[c]]


@jit
def mass_matrix_at(
    geometry: Float2D, R: Float, p: Float2D, phi: Float1D, work: Float, M: Float2D
) -> None:
    """M = sum over bodies of J^T I J; `work` is scratch of shape (4, n, 3)."""
    n = M.shape[0]
    Jw, Jv, moment, force = work[0], work[1], work[2], work[3]
    M[:] = 0.0
    for j in range(n):
        _advance_jacobian(geometry, R, p, j, Jw, Jv)
        for i in range(j + 1):
            _momentum(phi[10 * j : 10 * j + 10], Jw[i], Jv[i], moment[i], force[i])
            for k in range(i + 1):
                M[i, k] += _dot(Jw[k], moment[i]) + _dot(Jv[k], force[i])
    for i in range(n):
        for k in range(i):
            M[k, i] = M[i, k]


@jit
def mass_matrix(geometry: Float2D, phi: Float1D, q: Float2D) -> Float:
    """Mass matrices of the rigid bodies, without rotors, shape (N, n, n)."""
    N, n = q.shape
    R, p, work = np.empty((n, 3, 3)), np.empty((n, 3)), np.empty((4, n, 3))
    M = np.empty((N, n, n))
    for k in range(N):
        place(geometry, q[k], R, p)
        mass_matrix_at(geometry, R, p, phi, work, M[k])
    return M


# ----------------------------------------------------------------------------- Coriolis [3]


@jit
def _crm_force(
    w: Float1D, v: Float1D, n: Float1D, f: Float1D, moment_out: Float1D, force_out: Float1D
) -> None:
    """Spatial cross product motion x* force: (w x n + v x f, w x f)."""
    h = np.empty(3)
    _cross(v, f, h)
    _cross(w, n, moment_out)
    for r in range(3):
        moment_out[r] += h[r]
    _cross(w, f, force_out)


@jit
def coriolis_product(
    geometry: Float2D, phi: Float1D, q: Float1D, dq: Float1D, v: Float1D
) -> Float1D:
    """C(q, dq) v with the Christoffel-consistent C, for which dM/dt - 2 C is skew, shape (n,).

    Per body, with its spatial velocity V, the velocity U = J v and A = (dJ/dt) v, the wrench is
    I A + (V x* I U + U x* I V - I (V x U)) / 2 [3], eq. (21).
    """
    n = q.shape[0]
    R, p = np.empty((n, 3, 3)), np.empty((n, 3))
    place(geometry, q, R, p)
    s = np.zeros((8, n, 3))  # angular and linear parts: V = (w, o), U = (wu, ou), A = (aw, ao)
    w, o, wu, ou, aw, ao, moment, force = s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]
    h, g, e = np.empty(3), np.empty(3), np.empty(3)
    n1, f1, n2, f2 = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    for i in range(n):
        axis = geometry[i, 3:6]
        prismatic = geometry[i, 6] == 1.0
        if i > 0:
            for turn, slide in ((w, o), (wu, ou), (aw, ao)):
                _rotate_back(R[i], turn[i - 1], turn[i])
                _cross(turn[i - 1], p[i], h)
                for r in range(3):
                    h[r] += slide[i - 1, r]
                _rotate_back(R[i], h, slide[i])
        _cross(w[i], axis, h)  # V x S, with or without the joint's own share of V
        _cross(o[i], axis, g)
        for r in range(3):
            if prismatic:
                o[i, r] += axis[r] * dq[i]
                ou[i, r] += axis[r] * v[i]
                ao[i, r] += h[r] * v[i]
            else:
                w[i, r] += axis[r] * dq[i]
                wu[i, r] += axis[r] * v[i]
                aw[i, r] += h[r] * v[i]
                ao[i, r] += g[r] * v[i]
        body = phi[10 * i : 10 * i + 10]
        _cross(w[i], wu[i], h)  # V x U = (w x wu, w x ou + o x wu)
        _cross(w[i], ou[i], g)
        _cross(o[i], wu[i], e)
        for r in range(3):
            h[r] = aw[i, r] - 0.5 * h[r]
            g[r] = ao[i, r] - 0.5 * (g[r] + e[r])
        _momentum(body, h, g, moment[i], force[i])  # I (A - V x U / 2)
        for first, second in (((w, o), (wu, ou)), ((wu, ou), (w, o))):
            _momentum(body, second[0][i], second[1][i], n1, f1)
            _crm_force(first[0][i], first[1][i], n1, f1, n2, f2)
            for r in range(3):
                moment[i, r] += 0.5 * n2[r]
                force[i, r] += 0.5 * f2[r]
    tau = np.empty(n)
    _joint_projection(geometry, R, p, force, moment, tau)
    return tau


@jit
def reference_torque(
    geometry: Float2D,
    gravity: Float1D,
    phi: Float1D,
    eps: Float1D,
    q: Float1D,
    dq: Float1D,
    v: Float1D,
    a: Float1D,
) -> Float1D:
    """(M + Ia) a + C(q, dq) v + g + friction(v), shape (n,).

    The model torque of a sliding-mode law with reference velocity v and acceleration a.
    """
    n = q.shape[0]
    R, p, work = np.empty((n, 3, 3)), np.empty((n, 3)), np.empty((5, n, 3))
    tau = np.empty(n)
    place(geometry, q, R, p)
    newton_euler(geometry, R, p, gravity, phi, np.zeros(n), a, work, tau)
    coriolis = coriolis_product(geometry, phi, q, dq, v)
    for j in range(n):
        tau[j] += coriolis[j] + phi[10 * n + 4 * j + 3] * a[j] + _friction(phi, eps, j, v[j])
    return tau


# ------------------------------------------------------------------------- forward dynamics


@jit
def solve_cholesky(A: Float2D, b: Float1D, L: Float2D, x: Float1D) -> bool:
    """Solve A x = b by Cholesky; L keeps the factor. False if A is not positive definite."""
    n = b.shape[0]
    for i in range(n):
        for j in range(i + 1):
            s = A[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if i == j:
                if not s > 0.0:
                    return False
                L[i, i] = math.sqrt(s)
            else:
                L[i, j] = s / L[j, j]
    substitute(L, b, x)
    return True


@jit
def substitute(L: Float2D, b: Float1D, x: Float1D) -> None:
    """Solve ``L L^T x = b`` with a lower triangular L."""
    n = b.shape[0]
    for i in range(n):
        s = b[i]
        for k in range(i):
            s -= L[i, k] * x[k]
        x[i] = s / L[i, i]
    for i in range(n - 1, -1, -1):
        s = x[i]
        for k in range(i + 1, n):
            s -= L[k, i] * x[k]
        x[i] = s / L[i, i]


# ------------------------------------------------------------- friction, solved implicitly


@jit
def smooth_friction(row: Float1D, v: float, load: float) -> tuple[float, float]:
    """Friction of one joint, and its derivative with respect to velocity, zero where negative.

    `row` are its coefficients in the order of `robotid_sim.model.friction_law.COLUMNS`.
    """
    side = 0 if v >= 0.0 else 1
    speed, sign = abs(v), math.tanh(v / row[10])
    slope, peak = row[side], row[4 + side] - row[2 + side]
    if peak != 0.0 and speed > 0.0:
        power = (speed / row[6]) ** row[7]
        peak *= math.exp(-power)
        slope -= peak * power * row[7] / speed * abs(sign)
    dry = row[2 + side] + peak + row[8] * abs(load)
    slope += dry / row[10] * (1.0 - sign * sign)
    torque: float = row[side] * v + dry * sign + row[9]
    return torque, max(slope, 0.0)


@jit
def solve_friction(
    inertia: Float2D,
    applied: Float1D,
    rows: Float2D,
    load: Float1D,
    dq: Float1D,
    step: Float1D,
    tolerance: float,
    work: Float,
    v: Float1D,
) -> None:
    """Solve (M + Ia) a + friction(v) = applied with v = dq + step a for v, by Newton's method.

    If friction does not decrease with speed, this is the stationary point of a strictly convex
    function. Far from it the smooth sign would throw Newton's steps across zero and back; so a
    velocity stops at zero first, from where the steps approach the solution from one side. `work`
    is scratch of shape (2 n + 2, n).
    """
    n = v.shape[0]
    J, L, residual, newton_step = work[:n], work[n : 2 * n], work[2 * n], work[2 * n + 1]
    for iteration in range(MAX_NEWTON_ITERATIONS):
        for j in range(n):
            torque, slope = smooth_friction(rows[j], v[j], load[j])
            residual[j] = applied[j] - torque
            for k in range(n):
                residual[j] -= inertia[j, k] * (v[k] - dq[k]) / step[k]
                J[j, k] = inertia[j, k]
            J[j, j] += step[j] * slope
        solve_cholesky(J, residual, L, newton_step)
        share = 1.0 if iteration < FULL_STEP_ITERATIONS else 0.5
        change = 0.0
        for j in range(n):
            new = v[j] + share * step[j] * newton_step[j]
            if new * v[j] < 0.0:
                new = 0.0
            change = max(change, abs(new - v[j]) / (rows[j, 10] + abs(new)))
            v[j] = new
        if change <= tolerance:
            break


@jit
def friction_step_share(z: float) -> float:
    """Share theta of a time step after which the velocity is taken that determines friction.

    z is the step times the decay rate of the velocity, which the theta method multiplies by
    (1 - (1 - theta) z) / (1 + theta z). One half is of second order, with the exact work of
    friction. Beyond z = 2 it would overshoot, and a joint that should stop would ring; the smallest
    share without overshoot is 1 - 1 / z.
    """
    return 0.5 if z <= 2.0 else 1.0 - 1.0 / z


@jit
def plant_step(
    geometry: Float2D,
    gravity: Float1D,
    phi: Float1D,
    rows: Float2D,
    q: Float1D,
    dq: Float1D,
    tau: Float1D,
    dt: float,
    coupling: Float2D | None = None,
) -> tuple[Float1D, Float1D, Float1D, Float1D, bool]:
    """Torque for an engine without rotors and friction, so that it steps like the real drive.

    The acceleration is that of the drive torque `tau` with rotor inertia and friction at a velocity
    v = dq + theta dt ddq within the step, solved for implicitly: theta is 1/2 (leapfrog, second
    order) for a joint with mild friction, and tends to 1 for one whose friction settles it within
    the step; see `friction_step_share`. `dt` = 0 takes the start velocity (semi-implicit Euler,
    first order, explicit). `rows` are friction coefficients, as for `smooth_friction`; `coupling`
    is inertia of rotors that joints share, shape (n, n).

    Returns the torque for the frictionless engine [N m], the acceleration, the velocity at
    which forces act and the friction torque, each of shape (n,), and False if M + Ia is not
    positive definite or friction that grows with the transmitted torque did not converge.
    """
    n = q.shape[0]
    R, p = np.empty((n, 3, 3)), np.empty((n, 3))
    bodies, joints = np.empty((5, n, 3)), np.empty((2 * n + 2, n))
    M, inertia, L = np.empty((n, n)), np.empty((n, n)), np.zeros((n, n))
    start, h, residual = np.empty(n), np.empty(n), np.empty(n)
    ddq, v, friction = np.zeros(n), dq.copy(), np.zeros(n)
    step, load, zero = np.full(n, dt), tau.copy(), np.zeros(n)
    place(geometry, q, R, p)
    mass_matrix_at(geometry, R, p, phi, bodies, M)
    inertia[:] = M
    for j in range(n):
        inertia[j, j] += phi[10 * n + 4 * j + 3]
    if coupling is not None:
        inertia += coupling
    newton_euler(geometry, R, p, gravity, phi, dq, zero, bodies, start)
    if not solve_cholesky(inertia, tau, L, residual):
        return start, ddq, v, friction, False
    h[:] = start
    settled = False
    for iteration in range(MAX_LOAD_ITERATIONS):
        if dt > 0.0:
            for j in range(n):
                residual[j] = tau[j] - h[j]
            tolerance = ROUGH_TOLERANCE if iteration == 0 else VELOCITY_TOLERANCE
            solve_friction(inertia, residual, rows, load, dq, step, tolerance, joints, v)
            if iteration == 0:  # z of `friction_step_share` from the slope at the end of the step
                for j in range(n):
                    slope = smooth_friction(rows[j], v[j], load[j])[1]
                    share = friction_step_share(dt * slope * mobility(L, j, residual))
                    step[j] = share * dt
                    v[j] = dq[j] + share * (v[j] - dq[j])
            newton_euler(geometry, R, p, gravity, phi, v, zero, bodies, h)
        for j in range(n):
            friction[j] = smooth_friction(rows[j], v[j], load[j])[0]
            residual[j] = tau[j] - h[j] - friction[j]
        substitute(L, residual, ddq)
        settled = _update_load(M, h, ddq, rows, load)
        if settled and (dt == 0.0 or iteration >= CORIOLIS_PASSES):
            break
    for j in range(n):
        for k in range(n):
            start[j] += M[j, k] * ddq[k]
    return start, ddq, v, friction, settled


@jit
def mobility(L: Float2D, j: int, x: Float1D) -> float:
    """Return element j, j of the inverse of L L^T; `x` is scratch of shape (n,)."""
    total = 0.0
    for i in range(j, x.shape[0]):
        x[i] = 1.0 if i == j else 0.0
        for k in range(j, i):
            x[i] -= L[i, k] * x[k]
        x[i] /= L[i, i]
        total += x[i] * x[i]
    return total


@jit
def _update_load(M: Float2D, h: Float1D, ddq: Float1D, rows: Float2D, load: Float1D) -> bool:
    """Put the transmitted torques M ddq + h into `load`; return whether friction has converged.

    Friction that grows with the load is iterated; each step multiplies the error by mu.
    """
    change, size = 0.0, 1.0
    for j in range(h.shape[0]):
        transmitted = h[j]
        for k in range(h.shape[0]):
            transmitted += M[j, k] * ddq[k]
        change = max(change, rows[j, 8] * abs(abs(transmitted) - abs(load[j])))
        size = max(size, abs(transmitted))
        load[j] = transmitted
    return change <= LOAD_TOLERANCE * size
