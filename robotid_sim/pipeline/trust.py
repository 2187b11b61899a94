"""How far to trust a fit: residuals over the state, directions, information, further checks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robotid_sim.arrays import Bool1D, Float1D, Float2D, Int1D
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
from robotid_sim.preprocess.preprocessor import Preprocessor
from robotid_sim.section import unit_text
from robotid_sim.threads import one_blas_thread

BIN_COUNT = 30
"""Speeds at which the measured friction of a joint is given; all have equally many samples."""

CURVE_SAMPLES = 61
"""Speeds of a fitted curve, denser where friction changes its sign."""

SPEED_TERMS = ("offset", "asymmetric-friction", "transition-velocity", "stribeck", "curved-viscous")
"""Terms that are a curve over the speed."""

SPEED_QUANTITIES = ("speed", "direction")
"""What the model may lack that is a curve over the speed."""


@dataclass(frozen=True, slots=True, eq=False)
class FrictionCurve:
    """Friction of a joint over its speed."""

    joint: str
    unit: str
    """Of the joint: rad or m."""
    measured_speed: Float1D
    """Speeds of the measured torque, shape (BINS,)."""
    measured: Float1D
    """Torque beside that of the bodies, mean of equally many samples [N m or N]."""
    speed: Float1D
    """Speeds of the fitted torque, shape (CURVE_SAMPLES,)."""
    fitted: Float1D
    unmodeled: Float1D | None
    """What the model lacks beside the fitted torque; None if that is nothing."""


def friction_curves(fit: Identification, logs: Sequence[Log]) -> list[FrictionCurve]:
    """Return the friction of every joint, measured in the logs of a fit and fitted.

    Accelerations are those of smoothed positions: a motion that follows from torques too holds the
    noise of both, which only the rows of a fit weigh as they should.
    """
    model, pairs = fit.model, zip(logs, fit.preprocessors, strict=True)
    motions = [_motion_of_positions(log, use, fit.nominal) for log, use in pairs]
    dq = np.concatenate([_select_samples(motion, motion.dq) for motion in motions])
    measured = np.concatenate(
        [
            _select_samples(motion, motion.tau - _remove_friction(fit, model, motion))
            for motion in motions
        ]
    )
    curves = []
    for j, joint in enumerate(model.joints):
        share = np.linspace(-1.0, 1.0, CURVE_SAMPLES)
        speed = share * np.abs(share) * np.abs(dq[:, j]).max()
        law = joint.friction
        fitted = law.Fv * speed + law.Fc * np.tanh(speed / law.eps) + law.Fo
        fitted = fitted + _terms_at_speeds(fit, model, j, speed)
        parts = equal_parts(dq[:, j], BIN_COUNT)
        means = [(dq[part, j].mean(), measured[part, j].mean()) for part in parts]
        at, mean = np.array(means).T
        lacking = _find_unmodeled_torque(fit, model, j, speed)
        unit = model.joint_units[j]
        curves.append(FrictionCurve(joint.name, unit, at, mean, speed, fitted, lacking))
    return curves


def _motion_of_positions(log: Log, preprocessor: Preprocessor, nominal: Robot) -> Motion:
    """Return the motion of a log from its positions alone, where the preprocessor has a smoother.

    A motion that follows from the model too hides what is wrong with either.
    """
    smoother = smoother_of(preprocessor)
    if smoother is None:
        return preprocessor(log, nominal)
    return smoother(repair_log(log, find_faults(log)), nominal)


def _select_samples(motion: Motion, signal: Float2D) -> Float2D:
    """Return the samples of a signal (N, n) that enter the fit."""
    return signal if motion.row_filter is None else signal[motion.row_filter.sample_slice]


def _remove_friction(fit: Identification, model: Robot, motion: Motion) -> Float2D:
    """Return the torque along a motion that is no function of a joint's speed, shape (N, n)."""
    phi, state = model.parameters(), (motion.q, motion.dq, motion.ddq)
    rotors = [phi[parameters.joint_slice(j, model.dof)][3] for j in range(model.dof)]
    bodies = rigid_body_torque(model, *state)
    others = [term for term in fit.structure.robot_terms() if term.kind not in SPEED_TERMS]
    of_terms = terms_torque(model, others, *state, t=motion.from_middle)
    return np.asarray(bodies + motion.ddq * rotors) + of_terms


