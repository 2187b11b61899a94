"""Differential evolution."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, Int1D
from robotid_sim.optim import checks
from robotid_sim.optim.bounds import Walls, put_inside
from robotid_sim.optim.optimizer import Population

BaseVector = Literal["rand", "best"]


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
    """The point that the difference is added to."""
    bounds: Walls = "reflect"
    """What happens at the walls of the box."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive("F", self.F)
        checks.between("CR", self.CR, 0.0, 1.0)
        checks.one_of("base", self.base, BaseVector)

    def _first(self) -> Float2D:
        self._trial = self.box.scatter(self.population, self.region, self.rng)
        self._x, self._f = self._trial, np.full(self.population, np.inf)
        return self._trial

    def _next(self, f: Float1D) -> Float2D:
        better = f <= self._f
        self._x = np.where(better[:, None], self._trial, self._x)
        self._f = np.where(better, f, self._f)
        self._trial = self._breed()
        return self._trial

    def _breed(self) -> Float2D:
        m, d = self._x.shape
        b, r, s = others(m, self.rng)
        base = self._x[b] if self.base == "rand" else self._x[np.argmin(self._f)]
        mutant = base + self.F * (self._x[r] - self._x[s])
        crossed = self.rng.random((m, d)) < self.CR
        crossed[np.arange(m), self.rng.integers(d, size=m)] = True
        trial = np.where(crossed, mutant, self._x)
        return put_inside(trial, self.box, self.bounds)


def others(count: int, rng: np.random.Generator) -> tuple[Int1D, Int1D, Int1D]:
    """Return, for each of `count` members, three others: random, and different from each other.

    The member is number 0 of the circle that starts at it; the others are drawn from 1 on, each
    stepping over the ones drawn before.
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
