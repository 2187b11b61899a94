"""What surrounds the robot in a picture: light, floor, background, shadow."""

from dataclasses import dataclass, replace

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.viewer import colors
from robotid_sim.viewer.camera import Camera
from robotid_sim.viewer.drawing import OVERSAMPLING
from robotid_sim.viewer.renderer import RenderedImage

SHADOW = 0.34
"""Opacity of the shadow on the floor."""
SHADOW_COLOR = (60, 70, 85)
SHADOW_PIXELS = 256
SOFTNESS = 2.2
"""Blur of the shadow's edge [pixels of the silhouette]."""

LIGHT = np.array([-0.55, 1.0, -0.45])
"""Direction to the light: right, up, away from the camera along the floor."""

STEPS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5)  # [m]
FADE = 3.0
"""How fast the grid fades with the distance from the motion."""


@dataclass(frozen=True, slots=True, eq=False)
class Floor:
    """The ground at height zero, where the base stands."""

    middle: Float1D
    """Below the middle of the motion [m], shape (2,)."""
    size: float
    """Size of the motion, over which the grid fades [m]."""
    step: float
    """Distance of the grid lines [m]."""

    @classmethod
    def below(cls, points: Float2D) -> "Floor":
        """Return the floor for a motion that sweeps these points, shape (N, 3)."""
        low, high = points.min(axis=0), points.max(axis=0)
        size = max(float(np.linalg.norm(high - low)), 1e-3)
        step = next((step for step in STEPS if size / step < 12.0), size / 8.0)
        return cls(0.5 * (low + high)[:2], size, step)

    def lines(self) -> list[Float2D]:
        """Return the grid lines as chains of points, shape (P, 3) each."""
        count = int(np.ceil(1.3 * self.size / self.step))
        origin = np.round(self.middle / self.step) * self.step
        along, zero = np.linspace(-count, count, 16 * count + 1) * self.step, np.array(0.0)
        grid = []
        for offset in np.arange(-count, count + 1) * self.step:
            grid.append((origin[0] + along, origin[1] + offset, zero))
            grid.append((origin[0] + offset, origin[1] + along, zero))
        return [np.column_stack(np.broadcast_arrays(*line)) for line in grid]

    def strength(self, points: Float2D) -> Float1D:
        """Return how much of the grid is left at points, 1 in the middle, 0 far away."""
        far = np.linalg.norm(points[:, :2] - self.middle, axis=1) / self.size
        return np.asarray(np.exp(-FADE * far**2))


def light_for(camera: Camera) -> Float1D:
    """Return the unit direction to the light for a camera: from above, over its left shoulder."""
    right, _, back = camera.axes.T
    # The camera looks that way along the floor.
    level = (0.0, 1.0, 0.0) if abs(back[2]) > 0.98 else (-right[1], right[0], 0.0)
    light = LIGHT @ np.array([right, (0.0, 0.0, 1.0), level])
    return np.asarray(light / np.linalg.norm(light))


def light_camera(light: Float1D, points: Float2D) -> Camera:
    """Return a camera that sees a motion from the far light."""
    low, high = points.min(axis=0), points.max(axis=0)
    yaw = float(np.degrees(np.arctan2(light[0], -light[1])))
    pitch = -float(np.degrees(np.arcsin(light[2])))
    half = 0.5 * float(np.linalg.norm(high - low))
    return Camera.distant(0.5 * (low + high), half, yaw, pitch, SHADOW_PIXELS)


def backdrop(camera: Camera, floor: Floor) -> Image.Image:
    """Return the background: a gradient, and the grid on the floor."""
    top, bottom = (np.array(color, dtype=float) for color in colors.SKY)
    share = np.linspace(0.0, 1.0, camera.height)[:, None, None] ** 1.5
    sky = np.broadcast_to(top + (bottom - top) * share, (camera.height, camera.width, 3))
    picture = Image.fromarray(sky.round().astype(np.uint8)).convert("RGBA")
    big = replace(camera, width=camera.width * OVERSAMPLING, height=camera.height * OVERSAMPLING)
    lines = Image.new("RGBA", (big.width, big.height), (*colors.GRID, 0))
    pen = ImageDraw.Draw(lines)
    for points in floor.lines():
        uv, depth = big.project(points)
        alpha = (170.0 * floor.strength(points)).astype(int)
        seen = (alpha > 2) & (depth > 0.0) & (np.abs(uv).max(axis=1) < 1e5)
        for k in np.flatnonzero(seen[:-1] & seen[1:]):
            color = (*colors.GRID, int(alpha[k]))
            pen.line((*uv[k], *uv[k + 1]), fill=color, width=OVERSAMPLING)
    return Image.alpha_composite(picture, lines.reduce(OVERSAMPLING)).convert("RGB")


class Shadow:
    """The shadow on the floor: the silhouette of the `light` camera, thrown along its rays."""

    def __init__(self, camera: Camera, light: Camera) -> None:
        rays = camera.rays()
        down = rays[..., 2] < -1e-6
        far = np.where(down, -camera.eye[2] / np.where(down, rays[..., 2], -1.0), 0.0)
        uv, _ = light.project(camera.eye + far[..., None] * rays)
        cell = np.floor(uv).astype(int)
        inside = (cell >= 0).all(axis=-1) & (cell < light.width).all(axis=-1) & (far > 0.0)
        self._pixels = np.flatnonzero(inside)
        self._cells = (cell[..., 1] * light.width + cell[..., 0])[inside]
        self._size = (camera.width, camera.height)

    def cast(self, picture: Image.Image, silhouette: RenderedImage) -> None:
        """Darken the picture where the shadow falls."""
        seen = np.where(np.isfinite(silhouette.depth), 255.0 * SHADOW, 0.0).astype(np.uint8)
        soft = np.asarray(Image.fromarray(seen).filter(ImageFilter.GaussianBlur(SOFTNESS)))
        mask = np.zeros(self._size[0] * self._size[1], dtype=np.uint8)
        mask[self._pixels] = soft.ravel()[self._cells]
        picture.paste(SHADOW_COLOR, (0, 0), Image.frombuffer("L", self._size, mask.tobytes()))
