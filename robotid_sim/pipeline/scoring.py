"""Score a simulated study with the truth: estimates, preprocessing, closed loop."""

import hashlib

import numpy as np

from robotid_sim.arrays import Float1D, rms
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.reduction import cramer_rao, reduce_rows
from robotid_sim.excitation import CRITERIA, FAMILIES
from robotid_sim.excitation.design import excitation_quality
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.sensors import PROVENANCE_KEY
from robotid_sim.model import parameters
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build import Setup
from robotid_sim.pipeline.identification import Identification
from robotid_sim.pipeline.result import (
    ComparedPreprocessor,
    EstimateResult,
    MeasurementResult,
    ParameterResult,
    PredictionResult,
    RobotResult,
    TrajectoryResult,
    finite,
)
from robotid_sim.preprocess.adaptive import smoother_of
from robotid_sim.threads import one_blas_thread
from robotid_sim.trajectory.reference import Excitation
from robotid_sim.validation.prediction import (
    Prediction,
    compare_torque_filters,
    exact_problem,
    predict_all,
)


def score_estimate(
    estimate: Estimate, plant: Robot, prediction: Prediction | None, fit: Identification
) -> EstimateResult:
    """Compare one estimate with the truth, and its prediction of the validation log."""
    basis, problem = fit.basis, fit.problem
    true = basis.project(plant.parameters())
    size = rms(problem.unstack_rows(problem.y))
    is_chosen, ratio = estimate is fit.chosen, estimate.criterion_over_optimum
    nees = _nees(estimate, true) if estimate.success and estimate.unbiased else None
    errors = None if prediction is None else prediction.model_error_relative
    return EstimateResult(
        estimator=estimate.estimator,
        success=estimate.success,
        message=estimate.message,
        seconds=estimate.seconds,
        physically_consistent=bool(
            is_chosen and fit.consistent_robot is not None and fit.consistent_robot.exact
        ),
        torque_rms=estimate.torque_rms.tolist(),
        torque_rms_relative=(estimate.torque_rms / size).tolist(),
        fitness_over_ls=_fitness_over_least_squares(estimate, problem),
        criterion_over_optimum=None if ratio is None else finite(ratio),
        nees=nees,
        base_parameters=[
            ParameterResult(name=name, unit=unit, value=value, std=finite(std), true=truth)
            for name, unit, value, std, truth in zip(
                estimate.names, estimate.units, estimate.beta, estimate.std, true, strict=True
            )
        ],
        parameters=_full_parameters(plant, fit) if is_chosen else [],
        validation=None
        if prediction is None
        else PredictionResult(
            torque_rms=prediction.torque_rms.tolist(),
            torque_rms_relative=prediction.torque_rms_relative.tolist(),
            noise_std=estimate.noise_std.tolist(),
            model_error_relative=[] if errors is None else [finite(float(e)) for e in errors],
        ),
    )


@one_blas_thread()
def score_estimates(plant: Robot, unseen: Log, fit: Identification) -> list[EstimateResult]:
    """Compare the estimates with the truth, and their predictions of the validation log.

    Failed estimates have no prediction.
    """
    betas = [estimate.beta for estimate in fit.estimates if estimate.success]
    motion = fit.preprocessor(unseen, fit.nominal)
    predictions = iter(predict_all(betas, unseen, motion, fit.nominal, fit.basis))
    return [
        score_estimate(estimate, plant, next(predictions) if estimate.success else None, fit)
        for estimate in fit.estimates
    ]


def _full_parameters(plant: Robot, fit: Identification) -> list[ParameterResult]:
    if fit.consistent_robot is None:
        return []
    units = parameters.units(plant.prismatic)
    values, true = fit.consistent_robot.robot.parameters(), plant.parameters()
    rows = zip(plant.parameter_names, units, values, true, strict=True)
    return [ParameterResult(name=n, unit=u, value=v, std=None, true=t) for n, u, v, t in rows]


def _nees(estimate: Estimate, true: Float1D) -> float | None:
    """Compute the normalized estimation error squared per parameter; 1 for a correct covariance."""
    if estimate.cov is None:
        return None
    error = estimate.beta - true
    try:
        return finite(float(error @ np.linalg.solve(estimate.cov, error)) / len(error))
    except np.linalg.LinAlgError:
        return None


