"""The panel next to the robot: time, and the state of every joint in numbers and over its limits.

It also shows position, velocity and torque of one joint over time, with a mark at the current time.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from PIL import Image

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.model.robot import Robot
from robotid_sim.viewer import colors
from robotid_sim.viewer.animation import (
    Animation,
    ContactTimes,
    JointState,
    animation_colors,
    interpolate,
    position_share,
    torque_share,
    velocity_share,
)
from robotid_sim.viewer.colors import Rgb
from robotid_sim.viewer.drawing import FlatDrawing, text_width, to_ascii

PANEL_WIDTH = 228
"""Width of the panel [units]; a unit is a pixel of a picture 480 pixels high."""
ROW_HEIGHT = 22
HEAD_HEIGHT = 72
GAP_WIDTH = 8
BAR_RANGE = (11.0, 17.0)
"""Top and bottom of a bar in its row [units]; its number is above it."""
WARNING_HEIGHT = 17
"""Height of the line for contacts [units]."""

COLUMN_UNITS = {"position": ("rad", "m"), "velocity": ("rad/s", "m/s"), "torque": ("N m", "N")}
"""Columns and their units, of revolute and of prismatic joints."""


def legend(animations: Sequence[Animation], models: Iterable[str]) -> list[tuple[str, Rgb]]:
    """List the names of animations and of models, each with its color.

    A single animation needs no name, nor does a model with the color of an animation.
    """
    used = {animation.color for animation in animations}
    notes = [(name, colors.model_color(name, k)) for k, name in enumerate(models)]
    notes = [(name, color) for name, color in notes if color not in used]
    if len(animations) == 1:
        return notes
    pairs = zip(animations, animation_colors(animations), strict=True)
    return [(animation.name, color) for animation, color in pairs] + notes


def short_names(names: Sequence[str], longest: int = 13) -> list[str]:
    """Shorten names: remove common leading words, otherwise cut in the middle."""
    texts = [to_ascii(name) for name in names]
    alike = [len(set(letters)) == 1 for letters in zip(*texts, strict=False)]
    shared = [*alike, False].index(False)
    starts = [k + 1 for k, letter in enumerate(texts[0][:shared]) if letter in "_-/ "]
    while max(map(len, texts)) > longest and starts:
        cut = starts.pop(0)
        texts = [to_ascii(name)[cut:] for name in names]
    if max(map(len, texts)) > longest and all(text.endswith("_joint") for text in texts):
        texts = [text.removesuffix("_joint") for text in texts]
    head, tail = (longest - 2) // 2, (longest - 1) // 2
    return [t if len(t) <= longest else f"{t[:head]}..{t[-tail:]}" for t in texts]


def short_number(value: float) -> str:
    """Write a number in at most five digits, three of them significant if below 100."""
    digits = 2 if abs(value) < 10.0 else 1 if abs(value) < 100.0 else 0
    return f"{value:z.{digits}f}"


class JointPanel:
    """Draws the panel of one animation.

    The columns follow the animation; `scale` is in pixels per unit, `notes` are a legend below the
    joints: text and color of its mark. With `contacts`, the links in contact are named.
    """

    def __init__(
        self,
        animation: Animation,
        scale: float = 1.0,
        notes: Sequence[tuple[str, Rgb]] = (),
        contacts: ContactTimes | None = None,
    ) -> None:
        self.animation = animation
        self._contacts = contacts if contacts and contacts.bodies_ever_in_contact else None
        self._columns = list(COLUMN_UNITS)[: 2 if animation.tau is None else 3]
        self._names = short_names(animation.robot.joint_names)
        self._bars = 12 + 8 + max(text_width(name, 10.5) for name in self._names)
        self._foot = (
            HEAD_HEIGHT + ROW_HEIGHT * animation.robot.dof + 6 + 15 * len(notes) + 4 * bool(notes)
        )
        height = self._foot + WARNING_HEIGHT * (self._contacts is not None)
        self.size = (round(PANEL_WIDTH * scale), round(height * scale))
        self._base, self._notes = FlatDrawing(self.size, scale), notes
        self._draw_base(self._base)

    def draw(self, state: JointState) -> Image.Image:
        """Draw the panel at a state."""
        drawing = self._base.copy()
        drawing.text((12, 25), f"t = {state.t:.2f} s", 12.5, colors.INK_COLOR)
        robot = self.animation.robot
        values = [state.q, state.dq] if state.tau is None else [state.q, state.dq, state.tau]
        shares = [position_share, velocity_share, torque_share]
        for column, (channel, share) in enumerate(zip(values, shares, strict=False)):
            start, end = self._track(column)
            zero = 0.5 * (start + end)
            for joint, (part, value) in enumerate(
                zip(share(robot, channel).tolist(), channel.tolist(), strict=True)
            ):
                top, bottom = self._bar(joint)
                at = zero + 0.5 * (end - start) * float(np.clip(part, -1.0, 1.0))
                color = (colors.POSITION_COLOR, colors.VELOCITY_COLOR, colors.warm(part))[column]
                color = colors.LIMIT_COLOR if abs(part) > 1.0 else color
                middle = (zero - 0.5, top, zero + 0.5, bottom)
                if column == 0:
                    drawing.bar(middle, colors.GRID_COLOR)
                    drawing.bar((at - 2.0, top - 1.0, at + 2.0, bottom + 1.0), color)
                else:
                    drawing.bar((min(zero, at), top, max(zero, at), bottom), color)
                    drawing.bar(middle, colors.MUTED_COLOR)
                position = (zero, HEAD_HEIGHT + ROW_HEIGHT * joint + 9.5)
                drawing.text(position, short_number(value), 9.0, colors.INK_COLOR, anchor="mb")
        touching = self._contacts.contacts_at(state.t) if self._contacts else ()
        if touching:
            links = {-1: robot.base, **{k: link.name for k, link in enumerate(robot.links)}}
            text = "CONTACT: " + ", ".join(short_names([links[k] for k in sorted(touching)]))
            if text_width(text, 10.5) >= PANEL_WIDTH - 24:
                text = f"CONTACT: {len(touching)} links"
            drawing.text(
                (12, self._foot + 0.3 * WARNING_HEIGHT),
                text,
                10.5,
                colors.CONTACT_COLOR,
                anchor="lm",
            )
        return drawing.picture()

    def _draw_base(self, drawing: FlatDrawing) -> None:
        robot = self.animation.robot
        title = to_ascii(robot.name)
        if title != to_ascii(self.animation.name):
            title = f"{title}: {to_ascii(self.animation.name)}"
        drawing.text((12, 8), title[:32], 12.5, colors.INK_COLOR)
        for column, name in enumerate(self._columns):
            start, end = self._track(column)
            revolute, prismatic = COLUMN_UNITS[name]
            units = dict.fromkeys(prismatic if sliding else revolute for sliding in robot.prismatic)
            for y_text, text in ((43, name), (54, ", ".join(units))):
                drawing.text(
                    (0.5 * (start + end), y_text), text, 9.5, colors.MUTED_COLOR, anchor="ma"
                )
        for joint, name in enumerate(self._names):
            y = HEAD_HEIGHT + ROW_HEIGHT * (joint + 0.5)
            drawing.text((12, y), name, 10.5, colors.INK_COLOR, anchor="lm")
            for column in range(len(self._columns)):
                start, end = self._track(column)
                top, bottom = self._bar(joint)
                drawing.bar((start, top, end, bottom), colors.TRACK_COLOR)
        for k, (text, color) in enumerate(self._notes):
            y = HEAD_HEIGHT + ROW_HEIGHT * self.animation.robot.dof + 12 + 15 * k
            drawing.bar((12, y - 2.5, 24, y + 2.5), color)
            drawing.text((30, y), to_ascii(text), 10.5, colors.INK_COLOR, anchor="lm")

    @staticmethod
    def _bar(joint: int) -> tuple[float, float]:
        """Compute top and bottom of a joint's bars [units]."""
        return HEAD_HEIGHT + ROW_HEIGHT * joint + BAR_RANGE[
            0
        ], HEAD_HEIGHT + ROW_HEIGHT * joint + BAR_RANGE[1]

    def _track(self, column: int) -> tuple[float, float]:
        """Compute left and right end of a column's bars [units]."""
        start, count = self._bars, len(self._columns)
        width = (PANEL_WIDTH - 12 - start - GAP_WIDTH * (count - 1)) / count
        begin = start + column * (width + GAP_WIDTH)
        return begin, begin + width


