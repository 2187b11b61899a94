"""Distances of a robot to itself and to the floor, with their gradients, from the engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from robotid_sim.arrays import Float, Float1D, Float2D, Int1D
from robotid_sim.dynamics import kernels
from robotid_sim.engine.closing import Closeable
from robotid_sim.engine.convex_bodies import (
    ClosestPoints,
    ConvexBodies,
    bound_box_distance,
    collision_shapes,
    require_meshes,
)
from robotid_sim.engine.engines import convex_bodies_of, engine_named
from robotid_sim.kinematics.workspace import make_capsules
from robotid_sim.model.geometry import GeometryShape
from robotid_sim.model.robot import Robot
from robotid_sim.model.side_car import base_shapes

FLOOR_NAME = "floor"
FLOOR_SIZE = 50.0
"""Half width of the floor, a cube thick enough to have nothing below it [m]."""

SEARCH_DEPTH = 5.0
"""Depth below the root frame from which the lowest point of the base is searched [m]."""

PROBE_COUNT = 60
"""Random configurations for finding pairs of links that always touch."""

DISTANCE_CUTOFF = 0.15
"""Default cut-off of distances [m]; larger distances are set to it."""

SEARCH_DISTANCE = 0.15
"""Search distance of the engine [m]; pairs beyond it are skipped until they have moved enough."""

MAX_CACHED_PATHS = 8
"""Largest number of cached paths, one for each number of samples."""

EXTRA_DEPTH, FULL_EXTRA_DEPTH = 0.1, 0.01
"""Additional depth of an overlap of concentric hulls [m], and the depth from which it is added in
full [m]."""

MIN_CENTER_DISTANCE = 1e-6
"""Smallest distance of centers with a direction [m]."""

PairDistances = tuple[Float2D, Float]
"""Distances of all pairs along a path [m], shape (N, P), and their gradients, shape (N, P, n)."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two links, or a link and the floor, that must not touch."""

    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.first} and {self.second}"


