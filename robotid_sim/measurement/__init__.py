"""Logs, sensors and their errors, and log files."""

from typing import TYPE_CHECKING

from robotid_sim.registry import Registry

if TYPE_CHECKING:
    from robotid_sim.measurement.sensors import Sensor

SENSORS: "Registry[Sensor]" = Registry(
    "sensor",
    "robotid_sim.measurement.sensors:Sensor",
    {
        "dropped-samples": "robotid_sim.measurement.recording_faults:DroppedSamples",
        "encoder-colored-noise": "robotid_sim.measurement.encoder_sensors:EncoderColoredNoise",
        "encoder-harmonics": "robotid_sim.measurement.encoder_sensors:EncoderHarmonics",
        "encoder-noise": "robotid_sim.measurement.encoder_sensors:EncoderNoise",
        "encoder-quantization": "robotid_sim.measurement.encoder_sensors:EncoderQuantization",
        "motor-current": "robotid_sim.measurement.torque_sensors:MotorCurrent",
        "outliers": "robotid_sim.measurement.recording_faults:Outliers",
        "sample-jitter": "robotid_sim.measurement.encoder_sensors:SampleJitter",
        "torque-delay": "robotid_sim.measurement.torque_sensors:TorqueDelay",
        "torque-noise": "robotid_sim.measurement.torque_sensors:TorqueNoise",
        "torque-offset": "robotid_sim.measurement.torque_sensors:TorqueOffset",
        "torque-ripple": "robotid_sim.measurement.torque_sensors:TorqueRipple",
    },
)
