r"""Friction that is not the same forward and backward, as further linear parameters.

With the smooth sign s the law

.. math:: F = (F_v \pm F_{va}) \dot q + (F_c \pm F_{ca}) s(\dot q)
    = F_v \dot q + F_{va} |\dot q| + F_c s + F_{ca} |s|,

plus forward and minus backward, is linear in two further parameters a joint [1]_, which every
estimator of linear problems fits. Away from reversals ``|s|`` is one: beside an offset Fo, data
show ``Fca`` badly.

References
----------
.. [1] Armstrong-Helouvry, Dupont, Canudas de Wit (1994), "A survey of models, analysis tools and
   compensation methods for the control of machines with friction", Automatica 30(7), 1083-1138,
   doi:10.1016/0005-1098(94)90209-7.
"""

from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.errors import OptionError
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.problem import LinearProblem, extended, joint_columns, rows_of
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot

FAR = 4.0
"""Standard deviations from zero at which a difference between directions is no accident."""


def directional_problem(problem: LinearProblem, motion: Motion, nominal: Robot) -> LinearProblem:
    """Return the problem with ``Fva`` and ``Fca`` of every joint as further parameters.

    The problem is that of the motion, with Fv and Fc among its parameters; the nominal robot
    gives the friction velocities eps.
    """
    speed, sign = np.abs(motion.dq), np.abs(np.tanh(motion.dq / nominal.eps))
    columns = np.hstack([joint_columns(rows_of(motion, x)) for x in (speed, sign)])
    joints = range(1, nominal.dof + 1)
    symbols = [f"Fva{j}" for j in joints] + [f"Fca{j}" for j in joints]
    units = [problem.basis.units[_index(problem.basis.names, s.replace("a", ""))] for s in symbols]
    return extended(problem, columns, symbols, units)


@dataclass(frozen=True, slots=True, eq=False)
class DirectionalFriction:
    """Friction of every joint forward (first row) and backward, arrays of shape (2, n)."""

    joint_names: tuple[str, ...]
    Fv: Float2D
    """Viscous coefficients."""
    Fv_std: Float2D
    Fc: Float2D
    """Coulomb levels."""
    Fc_std: Float2D
    significance: Float1D
    """Largest difference between directions in standard deviations, shape (n,)."""

    def sentences(self) -> list[str]:
        """Return the joints that differ between directions, in words."""
        sentences = [
            f"{name}: Fc {self.Fc[0, j]:.3g} forward and {self.Fc[1, j]:.3g} backward, Fv "
            f"{self.Fv[0, j]:.3g} and {self.Fv[1, j]:.3g}."
            for j, name in enumerate(self.joint_names)
            if self.significance[j] > FAR
        ]
        return sentences or ["No joint has significantly different friction forward and backward."]


def directional_friction(estimate: Estimate) -> DirectionalFriction:
    """Return what an estimate of a directional problem says about both directions.

    It is a fit of what `directional_problem` returned, with covariance.
    """
    if not estimate.success or estimate.cov is None:
        raise OptionError("friction by direction needs an estimate that succeeded")
    n = len(estimate.joint_names)
    values, stds, far = {}, {}, np.zeros(n)
    for kind in ("Fv", "Fc"):
        mean = [_index(estimate.names, f"{kind}{j + 1}") for j in range(n)]
        half = [_index(estimate.names, f"{kind}a{j + 1}") for j in range(n)]
        sides = np.array([1.0, -1.0])[:, None]
        values[kind] = estimate.beta[mean] + sides * estimate.beta[half]
        cross = estimate.cov[mean, half]
        variance = estimate.std[mean] ** 2 + estimate.std[half] ** 2 + 2.0 * sides * cross
        stds[kind] = np.sqrt(variance)
        far = np.maximum(far, np.abs(estimate.beta[half]) / estimate.std[half])
    return DirectionalFriction(
        estimate.joint_names, values["Fv"], stds["Fv"], values["Fc"], stds["Fc"], far
    )


def _index(names: tuple[str, ...], name: str) -> int:
    if name not in names:
        raise OptionError(f"friction by direction needs '{name}' among the parameters")
    return names.index(name)
