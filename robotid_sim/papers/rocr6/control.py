"""What the identified models are worth to a controller: tracking in the engine."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.model.catalog import published_plant
from robotid_sim.model.robot import Robot
from robotid_sim.papers.driving import drive
from robotid_sim.papers.rocr6 import cell
from robotid_sim.papers.rocr6.excitation import nominal_six, trajectory_of
from robotid_sim.papers.rocr6.model import ROBOT
from robotid_sim.trajectory.fourier import FourierTrajectory
from robotid_sim.trajectory.reference import Reference
from robotid_sim.validation.prediction import rms

TRACKED = 4.0
"""Part of the verification trajectory that is tracked [s], after it has started from rest."""
GAINS = (400.0, 40.0)
"""Gains of the computed torque, kp and kd [1/s^2, 1/s]: 20 rad/s, so that the model matters."""
SHOWN = 5
"""Every so many samples of a drawn error are kept."""


@dataclass(frozen=True)
class Beginning:
    """The first part of a trajectory."""

    whole: FourierTrajectory
    duration: float
    """Where it ends [s]."""
    period: float | None = None

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints."""
        return self.whole.joint_names

    @property
    def start(self) -> float:
        """Where it starts [s]."""
        return self.whole.start

    def __call__(self, t: Float1D) -> Reference:
        """Return the reference at times."""
        return self.whole(t)


def track(
    estimates: Mapping[str, list[float]], verification: Mapping[str, Any], seed: int, run: int
) -> dict[str, Any]:
    """Track an unseen trajectory with estimated base parameters of one run inside the controller.

    Computed torque with the same gains for all models; the plant is the true robot. An empty
    estimate stands for the nominal model, and with ``true`` it has the plant's own.
    """
    plant, nominal = published_plant(ROBOT), nominal_six(seed)
    basis = base_parameters(nominal, cell.PARAMETERS)
    path = Beginning(trajectory_of(verification), TRACKED)
    phi = nominal.parameters()
    models = {
        name: nominal.with_parameters(basis.completed(np.array(beta), phi), formal=True)
        if beta
        else {"true": plant}.get(name, nominal)
        for name, beta in estimates.items()
    }
    runs = {name: tracked(plant, model, path) for name, model in models.items()}
    if run > 0:
        for result in runs.values():
            del result["curve"]
    return {"methods": runs}


def tracked(plant: Robot, model: Robot, path: Beginning) -> dict[str, Any]:
    """Return how well a controller with a model tracks a path: errors by joint [rad]."""
    log = drive(plant, path, cell.RATE, ComputedTorque(model, *GAINS))
    truth = log.truth
    assert truth is not None
    later = log.t >= 0.0
    error = (truth.q - path(log.t).q)[later]
    rate = np.diff(truth.tau[later], axis=0) * cell.RATE
    return {
        "rms": rms(error).tolist(),
        "largest": np.abs(error).max(axis=0).tolist(),
        "torque_rate": rms(rate).tolist(),
        "curve": np.round(1e3 * error[::SHOWN], 6).T.tolist(),
    }
