"""Cameras of pictures: their view direction, and their fit to a motion."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.spatial.transform import Rotation

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.viewer.view_settings import direction

NEAR_PLANE, FAR_PLANE = 0.02, 20.0
"""Near and far plane over the distance of the target."""

FAR_FOV = 3.0
"""Field of view of a camera with nearly parallel rays [deg]."""

BACKGROUND_DEPTH = 1.0 - 1e-6
"""Value of the depth buffer from which a pixel is background."""


@dataclass(frozen=True, slots=True)
class Margins:
    """Free margins at the four edges, over the picture's width or height."""

    at_left: float = 0.05
    at_right: float = 0.05
    at_top: float = 0.05
    at_bottom: float = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Camera:
    """A pinhole camera; its frame has x to the right, y up and looks along -z, as in OpenGL."""

    eye: Float1D
    """Position in the root frame [m], shape (3,)."""
    yaw: float
    """Rotation of the view about the vertical axis [deg]."""
    pitch: float
    """Elevation of the view direction, negative downward [deg]."""
    distance: float
    """Distance of the target that lies in the middle of the picture [m]."""
    width: int
    """Width of the picture [pixels]."""
    height: int
    """Height of the picture [pixels]."""
    fov: float = 36.0
    """Vertical field of view [deg]."""

    @classmethod
    def fit(
        cls,
        points: Float2D,
        name: str,
        width: int,
        height: int,
        *,
        fov: float = 36.0,
        margins: Margins | None = None,
    ) -> Self:
        """Fit the nearest camera of a view direction that sees all points within the margins.

        In the camera's axes every edge of the free rectangle bounds the eye by one linear
        inequality per point; the eye is the nearest solution, in the middle of the feasible range
        if it is not unique.

        `points` have the shape (N, 3) [m], `name` is a key of `VIEW_ANGLES`, sizes are in pixels,
        `fov` is the vertical field of view [deg].
        """
        free = margins or Margins()
        yaw, pitch = direction(name)
        axes = axes_of(yaw, pitch)
        tan = np.tan(np.radians(fov) / 2.0) * np.array([width / height, 1.0])
        lateral, depth = points @ axes[:, :2], -(points @ axes[:, 2])
        # Every point gives |lateral - eye| <= slope (depth - eye's depth) at both edges of an axis.
        low = tan * (1.0 - 2.0 * np.array([free.at_left, free.at_bottom]))
        high = tan * (1.0 - 2.0 * np.array([free.at_right, free.at_top]))
        at_low = (-lateral - low * depth[:, None]).max(axis=0)
        at_high = (lateral - high * depth[:, None]).max(axis=0)
        eye_depth = float((-(at_high + at_low) / (high + low)).min())
        middle = 0.5 * (at_high - at_low + (high - low) * eye_depth)
        eye = axes @ np.array([*middle, -eye_depth])
        return cls(eye, yaw, pitch, float(depth.mean() - eye_depth), width, height, fov)

    @classmethod
    def distant(cls, middle: Float1D, half: float, yaw: float, pitch: float, pixels: int) -> Self:
        """Make a camera with nearly parallel rays that sees a distance `half` [m] to each side.

        Bullet's software renderer does not support orthographic projections.
        """
        distance = half / np.tan(np.radians(FAR_FOV / 2.0))
        eye = middle + distance * axes_of(yaw, pitch)[:, 2]
        return cls(eye, yaw, pitch, distance, pixels, pixels, FAR_FOV)

    @property
    def axes(self) -> Float2D:
        """Directions right, up, backward as columns in the root frame, shape (3, 3)."""
        return axes_of(self.yaw, self.pitch)

    @property
    def target(self) -> Float1D:
        """The point in the middle of the picture, shape (3,)."""
        return np.asarray(self.eye - self.distance * self.axes[:, 2])

    def view_matrix(self) -> Float2D:
        """Compute the transform from root to camera, shape (4, 4)."""
        matrix = np.eye(4)
        matrix[:3, :3] = self.axes.T
        matrix[:3, 3] = -self.axes.T @ self.eye
        return matrix

    def clip_planes(self) -> tuple[float, float]:
        """Compute the distances of the near and the far plane [m]."""
        return NEAR_PLANE * self.distance, FAR_PLANE * self.distance

    def projection_matrix(self) -> Float2D:
        """Compute the transform from camera to clip space, shape (4, 4)."""
        near, far = self.clip_planes()
        scale = 1.0 / np.tan(np.radians(self.fov) / 2.0)
        matrix = np.diag([scale * self.height / self.width, scale, -(far + near) / (far - near), 0])
        matrix[2, 3], matrix[3, 2] = -2.0 * far * near / (far - near), -1.0
        return matrix

    def depth(self, buffer: Float2D) -> Float2D:
        """Convert a depth buffer in [0, 1] to distances along the view [m]; infinite at the end.

        The software renderer clears its buffer to a value slightly below 1.
        """
        near, far = self.clip_planes()
        nearest = np.minimum(np.asarray(buffer, dtype=float), BACKGROUND_DEPTH)
        return np.where(
            buffer < BACKGROUND_DEPTH, far * near / (far - (far - near) * nearest), np.inf
        )

    def project(self, points: Float) -> tuple[Float, Float]:
        """Compute pixel positions, shape (..., 2), origin top left, and depths [m], shape (...)."""
        local = (np.asarray(points) - self.eye) @ self.axes
        depth = -local[..., 2]
        scale = 0.5 * self.height / np.tan(np.radians(self.fov) / 2.0)
        positive = np.maximum(depth, 1e-9)
        u = 0.5 * self.width + scale * local[..., 0] / positive
        v = 0.5 * self.height - scale * local[..., 1] / positive
        return np.stack([u, v], axis=-1), depth

    def rays(self) -> Float:
        """Compute the direction of every pixel's ray, unit depth, shape (height, width, 3)."""
        tan_y = np.tan(np.radians(self.fov) / 2.0)
        u = (np.arange(self.width) + 0.5) / self.width * 2.0 - 1.0
        v = 1.0 - (np.arange(self.height) + 0.5) / self.height * 2.0
        right, up, back = self.axes.T
        x = (u * tan_y * self.width / self.height)[None, :, None] * right
        return np.asarray(x + (v * tan_y)[:, None, None] * up - back)


def axes_of(yaw: float, pitch: float) -> Float2D:
    """Compute the camera's right, up and backward direction as columns, shape (3, 3)."""
    return Rotation.from_euler("ZX", [yaw, pitch + 90.0], degrees=True).as_matrix()
