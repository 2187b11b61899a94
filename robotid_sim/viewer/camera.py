"""Where a picture is taken from: view directions by name, and the fit of a camera to a motion."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.errors import UnknownNameError

DIRECTIONS = {
    "front": (90.0, -8.0),
    "side": (0.0, -8.0),
    "top": (90.0, -89.0),
    "iso": (52.0, -22.0),
}
"""Yaw and pitch [deg] as PyBullet counts them: yaw 0 looks along +y, 90 along -x, at the front."""

NEAREST = 0.02
"""Near plane over the distance of the target."""
FARTHEST = 20.0
"""Far plane over the distance of the target."""

CLEARED = 1.0 - 1e-6
"""Depth buffer from which on there is nothing but background."""


@dataclass(frozen=True, slots=True)
class Margins:
    """Shares of the picture's width or height that stay free at its four edges."""

    left: float = 0.05
    right: float = 0.05
    top: float = 0.05
    bottom: float = 0.05


def direction(name: str) -> tuple[float, float]:
    """Return yaw and pitch [deg] of a view direction by name."""
    if name not in DIRECTIONS:
        raise UnknownNameError(f"unknown camera '{name}'; known: {', '.join(DIRECTIONS)}")
    return DIRECTIONS[name]


@dataclass(frozen=True, slots=True, eq=False)
class Camera:
    """A pinhole camera; its frame has x to the right, y up and looks along -z, as in OpenGL."""

    eye: Float1D
    """Position in the root frame [m], shape (3,)."""
    yaw: float
    """[deg]"""
    pitch: float
    """[deg]"""
    distance: float
    """Distance of the target that lies in the middle of the picture [m]."""
    width: int
    """[pixels]"""
    height: int
    """[pixels]"""
    fov: float = 36.0
    """Vertical field of view [deg]."""

    @classmethod
    def fitted(
        cls,
        points: Float2D,
        name: str,
        width: int,
        height: int,
        *,
        fov: float = 36.0,
        margins: Margins | None = None,
    ) -> Self:
        """Return the nearest camera of a view direction that sees all points within the margins.

        In the camera's axes every edge of the free rectangle bounds the eye by one linear
        inequality per point; the eye is the nearest solution, in the middle where there is room.

        Parameters
        ----------
        points : ndarray, shape (N, 3)
            What shall be seen [m].
        name : str
            A key of DIRECTIONS.
        width, height : int
            Size of the picture [pixels].
        fov : float
            Vertical field of view [deg].
        margins : Margins, optional
            What stays free at the edges of the picture.
        """
        free = margins or Margins()
        yaw, pitch = direction(name)
        axes = axes_of(yaw, pitch)
        x, y, z = (points @ axes).T
        tan_y = np.tan(np.radians(fov) / 2.0)
        tan_x = tan_y * width / height
        depth = -z
        sides = _Edges.of(x, depth, tan_x * (1 - 2 * free.left), tan_x * (1 - 2 * free.right))
        ends = _Edges.of(y, depth, tan_y * (1 - 2 * free.bottom), tan_y * (1 - 2 * free.top))
        eye_depth = min(sides.eye_depth, ends.eye_depth)
        eye = axes @ np.array([sides.middle(eye_depth), ends.middle(eye_depth), -eye_depth])
        distance = float(depth.mean() - eye_depth)
        return cls(eye, yaw, pitch, distance, width, height, fov)

    @property
    def axes(self) -> Float2D:
        """Columns: right, up, backward in the root frame, shape (3, 3)."""
        return axes_of(self.yaw, self.pitch)

    @property
    def target(self) -> Float1D:
        """The point in the middle of the picture, shape (3,)."""
        return np.asarray(self.eye - self.distance * self.axes[:, 2])

    def sized(self, width: int, height: int) -> Self:
        """Return the same view in a picture of another size and the same proportions."""
        return replace(self, width=width, height=height)

    def view_matrix(self) -> Float2D:
        """Return root to camera, shape (4, 4)."""
        matrix = np.eye(4)
        matrix[:3, :3] = self.axes.T
        matrix[:3, 3] = -self.axes.T @ self.eye
        return matrix

    def clip_planes(self) -> tuple[float, float]:
        """Return the distances of the near and the far plane [m]."""
        return NEAREST * self.distance, FARTHEST * self.distance

    def projection_matrix(self) -> Float2D:
        """Return camera to clip space, shape (4, 4)."""
        near, far = self.clip_planes()
        scale = 1.0 / np.tan(np.radians(self.fov) / 2.0)
        matrix = np.zeros((4, 4))
        matrix[0, 0], matrix[1, 1] = scale * self.height / self.width, scale
        matrix[2, 2:] = -(far + near) / (far - near), -2.0 * far * near / (far - near)
        matrix[3, 2] = -1.0
        return matrix

    def depth(self, buffer: Float2D) -> Float2D:
        """Return distances along the view [m] from a depth buffer in [0, 1]; infinite at the end.

        The software renderer clears its buffer to a value slightly below 1.
        """
        near, far = self.clip_planes()
        nearest = np.minimum(np.asarray(buffer, dtype=float), CLEARED)
        return np.where(buffer < CLEARED, far * near / (far - (far - near) * nearest), np.inf)

    def project(self, points: Float) -> tuple[Float, Float]:
        """Return pixel positions, shape (..., 2), origin top left, and depths [m], shape (...)."""
        local = (np.asarray(points) - self.eye) @ self.axes
        depth = -local[..., 2]
        scale = 0.5 * self.height / np.tan(np.radians(self.fov) / 2.0)
        safe = np.maximum(depth, 1e-9)
        u = 0.5 * self.width + scale * local[..., 0] / safe
        v = 0.5 * self.height - scale * local[..., 1] / safe
        return np.stack([u, v], axis=-1), depth

    def rays(self) -> Float:
        """Return the direction of every pixel's ray, unit depth, shape (height, width, 3)."""
        tan_y = np.tan(np.radians(self.fov) / 2.0)
        u = (np.arange(self.width) + 0.5) / self.width * 2.0 - 1.0
        v = 1.0 - (np.arange(self.height) + 0.5) / self.height * 2.0
        right, up, back = self.axes.T
        x = (u * tan_y * self.width / self.height)[None, :, None] * right
        return np.asarray(x + (v * tan_y)[:, None, None] * up - back)


