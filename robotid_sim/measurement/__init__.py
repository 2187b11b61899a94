"""Logs, what sensors do to them, and their file forms."""

from robotid_sim.measurement.encoder_sensors import (
    EncoderColoredNoise,
    EncoderHarmonics,
    EncoderNoise,
    EncoderQuantization,
    SampleJitter,
)
from robotid_sim.measurement.recording_faults import DroppedSamples, Outliers
from robotid_sim.measurement.sensors import Sensor
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
    Sensor,
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
