"""Position, velocity and torque of one joint over time, with a mark at the present."""

from collections.abc import Mapping, Sequence

import numpy as np
from PIL import Image

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.model.robot import Robot
from robotid_sim.viewer import colors
from robotid_sim.viewer.animation import Animation, animation_colors, interpolated
from robotid_sim.viewer.colors import Rgb
from robotid_sim.viewer.drawing import FlatDrawing, plain
from robotid_sim.viewer.joint_panel import COLUMNS, WIDTH, short_number

HEAD, PLOT, GAP = 36, 40, 16
"""Heights of the title, of a plot and of the room between plots [units]."""
LEFT, RIGHT = 42, 12
LARGEST = 1.1
"""A plot reaches that much beyond the largest value."""

LEFT_OVER, ERROR = "torque less model", "tracking error"

UNITS = COLUMNS | {LEFT_OVER: COLUMNS["torque"], ERROR: ("mrad", "mm")}

Curves = Mapping[Rgb, Float2D]
"""Values of all joints over time, shape (N, n), by color."""


class JointCurves:
    """Draws the curves of an animation, one joint at a time; `scale` is in pixels per unit.

    With models also what is left of the torque, less that which a model needs for the same motion,
    in the color of the model. Tracking errors of animations beside it take the place of torques.
    """

    def __init__(
        self,
        animation: Animation,
        scale: float = 1.0,
        models: Mapping[str, Robot] | None = None,
        beside: Sequence[Animation] = (),
    ) -> None:
        self.animation = animation
        tau = animation.tau
        self._plots: dict[str, Curves] = {
            "position": {colors.POSITION: animation.q},
            "velocity": {colors.VELOCITY: animation.dq},
        }
        tones = animation_colors([animation, *beside])[1:]
        errors: dict[Rgb, Float2D] = {
            color: 1e3 * interpolated(animation.t, other.t, other.error)
            for other, color in zip(beside, tones, strict=True)
            if other.error is not None
        }
        if errors:
            self._plots[ERROR] = errors
        elif tau is not None:
            self._plots["torque"] = {colors.warm(2.0 / 3.0): tau}
        if tau is not None and models and not errors:
            self._plots[LEFT_OVER] = {
                colors.model_color(name, k): tau - needed_torque(model, animation)
                for k, (name, model) in enumerate(models.items())
            }
        height = HEAD + (PLOT + GAP) * len(self._plots)
        self.size = (round(WIDTH * scale), round(height * scale))
        self._scale, self._base, self._joint = scale, FlatDrawing(self.size, scale), -1

    def draw(self, time: float, joint: int) -> Image.Image:
        """Return the curves of a joint with a mark at a time [s]."""
        if joint != self._joint:
            self._joint, self._base = joint, FlatDrawing(self.size, self._scale)
            self._draw_base(self._base, joint)
        drawing = self._base.copy()
        x = self._x(np.array([time]))[0]
        for k in range(len(self._plots)):
            top = HEAD + (PLOT + GAP) * k
            drawing.bar((x - 0.5, top, x + 0.5, top + PLOT), colors.INK)
        return drawing.picture()

    def _draw_base(self, drawing: FlatDrawing, joint: int) -> None:
        robot, t = self.animation.robot, self.animation.t
        limits, slides = robot.limits, robot.prismatic[joint]
        drawing.text((12, 7), plain(robot.joint_names[joint])[:32], 12.5, colors.INK)
        bounds = {
            "position": (limits.lower[joint], limits.upper[joint]),
            "velocity": (-limits.velocity[joint], limits.velocity[joint]),
            "torque": (-limits.effort[joint], limits.effort[joint]),
        }
        for k, (name, curves) in enumerate(self._plots.items()):
            top = HEAD + (PLOT + GAP) * k
            values = [0.0, *np.concatenate([curve[:, joint] for curve in curves.values()])]
            low, high = min(values), max(values)
            half = 0.5 * max((high - low) * LARGEST, 1e-9)
            span = (0.5 * (low + high) - half, 0.5 * (low + high) + half)
            inside = [v for v in bounds.get(name, ()) if span[0] < v < span[1]]
            self._draw_plot(drawing, top, span, inside)
            for color, curve in curves.items():
                y = top + PLOT * _share(curve[:, joint], span)
                points = (np.column_stack([self._x(t), y]) * drawing.unit).ravel().tolist()
                drawing.pen.line(points, fill=color, width=round(1.2 * drawing.unit), joint="curve")
            title = f"{name} [{UNITS[name][slides]}]"
            drawing.text((LEFT, top - 2), title, 9.0, colors.MUTED, anchor="lb")
        foot = HEAD + (PLOT + GAP) * len(self._plots) - 3
        for x, time, anchor in ((LEFT, t[0], "lb"), (WIDTH - RIGHT, t[-1], "rb")):
            drawing.text((x, foot), f"{short_number(time)} s", 9.0, colors.MUTED, anchor=anchor)

    def _draw_plot(
        self, drawing: FlatDrawing, top: float, span: tuple[float, float], bounds: list[float]
    ) -> None:
        """Draw the frame of a plot, zero, its ends in numbers, and limits that lie in it."""
        right = WIDTH - RIGHT
        drawing.bar((LEFT, top, right, top + PLOT), colors.WHITE)
        marks = ((0.0, colors.GRID), *((value, colors.LIMIT) for value in bounds))
        for value, color in marks:
            y = top + PLOT * float(_share(np.array([value]), span)[0])
            drawing.bar((LEFT, y, right, y + 0.6), color)
        for value, y, anchor in ((span[1], top, "ra"), (span[0], top + PLOT, "rb")):
            drawing.text((LEFT - 3, y), short_number(value), 9.0, colors.MUTED, anchor=anchor)

    def _x(self, t: Float1D) -> Float1D:
        """Return the places of times [units]."""
        first, last = self.animation.start, self.animation.end
        return np.asarray(LEFT + (WIDTH - LEFT - RIGHT) * (t - first) / (last - first))


def needed_torque(model: Robot, animation: Animation) -> Float2D:
    """Return the torque that a model needs for the motion of an animation [N m], shape (N, n)."""
    ddq = np.gradient(animation.dq, animation.t, axis=0)
    return joint_torque(model, animation.q, animation.dq, ddq)


def _share(values: Float1D, span: tuple[float, float]) -> Float1D:
    """Return how far below the top of a plot values are, as shares of its height."""
    return np.asarray((span[1] - values) / (span[1] - span[0]))
