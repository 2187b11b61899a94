"""The panel beside the robot: time, and every joint as shares of its limits."""

from collections.abc import Iterable, Sequence

import numpy as np
from PIL import Image

from robotid_sim.viewer import colors
from robotid_sim.viewer.animation import (
    Animation,
    JointState,
    position_share,
    torque_share,
    velocity_share,
)
from robotid_sim.viewer.colors import Rgb
from robotid_sim.viewer.drawing import FlatDrawing, plain, text_width

WIDTH = 206
"""Width of the panel [units]; a unit is a pixel of a picture 480 pixels high."""
ROW = 18
HEAD = 62
GAP = 8


def legend(animations: Sequence[Animation], models: Iterable[str]) -> list[tuple[str, Rgb]]:
    """Return the names of two animations and of models, each with its color."""
    notes = [(name, colors.model_color(name, k)) for k, name in enumerate(models)]
    if len(animations) == 1:
        return notes
    return [(a.name, c) for a, c in zip(animations, colors.ANIMATIONS, strict=False)] + notes


def short_names(names: Sequence[str], longest: int = 13) -> list[str]:
    """Return names that fit: without leading words that all share, else cut in the middle."""
    texts = [plain(name) for name in names]
    alike = [len(set(letters)) == 1 for letters in zip(*texts, strict=False)]
    shared = [*alike, False].index(False)
    starts = [k + 1 for k, letter in enumerate(texts[0][:shared]) if letter in "_-/ "]
    while max(map(len, texts)) > longest and starts:
        cut = starts.pop(0)
        texts = [plain(name)[cut:] for name in names]
    if max(map(len, texts)) > longest and all(text.endswith("_joint") for text in texts):
        texts = [text.removesuffix("_joint") for text in texts]
    head, tail = (longest - 2) // 2, (longest - 1) // 2
    return [t if len(t) <= longest else f"{t[:head]}..{t[-tail:]}" for t in texts]


class JointPanel:
    """Draws the panel of one animation.

    The columns follow the animation; `scale` is in pixels per unit, and `notes` are a legend below
    the joints: text and color of its mark.
    """

    def __init__(
        self, animation: Animation, scale: float = 1.0, notes: Sequence[tuple[str, Rgb]] = ()
    ) -> None:
        self.animation = animation
        self._columns = ["position", "velocity"] + ["torque"] * (animation.tau is not None)
        self._names = short_names(animation.robot.joint_names)
        self._bars = 12 + 8 + max(text_width(name, 10.5) for name in self._names)
        height = HEAD + ROW * animation.robot.dof + 6 + 15 * len(notes) + 4 * bool(notes)
        self.size = (round(WIDTH * scale), round(height * scale))
        self._base = FlatDrawing(self.size, scale)
        self._draw_base(self._base, notes)

    def draw(self, state: JointState, note: str = "") -> Image.Image:
        """Return the panel at a state; `note` is a word about the playing."""
        drawing = self._base.copy()
        drawing.text((12, 25), f"t = {state.t:.2f} s", 12.5, colors.INK)
        drawing.text((WIDTH - 12, 26), note, 10.5, colors.MUTED, anchor="ra")
        robot = self.animation.robot
        shares = [position_share(robot, state.q), velocity_share(robot, state.dq)]
        if state.tau is not None:
            shares.append(torque_share(robot, state.tau))
        for column, values in enumerate(shares):
            for joint, share in enumerate(values):
                self._draw_share(drawing, joint, column, float(share))
        return drawing.picture()

    def _draw_base(self, drawing: FlatDrawing, notes: Sequence[tuple[str, Rgb]]) -> None:
        robot = self.animation.robot
        title = plain(robot.name)
        if title != plain(self.animation.name):
            title = f"{title}: {plain(self.animation.name)}"
        drawing.text((12, 8), title[:32], 12.5, colors.INK)
        for column, name in enumerate(self._columns):
            left, right = self._track(column)
            drawing.text((0.5 * (left + right), 45), name, 9.5, colors.MUTED, anchor="ma")
        for joint, name in enumerate(self._names):
            y = HEAD + ROW * (joint + 0.5)
            drawing.text((12, y), name, 10.5, colors.INK, anchor="lm")
            for column in range(len(self._columns)):
                left, right = self._track(column)
                drawing.bar((left, y - 3.5, right, y + 3.5), colors.TRACK)
        for k, (text, color) in enumerate(notes):
            y = HEAD + ROW * robot.dof + 12 + 15 * k
            drawing.bar((12, y - 2.5, 24, y + 2.5), color)
            drawing.text((30, y), plain(text), 10.5, colors.INK, anchor="lm")

    def _draw_share(self, drawing: FlatDrawing, joint: int, column: int, share: float) -> None:
        left, right = self._track(column)
        y = HEAD + ROW * (joint + 0.5)
        zero = 0.5 * (left + right)
        at = zero + 0.5 * (right - left) * float(np.clip(share, -1.0, 1.0))
        color = (colors.POSITION, colors.VELOCITY, colors.warm(share))[column]
        color = colors.LIMIT if abs(share) > 1.0 else color
        middle = (zero - 0.5, y - 3.5, zero + 0.5, y + 3.5)
        if column == 0:
            drawing.bar(middle, colors.GRID)
            drawing.bar((at - 2.0, y - 5.0, at + 2.0, y + 5.0), color)
        else:
            drawing.bar((min(zero, at), y - 3.5, max(zero, at), y + 3.5), color)
            drawing.bar(middle, colors.MUTED)

    def _track(self, column: int) -> tuple[float, float]:
        """Return left and right end of a column's bars [units]."""
        start, count = self._bars, len(self._columns)
        width = (WIDTH - 12 - start - GAP * (count - 1)) / count
        left = start + column * (width + GAP)
        return left, left + width
