"""Inverse kinematics of a point that three joints, or six with the orientation, move along a path.

The module also chooses the joints that move the point, and their start pose.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D, Int1D, MotionArrays, freeze
from robotid_sim.errors import PathError, ShapeError
from robotid_sim.kinematics import point_kernels
from robotid_sim.kinematics.forward import link_poses
from robotid_sim.kinematics.inverse import find_exceeded_limit, pose_label
from robotid_sim.kinematics.workspace import configurations
from robotid_sim.model.robot import Robot


@dataclass(frozen=True, slots=True, eq=False)
class PointKinematics:
    """Inverse kinematics of a point by the joints that move it: three, or six with the orientation.

    The other joints rest. The kinematics are included, so that a path can be evaluated without a
    robot.
    """

    robot_name: str
    geometry: Float2D
    """Kinematics of the joints up to the point's body, packed as in the kernels, shape (m, 37)."""
    point: Float1D
    """The point in the frame of the last of these bodies [m], shape (3,)."""
    moved: Int1D
    """Indices of the moving joints, shape (3,) or (6,)."""
    q_start: Float1D
    """Positions of all joints at the start of every search [rad or m], shape (n,)."""
    orientation: Float2D
    """Orientation of the last body in the root frame, kept by six joints, shape (3, 3)."""
    position: Float1D = field(init=False)
    """Position of the point at `q_start`, in the root frame [m], shape (3,)."""

    def __post_init__(self) -> None:
        moved = np.array(self.moved, dtype=np.intp)
        if moved.shape not in ((3,), (6,)) or not (0 <= moved.min() <= moved.max() < self.bodies):
            raise ShapeError("three or six joints of the chain must move the point")
        moved.setflags(write=False)
        object.__setattr__(self, "moved", moved)
        freeze(self, (None, 37), "geometry")
        freeze(self, (3,), "point")
        freeze(self, (None,), "q_start")
        freeze(self, (3, 3), "orientation")
        if self.q_start.size < self.bodies:
            raise ShapeError("q_start needs a position for every joint of the chain")
        object.__setattr__(self, "position", self.pose()[:3, 3])
        freeze(self, (3,), "position")

    @property
    def bodies(self) -> int:
        """Number of joints up to the point's body."""
        return len(self.geometry)

    def follow(self, targets: Float2D) -> Float2D:
        """Compute positions of all joints along targets (N, 3), by steps from `q_start`.

        Raises `PathError` if a target cannot be reached from the previous one; the text names it.
        """
        chain = (self.geometry, self.point, self.moved, self.q_start[: self.bodies].copy())
        Q, solved = point_kernels.follow(
            *chain, self.position, targets, self.orientation, self.moved.size
        )
        self._require_all_solved(solved, targets)
        return self._all_joints(Q, self.q_start)

    def solve(self, seeds: Float2D, targets: Float2D) -> Float2D:
        """Compute positions of all joints at targets (N, 3), each from its initial guess (N, n).

        Raises `PathError` if a target cannot be reached; the text names it.
        """
        Q = np.array(seeds[:, : self.bodies])
        chain = (self.geometry, self.point, self.moved, Q)
        solved = point_kernels.polish(*chain, targets, self.orientation, self.moved.size)
        self._require_all_solved(solved, targets)
        return self._all_joints(Q, self.q_start)

    def rates(self, q: Float2D, v: Float2D, a: Float2D) -> tuple[Float2D, Float2D]:
        r"""Compute velocities and accelerations of joints, (N, n) each, from the point.

        By differentiated kinematics, :math:`\dot q = J^{-1} v` and :math:`\ddot q = J^{-1} (a -
        \dot J \dot q)`. Raises `PathError` if a position is singular.
        """
        Q = np.array(q[:, : self.bodies])
        chain = (self.geometry, self.point, self.moved, Q)
        dq, ddq, solved = point_kernels.rates(*chain, v, a, self.moved.size)
        if solved < len(q):
            raise PathError(f"sample {solved + 1} of {len(q)} is singular for '{self.robot_name}'")
        return self._all_joints(dq, 0.0), self._all_joints(ddq, 0.0)

    def sensitivity(self, motion: MotionArrays) -> tuple[Float, Float, Float, Float]:
        """Return J, dV/dq, dA/dq, dA/d(dq) along a motion, each (N, r, r) for r moving joints.

        V and A are velocity and acceleration of the point, with six joints also angular.
        """
        Q, DQ, DDQ = (np.array(part[:, : self.bodies]) for part in motion)
        J, Vq, Aq, Adq = point_kernels.sensitivity(
            self.geometry, self.point, self.moved, Q, DQ, DDQ, self.moved.size
        )
        return J, Vq, Aq, Adq

    def content(self) -> dict[str, Any]:
        """Return the content of the JSON form."""
        arrays = ("geometry", "point", "moved", "q_start")
        values = {name: getattr(self, name).tolist() for name in arrays}
        return {"robot_name": self.robot_name, **values, "held": self.orientation.tolist()}

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        """Return the point that `content` describes."""
        values = dict(content)
        return cls(orientation=values.pop("held"), **values)

    def move_to(self, target: Float1D) -> Self | None:
        """Return the point with `q_start` at a target, or None if it cannot be reached."""
        try:
            q = self.follow(target[None])[0]
        except PathError:
            return None
        return replace(self, q_start=q)

    def condition_number(self) -> float:
        """Return the condition number of the Jacobian of the moving joints at `q_start`."""
        start = self.q_start[None]
        J = self.sensitivity((start, 0.0 * start, 0.0 * start))[0][0]
        return float(np.linalg.cond(J))

    def pose(self) -> Float2D:
        """Return orientation of the last body and position of the point at `q_start`, (4, 4)."""
        pose = np.eye(4)
        for g, q in zip(self.geometry, self.q_start, strict=False):
            step, slides = np.eye(4), g[6] == 1.0
            s, c = (0.0, 1.0) if slides else (np.sin(q), np.cos(q))
            A, B, C = g[10:].reshape(3, 3, 3)
            step[:3, :3] = A + c * B + s * C
            step[:3, 3] = g[:3] + (q * g[7:10] if slides else 0.0)
            pose = pose @ step
        pose[:3, 3] += pose[:3, :3] @ self.point
        return pose

    def _all_joints(self, values: Float2D, fill: Float1D | float) -> Float2D:
        """Append values of the joints beyond the point, shape (N, n)."""
        extended = np.empty((len(values), self.q_start.size))
        extended[:] = fill
        extended[:, : self.bodies] = values
        return extended

    def _require_all_solved(self, solved: int, targets: Float2D) -> None:
        if solved == len(targets):
            return
        poses = np.repeat(np.eye(4)[None], len(targets), axis=0)
        poses[:, :3, 3] = targets
        raise PathError(
            f"{pose_label(poses, solved)} is out of reach of '{self.robot_name}', or only by way "
            "of a singular pose; choose a smaller motion or another 'center'"
        )