def equal_parts(at: Float1D, bins: int) -> list[Int1D]:
    """Return the samples of bins with equally many of them, in ascending order of `at`."""
    return np.array_split(np.argsort(at, kind="stable"), min(bins, at.size))


def _terms_at_speeds(fit: Identification, model: Robot, joint: int, speed: Float1D) -> Float1D:
    """Return the torque of the terms of a joint by its speed, with the others at rest."""
    name = model.joint_names[joint]
    terms = [t for t in fit.structure.robot_terms() if t.joint == name and t.kind in SPEED_TERMS]
    dq = np.zeros((speed.size, model.dof))
    still = np.zeros_like(dq)
    dq[:, joint] = speed
    return np.asarray(terms_torque(model, terms, still, dq, still, in_order=False)[:, joint])


def _find_unmodeled_torque(
    fit: Identification, model: Robot, joint: int, speed: Float1D
) -> Float1D | None:
    """Return what the model lacks of a joint's torque by its speed; None if that is nothing."""
    name = model.joint_names[joint]
    lacks = [
        k for k in fit.discrepancy.unmodeled if k.joint == name and k.quantity in SPEED_QUANTITIES
    ]
    if not any(lack.knots for lack in lacks):
        return None
    still = np.zeros((speed.size, model.dof))
    dq = still.copy()
    dq[:, joint] = speed
    t = np.arange(float(speed.size))
    motion = Motion(t=t, q=still, dq=dq, ddq=still, tau=still, joint_names=model.joint_names)
    return np.asarray(compute_unmodeled_torque(lacks, motion, model)[:, joint])


WEAKEST_COUNT = 5
"""Directions that are given in words."""

MIN_PERIODS = 1.9
"""Periods of rows that a comparison between periods needs."""

MAX_RESIDUAL_BINS = 20
"""Values of a quantity at which the residual of a joint is given, at most."""

MIN_BIN_SAMPLES = 15
"""Samples of each of them, at least."""


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
    """Where in a motion the information on the parameters is."""

    stretches: tuple[str, ...]
    noun: str
    """What a stretch is."""
    shares: Float2D
    """Share of the information on a parameter that is lost without a stretch, shape (s, b)."""


@one_blas_thread()
def weakest_of(fit: Identification) -> tuple[WeakDirection, ...]:
    """Return the directions of the parameters that the data see least; nothing if none can be."""
    try:
        return weakest_directions(fit.problem, fit.chosen, WEAKEST_COUNT)
    except np.linalg.LinAlgError:
        return ()


