r"""The two-link arm with a load of Yan, Lu, Levy (2015): model, parameters, published settings.

The arm is driven by torques: in a numerical integration, and in the engine.

The arm moves in a vertical plane; q1 is the angle of the first link above the horizontal, q2 that
of the second relative to the first. Equations are those of [1]_; formulas that are illegible
(C, Y, e1) are derived from the Lagrangian.

References
----------
.. [1] Yan, Lu, Levy (2015), "Parameter identification of robot manipulators: a heuristic particle
   swarm search approach", PLoS ONE 10(6), e0129157, doi:10.1371/journal.pone.0129157.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import cos, sin
from typing import Any

import numpy as np

from robotid_sim.arrays import ArrayLike, Float1D, Float2D
from robotid_sim.engine.plant import Plant
from robotid_sim.experiment.rollout import rollout
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.joint import Friction
from robotid_sim.model.robot import Robot
from robotid_sim.optim.stability import pid_map, spectral_radius
from robotid_sim.papers.driving import FunctionPath, TorqueLaw
from robotid_sim.papers.sheet import read_settings
from robotid_sim.trajectory.reference import Reference

SETTINGS = read_settings(__file__)
PRINTED_PARAMETERS, LOWER, UPPER = (
    np.array(SETTINGS[name]) for name in ("parameters", "lower", "upper")
)
FITTED_RHOS, VALIDATED_RHOS = (
    tuple[float, ...](SETTINGS[name]) for name in ("fitted", "validated")
)
PARAMETER_NAMES = ("α", "β", "ε", "η")
POPULATION_SIZE = 20
"""Population of every search."""
TORQUE_AMPLITUDE = 0.1
"""Amplitude of both torques [N m]."""
STATE_COUNT = 1000
"""Number of random states in the test of the identity."""


@dataclass(frozen=True, slots=True)
class ArmDimensions:
    """Masses and lengths of the arm.

    Table 1 of [1]_ is illegible; these values give the printed lambda exactly.
    """

    m1: float = 1.0
    """Mass of the first link [kg]."""
    l1: float = 1.0
    """Length of the first link [m]."""
    lc1: float = 0.5
    """Distance of the first link's center of mass from the first joint [m]."""
    I1: float = 1.0 / 12.0
    """Inertia of the first link about its center of mass [kg m^2]."""
    me: float = 3.0
    """Mass of the second link with the load [kg]."""
    lce: float = 1.0
    """Distance of the center of mass of second link and load from the second joint [m]."""
    Ie: float = 0.4
    """Inertia of second link and load about their center of mass [kg m^2]."""
    delta_e: float = 0.0
    """Angle between the second link and the line to their center of mass [rad]."""
    g: float = 9.8
    """Gravity [m/s^2]; the paper prints no number."""

    @property
    def parameters(self) -> Float1D:
        r"""alpha, beta, epsilon, eta [kg m^2]: the barycentric parameters of [1]_.

        .. math::
            \alpha &= I_1 + m_1 l_{c1}^2 + I_e + m_e l_{ce}^2 + m_e l_1^2, \qquad
            \beta = I_e + m_e l_{ce}^2 \\
            \varepsilon &= m_e l_1 l_{ce} \cos\delta_e, \qquad
            \eta = m_e l_1 l_{ce} \sin\delta_e
        """
        beta = self.Ie + self.me * self.lce**2
        alpha = self.I1 + self.m1 * self.lc1**2 + beta + self.me * self.l1**2
        reach = self.me * self.l1 * self.lce
        return np.array([alpha, beta, reach * cos(self.delta_e), reach * sin(self.delta_e)])

    @property
    def e1(self) -> float:
        """m1 l1 lc1 - I1 - m1 lc1^2 [kg m^2], which is known; the paper's formula is illegible.

        The version in public code ends in l1^2. It contradicts the Lagrangian by
        g m1 (lc1^2 - l1^2) cos(q1) / l1.
        """
        return self.m1 * self.l1 * self.lc1 - self.I1 - self.m1 * self.lc1**2

    @property
    def e2(self) -> float:
        """Gravity over the length of the first link, g / l1 [1/s^2]."""
        return self.g / self.l1


