"""Distances of a robot to itself and to the floor, with their gradients, from the engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from robotid_sim.arrays import Float, Float1D, Float2D, Int1D
from robotid_sim.dynamics import kernels
from robotid_sim.engine.client import Closing, EngineClient
from robotid_sim.engine.quiet import captured_output
from robotid_sim.errors import FileFormatError, OptionError
from robotid_sim.model.fixed_links import base_shapes
from robotid_sim.model.geometry import GeometryShape
from robotid_sim.model.robot import Robot

READABLE = (".stl", ".obj")
"""Meshes that the engine reads."""

FLOOR = "floor"
FLOOR_SIZE = 50.0
"""Half width of the floor, which is a cube [m]: so thick that nothing is below it."""

MARGIN = 1e-3
"""The engine's own margin around a mesh [m]: distances are that much too small, never too large."""

PROBES = 60
"""Random configurations that tell pairs of links that always touch."""

CUTOFF = 0.15
"""Distances above this are this [m]: what is far away does not matter."""


@dataclass(frozen=True, slots=True, eq=False)
class Hull:
    """One convex body in the engine."""

    body: int
    """The engine's number."""
    link: int
    """Index of the link that carries it; -1 for what stands still."""
    T_link_hull: Float2D
    """Placement in the frame of the link, shape (4, 4)."""
    center: Float1D
    """Center of a sphere around it, in its own frame [m], shape (3,)."""
    radius: float
    """Radius of that sphere [m]."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two links, or a link and the floor, that shall not touch."""

    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.first} and {self.second}"


