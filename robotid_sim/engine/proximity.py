"""Distances of a robot to itself and to the floor, with their gradients, from the engine."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.dynamics import kernels
from robotid_sim.engine.closing import Closing
from robotid_sim.engine.figure import base_shapes
from robotid_sim.engine.quiet import captured_output
from robotid_sim.errors import FileFormatError, OptionError
from robotid_sim.model.geometry import Shape
from robotid_sim.model.robot import Robot

with captured_output():  # prints its build time
    import pybullet

READABLE = (".stl", ".obj")
"""Meshes that the engine reads."""

FLOOR = "floor"
FLOOR_SIZE = 50.0
"""Half width of the floor, which is a box [m]."""

MARGIN = 1e-3
"""The engine's own margin around a mesh [m]: distances are that much too small, never too large."""

PROBES = 60
"""Random configurations that tell pairs of links that always touch."""

CUTOFF = 0.25
"""Distances above this are this [m]: what is far away does not matter."""


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
    chain are left out, and so are links that touch in every one of PROBES random configurations.

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
        self.robot = robot
        self._client = pybullet.connect(pybullet.DIRECT)
        try:
            self._bodies = self._load(floor)
            self.pairs = self._possible_pairs()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Disconnect from the engine."""
        if self._client >= 0:
            pybullet.disconnect(physicsClientId=self._client)
            self._client = -1

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
        T = self._place(q)
        distance = np.full(len(self.pairs), CUTOFF)
        gradient = np.zeros((len(self.pairs), self.robot.dof))
        for k, pair in enumerate(self.pairs):
            closest = self._closest(pair, CUTOFF)
            if closest is None:
                continue
            distance[k] = closest[8]
            on_first, on_second, normal = (np.array(closest[i]) for i in (5, 6, 7))
            moved = self._jacobian(T, pair.first, on_first)
            moved -= self._jacobian(T, pair.second, on_second)
            gradient[k] = normal @ moved
        return distance, gradient

    def along(self, q: Float2D) -> tuple[Float2D, Float]:
        """Return distances, shape (N, P), and gradients, shape (N, P, n), along a path."""
        both = [self(sample) for sample in q]
        return np.array([d for d, _ in both]), np.array([g for _, g in both])

    def _closest(self, pair: Pair, cutoff: float) -> tuple[object, ...] | None:
        """Return the engine's closest points of a pair within the cutoff."""
        found = [
            point
            for a in self._bodies[pair.first]
            for b in self._bodies[pair.second]
            for point in pybullet.getClosestPoints(
                a, b, distance=cutoff, physicsClientId=self._client
            )
        ]
        return min(found, key=lambda point: point[8], default=None)

    def _jacobian(self, T: Float, link: str, point: Float1D) -> Float2D:
        """Return the velocity Jacobian of a point of a link, in the root frame, shape (3, n)."""
        J = np.zeros((3, self.robot.dof))
        for j in range(self._reach.get(link, 0)):
            z = T[j, :3, :3] @ self._axes[j]
            J[:, j] = z if self.robot.prismatic[j] else np.cross(z, point - T[j, :3, 3])
        return J

    def _place(self, q: Float1D) -> Float:
        """Move all links to a configuration and return their poses."""
        T = kernels.link_poses(self.robot.geometry, np.asarray(q, dtype=float))
        for link, pose in zip(self.robot.links, T, strict=True):
            for body, local in zip(self._bodies[link.name], self._local[link.name], strict=True):
                self._move(body, pose @ local)
        return np.asarray(T)

    def _move(self, body: int, T: Float2D) -> None:
        pybullet.resetBasePositionAndOrientation(
            body, T[:3, 3].tolist(), _quaternion(T[:3, :3]), physicsClientId=self._client
        )

    def _load(self, floor: float | None) -> dict[str, list[int]]:
        robot = self.robot
        self._axes = [joint.axis for joint in robot.joints]
        self._reach = {link.name: j + 1 for j, link in enumerate(robot.links)}
        shapes = {link.name: collision_shapes(link.shapes) for link in robot.links}
        shapes[robot.base] = collision_shapes(base_shapes(robot))
        self._local = {name: [s.T_body_shape for s in found] for name, found in shapes.items()}
        bodies = {name: [self._body(s) for s in found] for name, found in shapes.items()}
        if not any(bodies[link.name] for link in robot.links):
            raise OptionError(
                f"'{robot.name}' has no geometry that the engine can read ({', '.join(READABLE)} "
                "or primitives); without it no collision can be avoided"
            )
        for body, local in zip(bodies[robot.base], self._local[robot.base], strict=True):
            self._move(body, local)
        if floor is not None:
            bodies[FLOOR] = [self._floor(floor)]
        return bodies

    def _floor(self, height: float) -> int:
        half = [FLOOR_SIZE, FLOOR_SIZE, 1.0]
        box = pybullet.createCollisionShape(
            pybullet.GEOM_BOX, halfExtents=half, physicsClientId=self._client
        )
        return int(
            pybullet.createMultiBody(
                0, box, basePosition=[0.0, 0.0, height - 1.0], physicsClientId=self._client
            )
        )

    def _body(self, shape: Shape) -> int:
        with captured_output() as printed:
            made = pybullet.createCollisionShape(
                **_engine_shape(shape), physicsClientId=self._client
            )
        if made < 0:
            raise FileFormatError(f"the engine cannot read {shape.mesh}: {printed.text.strip()}")
        return int(pybullet.createMultiBody(0, made, physicsClientId=self._client))

    def _possible_pairs(self) -> tuple[Pair, ...]:
        """Return pairs of links that are no neighbors and do not always touch."""
        chain = [self.robot.base, *(link.name for link in self.robot.links)]
        pairs = [Pair(b, a) for i, a in enumerate(chain) for b in chain[i + 2 :]]
        if FLOOR in self._bodies:
            pairs += [Pair(name, FLOOR) for name in chain[2:]]
        pairs = [p for p in pairs if self._bodies[p.first] and self._bodies[p.second]]
        rng = np.random.default_rng(int(self.robot.fingerprint()[:16], 16))
        limits = self.robot.limits
        touching = np.ones(len(pairs), dtype=bool)
        for _ in range(PROBES):
            self._place(rng.uniform(limits.lower, limits.upper))
            for k, pair in enumerate(pairs):
                touching[k] &= self._closest(pair, 0.0) is not None
        return tuple(pair for pair, always in zip(pairs, touching, strict=True) if not always)