PRINTED_ARM = ArmDimensions()
TRUE_PARAMETERS = PRINTED_ARM.parameters
"""alpha, beta, epsilon, eta [kg m^2], to all digits."""


def regressor(q: Float2D, dq: Float2D, ddq: Float2D) -> np.ndarray:
    r"""Compute Y, shape (N, 2, 4), with which the torque is linear in lambda, eq. (2) of [1]_.

    .. math:: \tau = Y(q, \dot q, \ddot q)\, \lambda + (e_1 e_2 \cos q_1,\ 0)^T

    The paper omits the second term, see `compute_known_torque`.
    """
    c1, c2, s2 = np.cos(q[:, 0]), np.cos(q[:, 1]), np.sin(q[:, 1])
    c12, s12 = np.cos(q.sum(axis=1)), np.sin(q.sum(axis=1))
    (d1, d2), (a1, a2), e2 = dq.T, ddq.T, PRINTED_ARM.e2
    bend = 2.0 * d1 * d2 + d2**2
    first = [
        a1 + e2 * c1,
        a2 - e2 * c1,
        c2 * (2.0 * a1 + a2) - s2 * bend + e2 * c12,
        s2 * (2.0 * a1 + a2) + c2 * bend + e2 * s12,
    ]
    second = [
        np.zeros_like(a1),
        a1 + a2,
        c2 * a1 + s2 * d1**2 + e2 * c12,
        s2 * a1 - c2 * d1**2 + e2 * s12,
    ]
    return np.stack([np.stack(first, axis=1), np.stack(second, axis=1)], axis=1)


def compute_known_torque(q: Float2D) -> Float2D:
    """Compute the part of the torque that does not depend on lambda [N m], shape (N, 2)."""
    first = PRINTED_ARM.e1 * PRINTED_ARM.e2 * np.cos(q[:, 0])
    return np.stack([first, np.zeros_like(first)], axis=1)


def mass_matrix(q: Float2D, parameters: ArrayLike = TRUE_PARAMETERS) -> np.ndarray:
    """Compute H of eq. (1) [kg m^2], shape (N, 2, 2)."""
    alpha, beta, epsilon, eta = np.asarray(parameters, dtype=float)
    bent = epsilon * np.cos(q[:, 1]) + eta * np.sin(q[:, 1])
    H = np.empty((len(q), 2, 2))
    H[:, 0, 0] = alpha + 2.0 * bent
    H[:, 0, 1] = H[:, 1, 0] = beta + bent
    H[:, 1, 1] = beta
    return H


def velocity_torque(q: Float2D, dq: Float2D, parameters: ArrayLike = TRUE_PARAMETERS) -> Float2D:
    """Compute C dq of eq. (1) [N m], shape (N, 2)."""
    _, _, epsilon, eta = np.asarray(parameters, dtype=float)
    h = eta * np.cos(q[:, 1]) - epsilon * np.sin(q[:, 1])
    d1, d2 = dq.T
    return np.stack([h * (2.0 * d1 * d2 + d2**2), -h * d1**2], axis=1)


def gravity_torque(q: Float2D, parameters: ArrayLike = TRUE_PARAMETERS) -> Float2D:
    """Compute G of eq. (1) [N m], shape (N, 2)."""
    alpha, beta, epsilon, eta = np.asarray(parameters, dtype=float)
    both = q.sum(axis=1)
    second = PRINTED_ARM.e2 * (epsilon * np.cos(both) + eta * np.sin(both))
    first = second + (alpha - beta + PRINTED_ARM.e1) * PRINTED_ARM.e2 * np.cos(q[:, 0])
    return np.stack([first, second], axis=1)


def torque(q: Float2D, dq: Float2D, ddq: Float2D) -> Float2D:
    """Compute H ddq + C dq + G of the true arm, eq. (1) [N m], shape (N, 2)."""
    inertial = np.einsum("nij,nj->ni", mass_matrix(q), ddq)
    return np.asarray(inertial + velocity_torque(q, dq) + gravity_torque(q))


