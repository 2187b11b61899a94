"""Figures of an excitation: use of the limits, and the path of the tool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.chart import Chart, Clock, Curve, Panel, Points, Space
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.kinematics.forward import link_poses, tip_position
from robotid_sim.model.robot import Robot
from robotid_sim.palette import joint_role
from robotid_sim.trajectory.reference import Trajectory

if TYPE_CHECKING:
    from robotid_sim.excitation.explain import Explanation
    from robotid_sim.excitation.optimal import DesignResult

MOTION_NAME = "excitation"
"""Name of the motion in the replay of a page."""

SAMPLE_COUNT = 500
"""Samples per period in a figure."""


def display_times(trajectory: Trajectory) -> Float1D:
    """Return the times of the approach and one period [s]."""
    end = trajectory.duration if trajectory.period is None else trajectory.period
    return np.linspace(trajectory.start, min(end, trajectory.duration), SAMPLE_COUNT)


def excitation(trajectory: Trajectory, robot: Robot) -> Chart:
    """Plot position, velocity, acceleration and torque of a trajectory over their limits.

    Limits and torques are those of `robot`.
    """
    t = display_times(trajectory)
    motion, limits = trajectory(t), robot.limits
    tau = joint_torque(robot, motion.q, motion.dq, motion.ddq)
    shares = {
        "position": (motion.q - limits.middle) / limits.half_range,
        "velocity": motion.dq / limits.velocity,
        "acceleration": motion.ddq / limits.acceleration,
        "torque": tau / limits.effort,
    }
    if not np.isfinite(limits.effort).all():
        shares["torque"] = tau / np.abs(tau).max(axis=0)
    timed = Panel(marks=(), x_label="time [s]", clock=Clock(MOTION_NAME))
    timed = replace(timed, levels=(-1.0, 1.0), y_range=(-1.1, 1.1))
    panels = []
    for name, values in shares.items():
        limited = name != "torque" or bool(np.isfinite(limits.effort).all())
        y_label = f"{name} / {'limit' if limited else 'peak'} [-]"
        lines = (
            Curve(t, values[:, j], joint, joint_role(j))
            for j, joint in enumerate(robot.joint_names)
        )
        panels.append(replace(timed, marks=tuple(lines), y_label=y_label))
    return Chart(
        name="excitation",
        title="Excitation",
        caption="Approach from rest (negative time) and one period of the excitation, over the "
        "limits of each joint (dashed); torque of the nominal model. Position is measured from the "
        "middle of the range.",
        panels=tuple(panels),
        panel_height=1.25,
        share_x=True,
    )


def information_shares(explanation: Explanation) -> Chart:
    """Plot the shares of the information by joint and by time."""
    joints = np.arange(len(explanation.joint_names), dtype=float)
    tenths = np.arange(explanation.window_shares.size, dtype=float)
    by_joint = Points(100.0 * explanation.joint_shares, joints, "by joint", "identified", size=6.0)
    by_time = Curve(10.0 * tenths + 5.0, 100.0 * explanation.window_shares, "by time", "identified")
    return Chart(
        name="information-shares",
        title="Information by joint and time",
        caption="Share of the information about all base parameters: by measured "
        "joint torque (left), and over a run (right).",
        panels=(
            Panel(marks=(by_joint,), x_label="share [%]", y_ticks=explanation.joint_names),
            Panel(marks=(by_time,), x_label="time [% of a run]", y_label="share [%]"),
        ),
        columns=2,
        panel_height=1.6,
    )


def design_convergence(designs: Sequence[DesignResult], criterion: str) -> Chart | None:
    """Plot the criterion over the iterations of every start; None for a random design."""
    design = designs[0]
    if not design.histories:
        return None
    curves = [
        Curve(np.arange(float(len(values))), np.array(values), f"start {k + 1}", joint_role(k))
        for k, values in enumerate(design.histories)
    ]
    levels = (design.value_before, design.value_after)
    panel = Panel(marks=tuple(curves), x_label="iteration", y_label="criterion", levels=levels)
    return Chart(
        name="design-convergence",
        title="Convergence of the design",
        caption=f"{criterion} after every iteration, starting from the best random candidates; "
        "less is better. Iterations may violate limits. Dashed: the best random candidate and the "
        "resulting design, which respects all limits.",
        panels=(panel,),
        panel_height=1.6,
    )


def tool_path(trajectory: Trajectory, robot: Robot) -> Chart:
    """Plot the path of the tool in space, and the arm at the start."""
    times = np.linspace(0.0, display_times(trajectory)[-1], SAMPLE_COUNT)
    approach = np.linspace(trajectory.start, 0.0, SAMPLE_COUNT // 4)
    first = trajectory(approach[:1]).q[0]
    joints = link_poses(robot, first)[:, :3, 3]
    curves = [
        ("arm at the start", "muted", np.vstack([np.zeros(3), joints, tip_position(robot, first)])),
        ("approach", "nominal", tip_position(robot, trajectory(approach).q)),
        ("excitation", "identified", tip_position(robot, trajectory(times).q)),
    ]
    if trajectory.start == 0.0:
        del curves[1]
    return Chart(
        name="tool-path",
        title="Tool path",
        caption="Path of the tool over one period (blue) after the approach (orange), its shadow "
        "on the lowest plane, and the arm at the start (gray).",
        panels=(Space(curves=tuple(curves)),),
        panel_height=4.2,
    )
