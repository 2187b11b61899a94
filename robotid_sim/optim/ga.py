"""Genetic algorithm for real numbers."""

from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, Int1D
from robotid_sim.optim import checks
from robotid_sim.optim.bounds import put_inside
from robotid_sim.optim.optimizer import Population, linear


@dataclass(kw_only=True, eq=False)
class GeneticAlgorithm(Population):
    r"""Genetic algorithm for real numbers: tournaments, blend crossover, normal mutation, an elite.

    Two parents a and b win a tournament each. With probability `crossover` their child is uniform
    in the box about them that is wider by a share alpha on either side (BLX-alpha [1]_),

    .. math:: \min(a_j, b_j) - \alpha\, |a_j - b_j| \le x_j
        \le \max(a_j, b_j) + \alpha\, |a_j - b_j|,

    else it is a copy of a. Every coordinate mutates with probability `mutation`, by a normal step
    whose standard deviation falls linearly. The elite of the parents replaces the worst children.

    References
    ----------
    .. [1] Eshelman, Schaffer (1993), "Real-coded genetic algorithms and interval-schemata",
       Foundations of Genetic Algorithms 2, doi:10.1016/B978-0-08-094832-4.50018-0.
    """

    population: int = 50
    """Number of members."""
    tournament: int = 2
    """Members that compete to be a parent."""
    crossover: float = 0.9
    """Probability of crossover."""
    alpha: float = 0.5
    """How far children may lie outside their parents; from about 0.37 on spread does not shrink by
    crossover alone."""
    mutation: float = 0.05
    """Probability that a coordinate mutates."""
    step_start: float = 0.1
    """Standard deviation of mutations at the start, share of the box."""
    step_end: float = 0.001
    """Standard deviation of mutations at the end of the budget, share of the box."""
    elite: int = 2
    """Number of parents that survive."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.whole("tournament", self.tournament, 1)
        checks.between("crossover", self.crossover, 0.0, 1.0)
        checks.between("alpha", self.alpha, 0.0, 10.0)
        checks.between("mutation", self.mutation, 0.0, 1.0)
        checks.positive("step_start", self.step_start)
        checks.positive("step_end", self.step_end)
        checks.between("elite", self.elite, 0, self.population - 1)

    def _first(self) -> Float2D:
        self._children = self.box.scatter(self.population, self.region, self.rng)
        self._x, self._f = self._children[:0], np.empty(0)
        return self._children

    def _next(self, f: Float1D) -> Float2D:
        old, new = np.argsort(self._f, kind="stable"), np.argsort(f, kind="stable")
        elite = old[: self.elite]
        children = new[: self.population - elite.size]
        self._x = np.concatenate([self._x[elite], self._children[children]])
        self._f = np.concatenate([self._f[elite], f[children]])
        self._children = self._breed()
        return self._children

    def _breed(self) -> Float2D:
        m, d = self._x.shape
        rng = self.rng
        a, b = self._x[self._parents()], self._x[self._parents()]
        low, reach = np.minimum(a, b), np.abs(a - b)
        blend = low + reach * ((1.0 + 2.0 * self.alpha) * rng.random((m, d)) - self.alpha)
        children = np.where(rng.random((m, 1)) < self.crossover, blend, a)
        step = linear(self.step_start, self.step_end, self.progress) * self.box.width
        mutates = rng.random((m, d)) < self.mutation
        children += np.where(mutates, step * rng.standard_normal((m, d)), 0.0)
        return put_inside(children, self.box, self.bounds)

    def _parents(self) -> Int1D:
        """Return the winners of one tournament a child."""
        m = self.population
        entered = self.rng.integers(m, size=(m, self.tournament))
        winners: Int1D = entered[np.arange(m), np.argmin(self._f[entered], axis=1)]
        return winners
