"""Smooth flat drawing: Pillow at twice the resolution, in units."""

import unicodedata
from functools import cache

from PIL import Image, ImageDraw, ImageFont

from robotid_sim.viewer import colors
from robotid_sim.viewer.colors import Rgb

OVERSAMPLING_FACTOR = 2

Point = tuple[float, float]
UnitBox = tuple[float, float, float, float]
"""Left, top, right, bottom [units]."""


def plain(text: str) -> str:
    """Return text in the letters that the built-in font has; accents are dropped."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode() or "?"


@cache
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Return Pillow's built-in font; no file of the system is needed."""
    return ImageFont.load_default(size)


def text_width(text: str, size: float) -> float:
    """Return the width of a text of some size [units]."""
    return font(100).getlength(text) * size / 100.0


class FlatDrawing:
    """A framed picture of a size in pixels, drawn on in units of `scale` pixels."""

    def __init__(self, size: tuple[int, int], scale: float) -> None:
        self.size, self.scale = size, scale
        self.unit = scale * OVERSAMPLING_FACTOR
        sheet = (size[0] * OVERSAMPLING_FACTOR, size[1] * OVERSAMPLING_FACTOR)
        self._sheet = Image.new("RGB", sheet, colors.PANEL_COLOR)
        self.pen = ImageDraw.Draw(self._sheet)
        edge = (0, 0, sheet[0] - 1, sheet[1] - 1)
        self.pen.rectangle(edge, outline=colors.TRACK_COLOR, width=OVERSAMPLING_FACTOR)

    def copy(self) -> "FlatDrawing":
        """Return a copy to draw on."""
        drawing = FlatDrawing(self.size, self.scale)
        drawing._sheet.paste(self._sheet)
        return drawing

    def picture(self) -> Image.Image:
        """Return the drawing as a picture."""
        return self._sheet.reduce(OVERSAMPLING_FACTOR)

    def text(self, at: Point, text: str, size: float, color: Rgb, anchor: str = "la") -> None:
        """Write a text; `anchor` as Pillow has it."""
        place, letters = [value * self.unit for value in at], font(round(size * self.unit))
        self.pen.text((place[0], place[1]), text, fill=color, font=letters, anchor=anchor)

    def bar(self, box: UnitBox, color: Rgb) -> None:
        """Fill a rectangle, at least a pixel wide and high."""
        left, top, right, bottom = (round(value * self.unit) for value in box)
        self.pen.rectangle((left, top, max(left, right - 1), max(top, bottom - 1)), fill=color)
