"""Preprocessors: from a noisy log to motion, torque and the rows that a fit uses."""

from robotid_sim.preprocess.butterworth import Butterworth
from robotid_sim.preprocess.kalman_torque import FivePointCubic, KalmanTorque
from robotid_sim.preprocess.preprocessor import Preprocessor, Rows
from robotid_sim.preprocess.rts import RtsSmoother
from robotid_sim.registry import Registry

PREPROCESSORS: Registry[Preprocessor] = Registry(
    "preprocessor",
    {
        "butterworth": Butterworth,
        "five-point": FivePointCubic,
        "kalman-torque": KalmanTorque,
        "rts": RtsSmoother,
    },
)

__all__ = [
    "PREPROCESSORS",
    "Butterworth",
    "FivePointCubic",
    "KalmanTorque",
    "Preprocessor",
    "Rows",
    "RtsSmoother",
]
