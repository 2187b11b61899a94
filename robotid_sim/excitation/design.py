"""Excitation design: motions that make the parameters identifiable within the limits."""

from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import Float, Float1D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.dynamics.dynamics import joint_torque, torque_regressor
from robotid_sim.errors import InfeasibleError, OptionError
from robotid_sim.excitation.criteria import Criterion, DOptimality
from robotid_sim.excitation.space import FourierOptions, add_approach
from robotid_sim.model.robot import Robot
from robotid_sim.progress import Progress, silent
from robotid_sim.threads import one_blas_thread
from robotid_sim.trajectory.fourier import (
    FourierTrajectory,
    fourier_basis,
    fourier_jerk_basis,
    rest_basis,
)
from robotid_sim.trajectory.reference import Trajectory

SHRINK_FACTOR = 0.85
MAX_ATTEMPTS = 16
"""A candidate with excessive torque is scaled by SHRINK_FACTOR up to MAX_ATTEMPTS times, then
dropped."""

MAX_DROPPED_DRAWS = 50
"""Consecutive dropped draws before draws become smaller; after as many again the search fails."""

REGRESSOR_SAMPLES = 100
"""Samples of a period for criteria.

For 5 harmonics the condition number is exact to 1e-9 without Coulomb friction, and to a few percent
with it: its reversals are shorter than a sample."""


@dataclass(frozen=True, slots=True)
class ExcitationQuality:
    """Excitation of a model by a trajectory, and use of the limits."""

    log_det: float
    """log det(W^T S^-1 W / N) of N samples, the D-optimality criterion."""
    cond_raw: float
    """Condition number of the base regressor W."""
    cond_normalized: float
    """Condition number of W with columns of unit length."""
    position_ratio: float
    """Largest distance from the middle of the range over half the range."""
    velocity_ratio: float
    acceleration_ratio: float
    torque_ratio: float
    """Largest torque of the model over the limit; 0 without limits."""


@one_blas_thread()
def random_design(
    nominal: Robot,
    basis: BaseParameters,
    rng: np.random.Generator,
    *,
    options: FourierOptions | None = None,
    candidates: int = 200,
    progress: Progress = silent,
) -> FourierTrajectory:
    """Select the best of many random feasible Fourier series by D-optimality.

    Parameters and exceptions are as in `random_designs`.

    Parameters
    ----------
    nominal : Robot
        Limits, torques and regressor.
    basis : BaseParameters
        Base parameters to identify.
    rng : numpy.random.Generator
        Source of the draws.
    options : FourierOptions, optional
        Harmonics, periods, margins.
    candidates : int
        Number of draws.
    progress : callable
        Called with the stage and the share done.

    Returns
    -------
    trajectory : FourierTrajectory
        The best series.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> setup = rid.build_setup("twolink", rid.StudyConfig().quick())
    >>> nominal, basis = setup.nominal, setup.basis
    >>> rng = np.random.default_rng(0)
    >>> path = rid.random_design(nominal, basis, rng, candidates=5)
    >>> round(path.duration, 1)
    30.0
    """
    options = options or FourierOptions()
    return random_designs(
        nominal, basis, rng, options=options, candidates=candidates, progress=progress
    )[0].trajectory


@dataclass(frozen=True, slots=True, eq=False)
class RandomDesign:
    """A random feasible trajectory and its criterion."""

    trajectory: FourierTrajectory
    value: float


def random_designs(
    nominal: Robot,
    basis: BaseParameters,
    rng: np.random.Generator,
    *,
    options: FourierOptions,
    criterion: Criterion | None = None,
    candidates: int = 200,
    progress: Progress = silent,
) -> list[RandomDesign]:
    """Draw random feasible Fourier series, ordered by a criterion.

    The criterion is by default D-optimality. Raises `OptionError` if there is no candidate, and
    `InfeasibleError` if no draw satisfies the limits; the text names the joint that failed most.
    """
    if candidates < 1:
        raise OptionError(f"a design needs at least 1 candidate, got {candidates}")
    criterion = (criterion or DOptimality()).set_nominal(basis.project(nominal.parameters()))
    scale = torque_scale(nominal)
    drawn = []
    for k in range(candidates):
        trajectory = random_feasible(nominal, rng, options)
        W = base_regressor(nominal, basis, trajectory, _grid(trajectory, REGRESSOR_SAMPLES))
        drawn.append(RandomDesign(trajectory, criterion(W, scale)[0]))
        progress("design", (k + 1) / candidates)
    return sorted(drawn, key=lambda design: design.value)


def random_feasible(
    nominal: Robot, rng: np.random.Generator, options: FourierOptions
) -> FourierTrajectory:
    """Draw one random Fourier series within position, velocity, acceleration and torque limits.

    It includes the approach from home. Raises `InfeasibleError` if all draws need too much torque.
    """
    worst = np.zeros(nominal.dof)
    for k in range(2 * MAX_DROPPED_DRAWS):
        trajectory = _draw(nominal, rng, options)
        for _ in range(MAX_ATTEMPTS if k < MAX_DROPPED_DRAWS else 2 * MAX_ATTEMPTS):
            ratio = torque_ratios(nominal, trajectory)
            if ratio.max() <= options.torque_ratio:
                return trajectory
            # Toward the home pose the motion stays within convex limits.
            q0 = nominal.home + SHRINK_FACTOR * (trajectory.q0 - nominal.home)
            a, b = SHRINK_FACTOR * trajectory.a, SHRINK_FACTOR * trajectory.b
            trajectory = add_approach(nominal, q0, a, b, options)
        worst = np.maximum(worst, ratio)
    joint = nominal.joint_names[int(worst.argmax())]
    raise InfeasibleError(
        f"the torque of joint '{joint}' exceeds {options.torque_ratio:.0%} of its limit "
        f"({worst.max():.0%} for a small motion); raise the effort limit or lower the payload"
    )


