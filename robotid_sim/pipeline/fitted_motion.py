"""From logs to the rows of a fit: preprocessing, constants of the model, terms of joints."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robotid_sim.arrays import Float2D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.estimation.least_squares import WeightedLeastSquares, weights_by_log
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
from robotid_sim.pipeline.revised_model import (
    RevisedModel,
    motions_of,
    revise_model,
    smoothed,
    with_rows,
)
from robotid_sim.preprocess.adaptive import Adaptive
from robotid_sim.preprocess.periods import periods_of
from robotid_sim.preprocess.preprocessor import Preprocessor
from robotid_sim.progress import Progress


class FittedMotion(NamedTuple):
    """What logs become before their parameters are estimated."""

    model: RevisedModel
    """With the constants that the logs show."""
    preprocessors: tuple[Preprocessor, ...]
    """As tuned to every log."""
    motion: Motion
    smooth: Motion
    """Made from positions alone, as that of predictions; of a long log that of its beginning."""
    weights: Float2D
    """Of the rows of every log and joint, shape (logs, n)."""
    structure: Structure
    rows: LinearProblem
    """Rows of the motion, with what the terms explain."""


def fitted_motion(
    logs: Sequence[Log], nominal: Robot, basis: BaseParameters, plan: FitPlan, progress: Progress
) -> FittedMotion:
    """Return motion, terms and rows of logs; see `robotid_sim.pipeline.stages.identify`."""
    tuned = tuple(plan.preprocessor.tuned(log, nominal) for log in logs)
    progress("identify", 0.4)
    model = revise_model(logs, tuned, nominal, basis, plan)
    tuned, nominal, basis = model.preprocessors, model.nominal, model.basis
    structure, known = NO_TERMS, nominal
    if plan.joint_terms:
        structure, known = _chosen_terms(logs, tuned, nominal, basis, plan.joint_terms)
        if structure.terms:
            again = [_as_decided(plan.preprocessor, use) for use in tuned]
            tuned = tuple(use.tuned(log, known) for use, log in zip(again, logs, strict=True))
    progress("identify", 0.5)
    motions = motions_of(logs, tuned, known)
    motion, weights = _weighed(motions, nominal, basis)
    rows = build_problem(motion, nominal, basis)
    rows = replace(rows, random=model.errors(rows, motion))
    if any(estimator.uses_recordings for estimator in plan.estimators.values()):
        rows = replace(rows, recordings=recordings_of(logs, tuned, motions, known))
    if any(estimator.uses_instruments for estimator in plan.estimators.values()):
        instruments = _instruments(logs, tuned, motion, nominal, basis)
        rows = replace(rows, instruments=instruments)
    structure = refitted(structure, rows, motion, known)
    smooth = joined(motions_of(logs, [smoothed(use) for use in tuned], nominal))
    return FittedMotion(model, tuned, motion, smooth, weights, structure, rows)


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
    smooth = joined(motions_of(others, [smoothed(use) for use in tuned], nominal))
    apart = replace(motion, q=smooth.q, dq=smooth.dq, ddq=smooth.ddq)
    return build_problem(apart, nominal, basis).W


def _as_decided(preprocessor: Preprocessor, tuned: Preprocessor) -> Preprocessor:
    """Return a preprocessor that takes off the delay that was found, with the rows that it has."""
    same = with_rows(preprocessor, tuned)
    if isinstance(same, Adaptive) and isinstance(tuned, Adaptive):
        return replace(same, delay=tuned.delay)
    return same


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
    motion, _ = _weighed(
        motions_of(logs, [smoothed(use) for use in tuned], nominal), nominal, basis
    )
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
