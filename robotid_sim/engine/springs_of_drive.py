"""The springs between rotors and links of a plant, and whether its sub-steps resolve them."""

from typing import NamedTuple

import numpy as np

from robotid_sim.arrays import Bool1D, Float1D, Float2D
from robotid_sim.dynamics.dynamics import gravity_torque, mass_matrix
from robotid_sim.errors import OptionError, ShapeError
from robotid_sim.model.plant_drives import SPRING_COLUMNS, PlantDrive, describe_drive
from robotid_sim.model.robot import Robot

RESOLVED = 1.5
"""Largest phase of an oscillation in a sub-step [rad].

A spring with a twelfth of its stiffness as inertia is stable up to 2.45, and wrong in frequency by
the fourth power over 480.
"""

POSES = 20
"""Poses of which the largest load and the highest frequency count."""


class Springs(NamedTuple):
    """Springs of a plant, each of shape (n,)."""

    stiffness: Float1D
    """Stiffness [N m/rad]; zero for a rigid joint."""
    damping: Float1D
    """Damping [N m s/rad]."""
    play: Float1D
    """Way from flank to flank [rad]."""

    @property
    def elastic(self) -> Bool1D:
        """Which joints have two masses."""
        return self.stiffness > 0.0

    def of_contact(self, wound: Float1D) -> tuple[Float1D, Float1D, Float1D]:
        """Return stiffness, damping and twist where flanks touch, for angles of rotor less link."""
        twist = wound - np.clip(wound, -0.5 * self.play, 0.5 * self.play)
        touch = (twist != 0.0) | (self.play == 0.0)
        return self.stiffness * touch, self.damping * touch, twist


def springs_of(robot: Robot, drive: PlantDrive, dt: float) -> Springs:
    """Return the springs of a plant with sub-steps `dt` [s].

    Raises `OptionError` if a joint oscillates faster than the sub-steps resolve.
    """
    limits, rng = robot.limits, np.random.default_rng(0)
    draws = rng.uniform(limits.lower, limits.upper, (POSES, robot.dof))
    poses = np.concatenate([robot.home[None], draws])
    M = mass_matrix(robot, poses, rotors=False)
    fast = np.abs(gravity_torque(robot, poses)) + limits.acceleration * np.abs(M).sum(axis=2)
    load = np.where(np.isfinite(limits.effort), limits.effort, fast.max(axis=0))
    rotor = np.array([joint.rotor_inertia for joint in robot.joints])
    felt = 1.0 / np.diagonal(np.linalg.inv(M), axis1=1, axis2=2).max(axis=0)
    rows = drive.springs(robot, load, rotor * felt / (rotor + felt))
    if rows.shape != (robot.dof, len(SPRING_COLUMNS)) or not (rows >= 0.0).all():
        raise ShapeError(f"a plant drive has {', '.join(SPRING_COLUMNS)} a joint, none negative")
    springs = Springs(*rows.T)
    _require_resolved(robot, drive, springs, M, dt)
    return springs


def _require_resolved(
    robot: Robot, drive: PlantDrive, springs: Springs, M: Float2D, dt: float
) -> None:
    """Raise if a frequency of rotors against links, the largest over poses, is too high."""
    rigid = np.diag([joint.rotor_inertia for joint in robot.joints]) * ~springs.elastic
    mobility = np.linalg.inv(M + rigid)
    rotors = np.array([j.rotor_inertia if j.rotor_inertia > 0.0 else 1.0 for j in robot.joints])
    mobility += np.diag(1.0 / rotors)
    root = np.sqrt(springs.stiffness)
    values, vectors = np.linalg.eigh(root[:, None] * mobility * root)
    worst = int(values[:, -1].argmax())
    omega = float(np.sqrt(values[worst, -1]))
    if omega * dt > RESOLVED:
        joint = robot.joint_names[int(np.abs(vectors[worst, :, -1]).argmax())]
        raise OptionError(
            f"plant drive {describe_drive(drive)['kind']}: joint '{joint}' oscillates at "
            f"{omega / (2.0 * np.pi):.4g} Hz, which sub-steps of {dt:.3g} s do not resolve; take "
            f"{np.ceil(omega * dt / RESOLVED):.0f} times as many ([experiment] substeps), less "
            "stiffness or more twist"
        )
