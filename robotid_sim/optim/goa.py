"""Grasshopper optimization algorithm."""

from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.optim import checks
from robotid_sim.optim.bounds import put_inside
from robotid_sim.optim.optimizer import Population, linear


@dataclass(kw_only=True, eq=False)
class Grasshopper(Population):
    r"""Grasshopper optimization algorithm (GOA): a swarm of repulsion, comfort and attraction.

    .. math::

        x_{ik} &\leftarrow g_k + c \sum_{j \ne i} c\, \frac{u_k - l_k}{2}\, s(d_{ijk})\,
            \frac{x_{jk} - x_{ik}}{\|x_j - x_i\|} \tag{2.7} \\
        s(d) &= f\, e^{-d / \ell} - e^{-d}

    with the best point g so far and c falling linearly from `c_max` to `c_min`. All lengths are
    taken in widths of the box, and the distances in s are mapped to the interval [1, 4], as the
    paper does: :math:`d = 1 + 3\, |x_{jk} - x_{ik}|`. Below 2.079 grasshoppers repel each other.

    They have no memory of where they were: the swarm is a cloud about g that shrinks with c^2.

    References
    ----------
    .. [1] Saremi, Mirjalili, Lewis (2017), "Grasshopper optimisation algorithm: theory and
       application", Advances in Engineering Software 105, doi:10.1016/j.advengsoft.2017.01.004.
    """

    population: int = 30
    """Number of grasshoppers."""
    c_max: float = 1.0
    """Shrinking coefficient at the start."""
    c_min: float = 4e-5
    """Shrinking coefficient at the end of the budget."""
    intensity: float = 0.5
    """Intensity of attraction, f."""
    length: float = 1.5
    """Length scale of attraction, l."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive("c_max", self.c_max)
        checks.between("c_min", self.c_min, 0.0, self.c_max)
        checks.positive("intensity", self.intensity)
        checks.positive("length", self.length)

    def _first(self) -> Float2D:
        self._x = self.box.scatter(self.population, self.region, self.rng)
        self._best_x, self._best_f = self._x[0], np.inf
        # Kept, as making arrays of this size anew costs four times what is done with them.
        self._work = np.empty((3, self.population, self.population, self.box.dim))
        return self._x

    def _next(self, f: Float1D) -> Float2D:
        first = int(np.argmin(f))
        if f[first] < self._best_f:
            self._best_x, self._best_f = self._x[first].copy(), float(f[first])
        c = linear(self.c_max, self.c_min, self.progress)
        self._x = self._best_x + c**2 / 2.0 * self.box.width * self._forces()
        return put_inside(self._x, self.box, self.bounds)

    def _forces(self) -> Float2D:
        """Return the sum of the forces on every grasshopper, in widths of the box, shape (m, d)."""
        x = self._x / self.box.width
        apart, near, far = self._work
        np.subtract(x, x[:, None, :], out=apart)  # [i, j] is from i to j
        distance = np.sqrt(np.einsum("ijk,ijk->ij", apart, apart))
        np.fill_diagonal(distance, 1.0)
        np.abs(apart, out=near)
        near *= -3.0
        near -= 1.0  # the mapped distance, negative
        np.multiply(near, 1.0 / self.length, out=far)
        force = np.exp(far, out=far)
        force *= self.intensity
        force -= np.exp(near, out=near)
        force *= apart
        # Grasshoppers at one place have no direction; below rounding they are at one place.
        forces: Float2D = np.einsum("ijk,ij->ik", force, 1.0 / np.maximum(distance, 1e-12))
        return forces
