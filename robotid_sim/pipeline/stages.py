"""From logs to estimates: preprocess, look for what the model lacks, estimate."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from robotid_sim.diagnostics.residuals import describe_misfit
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import InconsistentInertiaError, OptionError, ShapeError, require_type
from robotid_sim.estimation.consistent import ConsistentRobot, make_consistent
from robotid_sim.estimation.discrepancy import (
    Discrepancy,
    add_function_values,
    remove_unpredictive,
    weigh_discrepancy,
)
from robotid_sim.estimation.discrepancy_search import find_discrepancy
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.friction_fit import finer_rows
from robotid_sim.estimation.hold_out import MIN_GAIN, MIN_GAIN_OVER_ERROR_TESTED, worth
from robotid_sim.estimation.problem import Estimator, LinearProblem
from robotid_sim.estimation.structure import EMPTY_STRUCTURE, set_term_values
from robotid_sim.estimation.structure_search import MIN_ROWS
from robotid_sim.measurement.log import Log, LoopNoise
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.fit_plan import FitPlan, add_output_error, choose_estimate
from robotid_sim.pipeline.fitted_motion import FittedMotion, RevisedModel, fit_motion, tune_model
from robotid_sim.pipeline.identification import Identification, find_untrusted_robot
from robotid_sim.pipeline.term_choice import TermChoice, choose_terms, delays_of, score_held_out
from robotid_sim.progress import Progress, silent
from robotid_sim.threads import one_blas_thread

RATE_RATIO = 4.0
"""Rate and cut-off of the rows that functions have to predict, over those of the fit."""

_logger = logging.getLogger(__name__)


@one_blas_thread()
def fit_logs(
    logs: Log | Sequence[Log],
    nominal: Robot,
    basis: BaseParameters,
    plan: FitPlan,
    rng: np.random.Generator,
    *,
    progress: Progress = silent,
) -> Identification:
    """Preprocess logs and estimate; nothing here looks at a log's truth.

    Logs are virtual or of a machine, at one rate: each is preprocessed by itself, and the rows of
    every log and joint weigh by their noise. The random numbers are for estimators that draw.
    """
    logs = (logs,) if isinstance(logs, Log) else logs
    for log in logs:
        log.require_robot(nominal).require_torques()
    progress("identify", 0.0)
    plan, heard = add_output_error(plan, logs)
    model = tune_model(logs, nominal, basis, plan)
    progress("identify", 0.4)
    choose = partial(choose_terms, logs, nominal, basis, plan, model)
    always = plan.joint_terms and not plan.terms_by_need
    seen, found = _fit_rows(logs, plan, choose() if always else model)
    progress("identify", 0.6)
    is_long = seen.rows.samples >= MIN_ROWS
    # Functions that come out of noise in the loop are none that terms could be.
    if plan.terms_by_need and found.whole.unmodeled and is_long and heard is None:
        seen, found = _add_terms_by_need(logs, plan, (seen, found), choose())
    return estimate(seen, found, plan, rng, heard=heard, progress=progress)


def _fit_rows(
    logs: Sequence[Log], plan: FitPlan, by: RevisedModel | TermChoice
) -> tuple[FittedMotion, Discrepancy]:
    """Return the rows of logs by a model, or by terms of joints, and what these lack."""
    if isinstance(by, TermChoice):
        seen = fit_motion(logs, by.model, plan, by.structure, by.robot)
    else:
        seen = fit_motion(logs, by, plan)
    plain, gain_std = seen.structure.project_rows(seen.rows), plan.drive_gain_std
    return seen, find_discrepancy(plain, seen.motion, seen.model.nominal, gain_std=gain_std)


def _add_terms_by_need(
    logs: Sequence[Log], plan: FitPlan, plain: tuple[FittedMotion, Discrepancy], choice: TermChoice
) -> tuple[FittedMotion, Discrepancy]:
    """Add terms of the joints whose blocks, left out, they predict better than functions do.

    Terms beside another delay, which is that of all joints, are taken together or not at all.
    """
    if not choice.structure.terms:
        return plain
    tried = _fit_rows(logs, plan, choice)
    before, after = (
        score_held_out(seen.rows, seen.structure, found.columns) for seen, found in (plain, tried)
    )
    model = plain[0].model
    if delays_of(choice.model) != delays_of(model):
        gain = (after - before).sum(axis=1)
        return tried if worth(gain, MIN_GAIN_OVER_ERROR_TESTED) > MIN_GAIN else plain
    gains = [worth(gain, MIN_GAIN_OVER_ERROR_TESTED) for gain in (after - before).T]
    better = (np.array(gains) > MIN_GAIN) & choice.joints
    if not better.any():
        return plain
    if (better == choice.joints).all():
        return tried
    bare = replace(choice, model=model, structure=EMPTY_STRUCTURE)
    return _fit_rows(logs, plan, bare.merge(choice, better, logs, plan))


def estimate(
    seen: FittedMotion,
    discrepancy: Discrepancy,
    plan: FitPlan,
    rng: np.random.Generator,
    *,
    heard: LoopNoise | None,
    progress: Progress,
) -> Identification:
    """Return the identification from the rows of a motion, and from what their model lacks.

    The discrepancy is what the model lacks beside terms of joints; `heard` is noise of the encoders
    that shakes the robot, if the plan heeds it.
    """
    nominal, structure, rows = seen.model.nominal, seen.structure, seen.rows
    plain = structure.project_rows(rows)
    fine = finer_rows(seen.smooth, RATE_RATIO)
    known = replace(nominal, terms=(*nominal.terms, *structure.list_lasting_terms()))
    discrepancy = remove_unpredictive(discrepancy, plain, fine, known)
    problem = weigh_discrepancy(plain, discrepancy)
    progress("identify", 0.8)
    estimates = {
        name: _run_estimator(name, estimator, problem, rng)
        for name, estimator in plan.estimators.items()
    }
    chosen = estimates[choose_estimate(plan, estimates, heard, problem)]
    if chosen.success:
        structure = set_term_values(structure, rows, chosen.beta, chosen.noise_std)
        phi = rows.basis.complete(chosen.beta, nominal.parameters())
        model = nominal.with_parameters(phi, formal=True)
        model = replace(model, terms=(*nominal.terms, *structure.list_lasting_terms()))
        discrepancy = add_function_values(discrepancy, plain, chosen.beta, fine, model)
    lifted = make_estimate_consistent(chosen, nominal, rows.basis)
    if lifted is not None and structure.terms:
        terms = (*nominal.terms, *structure.list_lasting_terms())
        lifted = replace(lifted, robot=replace(lifted.robot, terms=terms))
    has_terms = bool(structure.terms) or bool(plan.joint_terms and not plan.terms_by_need)
    why = describe_misfit(chosen, problem, plain, has_terms=has_terms) if chosen.success else ""
    if why:
        lifted = find_untrusted_robot(lifted)
    progress("identify", 1.0)
    return Identification(
        preprocessors=seen.preprocessors,
        motion=seen.motion,
        weights=seen.weights,
        nominal=nominal,
        eps=seen.model.eps,
        gravity=seen.model.gravity,
        structure=structure,
        problem_without_terms=plain,
        discrepancy=discrepancy,
        problem=problem,
        estimates=tuple(estimates.values()),
        estimators=plan.estimators,
        chosen=chosen,
        loop_noise=heard,
        drive_gain_std=plan.drive_gain_std,
        consistent_robot=lifted,
        warning=why,
    )


def _run_estimator(
    name: str, estimator: Estimator, problem: LinearProblem, rng: np.random.Generator
) -> Estimate:
    """Return the estimate of an estimator, under the name that it runs by.

    Raises `ArgumentTypeError`, `OptionError` or `ShapeError` if the estimator, one of a user,
    returns another thing than an estimate of the problem.
    """
    what = f"what estimator '{name}' returned"
    try:
        estimate = estimator.fit(problem, rng)
    except ShapeError as error:
        raise ShapeError(
            f"estimator '{name}' makes no valid Estimate: {error}; correct its fit, or return "
            "success=False with a message"
        ) from error
    require_type(estimate, Estimate, what, "fit returns an Estimate of the problem it is given")
    known = (tuple(problem.basis.names), tuple(problem.joint_names))
    if (tuple(estimate.names), tuple(estimate.joint_names)) != known:
        raise OptionError(
            f"{what} is of other parameters or joints: names and joint_names are those of the "
            "problem"
        )
    return replace(estimate, estimator=name)


def make_estimate_consistent(
    estimate: Estimate, nominal: Robot, basis: BaseParameters
) -> ConsistentRobot | None:
    """Return the consistent robot of an estimate; None if the fit or the search for one failed.

    The nominal resolves what base parameters leave open.
    """
    if not estimate.success or estimate.cov is None:
        return None
    if estimate.phi is not None:
        # The solver of the cone program may stop a little outside of its cones.
        robot = nominal.with_parameters(estimate.phi, formal=True).repair()
        return ConsistentRobot(
            robot, exact=True, distance=0.0, message="the estimate is a consistent robot"
        )
    try:
        return make_consistent(estimate.beta, estimate.cov, nominal, basis)
    except InconsistentInertiaError as error:  # the estimate is sound, only no body has it
        _logger.warning("%s", error)
        return None
