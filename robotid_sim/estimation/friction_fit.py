"""Estimation of the transition velocities of friction with all linear parameters."""

from dataclasses import dataclass, replace

import numpy as np

from robotid_sim.arrays import Bool1D, Float1D, Float2D, Int1D
from robotid_sim.docstrings import document_attributes
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.hold_out import FOLD_COUNT, MIN_GAIN, predicts_better
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import (
    LinearProblem,
    build_problem,
    extend_problem,
    joint_columns,
    part_of,
)
from robotid_sim.estimation.term_fit import TermRows
from robotid_sim.estimation.variable_projection import SeparableProblem, move_to_nominal, search
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot

NOISE_ROUNDS = 3
"""Number of estimates of the noise, and weights, of the joints."""

MAX_LOG_STD = 0.5
"""Maximum standard deviation of the logarithm of an identifiable transition velocity."""

EPS_TERM_KIND = "transition-velocity"
"""Kind of the term with a smooth sign of a different width."""

MIN_SQUARED_GAIN = 30.0
"""Minimum reduction of weighted squares that is significant for a velocity without best value."""


@document_attributes
@dataclass(frozen=True, slots=True, eq=False)
class FrictionFit:
    """Base parameters and the transition velocity eps of every joint, fitted together."""

    joint_names: tuple[str, ...]
    eps: Float1D
    """Velocities, shape (n,); start values where they are not identifiable."""
    start: Float1D
    """Start values, shape (n,)."""
    std: Float1D
    """Standard deviations, shape (n,); NaN where not identifiable or one-sided."""
    identifiable: tuple[bool, ...]
    """Joints whose velocity is identifiable."""
    one_sided: tuple[bool, ...]
    """Joints with a one-sided limit: values beyond it explain the log equally well."""
    estimate: Estimate
    """Base parameters; their covariance includes the uncertainty of the velocities."""
    nfev: int
    success: bool
    message: str

    def sentences(self) -> list[str]:
        """Describe the fit; joints without identifiable velocity are omitted."""
        sentences = []
        for j in np.flatnonzero(self.identifiable):
            value, before = self.eps[j], self.start[j]
            text = f"{value:.4g} ± {self.std[j]:.2g}"
            if self.one_sided[j]:
                text = f"{value:.4g} or {'less' if value < before else 'more'}"
            name = self.joint_names[j]
            sentences.append(
                f"{name}: transition velocity {text} in the log, {before:.4g} in the model."
            )
        return sentences if self.success else [*sentences, f"The search failed: {self.message}."]


def estimate_eps(
    motion: Motion, nominal: Robot, basis: BaseParameters, *, joints: Int1D | None = None
) -> FrictionFit:
    """Estimate the transition velocity eps of the joints, with all linear parameters.

    The linear parameters are eliminated, see `variable_projection`; weights come from the
    residuals, as in weighted least squares. Joints whose velocity is not identifiable keep the
    nominal one: joints without Coulomb friction, or with friction below the noise. A joint with a
    significantly better, but no best value has the equally good value nearest to the nominal one,
    marked as one-sided: friction may change sign within a sample.

    Fc must be among the parameters of the basis. The given `joints` are searched, by default all.
    """
    problem = SeparableProblem(build_problem(motion, nominal, basis), motion)
    nominal_eps, wls, joint_indices = nominal.eps, WeightedLeastSquares(), np.arange(nominal.dof)
    estimate = wls.fit(problem.design(nominal_eps), np.random.default_rng(0))
    active = joint_indices if joints is None else np.asarray(joints, dtype=np.intp)
    eps, weights, nfev = nominal_eps, 1.0 / estimate.noise_std, 0
    message, success = "the transition velocity is not identifiable for any joint", True
    while active.size:
        trial_eps = eps
        for _ in range(NOISE_ROUNDS):
            result = search(problem, weights, active, trial_eps, nominal_eps)
            nfev, success, message = nfev + result.nfev, result.success, result.message
            trial_eps = result.eps
            refit = wls.fit(problem.design(trial_eps), np.random.default_rng(0))
            if refit.success:
                weights = 1.0 / refit.noise_std
        is_flat = ~(result.log_std < MAX_LOG_STD) | result.at_bound
        is_identifiable = ((result.gain > MIN_SQUARED_GAIN) | ~is_flat)[active]
        eps = np.where(np.isin(joint_indices, active[is_identifiable]), trial_eps, nominal_eps)
        if is_identifiable.all():
            break
        active = active[is_identifiable]
    one_sided = np.isin(joint_indices, active) & (is_flat if active.size else False)
    if one_sided.any():
        eps = move_to_nominal(problem, weights, eps, nominal_eps, np.flatnonzero(one_sided))
    return _make_result(problem, nominal_eps, eps, active, one_sided, (nfev, success, message))