def default_path(robot: Robot) -> FourierTrajectory:
    """Return a fixed excitation that depends on kinematics and limits only, one period.

    It gives the common reference torque for all models of the same robot.
    """
    rng = np.random.default_rng(int(robot.fingerprint()[:16], 16))
    return _draw(robot, rng, FourierOptions(periods=1))


def torque_scale(robot: Robot) -> Float1D:
    """Return the RMS torque of every joint on the default path [N m], shape (n,), above zero."""
    path = default_path(robot)
    reference = path(_grid(path, 500))
    tau = joint_torque(robot, reference.q, reference.dq, reference.ddq)
    rms = np.sqrt((tau**2).mean(axis=0))
    return np.asarray(np.maximum(rms, 1e-3 * max(rms.max(), np.finfo(float).tiny)))


def excitation_quality(
    robot: Robot, basis: BaseParameters, trajectory: Trajectory, samples: int = 2000
) -> ExcitationQuality:
    """Return criterion, condition numbers and use of the limits, 1 at a limit, on a dense grid.

    The regressor covers the trajectory after time zero, the limits cover all of it.
    """
    period = trajectory.period or trajectory.duration
    W = base_regressor(robot, basis, trajectory, np.linspace(0.0, period, 500, endpoint=False))
    reference = trajectory(np.linspace(trajectory.start, trajectory.duration, samples))
    limits = robot.limits
    tau = joint_torque(robot, reference.q, reference.dq, reference.ddq)
    flat = W.reshape(-1, basis.rank)
    columns = np.linalg.norm(flat, axis=0)
    return ExcitationQuality(
        log_det=-DOptimality().set_nominal(basis.project(robot.parameters()))(
            W, torque_scale(robot)
        )[0],
        cond_raw=float(np.linalg.cond(flat)),
        cond_normalized=float(np.linalg.cond(flat / np.where(columns > 0.0, columns, 1.0))),
        position_ratio=float((np.abs(reference.q - limits.middle) / limits.half_range).max()),
        velocity_ratio=float((np.abs(reference.dq) / limits.velocity).max()),
        acceleration_ratio=float((np.abs(reference.ddq) / limits.acceleration).max()),
        torque_ratio=float((np.abs(tau) / limits.effort).max()),
    )


def _draw(robot: Robot, rng: np.random.Generator, options: FourierOptions) -> FourierTrajectory:
    """Return a random series scaled to the kinematic limits of every joint."""
    H, limits = options.harmonics, robot.limits
    free = rest_basis(H)
    coefficients = free @ rng.standard_normal((free.shape[1], robot.dof))
    samples = 40 * H
    t = np.arange(samples) * options.period / samples
    # Maximum of a trigonometric polynomial over its maximum on the grid.
    bound = 1.0 / np.cos(np.pi * H / samples)
    q, dq, ddq = (part @ coefficients for part in fourier_basis(t, H, options.period))
    middle, half = 0.5 * (q.max(axis=0) + q.min(axis=0)), 0.5 * bound * np.ptp(q, axis=0)
    room = options.margin * limits.half_range
    allowed = [
        room / half,
        options.margin * limits.velocity / (bound * np.abs(dq).max(axis=0)),
        options.margin * limits.acceleration / (bound * np.abs(ddq).max(axis=0)),
    ]
    scale = options.amplitude * np.min(allowed, axis=0)
    if options.jerk is not None:
        jerk = fourier_jerk_basis(t, H, options.period) @ coefficients
        scale = np.minimum(scale, options.margin * options.jerk / (bound * np.abs(jerk).max(0)))
    slack = np.maximum(room - scale * half, 0.0)
    q0 = limits.middle + rng.uniform(-1.0, 1.0, robot.dof) * slack - scale * middle
    a, b = np.split((coefficients * scale).T, 2, axis=1)
    return add_approach(robot, q0, a, b, options)


def _grid(trajectory: FourierTrajectory, samples: int) -> Float1D:
    return np.asarray(np.arange(samples) * trajectory.base_period / samples)


def torque_ratios(robot: Robot, trajectory: FourierTrajectory, samples: int = 400) -> Float1D:
    """Return the largest torque of every joint over its limit, shape (n,), approach included."""
    lead = np.linspace(trajectory.start, 0.0, samples // 8)
    t = np.concatenate([lead, _grid(trajectory, samples)])
    reference = trajectory(t)
    tau = joint_torque(robot, reference.q, reference.dq, reference.ddq)
    return np.asarray((np.abs(tau) / robot.limits.effort).max(axis=0))


def base_regressor(
    robot: Robot, basis: BaseParameters, trajectory: Trajectory, t: Float1D
) -> Float:
    """Return the base columns of the regressor at times t [s] of a trajectory, shape (N, n, b)."""
    reference = trajectory(t)
    return torque_regressor(robot, reference.q, reference.dq, reference.ddq, basis.columns)
