"""Build the robot, its nominal model and the base parameters from a configuration."""

import logging
from functools import cache
from pathlib import Path

import numpy as np

from robotid_sim.arrays import Bool1D
from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.excitation.plan import choose_home
from robotid_sim.measurement.log import Log
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.chain import find_locked_joints
from robotid_sim.model.inertia import inertia_matrix
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.config_tables import NominalConfig, RobotConfig
from robotid_sim.pipeline.nominal import perturb_nominal, require_same_robot
from robotid_sim.streams import Streams
from robotid_sim.threads import one_blas_thread

_log = logging.getLogger(__name__)


def build_robot(
    robot: str | Path | Robot, config: RobotConfig | None = None, *, formal: bool = False
) -> Robot:
    """Build the robot of a catalog name or path with the settings of section [robot].

    Parameters
    ----------
    robot : str, Path or Robot
        Catalog name, or path of a URDF or MJCF file; a robot is not changed.
    config : RobotConfig, optional
        Chain, payload and overrides of joints.
    formal : bool
        Accept inertia that is not physically consistent.

    Returns
    -------
    robot : Robot
        Repaired if requested by the section.

    Raises
    ------
    UrdfError, UnknownNameError
        If the robot is unknown, its file cannot be used, or the section names unknown parts.
    InconsistentInertiaError
        If inertia of a body or of the payload is inconsistent and neither accepted nor repaired.
    """
    if isinstance(robot, Robot):
        return robot
    config = config or RobotConfig()
    built = load_robot(
        robot,
        base=config.base,
        tip=config.tip,
        gravity=config.gravity,
        urdf_friction=config.urdf_friction,
        joints=config.joints,
        assume_limits=config.assume_limits,
        formal=formal or config.repair,
        xacro=config.xacro,
    )
    other_branches = (
        [] if built.document is None else find_locked_joints(built.document, built.joint_names)
    )
    if other_branches and not (config.base or config.tip):
        _warn_once(
            f"{built.name}: chain from '{built.base}' to '{built.tip}', with "
            f"{', '.join(other_branches)} locked; choose another chain by --base and --tip"
        )
    if config.repair:
        built = built.repair()
    if config.payload is not None:
        load = config.payload
        tensor = inertia_matrix(np.array([0.0] * 4 + list(load.inertia)))
        built = built.with_payload(load.mass, load.com, tensor)
    return built


@cache
def _warn_once(text: str) -> None:
    _log.warning(text)


def build_nominal(plant: Robot, config: StudyConfig) -> Robot:
    """Build the nominal model of the plant: from a file, or the perturbed plant.

    Its home pose respects the torque limits. Raises `UrdfError` or `UnknownNameError` if the file
    cannot be used, `InconsistentInertiaError` for inconsistent inertia without repair,
    `OptionError` for another robot's file, `InfeasibleError` if gravity exceeds the torque limits.
    """
    settings: NominalConfig = config.nominal
    if settings.file is not None:
        section = config.robot.model_copy(update={"joints": {}, "payload": None})
        read = build_robot(settings.file, section)
        nominal = require_same_robot(read, plant, str(settings.file))
    else:
        rng = Streams(config.seed)("nominal")
        nominal = perturb_nominal(plant, rng, scale=settings.scale, mismatch=settings.mismatch)
    return choose_home(nominal, config.design.torque_ratio)


def build_nominal_of_log(robot: Robot, log: Log, config: StudyConfig) -> Robot:
    """Build the nominal model for a log.

    For a log of a machine without a nominal file it is `robot` itself; else see `build_nominal`.
    """
    if log.origin == "machine" and config.nominal.file is None:
        return robot
    return build_nominal(robot, config)


@one_blas_thread()
def build_basis(
    nominal: Robot, config: StudyConfig, measured: Bool1D | None = None
) -> BaseParameters:
    """Compute the base parameters of a study, for the joints with measured torque (`measured`).

    Raises `OptionError` if a joint parameter of the configuration is unknown.
    """
    return base_parameters(nominal, config.estimation.joint_parameters, measured)
