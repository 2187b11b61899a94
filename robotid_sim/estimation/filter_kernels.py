r"""Compiled loops of filters along a motion: correction, gains, sensitivities, covariance.

The state of n joints is :math:`x = (q, \dot q)`. Its small changes follow

.. math:: \delta a = A\, \delta x + B\, \delta\beta, \qquad
    \delta q^+ = \delta q + h\, \delta\dot q + \tfrac{h^2}{2} \delta a, \qquad
    \delta\dot q^+ = \delta\dot q + h\, \delta a .

Positions :math:`q + c\, \dot q` are measured a time c after the start of a step, joint by joint:
each corrects the state before the next one is compared, so that all innovations of a sample are
independent [1]_ and no matrix is inverted.

References
----------
.. [1] Bierman (1977), "Factorization methods for discrete sequential estimation", Academic Press.
"""

import math

import numpy as np

from robotid_sim.arrays import Bool1D, Bool2D, Float, Float1D, Float2D
from robotid_sim.compiled import jit


@jit
def fill_slopes(
    M: Float,
    T_q: Float,
    T_v: Float,
    share: Float2D,
    Y: Float,
    h: float,
    A: Float,
    B: Float,
    G: Float,
) -> None:
    """Fill slopes of the acceleration by state A (N, n, 2 n), parameters B (N, n, b), torques G.

    G has shape (N, n, n). The acceleration of a step of length h follows from

    (M + T_v h share) da = dtau - T_q dq - (h / 2 T_q + T_v) dv - Y dbeta

    with the inertia M, the slopes T_q and T_v of the torque by position and velocity, shape
    (N, n, n), and the regressor Y (N, n, b), all in the middle of the step. The velocity is that
    after a `share` of the step, shape (N, n).
    """
    N, n, b = Y.shape
    right = np.empty((n, 3 * n + b))
    right[:, 2 * n : 3 * n] = np.eye(n)
    for k in range(N):
        right[:, :n] = -T_q[k]
        right[:, n : 2 * n] = -0.5 * h * T_q[k] - T_v[k]
        right[:, 3 * n :] = -Y[k]
        solved = np.linalg.solve(M[k] + h * T_v[k] * share[k], right)
        A[k] = solved[:, : 2 * n]
        G[k] = solved[:, 2 * n : 3 * n]
        B[k] = solved[:, 3 * n :]


@jit
def correct(
    x: Float1D, z: Float1D, c: float, valid: Bool1D, gain: Float2D, innovation: Float1D
) -> None:
    """Correct the state x (2 n,) by positions z (n,) with the gains (2 n, n), in place.

    Fills the innovations (n,); those of invalid positions are zero.
    """
    n = z.shape[0]
    for j in range(n):
        innovation[j] = z[j] - x[j] - c * x[n + j] if valid[j] else 0.0
        for i in range(x.shape[0]):
            x[i] += gain[i, j] * innovation[j]


@jit
def _transition(A: Float2D, h: float, F: Float2D) -> None:
    """Fill the transition matrix F (2 n, 2 n) for the slopes A (n, 2 n) of the acceleration."""
    n = A.shape[0]
    F[:n], F[n:] = 0.5 * h * h * A, h * A
    for i in range(n):
        F[i, i] += 1.0
        F[i, n + i] += h
        F[n + i, n + i] += 1.0


@jit
def _add_input_noise(P: Float2D, G: Float2D, h: float) -> None:
    """Add the effect of white accelerations G w, w of variance 1, in a step to the covariance."""
    n = G.shape[0]
    for i in range(n):
        for j in range(n):
            q = 0.0
            for c in range(G.shape[1]):
                q += G[i, c] * G[j, c]
            P[i, j] += 0.25 * h**4 * q
            P[i, n + j] += 0.5 * h**3 * q
            P[n + i, j] += 0.5 * h**3 * q
            P[n + i, n + j] += h * h * q


@jit
def _update(P: Float2D, j: int, n: int, c: float, r: float, gain: Float1D) -> float:
    """Update P (d, d) by the position of joint j with variance r; return the innovation variance.

    Joseph's form (1 - K H) P (1 - K H)^T + r K K^T, exactly symmetric. Fills the gain K (d,).
    """
    d = P.shape[0]
    row = P[j] + c * P[n + j]
    s: float = row[j] + c * row[n + j] + r
    gain[:] = row / s
    for a in range(d):
        for b in range(a, d):
            P[a, b] += gain[a] * gain[b] * s - gain[a] * row[b] - row[a] * gain[b]
            P[b, a] = P[a, b]
    return s


