"""Reference motions and excitation design."""

from robotid_sim.registry import Registry
from robotid_sim.trajectory.criteria import ConditionNumber, Criterion, DOptimality
from robotid_sim.trajectory.fourier import FourierTrajectory
from robotid_sim.trajectory.quintic import PointToPoint
from robotid_sim.trajectory.reference import Trajectory

TRAJECTORIES: Registry[Trajectory] = Registry(
    "trajectory", {"fourier": FourierTrajectory, "point-to-point": PointToPoint}
)

CRITERIA: Registry[Criterion] = Registry(
    "criterion", {"d-optimality": DOptimality, "condition-number": ConditionNumber}
)

__all__ = [
    "CRITERIA",
    "TRAJECTORIES",
    "ConditionNumber",
    "Criterion",
    "DOptimality",
    "FourierTrajectory",
    "PointToPoint",
    "Trajectory",
]
