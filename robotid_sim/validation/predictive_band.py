r"""How far measured torques may be from predicted ones.

Below the cut-off of the rows of a fit, a torque differs from its prediction by what the model is
wrong by, which the fit knows: of data held out, else of its own. Above it are the noise of the
torques and that of accelerations, which depend on the motion and show in the log at hand; they say
nothing of the model. A band of level p about the prediction has the half-width

.. math:: \sqrt{q_p^2 + z_p^2 (m^2 + W \Sigma W^T)}

with the quantile :math:`q_p` of the size of the differences above the cut-off, the factor
:math:`z_p` of a Gaussian, the error m of the model, RMS, and the covariance of its parameters for
the noise of the fit alone: what the model lacks is in m already.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.docstrings import documented
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.dynamics.dynamics import regressor_parts
from robotid_sim.measurement.motion import Motion, ungated
from robotid_sim.model.robot import Robot

LEVEL = 0.9
"""Share of the samples that a band should hold."""


@documented
@dataclass(frozen=True, slots=True, eq=False)
class ModelError:
    """How far the torques of a fit may be off below the cut-off of its rows."""

    std: Float1D
    """RMS error of predictions [N m], shape (n,)."""
    cov: Float2D
    """Covariance of the base parameters by noise alone, shape (b, b)."""

    def content(self) -> dict[str, list[Any]]:
        """Return the error as JSON values."""
        return {"std": self.std.tolist(), "cov": self.cov.tolist()}


def half_width(residual: Float2D, motion: Motion, model_std: Float1D, spread: Float2D) -> Float2D:
    """Return half the width of the band about every predicted torque [N m], shape (N, n).

    Parameters
    ----------
    residual : ndarray, shape (N, n)
        Measured minus predicted torque of the samples that the motion's row filter uses [N m].
    motion : Motion
        Has a row filter.
    model_std : ndarray, shape (n,)
        RMS error of the model below the cut-off of the rows [N m].
    spread : ndarray, shape (N, n)
        Standard deviation of the prediction by its parameters [N m].
    """
    row_filter = motion.row_filter
    assert row_filter is not None
    every = replace(ungated(row_filter), first=0, stop=len(residual), step=1, edge=0)
    inner = slice(row_filter.edge, len(residual) - row_filter.edge)
    above = np.abs(residual - every.apply(residual))[inner]
    noise, factor = np.quantile(above, LEVEL, axis=0), ndtri(0.5 + 0.5 * LEVEL)
    return np.asarray(np.sqrt(noise**2 + factor**2 * (model_std**2 + spread**2)))


def spread_of(
    cov: Float2D, q: Float2D, dq: Float2D, ddq: Float2D, nominal: Robot, basis: BaseParameters
) -> Float2D:
    """Return the deviation of predicted torques by that of base parameters [N m], (N, n).

    The motion has the shape (N, n), the covariance (b, b).
    """
    values, vectors = np.linalg.eigh(cov)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    parts = regressor_parts(nominal, q, dq, ddq, basis.columns)
    return np.concatenate([np.linalg.norm(part @ root, axis=2) for part in parts])