Follow = Literal["wrist", "tip"]

MIN_SINGULAR_VALUE_RATIO = 1e-3
"""Smallest over largest singular value of the Jacobian, at a typical pose, above which joints can
move a point."""

CENTRAL_RANGE_SHARE = 0.9
"""Central share of the position range that should contain the pose at the center."""


def make_point_kinematics(
    robot: Robot,
    follow: Follow,
    point: tuple[float, float, float] | None,
    center: tuple[float, float, float] | None,
) -> PointKinematics:
    """Choose the moving joints for a point of a robot, and a pose with the point at the center.

    Parameters
    ----------
    robot : Robot
        Kinematics and limits.
    follow : str
        ``wrist``: the first three joints that can move a point follow the path, the others rest at
        home. ``tip``: six joints move the tip and keep its orientation.
    point : tuple of float, optional
        The point [m] in the frame of the body of the third moving joint, or of the tip. By default
        the tip, or the origin of the second joint after these three, the wrist center of most arms.
    center : tuple of float, optional
        Center in the root frame [m]; by default the position of the point in the best conditioned
        configuration.

    Raises
    ------
    PathError
        If the joints cannot move a point, or the center is out of reach.
    """
    rows = 3 if follow == "wrist" else 6
    candidates = []
    at_home = _point_at_home(robot, _first_joints(robot, rows, point), point)
    limits = robot.limits
    for q in configurations(robot):
        start = np.array(robot.home)
        start[at_home.moved] = q[at_home.moved]
        seed = replace(at_home, q_start=start)
        seed = replace(seed, orientation=seed.pose()[:3, :3])
        candidate = seed if center is None else seed.move_to(np.array(center))
        if candidate is None or find_exceeded_limit(robot, candidate.q_start) is not None:
            continue
        range_share = np.abs(candidate.q_start - limits.middle) / limits.half_range
        is_at_edge = bool(range_share[at_home.moved].max() > CENTRAL_RANGE_SHARE)
        candidates.append((is_at_edge, candidate.condition_number(), candidate))
    if not candidates:
        raise PathError(
            f"the center {center} is out of reach of '{robot.name}' within its limits; choose "
            "another 'center' or leave it to the search"
        )
    return min(candidates, key=lambda entry: entry[:2])[2]


def _point_at_home(
    robot: Robot, moved: list[int], point: tuple[float, float, float] | None
) -> PointKinematics:
    """Return a point with given moving joints, at the home pose."""
    bodies, local = robot.dof, robot.T_last_tip[:3, 3]
    if len(moved) == 3:
        wrist = moved[-1] + 2
        if point is not None:
            bodies, local = moved[-1] + 1, np.array(point)
        elif wrist < robot.dof:
            bodies, local = wrist, robot.geometry[wrist, :3]
    elif point is not None:
        local = robot.T_last_tip[:3] @ np.append(point, 1.0)
    orientation = link_poses(robot, robot.home)[bodies - 1][:3, :3]
    geometry = robot.geometry[:bodies]
    return PointKinematics(robot.name, geometry, local, np.array(moved), robot.home, orientation)


def _first_joints(robot: Robot, rows: int, point: tuple[float, float, float] | None) -> list[int]:
    """Find the first joints that can move a point or a tip, with the others at home.

    Raises `PathError` if there are not enough.
    """
    for moved in itertools.combinations(range(robot.dof), rows):
        at_home = _point_at_home(robot, list(moved), point)
        for q in configurations(robot)[1:4]:
            start = np.array(robot.home)
            start[list(moved)] = q[list(moved)]
            if replace(at_home, q_start=start).condition_number() < 1.0 / MIN_SINGULAR_VALUE_RATIO:
                return list(moved)
    directions = "a point in all directions" if rows == 3 else "its tip and hold the orientation"
    raise PathError(
        f"no {rows} joints of '{robot.name}' can move {directions}; choose another 'point' or "
        "another family of excitations"
    )
