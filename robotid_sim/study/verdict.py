"""The verdict of a virtual study: named checks, each a value beside its limit."""

from pathlib import Path

import numpy as np

from robotid_sim.diagnostics.excited_directions import excited_directions
from robotid_sim.diagnostics.suspect_friction import suspect_friction
from robotid_sim.dynamics.dynamics import rigid_body_torque
from robotid_sim.errors import RobotIdError
from robotid_sim.excitation.design import default_path
from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.study.config import StudyConfig, ValidationConfig
from robotid_sim.study.result import CheckResult, EstimateResult, VerdictResult, finite
from robotid_sim.study.robots import stage_rng
from robotid_sim.study.stages import Identification, sensors_of
from robotid_sim.validation.closed_loop import ClosedLoop
from robotid_sim.validation.noise import residual_noise

RELOAD_TOLERANCE = 1e-9
"""Largest torque difference after a round trip through the file, over the largest torque."""

RATIO_SLACK = 1e-9
"""Rounding allowed in ratios that may reach their limit exactly."""


def verdict(
    plant: Robot,
    nominal: Robot,
    log: Log,
    unseen: Log,
    found: Identification,
    estimates: list[EstimateResult],
    identified_urdf: Path | None,
    loop: ClosedLoop | None,
    config: StudyConfig,
) -> VerdictResult:
    """Return the verdict of a virtual study.

    Parameters
    ----------
    plant, nominal : Robot
        The truth and what was known of it.
    log, unseen : Log
        Logs with truth: of the identification and of the unseen trajectory.
    found : Identification
        What the identify stage found in `log`.
    estimates : list of EstimateResult
        Its estimates, scored.
    identified_urdf : Path, optional
        The written model; None if none could be written.
    loop : ClosedLoop, optional
        The closed-loop runs; None if there was no model to run.
    config : StudyConfig
        Limits of the verdict, sensors, seed.
    """
    limits = config.validation
    chosen = next(e for e in estimates if e.estimator == found.chosen.estimator)
    noisy = bool(sensors_of(config))  # without noise no residual and no error can be explained
    checks = [
        _limits_check(plant, [log, unseen]),
        _rank_check(found, nominal),
        _reload_check(found, identified_urdf),
        _model_error_check(chosen, limits.model_error),
        *([_noise_check(plant, nominal, log, found, config)] if noisy else []),
        _saturation_check([log, unseen]),
        *_honesty_checks(estimates, limits, noisy=noisy),
        *(loop_checks(plant, loop, limits) if config.control.enabled else []),
    ]
    return VerdictResult(passed=all(check.passed for check in checks), checks=checks)


def _noise_check(
    plant: Robot, nominal: Robot, log: Log, found: Identification, config: StudyConfig
) -> CheckResult:
    noise = residual_noise(
        plant,
        nominal,
        log,
        sensors_of(config),
        found.preprocessor,
        found.basis,
        found.estimator,
        [stage_rng(config.seed, f"replicate {k}") for k in range(config.validation.replicates)],
    )
    limit = config.validation.noise_ratio
    check = _at_most("residual_over_expected_noise", float(noise.ratio.max()), limit)
    if check.passed or not found.chosen.success:
        return check
    suspicion = suspect_friction(found.motion, found.nominal, found.basis)
    return check.model_copy(update={"message": " ".join(suspicion.sentences())})


def loop_checks(
    plant: Robot, loop: ClosedLoop | None, limits: ValidationConfig
) -> list[CheckResult]:
    """Return the checks of the closed loop: tracking gap and torque mismatch left, failures."""
    units = plant.joint_units
    gap = None if loop is None else loop.gap_left(units)
    mismatch = None if loop is None else loop.mismatch_left(units)
    failed = None if loop is None else float(len(loop.failures))
    completed = _at_most("failed_loops", failed, 0.0)
    if loop is not None and not loop.laps:
        return [completed]  # steps start with an error that no model can help
    return [
        _at_most("tracking_gap_left", gap, limits.gap),
        _at_most("torque_mismatch_left", mismatch, limits.mismatch),
        completed,
    ]


def _honesty_checks(
    estimates: list[EstimateResult], limits: ValidationConfig, *, noisy: bool
) -> list[CheckResult]:
    """Return checks of the stated accuracy and of the consistent fit, where those estimates ran."""
    checks = []
    for estimate in estimates:
        if estimate.estimator == "wls" and noisy:
            nees = estimate.nees
            value = None if not nees else max(nees, 1.0 / nees)
            checks.append(_at_most("nees_in_band", value, limits.nees))
        if estimate.estimator == "consistent":
            fitness = estimate.fitness_over_ls
            checks.append(
                _at_most("consistent_fit_over_least_squares", fitness, limits.consistent_fitness)
            )
    return checks


def _limits_check(plant: Robot, logs: list[Log]) -> CheckResult:
    limits, worst = plant.limits, 0.0
    for log in logs:
        assert log.truth is not None
        truth = log.truth
        worst = max(
            worst,
            float((np.abs(truth.q - limits.middle) / limits.half_range).max()),
            float((np.abs(truth.dq) / limits.velocity).max()),
            float((np.abs(truth.ddq) / limits.acceleration).max()),
        )
    return _at_most("limits_respected", worst, 1.0 + RATIO_SLACK)


def _rank_check(found: Identification, nominal: Robot) -> CheckResult:
    rank = found.basis.rank
    seen = 0
    if found.chosen.success:
        seen = excited_directions(found.problem, found.chosen.noise_std, nominal)
    return CheckResult(name="rank_full", passed=seen == rank, value=float(seen), limit=float(rank))


def _reload_check(found: Identification, path: Path | None) -> CheckResult:
    """Check that the written URDF is consistent and gives the identified robot's torques."""
    name, difference = "consistent_urdf_reloaded", None
    if path is not None and found.lift is not None:
        try:
            difference = _reload_difference(found.lift.robot, Robot.from_urdf(path))
        except RobotIdError:
            difference = None
    return _at_most(name, difference, RELOAD_TOLERANCE)


def _reload_difference(robot: Robot, reloaded: Robot) -> float:
    motion = default_path(robot)
    reference = motion(np.linspace(0.0, motion.duration, 200))
    state = (reference.q, reference.dq, reference.ddq)
    want = rigid_body_torque(robot, *state)
    return float(np.abs(rigid_body_torque(reloaded, *state) - want).max() / np.abs(want).max())


def _model_error_check(chosen: EstimateResult, limit: float) -> CheckResult:
    errors = [] if chosen.validation is None else chosen.validation.model_error_relative
    known = [e for e in errors if e is not None]
    worst = max(known) if known and len(known) == len(errors) else None
    return _at_most("model_error_unseen", worst, limit)


def _saturation_check(logs: list[Log]) -> CheckResult:
    clipped = 0
    for log in logs:
        assert log.truth is not None
        assert log.tau_cmd is not None
        clipped += int((log.truth.tau != log.tau_cmd).any(axis=1).sum())
    return _at_most("no_saturation", float(clipped), 0.0)


def _at_most(name: str, value: float | None, limit: float) -> CheckResult:
    known = None if value is None else finite(value)
    return CheckResult(
        name=name, passed=known is not None and known <= limit, value=known, limit=limit
    )
