"""Differential evolution, genetic algorithm, simulated annealing, and CMA-ES.

CMA-ES is that of the package ``cmaes``.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, Int1D
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import require_extra
from robotid_sim.optim import checks
from robotid_sim.optim.bounds import Box, PositionWallRule, repair_points
from robotid_sim.optim.optimizer import Optimizer, Population, geometric, linear

BaseVector = Literal["rand", "best"]


@document_attributes
@dataclass(kw_only=True, eq=False)
class DifferentialEvolution(Population):
    r"""Differential evolution (DE/rand/1/bin or DE/best/1/bin).

    .. math::

        v_i &= x_b + F\, (x_{r} - x_{s}) \\
        u_{ij} &= \begin{cases} v_{ij} & \text{if } \rho_{ij} < CR \text{ or } j = j_i \\
            x_{ij} & \text{else} \end{cases}

    with three different random others b, r, s, or the best member for b, and :math:`\rho` uniform
    in [0, 1]. A trial u that is not worse replaces its x; all do so at once.

    Differences of members scale and rotate with the population, so that the search does not depend
    on units, and for CR near 1 hardly on the axes.

    References
    ----------
    .. [1] Storn, Price (1997), "Differential evolution - a simple and efficient heuristic for
       global optimization over continuous spaces", J. Global Optimization 11,
       doi:10.1023/A:1008202821328.
    """

    smallest: ClassVar[int] = 4

    population: int = 40
    """Number of members, at least 4."""
    F: float = 0.5
    """Weight of the difference."""
    CR: float = 0.9
    """Probability that a coordinate is taken from the mutant."""
    base: BaseVector = "rand"
    """Point to which the difference is added."""
    bounds: PositionWallRule = "reflect"

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive("F", self.F)
        checks.require_between("CR", self.CR, 0.0, 1.0)
        checks.one_of("base", self.base, BaseVector)

    def _first(self) -> Float2D:
        self._trial = self.box.scatter(self.population, self.region, self.rng)
        self._x, self._f = self._trial, np.full(self.population, np.inf)
        return self._trial

    def _next(self, f: Float1D) -> Float2D:
        better = f <= self._f
        self._x = np.where(better[:, None], self._trial, self._x)
        self._f = np.where(better, f, self._f)
        m, d = self._x.shape
        b, r, s = others(m, self.rng)
        base = self._x[b] if self.base == "rand" else self._x[np.argmin(self._f)]
        mutant = base + self.F * (self._x[r] - self._x[s])
        crossed = self.rng.random((m, d)) < self.CR
        crossed[np.arange(m), self.rng.integers(d, size=m)] = True
        self._trial = repair_points(np.where(crossed, mutant, self._x), self.box, self.bounds)
        return self._trial


def others(count: int, rng: np.random.Generator) -> tuple[Int1D, Int1D, Int1D]:
    """Return, for each of `count` members, three others: random, and different from each other.

    Members form a circle that starts at the member, number 0; the others are drawn from 1 on,
    skipping those drawn before.
    """
    first = rng.integers(1, count, size=count)
    two = rng.integers(1, count - 1, size=count)
    three = rng.integers(1, count - 2, size=count)
    two += two >= first
    low, high = np.minimum(first, two), np.maximum(first, two)
    three += three >= low
    three += three >= high
    itself = np.arange(count)
    b, r, s = ((itself + k) % count for k in (first, two, three))
    return b, r, s


@document_attributes
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
    step_end: float = 0.001
    """Standard deviation of mutations at the start and at the end, share of the box."""
    elite: int = 2
    """Number of parents that survive."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.whole("tournament", self.tournament, 1)
        checks.require_between("crossover", self.crossover, 0.0, 1.0)
        checks.require_between("alpha", self.alpha, 0.0, 10.0)
        checks.require_between("mutation", self.mutation, 0.0, 1.0)
        checks.positive("step_start", self.step_start)
        checks.positive("step_end", self.step_end)
        checks.require_between("elite", self.elite, 0, self.population - 1)

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
        self._children = self._make_children()
        return self._children

    def _make_children(self) -> Float2D:
        m, d = self._x.shape
        rng = self.rng
        a, b = self._x[self._parents()], self._x[self._parents()]
        low, reach = np.minimum(a, b), np.abs(a - b)
        blend = low + reach * ((1.0 + 2.0 * self.alpha) * rng.random((m, d)) - self.alpha)
        children = np.where(rng.random((m, 1)) < self.crossover, blend, a)
        step = linear(self.step_start, self.step_end, self.progress) * self.box.width
        mutates = rng.random((m, d)) < self.mutation
        children += np.where(mutates, step * rng.standard_normal((m, d)), 0.0)
        return repair_points(children, self.box, self.bounds)

    def _parents(self) -> Int1D:
        """Return the winners of one tournament per child."""
        m = self.population
        entered = self.rng.integers(m, size=(m, self.tournament))
        winners: Int1D = entered[np.arange(m), np.argmin(self._f[entered], axis=1)]
        return winners


