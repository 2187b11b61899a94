"""Robots in a MuJoCo model that only shows them: a body for every part, put where it belongs."""

from collections.abc import Mapping, Sequence

import mujoco
import numpy as np
import trimesh

from robotid_sim.arrays import Float1D
from robotid_sim.errors import RobotIdError
from robotid_sim.kinematics.forward import link_poses
from robotid_sim.model.robot import Robot
from robotid_sim.viewer.colors import Rgba
from robotid_sim.viewer.robot_visuals import VisualPart, part_solid


class MujocoRobot:
    """Parts on the bodies of a robot, from a number of the scene on; see `DrawnRobot`."""

    def __init__(self, robot: Robot, parts: Sequence[VisualPart], first: int) -> None:
        self._robot, self.parts, self.visible = robot, tuple(parts), True
        self._in_body = np.array([part.T_body_part for part in parts])
        self._bodies = np.array([part.body for part in parts])
        self._own = np.array([part.rgba for part in parts])
        self._colors = self._own.copy()
        self._rows = slice(first, first + len(parts))
        self.pose(robot.home)

    def pose(self, q: Float1D) -> None:
        """Put the joints at `q` [rad or m], shape (n,)."""
        frames = np.vstack([link_poses(self._robot, q), np.eye(4)[None]])  # -1 is the base
        self._poses = frames[self._bodies] @ self._in_body

    def show(self, *, visible: bool) -> None:
        """Show or hide the robot."""
        self.visible = visible

    def paint(self, colors: Mapping[int, Rgba | None]) -> None:
        """Give all parts of some bodies a color, or for None their own; -1 is the base."""
        for body, color in colors.items():
            rows = self._bodies == body
            self._colors[rows] = self._own[rows] if color is None else color

    def write(self, model: "mujoco.MjModel", data: "mujoco.MjData") -> None:
        """Put the state into a model of the scene and its data."""
        data.mocap_pos[self._rows] = self._poses[:, :3, 3]
        turns = np.empty((len(self._poses), 4))  # as MuJoCo has them: w, x, y, z
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
        self._spec.visual.quality.offsamples = 0  # the edge of a body shall not mix with nothing
        self._meshes: dict[tuple[object, tuple[float, ...]], str] = {}
        self._robots: list[MujocoRobot] = []
        self._count = 0
        self._built: tuple[mujoco.MjModel, mujoco.MjData] | None = None

    def add(self, robot: Robot, parts: Sequence[VisualPart]) -> MujocoRobot:
        """Return a robot that is in the scene from now on.

        Raises `RobotIdError` if a mesh cannot be read.
        """
        for part in parts:
            body = self._spec.worldbody.add_body(mocap=True)
            geom = body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=self._mesh(part))
            geom.contype = geom.conaffinity = 0
        added = MujocoRobot(robot, parts, self._count)
        self._count += len(parts)
        self._robots.append(added)
        self._built = None
        return added

    @property
    def built(self) -> tuple["mujoco.MjModel", "mujoco.MjData"]:
        """Model and data, the same until a robot is added.

        Raises `RobotIdError` if MuJoCo refuses a mesh.
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
        model, data = self.built
        for robot in self._robots:
            robot.write(model, data)
        mujoco.mj_kinematics(model, data)
        return model, data

    def _mesh(self, part: VisualPart) -> str:
        """Return the name of the mesh of a part; parts share theirs."""
        mesh_key = id(part.mesh) if isinstance(part.mesh, trimesh.Trimesh) else part.mesh
        key = (mesh_key, part.scale)
        if key not in self._meshes:
            solid = part_solid(part)
            shaded = trimesh.Trimesh(solid.vertices, solid.faces, process=False).smooth_shaded
            name = self._meshes[key] = f"mesh_{len(self._meshes)}"
            mesh = self._spec.add_mesh(name=name)
            mesh.uservert, mesh.userface = shaded.vertices.ravel(), shaded.faces.ravel()
            mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL  # it may be open or flat
        return self._meshes[key]
