"""Particle swarm with linearly decreasing inertia."""

from dataclasses import dataclass

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.optim.bounds import WallRule
from robotid_sim.optim.optimizer import Optimizer
from robotid_sim.optim.schedules import linear
from robotid_sim.optim.stability import RandomMap, swarm_map
from robotid_sim.optim.swarm import Swarm, check_swarm


@dataclass(kw_only=True, eq=False)
class LinearInertiaSwarm(Optimizer):
    r"""Particle swarm whose inertia decreases linearly (LDW-PSO, also called SPSO).

    .. math::

        w &= w_\text{start} - (w_\text{start} - w_\text{end})\, t / t_\text{max} \\
        v &\leftarrow w\, v + c_1 r_1 (p - x) + c_2 r_2 (g - x), \qquad x \leftarrow x + v

    with the share of the budget for :math:`t / t_\text{max}`. Early the swarm is outside the
    order-2 stability region and explores, held by the velocity limit; with the defaults it enters
    the region after 80 % of the run and ends close to its edge.

    References
    ----------
    .. [1] Shi, Eberhart (1999), "Empirical study of particle swarm optimization", Congress on
       Evolutionary Computation, doi:10.1109/CEC.1999.785511.
    """

    population: int = 40
    """Number of particles."""
    w_start: float = 0.9
    """Inertia weight at the start."""
    w_end: float = 0.4
    """Inertia weight at the end of the budget."""
    c1: float = 2.0
    """Largest pull to the particle's own best point."""
    c2: float = 2.0
    """Largest pull to the best point of all."""
    velocity_limit: float = 0.2
    """Largest velocity, share of the box per iteration."""
    bounds: WallRule = "absorb"
    """What happens at the walls of the box."""
    region: float = 1.0
    """Share of the box, about its center, that the particles start in."""

    def __post_init__(self) -> None:
        check_swarm(self.population, self.velocity_limit, self.bounds, self.region)

    def linear_map(self, progress: float) -> RandomMap:
        """Return the update of one coordinate; see `robotid_sim.optim.stability`."""
        return swarm_map(linear(self.w_start, self.w_end, progress), self.c1, self.c2)

    def _first(self) -> Float2D:
        x = self.box.scatter(self.population, self.region, self.rng)
        self._swarm = Swarm(self.box, x, self.velocity_limit, self.bounds)
        return x

    def _next(self, f: Float1D) -> Float2D:
        swarm = self._swarm
        swarm.remember(f)
        w = linear(self.w_start, self.w_end, self.progress)
        return swarm.fly(w * swarm.v + swarm.pulls(self.c1, self.c2, self.rng))
