"""Colors of the viewer, as numbers; roles that pages have too are those of the palette."""

from collections.abc import Sequence

import numpy as np

from robotid_sim.palette import rgb

Rgb = tuple[int, int, int]
Rgba = tuple[float, float, float, float]
"""Red, green, blue and opacity of 0 to 1, as Bullet takes them."""

INK: Rgb = rgb("ink")
WHITE: Rgb = (255, 255, 255)
MUTED: Rgb = (108, 115, 124)
TRACK: Rgb = (224, 228, 233)
PANEL: Rgb = (252, 253, 254)
SKY: tuple[Rgb, Rgb] = ((250, 251, 253), (216, 223, 231))
"""Background of a picture at the top and at the bottom."""
WINDOW_SKY: Rgb = (236, 240, 245)
"""Background of the window."""
GRID: Rgb = (158, 168, 180)

POSITION: Rgb = (70, 84, 104)
VELOCITY: Rgb = (86, 150, 205)
PATH: Rgb = rgb("joint-2")
ANIMATIONS = (PATH, *(rgb(f"joint-{k}") for k in (3, 4, 5, 6)))
"""Of the motion and of those beside it; none is that of a model."""
REFERENCE: Rgb = (214, 217, 221)
"""A robot beside which ghosts in the colors of models stand, some of which are those of robots."""
LIMIT: Rgb = rgb("warning")
"""A limit that is exceeded."""
CONTACT: Rgb = (214, 24, 38)
"""A body that touches another one."""
AXES: tuple[Rgb, ...] = ((214, 38, 41), (43, 161, 43), (31, 102, 230))
"""The axes x, y, z of a frame."""

MODELS: dict[str, Rgb] = {name: rgb(name) for name in ("true", "nominal", "identified")}
SPARE: tuple[Rgb, ...] = (rgb("joint-2"), rgb("joint-3"), rgb("joint-4"))

_WARMTH = np.array([[226, 228, 230], [253, 216, 140], [245, 140, 60], [190, 20, 30]], dtype=float)
"""Neutral to warm, lighter to darker, so that it reads without color vision too."""


def warm(share: float) -> Rgb:
    """Return the color of a share of a limit: neutral at 0, dark red at 1."""
    place = min(abs(share), 1.0) * (len(_WARMTH) - 1)
    red, green, blue = (np.interp(place, range(len(_WARMTH)), column) for column in _WARMTH.T)
    return round(red), round(green), round(blue)


def model_color(name: str, index: int) -> Rgb:
    """Return the color of a model by its name, else by its place among the models."""
    return MODELS.get(name, SPARE[index % len(SPARE)])


def rgba(color: Sequence[int], alpha: float = 1.0) -> Rgba:
    """Return a color of 0 to 255 as Bullet takes it."""
    red, green, blue = (value / 255.0 for value in color)
    return red, green, blue, alpha
