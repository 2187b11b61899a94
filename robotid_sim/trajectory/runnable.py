"""Whether a robot can run a trajectory: its use of the limits, and its number of samples."""

import numpy as np

from robotid_sim.errors import OptionError, ShapeError
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.reference import Excitation, Trajectory

MOST_SAMPLES = 1e7
"""Samples of a run: more do not fit into the memory of a usual machine."""

TIMES = 2000
"""Times at which the use of limits is looked at."""

OVER = 1.01
"""Use of a limit that is no rounding."""

MANY = 1e4
"""Use of a limit that is no longer told as a percentage."""


def limit_use(
    robot: Robot, path: Trajectory, span: tuple[float, float] | None = None
) -> dict[str, list[float]]:
    """Return how much of its limits a trajectory uses, joint by joint; all along, or in a span."""
    motion = path(np.linspace(*(span or (path.start, path.duration)), TIMES))
    limits = robot.limits
    uses = {
        "of_position": np.abs(motion.q - limits.middle) / limits.half_range,
        "of_velocity": np.abs(motion.dq) / limits.velocity,
        "of_acceleration": np.abs(motion.ddq) / limits.acceleration,
    }
    return {name: use.max(axis=0).tolist() for name, use in uses.items()}


def require_samples(
    seconds: float, rate: float, what: str, remedy: str = "give fewer periods"
) -> None:
    """Raise `OptionError` if a run of some time has too many samples; it names what is so long."""
    if not seconds * rate <= MOST_SAMPLES:
        raise OptionError(
            f"{what} runs for {seconds:.3g} s, which are {seconds * rate:.3g} samples at {rate:g} "
            f"Hz; {remedy} or a lower rate, at most {MOST_SAMPLES:.0e} samples"
        )


def require_runnable(path: Excitation, robot: Robot, rate: float, where: str) -> None:
    """Raise `OptionError` unless a robot can run a trajectory; it names joint, limit and file.

    The size is looked at first, for it takes time and memory to look at the rest.
    """
    require_samples(path.duration - path.start, rate, where)
    end = float(getattr(path, "motion", path).duration)
    for span in ((path.start, path.duration), (0.0, end)):  # a short motion hides in a long way
        try:
            with np.errstate(all="ignore"):
                uses = limit_use(robot, path, span)
        except ShapeError as error:
            raise OptionError(
                f"{where}: the motion is too fast for its numbers ({error}); correct its times, "
                "which are in s"
            ) from error
        _require_within(uses, robot, where)


def _require_within(uses: dict[str, list[float]], robot: Robot, where: str) -> None:
    for name, shares in uses.items():
        worst = int(np.argmax(shares))
        if not shares[worst] <= OVER:
            use = shares[worst]
            size = f"{use:.0%} of" if use < MANY else f"{use:.1e} times"
            raise OptionError(
                f"{where}: the motion uses {size} the {name.removeprefix('of_')} "
                f"limit of joint '{robot.joint_names[worst]}'; design one for this robot, or "
                "correct its limits (units are rad or m, and s)"
            )
