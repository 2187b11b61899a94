r"""Intervals of mass, center of mass and inertia of every link.

Base parameters do not determine single bodies. The nominal model adds a prior: its bodies are
correct within a stated relative error. For small errors all parameters are Gaussian, with the
covariance

.. math:: P = P_0 - P_0 B^T (B P_0 B^T + \Sigma)^{-1} B P_0,

where :math:`P_0` is the covariance of the nominal parameters, :math:`\Sigma` of the estimate, and
:math:`B` maps full to base parameters [1]_, eq. (2.25) f.

References
----------
.. [1] Rasmussen, Williams (2006), "Gaussian Processes for Machine Learning", MIT Press.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.model.inertia import pack, unpack
from robotid_sim.model.parameters import INERTIAL_COUNT
from robotid_sim.model.perturb import DEFAULT_SCALE
from robotid_sim.model.robot import Robot

MAX_SHARE_OF_PRIOR = 0.5
"""Maximum standard deviation of an identifiable quantity, over that of the nominal model."""

NORMAL_QUANTILE = 1.96
"""Quantile of 95 % intervals."""

QUANTITIES = (
    ("mass", "kg"),
    *((f"center of mass {axis}", "m") for axis in "xyz"),
    *((f"inertia {axis}{axis} about it", "kg m^2") for axis in "xyz"),
)
"""Quantities of every link, with units."""

_TENSOR_INDICES = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))


@dataclass(frozen=True, slots=True)
class BodyQuantity:
    """A quantity of a link, estimated from a log and the nominal model."""

    link: str
    name: str
    unit: str
    value: float
    """Expected value."""
    std: float
    """Its standard deviation."""
    nominal: float
    identified: float
    """Value of the identified robot, one of many with the estimated base parameters."""
    identifiable: bool
    """Whether it is identifiable from the log."""

    @property
    def interval(self) -> tuple[float, float]:
        """Ends of its 95 % interval."""
        half = NORMAL_QUANTILE * self.std
        return self.value - half, self.value + half


def estimate_bodies(
    estimate: Estimate,
    identified: Robot,
    nominal: Robot,
    basis: BaseParameters,
    std: Float1D,
    *,
    scale: float = DEFAULT_SCALE,
) -> Iterator[BodyQuantity]:
    """Compute mass, center of mass and inertia of every link.

    Parameters
    ----------
    estimate : Estimate
        Base parameters with their covariance.
    identified : Robot
        A physically consistent robot with the estimated base parameters.
    nominal : Robot
        Nominal model, the prior of the bodies.
    basis : BaseParameters
        Base parameters of the estimate.
    std : ndarray, shape (b,)
        Standard deviations that replace those of the covariance, as from `Intervals`.
    scale : float
        Relative error of the nominal bodies: of mass and inertia, and of the center of mass over
        the larger of its distance from the joint and the radius of gyration.

    Yields
    ------
    quantity : BodyQuantity
        Seven quantities of each link.
    """
    assert estimate.cov is not None
    widening = std / np.where(estimate.std > 0.0, estimate.std, 1.0)
    cov = (estimate.cov * np.outer(widening, widening))[: basis.rank, : basis.rank]
    prior = _prior(nominal, basis, cov, scale)
    gain = np.linalg.solve(basis.B @ prior @ basis.B.T + cov, basis.B @ prior)
    phi = nominal.parameters()
    mean = phi + gain.T @ (estimate.beta[: basis.rank] - basis.project(phi))
    posterior = prior - prior @ basis.B.T @ gain
    for k, link in enumerate(nominal.links):
        part = slice(INERTIAL_COUNT * k, INERTIAL_COUNT * (k + 1))
        values, slopes = _compute_quantities(mean[part])
        nominal_values, prior_slopes = _compute_quantities(link.phi)
        identified_values, _ = _compute_quantities(identified.links[k].phi)
        stds = np.sqrt(np.maximum(np.diag(slopes @ posterior[part, part] @ slopes.T), 0.0))
        prior_stds = np.sqrt(np.diag(prior_slopes @ prior[part, part] @ prior_slopes.T))
        for j, (name, unit) in enumerate(QUANTITIES):
            yield BodyQuantity(
                link=link.name,
                name=name,
                unit=unit,
                value=float(values[j]),
                std=float(stds[j]),
                nominal=float(nominal_values[j]),
                identified=float(identified_values[j]),
                identifiable=bool(stds[j] < MAX_SHARE_OF_PRIOR * prior_stds[j]),
            )


def _prior(nominal: Robot, basis: BaseParameters, cov: Float2D, scale: float) -> Float2D:
    """Compute the covariance of nominal parameters, wide for joint parameters, shape (p, p)."""
    phi = nominal.parameters()
    size = np.maximum(np.abs(basis.project(phi)), np.sqrt(np.diag(cov)))
    wide_std = np.maximum(np.abs(phi), ((basis.B != 0.0) * size[:, None]).max(axis=0))
    prior = np.diag(wide_std**2)
    for k, link in enumerate(nominal.links):
        mass, com, central = unpack(link.phi)
        if mass <= 0.0:
            continue
        moment = float(np.trace(central)) / 3.0
        reach = max(float(np.linalg.norm(com)), float(np.sqrt(1.5 * moment / mass)))
        std = scale * np.array([mass, *3 * (reach,), *6 * (moment,)])
        slopes = _slopes_of_phi(mass, com, central) * std
        part = slice(INERTIAL_COUNT * k, INERTIAL_COUNT * (k + 1))
        prior[part, part] = slopes @ slopes.T
    return prior


def _slopes_of_phi(mass: float, com: Float1D, central: Float2D) -> Float2D:
    """Differentiate a link's parameters by mass, COM and central tensor, shape (10, 10)."""
    slopes = np.zeros((INERTIAL_COUNT, INERTIAL_COUNT))
    slopes[:, 0] = pack(1.0, com, np.zeros((3, 3)))
    for axis in range(3):  # the parameters are quadratic in the COM: differences are exact
        step = np.eye(3)[axis]
        ahead, behind = (pack(mass, com + sign * step, central) for sign in (1.0, -1.0))
        slopes[:, 1 + axis] = (ahead - behind) / 2.0
    for k, (i, j) in enumerate(_TENSOR_INDICES):
        unit = np.zeros((3, 3))
        unit[i, j] = unit[j, i] = 1.0
        slopes[:, 4 + k] = pack(0.0, np.zeros(3), unit)
    return slopes


def _compute_quantities(phi: Float1D) -> tuple[Float1D, Float2D]:
    """Compute the quantities of a link and their derivatives by its parameters, (7,), (7, 10)."""
    mass, com, central = unpack(phi)
    values = np.array([mass, *com, *np.diag(central)])
    rows = [0, 1, 2, 3, *(4 + k for k, (i, j) in enumerate(_TENSOR_INDICES) if i == j)]
    if mass <= 0.0:
        return values, np.zeros((len(rows), INERTIAL_COUNT))
    return values, np.linalg.inv(_slopes_of_phi(mass, com, central))[rows]
