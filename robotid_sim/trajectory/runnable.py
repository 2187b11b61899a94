"""Whether a robot can run a trajectory: its use of the limits, and its number of samples."""

import numpy as np

from robotid_sim.errors import OptionError
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.reference import Excitation, Trajectory

MOST_SAMPLES = 1e7
"""Samples of a run: more do not fit into the memory of a usual machine."""

TIMES = 2000
"""Times at which the use of limits is looked at."""

OVER = 1.01
"""Use of a limit that is no rounding."""


def limit_use(robot: Robot, path: Trajectory) -> dict[str, list[float]]:
    """Return how much of its limits a trajectory uses, joint by joint."""
    motion = path(np.linspace(path.start, path.duration, TIMES))
    limits = robot.limits
    uses = {
        "of_position": np.abs(motion.q - limits.middle) / limits.half_range,
        "of_velocity": np.abs(motion.dq) / limits.velocity,
        "of_acceleration": np.abs(motion.ddq) / limits.acceleration,
    }
    return {name: use.max(axis=0).tolist() for name, use in uses.items()}


def require_samples(seconds: float, rate: float, what: str) -> None:
    """Raise `OptionError` if a run of some time has too many samples; it names what is so long."""
    if not seconds * rate <= MOST_SAMPLES:
        raise OptionError(
            f"{what} runs for {seconds:.3g} s, which are {seconds * rate:.3g} samples at {rate:g} "
            f"Hz; give fewer periods or a lower rate, at most {MOST_SAMPLES:.0e} samples"
        )


def require_runnable(path: Excitation, robot: Robot, rate: float, where: str) -> None:
    """Raise `OptionError` unless a robot can run a trajectory; it names joint, limit and file.

    The size is looked at first, for it takes time and memory to look at the rest.
    """
    require_samples(path.duration - path.start, rate, where)
    for name, shares in limit_use(robot, path).items():
        worst = int(np.argmax(shares))
        if not shares[worst] <= OVER:
            raise OptionError(
                f"{where}: the motion uses {shares[worst]:.0%} of the {name.removeprefix('of_')} "
                f"limit of joint '{robot.joint_names[worst]}'; design one for this robot, or "
                "correct its limits (units are rad or m, and s)"
            )