def collision_shapes(shapes: Sequence[Shape]) -> list[Shape]:
    """Return the shapes that collisions are looked for with: those of collision, or all."""
    readable = [s for s in shapes if s.mesh is None or s.mesh.suffix.lower() in READABLE]
    return [s for s in readable if s.collision] or readable


def _engine_shape(shape: Shape) -> dict[str, object]:
    """Return a shape as the engine takes it."""
    if shape.kind == "mesh":
        return {
            "shapeType": pybullet.GEOM_MESH,
            "fileName": str(shape.mesh),
            "meshScale": list(shape.size),
        }
    if shape.kind == "box":
        return {
            "shapeType": pybullet.GEOM_BOX,
            "halfExtents": [0.5 * edge for edge in shape.size],
        }
    if shape.kind == "sphere":
        return {"shapeType": pybullet.GEOM_SPHERE, "radius": shape.size[0]}
    kind = pybullet.GEOM_CYLINDER if shape.kind == "cylinder" else pybullet.GEOM_CAPSULE
    return {"shapeType": kind, "radius": shape.size[0], "height": shape.size[1]}


def _quaternion(R: Float2D) -> list[float]:
    """Return the quaternion x, y, z, w of a rotation matrix."""
    return [float(value) for value in Rotation.from_matrix(R).as_quat()]
