"""From logs to the rows of a fit: preprocessing, constants of the model, joint terms."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from robotid_sim.arrays import Bool2D, Float2D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.dynamics.term_torques import standard_torque
from robotid_sim.estimation.friction_fit import (
    FrictionFit,
    eps_errors,
    estimate_eps,
    raise_row_rate,
    revise_eps,
    set_eps,
)
from robotid_sim.estimation.gravity_fit import (
    GravityFit,
    gravity_errors,
    refine_gravity,
    revise_gravity,
)
from robotid_sim.estimation.hold_out import predicts_better
from robotid_sim.estimation.least_squares import WeightedLeastSquares, weights_by_log
from robotid_sim.estimation.problem import LinearProblem, build_problem
from robotid_sim.estimation.recording import RecordedLog
from robotid_sim.estimation.structure import EMPTY_STRUCTURE, Structure
from robotid_sim.estimation.term_fit import refit_terms
from robotid_sim.measurement.joined_motion import JoinedRowFilter, join_motions
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.fit_plan import FitPlan
from robotid_sim.preprocess.adaptive import SHARED, Adaptive
from robotid_sim.preprocess.errors_in_variables import ErrorsInVariables
from robotid_sim.preprocess.faults import find_faults
from robotid_sim.preprocess.periods import periods_of
from robotid_sim.preprocess.preprocessor import Preprocessor, motion_of_log
from robotid_sim.preprocess.rts import likelihood_corner


@dataclass(frozen=True, slots=True, eq=False)
class RevisedModel:
    """The model of a fit with constants estimated from logs, and preprocessors tuned with it."""

    preprocessors: tuple[Preprocessor, ...]
    """Preprocessors, each tuned to its log."""
    nominal: Robot
    basis: BaseParameters
    eps_fit: FrictionFit | None = None
    """Estimated transition velocities; None if the nominal ones are used."""
    gravity_fit: GravityFit | None = None
    """Estimated gravity; None if the nominal one is used."""

    def errors(self, rows: LinearProblem, motion: Motion) -> Float2D | None:
        """Compute the effect of one standard deviation of each constant on torque, shape (N n, k).

        None without estimated constants.
        """
        estimate = WeightedLeastSquares().fit(rows)
        if not estimate.success or (self.eps_fit is None and self.gravity_fit is None):
            return None
        beta, columns = estimate.beta, []
        if self.eps_fit is not None:
            columns.append(eps_errors(self.eps_fit, rows, motion, beta))
        if self.gravity_fit is not None:
            columns.append(gravity_errors(self.gravity_fit, rows, motion, beta))
        return np.hstack(columns)


def revise_model(
    logs: Sequence[Log],
    preprocessors: tuple[Preprocessor, ...],
    nominal: Robot,
    basis: BaseParameters,
    plan: FitPlan,
) -> RevisedModel:
    """Estimate the constants of a model that logs determine, if requested by the plan.

    The preprocessors are tuned to every log with the nominal model; its constants are kept where
    the logs do not contradict them.
    """
    model = RevisedModel(preprocessors, nominal, basis)
    if not plan.estimate_eps and not plan.estimate_gravity:
        return model
    smooth = join_motions(
        motions_of(logs, [use_positions(each) for each in preprocessors], nominal)
    )
    if plan.estimate_eps:
        model = _revise_eps(model, logs, smooth, plan)
    if not plan.estimate_gravity:
        return model
    fit = revise_gravity(smooth, model.nominal, basis)
    if fit is None:
        return model
    retuned = retune(model, logs, fit.robot, plan)
    fit = refine_gravity(fit, join_motions(motions_of(logs, retuned, fit.robot)))
    return replace(
        model, preprocessors=retuned, nominal=fit.robot, basis=fit.basis, gravity_fit=fit
    )


def _revise_eps(
    model: RevisedModel, logs: Sequence[Log], smooth: Motion, plan: FitPlan
) -> RevisedModel:
    """Revise the transition velocities; keep those that improve two predictions.

    One prediction uses the smoothed motion, the other the motion of the retuned preprocessors.
    """
    nominal, basis, fine_motion = model.nominal, model.basis, raise_row_rate(smooth)
    fit = revise_eps(fine_motion, nominal, basis)
    while fit is not None:
        robot = set_eps(nominal, fit.eps)
        retuned = retune(model, logs, robot, plan)
        before = join_motions(motions_of(logs, model.preprocessors, nominal))
        after = join_motions(motions_of(logs, retuned, robot))
        problems = build_problem(before, nominal, basis), build_problem(after, robot, basis)
        identifiable = np.array(fit.identifiable)
        is_better = predicts_better(*problems) & identifiable
        if (is_better == identifiable).all():
            return replace(model, preprocessors=retuned, nominal=robot, eps_fit=fit)
        if not is_better.any():
            break
        fit = estimate_eps(fine_motion, nominal, basis, joints=np.flatnonzero(is_better))
    return model


def retune(
    model: RevisedModel, logs: Sequence[Log], nominal: Robot, plan: FitPlan
) -> tuple[Preprocessor, ...]:
    """Tune the preprocessor of a plan to every log with the model `nominal`, for equal rows."""
    copies = [copy_rows(plan.preprocessor, each) for each in model.preprocessors]
    return tuple(each.tune(log, nominal) for each, log in zip(copies, logs, strict=True))


def copy_rows(preprocessor: Preprocessor, tuned: Preprocessor) -> Preprocessor:
    """Return an untuned preprocessor with the rows of a tuned one."""
    if isinstance(preprocessor, Adaptive) and isinstance(tuned, Adaptive):
        return replace(preprocessor, rows=tuned.rows, low_pass=SHARED)
    return preprocessor


def use_positions(preprocessor: Preprocessor) -> Preprocessor:
    """Return the preprocessor in the form that uses positions only, if it has one."""
    if isinstance(preprocessor, Adaptive):
        return replace(preprocessor, method="rts")
    return preprocessor


def motions_of(
    logs: Sequence[Log], preprocessors: Sequence[Preprocessor], nominal: Robot
) -> list[Motion]:
    """Return the motion of every log."""
    pairs = zip(preprocessors, logs, strict=True)
    return [motion_of_log(each, log, nominal) for each, log in pairs]


MIN_NOISE_RATIO = 1e-12
"""Minimum noise of positions over the largest position."""


def recordings_of(
    logs: Sequence[Log],
    preprocessors: Sequence[Preprocessor],
    motions: Sequence[Motion],
    robot: Robot,
) -> tuple[RecordedLog, ...]:
    """Return the recordings of all logs, with the faults and delays from the preprocessors.

    Preprocessors must be tuned, and the motions computed by them. Torques of payload and joint
    terms of the robot are subtracted. There are no recordings if a joint torque is missing.
    """
    if not all(log.torque_measured.all() for log in logs):
        return ()
    each = zip(logs, preprocessors, motions, strict=True)
    return tuple(
        make_recording(log, preprocessor, motion, robot) for log, preprocessor, motion in each
    )


def make_recording(
    log: Log, preprocessor: Preprocessor, motion: Motion, robot: Robot
) -> RecordedLog:
    """Return the recording of a log; see `recordings_of`."""
    is_valid: Bool2D = np.ones(log.q.shape, dtype=bool)
    noise_source: Preprocessor = preprocessor
    if isinstance(preprocessor, Adaptive):
        noise_source = preprocessor.errors_in_variables
        if preprocessor.outliers:
            faults = find_faults(log, preprocessor.outliers)
            is_valid = ~(faults.position | faults.lost[:, None])
        log, _ = preprocessor.prepare(log, robot)
    tau = standard_torque(robot, motion.q, motion.dq, motion.ddq, log.tau_meas)
    # Assign every torque to the simulation step, from a position to the next, in which it acts;
    # `lead` is the remaining time offset. Torques with their own times are interpolated to the
    # middle of steps.
    if log.torque_times is None:
        delay = log.torque_time_offset / log.dt - 0.5
        shift = round(delay)
        tau = tau[np.clip(np.arange(len(tau)) - shift, 0, len(tau) - 1)]
        lead = (shift - delay) * log.dt
    else:
        middle, lead = log.t + 0.5 * log.dt, 0.0
        tau = np.stack([np.interp(middle, log.action_times, x) for x in tau.T], axis=1)
    selection = slice(None) if motion.row_filter is None else motion.row_filter.sample_slice
    if isinstance(noise_source, ErrorsInVariables) and noise_source.noise is not None:
        noise = noise_source.noise.position
    else:
        noise = np.array([likelihood_corner(log, j)[1] for j in range(log.dof)])
    return RecordedLog(
        q=log.q[selection],
        tau=tau[selection],
        dq=motion.dq[selection][0],
        valid=is_valid[selection],
        dt=log.dt,
        lead=lead,
        position_noise=np.asarray(np.maximum(noise, MIN_NOISE_RATIO * np.abs(log.q).max())),
    )


class FittedMotion(NamedTuple):
    """Motion and rows of logs before the estimation."""

    model: RevisedModel
    """Model with the estimated constants."""
    preprocessors: tuple[Preprocessor, ...]
    """Preprocessors, each tuned to its log."""
    motion: Motion
    smooth: Motion
    """Motion from positions only, as in predictions; for a long log, of its beginning only."""
    weights: Float2D
    """Weights of the rows of every log and joint, shape (logs, n)."""
    structure: Structure
    rows: LinearProblem
    """Rows of the motion, including the torque of joint terms."""


def tune_model(
    logs: Sequence[Log], nominal: Robot, basis: BaseParameters, plan: FitPlan
) -> RevisedModel:
    """Estimate the constants of the model from logs, and tune the preprocessors with it."""
    tuned = tuple(plan.preprocessor.tune(log, nominal) for log in logs)
    return revise_model(logs, tuned, nominal, basis, plan)


def fit_motion(
    logs: Sequence[Log],
    model: RevisedModel,
    plan: FitPlan,
    structure: Structure = EMPTY_STRUCTURE,
    robot: Robot | None = None,
) -> FittedMotion:
    """Compute motion, terms and rows of logs; see `robotid_sim.pipeline.stages`.

    `robot`, the model with the joint terms, is used to preprocess the logs; by default the nominal
    model.
    """
    tuned, nominal, basis = model.preprocessors, model.nominal, model.basis
    robot = robot or nominal
    if structure.terms:
        retuned = []
        for preprocessor, log in zip(tuned, logs, strict=True):
            untuned = copy_rows(plan.preprocessor, preprocessor)
            if isinstance(untuned, Adaptive) and isinstance(preprocessor, Adaptive):
                untuned = replace(untuned, delay=preprocessor.delay)
            retuned.append(untuned.tune(log, robot))
        tuned = tuple(retuned)
    motions = motions_of(logs, tuned, robot)
    motion, weights = weigh_logs(motions, nominal, basis)
    rows = build_problem(motion, nominal, basis)
    rows = replace(rows, random=model.errors(rows, motion))
    if any(estimator.uses_recordings for estimator in plan.estimators.values()):
        rows = replace(rows, recordings=recordings_of(logs, tuned, motions, robot))
    if any(estimator.uses_instruments for estimator in plan.estimators.values()):
        instruments = _instruments(logs, tuned, motion, nominal, basis)
        rows = replace(rows, instruments=instruments)
    structure = refit_terms(structure, rows, motion, robot)
    smooth = join_motions(motions_of(logs, [use_positions(each) for each in tuned], nominal))
    return FittedMotion(model, tuned, motion, smooth, weights, structure, rows)


def _instruments(
    logs: Sequence[Log],
    tuned: Sequence[Preprocessor],
    motion: Motion,
    nominal: Robot,
    basis: BaseParameters,
) -> Float2D | None:
    """Compute the instruments: the regressor of every period along the mean of the other periods.

    Return None if a log has fewer than two periods.
    """
    averaged_logs = []
    for log in logs:
        periods = None
        if log.period is not None and log.torque_times is None:
            periods = periods_of(log, "an estimate by instruments")
        if periods is None or periods.count < 2:
            return None
        q = np.where((log.t >= 0.0)[:, None], periods.average_others(log.q), log.q)
        averaged_logs.append(replace(log, q=q, dq=None, truth=None))
    smooth = join_motions(
        motions_of(averaged_logs, [use_positions(each) for each in tuned], nominal)
    )
    other_motion = replace(motion, q=smooth.q, dq=smooth.dq, ddq=smooth.ddq)
    return build_problem(other_motion, nominal, basis).W


def weigh_logs(
    motions: Sequence[Motion], nominal: Robot, basis: BaseParameters
) -> tuple[Motion, Float2D]:
    """Join motions and compute the weights of logs and joints that equalize their noise."""
    motion = join_motions(motions)
    row_filter = motion.row_filter
    if not isinstance(row_filter, JoinedRowFilter):
        return motion, np.ones((1, nominal.dof))
    weights = weights_by_log(build_problem(motion, nominal, basis), row_filter.log_indices)
    return replace(motion, row_filter=replace(row_filter, weights=weights)), weights