class Proximity(Closing):
    """Smallest distances between the links of a robot, and to the floor; use in a ``with`` block.

    Links are the convex hulls of their collision shapes, or of their visual ones. Neighbors in the
    chain are left out, and so are links that touch one another in every one of PROBES random
    configurations.
    It can be sent to another process, which opens a client of its own.

    Parameters
    ----------
    robot : Robot
        Kinematics and geometry.
    floor : float, optional
        Height of the floor in the root frame [m]; None for none.

    Raises
    ------
    OptionError
        If the links have no geometry that the engine can read.
    """

    def __init__(self, robot: Robot, *, floor: float | None = None) -> None:
        self.robot, self.floor = robot, floor
        self._prismatic = np.array(robot.prismatic)
        self._last: tuple[bytes, Float2D, Float] | None = None
        self._client = EngineClient()
        try:
            self._hulls = self._load()
            self.pairs, self._candidates = self._possible_pairs()
        except BaseException:
            self.close()
            raise

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), floor=self.floor), (self.robot,)

    def close(self) -> None:
        """Disconnect from the engine."""
        self._client.close()

    def __call__(self, q: Float1D) -> tuple[Float1D, Float2D]:
        r"""Return the distance of every pair and its gradient.

        With the closest points a, b and the normal n from b to a,
        :math:`\partial d / \partial q = n^T (J_a - J_b)`.

        Parameters
        ----------
        q : ndarray, shape (n,)
            Positions.

        Returns
        -------
        distance : ndarray, shape (P,)
            Of `pairs` [m], at most CUTOFF; negative where they penetrate.
        gradient : ndarray, shape (P, n)
            Zero where the distance is cut off.
        """
        T = kernels.link_poses(self.robot.geometry, np.asarray(q, dtype=float))
        axes = np.array([T[j, :3, :3] @ joint.axis for j, joint in enumerate(self.robot.joints)])
        distance = np.full(len(self.pairs), CUTOFF)
        gradient = np.zeros((len(self.pairs), self.robot.dof))
        for k, (first, second, point) in self._nearest(T).items():
            distance[k] = point[8]
            on_first, on_second, normal = (np.array(point[i]) for i in (5, 6, 7))
            moved = self._jacobian(T, axes, first.link, on_first)
            moved -= self._jacobian(T, axes, second.link, on_second)
            gradient[k] = normal @ moved
        return distance, gradient

    def along(self, q: Float2D) -> tuple[Float2D, Float]:
        """Return distances, shape (N, P), and gradients, shape (N, P, n), along a path.

        The last answer is kept: solvers ask for values and for slopes of the same path.
        """
        key = np.asarray(q).tobytes()
        if self._last is None or self._last[0] != key:
            both = [self(sample) for sample in q]
            self._last = key, np.array([d for d, _ in both]), np.array([g for _, g in both])
        return self._last[1], self._last[2]

    def _nearest(self, T: Float) -> dict[int, tuple[Hull, Hull, tuple[Any, ...]]]:
        """Return the engine's closest points of every pair that is within the cutoff.

        Spheres around the hulls tell most of those that are not, at once.
        """
        centers = self._place(T)
        first, second = self._candidates[:, 0], self._candidates[:, 1]
        gap = np.linalg.norm(centers[first] - centers[second], axis=1)
        near = gap - self._radii[first] - self._radii[second] < CUTOFF
        nearest: dict[int, tuple[Hull, Hull, tuple[Any, ...]]] = {}
        for a, b, k in self._candidates[near].tolist():
            hull, other = self._hulls[a], self._hulls[b]
            for point in self._client.getClosestPoints(hull.body, other.body, distance=CUTOFF):
                if k not in nearest or point[8] < nearest[k][2][8]:
                    nearest[k] = hull, other, point
        return nearest

    def _jacobian(self, T: Float, axes: Float2D, link: int, point: Float1D) -> Float2D:
        """Return the velocity Jacobian of a point of a link, in the root frame, shape (3, n)."""
        J, moved = np.zeros((3, self.robot.dof)), slice(link + 1)
        z, arm = axes[moved].T, (point - T[moved, :3, 3]).T
        turning = (
            z[1] * arm[2] - z[2] * arm[1],
            z[2] * arm[0] - z[0] * arm[2],
            z[0] * arm[1] - z[1] * arm[0],
        )
        J[:, moved] = np.where(self._prismatic[moved], z, turning)
        return J

    def _place(self, T: Float) -> Float2D:
        """Move all hulls to a configuration; return the centers of their spheres, shape (H, 3)."""
        poses = np.array([T[h.link] @ h.T_link_hull for h in self._hulls if h.link >= 0])
        turns = Rotation.from_matrix(poses[:, :3, :3]).as_quat()
        for hull, pose, turn in zip(self._hulls, poses, turns, strict=False):  # those that move
            place = (pose[:3, 3].tolist(), turn.tolist())
            self._client.resetBasePositionAndOrientation(hull.body, *place)
        still = [h.T_link_hull for h in self._hulls if h.link < 0]
        every = np.concatenate([poses, np.array(still).reshape(-1, 4, 4)])
        local = np.array([h.center for h in self._hulls])
        return np.asarray(np.einsum("hij,hj->hi", every[:, :3, :3], local) + every[:, :3, 3])

    def _load(self) -> list[Hull]:
        """Return all hulls, those that move first."""
        robot = self.robot
        moving = [
            self._hull(shape, k)
            for k, link in enumerate(robot.links)
            for shape in collision_shapes(link.shapes)
        ]
        if not moving:
            raise OptionError(
                f"'{robot.name}' has no geometry that the engine can read ({', '.join(READABLE)} "
                "or primitives); without it no collision can be avoided"
            )
        still = [self._hull(shape, -1) for shape in collision_shapes(base_shapes(robot))]
        if self.floor is not None:
            still.append(self._floor(self.floor))
        hulls = [*moving, *still]
        self._radii = np.array([hull.radius for hull in hulls])
        return hulls

    def _floor(self, height: float) -> Hull:
        half = [FLOOR_SIZE] * 3
        box = self._client.createCollisionShape(self._client.GEOM_BOX, halfExtents=half)
        place = np.eye(4)
        place[2, 3] = height - FLOOR_SIZE
        return self._placed(box, -1, place)

    def _hull(self, shape: GeometryShape, link: int) -> Hull:
        with captured_output() as printed:
            collision = self._client.createCollisionShape(**_engine_shape(self._client, shape))
        if collision < 0:
            raise FileFormatError(f"the engine cannot read {shape.mesh}: {printed.text.strip()}")
        return self._placed(collision, link, shape.T_body_shape)

    def _placed(self, shape: int, link: int, T: Float2D) -> Hull:
        body = int(self._client.createMultiBody(0, shape))
        low, high = map(np.array, self._client.getAABB(body))
        if link < 0:
            turn = Rotation.from_matrix(T[:3, :3]).as_quat()
            self._client.resetBasePositionAndOrientation(body, T[:3, 3].tolist(), turn.tolist())
        return Hull(body, link, T, 0.5 * (low + high), 0.5 * float(np.linalg.norm(high - low)))

    def _possible_pairs(self) -> tuple[tuple[Pair, ...], Int1D]:
        """Return pairs of links that are no neighbors and do not always touch, and their hulls.

        Candidates are rows of two indices of hulls and that of their pair, shape (C, 3).
        """
        n, names = self.robot.dof, [link.name for link in self.robot.links]
        by_link = [[h for h, hull in enumerate(self._hulls) if hull.link == k] for k in range(n)]
        still = [h for h, hull in enumerate(self._hulls) if hull.link < 0]
        floor = still[-1:] if self.floor is not None else []
        base = still[: len(still) - len(floor)]
        pairs = [
            (Pair(names[b], names[a]), by_link[b], by_link[a])
            for a in range(n)
            for b in range(a + 2, n)
        ]
        pairs += [(Pair(names[b], self.robot.base), by_link[b], base) for b in range(1, n)]
        pairs += [(Pair(names[b], FLOOR), by_link[b], floor) for b in range(1, n)]
        combined = [(pair, [(a, b) for a in ones for b in others]) for pair, ones, others in pairs]
        rows = [(pair, hulls) for pair, hulls in combined if hulls]
        self._candidates = _numbered(rows)
        touching = np.ones(len(rows), dtype=bool)
        rng = np.random.default_rng(int(self.robot.fingerprint()[:16], 16))
        limits = self.robot.limits
        for _ in range(PROBES):
            q = rng.uniform(limits.lower, limits.upper)
            nearest = self._nearest(kernels.link_poses(self.robot.geometry, q))
            touching &= [k in nearest and nearest[k][2][8] < 0.0 for k in range(len(rows))]
        # What is always in the floor is no overlap of hulls: the floor is too high.
        possible = [
            (pair, hulls)
            for (pair, hulls), always in zip(rows, touching, strict=True)
            if not always or pair.second == FLOOR
        ]
        return tuple(pair for pair, _ in possible), _numbered(possible)


