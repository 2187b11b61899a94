"""Pictures without a display: common interface and choice of PyBullet and MuJoCo."""

import pkgutil
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from robotid_sim.arrays import Bool2D, Float, Float1D, Float2D
from robotid_sim.engine.closing import Closeable
from robotid_sim.engine.engines import engine_named
from robotid_sim.model.robot import Robot
from robotid_sim.viewer.camera import Camera
from robotid_sim.viewer.colors import Rgba
from robotid_sim.viewer.robot_visuals import VisualPart

PixelBox = tuple[int, int, int, int]
"""Part of a picture [pixels]: left, top, right, bottom."""

RENDERER_CLASSES = {
    "pybullet": "robotid_sim.viewer.pybullet_renderer:PyBulletRenderer",
    "mujoco": "robotid_sim.viewer.mujoco_renderer:MujocoRenderer",
}
"""Renderer of each engine."""


class RenderedImage(NamedTuple):
    """A part of a picture at a multiple of its resolution."""

    pixels: NDArray[np.uint8]
    """Red, green, blue, alpha, shape (height, width, 4)."""
    depth: Float2D
    """Distance along the view [m], infinite behind all bodies, shape (height, width)."""
    box: PixelBox
    scale: float
    """Pixels of this image per pixel of the picture."""

    @property
    def body(self) -> Bool2D:
        """Whether a pixel shows a body, shape (height, width)."""
        return np.asarray(np.isfinite(self.depth))

    def depth_at(self, uv: Float) -> Float:
        """Look up the depth at positions in the picture [pixels], shape (..., 2)."""
        start, end = self.box[:2], self.box[2:]
        inside = np.asarray(((uv >= start) & (uv < end)).all(axis=-1))
        cell = ((np.where(inside[..., None], uv, start) - start) * self.scale).astype(int)
        return np.where(inside, self.depth[cell[..., 1], cell[..., 0]], np.inf)


class RenderedRobot(Protocol):
    """Visual parts on the bodies of a robot in a renderer."""

    def pose(self, q: Float1D) -> None:
        """Set the joint positions `q` [rad or m], shape (n,)."""

    def show(self, *, visible: bool) -> None:
        """Show or hide the robot."""

    def paint(self, colors: Mapping[int, Rgba | None]) -> None:
        """Set the color of all parts of bodies, None for their own color; -1 is the base."""


class Renderer(Closeable):
    """A renderer of pictures; use it in a ``with`` block."""

    kind: str
    """Kind: ``software``, ``egl`` or another backend of the engine."""

    @abstractmethod
    def add(self, robot: Robot, parts: Sequence[VisualPart]) -> RenderedRobot:
        """Add a robot to all following pictures, while it is visible."""

    @abstractmethod
    def render(
        self, camera: Camera, light: Float1D, scale: float = 1.0, box: PixelBox | None = None
    ) -> RenderedImage:
        """Render the part `box` of a camera's picture, by default all of it.

        `light` is the unit direction to the light, shape (3,), `scale` the rendered pixels per
        pixel of the picture of the camera.
        """


def open_renderer(kind: str = "auto") -> Renderer:
    """Open the renderer of the first installed engine; `kind` is one of `RENDERER_NAMES`.

    Raises `MissingExtraError` if no engine is installed, `OptionError` if this kind does not work
    on this machine.
    """
    renderer: Renderer = pkgutil.resolve_name(RENDERER_CLASSES[engine_named(None)])(kind)
    return renderer
