"""Smooth drawing in units, by Pillow at twice the resolution."""

import unicodedata
from functools import cache

from PIL import Image, ImageDraw, ImageFont

from robotid_sim.viewer import colors
from robotid_sim.viewer.colors import Rgb

OVERSAMPLING_FACTOR = 2

Point = tuple[float, float]
UnitBox = tuple[float, float, float, float]
"""Left, top, right, bottom [units]."""


def to_ascii(text: str) -> str:
    """Convert text to the letters of the built-in font, without accents."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode() or "?"


@cache
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Load Pillow's built-in font, which needs no system file."""
    return ImageFont.load_default(size)


def text_width(text: str, size: float) -> float:
    """Compute the width of a text [units]."""
    return font(100).getlength(text) * size / 100.0


class FlatDrawing:
    """Framed picture with a size in pixels; drawings are in units of `scale` pixels."""

    def __init__(self, size: tuple[int, int], scale: float) -> None:
        self.size, self.scale = size, scale
        self.unit = scale * OVERSAMPLING_FACTOR
        sheet = (size[0] * OVERSAMPLING_FACTOR, size[1] * OVERSAMPLING_FACTOR)
        self._sheet = Image.new("RGB", sheet, colors.PANEL_COLOR)
        self.pen = ImageDraw.Draw(self._sheet)
        edge = (0, 0, sheet[0] - 1, sheet[1] - 1)
        self.pen.rectangle(edge, outline=colors.TRACK_COLOR, width=OVERSAMPLING_FACTOR)

    def copy(self) -> "FlatDrawing":
        """Copy the drawing."""
        drawing = FlatDrawing(self.size, self.scale)
        drawing._sheet.paste(self._sheet)
        return drawing

    def picture(self) -> Image.Image:
        """Make the picture of the drawing."""
        return self._sheet.reduce(OVERSAMPLING_FACTOR)

    def text(self, at: Point, text: str, size: float, color: Rgb, anchor: str = "la") -> None:
        """Write a text; `anchor` is as in Pillow."""
        place, letters = [value * self.unit for value in at], font(round(size * self.unit))
        self.pen.text((place[0], place[1]), text, fill=color, font=letters, anchor=anchor)

    def bar(self, box: UnitBox, color: Rgb) -> None:
        """Fill a rectangle, at least a pixel wide and high."""
        x, y, x_end, y_end = (round(value * self.unit) for value in box)
        self.pen.rectangle((x, y, max(x, x_end - 1), max(y, y_end - 1)), fill=color)
