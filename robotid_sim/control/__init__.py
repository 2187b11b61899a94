"""Controllers: laws from state and setpoint to joint torque."""

from robotid_sim.control.controller import ModelController
from robotid_sim.control.linear_feedback import ComputedTorque, GravityPd, Pid
from robotid_sim.control.sliding_memory import (
    AdaptiveSlidingMode,
    IntegralSlidingMode,
    SuperTwisting,
)
from robotid_sim.control.sliding_mode import ExponentialReaching, PowerReaching, SlidingMode
from robotid_sim.registry import Registry

CONTROLLERS: Registry[ModelController] = Registry(
    "controller",
    ModelController,
    {
        "adaptive-sliding-mode": AdaptiveSlidingMode,
        "computed-torque": ComputedTorque,
        "exponential-reaching": ExponentialReaching,
        "gravity-pd": GravityPd,
        "integral-sliding-mode": IntegralSlidingMode,
        "pid": Pid,
        "power-reaching": PowerReaching,
        "sliding-mode": SlidingMode,
        "super-twisting": SuperTwisting,
    },
)
