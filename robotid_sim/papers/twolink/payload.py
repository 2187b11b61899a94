"""The arm with another payload: the load is changed in the engine, and the arm identified anew."""

from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.papers.twolink import model
from robotid_sim.papers.twolink.criterion import TorqueCriterion, mean_squared_error
from robotid_sim.papers.twolink.motion import Driven, drive_in_engine, paper_robot
from robotid_sim.papers.twolink.trials import with_torque_noise

LOADS = {"1 kg": (1.0, 0.0), "1 kg, 0.3 m below": (1.0, 0.3)}
"""Mass added at the end of the second link [kg], and its distance below that end [m]."""
REACH = 1.0
"""Distance of that end from the second joint [m]."""


def loaded_parameters(mass: float, below: float) -> Float1D:
    """Return lambda of the arm with a point mass more at its end, shape (4,) [kg m^2]."""
    l1 = model.ARM.l1
    square = mass * (REACH**2 + below**2)
    added = (square + mass * l1**2, square, mass * l1 * REACH, mass * l1 * below)
    return np.asarray(model.TRUE + added)


def loaded_run(mass: float, below: float, rho: float, seed: int) -> dict[str, Any]:
    """Drive the arm with a changed payload in the engine, and return the criterion of its data.

    Torques are noisy as in `trials.engine_run`. Beside it stand the torque error of the parameters
    before the change, and of the true ones.
    """
    run = drive_loaded(mass, below, rho)
    noisy = with_torque_noise(run, rho, seed)
    true = loaded_parameters(mass, below)
    return {
        "criterion": TorqueCriterion.of_run(noisy).content(),
        "true": true.tolist(),
        "residual": float(np.abs(run.target() - run.regressor() @ true).max()),
        "rms_before": float(np.sqrt(mean_squared_error(run, model.TRUE))),
    }


def drive_loaded(mass: float, below: float, rho: float) -> Driven:
    """Return the run of the arm with a payload more under the reference torques in the engine."""
    return drive_in_engine(rho, paper_robot().with_payload(mass, (0.0, 0.0, -below)))