def _fitness_over_least_squares(estimate: Estimate, problem: LinearProblem) -> float | None:
    """Compute the weighted squared error over its unconstrained minimum."""
    if not estimate.success or estimate.criterion != "squares":
        return None
    weights = 1.0 / estimate.noise_std if estimate.weights is None else estimate.weights
    reduction = reduce_rows(problem)
    optimum, _ = reduction.solve(weights)
    value, minimum = (
        float(weights**2 @ reduction.compute_squared_residuals(beta))
        for beta in (estimate.beta, optimum)
    )
    return value / minimum


@one_blas_thread()
def compare_preprocessing(
    plant: Robot, nominal: Robot, log: Log, fit: Identification
) -> list[ComparedPreprocessor]:
    """Compare the torque filters, scored with the truth."""
    smoother, basis = smoother_of(fit.preprocessor), fit.basis
    if smoother is None:
        return []
    assert log.truth is not None
    noise = np.std(log.tau_meas - log.truth.tau, axis=0)
    noisy = noise > 0.0  # without noise there is no Cramér-Rao bound
    exact = exact_problem(log, nominal, basis, 0.0)
    scores = compare_torque_filters(
        log,
        nominal,
        basis,
        basis.project(plant.parameters()),
        cramer_rao(exact, np.where(noisy, noise, 1.0)),
        WeightedLeastSquares(),
        smoother.rows,
        smoother,
        (fit.motion, fit.problem),
    )
    return [
        ComparedPreprocessor(
            name=score.name,
            torque_error_rms=score.torque_error.tolist(),
            parameter_error_over_bound=finite(score.parameter_error) if noisy.all() else None,
        )
        for score in scores
    ]


def describe_robot(robot: Robot) -> RobotResult:
    """Describe the robot for the result."""
    document = robot.document
    return RobotResult(
        name=robot.name,
        dof=robot.dof,
        joint_names=list(robot.joint_names),
        joint_units=list(robot.joint_units),
        urdf_sha256=None if document is None else hashlib.sha256(document.xml).hexdigest(),
    )


def describe_trajectory(setup: Setup, trajectory: Excitation) -> TrajectoryResult:
    """Describe the trajectory for the result.

    Use of the limits is by the nominal model and, for the torque, also by the plant.
    """
    nominal = excitation_quality(setup.nominal, setup.basis, trajectory)
    true = excitation_quality(setup.cell.plant, setup.basis, trajectory)
    return TrajectoryResult(
        family=FAMILIES.name_of(setup.excitation.family),
        criterion=CRITERIA.name_of(setup.excitation.criterion),
        base_set=list(setup.basis.names),
        cond_raw=nominal.cond_raw,
        cond_normalized=nominal.cond_normalized,
        duration_s=trajectory.duration - trajectory.start,
        max_position_ratio=nominal.position_ratio,
        max_velocity_ratio=nominal.velocity_ratio,
        max_acceleration_ratio=nominal.acceleration_ratio,
        max_torque_ratio_nominal=nominal.torque_ratio,
        max_torque_ratio_true=true.torque_ratio,
    )


def describe_measurement(log: Log, preset: str | None = None) -> MeasurementResult:
    """Describe the log for the result; `preset` is the name of a set of sensors.

    Noise is the difference of samples and truth, unknown without truth.
    """
    torque: list[float | None] = [None] * log.dof
    encoder: list[float | None] = [None] * log.dof
    if log.truth is not None:
        torque = [float(v) for v in np.std(log.tau_meas - log.truth.tau, axis=0)]
        encoder = [float(v) for v in np.std(log.q - log.truth.q, axis=0)]
    return MeasurementResult(
        preset=preset or ("custom" if log.provenance.get(PROVENANCE_KEY) else "unknown"),
        samples=log.t.size,
        dt_s=log.dt,
        engine=str(log.provenance.get("engine", "unknown")),
        feedback=str(log.provenance.get("feedback", "unknown")),
        torque_noise_std=torque,
        encoder_noise_std=encoder,
    )
