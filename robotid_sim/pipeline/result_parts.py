"""Parts of a result: versions, robot, trajectory and measurement."""

import hashlib
import platform
from importlib.metadata import version
from importlib.util import find_spec

import numpy as np

from robotid_sim.excitation import CRITERIA, FAMILIES
from robotid_sim.excitation.design import excitation_quality
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.sensors import PROVENANCE
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.result import MeasurementResult, RobotResult, TrajectoryResult
from robotid_sim.pipeline.setup import Setup
from robotid_sim.trajectory.reference import Excitation

PACKAGES = ("robotid_sim", "pybullet", "mujoco", "numpy", "scipy", "numba", "clarabel", "h5py")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that decide the numbers."""
    installed = {p: version(p) for p in PACKAGES if find_spec(p) is not None}
    return {"python": platform.python_version(), **installed}


def describe_robot(robot: Robot) -> RobotResult:
    """Return the robot's part of the result."""
    document = robot.document
    return RobotResult(
        name=robot.name,
        dof=robot.dof,
        joint_names=list(robot.joint_names),
        joint_units=list(robot.joint_units),
        urdf_sha256=None if document is None else hashlib.sha256(document.xml).hexdigest(),
    )


def describe_trajectory(setup: Setup, trajectory: Excitation) -> TrajectoryResult:
    """Return the trajectory's part of the result.

    Use of the limits is that by the nominal model and, of the torque, by the plant.
    """
    nominal = excitation_quality(setup.nominal, setup.basis, trajectory)
    true = excitation_quality(setup.cell.plant, setup.basis, trajectory)
    return TrajectoryResult(
        family=FAMILIES.name_of(setup.excitation.family),
        criterion=CRITERIA.name_of(setup.excitation.criterion),
        base_set=list(setup.basis.names),
        cond_raw=nominal.cond_raw,
        cond_normalized=nominal.cond_normalized,
        duration_s=trajectory.duration - trajectory.start,
        max_position_ratio=nominal.position_ratio,
        max_velocity_ratio=nominal.velocity_ratio,
        max_acceleration_ratio=nominal.acceleration_ratio,
        max_torque_ratio_nominal=nominal.torque_ratio,
        max_torque_ratio_true=true.torque_ratio,
    )


def describe_measurement(log: Log, preset: str | None = None) -> MeasurementResult:
    """Return the log's part of the result; the preset is the name of a set of sensors.

    Noise is that of the samples against the truth, unknown where there is none.
    """
    torque: list[float | None] = [None] * log.dof
    encoder: list[float | None] = [None] * log.dof
    if log.truth is not None:
        torque = [float(v) for v in np.std(log.tau_meas - log.truth.tau, axis=0)]
        encoder = [float(v) for v in np.std(log.q - log.truth.q, axis=0)]
    return MeasurementResult(
        preset=preset or ("custom" if log.provenance.get(PROVENANCE) else "unknown"),
        samples=log.t.size,
        dt_s=log.dt,
        engine=str(log.provenance.get("engine", "unknown")),
        feedback=str(log.provenance.get("feedback", "unknown")),
        torque_noise_std=torque,
        encoder_noise_std=encoder,
    )
