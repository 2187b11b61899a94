"""Pictures without a display: PyBullet's software renderer, or its EGL plugin if that works.

A robot's visuals in a PyBullet client, posed joint by joint; no physics is simulated.
"""

import importlib.util
import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
import trimesh
from numpy.typing import NDArray

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.engine.client import EngineClient, EngineError, capture_output
from robotid_sim.engine.private_urdf import joint_element, origin_element
from robotid_sim.errors import FileFormatError, OptionError, RobotIdError
from robotid_sim.kinematics.forward import link_poses, tip_pose
from robotid_sim.model.geometry import number_text
from robotid_sim.model.mesh_files import is_binary_stl
from robotid_sim.model.robot import Robot
from robotid_sim.model.solid import read_mesh
from robotid_sim.viewer.camera import Camera
from robotid_sim.viewer.colors import Rgba
from robotid_sim.viewer.display import child_output
from robotid_sim.viewer.renderer import PixelBox, RenderedImage, Renderer
from robotid_sim.viewer.robot_visuals import VisualPart

HIDDEN_POSITION = (0.0, 0.0, -1e4)
"""Position of a hidden robot [m]; a removed robot would have to be loaded again."""


class PosedRobot:
    """Visual parts on the bodies of a robot, in a client.

    The user's file is never loaded: a private URDF is written from the kinematics, with a link per
    part. Raises `RobotIdError` if Bullet cannot read a mesh.
    """

    def __init__(self, client: EngineClient, robot: Robot, parts: Sequence[VisualPart]) -> None:
        self.parts, self.visible = tuple(parts), True
        self._position: tuple[float, ...] = (0.0, 0.0, 0.0)
        self._client = client
        with tempfile.TemporaryDirectory() as folder, capture_output() as printed:
            path = Path(folder) / "robot.urdf"
            try:
                path.write_text(_write_urdf(robot, parts, Path(folder)), encoding="utf-8")
            except FileFormatError as error:
                raise RobotIdError(f"cannot draw '{robot.name}': {error}") from error
            # Otherwise Bullet returns the robot of an earlier file with this name.
            client.setPhysicsEngineParameter(enableFileCaching=0)
            try:
                self._body = client.loadURDF(str(path), useFixedBase=True)
            except EngineError:
                self._body = -1
        if self._body < 0:
            reason = printed.text.splitlines()[-1] if printed.text else "no reason given"
            raise RobotIdError(f"PyBullet cannot draw '{robot.name}': {reason}")
        count = client.getNumJoints(self._body)
        names = [client.getJointInfo(self._body, k)[1].decode() for k in range(count)]
        self._moving = [names.index(f"joint_{k}") for k in range(robot.dof)]
        self.links = [names.index(f"mount_{k}") for k in range(len(parts))]

    def pose(self, q: Float1D) -> None:
        """Set the joint positions `q` [rad or m], shape (n,)."""
        values = [[float(value)] for value in q]
        self._client.resetJointStatesMultiDof(self._body, self._moving, values)

    def show(self, *, visible: bool) -> None:
        """Show or hide the robot."""
        if visible != self.visible:
            self._move_base(self._position if visible else HIDDEN_POSITION)
            self.visible = visible

    def shift(self, position: Float1D) -> None:
        """Set the position of the root frame [m], shape (3,)."""
        self._position = tuple(position.tolist())
        if self.visible:
            self._move_base(self._position)

    def _move_base(self, position: tuple[float, ...]) -> None:
        self._client.resetBasePositionAndOrientation(self._body, position, (0.0, 0.0, 0.0, 1.0))

    def paint(self, colors: Mapping[int, Rgba | None]) -> None:
        """Set the color of all parts of bodies, None for their own color; -1 is the base."""
        for part, link in zip(self.parts, self.links, strict=True):
            if part.body in colors:
                color = colors[part.body] or part.rgba
                self._client.changeVisualShape(self._body, link, rgbaColor=color)

    def body_of_link(self, link: int) -> int:
        """Find the body of a part by its link number in a segmentation mask."""
        return self.parts[self.links.index(link)].body


def _write_urdf(robot: Robot, parts: Sequence[VisualPart], folder: Path) -> str:
    """Write a URDF with a link per part; save its meshes in `folder`."""
    text = ['<robot name="visuals"><link name="base"/>']
    text += [f'<link name="body_{k}"/>{joint_element(robot, k)}' for k in range(robot.dof)]
    files: dict[int | Path, Path] = {}
    for k, part in enumerate(parts):
        visual = _visual(part, f"color_{k}", folder, files)
        body = "base" if part.body < 0 else f"body_{part.body}"
        text.append(
            f'<link name="part_{k}">{visual}</link><joint name="mount_{k}" type="fixed">'
            f'<parent link="{body}"/><child link="part_{k}"/></joint>'
        )
    return "\n".join([*text, "</robot>"])  # Bullet breaks lines of more than 8191 characters


