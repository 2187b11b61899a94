"""What an excitation promises: the accuracy of the parameters before any measurement."""

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.design import base_regressor
from robotid_sim.trajectory.fourier import FourierTrajectory

NOISE_SHARE = 0.01
"""Assumed torque noise over the RMS torque."""

SAMPLES = 500
"""Points of a period that the information is averaged over."""


def assumed_noise(nominal: Robot, trajectory: FourierTrajectory) -> Float1D:
    """Return 1 % of the RMS of the nominal torques on a trajectory [N m], shape (n,)."""
    reference = trajectory(_one_period(trajectory))
    tau = joint_torque(nominal, reference.q, reference.dq, reference.ddq)
    rms = np.sqrt((tau**2).mean(axis=0))
    floor = 1e-3 * max(float(rms.max()), np.finfo(float).tiny)  # of a joint that needs no torque
    return np.asarray(NOISE_SHARE * np.maximum(rms, floor))


def expected_std(
    nominal: Robot,
    basis: BaseParameters,
    trajectory: FourierTrajectory,
    noise_std: Float1D | None = None,
    dt: float = 1e-3,
) -> Float1D:
    r"""Return the standard deviation that every base parameter will have, shape (b,).

    The Cramér-Rao bound :math:`\sqrt{\operatorname{diag} (W^T \Sigma^{-1} W)^{-1}}` for exactly
    known motion and white torque noise, over all periods but the first, which preprocessing
    discards, or over the only one.

    Parameters
    ----------
    nominal : Robot
        Model that gives the regressor.
    basis : BaseParameters
        The parameters.
    trajectory : FourierTrajectory
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
    noise = assumed_noise(nominal, trajectory) if noise_std is None else np.asarray(noise_std)
    W = base_regressor(nominal, basis, trajectory, _one_period(trajectory)) / noise[:, None]
    R = np.linalg.qr(W.reshape(-1, basis.rank), mode="r")
    size = np.abs(np.diag(R))
    if not size.min() > np.finfo(float).eps * size.max():
        return np.full(basis.rank, np.inf)
    samples = max(trajectory.periods - 1, 1) * trajectory.base_period / dt
    per_sample = np.linalg.norm(np.linalg.inv(R), axis=1) * np.sqrt(SAMPLES)
    return np.asarray(per_sample / np.sqrt(samples))


def _one_period(trajectory: FourierTrajectory) -> Float1D:
    return np.asarray(np.arange(SAMPLES) * trajectory.base_period / SAMPLES)
