"""The virtual robot cell: the plant, the loop that drives it, and the sensors that see it."""

from dataclasses import dataclass

import numpy as np

from robotid_sim.control.controller import Controller
from robotid_sim.engine.plant import Plant
from robotid_sim.engine.substeps import substeps_for
from robotid_sim.measurement.sensors import Sensor
from robotid_sim.model.friction_laws import FrictionLaw
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.reference import Trajectory

PATH_SAMPLES = 500
"""Poses of a trajectory at which friction is asked how many sub-steps it needs."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Cell:
    """A robot cell in the engine. The plant, which is the truth, stands here and nowhere else."""

    plant: Robot
    """The true robot."""
    controller: Controller
    """Follows the excitation; built from the nominal model."""
    sensors: tuple[Sensor, ...] = ()
    """Applied to the clean log in this order."""
    rate: float = 1000.0
    """Control and log rate [Hz]."""
    substeps: int = 4
    """Engine steps per control step, at least; friction may need more."""
    leapfrog: bool = True
    """Whether forces of velocity act at the mid-step velocity; see `Plant`."""
    friction: FrictionLaw | None = None
    """Law of the plant's friction; None for that of the models."""

    @property
    def dt(self) -> float:
        """Control step [s]."""
        return 1.0 / self.rate

    def substeps_along(self, trajectory: Trajectory, robot: Robot | None = None) -> int:
        """Return the engine steps per control step that friction needs along a trajectory.

        `robot` is the plant as a scenario changes it.
        """
        times = np.linspace(trajectory.start, trajectory.duration, PATH_SAMPLES)
        robot = self.plant if robot is None else robot
        return substeps_for(robot, trajectory(times).q, self.dt, self.substeps, self.friction)

    def open(self, substeps: int, robot: Robot | None = None) -> Plant:
        """Return the plant in an engine of its own; close it, or use it in a ``with`` block."""
        return Plant(
            self.plant if robot is None else robot,
            dt=self.dt,
            substeps=substeps,
            leapfrog=self.leapfrog,
            friction=self.friction,
        )