ADAPTATION_RATE = 0.1
"""Rate at which the logarithm of the step follows the acceptance."""


@document_attributes
@dataclass(kw_only=True, eq=False)
class SimulatedAnnealing(Population):
    r"""Simulated annealing: independent chains that are cooled together.

    Every chain proposes :math:`x' = x + h\, (u - l) \circ \nu`, :math:`\nu` standard normal, and
    moves there with Metropolis' probability :math:`\min\{1, e^{-(f' - f)/T}\}`. The temperature
    falls geometrically from the spread of the first costs, times `heat`, to `cold` times that. The
    step h, common to all chains, grows while more than a share `acceptance` of them move and
    shrinks while fewer do, as in [2]_, so that it follows the temperature in any units.

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
    bounds: PositionWallRule = "reflect"

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive("heat", self.heat)
        checks.require_between("cold", self.cold, 1e-300, 1.0)
        checks.positive("step", self.step)
        checks.require_between("acceptance", self.acceptance, 0.01, 0.99)

    def _first(self) -> Float2D:
        self._proposed = self.box.scatter(self.population, self.region, self.rng)
        self._x, self._f = self._proposed, np.full(self.population, np.inf)
        self._T, self._h = 0.0, self.step
        return self._proposed

    def _next(self, f: Float1D) -> Float2D:
        if not self._T:
            finite = f[np.isfinite(f)]
            self._T = float(np.abs(finite).sum() if finite.size < 2 else finite.std()) * self.heat
        T = geometric(self._T, self._T * self.cold, self.progress) if self._T else 0.0
        patience = T * self.rng.exponential(size=f.size)  # f' - f < -T ln(u) is Metropolis' rule
        goes = f <= np.where(np.isfinite(self._f), self._f + patience, np.inf)
        self._x = np.where(goes[:, None], self._proposed, self._x)
        self._f = np.where(goes, f, self._f)
        self._h = min(self._h * np.exp(ADAPTATION_RATE * (goes.mean() - self.acceptance)), 1.0)
        step = self._h * self.box.width * self.rng.standard_normal(self._x.shape)
        self._proposed = repair_points(self._x + step, self.box, self.bounds)
        return self._proposed


COST_TOLERANCE = 1e-13
"""Relative spread of the costs of a generation that counts as rounding."""


@document_attributes
@dataclass(kw_only=True, eq=False)
class CmaEs(Optimizer):
    """CMA-ES: a normal distribution that learns the shape of the cost; the package ``cmaes``.

    It is the reference for the other methods: it does not depend on the axes nor, up to rounding,
    on the condition of the cost. It searches in widths of the box, from a random point on. When a
    search ends, the next one starts with `growth` times as many members (IPOP [2]_).

    Only the order of the costs is used, except for a stopping rule of the package at an absolute
    difference of 1e-12. A search ends by the other rules of the package or when the costs of a
    generation differ by rounding only.

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
    bounds: PositionWallRule = "reflect"
    """Treatment of points at the walls of the box."""
    region: float = 1.0
    """Share of the box, about its center, in which searches start."""

    def __post_init__(self) -> None:
        if self.population is not None:
            checks.whole("population", self.population, 2)
        checks.positive("sigma", self.sigma)
        checks.require_between("growth", self.growth, 1.0, 10.0)
        checks.one_of("bounds", self.bounds, PositionWallRule)
        checks.require_between("region", self.region, 1e-12, 1.0)

    def _first(self) -> Float2D:
        size = self.population or 4 + math.floor(3.0 * math.log(self.box.dim))
        self._unit = Box(np.zeros(self.box.dim), np.ones(self.box.dim))
        self._size = float(size)
        self._strategy = self._fresh()
        return self._sample()

    def _fresh(self) -> Any:
        """Return a search from a new random point."""
        with require_extra("method 'cmaes' needs the package cmaes", "cmaes"):
            from cmaes import CMA
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
        self._members = repair_points(np.array(members), self._unit, self.bounds)
        X = self.box.lower + self._members * self.box.width
        return repair_points(X, self.box, "none" if self.bounds == "none" else "clip")

    def _next(self, f: Float1D) -> Float2D:
        ranks = np.argsort(np.argsort(f, kind="stable"), kind="stable")
        self._strategy.tell(list(zip(self._members, ranks.tolist(), strict=True)))
        if _is_flat(f) or self._strategy.should_stop():
            self._size *= self.growth
            self._strategy = self._fresh()
        return self._sample()


def _is_flat(f: Float1D) -> bool:
    finite = f[np.isfinite(f)]
    return not finite.size or bool(np.ptp(finite) <= COST_TOLERANCE * np.abs(finite).max())