def axes_of(yaw: float, pitch: float) -> Float2D:
    """Return the camera's right, up and backward direction as columns, shape (3, 3)."""
    a, b = np.radians(yaw), np.radians(pitch)
    right = np.array([np.cos(a), np.sin(a), 0.0])
    forward = np.array([-np.sin(a) * np.cos(b), np.cos(a) * np.cos(b), np.sin(b)])
    return np.column_stack([right, np.cross(right, forward), -forward])


@dataclass(frozen=True, slots=True)
class _Edges:
    """Bounds of two opposite edges of the picture on the eye's lateral position."""

    low: float
    """Slope of the lower edge."""
    high: float
    at_low: float
    at_high: float

    @classmethod
    def of(cls, x: Float1D, depth: Float1D, low: float, high: float) -> Self:
        """Return the bounds of points: every one gives ``|x - eye| <= slope (depth - eye)``."""
        return cls(low, high, float((-x - low * depth).max()), float((x - high * depth).max()))

    @property
    def eye_depth(self) -> float:
        """Largest depth of an eye that sees all points between the edges."""
        return -(self.at_high + self.at_low) / (self.high + self.low)

    def middle(self, eye_depth: float) -> float:
        """Return the lateral position of the eye with equal room at both edges."""
        return 0.5 * (self.at_high - self.at_low + (self.high - self.low) * eye_depth)
