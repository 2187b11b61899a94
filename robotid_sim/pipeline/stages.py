"""From logs to estimates: preprocess, find unmodeled torque, estimate."""

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
from robotid_sim.estimation.friction_fit import raise_row_rate
from robotid_sim.estimation.hold_out import MIN_GAIN, MIN_TESTED_GAIN_RATIO, robust_gain
from robotid_sim.estimation.problem import Estimator, LinearProblem
from robotid_sim.estimation.structure import EMPTY_STRUCTURE, set_term_values
from robotid_sim.estimation.structure_search import MIN_ROWS
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.loop_noise import LoopNoise
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.fit_plan import FitPlan, add_output_error, choose_estimate
from robotid_sim.pipeline.fitted_motion import FittedMotion, RevisedModel, fit_motion, tune_model
from robotid_sim.pipeline.identification import Identification, mark_untrusted
from robotid_sim.pipeline.term_choice import TermChoice, choose_terms, delays_of, score_held_out
from robotid_sim.progress import Progress, silent
from robotid_sim.threads import one_blas_thread

RATE_RATIO = 4.0
"""Rate and cut-off of the rows for tests of functions, over rate and cut-off of the fit."""

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
    """Preprocess logs and estimate; `log.truth` is ignored.

    Logs must have equal rates. Each is preprocessed separately, and the rows of every log and joint
    are weighted by their noise. `rng` is for random estimators.
    """
    logs = (logs,) if isinstance(logs, Log) else logs
    for log in logs:
        log.require_robot(nominal).require_torques()
    progress("identify", 0.0)
    plan, loop_noise = add_output_error(plan, logs)
    model = tune_model(logs, nominal, basis, plan)
    progress("identify", 0.4)
    choose = partial(choose_terms, logs, nominal, basis, plan, model)
    always = plan.joint_terms and not plan.terms_by_need
    fitted, discrepancy = _fit_rows(logs, plan, choose() if always else model)
    progress("identify", 0.6)
    is_long = fitted.rows.samples >= MIN_ROWS
    # Functions caused by fed-back noise are not joint terms.
    if (
        plan.terms_by_need
        and discrepancy.add_unpredicted.unmodeled
        and is_long
        and loop_noise is None
    ):
        fitted, discrepancy = _add_terms_by_need(logs, plan, (fitted, discrepancy), choose())
    return estimate(fitted, discrepancy, plan, rng, loop_noise=loop_noise, progress=progress)


def _fit_rows(
    logs: Sequence[Log], plan: FitPlan, choice: RevisedModel | TermChoice
) -> tuple[FittedMotion, Discrepancy]:
    """Compute the rows of logs from a model or joint terms, and the unmodeled torque."""
    if isinstance(choice, TermChoice):
        fitted = fit_motion(logs, choice.model, plan, choice.structure, choice.robot)
    else:
        fitted = fit_motion(logs, choice, plan)
    rows, gain_std = fitted.structure.project_rows(fitted.rows), plan.drive_gain_std
    return fitted, find_discrepancy(rows, fitted.motion, fitted.model.nominal, gain_std=gain_std)


def _add_terms_by_need(
    logs: Sequence[Log], plan: FitPlan, base: tuple[FittedMotion, Discrepancy], choice: TermChoice
) -> tuple[FittedMotion, Discrepancy]:
    """Add joint terms that predict held-out blocks of a joint better than functions of its state.

    Terms with a different delay, which affects all joints, are added together or not at all.
    """
    if not choice.structure.terms:
        return base
    with_terms = _fit_rows(logs, plan, choice)
    before, after = (
        score_held_out(fitted.rows, fitted.structure, discrepancy.columns)
        for fitted, discrepancy in (base, with_terms)
    )
    model = base[0].model
    if delays_of(choice.model) != delays_of(model):
        gain = (after - before).sum(axis=1)
        return with_terms if robust_gain(gain, MIN_TESTED_GAIN_RATIO) > MIN_GAIN else base
    gains = [robust_gain(gain, MIN_TESTED_GAIN_RATIO) for gain in (after - before).T]
    better = (np.array(gains) > MIN_GAIN) & choice.joints_with_terms
    if not better.any():
        return base
    if (better == choice.joints_with_terms).all():
        return with_terms
    without_terms = replace(choice, model=model, structure=EMPTY_STRUCTURE)
    return _fit_rows(logs, plan, without_terms.merge(choice, better, logs, plan))


