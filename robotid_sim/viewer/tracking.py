"""Tracking errors made visible: a reference, and motions beside it with their errors magnified."""

from collections.abc import Iterable

import numpy as np

from robotid_sim.arrays import Float2D
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.errors import OptionError
from robotid_sim.model.robot import Robot
from robotid_sim.validation.closed_loop import TaskMotions
from robotid_sim.viewer.animation import Animation, interpolated, require_showable, thinned
from robotid_sim.viewer.colors import model_color

SHOWN_ERROR = 0.2
"""Largest error of a joint that turns after magnification [rad]."""

SHOWN_SHARE = SHOWN_ERROR / (2.0 * np.pi)
"""The same of a joint that slides, over its range: 0.2 rad are that share of a turn."""

MAGNIFICATIONS = tuple(digit * 10.0**k for k in range(6) for digit in (1.0, 2.0, 5.0))
"""Those that are chosen from; beyond the last one, errors are rounding."""

ROUNDING = 1e-9


def tracking_animations(
    robot: Robot, motions: TaskMotions, magnification: float | None = None
) -> list[Animation]:
    r"""Return the reference of a task, and its motion with every model, the error magnified.

    Shown is :math:`q_{ref} + K (q - q_{ref})` with the magnification K, by default that of
    `visible_magnification`, each in the color of its model; the torques of the reference are those
    that `robot` needs. Raises `OptionError` if K is not positive and finite, or there are too many
    models; `LogError` if the runs are of another robot.
    """
    for log in motions.logs.values():
        log.require_robot(robot)
    require_showable(1 + len(motions.logs))
    errors = motions.errors()
    K = magnification
    if K is None:
        K = visible_magnification(robot, errors.values())
    if not 0.0 < K < np.inf:
        raise OptionError(f"a magnification of {K:g} is not usable; give one above zero")
    t = thinned(next(iter(motions.logs.values())).t)
    reference = motions.task.trajectory(t)
    tau = joint_torque(robot, reference.q, reference.dq, reference.ddq)
    name = f"{motions.task.name} reference"
    shown = [Animation(name, robot, t, reference.q, reference.dq, tau)]
    for index, (model, log) in enumerate(motions.logs.items()):
        # The error, not the motion: chords of that are off the reference, which K would magnify.
        error = interpolated(t, log.t, errors[model])
        title = model if K == 1.0 else f"{model}, error x {K:g}"
        q = reference.q + K * error
        dq = reference.dq + K * np.gradient(error, t, axis=0)
        color = model_color(model, index)
        shown.append(Animation(title, robot, t, q, dq, error=error, color=color))
    return shown


def visible_magnification(robot: Robot, errors: Iterable[Float2D]) -> float:
    """Return the largest of 1, 2, 5, 10, ... with which errors stay in bounds; at least 1.

    Joints are then shown at most `SHOWN_ERROR` from their reference, those that slide `SHOWN_SHARE`
    of their range; `errors` have the shape (N, n) each.
    """
    allowed = np.full(robot.dof, SHOWN_ERROR)
    slides = np.array(robot.prismatic)
    allowed[slides] = SHOWN_SHARE * 2.0 * robot.limits.half_range[slides]
    largest = max(float((np.abs(e) / allowed).max()) for e in errors)
    return max(K for K in MAGNIFICATIONS if K == 1.0 or K * largest <= 1.0 + ROUNDING)
