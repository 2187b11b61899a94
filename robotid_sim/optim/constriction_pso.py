"""Particle swarm with a constriction factor."""

from dataclasses import dataclass
from math import sqrt

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.errors import OptionError
from robotid_sim.optim import checks
from robotid_sim.optim.bounds import WallRule
from robotid_sim.optim.optimizer import Optimizer
from robotid_sim.optim.stability import RandomMap, swarm_map
from robotid_sim.optim.swarm import Swarm, check_swarm


@dataclass(kw_only=True, eq=False)
class ConstrictionSwarm(Optimizer):
    r"""Particle swarm with the constriction factor of Clerc and Kennedy.

    .. math::

        v &\leftarrow \chi \big( v + c_1 r_1 (p - x) + c_2 r_2 (g - x) \big), \qquad
            x \leftarrow x + v \\
        \chi &= \frac{2 \kappa}{\left| 2 - c - \sqrt{c^2 - 4 c} \right|}, \qquad c = c_1 + c_2 > 4

    The factor makes the deterministic particle converge for every such c [1]_. The random one is
    stable of order 2 for c above 4.07.

    References
    ----------
    .. [1] Clerc, Kennedy (2002), "The particle swarm - explosion, stability, and convergence in a
       multidimensional complex space", IEEE Trans. Evolutionary Computation,
       doi:10.1109/4235.985692.
    .. [2] Eberhart, Shi (2000), "Comparing inertia weights and constriction factors in particle
       swarm optimization", Congress on Evolutionary Computation, doi:10.1109/CEC.2000.870279.
    """

    population: int = 30
    """Number of particles."""
    c1: float = 2.05
    """Largest pull to the particle's own best point, before constriction."""
    c2: float = 2.05
    """Largest pull to the best point of all, before constriction."""
    kappa: float = 1.0
    """Speed of convergence, from 0 to 1; 1 is the slowest."""
    velocity_limit: float = 0.5
    """Largest velocity, share of the box per iteration; [2]_ recommends half the box."""
    bounds: WallRule = "absorb"
    """What happens at the walls of the box."""
    region: float = 1.0
    """Share of the box, about its center, that the particles start in."""

    def __post_init__(self) -> None:
        check_swarm(self.population, self.velocity_limit, self.bounds, self.region)
        checks.between("kappa", self.kappa, 1e-6, 1.0)
        if not self.c1 + self.c2 > 4.0:
            raise OptionError(f"c1 + c2 is {self.c1 + self.c2}; constriction needs more than 4")

    @property
    def chi(self) -> float:
        """The constriction factor."""
        c = self.c1 + self.c2
        return 2.0 * self.kappa / abs(2.0 - c - sqrt(c**2 - 4.0 * c))

    def linear_map(self, progress: float) -> RandomMap:
        """Return the update of one coordinate; see `robotid_sim.optim.stability`."""
        del progress
        return swarm_map(self.chi, self.chi * self.c1, self.chi * self.c2)

    def _first(self) -> Float2D:
        x = self.box.scatter(self.population, self.region, self.rng)
        self._swarm = Swarm(self.box, x, self.velocity_limit, self.bounds)
        return x

    def _next(self, f: Float1D) -> Float2D:
        swarm = self._swarm
        swarm.remember(f)
        return swarm.fly(self.chi * (swarm.v + swarm.pulls(self.c1, self.c2, self.rng)))
