"""State of the particle swarms: positions, velocities and best points.

References
----------
.. [1] Kennedy, Eberhart (1995), "Particle swarm optimization", Proc. IEEE Int. Conf. Neural
   Networks, doi:10.1109/ICNN.1995.488968.
.. [2] Engelbrecht (2012), "Particle swarm optimization: Velocity initialization", IEEE Congress on
   Evolutionary Computation, doi:10.1109/CEC.2012.6256112.
"""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import Bool1D, Float1D, Float2D, Int1D
from robotid_sim.docstrings import document_attributes
from robotid_sim.optim import checks
from robotid_sim.optim.bounds import Box, WallRule, repair_motion
from robotid_sim.optim.optimizer import Optimizer
from robotid_sim.optim.stability import RandomMap, swarm_map

MAX_VELOCITY = 1e60
"""Largest velocity of swarms without a limit, in widths of the box, so that diverging swarms stay
finite."""


class Swarm:
    """Positions, velocities, the best point of every particle, and the best of all.

    Particles start at rest: with random velocities more of them leave the box at once [2]_.
    First positions x, shape (m, d), are kept, not copied; the velocity limit is a share of the
    box per iteration, infinite for none.

    Attributes
    ----------
    v : ndarray, shape (m, d)
        Velocities.
    best_x, best_f : ndarray, shape (m, d) and (m,)
        The best point that every particle has visited, and its cost.
    leader_x, leader_f : ndarray, shape (d,), and float
        The best point of all, and its cost.
    """

    def __init__(self, box: Box, x: Float2D, velocity_limit: float, bounds: str) -> None:
        self.box, self.bounds = box, bounds
        self.limit = min(velocity_limit, MAX_VELOCITY) * box.width
        self.x, self.v = x, np.zeros_like(x)
        self.best_x, self.best_f = x.copy(), np.full(len(x), np.inf)
        self.leader_x, self.leader_f = x[0].copy(), np.inf

    def remember(self, f: Float1D) -> Bool1D:
        """Update the best points by the costs of the positions; return which particles improved."""
        is_better = f < self.best_f
        np.copyto(self.best_x, self.x, where=is_better[:, None])
        np.copyto(self.best_f, f, where=is_better)
        k = int(np.argmin(self.best_f))
        if self.best_f[k] < self.leader_f:
            self.leader_x, self.leader_f = self.best_x[k].copy(), float(self.best_f[k])
        return is_better

    def pulls(
        self, c1: float, c2: float, rng: np.random.Generator, p: Float2D | None = None
    ) -> Float2D:
        """Return c1 r1 (p - x) + c2 r2 (g - x), r uniform in [0, 1] for every coordinate.

        Without given points p, the particles' own best points are used.
        """
        pull, common = rng.random((2, *self.x.shape))
        pull *= (self.best_x if p is None else p) - self.x
        pull *= c1
        common *= self.leader_x - self.x
        common *= c2
        pull += common
        return np.asarray(pull)

    def set_velocities(self, v: Float2D) -> None:
        """Set new velocities; `v` is clipped to the limit, in place."""
        np.maximum(v, -self.limit, out=v)
        np.minimum(v, self.limit, out=v)
        self.v = v

    def move(self, step: Float2D) -> Float2D:
        """Move, repair positions and velocities at the walls, and return the positions."""
        self.x = self.x + step
        repair_motion(self.x, self.v, self.box, self.bounds)
        return self.x

    def fly(self, v: Float2D) -> Float2D:
        """Set new velocities, move by them, and return the positions."""
        self.set_velocities(v)
        return self.move(self.v)

    def keep(self, chosen: Int1D) -> None:
        """Keep the chosen particles only; the best point of all stays."""
        self.x, self.v = self.x[chosen], self.v[chosen]
        self.best_x, self.best_f = self.best_x[chosen], self.best_f[chosen]

    def add(self, x: Float2D) -> None:
        """Add particles at rest, without memories, at the positions x."""
        self.x = np.concatenate([self.x, x])
        self.v = np.concatenate([self.v, np.zeros_like(x)])
        self.best_x = np.concatenate([self.best_x, x])
        self.best_f = np.concatenate([self.best_f, np.full(len(x), np.inf)])


@document_attributes
@dataclass(kw_only=True, eq=False)
class VelocitySwarm(Optimizer):
    """A method whose particles have velocities, inertia w and pulls c1 and c2."""

    population: int = 30
    """Number of particles."""
    velocity_limit: float = 0.2
    """Largest velocity, share of the box per iteration; few papers print one."""
    bounds: WallRule = "absorb"
    """Treatment of points at the walls of the box."""
    region: float = 1.0
    """Share of the width of the box, about its center, in which the particles start."""

    def __post_init__(self) -> None:
        checks.whole("population", self.population, 2)
        checks.positive("velocity_limit", self.velocity_limit)
        checks.one_of("bounds", self.bounds, WallRule)
        checks.require_between("region", self.region, 1e-12, 1.0)

    @abstractmethod
    def coefficients(self, progress: float) -> tuple[float, float, float]:
        """Return w (its mean if random), c1 and c2 after a share of the budget."""

    def linear_map(self, progress: float) -> RandomMap:
        """Return the update of one coordinate; see `robotid_sim.optim.stability`."""
        return swarm_map(*self.coefficients(progress))

    def _first(self) -> Float2D:
        x = self.box.scatter(self.population, self.region, self.rng)
        self._swarm = Swarm(self.box, x, self.velocity_limit, self.bounds)
        return x

    def _next(self, f: Float1D) -> Float2D:
        swarm = self._swarm
        swarm.remember(f)
        w, c1, c2 = self.coefficients(self.progress)
        return swarm.fly(w * swarm.v + swarm.pulls(c1, c2, self.rng))