class Proximity(Closeable):
    """Smallest distances between the links of a robot, and to the floor; use in a ``with`` block.

    Links are the convex hulls of their collision shapes, or of their visual ones; of a robot that
    has neither, capsules along the kinematics. Neighbors in the chain are omitted, and so are
    links that touch one another in every one of `PROBE_COUNT` random configurations.
    It can be sent to another process, which opens a client of its own.

    Parameters
    ----------
    robot : Robot
        Kinematics and geometry.
    floor : float, optional
        Height of the floor in the root frame [m]; None for no floor.
    cutoff : float
        Distances above this value are set to it [m]; a smaller one is faster.
    engine : str, optional
        Engine that computes the distances, ``pybullet`` or ``mujoco``; by default the first that is
        installed.

    Raises
    ------
    FileFormatError
        If a mesh is missing, or the engine cannot read it.
    MissingExtraError
        If the engine is not installed.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        floor: float | None = None,
        cutoff: float = DISTANCE_CUTOFF,
        engine: str | None = None,
    ) -> None:
        self.robot, self.floor, self.cutoff = robot, floor, cutoff
        self.engine = engine_named(engine)
        require_meshes(robot)  # before the engine, which would print its search paths
        shapes = [collision_shapes(link.shapes) for link in robot.links]
        self._shapes = [[shape] for shape in make_capsules(robot)] if not any(shapes) else shapes
        self._prismatic = np.array(robot.prismatic)
        self._last: tuple[bytes, PairDistances, PairDistances] | None = None
        self._paths: dict[int, tuple[Float, Float, Float2D]] = {}
        self._search_distance = max(cutoff, SEARCH_DISTANCE)
        self._bodies = convex_bodies_of(self.engine, self._hulls())
        try:
            boxes = [self._bodies.box(k) for k in range(len(self._links))]
            self._centers = np.array([0.5 * (low + high) for low, high in boxes])
            self._halves = np.array([0.5 * (high - low) for low, high in boxes])
            self._radii = np.linalg.norm(self._halves, axis=1)
            for k in range(self._moving, len(self._links)):
                _place_body(self._bodies, k, self._in_link[k])
            self.pairs, self._candidates = self._possible_pairs()
            self._paths.clear()  # cached for candidates that are now excluded
        except BaseException:
            self.close()
            raise

    def __reduce__(self) -> tuple[Any, ...]:
        maker = partial(type(self), floor=self.floor, cutoff=self.cutoff, engine=self.engine)
        return maker, (self.robot,)

    def close(self) -> None:
        """Disconnect from the engine."""
        self._bodies.close()

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
            Of `pairs` [m], at most the cutoff; negative where they penetrate.
        gradient : ndarray, shape (P, n)
            Zero where the distance is cut off.
        """
        true, _ = self._measure_configurations(np.asarray(q, dtype=float)[None])
        return true[0][0], true[1][0]

    def measure(self, q: Float2D) -> PairDistances:
        """Return distances, shape (N, P), and gradients, shape (N, P, n), along a path.

        The last result is cached, because solvers request values and slopes of the same path.
        """
        return self._measure_cached(q)[0]

    def measure_pushed(self, q: Float2D) -> PairDistances:
        r"""Return distances and gradients that lead out of overlaps, for solvers that start inside.

        The shortest way out of a deep overlap may be one in which no joint moves the links, with
        zero gradient. So the distance is reduced by the share :math:`1 - |c| / R` of SPREAD, with c
        from the center
        of one hull to the other's, and R the sum of the radii of the spheres around them; it grows
        with the overlap up to DEEP.
        """
        return self._measure_cached(q)[1]

    def _measure_cached(self, q: Float2D) -> tuple[PairDistances, PairDistances]:
        key = np.asarray(q).tobytes()
        if self._last is None or self._last[0] != key:
            self._last = key, *self._measure_configurations(np.ascontiguousarray(q, dtype=float))
        return self._last[1:]

    def _measure_configurations(self, Q: Float2D) -> tuple[PairDistances, PairDistances]:
        """Return distances (N, P) and gradients (N, P, n) of `measure` and of `measure_pushed`."""
        T = np.array([kernels.link_poses(self.robot.geometry, q) for q in Q])
        distance = np.full((len(Q), len(self.pairs)), self.cutoff)
        gradient = np.zeros((*distance.shape, self.robot.dof))
        nearest = self._nearest(T)
        if not nearest:
            return (distance, gradient), (distance, gradient)
        at, pair = np.array(list(nearest)).T
        hulls = np.array([(a, b) for a, b, _ in nearest.values()])
        points = [point for *_, point in nearest.values()]
        d = np.array([point.distance for point in points])
        normal = np.array([point.normal for point in points])
        touching = np.array([(point.first, point.second) for point in points])
        slope = self._compute_gradients(T[at], hulls, touching, normal)
        distance[at, pair], gradient[at, pair] = d, slope
        centers = self._places(T)[1][at[:, None], hulls]
        apart = centers[:, 0] - centers[:, 1]
        gap, reach = np.linalg.norm(apart, axis=1), self._radii[hulls].sum(axis=1)
        inside = np.where(reach < FLOOR_SIZE, np.clip(-d / FULL_EXTRA_DEPTH, 0.0, 1.0), 0.0)
        out = apart / np.maximum(gap, MIN_CENTER_DISTANCE)[:, None]
        spread = self._compute_gradients(T[at], hulls, centers, out)
        share = 1.0 - gap / reach
        growing = (inside > 0.0) & (inside < 1.0)
        far, steep = distance.copy(), gradient.copy()
        far[at, pair] -= EXTRA_DEPTH * inside * share
        steep[at, pair] += (
            EXTRA_DEPTH * (growing * share / FULL_EXTRA_DEPTH)[:, None] * slope
            + EXTRA_DEPTH * (inside / reach)[:, None] * spread
        )
        return (distance, gradient), (far, steep)

    def _compute_gradients(self, T: Float, hulls: Int1D, points: Float, along: Float2D) -> Float2D:
        """Return the separation rate of two points along a direction by every joint, (M, n).

        For link poses (M, n, 4, 4), hulls (M, 2), their points (M, 2, 3) and directions (M, 3).
        """
        axes = T[:, :, :3, :3] @ np.array([joint.axis for joint in self.robot.joints])[:, :, None]
        parted = np.zeros(T.shape[:2])
        for side, sign in enumerate((1.0, -1.0)):
            turned = np.cross(axes[..., 0], points[:, side, None] - T[:, :, :3, 3])
            moved = np.where(self._prismatic[:, None], axes[..., 0], turned)
            carried = self._links[hulls[:, side], None] >= np.arange(self.robot.dof)
            parted += sign * carried * np.einsum("mjr,mr->mj", moved, along)
        return parted

    def _nearest(self, T: Float) -> dict[tuple[int, int], tuple[int, int, ClosestPoints]]:
        """Return the engine's closest points of every pair that is within the cutoff.

        By sample and pair, for link poses of shape (N, n, 4, 4): both hulls, and the closest
        points. Most distant pairs are excluded without the engine, see `_least_distances`.
        """
        poses, centers = self._places(T)
        least = self._least_distances(poses, centers)
        samples, rows = np.nonzero(least < self.cutoff)
        moving = np.arange(len(self._links)) < self._moving
        used = np.zeros((len(T), len(self._links)), dtype=bool)
        used[samples[:, None], self._candidates[rows, :2]] = True
        at, hulls = np.nonzero(used & moving)
        turns = Rotation.from_matrix(poses[at, hulls, :3, :3]).as_quat()
        places = zip(hulls.tolist(), poses[at, hulls, :3, 3].tolist(), turns.tolist(), strict=True)
        ends = np.searchsorted(at, samples, side="right").tolist()
        place, ask, placed = self._bodies.place, self._bodies.closest, 0
        nearest: dict[tuple[int, int], tuple[int, int, ClosestPoints]] = {}
        queries = zip(samples.tolist(), self._candidates[rows].tolist(), ends, strict=True)
        distances = np.full(len(rows), self._search_distance)
        for query, (sample, (a, b, k), end) in enumerate(queries):
            for h, position, turn in islice(places, end - placed):
                place(h, position, turn)
            placed = end
            point = ask(a, b, self._search_distance)
            if point is None:
                continue
            distances[query] = min(point.distance, distances[query])
            known_pair = nearest.get((sample, k))
            if point.distance < (self.cutoff if known_pair is None else known_pair[2].distance):
                nearest[sample, k] = a, b, point
        least[samples, rows] = distances
        return nearest

    def _least_distances(self, poses: Float, centers: Float) -> Float2D:
        r"""Compute lower bounds of the distances of candidates [m], shape (N, C), and cache them.

        They follow from spheres around the hulls, from the distances on the last path of the same
        number of samples, and from boxes where both are below the cutoff. Points of a hull with
        radius r about its center c
        have moved by at most :math:`|\Delta c| + r |\Delta R|`, with the spectral norm, since then.
        """
        first, second = self._candidates[:, 0], self._candidates[:, 1]
        gap = np.linalg.norm(centers[:, first] - centers[:, second], axis=2)
        least = gap - self._radii[first] - self._radii[second]
        R, count = poses[..., :3, :3], len(poses)
        if count in self._paths:
            old_R, old_centers, old_least = self._paths[count]
            moved = np.linalg.norm(centers - old_centers, axis=2)
            turned = np.linalg.norm(R - old_R, axis=(2, 3)) / np.sqrt(2.0)
            moved += self._radii * turned
            least = np.maximum(least, old_least - moved[:, first] - moved[:, second])
        elif len(self._paths) == MAX_CACHED_PATHS:
            self._paths.pop(next(iter(self._paths)))
        at, row = np.nonzero(least < self.cutoff)
        ends = first[row], second[row]
        apart = centers[at, ends[1]] - centers[at, ends[0]]
        halves = self._halves[ends[0]], self._halves[ends[1]]
        boxes = bound_box_distance(R[at, ends[0]], R[at, ends[1]], apart, *halves)
        least[at, row] = np.maximum(least[at, row], boxes)
        self._paths[count] = R, centers, least
        return np.asarray(least)

    def _places(self, T: Float) -> tuple[Float, Float]:
        """Return poses of all hulls, shape (N, H, 4, 4), and the centers of their boxes."""
        poses = np.broadcast_to(self._in_link, (len(T), *self._in_link.shape)).copy()
        moving = slice(self._moving)
        poses[:, moving] = T[:, self._links[moving]] @ self._in_link[moving]
        turned = np.einsum("shij,hj->shi", poses[..., :3, :3], self._centers)
        return poses, turned + poses[..., :3, 3]

    def _hulls(self) -> list[GeometryShape]:
        """Return the shapes of all hulls, moving ones first; record which link carries them."""
        moving = [shape for of_link in self._shapes for shape in of_link]
        still = collision_shapes(base_shapes(self.robot))
        still += [] if self.floor is None else [_cube_below(self.floor)]
        links = [k for k, of_link in enumerate(self._shapes) for _ in of_link]
        self._moving = len(moving)
        self._links = np.array(links + [-1] * len(still))
        """Index of the link that carries a hull; -1 for a fixed hull."""
        hulls = [*moving, *still]
        self._in_link = np.array([shape.T_body_shape for shape in hulls])
        """Placement of a hull in the frame of its link, shape (H, 4, 4)."""
        return hulls

    def _possible_pairs(self) -> tuple[tuple[Pair, ...], Int1D]:
        """Return pairs of links that are not neighbors and do not always touch, and their hulls.

        Candidates are rows of two indices of hulls and that of their pair, shape (C, 3).
        """
        n, names = self.robot.dof, [link.name for link in self.robot.links]
        by_link = [np.flatnonzero(self._links == k).tolist() for k in range(n)]
        still = np.flatnonzero(self._links < 0).tolist()
        floor = still[-1:] if self.floor is not None else []
        base = still[: len(still) - len(floor)]
        pairs = [
            (Pair(names[b], names[a]), by_link[b], by_link[a])
            for a in range(n)
            for b in range(a + 2, n)
        ]
        pairs += [(Pair(names[b], self.robot.base), by_link[b], base) for b in range(1, n)]
        pairs += [(Pair(names[b], FLOOR_NAME), by_link[b], floor) for b in range(1, n)]
        combined = [(pair, [(a, b) for a in ones for b in others]) for pair, ones, others in pairs]
        rows = [(pair, hulls) for pair, hulls in combined if hulls]
        self._candidates = _number_pairs(rows)
        rng = np.random.default_rng(int(self.robot.fingerprint()[:16], 16))
        limits = self.robot.limits
        probes = rng.uniform(limits.lower, limits.upper, (PROBE_COUNT, n))
        nearest = self._nearest(
            np.array([kernels.link_poses(self.robot.geometry, q) for q in probes])
        )
        inside = {key for key, (*_, point) in nearest.items() if point.distance < 0.0}
        touching = [all((s, k) in inside for s in range(PROBE_COUNT)) for k in range(len(rows))]
        # A link that is always in the floor is kept: the floor is too high.
        possible = [
            (pair, hulls)
            for (pair, hulls), always in zip(rows, touching, strict=True)
            if not always or pair.second == FLOOR_NAME
        ]
        return tuple(pair for pair, _ in possible), _number_pairs(possible)


