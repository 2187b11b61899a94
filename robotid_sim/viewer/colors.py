"""Colors of the viewer, as numbers; roles that pages have too are those of the palette."""

from collections.abc import Sequence

import numpy as np

from robotid_sim.palette import rgb
from robotid_sim.viewer.robot_visuals import Color

Rgb = tuple[int, int, int]

INK: Rgb = rgb("ink")
MUTED: Rgb = (108, 115, 124)
TRACK: Rgb = (224, 228, 233)
PANEL: Rgb = (252, 253, 254)
SKY: tuple[Rgb, Rgb] = ((250, 251, 253), (216, 223, 231))
"""Background at the top and at the bottom."""
GRID: Rgb = (158, 168, 180)

POSITION: Rgb = (70, 84, 104)
VELOCITY: Rgb = (86, 150, 205)
PATH: Rgb = rgb("joint-2")
GHOST: Rgb = rgb("joint-3")
LIMIT: Rgb = rgb("warning")
"""A limit that is exceeded."""

MODELS: dict[str, Rgb] = {name: rgb(name) for name in ("true", "nominal", "identified")}
SPARE: tuple[Rgb, ...] = (rgb("joint-2"), rgb("joint-3"), rgb("joint-4"))

_WARMTH = np.array([[226, 228, 230], [253, 216, 140], [245, 140, 60], [190, 20, 30]], dtype=float)
"""Neutral to warm, lighter to darker, so that it reads without color vision too."""


def warm(share: float) -> Rgb:
    """Return the color of a share of a limit: neutral at 0, dark red at 1."""
    place = min(abs(share), 1.0) * (len(_WARMTH) - 1)
    k = min(int(place), len(_WARMTH) - 2)
    red, green, blue = _WARMTH[k] + (place - k) * (_WARMTH[k + 1] - _WARMTH[k])
    return round(red), round(green), round(blue)


def model_color(name: str, index: int) -> Rgb:
    """Return the color of a model by its name, else by its place among the models."""
    return MODELS.get(name, SPARE[index % len(SPARE)])


def rgba(color: Sequence[int], alpha: float = 1.0) -> Color:
    """Return a color of 0 to 255 as Bullet takes it."""
    red, green, blue = (value / 255.0 for value in color)
    return red, green, blue, alpha