def _visual(part: VisualPart, material: str, folder: Path, files: dict[int | Path, Path]) -> str:
    if isinstance(part.mesh, Path) and is_binary_stl(part.mesh):
        file = part.mesh
    else:
        key = part.mesh if isinstance(part.mesh, Path) else id(part.mesh)
        file = files.setdefault(key, folder / f"mesh_{len(files)}.obj")
        if not file.exists():
            mesh = part.mesh
            if isinstance(mesh, Path):  # Bullet's readers crash on broken files
                solid = read_mesh(mesh)
                mesh = trimesh.Trimesh(solid.vertices, solid.faces).smooth_shaded
            mesh.export(file, include_normals=True)
    return (
        f"<visual>{origin_element(part.T_body_part)}<geometry>"
        f'<mesh filename={quoteattr(str(file))} scale="{number_text(part.scale)}"/></geometry>'
        f'<material name="{material}"><color rgba="{number_text(part.rgba)}"/></material></visual>'
    )


PROBE_PIXELS = 160
"""Width of the pictures that measure the size of a robot [pixels]."""

EGL_MODULE = "eglRenderer"
EGL_TOKEN = "robotid-egl-works"
"""Token of a child process that rendered a picture by EGL."""
PROBE_TIMEOUT = 20.0  # [s]
SOFTWARE_DEVICES = ("llvmpipe", "softpipe", "swrast", "software")
"""Names of OpenGL devices without a graphics card; Bullet's software renderer is as fast."""

AMBIENT_LIGHTS = {"software": 0.42, "egl": 0.15}
"""Ambient light, which the two renderers define differently."""
DIFFUSE, SPECULAR = 0.62, 0.06


def camera_image(
    client: EngineClient,
    camera: Camera,
    box: PixelBox | None = None,
    scale: float = 1.0,
    **options: Any,
) -> tuple[RenderedImage, NDArray[np.intp]]:
    """Render a part of a camera's picture, by default all of it, and its segmentation mask.

    The mask has PyBullet's numbers of body and link if requested, shape (height, width).

    `box` is a part of the picture of the camera, `scale` the rendered pixels per pixel of the
    picture; further options are those of PyBullet's ``getCameraImage``.
    """
    x_start, y_start, x_end, y_end = box = box or (0, 0, camera.width, camera.height)
    width, height = round((x_end - x_start) * scale), round((y_end - y_start) * scale)
    # The projection scales the part to the whole image.
    factors = np.array([camera.width / (x_end - x_start), camera.height / (y_end - y_start)])
    middle = np.array([x_start + x_end, y_start + y_end]) / (camera.width, camera.height) - 1.0
    crop = np.diag([*factors, 1.0, 1.0])
    crop[:2, 3] = factors * middle * (-1.0, 1.0)
    matrices = (camera.view_matrix(), crop @ camera.projection_matrix())
    columns = [matrix.T.ravel().tolist() for matrix in matrices]
    _, _, pixels, buffer, mask = client.getCameraImage(width, height, *columns, **options)
    colors = np.asarray(pixels, dtype=np.uint8).reshape(height, width, 4)
    depth = camera.depth(np.reshape(buffer, (height, width)))
    return RenderedImage(colors, depth, box, scale), np.reshape(mask, (height, width))


