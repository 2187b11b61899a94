r"""Transmissions between motor and link of a simulated plant: springs, with or without free play.

A joint then has two masses, the rotor with the angle :math:`\theta` that the encoder sees, and the
links [1]_:

.. math::
    I_a \ddot\theta + F(\dot\theta) + \tau_l = \tau, \quad
    M \ddot q + C \dot q + g = \tau_l, \quad
    \tau_l = K\,d(\theta - q) + D\,(\dot\theta - \dot q)

with the dead zone :math:`d(x) = x \mp b/2` beyond half of the play b and no torque within it. A fit
assumes one mass per joint; the effect of the spring is model error.

References
----------
.. [1] Spong (1987), "Modeling and control of elastic joint robots", J. Dynamic Systems,
   Measurement, and Control 109(4), 310-319, doi:10.1115/1.3143860.
"""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

import numpy as np

from robotid_sim.arrays import Bool1D, Float1D, Float2D
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import OptionError, UnknownNameError
from robotid_sim.model.robot import Robot
from robotid_sim.registry import Registry

SPRING_COLUMNS = ("stiffness", "damping", "play")
"""Columns of the array of springs, in this order."""


class PlantDrive(ABC):
    """Transmissions between motors and links of a plant; a frozen dataclass of options."""

    @abstractmethod
    def springs(self, robot: Robot, load: Float1D, inertia: Float1D) -> Float2D:
        """Return stiffness, damping and play of every joint.

        Parameters
        ----------
        robot : Robot
            The plant.
        load : ndarray, shape (n,)
            Largest torque of every joint [N m].
        inertia : ndarray, shape (n,)
            Reduced inertia of rotor and links, :math:`1 / (1/I_a + 1/M)` [kg m^2].

        Returns
        -------
        springs : ndarray, shape (n, 3)
            A joint with stiffness zero is rigid.
        """


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class Elastic(PlantDrive):
    """Elastic gears: a spring with a little damping."""

    twist: float = 2.5e-3
    """Twist of revolute joints under their largest torque, or torque limit if any [rad]."""
    prismatic_twist: float = 2.5e-4
    """Displacement of prismatic joints under their largest force, or force limit if any [m]."""
    stiffness: tuple[float, ...] = ()
    """Stiffness of every elastic joint [N m/rad or N/m] instead of the twist."""
    damping: float = 0.05
    """Damping ratio of rotor against links."""
    joints: tuple[str, ...] = ()
    """Joints that are not rigid; by default all with rotor inertia."""

    def __post_init__(self) -> None:
        _require(self, "twist", "prismatic_twist", "damping")

    def springs(self, robot: Robot, load: Float1D, inertia: Float1D) -> Float2D:
        """Return the springs; see `PlantDrive`."""
        return _springs(self, robot, load, inertia, np.zeros(robot.dof))


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class Backlash(PlantDrive):
    """Gears with free play, in series with a stiff and well damped spring."""

    play: float = 2e-3
    """Play between the tooth flanks of revolute joints [rad]."""
    prismatic_play: float = 2e-4
    """Play of prismatic joints [m]."""
    twist: float = 1.25e-3
    """Twist of the spring of revolute joints under their largest torque [rad]."""
    prismatic_twist: float = 1.25e-4
    """Displacement of the spring of prismatic joints under their largest force [m]."""
    stiffness: tuple[float, ...] = ()
    """Stiffness of every joint with play [N m/rad or N/m] instead of the twist."""
    damping: float = 0.2
    """Damping ratio of rotor against links while flanks touch."""
    joints: tuple[str, ...] = ()
    """Joints that are not rigid; by default all with rotor inertia."""

    def __post_init__(self) -> None:
        _require(self, "play", "prismatic_play", "twist", "prismatic_twist", "damping")

    def springs(self, robot: Robot, load: Float1D, inertia: Float1D) -> Float2D:
        """Return the springs; see `PlantDrive`."""
        play = np.where(robot.prismatic, self.prismatic_play, self.play)
        return _springs(self, robot, load, inertia, play)


PLANT_DRIVES: Registry[PlantDrive] = Registry(
    "plant drive",
    PlantDrive,
    {
        "backlash": "robotid_sim.model.plant_drives:Backlash",
        "elastic": "robotid_sim.model.plant_drives:Elastic",
    },
)


def describe_drive(drive: PlantDrive) -> dict[str, Any]:
    """Return name and options of a drive, for the provenance of a log."""
    assert is_dataclass(drive)
    return {"kind": PLANT_DRIVES.name_of(drive), **asdict(drive)}


def joints_with_rotor(robot: Robot, names: tuple[str, ...] = ()) -> Bool1D:
    """Return which joints get two masses, shape (n,): those in `names`, or all with rotor inertia.

    Raises `UnknownNameError` if the robot has no joint of a name, `OptionError` if a joint in
    `names` has no rotor inertia, or no joint has rotor inertia.
    """
    for name in names:
        if name not in robot.joint_names:
            raise UnknownNameError.from_names("joint", name, robot.joint_names)
    rotor = np.array([joint.rotor_inertia > 0.0 for joint in robot.joints])
    named = np.array([not names or joint.name in names for joint in robot.joints])
    without = [j.name for j, bad in zip(robot.joints, named & ~rotor, strict=True) if bad]
    if without and (names or not rotor.any()):
        raise OptionError(
            f"'{without[0]}' of {robot.name} has no rotor inertia, and a plant drive needs one: "
            f"give Ia in robot.toml, or by the section [robot.joints.{without[0]}]"
        )
    return np.asarray(named & rotor)


def _springs(
    drive: Elastic | Backlash, robot: Robot, load: Float1D, inertia: Float1D, play: Float1D
) -> Float2D:
    has_rotor = joints_with_rotor(robot, drive.joints)
    stiffness = load / np.where(robot.prismatic, drive.prismatic_twist, drive.twist)
    if drive.stiffness:
        if len(drive.stiffness) != has_rotor.sum():
            names = ", ".join(
                name for name, is_used in zip(robot.joint_names, has_rotor, strict=True) if is_used
            )
            raise OptionError(
                f"plant drive: {len(drive.stiffness)} numbers for stiffness; give one for each of "
                f"{names}"
            )
        stiffness[has_rotor] = drive.stiffness
    damping = 2.0 * drive.damping * np.sqrt(stiffness * inertia)
    return np.stack([stiffness, damping, play], axis=1) * has_rotor[:, None]


def _require(drive: Elastic | Backlash, *names: str) -> None:
    """Raise `OptionError` unless options are finite and positive; damping may be zero."""
    for name in names:
        value = getattr(drive, name)
        if not (0.0 < value <= 1.0 or (name == "damping" and value == 0.0)):
            raise OptionError(
                f"plant drive {PLANT_DRIVES.name_of(drive)}: {name} must lie in (0, 1], got {value}"
            )
    if not all(0.0 < value < np.inf for value in drive.stiffness):
        raise OptionError(
            f"plant drive {PLANT_DRIVES.name_of(drive)}: stiffness must be positive and finite, "
            f"got {drive.stiffness}"
        )
