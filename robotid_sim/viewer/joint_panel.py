"""The panel beside the robot: time, and every joint as shares of its limits."""

import unicodedata
from collections.abc import Sequence
from functools import cache

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from robotid_sim.viewer import colors
from robotid_sim.viewer.animation import (
    Animation,
    JointState,
    position_share,
    torque_share,
    velocity_share,
)
from robotid_sim.viewer.colors import Rgb

WIDTH = 206
"""Width of the panel [units]; a unit is a pixel of a picture 480 pixels high."""
ROW = 18
HEAD = 62
GAP = 8
OVERSAMPLING = 2


def plain(text: str) -> str:
    """Return text in the letters that the built-in font has; accents are dropped."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode() or "?"


@cache
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Return Pillow's built-in font; no file of the system is needed."""
    return ImageFont.load_default(size)


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
    """Draws the panel of one playback.

    Parameters
    ----------
    playback : Animation
        What is shown; decides the columns.
    scale : float
        Pixels per unit.
    notes : sequence of (str, color)
        A legend below the joints: text and the color of its mark.
    """

    def __init__(
        self, playback: Animation, scale: float = 1.0, notes: Sequence[tuple[str, Rgb]] = ()
    ) -> None:
        self.playback = playback
        self._unit = scale * OVERSAMPLING
        self._scale = scale
        self._columns = ["position", "velocity"] + ["torque"] * (playback.tau is not None)
        self._notes = tuple(notes)
        self._names = short_names(playback.robot.joint_names)
        letters = font(100)
        self._bars = 12 + 8 + max(0.105 * letters.getlength(name) for name in self._names)
        rows = HEAD + ROW * playback.robot.dof + 6
        self.size = (
            round(WIDTH * scale),
            round((rows + 15 * len(notes) + 4 * bool(notes)) * scale),
        )
        self._base = self._empty()

    def draw(self, sample: JointState, state: str = "") -> Image.Image:
        """Return the panel at a sample; `state` is a word about the playing."""
        picture = self._base.copy()
        pen = ImageDraw.Draw(picture)
        self._text(pen, (12, 25), f"t = {sample.t:.2f} s", 12.5, colors.INK)
        if state:
            self._text(pen, (WIDTH - 12, 26), state, 10.5, colors.MUTED, anchor="ra")
        robot = self.playback.robot
        shares = [position_share(robot, sample.q), velocity_share(robot, sample.dq)]
        if sample.tau is not None:
            shares.append(torque_share(robot, sample.tau))
        for column, values in enumerate(shares):
            for joint, share in enumerate(values):
                self._bar(pen, joint, column, float(share))
        return picture.reduce(OVERSAMPLING)

    def _empty(self) -> Image.Image:
        size = (self.size[0] * OVERSAMPLING, self.size[1] * OVERSAMPLING)
        picture = Image.new("RGB", size, colors.PANEL)
        pen = ImageDraw.Draw(picture)
        edge = (0, 0, size[0] - 1, size[1] - 1)
        pen.rectangle(edge, outline=colors.TRACK, width=OVERSAMPLING)
        robot = self.playback.robot
        title = plain(robot.name)
        if title != plain(self.playback.name):
            title = f"{title}: {plain(self.playback.name)}"
        self._text(pen, (12, 8), title[:32], 12.5, colors.INK)
        for column, name in enumerate(self._columns):
            left, right = self._track(column)
            self._text(pen, (0.5 * (left + right), 45), name, 9.5, colors.MUTED, anchor="ma")
        for joint, name in enumerate(self._names):
            middle = HEAD + ROW * (joint + 0.5)
            self._text(pen, (12, middle), name, 10.5, colors.INK, anchor="lm")
            for column in range(len(self._columns)):
                self._box(pen, *self._track(column), middle - 3.5, middle + 3.5, colors.TRACK)
        for k, (text, color) in enumerate(self._notes):
            y = HEAD + ROW * robot.dof + 12 + 15 * k
            self._box(pen, 12, 24, y - 2.5, y + 2.5, color)
            self._text(pen, (30, y), plain(text), 10.5, colors.INK, anchor="lm")
        return picture

    def _bar(self, pen: ImageDraw.ImageDraw, joint: int, column: int, share: float) -> None:
        left, right = self._track(column)
        middle = HEAD + ROW * (joint + 0.5)
        at = 0.5 * (left + right) + 0.5 * (right - left) * float(np.clip(share, -1.0, 1.0))
        zero = 0.5 * (left + right)
        over = abs(share) > 1.0
        if column == 0:
            color = colors.LIMIT if over else colors.POSITION
            self._box(pen, zero - 0.5, zero + 0.5, middle - 3.5, middle + 3.5, colors.GRID)
            self._box(pen, at - 2.0, at + 2.0, middle - 5.0, middle + 5.0, color)
            return
        color = colors.VELOCITY if column == 1 else colors.warm(share)
        color = colors.LIMIT if over else color
        low, high = min(zero, at), max(zero, at)
        self._box(pen, low, high, middle - 3.5, middle + 3.5, color)
        self._box(pen, zero - 0.5, zero + 0.5, middle - 3.5, middle + 3.5, colors.MUTED)

    def _track(self, column: int) -> tuple[float, float]:
        """Return left and right end of a column's bars [units]."""
        start, count = self._bars, len(self._columns)
        width = (WIDTH - 12 - start - GAP * (count - 1)) / count
        left = start + column * (width + GAP)
        return left, left + width

    def _box(
        self,
        pen: ImageDraw.ImageDraw,
        left: float,
        right: float,
        top: float,
        bottom: float,
        color: Rgb,
    ) -> None:
        a, b, c, d = (round(value * self._unit) for value in (left, top, right, bottom))
        pen.rectangle((a, b, max(a, c - 1), max(b, d - 1)), fill=color)

    def _text(
        self,
        pen: ImageDraw.ImageDraw,
        at: tuple[float, float],
        text: str,
        size: float,
        color: Rgb,
        anchor: str = "la",
    ) -> None:
        u = self._unit
        pen.text(
            (at[0] * u, at[1] * u), text, fill=color, font=font(round(size * u)), anchor=anchor
        )
