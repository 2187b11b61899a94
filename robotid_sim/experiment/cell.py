"""The virtual robot cell: the plant, the loop that drives it, and the sensors that see it."""

from dataclasses import dataclass

from robotid_sim.control.controller import Controller
from robotid_sim.engine.plant import Plant
from robotid_sim.measurement.sensors import Sensor
from robotid_sim.model.friction_law import FrictionLaw
from robotid_sim.model.plant_drives import PlantDrive
from robotid_sim.model.robot import Robot
from robotid_sim.representation import public_value


@public_value
@dataclass(frozen=True, kw_only=True, eq=False)
class Cell:
    """A robot cell in the engine. The plant, which is the truth, stands here and nowhere else.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> robot = rid.load_robot("twolink")
    >>> nominal = rid.perturb(robot, np.random.default_rng(1))
    >>> law = rid.ComputedTorque(nominal)
    >>> cell = rid.Cell(plant=robot, controller=law, sensors=(rid.TorqueNoise(),))
    >>> cell.rate
    1000.0
    """

    plant: Robot
    """The true robot."""
    controller: Controller
    """Follows the excitation; built from the nominal model."""
    sensors: tuple[Sensor, ...] = ()
    """Applied to the clean log in this order."""
    rate: float = 1000.0
    """Control and log rate [Hz]."""
    substeps: int = 4
    """Engine steps per control step."""
    leapfrog: bool = True
    """Whether forces of velocity act within a sub-step, not at its start; see `Plant`."""
    friction: FrictionLaw | None = None
    """Law of the plant's friction; None for that of the models."""
    drive: PlantDrive | None = None
    """What lies between rotors and links of the plant; None for rigid joints."""
    engine: str | None = None
    """Engine of the plant, ``pybullet`` or ``mujoco``; None for the first that is installed."""

    @property
    def dt(self) -> float:
        """Control step [s]."""
        return 1.0 / self.rate

    def open(self, robot: Robot | None = None) -> Plant:
        """Return the plant in an engine of its own; close it, or use it in a ``with`` block.

        `robot` is the plant as a scenario changes it.
        """
        return Plant(
            self.plant if robot is None else robot,
            dt=self.dt,
            substeps=self.substeps,
            leapfrog=self.leapfrog,
            friction=self.friction,
            drive=self.drive,
            engine=self.engine,
        )
