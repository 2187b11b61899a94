"""Scoring a virtual study against the truth: the estimates' errors and the verdict."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.dynamics import rigid_body_torque
from robotid_sim.errors import RobotIdError
from robotid_sim.estimation import Estimate
from robotid_sim.measurement import Log
from robotid_sim.model import parameters
from robotid_sim.model.robot import Robot
from robotid_sim.study.config import StudyConfig
from robotid_sim.study.result import (
    CheckResult,
    EstimateResult,
    ParameterResult,
    PredictionResult,
    VerdictResult,
)
from robotid_sim.study.robots import stage_rng
from robotid_sim.study.stages import Identification, sensors_of
from robotid_sim.trajectory.design import default_path
from robotid_sim.validation.excitation import excited_directions
from robotid_sim.validation.noise import ResidualNoise, residual_noise
from robotid_sim.validation.prediction import predict, rms

RELOAD_TOLERANCE = 1e-9
"""Largest torque difference after a round trip through the file, over the largest torque."""

RATIO_SLACK = 1e-9
"""Rounding allowed in ratios that may reach their limit exactly."""


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """An identification beside the truth."""

    noise: ResidualNoise
    """Residuals beside what sensor noise explains."""
    estimates: list[EstimateResult]
    verdict: VerdictResult


def score(
    plant: Robot,
    nominal: Robot,
    log: Log,
    unseen: Log,
    found: Identification,
    identified_urdf: Path | None,
    config: StudyConfig,
) -> Scores:
    """Return the estimates' errors and the verdict of a virtual study.

    Parameters
    ----------
    plant, nominal : Robot
        The truth and what was known of it.
    log, unseen : Log
        Logs with truth: of the identification and of the unseen trajectory.
    found : Identification
        What the identify stage found in `log`.
    identified_urdf : Path, optional
        The written model; None if none could be written.
    config : StudyConfig
        Limits of the verdict, sensors, seed.
    """
    rngs = [stage_rng(config.seed, f"replicate {k}") for k in range(config.validation.replicates)]
    noise = residual_noise(
        plant,
        nominal,
        log,
        sensors_of(config),
        found.preprocessor,
        found.basis,
        found.estimator,
        rngs,
    )
    estimates = [
        score_estimate(estimate, plant, nominal, unseen, found) for estimate in found.estimates
    ]
    chosen = next(e for e in estimates if e.estimator == found.chosen.estimator)
    checks = [
        _limits_check(plant, [log, unseen]),
        _rank_check(found, nominal),
        _reload_check(found, identified_urdf),
        _model_error_check(chosen, config.validation.model_error),
        _at_most(
            "residual_over_expected_noise",
            float(noise.ratio.max()),
            config.validation.noise_ratio,
        ),
        _saturation_check([log, unseen]),
    ]
    verdict = VerdictResult(passed=all(check.passed for check in checks), checks=checks)
    return Scores(noise, estimates, verdict)


def score_estimate(
    estimate: Estimate, plant: Robot, nominal: Robot, unseen: Log, found: Identification
) -> EstimateResult:
    """Return one estimate beside the truth and tried on the unseen log."""
    basis, problem = found.basis, found.problem
    true = basis.of(plant.parameters())
    size = rms(problem.by_joint(problem.y))
    is_chosen = estimate is found.chosen
    nees, prediction = None, None
    if estimate.success:
        nees = _nees(estimate, true)
        prediction = predict(estimate.beta, unseen, nominal, basis, found.preprocessor)
    return EstimateResult(
        estimator=estimate.estimator,
        success=estimate.success,
        message=estimate.message,
        seconds=estimate.seconds,
        physically_consistent=bool(is_chosen and found.lift is not None and found.lift.exact),
        torque_rms=estimate.torque_rms.tolist(),
        torque_rms_relative=(estimate.torque_rms / size).tolist(),
        fitness_over_ls=1.0 if estimate.success else None,
        criterion_over_optimum=None,
        nees=nees,
        base_parameters=[
            ParameterResult(name=name, unit=unit, value=value, std=_number(std), true=truth)
            for name, unit, value, std, truth in zip(
                estimate.names, estimate.units, estimate.beta, estimate.std, true, strict=True
            )
        ],
        parameters=_full_parameters(plant, found) if is_chosen else [],
        validation=None
        if prediction is None
        else PredictionResult(
            torque_rms=prediction.torque_rms.tolist(),
            torque_rms_relative=prediction.torque_rms_relative.tolist(),
            noise_std=estimate.noise_std.tolist(),
            model_error_relative=_numbers(prediction.model_error_relative),
        ),
    )


def _full_parameters(plant: Robot, found: Identification) -> list[ParameterResult]:
    if found.lift is None:
        return []
    units = parameters.units(plant.prismatic)
    values, true = found.lift.robot.parameters(), plant.parameters()
    rows = zip(plant.parameter_names, units, values, true, strict=True)
    return [ParameterResult(name=n, unit=u, value=v, std=None, true=t) for n, u, v, t in rows]


def _nees(estimate: Estimate, true: Float1D) -> float | None:
    """Return the normalized estimation error squared per dimension; 1 for an honest covariance."""
    if estimate.cov is None:
        return None
    error = estimate.beta - true
    try:
        return _number(float(error @ np.linalg.solve(estimate.cov, error)) / len(error))
    except np.linalg.LinAlgError:
        return None


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
    known = None if value is None else _number(value)
    return CheckResult(
        name=name, passed=known is not None and known <= limit, value=known, limit=limit
    )


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _numbers(values: Float1D | None) -> list[float | None]:
    return [] if values is None else [_number(float(v)) for v in values]
