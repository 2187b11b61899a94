"""Reliability of a fit: residuals over the state, directions, information, further checks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, Int1D
from robotid_sim.diagnostics.directions import WeakDirection, weakest_direction, weakest_directions
from robotid_sim.diagnostics.essential import essential_parameters
from robotid_sim.diagnostics.intervals import information_shares
from robotid_sim.diagnostics.residuals import cross_validate, residual_whiteness
from robotid_sim.dynamics.dynamics import rigid_body_torque
from robotid_sim.dynamics.term_torques import terms_torque
from robotid_sim.errors import RobotIdError
from robotid_sim.estimation.block_sandwich import autocorrelation, effective_rows
from robotid_sim.estimation.discrepancy import compute_widening
from robotid_sim.estimation.problem import rows_of, weights_of
from robotid_sim.estimation.restricted import is_within
from robotid_sim.estimation.state_functions import compute_unmodeled_torque, joint_states
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.model import parameters
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.fit_plan import loop_noise_sentence
from robotid_sim.pipeline.identification import Identification
from robotid_sim.pipeline.refit import MAX_WINDOWS, windows_of
from robotid_sim.preprocess.adaptive import smoother_of
from robotid_sim.preprocess.faults import find_faults, repair_log
from robotid_sim.section import unit_text
from robotid_sim.threads import one_blas_thread

BIN_COUNT = 30
"""Number of speed bins of the measured friction of a joint, with equal numbers of samples."""

CURVE_SAMPLES = 61
"""Number of speeds of a fitted curve, denser at the reversal of friction."""

SPEED_TERMS = ("offset", "asymmetric-friction", "transition-velocity", "stribeck", "curved-viscous")
"""Joint terms that are functions of the speed."""

SPEED_QUANTITIES = ("speed", "direction")
"""Quantities of unmodeled torque that are functions of the speed."""


@dataclass(frozen=True, slots=True, eq=False)
class FrictionCurve:
    """Friction of a joint over its speed."""

    joint: str
    unit: str
    """Unit of the joint: rad or m."""
    measured_speed: Float1D
    """Speeds of the measured torque, shape (BIN_COUNT,)."""
    measured: Float1D
    """Torque minus rigid-body torque, mean of each bin [N m or N]."""
    speed: Float1D
    """Speeds of the fitted torque, shape (CURVE_SAMPLES,)."""
    fitted: Float1D
    unmodeled: Float1D | None
    """Unmodeled torque in addition to `fitted` [N m or N]; None if there is none."""


def friction_curves(fit: Identification, logs: Sequence[Log]) -> list[FrictionCurve]:
    """Compute the measured and the fitted friction of every joint.

    Accelerations follow from smoothed positions, if the preprocessor has a smoother: a motion that
    also follows from torques contains the noise of both, which only the rows of a fit weight
    correctly.
    """
    model, motions = fit.model, []
    for log, preprocessor in zip(logs, fit.preprocessors, strict=True):
        smoother = smoother_of(preprocessor)
        if smoother is None:
            motions.append(preprocessor(log, fit.nominal))
        else:
            motions.append(smoother(repair_log(log, find_faults(log)), fit.nominal))
    dq = np.concatenate([_select_samples(motion, motion.dq) for motion in motions])
    measured = np.concatenate(
        [
            _select_samples(motion, motion.tau - _compute_frictionless_torque(fit, model, motion))
            for motion in motions
        ]
    )
    curves, speed_terms = [], [t for t in fit.structure.robot_terms() if t.kind in SPEED_TERMS]
    for j, joint in enumerate(model.joints):
        share = np.linspace(-1.0, 1.0, CURVE_SAMPLES)
        speed = share * np.abs(share) * np.abs(dq[:, j]).max()
        law = joint.friction
        fitted = law.Fv * speed + law.Fc * np.tanh(speed / law.eps) + law.Fo
        one_moving = np.zeros((speed.size, model.dof))  # the other joints are at rest
        zeros = np.zeros_like(one_moving)
        one_moving[:, j] = speed
        terms = [t for t in speed_terms if t.joint == joint.name]
        fitted = fitted + terms_torque(model, terms, zeros, one_moving, zeros, in_order=False)[:, j]
        parts = equal_parts(dq[:, j], BIN_COUNT)
        means = [(dq[part, j].mean(), measured[part, j].mean()) for part in parts]
        at, mean = np.array(means).T
        unmodeled = _find_unmodeled_torque(fit, model, j, speed)
        unit = model.joint_units[j]
        curves.append(FrictionCurve(joint.name, unit, at, mean, speed, fitted, unmodeled))
    return curves


def _select_samples(motion: Motion, signal: Float2D) -> Float2D:
    """Select the samples of a signal, shape (N, n), in the fit."""
    return signal if motion.row_filter is None else signal[motion.row_filter.sample_slice]


def _compute_frictionless_torque(fit: Identification, model: Robot, motion: Motion) -> Float2D:
    """Compute the model torque without friction of the joints [N m], shape (N, n)."""
    phi, state = model.parameters(), (motion.q, motion.dq, motion.ddq)
    rotors = [phi[parameters.joint_slice(j, model.dof)][3] for j in range(model.dof)]
    bodies = rigid_body_torque(model, *state)
    other_terms = [term for term in fit.structure.robot_terms() if term.kind not in SPEED_TERMS]
    torque = terms_torque(model, other_terms, *state, t=motion.from_middle)
    return np.asarray(bodies + motion.ddq * rotors) + torque


def equal_parts(at: Float1D, bins: int) -> list[Int1D]:
    """Split samples into bins of equal size, in ascending order of `at`."""
    return np.array_split(np.argsort(at, kind="stable"), min(bins, at.size))


def _find_unmodeled_torque(
    fit: Identification, model: Robot, joint: int, speed: Float1D
) -> Float1D | None:
    """Compute the unmodeled torque of a joint over its speed; None if there is none."""
    name = model.joint_names[joint]
    functions = [
        k for k in fit.discrepancy.unmodeled if k.joint == name and k.quantity in SPEED_QUANTITIES
    ]
    if not any(function.knots for function in functions):
        return None
    still = np.zeros((speed.size, model.dof))
    dq = still.copy()
    dq[:, joint] = speed
    t = np.arange(float(speed.size))
    motion = Motion(t=t, q=still, dq=dq, ddq=still, tau=still, joint_names=model.joint_names)
    return np.asarray(compute_unmodeled_torque(functions, motion, model)[:, joint])


WEAKEST_COUNT = 5
"""Number of weakly identifiable directions in a report."""

MIN_PERIODS = 1.9
"""Smallest number of periods for a comparison of periods."""

MAX_RESIDUAL_BINS = 20
"""Largest number of bins of a quantity."""

MIN_BIN_SAMPLES = 15
"""Smallest number of samples of a bin."""


@dataclass(frozen=True, slots=True, eq=False)
class BinnedResidual:
    """Mean residual of a joint at values of a quantity of its state."""

    quantity: str
    joint: int
    at: Float1D
    """Values over the largest one, shape (bins,)."""
    mean: Float1D
    """Mean residual over its standard error."""


@dataclass(frozen=True, slots=True, eq=False)
class InformationShares:
    """Distribution of the information on the parameters over a motion."""

    stretches: tuple[str, ...]
    """Names of the stretches of the motion, by their times."""
    noun: str
    """Noun phrase for a stretch."""
    shares: Float2D
    """Share of the information on a parameter from a stretch, shape (s, b)."""


@one_blas_thread()
def weakest_of(fit: Identification) -> tuple[WeakDirection, ...]:
    """Find the weakly identifiable directions of the parameters; empty if the test fails."""
    try:
        return weakest_directions(fit.problem, fit.chosen, WEAKEST_COUNT)
    except np.linalg.LinAlgError:
        return ()


@one_blas_thread()
def bin_residuals(fit: Identification) -> list[BinnedResidual]:
    """Compute the mean residual of every joint over its position, velocity and load.

    Every mean is divided by its standard error. Unmodeled torque is not subtracted. For the load,
    residuals are multiplied by the sign of the velocity, because friction changes with it.
    """
    rows, states = fit.problem_without_terms, joint_states(fit.motion, fit.model)
    residual = rows.unstack_rows(rows.y - rows.W @ fit.chosen.beta)
    forward = np.sign(rows_of(fit.motion, np.column_stack([state.dq for state in states])))
    quantities = {
        "position": ([s.q - 0.5 * (s.q.min() + s.q.max()) for s in states], residual),
        "velocity": ([state.dq for state in states], residual),
        "size of the load": ([np.abs(state.load) for state in states], residual * forward),
    }
    binned = []
    for quantity, (columns, values) in quantities.items():
        at = rows_of(fit.motion, np.column_stack(columns))
        size = np.abs(at).max(axis=0)
        at = at / np.where(size > 0.0, size, 1.0)
        for j in map(int, np.flatnonzero(rows.measured_joints)):
            bins = min(max(len(at) // MIN_BIN_SAMPLES, 2), MAX_RESIDUAL_BINS)
            parts, centered = equal_parts(at[:, j], bins), values[:, j].copy()
            mean = np.array([values[part, j].mean() for part in parts])
            for part, value in zip(parts, mean, strict=True):
                centered[part] -= value
            # Residuals are correlated in time.
            independent = float(effective_rows(autocorrelation(centered[:, None]))[0])
            variance = float((centered**2).sum()) / max(len(at) - bins, 1)
            error = max(np.sqrt(variance * bins / independent), np.finfo(float).tiny)
            center = np.array([at[part, j].mean() for part in parts])
            binned.append(BinnedResidual(quantity, j, center, mean / error))
    return binned


@one_blas_thread()
def information_over_time(fit: Identification) -> InformationShares:
    """Compute the shares of stretches of the motion in the information on every parameter."""
    times, period = fit.problem.times, fit.problem.period
    if period is None:
        windows, noun = windows_of(fit), "a stretch of the motion"
        logs = len({window.group for window in windows}) > 1
        stretches = {
            f"{f'{w.group}, ' if logs else ''}{w.low:.3g} to {w.high:.3g} s": is_within(
                times, [[w.low, w.high]]
            )
            for w in windows
        }
    else:
        noun = "a stretch of the period, in all periods"
        part = np.floor(np.mod(times, period) / period * MAX_WINDOWS)
        ends = np.linspace(0.0, period, MAX_WINDOWS + 1)
        stretches = {
            f"{ends[k]:.3g} to {ends[k + 1]:.3g} s": np.asarray(part == k)
            for k in range(MAX_WINDOWS)
        }
    used = {name: is_used for name, is_used in stretches.items() if is_used.any()}
    shares = information_shares(fit.problem, weights_of(fit.chosen), list(used.values()))
    return InformationShares(tuple(used), noun, shares)


@one_blas_thread()
def further_checks(fit: Identification) -> list[str]:
    """Report further checks of a fit; impossible checks are omitted."""
    chosen, problem, period = fit.chosen, fit.problem, fit.motion.period
    checks: list[Callable[[], Any]] = [
        lambda: weakest_direction(problem, chosen),
        lambda: residual_whiteness(problem, chosen),
        lambda: essential_parameters(problem, chosen),
    ]
    if period is not None and problem.y.size / problem.dof * problem.dt > MIN_PERIODS * period:
        checks.append(lambda: cross_validate(problem, period))
    sentences: list[str] = []
    for check in checks:
        try:
            sentences += check().sentences()
        except (RobotIdError, np.linalg.LinAlgError):
            continue
    return sentences


@one_blas_thread()
def fit_remarks(fit: Identification) -> list[str]:
    """Report unmodeled torque, its effect on the intervals, and assumptions.

    `log.truth` is ignored.
    """
    discrepancy, gain_std, chosen = fit.discrepancy, fit.drive_gain_std, fit.chosen
    unmeasured_joints = ", ".join(
        np.array(fit.problem_without_terms.joint_names)[~fit.problem_without_terms.measured_joints]
    )
    sentences = [
        f"No torque of {unmeasured_joints} was recorded. Its rows are excluded, and parameters "
        f"that only they determine are not identified."
    ] * bool(unmeasured_joints)
    if chosen.success and chosen.criterion == "restricted" and chosen.message:
        sentences.append(f"{chosen.message[0].upper()}{chosen.message[1:]}.")
    if discrepancy.significant:
        sentences.append(
            "The residuals are larger than noise: they contain the unmodeled torque of the table."
        )
    elif discrepancy.unpredicted is None and not discrepancy.repeats:
        sentences.append(
            "The residuals are consistent with noise: they depend on no speed, direction, load, "
            "position, time or lag of any joint."
        )
    if discrepancy.unpredicted is not None:
        sentences.append(
            "Functions of the joint state explain residuals but do not predict held-out blocks. "
            "The fit omits them; the intervals include their effect."
        )
    if discrepancy.repeats:
        sentences.append(
            "The remaining residual repeats with the period, as torque ripple or encoder errors "
            "do. The intervals count the repeated periods as one."
        )
    if fit.loop_noise is not None:
        sentences.append(loop_noise_sentence(fit.loop_noise, fit.chosen.estimator))
    if fit.problem.random is not None:
        wider = compute_widening(fit.problem, fit.problem_without_terms, fit.chosen.noise_std)
        names = np.array(fit.chosen.names)
        k = np.argsort(-wider, kind="stable")[:3]
        sentences.append(
            f"The intervals include this effect: they are {np.median(wider):.3g} times as wide as "
            f"with noise alone (median); the widest are those of "
            + ", ".join(
                f"{name} ({size:.3g} times)" for name, size in zip(names[k], wider[k], strict=True)
            )
            + "."
        )
    if gain_std:
        sentences.append(
            f"The drive gains have the given relative standard deviation of {gain_std:.2g}, which "
            f"the intervals include."
        )
    else:
        sentences.append(
            "The drive gains are assumed exact. A common gain error scales every parameter and "
            "cannot be detected from a log. Give its standard deviation by --drive-gain-std."
        )
    return sentences + _report_constants(fit)


def _report_constants(fit: Identification) -> list[str]:
    """Report constants of the model that the log corrects, and parameters at their bounds."""
    sentences = [] if fit.eps is None else fit.eps.sentences()
    sentences += [] if fit.gravity is None else fit.gravity.sentences()
    zero = np.flatnonzero(fit.chosen.is_at_bound)
    intervals = fit.intervals() if zero.size else None
    if intervals is not None:
        sentences += [
            f"{intervals.names[k]} is at its lower bound of zero; upper limit "
            f"{intervals.upper[k]:.2g} {unit_text(intervals.units[k])} (95 %)."
            for k in zero
        ]
    return sentences