def reference_torque(rho: ArrayLike, t: ArrayLike) -> np.ndarray:
    """Compute the torques 0.1 sin(2 rho pi t), 0.1 cos(2 rho pi t) [N m], shape (..., 2)."""
    angle = 2.0 * np.pi * np.asarray(rho) * np.asarray(t)
    return TORQUE_AMPLITUDE * np.stack([np.sin(angle), np.cos(angle)], axis=-1)


START_POSE = (-np.pi / 2.0, 0.0)
"""Start pose at rest [rad], not printed; from the horizontal the arm would fall freely."""
DURATION, STEP = 10.0, 0.01  # [s]; neither is printed
ENGINE_STEP = 1e-3
"""Control step in the engine [s], in which the torque is constant."""


@dataclass(frozen=True, slots=True, eq=False)
class DrivenRun:
    """Motion and torque of a run, sampled at equal steps."""

    t: Float1D
    """Time [s], shape (N,)."""
    q: Float2D
    dq: Float2D
    ddq: Float2D
    tau: Float2D
    """Torque of the drives [N m], shape (N, 2)."""

    def regressor(self) -> Float2D:
        """Return the stacked regressor, shape (2 N, 4), rows sample-major."""
        return regressor(self.q, self.dq, self.ddq).reshape(-1, 4)

    def target(self) -> Float1D:
        """Return the torque that the regressor times lambda must equal [N m], shape (2 N,).

        It is the torque minus the part that does not depend on lambda, which the paper omits.
        """
        return np.asarray((self.tau - compute_known_torque(self.q)).ravel())


def integrate(rhos: Sequence[float]) -> list[DrivenRun]:
    """Integrate the motions under the reference torques, by Runge-Kutta steps of fourth order.

    Torques and accelerations of a sample satisfy the equation of motion to rounding for any step,
    so that the data of the identification are exact. All frequencies [Hz] are integrated at once.
    """
    rates = np.asarray(rhos, dtype=float)
    count, h = round(DURATION / STEP) + 1, STEP
    q, dq = np.tile(START_POSE, (rates.size, 1)), np.zeros((rates.size, 2))
    samples = np.empty((count, 3, rates.size, 2))
    for k in range(count):
        t = k * h
        a1 = _acceleration(rates, t, q, dq)
        samples[k] = q, dq, a1
        a2 = _acceleration(rates, t + h / 2.0, q + h / 2.0 * dq, dq + h / 2.0 * a1)
        v3 = dq + h / 2.0 * a2
        a3 = _acceleration(rates, t + h / 2.0, q + h / 2.0 * (dq + h / 2.0 * a1), v3)
        a4 = _acceleration(rates, t + h, q + h * v3, dq + h * a3)
        q = q + h * dq + h * h / 6.0 * (a1 + a2 + a3)
        dq = dq + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
    times = STEP * np.arange(count)
    return [
        DrivenRun(times, q, dq, ddq, reference_torque(rho, times))
        for rho, (q, dq, ddq) in zip(rhos, samples.transpose(2, 1, 0, 3), strict=True)
    ]


def _acceleration(rates: Float1D, t: float, q: Float2D, dq: Float2D) -> Float2D:
    bias = velocity_torque(q, dq) + gravity_torque(q)
    driving = reference_torque(rates, t) - bias
    return np.asarray(np.linalg.solve(mass_matrix(q), driving[..., None])[..., 0])


def paper_robot() -> Robot:
    """Build the arm of the paper from the catalog: no friction, gravity 9.8 m/s^2."""
    arm = load_robot("twolink")
    joints = tuple(replace(j, friction=Friction(eps=j.friction.eps)) for j in arm.joints)
    return replace(arm, joints=joints, gravity=np.array([0.0, 0.0, -PRINTED_ARM.g]))


def _hold_start_pose(t: Float1D) -> Reference:
    still = np.zeros((t.size, 2))
    return Reference(still + START_POSE, still, still)


