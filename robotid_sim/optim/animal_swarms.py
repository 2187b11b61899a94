"""Grey wolves, whales and grasshoppers: the methods of Mirjalili and others."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.docstrings import document_attributes
from robotid_sim.optim import checks
from robotid_sim.optim.bounds import repair_points
from robotid_sim.optim.optimizer import Population, linear

LEADER_COUNT = 3
"""Alpha, beta and delta."""


@document_attributes
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
    smallest: ClassVar[int] = LEADER_COUNT

    a_start: float = 2.0
    """Amplitude a at the start; it decreases to zero."""

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
        best = np.argsort(costs, kind="stable")[:LEADER_COUNT]
        self._leaders, self._leaders_f = pack[best], costs[best]
        a = linear(self.a_start, 0.0, self.progress)
        A, C = self.rng.random((2, LEADER_COUNT, *self._x.shape))
        A = a * (2.0 * A - 1.0)
        y = self._leaders[:, None, :]
        self._x = (y - A * np.abs(2.0 * C * y - self._x)).mean(axis=0)
        return repair_points(self._x, self.box, self.bounds)


@document_attributes
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
    are drawn per whale, not per coordinate: the paper compares |A| with 1.

    As :math:`C y` is a multiple of a position, the steps depend on where the origin is; see
    `robotid_sim.optim.animal_swarms.GreyWolf`.

    References
    ----------
    .. [1] Mirjalili, Lewis (2016), "The whale optimization algorithm", Advances in Engineering
       Software 95, doi:10.1016/j.advengsoft.2016.01.008.
    """

    sphere_cost: ClassVar[float] = 0.5  # is drawn to the origin

    a_start: float = 2.0
    """Amplitude a at the start; it decreases to zero."""
    spiral: float = 1.0
    """Shape of the spiral, b."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive("a_start", self.a_start)
        checks.require_between("spiral", self.spiral, 0.0, 10.0)

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
        return repair_points(self._x, self.box, self.bounds)


@document_attributes
@dataclass(kw_only=True, eq=False)
class Grasshopper(Population):
    r"""Grasshopper optimization algorithm (GOA): a swarm of repulsion, comfort and attraction.

    .. math::

        x_{ik} &\leftarrow g_k + c \sum_{j \ne i} c\, \frac{u_k - l_k}{2}\, s(d_{ijk})\,
            \frac{x_{jk} - x_{ik}}{\|x_j - x_i\|} \tag{2.7} \\
        s(d) &= f\, e^{-d / \ell} - e^{-d}

    with the best point g so far and c falling linearly from `c_max` to `c_min`. All lengths are
    taken in widths of the box, and the distances in s are mapped to the interval [1, 4], as in the
    paper: :math:`d = 1 + 3\, |x_{jk} - x_{ik}|`. Below 2.079 grasshoppers repel each other.

    They do not remember their positions: the swarm is a cloud about g that shrinks with c^2.

    References
    ----------
    .. [1] Saremi, Mirjalili, Lewis (2017), "Grasshopper optimisation algorithm: theory and
       application", Advances in Engineering Software 105, doi:10.1016/j.advengsoft.2017.01.004.
    """

    c_max: float = 1.0
    c_min: float = 4e-5
    """Shrinking coefficient at the start and at the end of the budget."""
    intensity: float = 0.5
    """Intensity of attraction, f."""
    length: float = 1.5
    """Length scale of attraction, l."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive("c_max", self.c_max)
        checks.require_between("c_min", self.c_min, 0.0, self.c_max)
        checks.positive("intensity", self.intensity)
        checks.positive("length", self.length)

    def _first(self) -> Float2D:
        self._x = self.box.scatter(self.population, self.region, self.rng)
        self._best_x, self._best_f = self._x[0], np.inf
        # Reused, because allocating arrays of this size costs four times the computation.
        self._work = np.empty((3, self.population, self.population, self.box.dim))
        return self._x

    def _next(self, f: Float1D) -> Float2D:
        first = int(np.argmin(f))
        if f[first] < self._best_f:
            self._best_x, self._best_f = self._x[first].copy(), float(f[first])
        c = linear(self.c_max, self.c_min, self.progress)
        self._x = self._best_x + c**2 / 2.0 * self.box.width * self._forces()
        return repair_points(self._x, self.box, self.bounds)

    def _forces(self) -> Float2D:
        """Return the sum of the forces on every grasshopper, in widths of the box, shape (m, d)."""
        x = self._x / self.box.width
        apart, mapped, far = self._work
        np.subtract(x, x[:, None, :], out=apart)  # [i, j] is from i to j
        distance = np.sqrt(np.einsum("ijk,ijk->ij", apart, apart))
        np.fill_diagonal(distance, 1.0)
        np.abs(apart, out=mapped)
        mapped *= -3.0
        mapped -= 1.0  # the mapped distance, negative
        np.multiply(mapped, 1.0 / self.length, out=far)
        force = np.exp(far, out=far)
        force *= self.intensity
        force -= np.exp(mapped, out=mapped)
        force *= apart
        # Coinciding grasshoppers have no direction; they coincide up to rounding.
        forces: Float2D = np.einsum("ijk,ij->ik", force, 1.0 / np.maximum(distance, 1e-12))
        return forces