def estimate(
    fitted: FittedMotion,
    discrepancy: Discrepancy,
    plan: FitPlan,
    rng: np.random.Generator,
    *,
    loop_noise: LoopNoise | None,
    progress: Progress,
) -> Identification:
    """Identify from the rows of a motion and their unmodeled torque.

    `discrepancy` is the unmodeled torque without joint terms; `loop_noise` is measurement noise fed
    back by the controller, None if it is small or the plan ignores it.
    """
    nominal, structure, rows = fitted.model.nominal, fitted.structure, fitted.rows
    projected = structure.project_rows(rows)
    fine = raise_row_rate(fitted.smooth, RATE_RATIO)
    model = replace(nominal, terms=(*nominal.terms, *structure.list_lasting_terms()))
    discrepancy = remove_unpredictive(discrepancy, projected, fine, model)
    problem = weigh_discrepancy(projected, discrepancy)
    progress("identify", 0.8)
    estimates = {
        name: _run_estimator(name, estimator, problem, rng)
        for name, estimator in plan.estimators.items()
    }
    chosen = estimates[choose_estimate(plan, estimates, loop_noise, problem)]
    if chosen.success:
        structure = set_term_values(structure, rows, chosen.beta, chosen.noise_std)
        phi = rows.basis.complete(chosen.beta, nominal.parameters())
        model = nominal.with_parameters(phi, formal=True)
        model = replace(model, terms=(*nominal.terms, *structure.list_lasting_terms()))
        discrepancy = add_function_values(discrepancy, projected, chosen.beta, fine, model)
    robot = make_estimate_consistent(chosen, nominal, rows.basis)
    if robot is not None and structure.terms:
        terms = (*nominal.terms, *structure.list_lasting_terms())
        robot = replace(robot, robot=replace(robot.robot, terms=terms))
    has_terms = bool(structure.terms) or bool(plan.joint_terms and not plan.terms_by_need)
    warning = ""
    if chosen.success:
        warning = describe_misfit(chosen, problem, projected, has_terms=has_terms)
    if warning:
        robot = mark_untrusted(robot)
    progress("identify", 1.0)
    return Identification(
        preprocessors=fitted.preprocessors,
        motion=fitted.motion,
        weights=fitted.weights,
        nominal=nominal,
        eps=fitted.model.eps_fit,
        gravity=fitted.model.gravity_fit,
        structure=structure,
        problem_without_terms=projected,
        discrepancy=discrepancy,
        problem=problem,
        estimates=tuple(estimates.values()),
        estimators=plan.estimators,
        chosen=chosen,
        loop_noise=loop_noise,
        drive_gain_std=plan.drive_gain_std,
        consistent_robot=robot,
        warning=warning,
    )


def _run_estimator(
    name: str, estimator: Estimator, problem: LinearProblem, rng: np.random.Generator
) -> Estimate:
    """Run an estimator and give its estimate the name of the plan.

    Raises `ArgumentTypeError`, `OptionError` or `ShapeError` if the estimator of a user does not
    return an estimate of the problem.
    """
    subject = f"the result of estimator '{name}'"
    try:
        estimate = estimator.fit(problem, rng)
    except ShapeError as error:
        raise ShapeError(
            f"estimator '{name}' returns an invalid Estimate: {error}; correct its fit, or return "
            "success=False with a message"
        ) from error
    require_type(estimate, Estimate, subject, "fit returns an Estimate of the problem it is given")
    expected = (tuple(problem.basis.names), tuple(problem.joint_names))
    if (tuple(estimate.names), tuple(estimate.joint_names)) != expected:
        raise OptionError(
            f"{subject} has other parameters or joints; use names and joint_names of the problem"
        )
    return replace(estimate, estimator=name)


def make_estimate_consistent(
    estimate: Estimate, nominal: Robot, basis: BaseParameters
) -> ConsistentRobot | None:
    """Find the physically consistent robot of an estimate; None if the fit or the search failed.

    The nominal model determines the parameters that are not identifiable.
    """
    if not estimate.success or estimate.cov is None:
        return None
    if estimate.phi is not None:
        # The solver of the cone program may stop slightly outside of its cones.
        robot = nominal.with_parameters(estimate.phi, formal=True).repair()
        return ConsistentRobot(
            robot, exact=True, distance=0.0, message="the estimate is a consistent robot"
        )
    try:
        return make_consistent(estimate.beta, estimate.cov, nominal, basis)
    except InconsistentInertiaError as error:  # the estimate itself is valid
        _logger.warning("%s", error)
        return None