@one_blas_thread()
def bin_residuals(fit: Identification) -> list[BinnedResidual]:
    """Return the mean residual of every joint over its position, velocity and load.

    Residuals are those of the rows as the model has them, before what it lacks is allowed for.
    Over load they count in the direction of motion, as friction does.
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
            binned.append(BinnedResidual(quantity, j, *_scale_by_error(at[:, j], values[:, j])))
    return binned


def _scale_by_error(at: Float1D, residual: Float1D) -> tuple[Float1D, Float1D]:
    """Return where bins of samples are, and the mean of each over its standard error.

    The error is that of what scatters about the means, which may be correlated in time.
    """
    bins = min(max(at.size // MIN_BIN_SAMPLES, 2), MAX_RESIDUAL_BINS)
    parts = equal_parts(at, bins)
    mean, left = np.array([residual[part].mean() for part in parts]), residual.copy()
    for part, value in zip(parts, mean, strict=True):
        left[part] -= value
    worth = float(effective_rows(autocorrelation(left[:, None]))[0])
    variance = float((left**2).sum()) / max(at.size - bins, 1)
    error = max(np.sqrt(variance * bins / worth), np.finfo(float).tiny)
    return np.array([at[part].mean() for part in parts]), mean / error


@one_blas_thread()
def information_over_time(fit: Identification) -> InformationShares:
    """Return the share of the information on every parameter that stretches of the motion give."""
    stretches, noun = _stretches(fit)
    used = {name: use for name, use in stretches.items() if use.any()}
    shares = information_shares(fit.problem, weights_of(fit.chosen), list(used.values()))
    return InformationShares(tuple(used), noun, shares)


def _stretches(fit: Identification) -> tuple[dict[str, Bool1D], str]:
    """Return the samples of stretches by their names, and what a stretch is.

    Periods repeat one another, so that stretches are parts of a period, in all periods together.
    """
    times, period = fit.problem.times, fit.problem.period
    if period is None:
        windows = windows_of(fit)
        logs = len({window.group for window in windows}) > 1
        return {
            f"{f'{w.group}, ' if logs else ''}{w.low:.3g} to {w.high:.3g} s": is_within(
                times, [[w.low, w.high]]
            )
            for w in windows
        }, "a stretch of the motion"
    part = np.floor(np.mod(times, period) / period * MAX_WINDOWS)
    ends = np.linspace(0.0, period, MAX_WINDOWS + 1)
    named = {
        f"{ends[k]:.3g} to {ends[k + 1]:.3g} s": np.asarray(part == k) for k in range(MAX_WINDOWS)
    }
    return named, "a stretch of the period, in all periods"


@one_blas_thread()
def further_checks(fit: Identification) -> list[str]:
    """Return what further checks of a fit say; one that is not possible says nothing."""
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
    """Return what the model lacks, how much wider intervals are for it, and what no log says.

    Nothing of it looks at any truth.
    """
    found, gain_std, chosen = fit.discrepancy, fit.drive_gain_std, fit.chosen
    without = ", ".join(
        np.array(fit.problem_without_terms.joint_names)[~fit.problem_without_terms.measured_joints]
    )
    sentences = [
        f"No torque of {without} was recorded. Its rows are excluded, and parameters that only "
        f"they determine are not identified."
    ] * bool(without)
    if chosen.success and chosen.criterion == "restricted" and chosen.message:
        sentences.append(f"{chosen.message[0].upper()}{chosen.message[1:]}.")
    if found.notable:
        sentences.append(
            "The residuals are larger than noise: they contain the unmodeled torque of the table."
        )
    elif found.left_out is None and not found.repeats:
        sentences.append(
            "The residuals are consistent with noise: they depend on no speed, direction, load, "
            "position, time or lag of any joint."
        )
    if found.left_out is not None:
        sentences.append(
            "Functions of the joint state explain residuals but do not predict held-out blocks. "
            "The fit omits them; the intervals include their effect."
        )
    if found.repeats:
        sentences.append(
            "The remaining residual repeats with the period, as torque ripple or encoder errors "
            "do. The intervals treat such periods as one."
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
            f"The drive gains have a relative standard deviation of {gain_std:.2g}, as given; the "
            f"intervals include it."
        )
    else:
        sentences.append(
            "The drive gains are assumed exact. A common gain error scales every parameter and "
            "cannot be detected from a log. Give its standard deviation by --drive-gain-std."
        )
    return sentences + _bounds_found(fit)


def _bounds_found(fit: Identification) -> list[str]:
    """Say which constants of the model the log shows to be others, and what is at its bound."""
    sentences = [] if fit.eps is None else fit.eps.sentences()
    sentences += [] if fit.gravity is None else fit.gravity.sentences()
    zero = np.flatnonzero(fit.chosen.is_at_bound)
    intervals = fit.intervals() if zero.size else None
    if intervals is not None:
        sentences += [
            f"{intervals.names[k]} is at its lower bound of zero; upper limit "
            f"{intervals.upper[k]:.2g} "
            f"{unit_text(intervals.units[k])} (95 %)."
            for k in zero
        ]
    return sentences
