r"""Test whether the particles of a swarm come to rest.

While the best points are constant, the update of one coordinate of one particle is a linear map
with random coefficients, about its equilibrium point,

.. math:: z_{t+1} = \Big( A_0 + \sum_k u_k A_k \Big) z_t, \qquad
    E[z] \to A z, \quad A = A_0 + \sum_k \bar u_k A_k, \qquad
    E[z z^T] \to \Big( A \otimes A + \sum_k \sigma_k^2\, A_k \otimes A_k \Big) E[z z^T],

for independent :math:`u_k` of mean :math:`\bar u_k` and variance :math:`\sigma_k^2`. The swarm is
stable of order 1 if its mean comes to rest, and of order 2 if also its spread vanishes: if the
spectral radii of the two matrices are below 1. For equal c1 = c2 and constant inertia this is
Poli's condition [1]_, which `order2_limit` gives in closed form.

Order 2 is decisive: a swarm that is stable only in the mean keeps growing until a velocity limit or
the walls stop it.

References
----------
.. [1] Poli (2009), "Mean and variance of the sampling distribution of particle swarm optimizers
   during stagnation", IEEE Trans. Evolutionary Computation 13(4), doi:10.1109/TEVC.2008.2011744.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from robotid_sim.arrays import ArrayLike, Bool1D, Float1D, Float2D


@dataclass(frozen=True, eq=False)
class Coefficient:
    """One random coefficient of a linear map, and the matrix it multiplies."""

    mean: float
    variance: float
    matrix: Float2D


@dataclass(frozen=True, eq=False)
class RandomMap:
    """A linear map with independent random coefficients."""

    constant: Float2D
    """Part that is not random, shape (s, s)."""
    coefficients: tuple[Coefficient, ...]

    def mean(self) -> Float2D:
        """Return the expected matrix, shape (s, s)."""
        return np.asarray(sum((c.mean * c.matrix for c in self.coefficients), self.constant))

    def order1(self) -> float:
        """Return the factor by which the mean grows per iteration; below 1 it comes to rest."""
        return spectral_radius(self.mean())

    def order2(self) -> float:
        """Return the factor by which the root mean square grows per iteration."""
        return float(np.sqrt(spectral_radius(self.moments())))

    def moments(self) -> Float2D:
        """Return the map of the second moments E[z z^T], shape (s^2, s^2)."""
        mean = self.mean()
        squares = (c.variance * np.kron(c.matrix, c.matrix) for c in self.coefficients)
        return np.asarray(sum(squares, np.kron(mean, mean)))


@runtime_checkable
class MovingOptimizer(Protocol):
    """An optimizer whose particles have velocities."""

    def linear_map(self, progress: float) -> RandomMap:
        """Return the update of one coordinate after a share `progress` of the budget."""


@dataclass(frozen=True, eq=False)
class Stability:
    """Spectral radii along a run."""

    progress: Float1D
    """Shares of the budget, shape (k,)."""
    order1: Float1D
    order2: Float1D
    """Growth of the mean and of the root mean square per iteration, shape (k,)."""

    @property
    def is_stable(self) -> bool:
        """Whether the swarm ends inside the order-2 region."""
        return bool(self.order2[-1] < 1.0)

    @property
    def flags(self) -> tuple[str, ...]:
        """Warning as text; empty for a swarm that is always stable."""
        return tuple(
            f"outside the order-{order} stability region {_when(radius >= 1.0)}"
            for order, radius in ((1, self.order1), (2, self.order2))
            if (radius >= 1.0).any()
        )


def stability(optimizer: MovingOptimizer, steps: int = 50) -> Stability:
    """Return the spectral radii along a run, at the middle of each of `steps` parts of it."""
    progress = (np.arange(steps) + 0.5) / steps
    maps = [optimizer.linear_map(float(p)) for p in progress]
    order1, order2 = (np.array([getattr(m, name)() for m in maps]) for name in ("order1", "order2"))
    return Stability(progress, order1, order2)


def order2_limit(w: float) -> float:
    """Return the c1 + c2 below which a swarm with c1 = c2 is stable of order 2 [1]."""
    return 24.0 * (1.0 - w**2) / (7.0 - 5.0 * w)


def swarm_map(
    w: float, c1: float, c2: float, *, w_variance: float = 0.0, gain: float = 1.0, sway: float = 0.0
) -> RandomMap:
    """Return the map of position and velocity of the usual particle.

    The pulls to both best points are uniform from zero to c1 and c2; w is the mean of the inertia
    weight. The position moves by the share `gain` of the velocity, and by the share `sway` of the
    old velocity with random sign.
    """
    return RandomMap(
        constant=np.diag([1.0, 0.0]),
        coefficients=(
            Coefficient(w, w_variance, np.array([[0.0, gain], [0.0, 1.0]])),
            *_pulls(c1, c2, np.array([[-gain, 0.0], [-1.0, 0.0]])),
            Coefficient(0.0, sway**2, np.array([[0.0, 1.0], [0.0, 0.0]])),
        ),
    )


def pid_map(w: float, c1: float, c2: float, kp: float, ki: float, kd: float) -> RandomMap:
    """Return the map of position, velocity, last pull and, if it acts, the sum of pulls.

    With the pull E = -u x, u = c1 r1 + c2 r2, and the sum S of all pulls,
    v <- w v + kp E + ki S + kd (E - last E) and x <- x + v.
    """
    moved = [1.0, 1.0, 0.0, 0.0]  # position and velocity change alike
    constant = np.outer(moved, [0.0, 0.0, -kd, ki]) + np.diag([1.0, 0.0, 0.0, 1.0])
    inertia = np.outer(moved, [0.0, 1.0, 0.0, 0.0])
    pull = np.outer([-(kp + ki + kd), -(kp + ki + kd), -1.0, -1.0], [1.0, 0.0, 0.0, 0.0])
    states = slice(4 if ki > 0.0 else 3)  # omit the sum if it has no effect
    return RandomMap(
        constant=constant[states, states],
        coefficients=(
            Coefficient(w, 0.0, inertia[states, states]),
            *_pulls(c1, c2, pull[states, states]),
        ),
    )


def spectral_radius(matrix: ArrayLike) -> float:
    """Return the largest modulus of the eigenvalues."""
    return float(np.abs(np.linalg.eigvals(np.asarray(matrix))).max())


def _pulls(c1: float, c2: float, matrix: Float2D) -> list[Coefficient]:
    """Return the two uniform coefficients, of mean c/2 and variance c^2/12."""
    return [Coefficient(c / 2.0, c**2 / 12.0, matrix) for c in (c1, c2)]


def _when(unstable: Bool1D) -> str:
    """Describe the part of a run in which a condition holds."""
    if unstable.all():
        return "throughout"
    tail = ", to its end" if unstable[-1] else ""
    return f"for {100.0 * unstable.mean():.0f} % of the run{tail}"
