"""Pictures without a display: PyBullet's software renderer, or its EGL plugin where that works."""

import importlib.util
import re
import subprocess
import sys
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robotid_sim.arrays import Bool2D, Float, Float1D, Float2D
from robotid_sim.engine.closing import Closing
from robotid_sim.engine.quiet import captured_output
from robotid_sim.errors import OptionError
from robotid_sim.viewer.camera import Camera

with captured_output():  # prints its build time
    import pybullet

EGL_MODULE = "eglRenderer"
EGL_WORKS = "robotid-egl-works"
"""Token of a child process that has seen a picture by EGL."""
PROBE_TIMEOUT = 20.0  # [s]
PROGRAMS = ("llvmpipe", "softpipe", "swrast", "software")
"""Names of OpenGL devices that are no graphics cards; Bullet's own renderer is as fast."""

AMBIENT = {"software": 0.42, "egl": 0.15}
"""Light from all sides; the two renderers mean different things by it."""
DIFFUSE, SPECULAR = 0.62, 0.06


PixelBox = tuple[int, int, int, int]
"""Part of a picture [pixels]: left, top, right, bottom."""


class RenderedImage(NamedTuple):
    """A window of a picture at a multiple of its resolution."""

    pixels: NDArray[np.uint8]
    """Red, green, blue, alpha, shape (height, width, 4)."""
    depth: Float2D
    """Distance along the view [m], infinite behind all bodies, shape (height, width)."""
    window: PixelBox
    scale: float
    """Pixels here per pixel of the picture."""

    @property
    def body(self) -> Bool2D:
        """Where there is a body."""
        return np.asarray(np.isfinite(self.depth))

    def depth_at(self, uv: Float) -> Float:
        """Return the depth at positions in the picture [pixels], shape (..., 2)."""
        left, top, right, bottom = self.window
        inside = np.asarray(((uv >= (left, top)) & (uv < (right, bottom))).all(axis=-1))
        cell = ((np.where(inside[..., None], uv, (left, top)) - (left, top)) * self.scale).astype(
            int
        )
        return np.where(inside, self.depth[cell[..., 1], cell[..., 0]], np.inf)


class Renderer(Closing):
    """A PyBullet client that takes pictures; use it in a ``with`` block.

    Parameters
    ----------
    kind : str
        ``software`` works everywhere; ``egl`` needs a driver, but no display;
        ``auto`` takes EGL where a graphics card draws for it.
    """

    def __init__(self, kind: str = "auto") -> None:
        self.kind = kind
        if kind == "auto":
            self.kind = "egl" if is_graphics_card(egl_device()) else "software"
        elif kind == "egl" and egl_device() is None:
            raise OptionError("EGL does not work on this machine; use --renderer software")
        with captured_output():
            self.client = pybullet.connect(pybullet.DIRECT)
            if self.kind == "egl":
                _load_egl(self.client)  # before any body, else pictures miss that body

    def shoot(
        self, camera: Camera, light: Float1D, scale: float = 1.0, window: PixelBox | None = None
    ) -> RenderedImage:
        """Return what a camera sees in a window of its picture.

        Parameters
        ----------
        camera : Camera
            Its size is that of the whole picture.
        light : ndarray, shape (3,)
            Direction to the light.
        scale : float
            Rendered pixels per pixel of the picture.
        window : tuple of int, optional
            Part of the picture; the whole by default.
        """
        left, top, right, bottom = window or (0, 0, camera.width, camera.height)
        width, height = round((right - left) * scale), round((bottom - top) * scale)
        hardware = self.kind == "egl"
        with captured_output() if hardware else nullcontext():  # drivers name themselves
            _, _, pixels, buffer, _ = pybullet.getCameraImage(
                width,
                height,
                camera.view_matrix().T.ravel().tolist(),
                _windowed(camera, left, top, right, bottom).T.ravel().tolist(),
                lightDirection=light.tolist(),
                lightAmbientCoeff=AMBIENT[self.kind],
                lightDiffuseCoeff=DIFFUSE,
                lightSpecularCoeff=SPECULAR,
                shadow=int(hardware),  # costs the software renderer three times as long
                flags=pybullet.ER_NO_SEGMENTATION_MASK,
                renderer=(
                    pybullet.ER_BULLET_HARDWARE_OPENGL if hardware else pybullet.ER_TINY_RENDERER
                ),
                physicsClientId=self.client,
            )
        found = np.asarray(pixels, dtype=np.uint8).reshape(height, width, 4)
        depth = camera.depth(np.reshape(buffer, (height, width)))
        return RenderedImage(found, depth, (left, top, right, bottom), scale)

    def close(self) -> None:
        """Disconnect from the engine."""
        if self.client >= 0:
            with captured_output():
                pybullet.disconnect(physicsClientId=self.client)
            self.client = -1


def egl_device(timeout: float = PROBE_TIMEOUT) -> str | None:
    """Return what draws for EGL, by its own name; None if it does not work.

    Tried in a child process: a bad driver may end the process.
    """
    if importlib.util.find_spec(EGL_MODULE) is None:
        return None
    command = f"from {__name__} import try_egl; try_egl()"
    try:
        done = subprocess.run(
            [sys.executable, "-c", command], capture_output=True, timeout=timeout, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    text = done.stdout.decode(errors="replace")
    device = re.search(r"(?:GL_RENDERER|Renderer) *= *(.+)", text)
    return device[1].strip() if device and EGL_WORKS in text else None


def is_graphics_card(device: str | None) -> bool:
    """Return whether a device is more than a program that draws."""
    return device is not None and not any(name in device.lower() for name in PROGRAMS)


def try_egl() -> None:
    """Draw a box by EGL and print the token if it is in the picture; for the child process."""
    client = pybullet.connect(pybullet.DIRECT)
    _load_egl(client)
    shape = pybullet.createVisualShape(pybullet.GEOM_BOX, halfExtents=[0.5] * 3)
    pybullet.createMultiBody(0.0, -1, shape)
    camera = Camera(np.array([0.0, -4.0, 0.0]), 0.0, 0.0, 4.0, 64, 64)
    _, _, _, buffer, _ = pybullet.getCameraImage(
        camera.width,
        camera.height,
        camera.view_matrix().T.ravel().tolist(),
        camera.projection_matrix().T.ravel().tolist(),
        renderer=pybullet.ER_BULLET_HARDWARE_OPENGL,
    )
    seen = np.isfinite(camera.depth(np.reshape(buffer, (64, 64))))
    if seen[32, 32] and not seen[0, 0]:
        print(f"\n{EGL_WORKS}", flush=True)  # noqa: T201 - the parent reads it


def _windowed(camera: Camera, left: int, top: int, right: int, bottom: int) -> Float2D:
    """Return the projection that spreads a window over the whole image."""
    scale = np.array([camera.width / (right - left), camera.height / (bottom - top)])
    middle = np.array([left + right, top + bottom]) / (camera.width, camera.height) - 1.0
    matrix = np.eye(4)
    matrix[[0, 1], [0, 1]] = scale
    matrix[:2, 3] = scale * middle * (-1.0, 1.0)
    return np.asarray(matrix @ camera.projection_matrix())


def _load_egl(client: int) -> None:
    found = importlib.util.find_spec(EGL_MODULE)
    plugin = -1
    if found is not None and found.origin is not None:
        plugin = pybullet.loadPlugin(found.origin, f"_{EGL_MODULE}Plugin", physicsClientId=client)
    if plugin < 0:
        raise OptionError("PyBullet's EGL plugin does not load; use --renderer software")
