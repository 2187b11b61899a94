"""Identify the dynamic parameters of a URDF robot in simulation, and from real logs."""

from importlib import import_module
from typing import Any

from robotid_sim.control import ComputedTorque
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import (
    coriolis,
    forward_dynamics,
    gravity_torque,
    joint_torque,
    mass_matrix,
    rigid_body_torque,
    torque_regressor,
)
from robotid_sim.dynamics.kinematics import link_poses, tip_jacobian, tip_pose
from robotid_sim.errors import RobotIdError
from robotid_sim.estimation import (
    Estimate,
    LinearProblem,
    OrdinaryLeastSquares,
    WeightedLeastSquares,
    build_problem,
)
from robotid_sim.estimation.bound import cramer_rao
from robotid_sim.estimation.lift import lift
from robotid_sim.measurement import (
    EncoderNoise,
    EncoderQuantization,
    Log,
    Motion,
    TorqueDelay,
    TorqueNoise,
    load_log,
    measure,
    save_log,
)
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.export import write_urdf
from robotid_sim.model.perturb import perturb
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess import Butterworth, RtsSmoother
from robotid_sim.trajectory import FourierTrajectory, PointToPoint
from robotid_sim.trajectory.design import FourierOptions, random_design

# These load the engine; `import robotid_sim` alone must not.
_WITH_ENGINE = {
    "Plant": "robotid_sim.engine.plant",
    "rollout": "robotid_sim.experiment.rollout",
    "run_study": "robotid_sim.study.study",
}

__all__ = [
    "Butterworth",
    "ComputedTorque",
    "EncoderNoise",
    "EncoderQuantization",
    "Estimate",
    "FourierOptions",
    "FourierTrajectory",
    "LinearProblem",
    "Log",
    "Motion",
    "OrdinaryLeastSquares",
    "Plant",
    "PointToPoint",
    "Robot",
    "RobotIdError",
    "RtsSmoother",
    "TorqueDelay",
    "TorqueNoise",
    "WeightedLeastSquares",
    "base_parameters",
    "build_problem",
    "coriolis",
    "cramer_rao",
    "forward_dynamics",
    "gravity_torque",
    "joint_torque",
    "lift",
    "link_poses",
    "load_log",
    "load_robot",
    "mass_matrix",
    "measure",
    "perturb",
    "random_design",
    "rigid_body_torque",
    "rollout",
    "run_study",
    "save_log",
    "tip_jacobian",
    "tip_pose",
    "torque_regressor",
    "write_urdf",
]


def __getattr__(name: str) -> Any:
    if name in _WITH_ENGINE:
        return getattr(import_module(_WITH_ENGINE[name]), name)
    raise AttributeError(f"module 'robotid_sim' has no attribute '{name}'")
