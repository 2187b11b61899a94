"""Colors of the viewer, as numbers; colors shared with pages come from the palette."""

from collections.abc import Sequence

import numpy as np

from robotid_sim.palette import rgb

Rgb = tuple[int, int, int]
Rgba = tuple[float, float, float, float]
"""Red, green, blue and opacity from 0 to 1, as in Bullet."""

INK_COLOR: Rgb = rgb("ink")
WHITE_COLOR: Rgb = (255, 255, 255)
MUTED_COLOR: Rgb = (108, 115, 124)
TRACK_COLOR: Rgb = (224, 228, 233)
PANEL_COLOR: Rgb = (252, 253, 254)
SKY_COLORS: tuple[Rgb, Rgb] = ((250, 251, 253), (216, 223, 231))
"""Background of a picture at the top and at the bottom."""
WINDOW_SKY_COLOR: Rgb = (236, 240, 245)
"""Background of the window."""
GRID_COLOR: Rgb = (158, 168, 180)

POSITION_COLOR: Rgb = (70, 84, 104)
VELOCITY_COLOR: Rgb = (86, 150, 205)
PATH_COLOR: Rgb = rgb("joint-2")
ANIMATION_COLORS = (PATH_COLOR, *(rgb(f"joint-{k}") for k in (3, 4, 5, 6)))
"""Colors of the motion and of its ghosts; they differ from the colors of models."""
REFERENCE_COLOR: Rgb = (214, 217, 221)
"""Color of a robot with ghosts in the colors of models."""
LIMIT_COLOR: Rgb = rgb("warning")
"""Color of an exceeded limit."""
CONTACT_COLOR: Rgb = (214, 24, 38)
"""Color of a body in contact."""
AXIS_COLORS: tuple[Rgb, ...] = ((214, 38, 41), (43, 161, 43), (31, 102, 230))
"""Colors of the axes x, y, z of a frame."""

MODEL_COLORS: dict[str, Rgb] = {name: rgb(name) for name in ("true", "nominal", "identified")}
SPARE_COLORS: tuple[Rgb, ...] = (rgb("joint-2"), rgb("joint-3"), rgb("joint-4"))

_WARMTH_COLORS = np.array(
    [[226, 228, 230], [253, 216, 140], [245, 140, 60], [190, 20, 30]], dtype=float
)
"""Scale from neutral to warm and light to dark, readable without color vision."""


def warm(share: float) -> Rgb:
    """Compute the color of a share of a limit: neutral at 0, dark red at 1."""
    place = min(abs(share), 1.0) * (len(_WARMTH_COLORS) - 1)
    red, green, blue = (
        np.interp(place, range(len(_WARMTH_COLORS)), column) for column in _WARMTH_COLORS.T
    )
    return round(red), round(green), round(blue)


def model_color(name: str, index: int) -> Rgb:
    """Choose the color of a model by its name, otherwise by its index."""
    return MODEL_COLORS.get(name, SPARE_COLORS[index % len(SPARE_COLORS)])


def rgba(color: Sequence[int], alpha: float = 1.0) -> Rgba:
    """Convert a color of 0 to 255 to the format of Bullet."""
    red, green, blue = (value / 255.0 for value in color)
    return red, green, blue, alpha
