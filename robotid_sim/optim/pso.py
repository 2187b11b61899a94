"""Particle swarm with constant inertia."""

from dataclasses import dataclass

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.optim.bounds import WallRule
from robotid_sim.optim.optimizer import Optimizer
from robotid_sim.optim.stability import RandomMap, swarm_map
from robotid_sim.optim.swarm import Swarm, check_swarm


@dataclass(kw_only=True, eq=False)
class ParticleSwarm(Optimizer):
    r"""Particle swarm with constant inertia.

    .. math::

        v &\leftarrow w\, v + c_1 r_1 (p - x) + c_2 r_2 (g - x) \\
        x &\leftarrow x + v

    with the best point p of the particle, the best point g of all, and :math:`r_1, r_2` uniform in
    [0, 1] for every coordinate. The defaults equal the constricted swarm of [3]_; they lie inside
    the order-2 stability region.

    References
    ----------
    .. [1] Shi, Eberhart (1998), "A modified particle swarm optimizer", IEEE Int. Conf. Evolutionary
       Computation, doi:10.1109/ICEC.1998.699146.
    .. [2] Kennedy, Eberhart (1995), "Particle swarm optimization", Proc. IEEE Int. Conf. Neural
       Networks, doi:10.1109/ICNN.1995.488968.
    .. [3] Clerc, Kennedy (2002), "The particle swarm - explosion, stability, and convergence in a
       multidimensional complex space", IEEE Trans. Evolutionary Computation,
       doi:10.1109/4235.985692.
    """

    population: int = 30
    """Number of particles."""
    w: float = 0.7298
    """Inertia weight."""
    c1: float = 1.49618
    """Largest pull to the particle's own best point."""
    c2: float = 1.49618
    """Largest pull to the best point of all."""
    velocity_limit: float = 0.5
    """Largest velocity, share of the box per iteration."""
    bounds: WallRule = "absorb"
    """What happens at the walls of the box."""
    region: float = 1.0
    """Share of the box, about its center, that the particles start in."""

    def __post_init__(self) -> None:
        check_swarm(self.population, self.velocity_limit, self.bounds, self.region)

    def linear_map(self, progress: float) -> RandomMap:
        """Return the update of one coordinate; see `robotid_sim.optim.stability`."""
        del progress
        return swarm_map(self.w, self.c1, self.c2)

    def _first(self) -> Float2D:
        x = self.box.scatter(self.population, self.region, self.rng)
        self._swarm = Swarm(self.box, x, self.velocity_limit, self.bounds)
        return x

    def _next(self, f: Float1D) -> Float2D:
        swarm = self._swarm
        swarm.remember(f)
        return swarm.fly(self.w * swarm.v + swarm.pulls(self.c1, self.c2, self.rng))
