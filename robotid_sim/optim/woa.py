"""Whale optimization algorithm."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.optim import checks
from robotid_sim.optim.bounds import put_inside
from robotid_sim.optim.optimizer import Population, linear


@dataclass(kw_only=True, eq=False)
class WhaleOptimization(Population):
    r"""Whale optimization algorithm (WOA): whales encircle or spiral to the best point so far.

    Every whale draws one of three moves, with A = a (2 r - 1), C = 2 r',

    .. math::

        x &\leftarrow y - A\, |C\, y - x| & &\text{half of the time, } |A| < 1: y = g \\
        x &\leftarrow y - A\, |C\, y - x| & &\text{half of the time, } |A| \ge 1: y
            \text{ a random whale} \\
        x &\leftarrow g + |g - x|\, e^{b l} \cos 2 \pi l & &\text{the other half}

    with the best point g so far, r and r' uniform in [0, 1], a falling linearly to zero, and l
    uniform between a bound that falls from -1 to -2 and 1. As in the authors' program, A, C and l
    are numbers of a whale, not of a coordinate: the paper compares |A| with 1.

    As :math:`C y` is a multiple of a position, the steps depend on where the origin is; see
    `robotid_sim.optim.gwo.GreyWolf`.

    References
    ----------
    .. [1] Mirjalili, Lewis (2016), "The whale optimization algorithm", Advances in Engineering
       Software 95, doi:10.1016/j.advengsoft.2016.01.008.
    """

    sphere_cost: ClassVar[float] = 0.5  # is drawn to the origin

    population: int = 30
    """Number of whales."""
    a_start: float = 2.0
    """Amplitude a at the start; it falls to zero."""
    spiral: float = 1.0
    """Shape of the spiral, b."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive("a_start", self.a_start)
        checks.between("spiral", self.spiral, 0.0, 10.0)

    def _first(self) -> Float2D:
        self._x = self.box.scatter(self.population, self.region, self.rng)
        self._best_x, self._best_f = self._x[0], np.inf
        return self._x

    def _next(self, f: Float1D) -> Float2D:
        first = int(np.argmin(f))
        if f[first] < self._best_f:
            self._best_x, self._best_f = self._x[first].copy(), float(f[first])
        m, x, best, rng = self.population, self._x, self._best_x, self.rng
        A = linear(self.a_start, 0.0, self.progress) * (2.0 * rng.random((m, 1)) - 1.0)
        C = 2.0 * rng.random((m, 1))
        prey = np.where(np.abs(A) < 1.0, best, x[rng.integers(m, size=m)])
        encircled = prey - A * np.abs(C * prey - x)
        l = 1.0 - (2.0 + self.progress) * rng.random((m, 1))
        spiralled = best + np.abs(best - x) * np.exp(self.spiral * l) * np.cos(2.0 * np.pi * l)
        self._x = np.where(rng.random((m, 1)) < 0.5, encircled, spiralled)
        return put_inside(self._x, self.box, self.bounds)