class PyBulletRenderer(Renderer):
    """A PyBullet client that renders pictures; use it in a ``with`` block.

    The kind ``software`` works everywhere; ``egl`` needs a driver, but no display; ``auto`` uses
    EGL if there is a graphics card. Raises `OptionError` if EGL is requested and does not work.
    """

    def __init__(self, kind: str = "auto") -> None:
        self.kind = kind
        if kind == "auto":
            self.kind = "egl" if is_graphics_card(egl_device()) else "software"
        elif kind == "egl" and egl_device() is None:
            raise OptionError("EGL does not work on this machine; use --renderer software")
        with capture_output():
            self.client = EngineClient()
            if self.kind == "egl":
                # Before any body is loaded; otherwise pictures would not show it.
                _load_egl(self.client)

    def add(self, robot: Robot, parts: Sequence[VisualPart]) -> PosedRobot:
        """Add a robot to all pictures; see `Renderer`."""
        return PosedRobot(self.client, robot, parts)

    def render(
        self, camera: Camera, light: Float1D, scale: float = 1.0, box: PixelBox | None = None
    ) -> RenderedImage:
        """Render the picture of a camera; see `Renderer`."""
        hardware, client = self.kind == "egl", self.client
        options = {
            "lightDirection": light.tolist(),
            "lightAmbientCoeff": AMBIENT_LIGHTS[self.kind],
            "lightDiffuseCoeff": DIFFUSE,
            "lightSpecularCoeff": SPECULAR,
            "shadow": int(hardware),  # triples the time of the software renderer
            "flags": client.ER_NO_SEGMENTATION_MASK,
            "renderer": client.ER_BULLET_HARDWARE_OPENGL if hardware else client.ER_TINY_RENDERER,
        }
        with capture_output() if hardware else nullcontext():  # drivers print their names
            return camera_image(client, camera, box, scale, **options)[0]

    def close(self) -> None:
        """Disconnect from the engine."""
        with capture_output():
            self.client.close()


def surface_in_pictures(robot: Robot, parts: Sequence[VisualPart]) -> dict[int, Float2D]:
    """Measure points on the parts of every body in its frame, shape (N, 3) each.

    They are computed from depth pictures from six sides, so every mesh format works.
    """
    poses = link_poses(robot, robot.home)
    origins = np.vstack([np.zeros(3), poses[:, :3, 3], tip_pose(robot, robot.home)[:3, 3]])
    middle = 0.5 * (origins.max(axis=0) + origins.min(axis=0))
    half = float(np.ptp(origins, axis=0).max()) + 0.5
    frames = {-1: np.eye(4), **dict(enumerate(poses))}
    surface: dict[int, list[Float2D]] = {}
    with EngineClient() as client:
        posed = PosedRobot(client, robot, parts)
        posed.pose(robot.home)
        options = {
            "shadow": 0,
            "flags": client.ER_SEGMENTATION_MASK_OBJECT_AND_LINKINDEX,
            "renderer": client.ER_TINY_RENDERER,
        }
        for yaw, pitch in ((0, 0), (90, 0), (180, 0), (270, 0), (0, 90), (0, -90)):
            camera = Camera.distant(middle, half, yaw, pitch, PROBE_PIXELS)
            image, mask = camera_image(client, camera, **options)
            is_body = mask >= 0
            points = camera.eye + camera.rays()[is_body] * image.depth[is_body, None]
            links = (mask[is_body] >> 24) - 1
            for link in np.unique(links):
                body = posed.body_of_link(int(link))
                local = (points[links == link] - frames[body][:3, 3]) @ frames[body][:3, :3]
                surface.setdefault(body, []).append(local)
    return {body: np.vstack(points) for body, points in surface.items()}


def egl_device(timeout: float = PROBE_TIMEOUT) -> str | None:
    """Find the name of the device that draws for EGL; None if it does not work.

    The test runs in a child process, because a bad driver may crash it.
    """
    if importlib.util.find_spec(EGL_MODULE) is None:
        return None
    text = child_output(try_egl, timeout)
    device = re.search(r"(?:GL_RENDERER|Renderer) *= *(.+)", text)
    return device[1].strip() if device and EGL_TOKEN in text else None


def is_graphics_card(device: str | None) -> bool:
    """Return whether a device is a graphics card, not a software renderer."""
    return device is not None and not any(name in device.lower() for name in SOFTWARE_DEVICES)


def try_egl() -> None:
    """Draw a box by EGL and print the token if it is in the picture; for the child process."""
    client = EngineClient()
    _load_egl(client)
    shape = client.createVisualShape(client.GEOM_BOX, halfExtents=[0.5] * 3)
    client.createMultiBody(0.0, -1, shape)
    camera = Camera(np.array([0.0, -4.0, 0.0]), 0.0, 0.0, 4.0, 64, 64)
    body = camera_image(client, camera, renderer=client.ER_BULLET_HARDWARE_OPENGL)[0].body
    if body[32, 32] and not body[0, 0]:
        print(f"\n{EGL_TOKEN}", flush=True)  # noqa: T201 - the parent reads it


def _load_egl(client: EngineClient) -> None:
    module = importlib.util.find_spec(EGL_MODULE)
    plugin = -1
    if module is not None and module.origin is not None:
        plugin = client.loadPlugin(module.origin, f"_{EGL_MODULE}Plugin")
    if plugin < 0:
        raise OptionError("PyBullet's EGL plugin does not load; use --renderer software")
