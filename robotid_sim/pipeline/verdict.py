"""The verdict of a simulated study: named checks, each with value and limit."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from scipy.ndimage import maximum_filter1d

from robotid_sim.arrays import Bool1D, Bool2D
from robotid_sim.diagnostics.cause import Diagnosis
from robotid_sim.diagnostics.directions import count_excited_directions
from robotid_sim.diagnostics.transition_velocity import check_transition_velocity
from robotid_sim.dynamics.base_parameters import light_joints
from robotid_sim.dynamics.dynamics import rigid_body_torque
from robotid_sim.errors import RobotIdError
from robotid_sim.estimation.consistent import Consistent
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.excitation.design import default_path
from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build import Setup
from robotid_sim.pipeline.config_tables import VerdictLimits
from robotid_sim.pipeline.identification import Identification
from robotid_sim.pipeline.result import CheckResult, ContactResult, EstimateResult, VerdictResult
from robotid_sim.preprocess.adaptive import Adaptive
from robotid_sim.preprocess.faults import find_lost_samples
from robotid_sim.threads import one_blas_thread
from robotid_sim.validation.closed_loop import ClosedLoop
from robotid_sim.validation.fit_tests import (
    ResidualNoise,
    compute_constraint_cost,
    compute_constraint_limit,
    nees_range,
    residual_limit,
    residual_noise,
)

MASKED_KINDS = {"lost-samples", "torque-outliers", "position-outliers"}
"""Causes that the adaptive preprocessor excludes from the rows."""

MAX_LOST_SHARE = 0.02
"""Largest share of lost samples that can be corrected by exclusion: above it, interpolated
positions and model torques cause larger errors than the lost samples."""

RELOAD_TOLERANCE = 1e-9
"""Largest torque difference after a round trip through the file, over the largest torque."""

AVERAGING_TIME = 0.005
"""Time over which accelerations are averaged [s]: at a reversal, friction accelerates a light joint
within a sub-step, so that the acceleration depends on the sub-step."""

BREAKAWAY_RATIO = 3.0
"""Velocity over `eps` below which friction changes with velocity."""

STANDSTILL_TIME = 0.02
"""Averaging time of accelerations near standstill [s], and its neighborhood: the time until a joint
follows its command again after breakaway."""

RATIO_TOLERANCE = 1e-9
"""Rounding error of ratios that may reach their limit exactly."""


@one_blas_thread()
def verdict(
    setup: Setup,
    log: Log,
    unseen: Log,
    fit: Identification,
    diagnosis: Diagnosis | None,
    estimates: list[EstimateResult],
    identified_urdf: Path | None,
    loop: ClosedLoop | None,
    touching: Sequence[ContactResult],
    noise: ResidualNoise | None = None,
) -> VerdictResult:
    """Judge a simulated study.

    Both logs contain the truth. `identified_urdf` and `loop` are None without an identified model;
    `estimates` are the scored estimates of `fit`; `touching` are the link contacts on the motions;
    `noise` is the result of `prepare_noise_replicates`, if it is available.
    """
    limits, plant = setup.limits, setup.cell.plant
    chosen = next(e for e in estimates if e.estimator == fit.chosen.estimator)
    noisy = bool(setup.cell.sensors)  # without noise, residuals and errors have no reference value
    contact = CheckResult.from_limit("no_link_contact", float(len(touching)), 0.0)
    contact = contact.model_copy(update={"message": "; ".join(map(str, touching))})
    clipped = sum(int(find_saturation(each).any(axis=1).sum()) for each in (log, unseen))
    errors = [] if chosen.validation is None else chosen.validation.model_error_relative
    numbers = [e for e in errors if e is not None]
    worst = max(numbers) if numbers and len(numbers) == len(errors) else None
    checks = [
        _check_limits(plant, [log, unseen]),
        *([contact] if setup.excitation.has_clearance else []),
        _check_rank(fit),
        _check_reload(fit, identified_urdf),
        CheckResult.from_limit("model_predicts_validation_motion", worst, limits.model_error),
        *([_check_residual(setup, log, fit, noise)] if noisy else []),
        *([] if diagnosis is None else [_check_causes(log, diagnosis, fit)]),
        CheckResult.from_limit("no_torque_saturation", float(clipped), 0.0),
        *_check_accuracy(setup, fit, estimates),
        *(loop_checks(plant, loop, limits) if setup.comparison is not None else []),
    ]
    return VerdictResult(passed=all(check.passed for check in checks), checks=checks)


def prepare_noise_replicates(
    setup: Setup, log: Log, fit: Identification
) -> Callable[[], ResidualNoise]:
    """Return a function that computes the residuals expected from the sensor noise."""
    return partial(
        residual_noise,
        setup.cell.plant,
        fit.nominal,
        log,
        setup.cell.sensors,
        fit.preprocessor,
        fit.motion,
        fit.problem_without_terms,
        fit.estimator,
        [setup.streams(f"replicate {k}") for k in range(setup.limits.replicates)],
    )


def _check_residual(
    setup: Setup, log: Log, fit: Identification, noise: ResidualNoise | None
) -> CheckResult:
    noise = noise or prepare_noise_replicates(setup, log, fit)()
    limit = residual_limit(fit.problem_without_terms, noise, setup.limits.false_alarm)
    check = CheckResult.from_limit("residual_matches_noise", float(noise.ratio.max()), limit)
    if check.passed or not fit.chosen.success:
        return check
    suspicion = check_transition_velocity(fit.motion, fit.nominal, fit.basis)
    return check.model_copy(update={"message": " ".join(suspicion.sentences())})


def _check_causes(log: Log, diagnosis: Diagnosis, fit: Identification) -> CheckResult:
    """Check that log and model have no faults except those that the preprocessor corrects."""
    corrected: set[str] = set()
    if isinstance(fit.preprocessor, Adaptive):
        corrected |= MASKED_KINDS if fit.preprocessor.outliers else set()
        corrected |= {"torque-delay"} if fit.preprocessor.delay else set()
        corrected -= {"lost-samples"} if find_lost_samples(log).mean() > MAX_LOST_SHARE else set()
    causes = [cause for cause in diagnosis.causes if cause.kind not in corrected]
    check = CheckResult.from_limit("no_fault_found", float(len(causes)), 0.0)
    return check.model_copy(update={"message": " ".join(cause.sentence for cause in causes)})


def loop_checks(plant: Robot, loop: ClosedLoop | None, limits: VerdictLimits) -> list[CheckResult]:
    """Check the closed loop: remaining tracking gap and torque mismatch, failures.

    A controller without a model has no tracking gap.
    """
    units = plant.joint_units
    gap = None if loop is None else loop.gap_left(units)
    mismatch = None if loop is None else loop.mismatch_left(units)
    failed = None if loop is None else float(len(loop.failures))
    completed = CheckResult.from_limit("all_closed_loops_completed", failed, 0.0)
    if loop is not None and not loop.laps:
        return [completed]  # the initial error of a step does not depend on the model
    checks = [CheckResult.from_limit("torque_error_reduced", mismatch, limits.mismatch), completed]
    if loop is None or loop.is_sensitive_to_model(units):
        checks.insert(0, CheckResult.from_limit("tracking_gap_closed", gap, limits.gap))
    return checks


def _check_accuracy(
    setup: Setup, fit: Identification, estimates: list[EstimateResult]
) -> list[CheckResult]:
    """Check the covariance and the consistent fit, if their estimators were run."""
    false_alarm, checks = setup.limits.false_alarm, []
    for estimate, scored in zip(fit.estimates, estimates, strict=True):
        estimator = fit.estimators[estimate.estimator]
        if isinstance(estimator, WeightedLeastSquares) and setup.cell.sensors:
            lower, upper = nees_range(fit.problem, estimate, false_alarm)
            checks.append(
                CheckResult.from_range("covariance_matches_error", scored.nees, lower, upper)
            )
        if isinstance(estimator, Consistent):
            limit = compute_constraint_limit(fit.problem, false_alarm)
            free = WeightedLeastSquares().fit(fit.problem, np.random.default_rng(0))
            has_both = estimate.success and free.success
            cost = compute_constraint_cost(fit.problem, estimate, free) if has_both else None
            checks.append(
                CheckResult.from_limit("consistent_fit_matches_least_squares", cost, limit)
            )
    return checks


def _check_limits(plant: Robot, logs: list[Log]) -> CheckResult:
    """Check the motion from the first commanded sample on; before it the joints move freely."""
    after = max(limits_used(plant, log, log.t >= 0.0) for log in logs)
    before = max(limits_used(plant, log, log.t < 0.0) for log in logs)
    check = CheckResult.from_limit("motion_within_limits", after, 1.0 + RATIO_TOLERANCE)
    notes = [] if check.passed else [f"{text}." for text in light_joints(plant)]
    if before > check.limit:
        notes += [
            f"(before the first commanded sample, when the controller takes over: {before:.3g})"
        ]
    return check.model_copy(update={"message": " ".join(notes)})


def limits_used(plant: Robot, log: Log, when: Bool1D) -> float:
    """Compute the largest use of a limit by the true motion of a log at the samples `when`.

    Accelerations near standstill, where friction changes, are averaged over a longer time.
    """
    limits, truth = plant.limits, log.truth
    assert truth is not None
    shares = (
        np.abs(truth.q - limits.middle) / limits.half_range,
        np.abs(truth.dq) / limits.velocity,
    )
    sticks = np.abs(truth.dq) < BREAKAWAY_RATIO * plant.eps
    near_standstill = maximum_filter1d(sticks, 2 * round(STANDSTILL_TIME / log.dt) + 1, axis=0)
    maxima = [float(share[when].max(initial=0.0)) for share in shares]
    for length, anywhere in ((AVERAGING_TIME, False), (STANDSTILL_TIME, True)):
        span = max(1, round(length / log.dt))
        mean = np.abs(truth.dq[span:] - truth.dq[:-span]) / (span * log.dt) / limits.acceleration
        is_moving = ~(near_standstill[span:] | near_standstill[:-span])
        counts = when[:-span, None] & (anywhere | is_moving)
        maxima.append(float(mean[counts].max(initial=0.0)))
    return max(maxima)


def _check_rank(fit: Identification) -> CheckResult:
    rank = fit.basis.rank
    rank_of_fit = 0
    if fit.chosen.success:
        rank_of_fit = count_excited_directions(fit.problem, fit.chosen.noise_std, fit.nominal)
    return CheckResult(
        name="all_base_parameters_excited",
        passed=rank_of_fit == rank,
        value=float(rank_of_fit),
        limit=float(rank),
    )


def _check_reload(fit: Identification, path: Path | None) -> CheckResult:
    """Check that the written URDF is consistent and has the torques of the identified robot."""
    name, difference = "written_urdf_matches_model", None
    if path is not None and fit.consistent_robot is not None:
        try:
            robot = fit.consistent_robot.robot
            motion = default_path(robot)
            reference = motion(np.linspace(0.0, motion.duration, 200))
            state = (reference.q, reference.dq, reference.ddq)
            torque = rigid_body_torque(robot, *state)
            error = np.abs(rigid_body_torque(Robot.from_urdf(path), *state) - torque).max()
            difference = float(error / np.abs(torque).max())
        except RobotIdError:
            difference = None
    return CheckResult.from_limit(name, difference, RELOAD_TOLERANCE)


def find_saturation(log: Log) -> Bool2D:
    """Find samples of a simulated log whose torque differs from the command, shape (N, n)."""
    assert log.truth is not None
    assert log.tau_cmd is not None
    return np.asarray(log.truth.tau != log.tau_cmd)
