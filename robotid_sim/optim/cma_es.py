"""CMA-ES, by the package ``cmaes``."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.docstrings import documented
from robotid_sim.errors import MissingExtraError
from robotid_sim.optim import checks
from robotid_sim.optim.bounds import Box, Walls, put_inside
from robotid_sim.optim.optimizer import Optimizer

FLAT = 1e-13
"""Relative spread of the costs of a generation that is taken for rounding."""


@documented
@dataclass(kw_only=True, eq=False)
class CmaEs(Optimizer):
    """CMA-ES: a normal distribution that learns the shape of the cost; the package ``cmaes``.

    The yardstick for the other methods: it does not depend on the axes, and up to rounding not on
    the condition of the cost. It searches in widths of the box, from a random point on. When a
    search has come to an end, the next one starts, with `growth` times as many members (IPOP [2]_).

    Only the order of the costs is told: it is all that the method uses, but for a stopping rule of
    the package at an absolute difference of 1e-12. A search ends by the other rules of the package
    or when the costs of a generation differ by rounding only.

    References
    ----------
    .. [1] Hansen (2016), "The CMA evolution strategy: a tutorial", arXiv:1604.00772.
    .. [2] Auger, Hansen (2005), "A restart CMA evolution strategy with increasing population size",
       Congress on Evolutionary Computation, doi:10.1109/CEC.2005.1554902.
    .. [3] Nomura, Shibata (2024), "cmaes: a simple yet practical Python library for CMA-ES",
       arXiv:2402.01373.
    """

    population: int | None = None
    """Number of members of the first search; None for 4 + 3 ln d."""
    sigma: float = 0.3
    """First standard deviation, share of the box."""
    growth: float = 2.0
    """Factor of the population from one search to the next."""
    bounds: Walls = "reflect"
    """What happens at the walls of the box."""
    region: float = 1.0
    """Share of the box, about its center, that searches start in."""

    def __post_init__(self) -> None:
        if self.population is not None:
            checks.whole("population", self.population, 2)
        checks.positive("sigma", self.sigma)
        checks.between("growth", self.growth, 1.0, 10.0)
        checks.one_of("bounds", self.bounds, Walls)
        checks.between("region", self.region, 1e-12, 1.0)

    def _first(self) -> Float2D:
        size = self.population or 4 + math.floor(3.0 * math.log(self.box.dim))
        self._unit = Box(np.zeros(self.box.dim), np.ones(self.box.dim))
        self._size = float(size)
        self._strategy = self._fresh()
        return self._sample()

    def _fresh(self) -> Any:
        """Return a search from a new random point."""
        try:
            from cmaes import CMA
        except ImportError as error:
            need = "method 'cmaes' needs the package cmaes"
            raise MissingExtraError.of(need, "cmaes") from error
        return CMA(
            mean=self._unit.scatter(1, self.region, self.rng)[0],
            sigma=self.sigma,
            seed=int(self.rng.integers(2**32)),
            population_size=round(self._size),
        )

    def _sample(self) -> Float2D:
        """Return the members of the next generation."""
        strategy = self._strategy
        members = [strategy.ask() for _ in range(strategy.population_size)]
        self._members = put_inside(np.array(members), self._unit, self.bounds)
        X = self.box.lower + self._members * self.box.width
        return put_inside(X, self.box, "none" if self.bounds == "none" else "clip")

    def _next(self, f: Float1D) -> Float2D:
        ranks = np.argsort(np.argsort(f, kind="stable"), kind="stable")
        self._strategy.tell(list(zip(self._members, ranks.tolist(), strict=True)))
        if _flat(f) or self._strategy.should_stop():
            self._size *= self.growth
            self._strategy = self._fresh()
        return self._sample()


def _flat(f: Float1D) -> bool:
    finite = f[np.isfinite(f)]
    return not finite.size or bool(np.ptp(finite) <= FLAT * np.abs(finite).max())