def drive_in_engine(rho: float, robot: Robot | None = None) -> DrivenRun:
    """Run an arm, by default that of the paper, under the reference torques, sampled every `STEP`.

    Positions, velocities, accelerations and torques satisfy the equation of motion in the step of
    the engine, without sensors.
    """
    robot = robot or paper_robot()
    with Plant(robot, dt=ENGINE_STEP) as plant:
        # A constant torque acts later than its command, on average. The path is only the start
        # pose; it is not tracked.
        lead = plant.torque_time_offset
        law = TorqueLaw(lambda t, *_: np.asarray(reference_torque(rho, t + lead)))
        log = rollout(plant, law, FunctionPath(robot.joint_names, _hold_start_pose, DURATION))
    assert log.truth is not None
    stride, truth = round(STEP / ENGINE_STEP), log.truth
    return DrivenRun(*(x[::stride] for x in (log.t, truth.q, truth.dq, truth.ddq, truth.tau)))


GAIN_SETS = ((1.0, 0.05, 0.1), (1.0, 0.1, 0.1), (0.5, 0.1, 0.1), (1.0, 0.3, 0.3), (1.0, 0.5, 0.5))
"""Sets of kp, ki, kd; the first set is chosen here, as eq. (22)-(24) are illegible."""
INERTIA_WEIGHTS = (0.9, 0.65, 0.4)
"""Inertia weights of eq. (25): at the start, in the middle, at the end."""
ATTRACTION_VALUES = tuple(np.linspace(0.05, 2.0, 40).tolist())
"""Values of the attraction f in the particle update, whose mean over a run is at most 2."""
Gains = tuple[float, float, float]


def polynomial(gains: Gains, w: float, f: float) -> tuple[float, float, float, float]:
    """Return the coefficients of eq. (16), the highest power first."""
    kp, ki, kd = gains
    return 1.0 + f * kd, 1.0 - w + f * kp + f * kd, f * (kp + ki), f * ki


def is_routh_hurwitz_stable(gains: Gains, w: float, f: float) -> bool:
    """Check eq. (17), all coefficients positive, and eq. (18)."""
    a3, a2, a1, a0 = polynomial(gains, w, f)
    return min(a3, a2, a1, a0) > 0.0 and a2 * a1 > a3 * a0


def largest_real_part(gains: Gains, w: float, f: float) -> float:
    """Compute the largest real part of the roots of eq. (16), negative if it is stable."""
    return float(np.roots(polynomial(gains, w, f)).real.max())


def radius(gains: Gains, w: float, f: float) -> float:
    """Compute the spectral radius of eq. (5) and (21) with a deterministic attraction f."""
    return spectral_radius(pid_map(w, 2.0 * f, 0.0, *gains).mean())


def all_gains() -> Iterator[dict[str, Any]]:
    """Yield both stability analyses of every set of gains and inertia weight, at the worst f.

    They are the conditions of eq. (17)-(18) for every f, the largest real part of the roots of
    eq. (16), and the largest spectral radius of the update, which diverges above 1.
    """
    for gains, w in product(GAIN_SETS, INERTIA_WEIGHTS):
        yield {
            "gains": gains,
            "w": w,
            "routh_hurwitz": all(is_routh_hurwitz_stable(gains, w, f) for f in ATTRACTION_VALUES),
            "real_part": max(largest_real_part(gains, w, f) for f in ATTRACTION_VALUES),
            "radius": max(radius(gains, w, f) for f in ATTRACTION_VALUES),
        }


def identity_errors() -> tuple[float, float]:
    """Compute the largest error of Y lambda, with and without the known torque [N m].

    The states are random, with angles up to 3 rad, 3 rad/s and 3 rad/s^2.
    """
    q, dq, ddq = np.random.default_rng(0).uniform(-3.0, 3.0, (3, STATE_COUNT, 2))
    printed = torque(q, dq, ddq) - regressor(q, dq, ddq) @ TRUE_PARAMETERS
    corrected = printed - compute_known_torque(q)
    return float(np.abs(corrected).max()), float(np.abs(printed).max())
