"""Logs, what sensors do to them, and their file forms."""

from robotid_sim.measurement.encoder_sensors import (
    EncoderColoredNoise,
    EncoderHarmonics,
    EncoderNoise,
    EncoderQuantization,
    SampleJitter,
)
from robotid_sim.measurement.files import load_log, save_log
from robotid_sim.measurement.log import Log, Truth
from robotid_sim.measurement.motion import Motion, RowFilter
from robotid_sim.measurement.presets import PRESETS, describe_presets, preset
from robotid_sim.measurement.recording_faults import DroppedSamples, Outliers
from robotid_sim.measurement.sensors import Sensor, measure, settled
from robotid_sim.measurement.torque_sensors import (
    MotorCurrent,
    TorqueDelay,
    TorqueNoise,
    TorqueOffset,
    TorqueRipple,
)
from robotid_sim.registry import Registry

SENSORS: Registry[Sensor] = Registry(
    "sensor",
    {
        "dropped-samples": DroppedSamples,
        "encoder-colored-noise": EncoderColoredNoise,
        "encoder-harmonics": EncoderHarmonics,
        "encoder-noise": EncoderNoise,
        "encoder-quantization": EncoderQuantization,
        "motor-current": MotorCurrent,
        "outliers": Outliers,
        "sample-jitter": SampleJitter,
        "torque-delay": TorqueDelay,
        "torque-noise": TorqueNoise,
        "torque-offset": TorqueOffset,
        "torque-ripple": TorqueRipple,
    },
)

__all__ = [
    "PRESETS",
    "SENSORS",
    "DroppedSamples",
    "EncoderColoredNoise",
    "EncoderHarmonics",
    "EncoderNoise",
    "EncoderQuantization",
    "Log",
    "Motion",
    "MotorCurrent",
    "Outliers",
    "RowFilter",
    "SampleJitter",
    "Sensor",
    "TorqueDelay",
    "TorqueNoise",
    "TorqueOffset",
    "TorqueRipple",
    "Truth",
    "describe_presets",
    "load_log",
    "measure",
    "preset",
    "save_log",
    "settled",
]
