"""Test whether a wrong transition velocity explains residuals above the sensor noise."""

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
"""Maximum deviation of log eps from nominal that counts as chance, in standard deviations."""

MIN_RESIDUAL_RATIO = 1.1
"""Minimum ratio of the residuals before and after for eps to be their cause."""


@dataclass(frozen=True, slots=True, eq=False)
class TransitionVelocityTest:
    """Nominal and estimated transition velocity eps, arrays of shape (n,)."""

    joint_names: tuple[str, ...]
    units: tuple[str, ...]
    """Unit of eps, one per joint."""
    nominal: Float1D
    estimated: Float1D
    """Estimated eps; nominal where it is not identifiable."""
    distance: Float1D
    """Distance of the logarithms in standard deviations; zero where eps is not identifiable."""
    noise_nominal: Float1D
    """Noise of the rows by the residuals with the nominal eps [N m]."""
    noise_estimated: Float1D
    """Noise of the rows by the residuals with the estimated eps [N m]."""
    fit: FrictionFit
    """The fit of eps and of all linear parameters."""

    @property
    def residual_ratio(self) -> Float1D:
        """Factor by which estimating eps reduces the residual of every joint, shape (n,)."""
        return np.asarray(self.noise_nominal / self.noise_estimated)

    @property
    def doubtful_joints(self) -> tuple[str, ...]:
        """Joints whose eps probably causes the residual above the noise."""
        if not self.fit.success:
            return ()
        doubtful = (self.distance > MAX_LOG_DEVIATION) & (self.residual_ratio > MIN_RESIDUAL_RATIO)
        return tuple(np.array(self.joint_names)[doubtful].tolist())

    def sentences(self) -> list[str]:
        """Describe the result."""
        if not self.doubtful_joints:
            return [
                "Estimating the transition velocity (eps) does not reduce the residual "
                "significantly; the cause is different."
            ]
        return [
            f"The transition velocity (eps) of {name} is probably wrong: the estimate is "
            f"{self.estimated[j]:.3g} {self.units[j]}, {self.distance[j]:.0f} standard deviations "
            f"from the nominal {self.nominal[j]:.3g}, and the residual falls by a factor of "
            f"{self.residual_ratio[j]:.2g}."
            for j, name in enumerate(self.joint_names)
            if name in self.doubtful_joints
        ] + ["Estimate eps together with the other parameters."]


def check_transition_velocity(
    motion: Motion, nominal: Robot, basis: BaseParameters
) -> TransitionVelocityTest:
    """Estimate eps of every joint and find where the nominal one probably causes the residual.

    It does if the estimate differs significantly from the nominal value and the residual of the
    joint falls by more than a tenth: a significant difference may be irrelevant. The motion and the
    parameters are those of the tested fit.
    """
    problem = build_problem(motion, nominal, basis)
    before = WeightedLeastSquares().fit(problem, np.random.default_rng(0))
    fit = estimate_eps(motion, nominal, basis)
    estimated, std = fit.eps, fit.std / fit.eps
    distance = np.zeros(nominal.dof)
    has_std = np.array(fit.identifiable) & np.isfinite(std)
    distance[has_std] = np.abs(np.log(estimated / nominal.eps))[has_std] / std[has_std]
    return TransitionVelocityTest(
        joint_names=problem.joint_names,
        units=tuple(f"{unit}/s" for unit in nominal.joint_units),
        nominal=nominal.eps,
        estimated=estimated,
        distance=distance,
        noise_nominal=before.noise_std,
        noise_estimated=fit.estimate.noise_std,
        fit=fit,
    )
