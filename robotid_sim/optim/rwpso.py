"""Particle swarm with random inertia."""

from dataclasses import dataclass

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.optim import checks
from robotid_sim.optim.bounds import WallRule
from robotid_sim.optim.forms import EquationForm, check_form
from robotid_sim.optim.optimizer import Optimizer
from robotid_sim.optim.stability import RandomMap, swarm_map
from robotid_sim.optim.swarm import Swarm, check_swarm


@dataclass(kw_only=True, eq=False)
class RandomWeightSwarm(Optimizer):
    r"""Particle swarm with random inertia (RWPSO).

    .. math::

        \mu &= \mu_\text{min} + (\mu_\text{max} - \mu_\text{min})\, \rho, \qquad
            w = \mu + \sigma\, \nu \\
        v &\leftarrow w\, v + c_1 r_1 (p - x) + c_2 r_2 (g - x), \qquad x \leftarrow x + v

    with :math:`\rho` uniform in [0, 1] and :math:`\nu` standard normal, both drawn anew for every
    particle and iteration; eq. (13)-(15) of [1]_.

    Equation (15) prints :math:`\mu_\text{min} + (\mu_\text{max} - \mu_\text{min}) + \rho`: the
    ``literal`` form. Its inertia lies above 1 most of the time, whatever :math:`\mu_\text{min}`.

    The paper gives c1 = 1.5, c2 = 3 and no :math:`\mu` or :math:`\sigma`. No inertia makes
    c1 + c2 = 4.5 stable of order 2, so c2 defaults to 1.5, which does; see
    `robotid_sim.optim.settings` for the published values.

    References
    ----------
    .. [1] Tang, Yan, An, Wang, Zhang (2023), "Dynamic parameter identification of collaborative
       robot based on WLS-RWPSO algorithm", Machines 11(2), 316, doi:10.3390/machines11020316.
    """

    population: int = 50
    """Number of particles; the paper has 200."""
    mu_min: float = 0.5
    """Smallest mean of the inertia weight."""
    mu_max: float = 0.9
    """Largest mean of the inertia weight."""
    sigma: float = 0.2
    """Standard deviation of the inertia weight about its mean."""
    c1: float = 1.5
    """Largest pull to the particle's own best point."""
    c2: float = 1.5
    """Largest pull to the best point of all."""
    form: EquationForm = "corrected"
    """How equation (15) is read."""
    velocity_limit: float = 0.2
    """Largest velocity, share of the box per iteration; not in the paper."""
    bounds: WallRule = "absorb"
    """What happens at the walls of the box."""
    region: float = 1.0
    """Share of the box, about its center, that the particles start in."""

    def __post_init__(self) -> None:
        check_swarm(self.population, self.velocity_limit, self.bounds, self.region)
        check_form(self.form)
        checks.between("mu_min", self.mu_min, 0.0, self.mu_max)
        checks.between("sigma", self.sigma, 0.0, 10.0)

    def linear_map(self, progress: float) -> RandomMap:
        """Return the update of one coordinate; see `robotid_sim.optim.stability`."""
        del progress
        spread = self._spread()
        w = self._lowest() + spread / 2.0
        variance = spread**2 / 12.0 + self.sigma**2
        return swarm_map(w, self.c1, self.c2, w_variance=variance)

    def _lowest(self) -> float:
        return self.mu_max if self.form == "literal" else self.mu_min

    def _spread(self) -> float:
        return 1.0 if self.form == "literal" else self.mu_max - self.mu_min

    def _first(self) -> Float2D:
        x = self.box.scatter(self.population, self.region, self.rng)
        self._swarm = Swarm(self.box, x, self.velocity_limit, self.bounds)
        return x

    def _next(self, f: Float1D) -> Float2D:
        swarm, each = self._swarm, (self.population, 1)
        swarm.remember(f)
        mu = self._lowest() + self._spread() * self.rng.random(each)  # [1] eq. (15)
        w = mu + self.sigma * self.rng.standard_normal(each)
        return swarm.fly(w * swarm.v + swarm.pulls(self.c1, self.c2, self.rng))  # [1] eq. (13)-(14)
