"""Overlays of the rendered robot: tool path, frames, inertia.

The module also makes the surroundings of the robot in a picture: light, floor, background, shadow.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image, ImageDraw, ImageFilter
from scipy.spatial import ConvexHull, QhullError

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.kinematics.forward import link_poses
from robotid_sim.model.robot import Robot
from robotid_sim.viewer import colors
from robotid_sim.viewer.camera import Camera
from robotid_sim.viewer.colors import AXIS_COLORS, WHITE_COLOR, Rgb
from robotid_sim.viewer.drawing import OVERSAMPLING_FACTOR
from robotid_sim.viewer.renderer import RenderedImage
from robotid_sim.viewer.robot_visuals import inertia_ellipsoid

AHEAD_OPACITY, HIDDEN_FACTOR = 0.35, 0.28
"""Opacity of the path ahead of the tool, and factor for a path behind the robot."""
DEPTH_BIAS = 0.01
"""Share of the depth by which a hidden line must be behind the robot."""


class OverlayCanvas:
    """Transparent layer over a camera's picture, on which smooth lines are drawn.

    `unit` is in pixels, one if the picture is 480 pixels high.
    """

    def __init__(self, camera: Camera, unit: float) -> None:
        size = (camera.width * OVERSAMPLING_FACTOR, camera.height * OVERSAMPLING_FACTOR)
        self.camera, self._unit = camera, unit * OVERSAMPLING_FACTOR
        self._sheet = Image.new("RGBA", size, (*WHITE_COLOR, 0))
        self._pen = ImageDraw.Draw(self._sheet)

    def line(self, uv: Float2D, color: Rgb, width: float, opacity: float = 1.0) -> None:
        """Draw a polyline through points in pixels of the picture, shape (N, 2)."""
        if len(uv) > 1:
            fill, stroke = (*color, round(255 * opacity)), max(1, round(width * self._unit))
            self._pen.line(_to_layer(uv), fill=fill, width=stroke, joint="curve")

    def area(self, uv: Float2D, color: Rgb, opacity: float) -> None:
        """Fill a polygon; it covers earlier drawings."""
        self._pen.polygon(_to_layer(uv), fill=(*color, round(255 * opacity)))

    def dot(self, uv: Float1D, color: Rgb, radius: float) -> None:
        """Draw a round mark with a white rim."""
        for r, fill in ((radius + 1.2, WHITE_COLOR), (radius, color)):
            self._pen.circle(_to_layer(uv), r * self._unit, (*fill, 255))

    def lay_on(self, picture: Image.Image) -> None:
        """Draw the layer on a picture."""
        sheet = self._sheet.reduce(OVERSAMPLING_FACTOR)
        picture.paste(sheet, (0, 0), sheet)


def _to_layer(uv: Float) -> list[float]:
    """Convert pixels of the picture to coordinates of the layer."""
    return (np.clip(uv, -1e4, 1e4) * OVERSAMPLING_FACTOR).ravel().tolist()


class PathOverlay:
    """The tool path: translucent where the tool has not been yet, or behind the robot."""

    def __init__(self, camera: Camera, times: Float1D, path: Float2D, color: Rgb) -> None:
        self._times, self._color = times, color
        self._uv, self._depth = camera.project(path)

    def draw(self, canvas: OverlayCanvas, image: RenderedImage, time: float) -> None:
        """Draw the path at a time; `image` is the robot in front of it."""
        hidden = self._depth * (1.0 - DEPTH_BIAS) > image.depth_at(self._uv)
        now = int(np.clip(np.searchsorted(self._times, time), 1, self._times.size - 1))
        tip = np.array([np.interp(time, self._times, uv) for uv in self._uv.T])
        ahead = np.vstack([tip, self._uv[now:]])
        behind = np.vstack([self._uv[:now], tip])
        for uv, is_hidden, width, opacity in (
            (ahead, np.r_[hidden[now], hidden[now:]], 1.3, AHEAD_OPACITY),
            (behind, np.r_[hidden[:now], hidden[now - 1]], 2.2, 1.0),
        ):
            # Draw alternating hidden and visible parts, which share end points.
            changes = np.flatnonzero(is_hidden[1:] != is_hidden[:-1]) + 1
            for a, b in zip(np.r_[0, changes], np.r_[changes + 1, len(uv)], strict=True):
                factor = HIDDEN_FACTOR if is_hidden[a] else 1.0
                canvas.line(uv[a:b], self._color, width, opacity * factor)
        canvas.dot(tip, self._color, 3.2)


def draw_frames(canvas: OverlayCanvas, robot: Robot, q: Float1D, size: float) -> None:
    """Draw the axes of every link frame and of the tip: x red, y green, z blue."""
    poses = link_poses(robot, q)
    for T in [*poses, poses[-1] @ robot.T_last_tip]:
        for axis, color in zip(T[:3, :3].T, AXIS_COLORS, strict=True):
            uv, _ = canvas.camera.project(np.array([T[:3, 3], T[:3, 3] + size * axis]))
            canvas.line(uv, color, 1.8)


def draw_inertia(
    canvas: OverlayCanvas, models: Mapping[str, Robot], colors: Mapping[str, Rgb], q: Float1D
) -> None:
    """Draw the inertia ellipsoids of models as outlines with sections, and the centers of mass."""
    bodies = [
        (colors[name], link.phi, T)
        for name, robot in models.items()
        for link, T in zip(robot.links, link_poses(robot, q), strict=True)
    ]
    ellipsoids = [
        (color, T[:3, :3] @ shape.center + T[:3, 3], T[:3, :3] @ (shape.rotation * shape.semi_axes))
        for color, phi, T in bodies
        if (shape := inertia_ellipsoid(phi))
    ]
    for color, center, axes in ellipsoids:
        canvas.area(_outline(canvas.camera, center, axes), color, 0.10)
    for color, center, axes in ellipsoids:
        angle = np.linspace(0.0, 2.0 * np.pi, 49)
        c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
        for i, j in ((0, 1), (1, 2), (2, 0)):
            section = center + c * axes[:, i] + s * axes[:, j]
            canvas.line(canvas.camera.project(section)[0], color, 0.7, 0.55)
        outline = _outline(canvas.camera, center, axes)
        canvas.line(np.vstack([outline, outline[:1]]), color, 1.4)
    for color, phi, T in bodies:
        if phi[0] > 0.0:
            com = T[:3, :3] @ (phi[1:4] / phi[0]) + T[:3, 3]
            canvas.dot(canvas.camera.project(com)[0], color, 2.6)


def _outline(camera: Camera, center: Float1D, axes: Float2D) -> Float2D:
    """Compute the outline of an ellipsoid in the picture: the hull of its surface's image."""
    u, v = np.meshgrid(np.linspace(0.0, np.pi, 13), np.linspace(0.0, 2.0 * np.pi, 33))
    ball = np.stack([np.sin(u) * np.cos(v), np.sin(u) * np.sin(v), np.cos(u)], axis=-1)
    uv, _ = camera.project(center + ball.reshape(-1, 3) @ axes.T)
    try:
        return np.asarray(uv[ConvexHull(uv).vertices])
    except QhullError:  # a point or a line
        return np.asarray(uv[:: len(uv) // 2])


SHADOW_OPACITY = 0.34
"""Opacity of the shadow on the floor."""
SHADOW_COLOR = (60, 70, 85)
SHADOW_PIXELS = 256
BLUR_PIXELS = 2.2
"""Blur of the shadow's edge [pixels of the silhouette]."""

LIGHT_DIRECTION = np.array([-0.55, 1.0, -0.45])
"""Direction to the light: right, up, away from the camera along the floor."""

GRID_STEPS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5)  # [m]
FADE_RATE = 3.0
"""Decay rate of the grid's opacity with the distance from the motion."""


@dataclass(frozen=True, slots=True, eq=False)
class Floor:
    """The ground at height zero, below the base."""

    middle: Float1D
    """Point below the middle of the motion [m], shape (2,)."""
    size: float
    """Size of the motion, over which the grid fades [m]."""
    step: float
    """Distance of the grid lines [m]."""

    @classmethod
    def from_points(cls, points: Float2D) -> "Floor":
        """Make the floor for the swept points of a motion, shape (N, 3)."""
        low, high = points.min(axis=0), points.max(axis=0)
        size = max(float(np.linalg.norm(high - low)), 1e-3)
        step = next((step for step in GRID_STEPS if size / step < 12.0), size / 8.0)
        return cls(0.5 * (low + high)[:2], size, step)

    def lines(self) -> list[Float2D]:
        """Compute the grid lines as polylines, shape (P, 3) each."""
        count = int(np.ceil(1.3 * self.size / self.step))
        origin = np.round(self.middle / self.step) * self.step
        along, zero = np.linspace(-count, count, 16 * count + 1) * self.step, np.array(0.0)
        grid = []
        for offset in np.arange(-count, count + 1) * self.step:
            grid.append((origin[0] + along, origin[1] + offset, zero))
            grid.append((origin[0] + offset, origin[1] + along, zero))
        return [np.column_stack(np.broadcast_arrays(*line)) for line in grid]

    def strength(self, points: Float2D) -> Float1D:
        """Compute the opacity of the grid at points, 1 in the middle, 0 far away."""
        far = np.linalg.norm(points[:, :2] - self.middle, axis=1) / self.size
        return np.asarray(np.exp(-FADE_RATE * far**2))


def light_for(camera: Camera) -> Float1D:
    """Compute the unit direction to the light for a camera: from above, left and behind it."""
    right, _, back = camera.axes.T
    # Horizontal view direction of the camera.
    level = (0.0, 1.0, 0.0) if abs(back[2]) > 0.98 else (-right[1], right[0], 0.0)
    light = LIGHT_DIRECTION @ np.array([right, (0.0, 0.0, 1.0), level])
    return np.asarray(light / np.linalg.norm(light))


def light_camera(light: Float1D, points: Float2D) -> Camera:
    """Make a camera that sees a motion from the light, far away."""
    low, high = points.min(axis=0), points.max(axis=0)
    yaw = float(np.degrees(np.arctan2(light[0], -light[1])))
    pitch = -float(np.degrees(np.arcsin(light[2])))
    half = 0.5 * float(np.linalg.norm(high - low))
    return Camera.distant(0.5 * (low + high), half, yaw, pitch, SHADOW_PIXELS)


def backdrop(camera: Camera, floor: Floor) -> Image.Image:
    """Draw the background: a gradient, and the grid on the floor."""
    top, bottom = (np.array(color, dtype=float) for color in colors.SKY_COLORS)
    share = np.linspace(0.0, 1.0, camera.height)[:, None, None] ** 1.5
    sky = np.broadcast_to(top + (bottom - top) * share, (camera.height, camera.width, 3))
    picture = Image.fromarray(sky.round().astype(np.uint8)).convert("RGBA")
    large = replace(
        camera, width=camera.width * OVERSAMPLING_FACTOR, height=camera.height * OVERSAMPLING_FACTOR
    )
    lines = Image.new("RGBA", (large.width, large.height), (*colors.GRID_COLOR, 0))
    pen = ImageDraw.Draw(lines)
    for points in floor.lines():
        uv, depth = large.project(points)
        alpha = (170.0 * floor.strength(points)).astype(int)
        visible = (alpha > 2) & (depth > 0.0) & (np.abs(uv).max(axis=1) < 1e5)
        for k in np.flatnonzero(visible[:-1] & visible[1:]):
            color = (*colors.GRID_COLOR, int(alpha[k]))
            pen.line((*uv[k], *uv[k + 1]), fill=color, width=OVERSAMPLING_FACTOR)
    return Image.alpha_composite(picture, lines.reduce(OVERSAMPLING_FACTOR)).convert("RGB")


class Shadow:
    """The shadow on the floor: the silhouette of the `light` camera, projected along its rays."""

    def __init__(self, camera: Camera, light: Camera) -> None:
        rays = camera.rays()
        down = rays[..., 2] < -1e-6
        distance = np.where(down, -camera.eye[2] / np.where(down, rays[..., 2], -1.0), 0.0)
        uv, _ = light.project(camera.eye + distance[..., None] * rays)
        cell = np.floor(uv).astype(int)
        inside = (cell >= 0).all(axis=-1) & (cell < light.width).all(axis=-1) & (distance > 0.0)
        self._pixels = np.flatnonzero(inside)
        self._cells = (cell[..., 1] * light.width + cell[..., 0])[inside]
        self._size = (camera.width, camera.height)

    def cast(self, picture: Image.Image, silhouette: RenderedImage) -> None:
        """Darken the picture in the shadow."""
        dark = np.where(np.isfinite(silhouette.depth), 255.0 * SHADOW_OPACITY, 0.0).astype(np.uint8)
        blurred = np.asarray(Image.fromarray(dark).filter(ImageFilter.GaussianBlur(BLUR_PIXELS)))
        mask = np.zeros(self._size[0] * self._size[1], dtype=np.uint8)
        mask[self._pixels] = blurred.ravel()[self._cells]
        picture.paste(SHADOW_COLOR, (0, 0), Image.frombuffer("L", self._size, mask.tobytes()))
