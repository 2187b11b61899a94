"""A point of an arm that just enough of its joints carry along a path: exact inverse kinematics."""

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D, Int1D, MotionArrays, freeze
from robotid_sim.errors import PathError, ShapeError
from robotid_sim.kinematics import point_kernels
from robotid_sim.kinematics.inverse import pose_label


@dataclass(frozen=True, slots=True, eq=False)
class CarriedPoint:
    """A point and the joints that carry it: three, or six that hold the orientation too.

    The other joints rest. It knows the kinematics, so that a path can be evaluated without a robot.
    """

    robot_name: str
    geometry: Float2D
    """Kinematics of the joints up to the point's body, packed as in the kernels, shape (m, 37)."""
    point: Float1D
    """The point in the frame of the last of these bodies [m], shape (3,)."""
    moved: Int1D
    """Indices of the carrying joints, shape (3,) or (6,)."""
    q_start: Float1D
    """Positions of all joints where every search starts [rad or m], shape (n,)."""
    held: Float2D
    """Orientation of the last body in the root frame, that six joints hold, shape (3, 3)."""
    position: Float1D = field(init=False)
    """Where the point is at `q_start`, in the root frame [m], shape (3,)."""

    def __post_init__(self) -> None:
        moved = np.array(self.moved, dtype=np.intp)
        if moved.shape not in ((3,), (6,)) or not (0 <= moved.min() <= moved.max() < self.bodies):
            raise ShapeError("three or six joints of the chain must carry the point")
        moved.setflags(write=False)
        object.__setattr__(self, "moved", moved)
        freeze(self, (None, 37), "geometry")
        freeze(self, (3,), "point")
        freeze(self, (None,), "q_start")
        freeze(self, (3, 3), "held")
        if self.q_start.size < self.bodies:
            raise ShapeError("q_start needs a position for every joint of the chain")
        object.__setattr__(self, "position", self.pose()[:3, 3])
        freeze(self, (3,), "position")

    @property
    def bodies(self) -> int:
        """Number of joints up to the point's body."""
        return len(self.geometry)

    def along(self, targets: Float2D) -> Float2D:
        """Return positions of all joints along targets (N, 3), by steps from `q_start` on.

        Raises `PathError` if a target cannot be reached from the one before; the text names it.
        """
        chain = (self.geometry, self.point, self.moved, self.q_start[: self.bodies].copy())
        Q, count = point_kernels.follow(*chain, self.position, targets, self.held, self.moved.size)
        self._require(count, targets)
        return self._whole(Q)

    def near(self, seeds: Float2D, targets: Float2D) -> Float2D:
        """Return positions of all joints at targets (N, 3), each found from its seed (N, n).

        Raises `PathError` if a target cannot be reached; the text names it.
        """
        Q = np.array(seeds[:, : self.bodies])
        chain = (self.geometry, self.point, self.moved, Q)
        self._require(point_kernels.polish(*chain, targets, self.held, self.moved.size), targets)
        return self._whole(Q)

    def rates(self, q: Float2D, v: Float2D, a: Float2D) -> tuple[Float2D, Float2D]:
        r"""Return velocities and accelerations of all joints from those of the point, (N, n) each.

        By the differentiated kinematics, :math:`\dot q = J^{-1} v` and :math:`\ddot q = J^{-1} (a -
        \dot J \dot q)`. Raises `PathError` if a position is singular.
        """
        Q = np.array(q[:, : self.bodies])
        chain = (self.geometry, self.point, self.moved, Q)
        dq, ddq, count = point_kernels.rates(*chain, v, a, self.moved.size)
        if count < len(q):
            raise PathError(f"sample {count + 1} of {len(q)} is singular for '{self.robot_name}'")
        return self._whole(dq, rest=False), self._whole(ddq, rest=False)

    def sensitivity(self, motion: MotionArrays) -> tuple[Float, Float, Float, Float]:
        """Return J, dV/dq, dA/dq, dA/d(dq) along a motion, each (N, r, r); see the kernel."""
        Q, DQ, DDQ = (np.array(part[:, : self.bodies]) for part in motion)
        J, Vq, Aq, Adq = point_kernels.sensitivity(
            self.geometry, self.point, self.moved, Q, DQ, DDQ, self.moved.size
        )
        return J, Vq, Aq, Adq

    def content(self) -> dict[str, Any]:
        """Return what the JSON form holds."""
        arrays = ("geometry", "point", "moved", "q_start", "held")
        values = {name: getattr(self, name).tolist() for name in arrays}
        return {"robot_name": self.robot_name, **values}

    def moved_to(self, target: Float1D) -> Self | None:
        """Return the same with `q_start` at a target, or None if it cannot be reached."""
        try:
            q = self.along(target[None])[0]
        except PathError:
            return None
        return replace(self, q_start=q)

    def index(self) -> float:
        """Return the condition number of the Jacobian of the carrying joints at `q_start`."""
        start = self.q_start[None]
        J = self.sensitivity((start, 0.0 * start, 0.0 * start))[0][0]
        return float(np.linalg.cond(J))

    def pose(self) -> Float2D:
        """Return the pose of the last body at `q_start`, moved to the point, shape (4, 4)."""
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

    def _whole(self, part: Float2D, *, rest: bool = True) -> Float2D:
        whole = np.zeros((len(part), self.q_start.size))
        if rest:
            whole[:] = self.q_start
        whole[:, : self.bodies] = part
        return whole

    def _require(self, count: int, targets: Float2D) -> None:
        if count == len(targets):
            return
        poses = np.repeat(np.eye(4)[None], len(targets), axis=0)
        poses[:, :3, 3] = targets
        raise PathError(
            f"{pose_label(poses, count)} is out of reach of '{self.robot_name}', or only by way of "
            "a singular pose; choose a smaller motion or another 'center'"
        )
