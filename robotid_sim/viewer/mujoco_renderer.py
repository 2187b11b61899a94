"""Pictures by MuJoCo's renderer, which needs OpenGL but no display: EGL or OSMesa on Linux.

The robots are in a MuJoCo model for display only, with a mocap body for every part.
"""

import ctypes.util
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import mujoco
import numpy as np
import trimesh

from robotid_sim.arrays import Float1D
from robotid_sim.errors import OptionError, RobotIdError
from robotid_sim.kinematics.forward import link_poses
from robotid_sim.model.robot import Robot
from robotid_sim.viewer.camera import Camera
from robotid_sim.viewer.colors import Rgba
from robotid_sim.viewer.renderer import PixelBox, RenderedImage, Renderer
from robotid_sim.viewer.robot_visuals import VisualPart, part_solid


class MujocoRobot:
    """Visual parts of the bodies of a robot, from index `first` of the scene."""

    def __init__(self, robot: Robot, parts: Sequence[VisualPart], first: int) -> None:
        self._robot, self.parts, self.visible = robot, tuple(parts), True
        self._part_poses = np.array([part.T_body_part for part in parts])
        self._bodies = np.array([part.body for part in parts])
        self._default = np.array([part.rgba for part in parts])
        self._colors = self._default.copy()
        self._rows = slice(first, first + len(parts))
        self.pose(robot.home)

    def pose(self, q: Float1D) -> None:
        """Set the joint positions `q` [rad or m], shape (n,)."""
        frames = np.vstack([link_poses(self._robot, q), np.eye(4)[None]])  # -1 is the base
        self._poses = frames[self._bodies] @ self._part_poses

    def show(self, *, visible: bool) -> None:
        """Show or hide the robot."""
        self.visible = visible

    def paint(self, colors: Mapping[int, Rgba | None]) -> None:
        """Set the color of all parts of bodies, None for their own color; -1 is the base."""
        for body, color in colors.items():
            rows = self._bodies == body
            self._colors[rows] = self._default[rows] if color is None else color

    def write(self, model: "mujoco.MjModel", data: "mujoco.MjData") -> None:
        """Write the state to a model of the scene and its data."""
        data.mocap_pos[self._rows] = self._poses[:, :3, 3]
        turns = np.empty((len(self._poses), 4))  # in MuJoCo's order w, x, y, z
        for turn, pose in zip(turns, self._poses, strict=True):
            mujoco.mju_mat2Quat(turn, pose[:3, :3].ravel())
        data.mocap_quat[self._rows] = turns
        model.geom_rgba[self._rows] = self._colors
        if not self.visible:
            model.geom_rgba[self._rows, 3] = 0.0


class MujocoScene:
    """Robots that MuJoCo draws."""

    def __init__(self) -> None:
        self._spec = mujoco.MjSpec()
        self._spec.visual.quality.offsamples = 0  # no blending of edges with the background
        self._meshes: dict[tuple[object, tuple[float, ...]], str] = {}
        self._robots: list[MujocoRobot] = []
        self._count = 0
        self._built: tuple[mujoco.MjModel, mujoco.MjData] | None = None

    def add(self, robot: Robot, parts: Sequence[VisualPart]) -> MujocoRobot:
        """Add a robot to the scene.

        Raises `RobotIdError` if a mesh cannot be read.
        """
        for part in parts:
            body = self._spec.worldbody.add_body(mocap=True)
            mesh_key = id(part.mesh) if isinstance(part.mesh, trimesh.Trimesh) else part.mesh
            key = (mesh_key, part.scale)
            if key not in self._meshes:
                solid = part_solid(part)
                shaded = trimesh.Trimesh(solid.vertices, solid.faces, process=False).smooth_shaded
                name = self._meshes[key] = f"mesh_{len(self._meshes)}"
                mesh = self._spec.add_mesh(name=name)
                mesh.uservert, mesh.userface = shaded.vertices.ravel(), shaded.faces.ravel()
                # The mesh may be open or flat.
                mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
            geom = body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=self._meshes[key])
            geom.contype = geom.conaffinity = 0
        added = MujocoRobot(robot, parts, self._count)
        self._count += len(parts)
        self._robots.append(added)
        self._built = None
        return added

    @property
    def model_and_data(self) -> tuple["mujoco.MjModel", "mujoco.MjData"]:
        """Model and data, unchanged until a robot is added.

        Raises `RobotIdError` if MuJoCo rejects a mesh.
        """
        if self._built is None:
            try:
                model = self._spec.compile()
            except ValueError as error:
                raise RobotIdError(f"MuJoCo cannot draw the robot: {error}") from error
            self._built = model, mujoco.MjData(model)
        return self._built

    def update(self) -> tuple["mujoco.MjModel", "mujoco.MjData"]:
        """Return model and data with all robots in their state."""
        model, data = self.model_and_data
        for robot in self._robots:
            robot.write(model, data)
        mujoco.mj_kinematics(model, data)
        return model, data


BACKEND_VARIABLE = "MUJOCO_GL"
"""Environment variable that selects MuJoCo's OpenGL backend."""

BACKEND_LIBRARIES = {"egl": "EGL", "osmesa": "OSMesa"}
"""OpenGL backends without a display on Linux, in order of preference, and their libraries."""

PLATFORM_BACKENDS = {"darwin": "cgl", "win32": "glfw"}
"""OpenGL backends of other systems."""

LIBRARY_REMEDY = "install libegl1 or libosmesa6, or set MUJOCO_GL"

AMBIENT, DIFFUSE, SPECULAR = 0.42, 0.62, 0.06
"""Ambient light, light from its direction, and reflection."""

