"""From logs to the rows of a fit: preprocessing, friction velocities, and terms of joints."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robotid_sim.arrays import Float2D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.estimation.friction_fit import FrictionFit, estimate_eps, finer_rows, with_eps
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.log_weights import weights_by_log
from robotid_sim.estimation.problem import LinearProblem, build_problem
from robotid_sim.estimation.structure import NO_TERMS, Structure
from robotid_sim.estimation.structure_search import choose_structure
from robotid_sim.estimation.term_fit import refitted
from robotid_sim.measurement.joined_motion import JoinedRowFilter, joined
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.fit_plan import FitPlan
from robotid_sim.pipeline.recordings import recordings_of
from robotid_sim.preprocess.adaptive import SHARED, Adaptive
from robotid_sim.preprocess.periods import periods_of
from robotid_sim.preprocess.preprocessor import Preprocessor, motion_of_log
from robotid_sim.progress import Progress

_logger = logging.getLogger(__name__)


class FittedMotion(NamedTuple):
    """What logs become before their parameters are estimated."""

    preprocessors: tuple[Preprocessor, ...]
    """As tuned to every log."""
    motion: Motion
    weights: Float2D
    """Of the rows of every log and joint, shape (logs, n)."""
    nominal: Robot
    """With the friction velocities that were estimated, if so."""
    eps: FrictionFit | None
    structure: Structure
    rows: LinearProblem
    """Rows of the motion, with what the terms explain."""


def fitted_motion(
    logs: Sequence[Log], nominal: Robot, basis: BaseParameters, plan: FitPlan, progress: Progress
) -> FittedMotion:
    """Return motion, terms and rows of logs; see `robotid_sim.pipeline.stages.identify`."""
    tuned = tuple(plan.preprocessor.tuned(log, nominal) for log in logs)
    progress("identify", 0.4)
    eps = None
    if plan.estimate_eps:
        # A motion that follows from the model follows from its friction too: smoothed it does not.
        apart = joined(_motions(logs, tuple(map(_smoothed, tuned)), nominal))
        nominal, eps = _with_estimated_eps(nominal, apart, basis)
        if eps.success:
            tuned = tuple(plan.preprocessor.tuned(log, nominal) for log in logs)
    structure, known = NO_TERMS, nominal
    if plan.joint_terms:
        structure, known = _chosen_terms(logs, tuned, nominal, basis, plan.joint_terms)
        if structure.terms:
            again = [_as_decided(plan.preprocessor, use) for use in tuned]
            tuned = tuple(use.tuned(log, known) for use, log in zip(again, logs, strict=True))
    progress("identify", 0.5)
    motions = _motions(logs, tuned, known)
    motion, weights = _weighed(motions, nominal, basis)
    rows = build_problem(motion, nominal, basis)
    if any(estimator.uses_recordings for estimator in plan.estimators.values()):
        rows = replace(rows, recordings=recordings_of(logs, tuned, motions, known))
    if any(estimator.uses_instruments for estimator in plan.estimators.values()):
        instruments = _instruments(logs, tuned, motion, nominal, basis)
        rows = replace(rows, instruments=instruments)
    structure = refitted(structure, rows, motion, known)
    return FittedMotion(tuned, motion, weights, nominal, eps, structure, rows)


def _instruments(
    logs: Sequence[Log],
    tuned: Sequence[Preprocessor],
    motion: Motion,
    nominal: Robot,
    basis: BaseParameters,
) -> Float2D | None:
    """Return the regressor along the mean of the other periods; None if a log has less than two."""
    others = []
    for log in logs:
        periods = None
        if log.period is not None and log.torque_times is None:
            periods = periods_of(log, "an estimate by instruments")
        if periods is None or periods.count < 2:
            return None
        q = np.where((log.t >= 0.0)[:, None], periods.of_others(log.q), log.q)
        others.append(replace(log, q=q, dq=None, truth=None))
    smooth = joined(_motions(others, [_smoothed(use) for use in tuned], nominal))
    apart = replace(motion, q=smooth.q, dq=smooth.dq, ddq=smooth.ddq)
    return build_problem(apart, nominal, basis).W


def _motions(
    logs: Sequence[Log], preprocessors: Sequence[Preprocessor], nominal: Robot
) -> list[Motion]:
    pairs = zip(preprocessors, logs, strict=True)
    return [motion_of_log(use, log, nominal) for use, log in pairs]


def _smoothed(preprocessor: Preprocessor) -> Preprocessor:
    return (
        replace(preprocessor, method="rts") if isinstance(preprocessor, Adaptive) else preprocessor
    )


def _as_decided(preprocessor: Preprocessor, tuned: Preprocessor) -> Preprocessor:
    """Return a preprocessor that takes off the delay that was found, with the rows that it has."""
    if isinstance(preprocessor, Adaptive) and isinstance(tuned, Adaptive):
        return replace(preprocessor, delay=tuned.delay, rows=tuned.rows, low_pass=SHARED)
    return preprocessor


def _chosen_terms(
    logs: Sequence[Log],
    tuned: Sequence[Preprocessor],
    nominal: Robot,
    basis: BaseParameters,
    kinds: Sequence[str],
) -> tuple[Structure, Robot]:
    """Return the terms that logs speak for, and a robot with them that explains the logs.

    They are chosen on smoothed motion: one that follows from the model hides what it lacks.
    """
    motion, _ = _weighed(_motions(logs, [_smoothed(use) for use in tuned], nominal), nominal, basis)
    rows = build_problem(motion, nominal, basis)
    structure = choose_structure(rows, motion, nominal, kinds)
    fit = WeightedLeastSquares().fit(structure.beside(rows), np.random.default_rng(0))
    if not structure.terms or not fit.success:
        return NO_TERMS, nominal
    phi = basis.completed(fit.beta, nominal.parameters())
    model = nominal.with_parameters(phi, formal=True)
    return structure, replace(model, terms=(*nominal.terms, *structure.lasting_terms()))


def _weighed(
    motions: Sequence[Motion], nominal: Robot, basis: BaseParameters
) -> tuple[Motion, Float2D]:
    """Return motions as one, and the weights by log and joint that make their noise alike."""
    motion = joined(motions)
    row_filter = motion.row_filter
    if not isinstance(row_filter, JoinedRowFilter):
        return motion, np.ones((1, nominal.dof))
    weights = weights_by_log(build_problem(motion, nominal, basis), row_filter.log_of)
    return replace(motion, row_filter=replace(row_filter, weights=weights)), weights


def _with_estimated_eps(
    nominal: Robot, motion: Motion, basis: BaseParameters
) -> tuple[Robot, FrictionFit]:
    """Return the nominal robot with the friction velocities of the log, if they can be had."""
    fit = estimate_eps(finer_rows(motion), nominal, basis)
    if not fit.success:
        _logger.warning("friction velocities were not estimated: %s", fit.message)
        return nominal, fit
    return with_eps(nominal, fit.values[0]), fit