CURVES_HEAD, PLOT, CURVES_GAP = 36, 40, 16
"""Heights of the title, of a plot and of the gap between plots [units]."""
LEFT_MARGIN, RIGHT_MARGIN = 42, 12
PLOT_RANGE_RATIO = 1.1
"""Range of a plot over the range of its values."""

RESIDUAL_NAME, ERROR = "torque less model", "tracking error"

CURVE_UNITS = COLUMN_UNITS | {RESIDUAL_NAME: COLUMN_UNITS["torque"], ERROR: ("mrad", "mm")}

Curves = Mapping[Rgb, Float2D]
"""Values of all joints over time, shape (N, n), by color."""


class JointCurves:
    """Draws the curves of an animation, one joint at a time; `scale` is in pixels per unit.

    With models, plots also have the torque residual: torque minus model torque for the same motion,
    in the color of the model. Tracking errors of further animations replace torques.
    """

    def __init__(
        self,
        animation: Animation,
        scale: float = 1.0,
        models: Mapping[str, Robot] | None = None,
        ghosts: Sequence[Animation] = (),
    ) -> None:
        self.animation = animation
        tau = animation.tau
        self._plots: dict[str, Curves] = {
            "position": {colors.POSITION_COLOR: animation.q},
            "velocity": {colors.VELOCITY_COLOR: animation.dq},
        }
        tones = animation_colors([animation, *ghosts])[1:]
        errors: dict[Rgb, Float2D] = {
            color: 1e3 * interpolate(animation.t, other.t, other.error)
            for other, color in zip(ghosts, tones, strict=True)
            if other.error is not None
        }
        if errors:
            self._plots[ERROR] = errors
        elif tau is not None:
            self._plots["torque"] = {colors.warm(2.0 / 3.0): tau}
        if tau is not None and models and not errors:
            self._plots[RESIDUAL_NAME] = {
                colors.model_color(name, k): tau - compute_needed_torque(model, animation)
                for k, (name, model) in enumerate(models.items())
            }
        height = CURVES_HEAD + (PLOT + CURVES_GAP) * len(self._plots)
        self.size = (round(PANEL_WIDTH * scale), round(height * scale))
        self._scale, self._base, self._joint = scale, FlatDrawing(self.size, scale), -1

    def draw(self, time: float, joint: int) -> Image.Image:
        """Draw the curves of a joint with a mark at a time [s]."""
        if joint != self._joint:
            self._joint, self._base = joint, FlatDrawing(self.size, self._scale)
            self._draw_base(self._base, joint)
        drawing = self._base.copy()
        x = self._x(np.array([time]))[0]
        for k in range(len(self._plots)):
            top = CURVES_HEAD + (PLOT + CURVES_GAP) * k
            drawing.bar((x - 0.5, top, x + 0.5, top + PLOT), colors.INK_COLOR)
        return drawing.picture()

    def _draw_base(self, drawing: FlatDrawing, joint: int) -> None:
        robot, t = self.animation.robot, self.animation.t
        limits, is_prismatic = robot.limits, robot.prismatic[joint]
        drawing.text((12, 7), to_ascii(robot.joint_names[joint])[:32], 12.5, colors.INK_COLOR)
        bounds = {
            "position": (limits.lower[joint], limits.upper[joint]),
            "velocity": (-limits.velocity[joint], limits.velocity[joint]),
            "torque": (-limits.effort[joint], limits.effort[joint]),
        }
        for k, (name, curves) in enumerate(self._plots.items()):
            top = CURVES_HEAD + (PLOT + CURVES_GAP) * k
            values = [0.0, *np.concatenate([curve[:, joint] for curve in curves.values()])]
            low, high = min(values), max(values)
            half = 0.5 * max((high - low) * PLOT_RANGE_RATIO, 1e-9)
            span = (0.5 * (low + high) - half, 0.5 * (low + high) + half)
            inside = [v for v in bounds.get(name, ()) if span[0] < v < span[1]]
            drawing.bar(
                (LEFT_MARGIN, top, PANEL_WIDTH - RIGHT_MARGIN, top + PLOT), colors.WHITE_COLOR
            )
            for number, value in enumerate((0.0, *inside)):
                height = top + PLOT * float(_share(np.array([value]), span)[0])
                tone = colors.LIMIT_COLOR if number else colors.GRID_COLOR
                drawing.bar((LEFT_MARGIN, height, PANEL_WIDTH - RIGHT_MARGIN, height + 0.6), tone)
            for value, height, anchor in ((span[1], top, "ra"), (span[0], top + PLOT, "rb")):
                position = (LEFT_MARGIN - 3, height)
                drawing.text(position, short_number(value), 9.0, colors.MUTED_COLOR, anchor=anchor)
            for color, curve in curves.items():
                y = top + PLOT * _share(curve[:, joint], span)
                points = (np.column_stack([self._x(t), y]) * drawing.unit).ravel().tolist()
                drawing.pen.line(points, fill=color, width=round(1.2 * drawing.unit), joint="curve")
            title = f"{name} [{CURVE_UNITS[name][is_prismatic]}]"
            drawing.text((LEFT_MARGIN, top - 2), title, 9.0, colors.MUTED_COLOR, anchor="lb")
        foot = CURVES_HEAD + (PLOT + CURVES_GAP) * len(self._plots) - 3
        for x, time, anchor in (
            (LEFT_MARGIN, t[0], "lb"),
            (PANEL_WIDTH - RIGHT_MARGIN, t[-1], "rb"),
        ):
            drawing.text(
                (x, foot), f"{short_number(time)} s", 9.0, colors.MUTED_COLOR, anchor=anchor
            )

    def _x(self, t: Float1D) -> Float1D:
        """Compute the horizontal positions of times [units]."""
        first, last = self.animation.start, self.animation.end
        return np.asarray(
            LEFT_MARGIN + (PANEL_WIDTH - LEFT_MARGIN - RIGHT_MARGIN) * (t - first) / (last - first)
        )


def compute_needed_torque(model: Robot, animation: Animation) -> Float2D:
    """Compute the torque of a model for the motion of an animation [N m], shape (N, n)."""
    ddq = np.gradient(animation.dq, animation.t, axis=0)
    return joint_torque(model, animation.q, animation.dq, ddq)


def _share(values: Float1D, span: tuple[float, float]) -> Float1D:
    """Compute the distance of values from the top of a plot, over its height."""
    return np.asarray((span[1] - values) / (span[1] - span[0]))
