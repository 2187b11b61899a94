"""Controllers: laws from state and setpoint to joint torque."""

from robotid_sim.control.computed_torque import ComputedTorque
from robotid_sim.control.controller import Controller, Setpoint
from robotid_sim.control.gravity_pd import GravityPd
from robotid_sim.control.sliding_mode import LoopGains, SlidingMode
from robotid_sim.registry import Registry

CONTROLLERS: Registry[Controller] = Registry(
    "controller",
    {"computed-torque": ComputedTorque, "gravity-pd": GravityPd, "sliding-mode": SlidingMode},
)

__all__ = [
    "CONTROLLERS",
    "ComputedTorque",
    "Controller",
    "GravityPd",
    "LoopGains",
    "Setpoint",
    "SlidingMode",
]
