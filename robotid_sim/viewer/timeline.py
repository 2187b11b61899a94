"""The strip at the bottom of the window: a time line to click on, and the keys."""

from PIL import Image, ImageDraw

from robotid_sim.viewer import colors
from robotid_sim.viewer.joint_panel import font
from robotid_sim.viewer.playback_controls import KEYS, PlaybackControls

OVERSAMPLING = 2
HEIGHT = 58
"""[units]"""
SIDE = 14
LINE_TOP, LINE_BOTTOM = 14, 20
CAPS = 31
"""Top of the keys [units]."""
CAP = 17
"""Height and least width of a key."""
TEXT = 10.5

ARROWS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}
"""Keys that are drawn, for the font has no arrows, and where they point."""


class Timeline:
    """Draws the strip.

    Parameters
    ----------
    player : PlaybackControls
        Whose state it shows.
    scale : float
        Pixels per unit.
    """

    def __init__(self, player: PlaybackControls, scale: float = 1.0) -> None:
        self._player = player
        self._unit = scale * OVERSAMPLING
        self._letters = font(100)
        width = SIDE + sum(self._group_width(group) + 12.0 for group in KEYS) - 12.0 + SIDE
        self.units = width
        self.size = (round(width * scale), round(HEIGHT * scale))

    def share_at(self, x: float, y: float) -> float | None:
        """Return the share of the motion at a place in the strip, shares of its width and height.

        None off the time line.
        """
        if not 0.0 <= y <= (LINE_BOTTOM + 7.0) / HEIGHT:
            return None
        edge = SIDE / self.units
        share = (x - edge) / (1.0 - 2.0 * edge)
        return min(max(share, 0.0), 1.0) if -0.02 <= share <= 1.02 else None

    def draw(self) -> Image.Image:
        """Return the strip as the player is now."""
        size = (self.size[0] * OVERSAMPLING, self.size[1] * OVERSAMPLING)
        picture = Image.new("RGB", size, colors.PANEL)
        pen = ImageDraw.Draw(picture)
        u, player = self._unit, self._player
        edge = (0, 0, size[0] - 1, size[1] - 1)
        pen.rectangle(edge, outline=colors.TRACK, width=OVERSAMPLING)
        left, right = SIDE, self.units - SIDE
        at = left + player.share * (right - left)
        for end, color in ((right, colors.TRACK), (at, colors.PATH)):
            box = (left * u, LINE_TOP * u, end * u, LINE_BOTTOM * u)
            pen.rounded_rectangle(box, radius=3 * u, fill=color)
        middle = 0.5 * (LINE_TOP + LINE_BOTTOM)
        knob = ((at - 6) * u, (middle - 6) * u, (at + 6) * u, (middle + 6) * u)
        pen.ellipse(knob, fill=colors.PATH, outline=colors.PANEL, width=round(1.5 * u))
        x = float(SIDE)
        for group in KEYS:
            x = self._draw_group(pen, x, group) + 12.0
        return picture.reduce(OVERSAMPLING)

    def _draw_group(self, pen: ImageDraw.ImageDraw, x: float, group: tuple[str, ...]) -> float:
        """Draw keys and their word from `x` on; return where they end [units]."""
        u = self._unit
        for key in group[:-1]:
            width, active = self._cap_width(key), self._player.is_on(key)
            box = (x * u, CAPS * u, (x + width) * u, (CAPS + CAP) * u)
            fill = colors.PATH if active else colors.PANEL
            pen.rounded_rectangle(
                box, radius=3 * u, fill=fill, outline=colors.GRID, width=round(0.7 * u)
            )
            color = colors.PANEL if active else colors.INK
            middle = (x + 0.5 * width, CAPS + 0.5 * CAP)
            if key in ARROWS:
                self._arrow(pen, middle, key)
            else:
                label = key.upper() if len(key) == 1 else key
                self._text(pen, middle, label, color, anchor="mm")
            x += width + 3.0
        self._text(pen, (x + 1.0, CAPS + 0.5 * CAP), group[-1], colors.MUTED, anchor="lm")
        return x + 1.0 + self._length(group[-1])

    def _arrow(self, pen: ImageDraw.ImageDraw, at: tuple[float, float], key: str) -> None:
        along = ARROWS[key]
        across = (along[1], along[0])
        tip = [(at[k] + 3.6 * along[k]) * self._unit for k in (0, 1)]
        ends = [
            [(at[k] - 2.6 * along[k] + side * 3.4 * across[k]) * self._unit for k in (0, 1)]
            for side in (1, -1)
        ]
        pen.polygon([*tip, *ends[0], *ends[1]], fill=colors.INK)

    def _text(
        self,
        pen: ImageDraw.ImageDraw,
        at: tuple[float, float],
        text: str,
        color: colors.Rgb,
        anchor: str,
    ) -> None:
        u = self._unit
        size = font(round(TEXT * u))
        pen.text((at[0] * u, at[1] * u), text, fill=color, font=size, anchor=anchor)

    def _length(self, text: str) -> float:
        return self._letters.getlength(text) * TEXT / 100.0

    def _cap_width(self, key: str) -> float:
        if key in ARROWS or len(key) == 1:
            return float(CAP)
        return self._length(key) + 10.0

    def _group_width(self, group: tuple[str, ...]) -> float:
        caps = sum(self._cap_width(key) + 3.0 for key in group[:-1])
        return caps + 1.0 + self._length(group[-1])