def _make_result(
    problem: SeparableProblem,
    start: Float1D,
    eps: Float1D,
    active: Int1D,
    one_sided: Bool1D,
    outcome: tuple[int, bool, str],
) -> FrictionFit:
    """Fit the linear parameters; the covariance includes `eps`, about which it is linearized."""
    rng, linear, wls = np.random.default_rng(0), problem.design(eps), WeightedLeastSquares()
    estimate = extended = wls.fit(linear, rng)
    two_sided, count = active[~one_sided[active]], linear.basis.rank
    if two_sided.size and estimate.success:
        tangent = problem.tangent(eps, estimate.beta)[:, two_sided]
        symbols = [f"log eps{j + 1}" for j in two_sided]
        extended = wls.fit(extend_problem(linear, tangent, symbols, ["1"] * len(symbols)), rng)
    nfev, success, message = outcome
    std = np.full(eps.shape, np.nan)
    if active.size and extended.success:
        std[two_sided] = eps[two_sided] * extended.std[count:]
    return FrictionFit(
        joint_names=problem.linear.joint_names,
        eps=eps,
        start=start,
        std=std,
        identifiable=tuple(np.isin(np.arange(eps.size), active).tolist()),
        one_sided=tuple(one_sided.tolist()),
        estimate=part_of(extended, count),
        nfev=nfev,
        success=success and extended.success,
        message=message if extended.success else extended.message,
    )


def revise_eps(motion: Motion, nominal: Robot, basis: BaseParameters) -> FrictionFit | None:
    """Estimate the transition velocity of joints where it differs from the nominal one.

    Joints are searched if a smooth sign of a different width improves their fit, as for the terms
    of `choose_structure`; a velocity is accepted where it improves the prediction of held-out
    blocks, joint by joint.

    The motion is made from positions alone, because a motion that follows the model hides errors of
    its friction. Other joints keep the nominal velocity; the result is None if all do, or if the
    basis does not contain Fc of every joint.
    """
    if not {f"Fc{j + 1}" for j in range(nominal.dof)} <= set(basis.names):
        return None
    problem = build_problem(motion, nominal, basis)
    if problem.samples < 5 * FOLD_COUNT:
        return None
    estimate = WeightedLeastSquares().fit(problem, np.random.default_rng(0))
    if not estimate.success:
        return None
    rows = TermRows.from_problem(problem, motion, nominal, estimate.beta)
    candidates = rows.candidates((EPS_TERM_KIND,))
    gains = rows.estimate_gains([], candidates)
    margin = MIN_GAIN + float(np.log(max(len(candidates), 1)))
    joints = np.unique([c.joint for c, g in zip(candidates, gains, strict=True) if g > margin])
    while joints.size:
        fit = estimate_eps(motion, nominal, basis, joints=joints)
        if not fit.success:
            return None
        revised = build_problem(motion, set_eps(nominal, fit.eps), basis)
        better = predicts_better(problem, revised)[joints] & np.array(fit.identifiable)[joints]
        if better.all():
            return fit
        joints = joints[better]
    return None


def eps_errors(fit: FrictionFit, problem: LinearProblem, motion: Motion, beta: Float1D) -> Float2D:
    """Compute the torque of one standard deviation of every transition velocity of a fit [N m].

    These are random effects, shape (N n, k), of a fit with fixed velocities; joints without a
    standard deviation have no column.
    """
    has_std = np.isfinite(fit.std)
    names, separable = list(problem.basis.names), SeparableProblem(problem, motion)
    Fc = np.array([beta[names.index(f"Fc{j + 1}")] for j in range(problem.dof)])
    std = np.where(has_std, fit.std, 0.0)
    return joint_columns(Fc * separable.slopes(fit.eps) * std / fit.eps)[:, has_std]


def raise_row_rate(motion: Motion, factor: float = 2.0) -> Motion:
    """Raise the cut-off frequency and the rate of the rows of a motion by a factor.

    Friction reverses within about ten milliseconds, so that rows at 5 Hz hardly depend on its
    shape: on engine data twice the cut-off halves the error of eps. The linear parameters are more
    accurate with the original rows, and eps fixed at the estimate from finer rows.
    """
    rows = motion.row_filter
    if rows is None:
        return motion
    finer, step = min(factor, 0.4 / rows.cutoff), max(1, round(rows.step / factor))
    return replace(motion, row_filter=rows.scale_cutoffs(finer, step=step))


def set_eps(robot: Robot, eps: Float1D) -> Robot:
    """Replace the transition velocity eps of every joint, shape (n,)."""
    joints = tuple(
        replace(joint, friction=replace(joint.friction, eps=float(value)))
        for joint, value in zip(robot.joints, eps, strict=True)
    )
    return replace(robot, joints=joints)