def is_bodiless(robot: Robot) -> bool:
    """Return whether a robot has no geometry that the engine can read; capsules replace it."""
    return not any(collision_shapes(link.shapes) for link in robot.links)


def base_bottom(robot: Robot, engine: str | None = None) -> float | None:
    """Return the height of the lowest point of the base in the root frame [m].

    None where the base has no geometry. Raises as `Proximity` does.
    """
    require_meshes(robot)
    shapes = [*collision_shapes(base_shapes(robot)), _cube_below(-SEARCH_DEPTH)]
    floor = len(shapes) - 1
    with convex_bodies_of(engine_named(engine), shapes) as bodies:
        for k, shape in enumerate(shapes):
            _place_body(bodies, k, shape.T_body_shape)
        points = [bodies.closest(k, floor, 2.0 * SEARCH_DEPTH) for k in range(floor)]
    distances = [point.distance for point in points if point is not None]
    return min(distances) - SEARCH_DEPTH if distances else None


def _cube_below(height: float) -> GeometryShape:
    """Return the floor, as thick as it is wide, with its top at a height [m]."""
    place = np.eye(4)
    place[2, 3] = height - FLOOR_SIZE
    return GeometryShape("box", (2.0 * FLOOR_SIZE,) * 3, place)


def _place_body(bodies: ConvexBodies, body: int, T: Float2D) -> None:
    """Put a body into a pose, shape (4, 4)."""
    turn = Rotation.from_matrix(T[:3, :3]).as_quat()
    bodies.place(body, T[:3, 3].tolist(), turn.tolist())


def _number_pairs(rows: Sequence[tuple[Pair, Sequence[tuple[int, int]]]]) -> Int1D:
    """Return rows of two hulls and the index of their pair, shape (C, 3)."""
    numbers = [(a, b, k) for k, (_, hulls) in enumerate(rows) for a, b in hulls]
    return np.array(numbers, dtype=int).reshape(-1, 3)
