"""The two-link identification problem of Yan, Lu, Levy (2015), doi:10.1371/journal.pone.0129157.

The arm hangs at rest and is driven by small sinusoidal torques. Torque and motion are exact, so
that the cost is a quadratic form whose minimum, zero, is at the true parameters. Start, duration
and step are not in the paper. One parameter is zero, on the edge of the box.
"""

import numpy as np

TRUE = np.array([6.7333, 3.4, 3.0, 0.0])
"""alpha, beta, epsilon, eta [kg m^2]."""
LOWER, UPPER = np.zeros(4), np.array([10.0, 5.0, 5.0, 5.0])
E1, E2 = 1.0 / 6.0, 9.8
"""Known constants of the first link, m1 l1 lc1 - I1 - m1 lc1^2 and g / l1."""
FREQUENCIES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""rho [Hz] of the five trajectories."""
STEP, SAMPLES = 0.01, 1001


def regressor(q, dq, ddq):
    """Return Y, (2, 4), with Y @ lambda + [E1 E2 cos q1, 0] the torque."""
    c1, c2, s2 = np.cos(q[0]), np.cos(q[1]), np.sin(q[1])
    c12, s12 = np.cos(q[0] + q[1]), np.sin(q[0] + q[1])
    (d1, d2), (a1, a2) = dq, ddq
    bend = 2.0 * d1 * d2 + d2**2
    return np.array(
        [
            [
                a1 + E2 * c1,
                a2 - E2 * c1,
                c2 * (2.0 * a1 + a2) - s2 * bend + E2 * c12,
                s2 * (2.0 * a1 + a2) + c2 * bend + E2 * s12,
            ],
            [0.0, a1 + a2, c2 * a1 + s2 * d1**2 + E2 * c12, s2 * a1 - c2 * d1**2 + E2 * s12],
        ]
    )


def known_torque(q):
    return np.array([E1 * E2 * np.cos(q[0]), 0.0])


def torque_at(rho, t):
    angle = 2.0 * np.pi * rho * t
    return 0.1 * np.array([np.sin(angle), np.cos(angle)])


def acceleration(t, state, rho):
    q, dq = state[:2], state[2:]
    bias = regressor(q, dq, np.zeros(2)) @ TRUE + known_torque(q)
    columns = [regressor(q, np.zeros(2), unit) for unit in np.eye(2)]
    static = regressor(q, np.zeros(2), np.zeros(2))
    mass = np.column_stack([(column - static) @ TRUE for column in columns])
    return np.linalg.solve(mass, torque_at(rho, t) - bias)


def simulate(rho):
    """Return the stacked regressor, (2 N, 4), along the motion from rest, by Runge-Kutta steps."""

    def slope(t, state):
        return np.concatenate([state[2:], acceleration(t, state, rho)])

    state, rows = np.array([-np.pi / 2.0, 0.0, 0.0, 0.0]), []
    for k in range(SAMPLES):
        t = k * STEP
        one = slope(t, state)
        rows.append(regressor(state[:2], state[2:], one[2:]))
        two = slope(t + STEP / 2.0, state + STEP / 2.0 * one)
        three = slope(t + STEP / 2.0, state + STEP / 2.0 * two)
        four = slope(t + STEP, state + STEP * three)
        state = state + STEP / 6.0 * (one + 2.0 * two + 2.0 * three + four)
    return np.concatenate(rows)


def cost_of(rho):
    """Return the mean squared torque error of parameters (m, 4), through one QR factor."""
    R = np.linalg.qr(simulate(rho), mode="r") / np.sqrt(SAMPLES)

    def cost(X):
        return np.sum(((X - TRUE) @ R.T) ** 2, axis=1)

    return cost
