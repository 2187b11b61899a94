"""Whether residuals that sensor noise does not explain come from the friction of the model."""

from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.estimation.friction_fit import FrictionFit, estimate_eps
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import build_problem
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot

MAX_LOG_DEVIATION = 4.0
"""Standard deviations between given and estimated logarithm of eps that are no accident."""

MIN_RESIDUAL_RATIO = 1.1
"""Least ratio of the residuals before and after for eps to be a reason of theirs."""


@dataclass(frozen=True, slots=True, eq=False)
class FrictionSuspicion:
    """The friction velocity eps as given and as the data want it, arrays of shape (n,)."""

    joint_names: tuple[str, ...]
    units: tuple[str, ...]
    """Unit of eps, one per joint."""
    nominal: Float1D
    estimated: Float1D
    """Estimated eps; the given one where the data do not show it."""
    distance: Float1D
    """Distance of the logarithms in standard deviations; zero where the data do not show it."""
    noise_given: Float1D
    """Noise of the rows as the residuals tell, with the given eps [N m]."""
    noise_estimated: Float1D
    """The same with the estimated eps."""
    fit: FrictionFit
    """The fit of eps and of all linear parameters."""

    @property
    def residual_ratio(self) -> Float1D:
        """By what factor estimating eps lowers the residual of every joint, shape (n,)."""
        return np.asarray(self.noise_given / self.noise_estimated)

    @property
    def suspects(self) -> tuple[str, ...]:
        """Joints at which eps is the likely reason of what noise does not explain."""
        if not self.fit.success:
            return ()
        guilty = (self.distance > MAX_LOG_DEVIATION) & (self.residual_ratio > MIN_RESIDUAL_RATIO)
        return tuple(np.array(self.joint_names)[guilty].tolist())

    def sentences(self) -> list[str]:
        """Return the finding in words."""
        if not self.suspects:
            return [
                "Estimating the transition velocity (eps) does not reduce the residual "
                "significantly; the cause is different."
            ]
        return [
            f"The transition velocity (eps) of {name} is probably wrong: the estimate is "
            f"{self.estimated[j]:.3g} {self.units[j]}, {self.distance[j]:.0f} standard deviations "
            f"from the given {self.nominal[j]:.3g}, and the residual falls by a factor of "
            f"{self.residual_ratio[j]:.2g}."
            for j, name in enumerate(self.joint_names)
            if name in self.suspects
        ] + ["Estimate eps together with the other parameters."]


def suspect_friction(motion: Motion, nominal: Robot, basis: BaseParameters) -> FrictionSuspicion:
    """Estimate eps of every joint and say where the given one is the likely reason of residuals.

    It is where the estimate is far from the given value, measured by its standard deviation,
    and the residual of the joint falls by more than a tenth: the one alone may be a significant
    trifle. The motion and the parameters are those of the fit in question.
    """
    problem = build_problem(motion, nominal, basis)
    before = WeightedLeastSquares().fit(problem, np.random.default_rng(0))
    fit = estimate_eps(motion, nominal, basis)
    estimated, std = fit.eps, fit.std / fit.eps
    distance = np.zeros(nominal.dof)
    shown = np.array(fit.shown) & np.isfinite(std)
    distance[shown] = np.abs(np.log(estimated / nominal.eps))[shown] / std[shown]
    return FrictionSuspicion(
        joint_names=problem.joint_names,
        units=tuple(f"{unit}/s" for unit in nominal.joint_units),
        nominal=nominal.eps,
        estimated=estimated,
        distance=distance,
        noise_given=before.noise_std,
        noise_estimated=fit.estimate.noise_std,
        fit=fit,
    )
