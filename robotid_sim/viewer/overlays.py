"""What is drawn over the rendered robot: tool path, frames, masses."""

from collections.abc import Mapping

import numpy as np
from PIL import Image, ImageDraw
from scipy.spatial import ConvexHull, QhullError

from robotid_sim.arrays import Bool1D, Float, Float1D, Float2D
from robotid_sim.dynamics.kinematics import link_poses
from robotid_sim.model.robot import Robot
from robotid_sim.viewer.camera import Camera
from robotid_sim.viewer.colors import Rgb
from robotid_sim.viewer.inertia_ellipsoid import Ellipsoid, inertia_ellipsoid
from robotid_sim.viewer.renderer import RenderedImage
from robotid_sim.viewer.robot_visuals import AXIS_COLORS

OVERSAMPLING = 2
AHEAD, HIDDEN = 0.35, 0.28
"""Opacity of a path that is still to come, and factor for what is behind the robot."""
BIAS = 0.01
"""Share of the depth by which a line must lie behind the robot to count as hidden."""


class Canvas:
    """A transparent sheet over a picture, on which smooth lines are drawn.

    Parameters
    ----------
    camera : Camera
        Of the picture.
    unit : float
        Pixels per unit; a unit is a pixel of a picture 480 pixels high.
    """

    def __init__(self, camera: Camera, unit: float) -> None:
        size = (camera.width * OVERSAMPLING, camera.height * OVERSAMPLING)
        self.camera = camera
        self._unit = unit * OVERSAMPLING
        self._sheet = Image.new("RGBA", size, (255, 255, 255, 0))
        self._pen = ImageDraw.Draw(self._sheet)

    def line(self, uv: Float2D, color: Rgb, width: float, opacity: float = 1.0) -> None:
        """Draw a chain of points given in pixels of the picture, shape (N, 2)."""
        if len(uv) > 1:
            points = (np.clip(uv, -1e4, 1e4) * OVERSAMPLING).ravel().tolist()
            fill = (*color, round(255 * opacity))
            stroke = max(1, round(width * self._unit))
            self._pen.line(points, fill=fill, width=stroke, joint="curve")

    def area(self, uv: Float2D, color: Rgb, opacity: float) -> None:
        """Fill a polygon; it covers what was drawn below it."""
        points = (np.clip(uv, -1e4, 1e4) * OVERSAMPLING).ravel().tolist()
        self._pen.polygon(points, fill=(*color, round(255 * opacity)))

    def dot(self, uv: Float1D, color: Rgb, radius: float) -> None:
        """Draw a round mark with a white rim."""
        x, y = np.clip(uv, -1e4, 1e4) * OVERSAMPLING
        for r, fill in ((radius + 1.2, (255, 255, 255)), (radius, color)):
            reach = r * self._unit
            self._pen.ellipse((x - reach, y - reach, x + reach, y + reach), fill=(*fill, 255))

    def lay_on(self, picture: Image.Image) -> None:
        """Lay the sheet on a picture."""
        sheet = self._sheet.reduce(OVERSAMPLING)
        picture.paste(sheet, (0, 0), sheet)


class PathOverlay:
    """The tool path: strong behind the tool, faint ahead of it, fainter behind the robot."""

    def __init__(self, camera: Camera, times: Float1D, path: Float2D, color: Rgb) -> None:
        self._times, self._path, self._color = times, path, color
        self._uv, self._depth = camera.project(path)

    def draw(self, canvas: Canvas, shot: RenderedImage, time: float) -> None:
        """Draw the path at a time; `shot` is the robot in front of it."""
        hidden = self._depth * (1.0 - BIAS) > shot.depth_at(self._uv)
        now = int(np.clip(np.searchsorted(self._times, time), 1, self._times.size - 1))
        share = (time - self._times[now - 1]) / (self._times[now] - self._times[now - 1])
        share = float(np.clip(share, 0.0, 1.0))
        tip = self._uv[now - 1] + share * (self._uv[now] - self._uv[now - 1])
        ahead = np.vstack([tip, self._uv[now:]])
        behind = np.vstack([self._uv[:now], tip])
        for uv, seen, width, opacity in (
            (ahead, np.r_[hidden[now], hidden[now:]], 1.3, AHEAD),
            (behind, np.r_[hidden[:now], hidden[now - 1]], 2.2, 1.0),
        ):
            for part, covered in _runs(uv, seen):
                faint = HIDDEN if covered else 1.0
                canvas.line(part, self._color, width, opacity * faint)
        canvas.dot(tip, self._color, 3.2)


