"""What acts on the robot beside its controller, and what the controller sees of it."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, freeze
from robotid_sim.docstrings import documented
from robotid_sim.errors import OptionError, ShapeError
from robotid_sim.experiment.disturbance import Disturbance
from robotid_sim.experiment.feedback import Feedback
from robotid_sim.model.robot import Robot


@dataclass(frozen=True, slots=True)
class TipLoad:
    """A load at the tip that no model knows of."""

    mass: float
    """Mass [kg]."""
    com: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Center of mass in the tip frame [m]."""

    def __call__(self, plant: Robot) -> Robot:
        """Return the plant with the load."""
        return plant.with_payload(self.mass, self.com)


@dataclass(frozen=True, slots=True)
class FrictionScale:
    """Friction that has changed since the model was made, as with temperature or wear."""

    factor: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.factor < np.inf:
            raise OptionError(f"friction factor must not be negative, got {self.factor}")

    def __call__(self, plant: Robot) -> Robot:
        """Return the plant with viscous and Coulomb friction scaled."""
        joints = []
        for joint in plant.joints:
            law = joint.friction
            changed = replace(law, Fv=self.factor * law.Fv, Fc=self.factor * law.Fc)
            joints.append(replace(joint, friction=changed))
        return replace(plant, joints=tuple(joints))


@documented
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Scenario:
    """Conditions of a run; by default nothing acts, and the robot starts on the trajectory."""

    name: str = "undisturbed"
    disturbances: tuple[Disturbance, ...] = ()
    """Torques from outside; they add up."""
    offset: Float1D | None = None
    """Start pose minus that of the trajectory [rad or m], shape (n,)."""
    changes: tuple[Callable[[Robot], Robot], ...] = ()
    """What differs in the plant from the robot that the models are of, applied in order."""
    feedback: Feedback | None = None
    """Sensors in the loop; by default the controller sees the true state."""
    delay: int = 0
    """Samples between a measurement and the torque computed from it, 0 or 1."""

    def __post_init__(self) -> None:
        freeze(self, (None,), "offset", optional=True)
        if self.delay not in (0, 1):
            raise OptionError(f"the computation delay is 0 or 1 samples, got {self.delay}")

    def plant(self, robot: Robot) -> Robot:
        """Return the robot as it is in this scenario."""
        for change in self.changes:
            robot = change(robot)
        return robot

    def disturbance(self, t: Float1D, dof: int) -> Float2D | None:
        """Return the torques from outside.

        Parameters
        ----------
        t : ndarray, shape (N,)
            Times [s].
        dof : int
            Number of joints n.

        Returns
        -------
        tau : ndarray, shape (N, n), or None
            Torque [N m or N]; None without disturbances.
        """
        if not self.disturbances:
            return None
        return np.asarray(sum(part(t, dof) for part in self.disturbances))

    def start_offset(self, dof: int) -> Float1D:
        """Return the start pose minus that of the trajectory, shape (n,)."""
        if self.offset is None:
            return np.zeros(dof)
        if self.offset.size != dof:
            raise ShapeError(f"scenario offset has {self.offset.size} entries for {dof} joints")
        return self.offset
