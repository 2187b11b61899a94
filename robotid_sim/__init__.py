"""Identify the dynamic parameters of a URDF robot in simulation, and from real logs."""

from importlib import import_module
from typing import Any

from robotid_sim.control.gains import LoopGains
from robotid_sim.control.linear_feedback import ComputedTorque, GravityPd
from robotid_sim.control.sliding_mode import SlidingMode
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
from robotid_sim.errors import RobotIdError
from robotid_sim.estimation.consistent import Consistent, lift
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.least_squares import OrdinaryLeastSquares, WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem, build_problem
from robotid_sim.estimation.reduction import cramer_rao
from robotid_sim.excitation.design import random_design
from robotid_sim.excitation.fourier_space import FourierOptions
from robotid_sim.excitation.optimal import optimal_design
from robotid_sim.kinematics.forward import link_poses, tip_jacobian, tip_pose
from robotid_sim.measurement.encoder_sensors import EncoderNoise, EncoderQuantization
from robotid_sim.measurement.files import load_log, save_log
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.measurement.sensors import measure
from robotid_sim.measurement.torque_sensors import TorqueDelay, TorqueNoise
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.export import write_urdf
from robotid_sim.model.perturb import perturb
from robotid_sim.model.robot import Robot
from robotid_sim.plugins import load_plugins
from robotid_sim.preprocess.kalman_torque import FivePointCubic, KalmanTorque
from robotid_sim.preprocess.linear_filters import Butterworth
from robotid_sim.preprocess.rts import RtsSmoother
from robotid_sim.tasks.path import Lap, fastest_lap, tracking_path
from robotid_sim.trajectory.fourier import FourierTrajectory
from robotid_sim.trajectory.quintic import PointToPoint

# These load the engine; `import robotid_sim` alone must not.
_WITH_ENGINE = {
    "Cell": "robotid_sim.experiment.cell",
    "Comparison": "robotid_sim.validation.closed_loop",
    "Plant": "robotid_sim.engine.plant",
    "Scenario": "robotid_sim.experiment.scenario",
    "Sinusoidal": "robotid_sim.experiment.disturbance",
    "Setup": "robotid_sim.study.setup",
    "StudyConfig": "robotid_sim.study.config",
    "build_setup": "robotid_sim.study.build",
    "closed_loop": "robotid_sim.validation.closed_loop",
    "load_config": "robotid_sim.study.config",
    "rollout": "robotid_sim.experiment.rollout",
    "run_study": "robotid_sim.study.study",
}

__all__ = [
    "Butterworth",
    "Cell",
    "Comparison",
    "ComputedTorque",
    "Consistent",
    "EncoderNoise",
    "EncoderQuantization",
    "Estimate",
    "FivePointCubic",
    "FourierOptions",
    "FourierTrajectory",
    "GravityPd",
    "KalmanTorque",
    "Lap",
    "LinearProblem",
    "Log",
    "LoopGains",
    "Motion",
    "OrdinaryLeastSquares",
    "Plant",
    "PointToPoint",
    "Robot",
    "RobotIdError",
    "RtsSmoother",
    "Scenario",
    "Setup",
    "Sinusoidal",
    "SlidingMode",
    "StudyConfig",
    "TorqueDelay",
    "TorqueNoise",
    "WeightedLeastSquares",
    "base_parameters",
    "build_problem",
    "build_setup",
    "closed_loop",
    "coriolis",
    "cramer_rao",
    "fastest_lap",
    "forward_dynamics",
    "gravity_torque",
    "joint_torque",
    "lift",
    "link_poses",
    "load_config",
    "load_log",
    "load_plugins",
    "load_robot",
    "mass_matrix",
    "measure",
    "optimal_design",
    "perturb",
    "random_design",
    "rigid_body_torque",
    "rollout",
    "run_study",
    "save_log",
    "tip_jacobian",
    "tip_pose",
    "torque_regressor",
    "tracking_path",
    "write_urdf",
]


def __getattr__(name: str) -> Any:
    if name in _WITH_ENGINE:
        return getattr(import_module(_WITH_ENGINE[name]), name)
    raise AttributeError(f"module 'robotid_sim' has no attribute '{name}'")
