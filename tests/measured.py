"""A measured log of a robot on a Fourier series that it follows exactly, made without an engine."""

from dataclasses import dataclass, replace

import numpy as np

from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.excitation.design import random_design
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.measurement import SENSORS
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.sensors import measure
from robotid_sim.model.perturb import perturb
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.reference import Excitation

RATE = 250.0
PERIOD, PERIODS = 8.0, 3


@dataclass(frozen=True)
class Measured:
    """A plant, what is known of it, its motion and a log with noise."""

    plant: Robot
    nominal: Robot
    basis: BaseParameters
    path: Excitation
    state: tuple[np.ndarray, np.ndarray, np.ndarray]
    log: Log

    def changed(self, **channels) -> Log:
        """Return the log with other channels."""
        return replace(self.log, **channels)

    def of(self, tau: np.ndarray, seed: int = 1) -> Log:
        """Return the log of another torque along the same motion."""
        clean = replace(self.log, q=self.state[0], tau_meas=tau)
        return measure(clean, sensors(), np.random.default_rng(seed))


def sensors():
    return (SENSORS.build("encoder-noise", revolute=2e-5), SENSORS.build("torque-noise"))


def measured(plant: Robot) -> Measured:
    nominal = perturb(plant, np.random.default_rng(0))
    basis = base_parameters(nominal)
    options = FourierOptions(period=PERIOD, periods=PERIODS)
    path = random_design(nominal, basis, np.random.default_rng(2), options=options, candidates=20)
    t = np.arange(round(PERIOD * PERIODS * RATE)) / RATE
    at = path(t)
    state = (at.q, at.dq, at.ddq)
    clean = Log(
        t=t,
        q=at.q,
        tau_meas=joint_torque(plant, *state),
        joint_names=plant.joint_names,
        joint_units=plant.joint_units,
        period=PERIOD,
    )
    log = measure(clean, sensors(), np.random.default_rng(0))
    return Measured(plant, nominal, basis, path, state, log)
