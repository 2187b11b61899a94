"""Controllers: laws from state and setpoint to joint torque."""

from typing import TYPE_CHECKING

from robotid_sim.registry import Registry

if TYPE_CHECKING:
    from robotid_sim.control.controller import ModelController

CONTROLLERS: "Registry[ModelController]" = Registry(
    "controller",
    "robotid_sim.control.controller:ModelController",
    {
        "adaptive-sliding-mode": "robotid_sim.control.sliding_memory:AdaptiveSlidingMode",
        "computed-torque": "robotid_sim.control.linear_feedback:ComputedTorque",
        "exponential-reaching": "robotid_sim.control.sliding_mode:ExponentialReaching",
        "gravity-pd": "robotid_sim.control.linear_feedback:GravityPd",
        "integral-sliding-mode": "robotid_sim.control.sliding_memory:IntegralSlidingMode",
        "pid": "robotid_sim.control.linear_feedback:Pid",
        "power-reaching": "robotid_sim.control.sliding_mode:PowerReaching",
        "sliding-mode": "robotid_sim.control.sliding_mode:SlidingMode",
        "super-twisting": "robotid_sim.control.sliding_memory:SuperTwisting",
    },
)
