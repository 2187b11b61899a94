"""Build the motions of a replay: trajectory, log and closed loop."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from robotid_sim.arrays import Bool2D, Float1D, Float2D
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.palette import ROLE_COLORS, joint_role
from robotid_sim.report.figures.closed_loop import MAX_SCENARIOS, loop_motion, model_role
from robotid_sim.report.figures.excitation import MOTION_NAME, display_times
from robotid_sim.section import Section
from robotid_sim.trajectory.reference import Trajectory
from robotid_sim.validation.closed_loop import ClosedLoop, TaskMotions
from robotid_sim.validation.control_run import Trace
from robotid_sim.validation.prediction import Prediction
from robotid_sim.viewer.animation import Animation, ContactTimes, interpolate, reduce_times
from robotid_sim.viewer.sources import visible_magnification

LOG, UNSEEN = "log", "unseen log"
"""Names of the motions of logs, in charts and in the replay."""

MAX_RESIDUAL_RATIO = 3.0
"""Residual over its standard deviation at the last color of the scale."""

FIRST_GHOST_HUE = 3
"""First hue of ghost arms; the hues before it are those of models and of the path."""


@dataclass(frozen=True, slots=True, eq=False)
class GhostArm:
    """Another arm in the same place, drawn as a ghost."""

    name: str
    role: str
    """Color role of the palette."""
    difference: Float2D
    """Its position minus that of the main arm [rad or m], shape (N, n)."""


@dataclass(frozen=True, slots=True, eq=False)
class ReplayMotion:
    """A motion of a robot on a page."""

    name: str
    """Unique on the page; charts refer to it for their time axes."""
    animation: Animation
    ghosts: tuple[GhostArm, ...] = ()
    magnification: float = 1.0
    """Initial factor of the differences."""
    residual: Float2D | None = None
    """Residual torque over the value at the last color, shape (N, n)."""
    contact: Bool2D | None = None
    """Whether a link touches another link or the floor, shape (N, n)."""
    label: str = "reference"
    """Label of the main arm if there are ghost arms."""

    def reduce_samples(self, most: int) -> "ReplayMotion":
        """Return the motion with at most `most` samples."""
        shown = self.animation
        step = -(-shown.t.size // max(most, 2))
        if step == 1:
            return self
        keep = slice(None, None, step)
        tau = None if shown.tau is None else shown.tau[keep]
        t, q, dq = shown.t[keep], shown.q[keep], shown.dq[keep]
        beside = (replace(arm, difference=arm.difference[keep]) for arm in self.ghosts)
        return replace(
            self,
            animation=Animation(shown.name, shown.robot, t, q, dq, tau),
            ghosts=tuple(beside),
            residual=None if self.residual is None else self.residual[keep],
            contact=None if self.contact is None else self.contact[keep],
        )

    def add_contacts(self) -> "ReplayMotion":
        """Return the motion with the contacts of its links, if an engine is installed."""
        touching = ContactTimes.from_animation(self.animation).touching[
            :, : self.animation.robot.dof
        ]
        return replace(self, contact=touching if touching.any() else None)


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """A robot and its motions on a page."""

    robot: Robot
    motions: tuple[ReplayMotion, ...]
    camera: str = "iso"
    """A direction of `robotid_sim.viewer.camera`."""
    speed: float = 1.0
    """Initial speed: seconds of motion per second."""


def trajectory_motion(
    robot: Robot, trajectory: Trajectory, name: str = MOTION_NAME
) -> ReplayMotion:
    """Build the motion of a trajectory; of a periodic one the approach and one period."""
    animation = Animation.from_trajectory(robot, trajectory, name)
    shown = animation.t <= display_times(trajectory)[-1] + 1e-9
    tau = None if animation.tau is None else animation.tau[shown]
    channels = (animation.t[shown], animation.q[shown], animation.dq[shown], tau)
    return ReplayMotion(name, Animation(name, robot, *channels))


def log_motion(
    robot: Robot,
    log: Log,
    name: str = LOG,
    predicted: Prediction | None = None,
    noise_std: Float1D | None = None,
) -> ReplayMotion:
    """Build the motion of a log, with the residual of its prediction by the identified model.

    `noise_std` is the standard deviation of the residuals [N m], shape (n,).
    """
    animation = Animation.from_log(robot, log, name)
    if predicted is None or noise_std is None or predicted.t.size < 2:
        return ReplayMotion(name, animation)
    residual_size = np.abs(predicted.measured - predicted.predicted)
    full = MAX_RESIDUAL_RATIO * np.maximum(np.nan_to_num(noise_std), np.finfo(float).tiny)
    order = np.argsort(predicted.t, kind="stable")
    residual = interpolate(animation.t, predicted.t[order], residual_size[order] / full)
    return ReplayMotion(name, animation, residual=np.minimum(residual, 1.0))


def logs_motion(animations: Sequence[Animation]) -> ReplayMotion:
    """Build the motion of the first animation, with the others as ghosts at the same times."""
    first, *others = animations
    beside = tuple(
        GhostArm(a.name, joint_role(FIRST_GHOST_HUE + k), interpolate(first.t, a.t, a.q) - first.q)
        for k, a in enumerate(others)
    )
    return ReplayMotion(first.name, first, beside, label=first.name)


def make_tracking_motion(
    robot: Robot,
    name: str,
    trajectory: Trajectory,
    errors: Mapping[str, tuple[str, Float1D, Float2D]],
    magnification: float | None = None,
) -> ReplayMotion:
    """Build the motion of a reference with a ghost arm per model, with magnified errors.

    The torques are those of `robot` on the reference. `errors` has, by model, color role, times
    [s], shape (N,), and position minus reference, shape (N, n). The default magnification is
    that of `visible_magnification`.
    """
    t = reduce_times(next(iter(errors.values()))[1])
    reference = trajectory(t)
    tau = joint_torque(robot, reference.q, reference.dq, reference.ddq)
    beside = tuple(
        GhostArm(model, role, interpolate(t, times, error))
        for model, (role, times, error) in errors.items()
    )
    if magnification is None:
        magnification = visible_magnification(robot, [arm.difference for arm in beside])
    animation = Animation(name, robot, t, reference.q, reference.dq, tau)
    return ReplayMotion(name, animation, beside, magnification)


def loop_motions(robot: Robot, loop: ClosedLoop) -> list[ReplayMotion]:
    """Build the motion of the first run of every task and drawn scenario, with all models."""
    motions = []
    for task, scenario in product(loop.tasks, loop.scenarios[:MAX_SCENARIOS]):
        errors = {}
        for model in loop.models:
            run = loop.find(model, scenario, task.name)
            if run is not None and isinstance(run.trace, Trace):
                # A trace holds the reference minus the position.
                errors[model] = (model_role(loop, model), run.trace.t, -run.trace.error)
        if errors:
            name = loop_motion(task.name, scenario)
            motions.append(make_tracking_motion(robot, name, task.trajectory, errors))
    return motions


def tie_to_motion(section: Section, motion: str) -> Section:
    """Tie the time axes of a section to a motion of the replay."""
    return replace(section, charts=tuple(chart.tie_to_motion(motion) for chart in section.charts))


def task_motion(motions: TaskMotions, magnification: float | None, robot: Robot) -> ReplayMotion:
    """Build the motion of the reference of a task with a ghost arm per model."""
    errors = {
        model: (model if model in ROLE_COLORS else joint_role(k), motions.logs[model].t, error)
        for k, (model, error) in enumerate(motions.errors().items())
    }
    return make_tracking_motion(
        robot, motions.task.name, motions.task.trajectory, errors, magnification
    )
