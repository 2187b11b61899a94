"""Standard test functions, shifted so that neither origin nor center of the box gives them away.

Every function has its minimum, zero, at a random point that its seed decides, well inside the box.

References
----------
.. [1] Hansen, Finck, Ros, Auger (2009), "Real-parameter black-box optimization benchmarking 2009:
   noiseless functions definitions", INRIA RR-6829.
.. [2] Molga, Smutnicki (2005), "Test functions for optimization needs".
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.optim import checks

SHIFT = 0.6
"""Share of the box, about its center, that minima are drawn from."""

SCHWEFEL_MINIMUM = 420.968746359982
"""Coordinate of the minimum of Schwefel's function; it has no closed form."""


@dataclass(frozen=True, eq=False)
class StandardFunction:
    """A function of known minimum on a box; called with points (m, d), it returns costs (m,)."""

    name: str
    lower: Float1D
    upper: Float1D
    """Bounds, shape (d,)."""
    x_min: Float1D
    """Where it is smallest, shape (d,)."""
    of_offset: Callable[[Float2D], Float1D] = field(repr=False)
    """Costs of points given relative to the minimum, (m, d) to (m,)."""
    f_min: float = 0.0
    """Its smallest value."""

    def __call__(self, X: Float2D) -> Float1D:
        """Return the costs of points (m, d), shape (m,)."""
        return self.of_offset(X - self.x_min)


def sphere(dim: int, seed: int = 0) -> StandardFunction:
    """Return the sum of squares, on [-5, 5]^dim."""
    return _shifted("sphere", dim, 5.0, seed, _sphere)


def ellipsoid(dim: int, condition: float = 1e6, seed: int = 0) -> StandardFunction:
    """Return a rotated ellipsoid whose Hessian has a given condition number, on [-5, 5]^dim."""
    rng = np.random.default_rng([seed, dim])
    Q, R = np.linalg.qr(rng.standard_normal((dim, dim)))
    axes = np.sqrt(np.geomspace(1.0, condition, dim))[:, None] * (Q * np.sign(np.diag(R))).T
    name = f"ellipsoid-{condition:.0e}".replace("e+0", "e")
    return _shifted(name, dim, 5.0, seed, partial(_ellipsoid, axes))


def rosenbrock(dim: int, seed: int = 0) -> StandardFunction:
    """Return Rosenbrock's curved valley, on [-5, 5]^dim, of at least 2 dimensions."""
    checks.whole("the dimension of Rosenbrock's function", dim, 2)
    return _shifted("rosenbrock", dim, 5.0, seed, _rosenbrock)


def rastrigin(dim: int, seed: int = 0) -> StandardFunction:
    """Return Rastrigin's grid of local minima, on [-5.12, 5.12]^dim."""
    return _shifted("rastrigin", dim, 5.12, seed, _rastrigin)


def ackley(dim: int, seed: int = 0) -> StandardFunction:
    """Return Ackley's narrow funnel in a rough plain, on [-32.768, 32.768]^dim."""
    return _shifted("ackley", dim, 32.768, seed, _ackley)


def griewank(dim: int, seed: int = 0) -> StandardFunction:
    """Return Griewank's bowl with ripples, on [-600, 600]^dim."""
    return _shifted("griewank", dim, 600.0, seed, _griewank)


def schwefel(dim: int, seed: int = 0) -> StandardFunction:
    """Return Schwefel's function, whose second best minimum is far away, on [-500, 500]^dim.

    It is not shifted, as it is lower outside its box, but mirrored in random coordinates.
    """
    signs = np.random.default_rng([seed, dim]).choice([-1.0, 1.0], size=dim)
    bound = np.full(dim, 500.0)
    minimum = signs * SCHWEFEL_MINIMUM
    return StandardFunction("schwefel", -bound, bound, minimum, partial(_schwefel, signs))


FUNCTIONS: dict[str, Callable[[int, int], StandardFunction]] = {
    "sphere": sphere,
    "ellipsoid-1e2": lambda dim, seed: ellipsoid(dim, 1e2, seed),
    "ellipsoid-1e6": lambda dim, seed: ellipsoid(dim, 1e6, seed),
    "rosenbrock": rosenbrock,
    "rastrigin": rastrigin,
    "ackley": ackley,
    "griewank": griewank,
    "schwefel": schwefel,
}
"""Constructors by name; arguments are dimension and seed."""


def _shifted(
    name: str, dim: int, half: float, seed: int, of_offset: Callable[[Float2D], Float1D]
) -> StandardFunction:
    """Return a function on [-half, half]^dim whose minimum is moved to a random point."""
    bound = np.full(dim, half)
    x_min = SHIFT * np.random.default_rng([seed, dim, 1]).uniform(-half, half, dim)
    return StandardFunction(name, -bound, bound, x_min, of_offset)


def _sphere(Z: Float2D) -> Float1D:
    squares: Float1D = np.einsum("md,md->m", Z, Z)
    return squares


def _ellipsoid(axes: Float2D, Z: Float2D) -> Float1D:
    return _sphere(Z @ axes.T)


def _rosenbrock(Z: Float2D) -> Float1D:
    X = Z + 1.0
    valley = X[:, 1:] - X[:, :-1] ** 2
    return np.asarray(100.0 * _sphere(valley) + _sphere(Z[:, :-1]))


def _rastrigin(Z: Float2D) -> Float1D:
    return np.asarray(np.sum(Z**2 + 10.0 * (1.0 - np.cos(2.0 * np.pi * Z)), axis=1))


def _ackley(Z: Float2D) -> Float1D:
    funnel = 20.0 * -np.expm1(-0.2 * np.sqrt(np.mean(Z**2, axis=1)))
    ripples = np.e * -np.expm1(np.mean(np.cos(2.0 * np.pi * Z) - 1.0, axis=1))
    return np.asarray(funnel + ripples)


def _griewank(Z: Float2D) -> Float1D:
    waves = np.cos(Z / np.sqrt(np.arange(1.0, Z.shape[1] + 1.0)))
    return np.asarray(_sphere(Z) / 4000.0 + 1.0 - np.prod(waves, axis=1))


def _schwefel(signs: Float1D, Z: Float2D) -> Float1D:
    X = SCHWEFEL_MINIMUM + signs * Z
    return np.asarray(np.sum(_wave(SCHWEFEL_MINIMUM) - _wave(X), axis=1))


def _wave(X: Float2D | float) -> Float2D:
    return np.asarray(X * np.sin(np.sqrt(np.abs(X))))
