"""Grey wolf optimizer."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.optim import checks
from robotid_sim.optim.bounds import put_inside
from robotid_sim.optim.optimizer import Population, linear

LEADERS = 3
"""Alpha, beta and delta."""


@dataclass(kw_only=True, eq=False)
class GreyWolf(Population):
    r"""Grey wolf optimizer (GWO): the pack surrounds the three best points so far.

    .. math::

        x \leftarrow \tfrac13 \sum_{k=1}^3 \big( y_k - A_k\, |C_k\, y_k - x| \big), \qquad
        A_k = 2 a\, r - a, \quad C_k = 2 r'

    with the three best points :math:`y_k`, r and r' uniform in [0, 1] for every wolf, leader and
    coordinate, and a falling linearly to zero.

    As :math:`C y` is a multiple of a position, the steps depend on where the origin is: the pack is
    drawn to it, and finds a minimum there faster than anywhere else.

    References
    ----------
    .. [1] Mirjalili, Mirjalili, Lewis (2014), "Grey wolf optimizer", Advances in Engineering
       Software 69, doi:10.1016/j.advengsoft.2013.12.007.
    """

    sphere_cost: ClassVar[float] = 1e-2  # is drawn to the origin
    smallest: ClassVar[int] = LEADERS

    population: int = 30
    """Number of wolves."""
    a_start: float = 2.0
    """Amplitude a at the start; it falls to zero."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive("a_start", self.a_start)

    def _first(self) -> Float2D:
        self._x = self.box.scatter(self.population, self.region, self.rng)
        self._leaders, self._leaders_f = self._x[:0], np.empty(0)
        return self._x

    def _next(self, f: Float1D) -> Float2D:
        pack = np.concatenate([self._leaders, self._x])
        costs = np.concatenate([self._leaders_f, f])
        best = np.argsort(costs, kind="stable")[:LEADERS]
        self._leaders, self._leaders_f = pack[best], costs[best]
        a = linear(self.a_start, 0.0, self.progress)
        A, C = self.rng.random((2, LEADERS, *self._x.shape))
        A = a * (2.0 * A - 1.0)
        y = self._leaders[:, None, :]
        self._x = (y - A * np.abs(2.0 * C * y - self._x)).mean(axis=0)
        return put_inside(self._x, self.box, self.bounds)
