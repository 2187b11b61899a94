"""The time line at the bottom of the window, to click on, and the keys below it."""

from collections.abc import Sequence

from PIL import Image

from robotid_sim.viewer import colors
from robotid_sim.viewer.drawing import FlatDrawing, Point, text_width
from robotid_sim.viewer.playback_controls import KEYS, PlaybackControls

HEIGHT = 84
"""[units]"""
SIDE = 14
LINE_TOP, LINE_BOTTOM = 14, 20
KEYS_TOP, ROW = 31, 26
"""Top of the first row of keys, and distance to the next [units]."""
KEY_SIZE = 17
"""Height and least width of a key."""
TEXT = 10.5
SPACE = 12.0
"""Least distance between groups of keys [units]."""

ARROWS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}
"""Keys that are drawn, for the font has no arrows, and where they point."""


class Timeline:
    """Draws the state of the playback.

    `scale` is in pixels per unit, `marked` are spans of time to be marked in red [s].
    """

    def __init__(
        self,
        controls: PlaybackControls,
        scale: float = 1.0,
        marked: Sequence[tuple[float, float]] = (),
    ) -> None:
        self._controls, self._scale, self._marked = controls, scale, marked
        self.units = 2.0 * SIDE + max(_row_width(row) for row in KEYS)
        self.size = (round(self.units * scale), round(HEIGHT * scale))

    def share_at(self, x: float, y: float) -> float | None:
        """Return the share of the motion at a place, in shares of the picture's width and height.

        None off the time line.
        """
        if not 0.0 <= y <= (LINE_BOTTOM + 7.0) / HEIGHT:
            return None
        edge = SIDE / self.units
        share = (x - edge) / (1.0 - 2.0 * edge)
        return min(max(share, 0.0), 1.0) if -0.02 <= share <= 1.02 else None

    def draw(self) -> Image.Image:
        """Return the picture of the present state."""
        drawing = FlatDrawing(self.size, self._scale)
        right = self.units - SIDE
        at = SIDE + self._controls.share * (right - SIDE)
        for end, color in ((right, colors.TRACK), (at, colors.PATH)):
            drawing.rounded((SIDE, LINE_TOP, end, LINE_BOTTOM), color)
        for span in self._marked:
            left, end = (SIDE + self._controls.share_of(t) * (right - SIDE) for t in span)
            drawing.bar((left, LINE_BOTTOM + 2, end, LINE_BOTTOM + 5), colors.CONTACT)
        u, middle = drawing.unit, 0.5 * (LINE_TOP + LINE_BOTTOM)
        knob = ((at - 6) * u, (middle - 6) * u, (at + 6) * u, (middle + 6) * u)
        drawing.pen.ellipse(knob, colors.PATH, colors.PANEL, round(1.5 * u))
        for number, row in enumerate(KEYS):
            x, y = float(SIDE), KEYS_TOP + ROW * number + 0.5 * KEY_SIZE
            apart = SPACE + (right - SIDE - _row_width(row)) / (len(row) - 1)
            for *keys, word in row:
                for key in keys:
                    self._draw_key(drawing, (x, y), key)
                    x += _key_width(key) + 3.0
                drawing.text((x + 1.0, y), word, TEXT, colors.MUTED, anchor="lm")
                x += _word_width(word) + apart
        return drawing.picture()

    def _draw_key(self, drawing: FlatDrawing, at: Point, key: str) -> None:
        """Draw a key; `at` is the middle of its left side."""
        width, active = _key_width(key), self._controls.is_on(key)
        box = (at[0], at[1] - 0.5 * KEY_SIZE, at[0] + width, at[1] + 0.5 * KEY_SIZE)
        drawing.rounded(box, colors.PATH if active else colors.PANEL, colors.GRID)
        middle = (at[0] + 0.5 * width, at[1])
        if key in ARROWS:
            (x, y), (dx, dy) = middle, ARROWS[key]
            tip = (x + 3.6 * dx, y + 3.6 * dy)
            ends = [(x - 2.6 * dx + s * dy, y - 2.6 * dy + s * dx) for s in (3.4, -3.4)]
            points = [value * drawing.unit for point in (tip, *ends) for value in point]
            drawing.pen.polygon(points, fill=colors.INK)
        else:
            label = key.upper() if len(key) == 1 else key
            color = colors.PANEL if active else colors.INK
            drawing.text(middle, label, TEXT, color, anchor="mm")


def _row_width(row: Sequence[Sequence[str]]) -> float:
    groups = [sum(_key_width(k) + 3.0 for k in g[:-1]) + _word_width(g[-1]) for g in row]
    return sum(groups) + SPACE * (len(row) - 1)


def _key_width(key: str) -> float:
    narrow = key in ARROWS or len(key) == 1
    return float(KEY_SIZE) if narrow else text_width(key, TEXT) + 10.0


def _word_width(word: str) -> float:
    return 1.0 + text_width(word, TEXT)
