r"""Compiled steps of plants whose rotors move apart from their links.

Also solves set-valued Coulomb friction, which lets joints of a plant stick. A vector ``friction``
opposes the drive: :math:`(M + I_a) \ddot q = \tau - h - F`.

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
from robotid_sim.compiled import jit, jit_calling
from robotid_sim.dynamics import kernels

VELOCITY_TOLERANCE = 1e-13
"""Change of velocities at which iterations end, relative if above 1 rad/s."""

jit_with_kernels = jit_calling(kernels)


@jit_with_kernels
def _solve_two_masses(
    inertia: Float2D,
    tau: Float1D,
    rows: Float2D,
    load: Float1D,
    dx: Float1D,
    dt: float,
    v: Float1D,
    ddx: Float1D,
    friction: Float1D,
) -> bool:
    """Solve ``inertia @ ddx + friction(v) = tau`` with v = dx + theta dt ddx, as `plant_step`.

    The result is False if `inertia` is not positive definite.
    """
    n = dx.shape[0]
    work, L = np.empty((2 * n + 2, n)), np.zeros((n, n))
    residual, step = np.empty(n), np.full(n, dt)
    if not kernels.solve_cholesky(inertia, tau, L, residual):
        return False
    if dt > 0.0:
        v[:] = dx
        kernels.solve_friction(inertia, tau, rows, load, dx, step, kernels.ROUGH_TOLERANCE, work, v)
        for j in range(n):
            slope = kernels.smooth_friction(rows[j], v[j], load[j])[1]
            share = kernels.friction_step_share(dt * slope * kernels.mobility(L, j, residual))
            step[j] = share * dt
            v[j] = dx[j] + share * (v[j] - dx[j])
        kernels.solve_friction(
            inertia, tau, rows, load, dx, step, kernels.VELOCITY_TOLERANCE, work, v
        )
    for j in range(n):
        friction[j] = kernels.smooth_friction(rows[j], v[j], load[j])[0]
        residual[j] = tau[j] - friction[j]
    kernels.substitute(L, residual, ddx)
    return True


@jit_with_kernels
def two_mass_inertia(
    geometry: Float2D, phi: Float1D, rotors: Float2D, coupling: Float1D, rotor: Int1D, q: Float1D
) -> Float2D:
    """Compute the inertia of links and separate rotors, shape (N, N).

    Spring j transmits `coupling` j more per acceleration of the rotor against the link.
    """
    n, inertia = q.shape[0], rotors.copy()
    R, p = np.empty((n, 3, 3)), np.empty((n, 3))
    bodies, M = np.empty((4, n, 3)), np.empty((n, n))
    kernels.place(geometry, q, R, p)
    kernels.mass_matrix_at(geometry, R, p, phi, bodies, M)
    inertia[:n, :n] += M
    for j in range(n):
        if rotor[j] != j:
            inertia[j, j] += coupling[j]
            inertia[rotor[j], rotor[j]] += coupling[j]
            inertia[j, rotor[j]] -= coupling[j]
            inertia[rotor[j], j] -= coupling[j]
    return inertia


@jit_with_kernels
def two_mass_step(
    geometry: Float2D,
    gravity: Float1D,
    phi: Float1D,
    rows: Float2D,
    rotors: Float2D,
    torque: Float1D,
    springs: Float2D,
    rotor: Int1D,
    q: Float1D,
    dx: Float1D,
    predicted: Float1D,
    load: Float1D,
    dt: float,
) -> tuple[Float1D, Float1D, Float1D, bool]:
    """Compute the acceleration of links and of separate rotors, each with friction of its own.

    Coordinates are the n links and then the rotors; `rotors` is the inertia of rotors, (N, N),
    `torque` are the torques without Coriolis, gravity and friction, (N,), and `rows` the
    coefficients of friction, (N, 11). Rotor j has the coordinate `rotor` j; if this is not j,
    a spring transmits ``springs[0, j]``, and ``springs[1, j]`` more per acceleration of the rotor
    against the link. Links have the positions `q`; velocities are `dx`, and within the step
    `predicted`. The torques that gears transmitted in the last step, `load`, (n,), are updated.
    Returns acceleration, velocity within the step and friction, (N,), and False as in `plant_step`.
    """
    n, N = q.shape[0], dx.shape[0]
    R, p, bodies = np.empty((n, 3, 3)), np.empty((n, 3)), np.empty((5, n, 3))
    ddx, v, friction, previous = np.zeros(N), predicted.copy(), np.zeros(N), np.empty(N)
    bias, zero, applied, loads = np.empty(n), np.zeros(n), np.empty(N), np.zeros(N)
    inertia = two_mass_inertia(geometry, phi, rotors, springs[1], rotor, q)
    kernels.place(geometry, q, R, p)
    for _ in range(kernels.MAX_LOAD_ITERATIONS):
        previous[:] = v
        kernels.newton_euler(geometry, R, p, gravity, phi, v[:n], zero, bodies, bias)
        applied[:] = torque
        for j in range(n):
            applied[j] -= bias[j]
            loads[rotor[j]] = load[j]
        if not _solve_two_masses(inertia, applied, rows, loads, dx, dt, v, ddx, friction):
            return ddx, v, friction, False
        change, size = 0.0, 1.0
        for j in range(n):
            if rotor[j] != j:
                load[j] = springs[0, j] + springs[1, j] * (ddx[rotor[j]] - ddx[j])
            else:
                load[j] = torque[j] - friction[j]
                for k in range(N):
                    load[j] -= rotors[j, k] * ddx[k]
        for j in range(N):
            change, size = max(change, abs(v[j] - previous[j])), max(size, abs(v[j]))
        if change <= VELOCITY_TOLERANCE * size:
            return ddx, v, friction, True
    return ddx, v, friction, True


FORCE_TOLERANCE = 1e-12
"""Share of its limit by which rounding may let a sticking torque exceed it."""


@jit
def stick_slip_acceleration(
    inertia: Float2D, applied: Float1D, limit: Float2D, dq: Float1D, dt: float
) -> tuple[Float1D, Float1D, bool]:
    """Compute the acceleration in a step under torques `applied` and set-valued Coulomb friction.

    Finds ddq and the Coulomb friction f with ``inertia @ ddq = applied - f`` such that at the end
    of the step every joint either slides, with f at the limit that opposes it, or stands still,
    with f between the limits: forward in ``limit[:, 0]``, backward in ``limit[:, 1]``. A linear
    complementarity problem with bounds and a positive definite matrix has exactly one solution;
    pivoting on the first joint that violates it [1], [2] finds it after a few steps. Returns ddq
    and f, both of shape (n,), and False if pivoting did not end.
    """
    n = dq.shape[0]
    state = np.empty(n, dtype=np.int64)
    for j in range(n):
        state[j] = 1 if dq[j] > 0.0 else -1 if dq[j] < 0.0 else 0
    ddq, friction = np.empty(n), np.empty(n)
    for _ in range(20 * 2**n):
        _partition(inertia, applied, limit, state, dq, dt, ddq, friction)
        violated = -1
        for j in range(n):
            previous = state[j]
            if previous == 0:
                slack = FORCE_TOLERANCE * (limit[j, 0] + limit[j, 1])
                if friction[j] > limit[j, 0] + slack:
                    state[j] = 1
                elif friction[j] < -limit[j, 1] - slack:
                    state[j] = -1
            elif previous * (dq[j] + dt * ddq[j]) < 0.0:
                state[j] = 0
            if state[j] != previous:
                violated = j
                break
        if violated < 0:
            return ddq, friction, True
    return ddq, friction, False


@jit
def _partition(
    inertia: Float2D,
    applied: Float1D,
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
            b[r] = applied[j] - friction[j]
            for k in range(n):
                if state[k] == 0:
                    b[r] -= inertia[j, k] * ddq[k]
            for c in range(m):
                A[r, c] = inertia[j, slides[c]]
        ddq[slides] = np.linalg.solve(A, b)
    for j in range(n):
        if state[j] == 0:
            friction[j] = applied[j]
            for k in range(n):
                friction[j] -= inertia[j, k] * ddq[k]