START_PIXELS = 64
"""Width and height of the first buffer [pixels]; it grows with the pictures."""


class MujocoRenderer(Renderer):
    """A scene of MuJoCo and an OpenGL context that draws it; use it in a ``with`` block.

    The kind ``egl`` allows only EGL; ``auto`` and ``software`` use the backend of MUJOCO_GL,
    otherwise EGL or OSMesa, which render in software without a graphics card. Raises `OptionError`
    if no backend works.
    """

    def __init__(self, kind: str = "auto") -> None:
        self.kind = "egl" if kind == "egl" else backend()
        self._scene = MujocoScene()
        self._model: mujoco.MjModel | None = None
        self._target: mujoco.MjrContext | None = None
        self._context = gl_context(self.kind)

    def add(self, robot: Robot, parts: Sequence[VisualPart]) -> MujocoRobot:
        """Add a robot to all pictures; see `Renderer`."""
        return self._scene.add(robot, parts)

    def render(
        self, camera: Camera, light: Float1D, scale: float = 1.0, box: PixelBox | None = None
    ) -> RenderedImage:
        """Render the picture of a camera; see `Renderer`."""
        box = box or (0, 0, camera.width, camera.height)
        width, height = round((box[2] - box[0]) * scale), round((box[3] - box[1]) * scale)
        model, data = self._scene.update()
        self._context.make_current()
        if model is not self._model or self._target is None:
            if self._target is not None:
                self._target.free()
            self._model, self._options = model, mujoco.MjvOption()
            self._view = mujoco.MjvScene(model, maxgeom=model.ngeom + 10)
            self._view.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = 0  # the compositor draws shadows
            self._target = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_50)
            mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._target)
        if self._target.offWidth < width or self._target.offHeight < height:
            size = max(self._target.offWidth, width), max(self._target.offHeight, height)
            mujoco.mjr_resizeOffscreen(*size, self._target)
        unused = mujoco.MjvCamera()
        mujoco.mjv_updateScene(
            model, data, self._options, None, unused, mujoco.mjtCatBit.mjCAT_ALL, self._view
        )
        self._aim(camera, box, light)
        viewport = mujoco.MjrRect(0, 0, width, height)
        colors = np.empty((height, width, 3), np.uint8)
        buffer = np.empty((height, width), np.float32)
        mujoco.mjr_render(viewport, self._view, self._target)
        mujoco.mjr_readPixels(colors, buffer, viewport, self._target)
        opaque = np.full((height, width, 1), 255, np.uint8)
        pixels = np.concatenate([colors[::-1], opaque], axis=2)  # OpenGL counts rows from below
        return RenderedImage(pixels, camera.depth(buffer[::-1]), box, scale)

    def close(self) -> None:
        """Release the context."""
        if self._target is not None:
            self._context.make_current()
            self._target.free()
            self._target = None
        self._context.free()

    def _aim(self, camera: Camera, box: PixelBox, light: Float1D) -> None:
        """Set the view to a part of a camera's picture, and the direction of the light."""
        near, far = camera.clip_planes()
        half_height = near * float(np.tan(np.radians(camera.fov) / 2.0))
        x_start, x_end = (2.0 * edge / camera.width - 1.0 for edge in (box[0], box[2]))
        y_end, y_start = (1.0 - 2.0 * edge / camera.height for edge in (box[1], box[3]))
        half_width = half_height * camera.width / camera.height
        for eye in self._view.camera:  # a stereo pair, whose mean is the view
            eye.pos, eye.up, eye.forward = camera.eye, camera.axes[:, 1], -camera.axes[:, 2]
            eye.frustum_near, eye.frustum_far = near, far
            eye.frustum_bottom, eye.frustum_top = half_height * y_start, half_height * y_end
            eye.frustum_center = 0.5 * half_width * (x_start + x_end)
            eye.frustum_width = 0.5 * half_width * (x_end - x_start)
        self._view.nlight = 1
        lamp: Any = self._view.lights[0]
        if hasattr(lamp, "directional"):  # renamed between versions of MuJoCo
            lamp.directional = 1
        else:
            lamp.type = int(mujoco.mjtLightType.mjLIGHT_DIRECTIONAL)
        lamp.pos, lamp.dir, lamp.castshadow = camera.eye, -light, 0
        lamp.ambient, lamp.diffuse, lamp.specular = ([x] * 3 for x in (AMBIENT, DIFFUSE, SPECULAR))


def backend() -> str:
    """Choose the OpenGL backend: from MUJOCO_GL, otherwise the first with an installed library.

    Raises `OptionError` if there is none.
    """
    named = os.environ.get(BACKEND_VARIABLE, "").lower()
    if named in (*BACKEND_LIBRARIES, *PLATFORM_BACKENDS.values()):
        return named
    if not sys.platform.startswith("linux"):
        return PLATFORM_BACKENDS.get(sys.platform, "glfw")
    for name, library in BACKEND_LIBRARIES.items():
        if ctypes.util.find_library(library):
            return name
    raise OptionError(f"MuJoCo cannot draw without EGL or OSMesa; {LIBRARY_REMEDY}")


def gl_context(kind: str) -> Any:
    """Make an OpenGL context of a kind, ready for drawing; raise `OptionError` if none works."""
    try:
        context = importlib.import_module(f"mujoco.{kind}").GLContext(START_PIXELS, START_PIXELS)
        context.make_current()
    except Exception as error:  # PyOpenGL and drivers raise errors of every kind
        reason = str(error).strip().splitlines()
        detail = f" ({reason[0]})" if reason else ""
        raise OptionError(f"MuJoCo cannot draw by {kind}{detail}; {LIBRARY_REMEDY}") from error
    return context
