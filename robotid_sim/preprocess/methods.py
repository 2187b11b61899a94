"""The preprocessors that others are built on: they make motion and leave the torque alone."""

from robotid_sim.preprocess.butterworth import Butterworth
from robotid_sim.preprocess.fourier_fit import FourierFit
from robotid_sim.preprocess.preprocessor import Preprocessor
from robotid_sim.preprocess.rts import RtsSmoother
from robotid_sim.preprocess.savitzky_golay import SavitzkyGolay
from robotid_sim.registry import Registry

METHODS: Registry[Preprocessor] = Registry(
    "smoothing method",
    Preprocessor,
    {
        "butterworth": Butterworth,
        "fourier-fit": FourierFit,
        "rts": RtsSmoother,
        "savitzky-golay": SavitzkyGolay,
    },
)
