"""Quantum-behaved particle swarm in a delta potential well."""

from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.optim import checks
from robotid_sim.optim.bounds import put_inside
from robotid_sim.optim.optimizer import Population, linear
from robotid_sim.optim.swarm import Swarm

LARGEST_CONTRACTION = float(np.exp(np.euler_gamma))
"""Contraction coefficient below which particles converge [1]_, about 1.781."""


@dataclass(kw_only=True, eq=False)
class DeltaWellSwarm(Population):
    r"""Quantum-behaved particle swarm in a delta potential well (QPSO).

    .. math::

        p' &= \varphi\, p + (1 - \varphi)\, g, \qquad \bar p = \tfrac1m \sum_i p_i \\
        x &\leftarrow p' \pm \alpha\, |\bar p - x| \ln (1/u)

    with the best point p of the particle, the best point g of all, the mean :math:`\bar p` of the
    particles' best points, :math:`\varphi` and u uniform in [0, 1], and either sign equally likely,
    all for every coordinate. There are no velocities. The contraction coefficient :math:`\alpha`
    falls linearly; below :math:`e^\gamma \approx 1.781` the distance to :math:`p'` shrinks in the
    mean of its logarithm, and the particle converges [1]_.

    References
    ----------
    .. [1] Sun, Fang, Wu, Palade, Xu (2012), "Quantum-behaved particle swarm optimization: analysis
       of individual particle behavior and parameter selection", Evolutionary Computation 20(3),
       doi:10.1162/EVCO_a_00049.
    .. [2] Sun, Feng, Xu (2004), "Particle swarm optimization with particles having quantum
       behavior", Congress on Evolutionary Computation, doi:10.1109/CEC.2004.1330875.
    """

    population: int = 40
    """Number of particles."""
    alpha_start: float = 1.0
    """Contraction coefficient at the start."""
    alpha_end: float = 0.5
    """Contraction coefficient at the end of the budget."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive("alpha_start", self.alpha_start)
        checks.positive("alpha_end", self.alpha_end)

    def _first(self) -> Float2D:
        x = self.box.scatter(self.population, self.region, self.rng)
        self._swarm = Swarm(self.box, x, 1.0, self.bounds)
        return x

    def _next(self, f: Float1D) -> Float2D:
        swarm = self._swarm
        swarm.remember(f)
        alpha = linear(self.alpha_start, self.alpha_end, self.progress)
        share = self.rng.random(swarm.x.shape)
        well = swarm.leader_x + share * (swarm.best_x - swarm.leader_x)
        mean = swarm.best_x.mean(axis=0)
        # A Laplace variable is ln(1/u) with either sign.
        jump = self.rng.laplace(size=swarm.x.shape)
        swarm.x = put_inside(well + alpha * np.abs(mean - swarm.x) * jump, self.box, self.bounds)
        return swarm.x
