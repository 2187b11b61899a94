"""Preprocessors: from a noisy log to motion, torque and regressor rows."""

from typing import TYPE_CHECKING

from robotid_sim.registry import Registry

if TYPE_CHECKING:
    from robotid_sim.preprocess.preprocessor import Preprocessor

PREPROCESSORS: "Registry[Preprocessor]" = Registry(
    "preprocessor",
    "robotid_sim.preprocess.preprocessor:Preprocessor",
    {
        "adaptive": "robotid_sim.preprocess.adaptive:Adaptive",
        "butterworth": "robotid_sim.preprocess.linear_filters:Butterworth",
        "errors-in-variables": "robotid_sim.preprocess.errors_in_variables:ErrorsInVariables",
        "five-point": "robotid_sim.preprocess.kalman_torque:FivePointCubic",
        "fourier-fit": "robotid_sim.preprocess.periods:FourierFit",
        "kalman-torque": "robotid_sim.preprocess.kalman_torque:KalmanTorque",
        "period-averaging": "robotid_sim.preprocess.periods:PeriodAveraging",
        "rts": "robotid_sim.preprocess.rts:RtsSmoother",
        "savitzky-golay": "robotid_sim.preprocess.linear_filters:SavitzkyGolay",
    },
)