def draw_frames(canvas: Canvas, robot: Robot, q: Float1D, size: float) -> None:
    """Draw the axes of every link frame and of the tip: x red, y green, z blue."""
    poses = link_poses(robot, q)
    for T in [*poses, poses[-1] @ robot.T_last_tip]:
        for axis, color in zip(T[:3, :3].T, AXIS_COLORS, strict=True):
            uv, _ = canvas.camera.project(np.array([T[:3, 3], T[:3, 3] + size * axis]))
            red, green, blue = (round(255 * value) for value in color[:3])
            canvas.line(uv, (red, green, blue), 1.8)


def draw_inertia(
    canvas: Canvas, models: Mapping[str, Robot], colors: Mapping[str, Rgb], q: Float1D
) -> None:
    """Draw the inertia ellipsoids of models as outlines with their sections, and their COMs."""
    for fill in (True, False):
        for name, robot in models.items():
            for link, T in zip(robot.links, link_poses(robot, q), strict=True):
                found = inertia_ellipsoid(link.phi)
                if found is not None:
                    _draw_ellipsoid(canvas, found, T, colors[name], fill=fill)
    for name, robot in models.items():
        for link, T in zip(robot.links, link_poses(robot, q), strict=True):
            if link.phi[0] > 0.0:
                com = T[:3, :3] @ (link.phi[1:4] / link.phi[0]) + T[:3, 3]
                canvas.dot(canvas.camera.project(com)[0], colors[name], 2.6)


def _draw_ellipsoid(canvas: Canvas, body: Ellipsoid, T: Float2D, color: Rgb, *, fill: bool) -> None:
    axes = T[:3, :3] @ (body.rotation * body.semi_axes)
    center = T[:3, :3] @ body.center + T[:3, 3]
    turn = np.linspace(0.0, 2.0 * np.pi, 49)
    c, s = np.cos(turn)[:, None], np.sin(turn)[:, None]
    sections = [center + c * axes[:, i] + s * axes[:, j] for i, j in ((0, 1), (1, 2), (2, 0))]
    if not fill:
        for section in sections:
            canvas.line(canvas.camera.project(section)[0], color, 0.7, 0.55)
    outline = _outline(canvas.camera, center, axes)
    if fill:
        canvas.area(outline, color, 0.10)
    else:
        canvas.line(np.vstack([outline, outline[:1]]), color, 1.4)


def _outline(camera: Camera, center: Float1D, axes: Float2D) -> Float2D:
    """Return the outline of an ellipsoid in the picture: the hull of its surface's image."""
    u, v = np.meshgrid(np.linspace(0.0, np.pi, 13), np.linspace(0.0, 2.0 * np.pi, 33))
    ball = np.stack([np.sin(u) * np.cos(v), np.sin(u) * np.sin(v), np.cos(u)], axis=-1)
    uv, _ = camera.project(center + ball.reshape(-1, 3) @ axes.T)
    try:
        return np.asarray(uv[ConvexHull(uv).vertices])
    except QhullError:  # a point or a line
        return np.asarray(uv[:: len(uv) // 2])


def _runs(uv: Float, covered: Bool1D) -> list[tuple[Float2D, bool]]:
    """Return maximal chains of points that are all covered or all free; they share end points."""
    turns = np.flatnonzero(covered[1:] != covered[:-1]) + 1
    starts, ends = np.r_[0, turns], np.r_[turns + 1, len(uv)]
    return [(uv[a:b], bool(covered[a])) for a, b in zip(starts, ends, strict=True)]
