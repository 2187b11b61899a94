"""Simulated annealing with a batch of chains."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.optim import checks
from robotid_sim.optim.bounds import Walls, put_inside
from robotid_sim.optim.optimizer import Population, geometric

ADAPTATION = 0.1
"""Rate at which the logarithm of the step follows the acceptance."""


@dataclass(kw_only=True, eq=False)
class SimulatedAnnealing(Population):
    r"""Simulated annealing: independent chains that are cooled together.

    Every chain proposes :math:`x' = x + h\, (u - l) \circ \nu`, :math:`\nu` standard normal, and
    goes there with Metropolis' probability :math:`\min\{1, e^{-(f' - f)/T}\}`. The temperature
    falls geometrically from the spread of the first costs, times `heat`, to `cold` times that. The
    step h, common to all chains, grows while more than a share `acceptance` of them go and shrinks
    while fewer do, as in [2]_, so that it follows the temperature whatever the units.

    References
    ----------
    .. [1] Kirkpatrick, Gelatt, Vecchi (1983), "Optimization by simulated annealing", Science
       220(4598), doi:10.1126/science.220.4598.671.
    .. [2] Corana, Marchesi, Martini, Ridella (1987), "Minimizing multimodal functions of continuous
       variables with the simulated annealing algorithm", ACM Trans. Mathematical Software 13(3),
       doi:10.1145/29380.29864.
    """

    smallest: ClassVar[int] = 1

    population: int = 10
    """Number of chains."""
    heat: float = 0.1
    """Temperature at the start, in standard deviations of the first costs."""
    cold: float = 1e-10
    """Temperature at the end of the budget, over that at the start."""
    step: float = 0.1
    """First standard deviation of a proposal, share of the box."""
    acceptance: float = 0.25
    """Share of proposals that the step is adapted to accept."""
    bounds: Walls = "reflect"
    """What happens at the walls of the box."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive("heat", self.heat)
        checks.between("cold", self.cold, 1e-300, 1.0)
        checks.positive("step", self.step)
        checks.between("acceptance", self.acceptance, 0.01, 0.99)

    def _first(self) -> Float2D:
        self._proposed = self.box.scatter(self.population, self.region, self.rng)
        self._x, self._f = self._proposed, np.full(self.population, np.inf)
        self._T, self._h = 0.0, self.step
        return self._proposed

    def _next(self, f: Float1D) -> Float2D:
        if not self._T:
            self._T = _spread(f) * self.heat
        T = geometric(self._T, self._T * self.cold, self.progress) if self._T else 0.0
        patience = T * self.rng.exponential(size=f.size)  # f' - f < -T ln(u) is Metropolis' rule
        goes = f <= np.where(np.isfinite(self._f), self._f + patience, np.inf)
        self._x = np.where(goes[:, None], self._proposed, self._x)
        self._f = np.where(goes, f, self._f)
        self._h *= np.exp(ADAPTATION * (goes.mean() - self.acceptance))
        self._h = min(self._h, 1.0)
        step = self._h * self.box.width * self.rng.standard_normal(self._x.shape)
        self._proposed = put_inside(self._x + step, self.box, self.bounds)
        return self._proposed


def _spread(f: Float1D) -> float:
    """Return the standard deviation of the finite costs; of a single one its size."""
    finite = f[np.isfinite(f)]
    if finite.size < 2:
        return float(np.abs(finite).sum())
    return float(finite.std())