@jit
def kalman_gains(
    A: Float,
    G: Float,
    h: float,
    c: float,
    r: Float1D,
    valid: Bool2D,
    P: Float2D,
    K: Float,
    s: Float2D,
) -> None:
    """Fill the gains K (N, 2 n, n) and variances s (N, n) of innovations of a Kalman filter.

    A (N, n, 2 n) are slopes of the acceleration, G (N, n, m) accelerations by one standard
    deviation of every noise, r (n,) variances of the positions. P (2 n, 2 n), the covariance before
    the first sample, becomes the covariance after the last.
    """
    N, n = s.shape
    F, gain = np.empty((2 * n, 2 * n)), np.empty(2 * n)
    for k in range(N):
        for j in range(n):
            s[k, j] = 1.0
            K[k, :, j] = 0.0
            if valid[k, j]:
                s[k, j] = _update(P, j, n, c, r[j], gain)
                K[k, :, j] = gain
        _transition(A[k], h, F)
        P[:] = F @ P @ F.T
        _add_input_noise(P, G[k], h)


@jit
def likelihood(
    A: Float,
    G: Float,
    h: float,
    c: float,
    r: Float1D,
    valid: Bool2D,
    P: Float2D,
    innovations: Float2D,
    gains: Float,
) -> float:
    """Compute twice the negative log-likelihood of positions, up to a constant.

    Arguments as for `kalman_gains`; `innovations` (N, n) are those of a prediction with different
    `gains` (N, 2 n, n). The innovations of the Kalman filter follow from them by the slopes.
    """
    N, n = innovations.shape
    F, gain, d = np.empty((2 * n, 2 * n)), np.empty(2 * n), np.zeros(2 * n)
    cost = 0.0
    for k in range(N):
        correction = np.zeros(2 * n)
        for j in range(n):
            for i in range(2 * n):
                correction[i] += gains[k, i, j] * innovations[k, j]
        # `before`: innovation of the other prediction without its corrections in this sample
        moved = np.zeros(2 * n)
        for j in range(n):
            if valid[k, j]:
                before = innovations[k, j] + moved[j] + c * moved[n + j]
                e = before - d[j] - c * d[n + j]
                s = _update(P, j, n, c, r[j], gain)
                cost += math.log(s) + e * e / s
                for i in range(2 * n):
                    d[i] += gain[i] * e
            for i in range(2 * n):
                moved[i] += gains[k, i, j] * innovations[k, j]
        _transition(A[k], h, F)
        d[:] = F @ (d - correction)
        P[:] = F @ P @ F.T
        _add_input_noise(P, G[k], h)
    return cost


@jit
def sensitivities(
    A: Float, B: Float, h: float, c: float, K: Float, valid: Bool2D, D: Float2D, psi: Float
) -> None:
    """Fill psi (N, n, b): derivatives of the predicted positions by the parameters.

    A (N, n, 2 n) and B (N, n, b) are slopes of the acceleration. D (2 n, b), the derivatives of the
    state before the first sample, become the derivatives after the last.
    """
    N, n, b = psi.shape
    a = np.empty(b)
    acceleration_slopes = np.empty((n, b))
    for k in range(N):
        for j in range(n):
            for p in range(b):
                psi[k, j, p] = D[j, p] + c * D[n + j, p] if valid[k, j] else 0.0
            for i in range(2 * n):
                for p in range(b):
                    D[i, p] -= K[k, i, j] * psi[k, j, p]
        for i in range(n):
            for p in range(b):
                a[p] = B[k, i, p]
            for m in range(2 * n):
                slope = A[k, i, m]
                for p in range(b):
                    a[p] += slope * D[m, p]
            for p in range(b):
                acceleration_slopes[i, p] = a[p]
        for i in range(n):
            for p in range(b):
                D[i, p] += h * D[n + i, p] + 0.5 * h * h * acceleration_slopes[i, p]
                D[n + i, p] += h * acceleration_slopes[i, p]


@jit
def propagate(P: Float2D, A: Float2D, B: Float2D, G: Float2D, h: float) -> None:
    """Propagate the covariance P (2 n + b, 2 n + b) of state and constant parameters, in place.

    A (n, 2 n) and B (n, b) are slopes of the acceleration, G (n, m) as for `kalman_gains`.
    """
    n, d = A.shape[0], P.shape[0]
    F = np.zeros((2 * n, d))
    _transition(A, h, F[:, : 2 * n])
    F[:n, 2 * n :], F[n:, 2 * n :] = 0.5 * h * h * B, h * B
    rows = F @ P
    corner = rows @ F.T
    P[: 2 * n, : 2 * n] = 0.5 * (corner + corner.T)
    P[: 2 * n, 2 * n :] = rows[:, 2 * n :]
    P[2 * n :, : 2 * n] = rows[:, 2 * n :].T
    _add_input_noise(P, G, h)


@jit
def update(
    x: Float1D, P: Float2D, z: Float1D, c: float, r: Float1D, valid: Bool1D, normalized: Float1D
) -> None:
    """Correct state, parameters and covariance by positions z (n,) of variance r (n,), in place.

    x (2 n + b,) holds the positions first. Fills the innovations over their standard deviations,
    shape (n,); those of invalid positions are zero.
    """
    n, gain = z.shape[0], np.empty(x.shape[0])
    for j in range(n):
        normalized[j] = 0.0
        if valid[j]:
            e = z[j] - x[j] - c * x[n + j]
            s = _update(P, j, n, c, r[j], gain)
            normalized[j] = e / math.sqrt(s)
            x += gain * e
