"""Logs, what sensors do to them, and their file forms."""

from robotid_sim.measurement.files import load_log, save_log
from robotid_sim.measurement.log import Log, Truth
from robotid_sim.measurement.motion import Motion, RowFilter
from robotid_sim.measurement.sensors import (
    EncoderNoise,
    EncoderQuantization,
    Sensor,
    TorqueDelay,
    TorqueNoise,
    measure,
)
from robotid_sim.registry import Registry

SENSORS: Registry[Sensor] = Registry(
    "sensor",
    {
        "encoder-noise": EncoderNoise,
        "encoder-quantization": EncoderQuantization,
        "torque-delay": TorqueDelay,
        "torque-noise": TorqueNoise,
    },
)

__all__ = [
    "SENSORS",
    "EncoderNoise",
    "EncoderQuantization",
    "Log",
    "Motion",
    "RowFilter",
    "Sensor",
    "TorqueDelay",
    "TorqueNoise",
    "Truth",
    "load_log",
    "measure",
    "save_log",
]