def _numbered(rows: Sequence[tuple[Pair, Sequence[tuple[int, int]]]]) -> Int1D:
    """Return rows of two hulls and the index of their pair, shape (C, 3)."""
    return np.array([(a, b, k) for k, (_, hulls) in enumerate(rows) for a, b in hulls])


def collision_shapes(shapes: Sequence[GeometryShape]) -> list[GeometryShape]:
    """Return the shapes that collisions are looked for with: those of collision, or all."""
    readable = [s for s in shapes if s.mesh is None or s.mesh.suffix.lower() in READABLE]
    return [s for s in readable if s.collision] or readable


def _engine_shape(client: EngineClient, shape: GeometryShape) -> dict[str, object]:
    """Return a shape as the engine takes it."""
    size = list(shape.size)
    sizes: dict[str, object]
    if shape.kind == "mesh":
        kind, sizes = client.GEOM_MESH, {"fileName": str(shape.mesh), "meshScale": size}
    elif shape.kind == "box":
        kind, sizes = client.GEOM_BOX, {"halfExtents": [0.5 * edge for edge in size]}
    elif shape.kind == "sphere":
        kind, sizes = client.GEOM_SPHERE, {"radius": size[0]}
    else:
        kind = client.GEOM_CYLINDER if shape.kind == "cylinder" else client.GEOM_CAPSULE
        sizes = {"radius": size[0], "height": size[1]}
    return {"shapeType": kind, **sizes}
