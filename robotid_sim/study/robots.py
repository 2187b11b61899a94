"""The two robots of a study: the plant, which is the truth, and the nominal model of it."""

import logging
from pathlib import Path

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.errors import OptionError
from robotid_sim.excitation.design import default_path
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.inertia import inertia_matrix
from robotid_sim.model.perturb import perturb
from robotid_sim.model.robot import Robot
from robotid_sim.streams import named_stream
from robotid_sim.study.config import RobotConfig, StudyConfig

DRAWS = 500
"""Perturbations tried before the best one is taken."""

_log = logging.getLogger(__name__)


def stage_rng(seed: int, stage: str) -> np.random.Generator:
    """Return the random generator of a stage, a child of the seed by the stage's name."""
    return named_stream(seed, stage)


def read_robot(robot: str | Path, config: RobotConfig, *, formal: bool = False) -> Robot:
    """Return the robot of a catalog name or URDF path as the configuration wants it."""
    read = load_robot(
        robot,
        base=config.base,
        tip=config.tip,
        gravity=config.gravity,
        urdf_friction=config.urdf_friction,
        joints=config.joints,
        formal=formal or config.repair,
    )
    if config.repair:
        read = read.repaired()
    if config.payload is not None:
        load = config.payload
        tensor = inertia_matrix(np.array([0.0] * 4 + list(load.inertia)))
        read = read.with_payload(load.mass, load.com, tensor)
    return read


def nominal_robot(plant: Robot, config: StudyConfig) -> Robot:
    """Return what is known of the plant before the identification.

    By default the plant with parameters wrong by some 20 %, drawn again until the torque mismatch
    on the default path lies in the configured band for every joint.

    Raises
    ------
    OptionError
        If a nominal file is of another robot.
    """
    settings = config.nominal
    if settings.file is not None:
        robot_config = config.robot.model_copy(update={"joints": {}, "payload": None})
        nominal = read_robot(settings.file, robot_config)
        same = nominal.joint_names == plant.joint_names
        if not same or np.abs(nominal.geometry - plant.geometry).max() > 1e-9:
            raise OptionError(
                f"the nominal robot {settings.file} has other joints or another geometry than "
                f"'{plant.name}'; give a model of the same robot"
            )
        return nominal
    rng = stage_rng(config.seed, "nominal")
    low, high = settings.mismatch
    best, best_miss = plant, np.inf
    for _ in range(DRAWS):
        candidate = perturb(plant, rng, scale=settings.scale)
        mismatch = torque_mismatch(candidate, plant)
        miss = float(np.maximum(low - mismatch, mismatch - high).max())
        if miss < best_miss:
            best, best_miss = candidate, miss
        if miss <= 0.0 or settings.scale == 0.0:
            break
    else:
        _log.info(
            "no perturbation puts every joint's mismatch in %s; the nearest is taken", (low, high)
        )
    return best


def torque_mismatch(model: Robot, plant: Robot) -> Float1D:
    """Return the RMS torque error of a model on the default path over the RMS torque, (n,)."""
    path = default_path(plant)
    reference = path(np.linspace(0.0, path.duration, 500))
    state = (reference.q, reference.dq, reference.ddq)
    true = joint_torque(plant, *state)
    error = joint_torque(model, *state) - true
    size = np.sqrt((true**2).mean(axis=0))
    floor = max(1e-12 * float(size.max()), np.finfo(float).tiny)
    return np.asarray(np.sqrt((error**2).mean(axis=0)) / np.maximum(size, floor))
