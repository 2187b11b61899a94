"""Compiled functions, loaded or compiled before a study asks for them."""

import numpy as np

from robotid_sim.engine.plant import Plant
from robotid_sim.experiment.rollout import rollout
from robotid_sim.measurement.sensors import measure
from robotid_sim.model.catalog import load_robot
from robotid_sim.pipeline.build import build_cell
from robotid_sim.pipeline.build_fit import build_preprocessor
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.streams import Streams
from robotid_sim.trajectory.reference import PointToPoint

MOVE, SECONDS = 0.3, 3.0
"""A short motion [rad] and its time [s], for enough rows of a filter."""


def load_kernels(engine: str | None = None) -> None:
    """Load the compiled functions of experiment and filters, or compile them for all processes.

    Where nobody has compiled them yet that takes half a minute, of which a process beside the one
    that designs can take its share.

    The engine is by default the first that is installed; raises `MissingExtraError` if it is not.
    """
    robot, config = load_robot("twolink"), StudyConfig()
    with Plant(robot, engine=engine) as plant:  # first what takes longest and is asked for last
        plant.step(np.zeros(robot.dof))
    path = PointToPoint(robot.joint_names, robot.home, robot.home + MOVE, 0.0, SECONDS)
    cell = build_cell(robot, robot, config)
    with cell.open() as plant:
        log = measure(rollout(plant, cell.controller, path), cell.sensors, Streams(0)("kernels"))
    build_preprocessor(config.preprocess)(log, robot)
