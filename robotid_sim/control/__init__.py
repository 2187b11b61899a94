"""Controllers: laws from state and setpoint to joint torque."""

from robotid_sim.control.adaptive_sliding_mode import AdaptiveSlidingMode
from robotid_sim.control.computed_torque import ComputedTorque
from robotid_sim.control.controller import ModelController
from robotid_sim.control.gravity_pd import GravityPd
from robotid_sim.control.integral_sliding_mode import IntegralSlidingMode
from robotid_sim.control.pid import Pid
from robotid_sim.control.sliding_mode import ExponentialReaching, PowerReaching, SlidingMode
from robotid_sim.control.super_twisting import SuperTwisting
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
