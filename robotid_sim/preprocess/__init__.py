"""Preprocessors: from a noisy log to motion, torque and the rows that a fit uses."""

from robotid_sim.preprocess.adaptive import Adaptive
from robotid_sim.preprocess.errors_in_variables import ErrorsInVariables
from robotid_sim.preprocess.fourier_fit import FourierFit
from robotid_sim.preprocess.kalman_torque import FivePointCubic, KalmanTorque
from robotid_sim.preprocess.linear_filters import Butterworth, SavitzkyGolay
from robotid_sim.preprocess.period_averaging import PeriodAveraging
from robotid_sim.preprocess.preprocessor import Preprocessor
from robotid_sim.preprocess.rts import RtsSmoother
from robotid_sim.registry import Registry

PREPROCESSORS: Registry[Preprocessor] = Registry(
    "preprocessor",
    Preprocessor,
    {
        "adaptive": Adaptive,
        "butterworth": Butterworth,
        "errors-in-variables": ErrorsInVariables,
        "five-point": FivePointCubic,
        "fourier-fit": FourierFit,
        "kalman-torque": KalmanTorque,
        "period-averaging": PeriodAveraging,
        "rts": RtsSmoother,
        "savitzky-golay": SavitzkyGolay,
    },
)
