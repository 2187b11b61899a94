"""What the logs of a fit show of the constants that its model takes for known.

They are transition velocities of friction and gravity. In the motion that the default preprocessor
makes, which follows from the model too, part of what is wrong with them is hidden; one from
positions alone shows it, but rounds reversals as a wider sign would. So a velocity is found on the
second, and taken if it predicts the first better.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robotid_sim.arrays import Float2D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.estimation.friction_fit import (
    FrictionFit,
    eps_errors,
    estimate_eps,
    finer_rows,
    revise_eps,
    with_eps,
)
from robotid_sim.estimation.gravity_fit import (
    GravityFit,
    gravity_errors,
    refine_gravity,
    revise_gravity,
)
from robotid_sim.estimation.held_out import predicts_better
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem, build_problem
from robotid_sim.measurement.joined_motion import joined
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.fit_plan import FitPlan
from robotid_sim.preprocess.adaptive import SHARED, Adaptive
from robotid_sim.preprocess.preprocessor import Preprocessor, motion_of_log


@dataclass(frozen=True, slots=True, eq=False)
class RevisedModel:
    """The model of a fit with the constants that its logs show, and preprocessors tuned by it."""

    preprocessors: tuple[Preprocessor, ...]
    """As tuned to every log."""
    nominal: Robot
    basis: BaseParameters
    eps: FrictionFit | None = None
    """Transition velocities, if the logs show others than the nominal ones."""
    gravity: GravityFit | None = None
    """Gravity, likewise."""

    def errors(self, rows: LinearProblem, motion: Motion) -> Float2D | None:
        """Return the torque of one standard deviation of the constants, (N n, k); None for none."""
        estimate = WeightedLeastSquares().fit(rows)
        if not estimate.success or (self.eps is None and self.gravity is None):
            return None
        beta, columns = estimate.beta, []
        if self.eps is not None:
            columns.append(eps_errors(self.eps, rows, motion, beta))
        if self.gravity is not None:
            columns.append(gravity_errors(self.gravity, rows, motion, beta))
        return np.hstack(columns)


def revise_model(
    logs: Sequence[Log],
    preprocessors: tuple[Preprocessor, ...],
    nominal: Robot,
    basis: BaseParameters,
    plan: FitPlan,
) -> RevisedModel:
    """Estimate the constants of a model that logs show to be others, as far as a plan asks for it.

    The preprocessors are as tuned to every log by the nominal model, which stays as it is where the
    logs show nothing else.
    """
    model = RevisedModel(preprocessors, nominal, basis)
    if not plan.estimate_eps and not plan.estimate_gravity:
        return model
    smooth = joined(motions_of(logs, [smoothed(use) for use in preprocessors], nominal))
    if plan.estimate_eps:
        model = _with_eps(model, logs, smooth, plan)
    if not plan.estimate_gravity:
        return model
    gravity = revise_gravity(smooth, model.nominal, basis)
    if gravity is None:
        return model
    again = _tuned_again(model, logs, gravity.nominal, plan)
    gravity = refine_gravity(gravity, joined(motions_of(logs, again, gravity.nominal)))
    return replace(
        model, preprocessors=again, nominal=gravity.nominal, basis=gravity.basis, gravity=gravity
    )


def _with_eps(
    model: RevisedModel, logs: Sequence[Log], smooth: Motion, plan: FitPlan
) -> RevisedModel:
    """Return a model with the transition velocities that predict both kinds of motion better."""
    nominal, basis, finer = model.nominal, model.basis, finer_rows(smooth)
    fit = revise_eps(finer, nominal, basis)
    while fit is not None:
        revised = with_eps(nominal, fit.eps)
        again = _tuned_again(model, logs, revised, plan)
        before = joined(motions_of(logs, model.preprocessors, nominal))
        after = joined(motions_of(logs, again, revised))
        problems = build_problem(before, nominal, basis), build_problem(after, revised, basis)
        shown = np.array(fit.shown)
        better = predicts_better(*problems) & shown
        if (better == shown).all():
            return replace(model, preprocessors=again, nominal=revised, eps=fit)
        if not better.any():
            break
        fit = estimate_eps(finer, nominal, basis, joints=np.flatnonzero(better))
    return model


def _tuned_again(
    model: RevisedModel, logs: Sequence[Log], nominal: Robot, plan: FitPlan
) -> tuple[Preprocessor, ...]:
    """Return the preprocessors of a plan tuned to logs by another model, for the same rows."""
    same = [with_rows(plan.preprocessor, use) for use in model.preprocessors]
    return tuple(use.tuned(log, nominal) for use, log in zip(same, logs, strict=True))


def with_rows(preprocessor: Preprocessor, tuned: Preprocessor) -> Preprocessor:
    """Return a preprocessor that is not tuned, with the rows that one has that is."""
    if isinstance(preprocessor, Adaptive) and isinstance(tuned, Adaptive):
        return replace(preprocessor, rows=tuned.rows, low_pass=SHARED)
    return preprocessor


def smoothed(preprocessor: Preprocessor) -> Preprocessor:
    """Return a preprocessor that makes its motion from positions alone, where it has such a one."""
    if isinstance(preprocessor, Adaptive):
        return replace(preprocessor, method="rts")
    return preprocessor


def motions_of(
    logs: Sequence[Log], preprocessors: Sequence[Preprocessor], nominal: Robot
) -> list[Motion]:
    """Return the motion of every log."""
    pairs = zip(preprocessors, logs, strict=True)
    return [motion_of_log(use, log, nominal) for use, log in pairs]
