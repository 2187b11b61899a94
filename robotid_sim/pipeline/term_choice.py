"""Select joint terms for which logs give evidence, together with the transition velocities."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from robotid_sim.arrays import Bool1D, Float2D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.estimation.friction_fit import estimate_eps, raise_row_rate, set_eps
from robotid_sim.estimation.hold_out import MIN_GAIN, MIN_TESTED_GAIN_RATIO, HeldOut, robust_gain
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem, build_problem
from robotid_sim.estimation.structure import EMPTY_STRUCTURE, Structure
from robotid_sim.estimation.structure_search import choose_structure
from robotid_sim.estimation.term_fit import add_term_columns, refit_terms
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.fit_plan import FitPlan
from robotid_sim.pipeline.fitted_motion import (
    RevisedModel,
    motions_of,
    retune,
    tune_model,
    use_positions,
    weigh_logs,
)
from robotid_sim.preprocess.adaptive import Adaptive


@dataclass(frozen=True, slots=True, eq=False)
class TermChoice:
    """Joint terms with the transition velocities of a model."""

    model: RevisedModel
    motion: Motion
    """Motion from positions only: a motion smoothed with the model hides unmodeled torque."""
    structure: Structure

    @classmethod
    def choose(cls, model: RevisedModel, logs: Sequence[Log], kinds: Sequence[str]) -> Self:
        """Choose the terms of `kinds` for which logs give evidence in addition to a model."""
        preprocessors = [use_positions(each) for each in model.preprocessors]
        motion, _ = weigh_logs(
            motions_of(logs, preprocessors, model.nominal), model.nominal, model.basis
        )
        rows = build_problem(motion, model.nominal, model.basis)
        return cls(model, motion, choose_structure(rows, motion, model.nominal, kinds))

    @property
    def rows(self) -> LinearProblem:
        """Rows of the motion."""
        return build_problem(self.motion, self.model.nominal, self.model.basis)

    @property
    def scores(self) -> Float2D:
        """Log-likelihood of held-out blocks by block and joint, shape (folds, n)."""
        rows = self.rows
        return score_held_out(rows, self.structure, np.zeros((rows.y.size, 0)))

    @property
    def robot(self) -> Robot:
        """The fitted robot with the chosen terms; the nominal one without terms or a fit."""
        rows, nominal = self.rows, self.model.nominal
        fit = WeightedLeastSquares().fit(
            self.structure.project_rows(rows), np.random.default_rng(0)
        )
        if not self.structure.terms or not fit.success:
            return nominal
        phi = self.model.basis.complete(fit.beta, nominal.parameters())
        terms = (*nominal.terms, *self.structure.list_lasting_terms())
        return replace(nominal.with_parameters(phi, formal=True), terms=terms)

    @property
    def joints_with_terms(self) -> Bool1D:
        """Joints that have terms, shape (n,)."""
        with_term = {name for t in self.structure.robot_terms() for name in (t.joint, t.partner)}
        return np.array([name in with_term for name in self.model.nominal.joint_names])

    def merge(
        self, other: Self, joints: Bool1D, logs: Sequence[Log], plan: FitPlan
    ) -> "TermChoice":
        """Return this choice with the terms and transition velocities of `joints` from `other`.

        Both models are equal except for the transition velocities.
        """
        fit = self.model.eps_fit or other.model.eps_fit
        model, names = self.model, self.model.nominal.joint_names
        if fit is not None:
            start, eps = fit.start, np.where(joints, other.model.nominal.eps, model.nominal.eps)
            nominal, changed = set_eps(model.nominal, start), np.flatnonzero(eps != start)
            refit = estimate_eps(raise_row_rate(self.motion), nominal, model.basis, joints=changed)
            revised = refit if refit.success and any(refit.identifiable) else None
            nominal = nominal if revised is None else set_eps(nominal, revised.eps)
            model = replace(model, nominal=nominal, eps_fit=revised)
            model = replace(model, preprocessors=retune(model, logs, nominal, plan))
        terms = tuple(
            fitted
            for choice, selected in ((self, ~joints), (other, joints))
            for fitted in choice.structure.terms
            if selected[names.index(fitted.term.joint)]
        )
        if not terms:
            return replace(self, model=model, structure=EMPTY_STRUCTURE)
        choice = replace(self, model=model, structure=replace(other.structure, terms=terms))
        bodies = model.nominal.with_parameters(other.robot.parameters(), formal=True)
        structure = refit_terms(choice.structure, choice.rows, self.motion, bodies)
        return replace(choice, structure=structure)


def choose_terms(
    logs: Sequence[Log], nominal: Robot, basis: BaseParameters, plan: FitPlan, model: RevisedModel
) -> TermChoice:
    """Choose the terms for which logs give evidence in addition to a revised model.

    Presliding friction resembles a torque delay: if the log has a delay, terms fitted without it
    are tried too, and used if they predict held-out blocks better.
    """
    choice = _choose_at_delay(model, logs, plan)
    preprocessor = plan.preprocessor
    if not isinstance(preprocessor, Adaptive) or preprocessor.delay is not None:
        return choice
    if not any(delays_of(model)):
        return choice
    plan_without_delay = replace(plan, preprocessor=replace(preprocessor, delay=0.0))
    other = _choose_at_delay(
        tune_model(logs, nominal, basis, plan_without_delay), logs, plan_without_delay
    )
    gain = (other.scores - choice.scores).sum(axis=1)
    return other if robust_gain(gain, MIN_TESTED_GAIN_RATIO) > MIN_GAIN else choice


def delays_of(model: RevisedModel) -> list[float]:
    """Return the delay that preprocessors remove from every log [s]."""
    return [
        preprocessor.delay or 0.0
        for preprocessor in model.preprocessors
        if isinstance(preprocessor, Adaptive)
    ]


def _choose_at_delay(model: RevisedModel, logs: Sequence[Log], plan: FitPlan) -> TermChoice:
    """Choose the terms for which logs give evidence at the delay of a plan, fixed or estimated.

    Stribeck friction may resemble a different transition velocity: if joints have terms and an
    estimated transition velocity, the nominal one is tried too, and every joint uses the model that
    predicts held-out blocks better.
    """
    choice, fit = TermChoice.choose(model, logs, plan.joint_terms), model.eps_fit
    if fit is None or not (choice.joints_with_terms & np.array(fit.identifiable)).any():
        return choice
    start = replace(model, nominal=set_eps(model.nominal, fit.start), eps_fit=None)
    other = TermChoice.choose(start, logs, plan.joint_terms)
    better = (other.scores - choice.scores).sum(axis=0) > 0.0
    return choice.merge(other, better, logs, plan)


def score_held_out(rows: LinearProblem, structure: Structure, effects: Float2D) -> Float2D:
    """Compute the log-likelihood of held-out blocks by block and joint, shape (folds, n).

    The model has parameters, terms, and random `effects`: torque of one standard deviation [N m],
    shape (N n, k).
    """
    if structure.terms:
        rows = add_term_columns(rows, structure.columns)
    columns = effects.reshape(rows.samples, rows.dof, -1)
    held_out = HeldOut.from_problem(rows, columns, random=True)
    return held_out.score_by_joint(np.arange(held_out.products.shape[-1] - 1))
