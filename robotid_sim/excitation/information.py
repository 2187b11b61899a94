"""What an excitation promises: the accuracy of the parameters before any measurement."""

from collections.abc import Sequence

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.excitation.criteria import FLOOR, NOISE_SHARE
from robotid_sim.excitation.design import base_regressor, torque_scale
from robotid_sim.excitation.prior import Prior
from robotid_sim.excitation.space import ExcitationFamily
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.reference import Excitation, run_time

SAMPLES = 500
"""Points of a period that the information is averaged over."""


def assumed_noise(nominal: Robot, trajectory: Excitation) -> Float1D:
    """Return 1 % of the RMS of the nominal torques on a trajectory [N m], shape (n,)."""
    rms = np.sqrt(_mean_squared_torque(nominal, trajectory))
    floor = 1e-3 * max(float(rms.max()), np.finfo(float).tiny)  # of a joint that needs no torque
    return np.asarray(NOISE_SHARE * np.maximum(rms, floor))


def design_noise(nominal: Robot, trajectory: Excitation, floor: float = FLOOR) -> Float1D:
    """Return the torque noise that criteria assume on a trajectory [N m], shape (n,).

    One percent of the root of the mean squared nominal torque plus that of the joint's torque scale
    times `floor`: see `Criterion`. It is larger than `assumed_noise`, which has no such floor.
    """
    variance = _mean_squared_torque(nominal, trajectory) + (floor * torque_scale(nominal)) ** 2
    return np.asarray(NOISE_SHARE * np.sqrt(variance))


def log_samples(family: ExcitationFamily, dt: float) -> float:
    """Return how many samples of a log are used: all periods but the first, or the only one.

    Preprocessing discards the first period.
    """
    return max(family.periods - 1, 1) * family.period / dt


def samples_of(trajectory: Excitation, dt: float) -> float:
    """Return how many samples of a trajectory's log are used; see `log_samples`."""
    run = run_time(trajectory)
    whole = float(getattr(trajectory, "motion", trajectory).duration)
    return max(whole - run, run) / dt


def planned_information(
    nominal: Robot,
    basis: BaseParameters,
    trajectories: Sequence[Excitation],
    *,
    noise_std: Float1D | None = None,
    floor: float = FLOOR,
    dt: float = 1e-3,
) -> Prior:
    r"""Return the information that the logs of trajectories have: :math:`\sum W^T \Sigma^{-1} W`.

    For exactly known motion and white torque noise, over `log_samples` samples of each
    trajectory. It is the prior for the design of the next one. The noise of every joint [N m],
    shape (n,), is by default the `design_noise` of each trajectory with its `floor`; dt [s] is
    the time between the samples of the logs. No trajectories give a prior of no data.
    """
    rows = [np.zeros((1, basis.rank))]
    for trajectory in trajectories:
        noise = design_noise(nominal, trajectory, floor) if noise_std is None else noise_std
        W = base_regressor(nominal, basis, trajectory, _one_period(trajectory))
        each = np.sqrt(samples_of(trajectory, dt) / SAMPLES)
        rows.append((each * W / np.asarray(noise)[:, None]).reshape(-1, basis.rank))
    return Prior.of_rows(np.vstack(rows), np.ones(1))


def expected_std(
    nominal: Robot,
    basis: BaseParameters,
    trajectory: Excitation,
    noise_std: Float1D | None = None,
    dt: float = 1e-3,
) -> Float1D:
    r"""Return the standard deviation that every base parameter will have, shape (b,).

    The Cramér-Rao bound :math:`\sqrt{\operatorname{diag} (W^T \Sigma^{-1} W)^{-1}}` of
    `planned_information`.

    Parameters
    ----------
    nominal : Robot
        Model that gives the regressor.
    basis : BaseParameters
        The parameters.
    trajectory : Excitation
        The excitation.
    noise_std : ndarray, shape (n,), optional
        Torque noise of every joint [N m]; default `assumed_noise`.
    dt : float
        Time between the samples of the log [s].

    Returns
    -------
    std : ndarray, shape (b,)
        In the units of the base parameters; infinite if the motion does not determine them.
    """
    noise = assumed_noise(nominal, trajectory) if noise_std is None else noise_std
    return planned_information(nominal, basis, [trajectory], noise_std=noise, dt=dt).std


def _mean_squared_torque(nominal: Robot, trajectory: Excitation) -> Float1D:
    reference = trajectory(_one_period(trajectory))
    tau = joint_torque(nominal, reference.q, reference.dq, reference.ddq)
    return np.asarray((tau**2).mean(axis=0))


def _one_period(trajectory: Excitation) -> Float1D:
    return np.asarray(np.arange(SAMPLES) * run_time(trajectory) / SAMPLES)
