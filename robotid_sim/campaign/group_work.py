"""The work of a campaign: motions once, then every log with its fits and closed loops."""

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np

from robotid_sim.campaign.backend import TimeLimitError, limit_seconds
from robotid_sim.campaign.metrics import loop_metrics, metrics_of
from robotid_sim.campaign.store import DONE, FAILED, LATE, TrialRow
from robotid_sim.campaign.trial_list import Group, StudyTrial
from robotid_sim.errors import RobotIdError
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.problem import Estimator
from robotid_sim.experiment.conditions import Undisturbed
from robotid_sim.measurement.log import Log
from robotid_sim.pipeline.build import Setup, build_sensors, build_setup
from robotid_sim.pipeline.excitation import design_excitation
from robotid_sim.pipeline.fit_plan import build_fit
from robotid_sim.pipeline.identification import Identification
from robotid_sim.pipeline.identify import identify
from robotid_sim.pipeline.scoring import score_estimates
from robotid_sim.pipeline.simulate import clean_run, measure_clean_log
from robotid_sim.pipeline.stages import make_estimate_consistent
from robotid_sim.streams import Streams, make_stream
from robotid_sim.validation.closed_loop import ClosedLoop, make_undisturbed_task, run_closed_loops
from robotid_sim.validation.comparison import UNDISTURBED_NAME
from robotid_sim.validation.control_run import ControlRun, run_loop


class Motions(NamedTuple):
    """Shared motions of the trials of one cell and one design."""

    setup: Setup
    clean: Log
    """Noise-free log of the excitation."""
    unseen: Log
    """Noise-free log of the validation motion."""
    loop: ClosedLoop | None
    """Undisturbed closed-loop runs with the true and the nominal model; None without a closed
    loop."""


def make_motions(trial: StudyTrial, *, needs_loop: bool, limit: float | None) -> Motions | str:
    """Design and run the motions of a trial within `limit` [s]; return the reason of a failure."""
    try:
        with limit_seconds(limit):
            return _make_motions(trial, needs_loop=needs_loop)
    except TimeLimitError:
        return f"{LATE}: its design and rollouts take longer than {limit:g} s"
    except Exception as error:  # raised by a plugin, or because of the robot
        return _error_text(error)


def _make_motions(trial: StudyTrial, *, needs_loop: bool) -> Motions:
    control = trial.study.control.model_copy(update={"enabled": needs_loop})
    study = trial.study.model_copy(update={"control": control})
    setup = build_setup(trial.robot, study)
    designs = design_excitation(
        setup.nominal, setup.basis, setup.excitation, setup.streams("design")
    )
    clean = clean_run(setup.cell, designs.trajectories[0])
    unseen = clean_run(setup.cell, setup.unseen)
    if setup.comparison is None:
        return Motions(setup, clean, unseen, None)
    tasks = setup.comparison.tasks
    laps = {name: task for name, task in tasks.items() if not task.is_step} or tasks
    comparison = replace(setup.comparison, tasks=laps, baselines={})
    setup = replace(setup, comparison=comparison)
    return Motions(setup, clean, unseen, run_undisturbed_loop(setup))


@dataclass(frozen=True)
class GroupRunner:
    """Runs the trials of one log with their motions; passed to other processes."""

    arrays: tuple[str, ...]
    limit: float | None

    def __call__(self, work: tuple[Motions, Group]) -> list[TrialRow]:
        """Return a row per trial; the row of a failed trial contains its error."""
        motions, group = work
        began, rows = time.perf_counter(), []
        try:
            with limit_seconds(self.limit):
                for part_rows in self._run_group(motions, group):
                    rows += part_rows
        except TimeLimitError:
            done = {row.key for row in rows}
            late = f"the trials of its log took longer than {self.limit:g} s"
            spent = time.perf_counter() - began
            remaining = [trial for trial in group if trial.key not in done]
            rows += [_make_row(trial, LATE, late, spent / len(remaining)) for trial in remaining]
        return rows

    def _run_group(self, motions: Motions, group: Group) -> Any:
        """Yield the result rows of the trials that share the regressor rows."""
        streams = Streams(group[0].seed)
        sensors = build_sensors(group[0].study)
        cell = replace(motions.setup.cell, sensors=sensors)
        measured = Motions(
            replace(motions.setup, cell=cell),
            measure_clean_log(cell, motions.clean, streams("measure"), seed=group[0].seed),
            measure_clean_log(cell, motions.unseen, streams("unseen measure")),
            motions.loop,
        )
        by_rows: dict[str, list[StudyTrial]] = defaultdict(list)
        for trial in group:
            by_rows[trial.rows_key].append(trial)
        for members in by_rows.values():
            yield self._measure_rows(members, measured)

    def _measure_rows(self, trials: Sequence[StudyTrial], measured: Motions) -> list[TrialRow]:
        """Run the trials of one measured log, preprocessor and set of terms."""
        began = time.perf_counter()
        try:
            rows = self._estimate_rows(trials, measured)
        except TimeLimitError:
            raise
        except Exception as error:  # raised by an estimator or a plugin
            if len(trials) > 1:  # one trial may have caused it: run each alone
                separate = (self._measure_rows([trial], measured) for trial in trials)
                return [row for rows in separate for row in rows]
            return [_make_row(trials[0], FAILED, _error_text(error), time.perf_counter() - began)]
        spent = (time.perf_counter() - began) / len(trials)
        return [replace(row, seconds=spent) for row in rows]

    def _estimate_rows(self, trials: Sequence[StudyTrial], measured: Motions) -> list[TrialRow]:
        streams, setup = Streams(trials[0].seed), measured.setup
        first = build_fit(trials[0].study)
        estimators: dict[str, Estimator] = {}  # each under the key of its trial
        for trial in trials:
            trial_plan = build_fit(trial.study)
            estimator = trial_plan.estimators[trial_plan.chosen]
            independent = _IndependentEstimator(estimator, trial.seed, trial_plan.chosen)
            estimators[trial.key] = cast("Estimator", independent)
        plan = replace(
            first, estimators=estimators, chosen=trials[0].key, accounts_for_loop_noise=False
        )
        fit = identify(
            measured.clean,
            setup.nominal,
            basis=setup.basis,
            plan=plan,
            check=False,
            rng=streams("identify"),
        )
        results = score_estimates(setup.cell.plant, measured.unseen, fit)
        by_key = {e.estimator: (e, r) for e, r in zip(fit.estimates, results, strict=True)}
        loop = None if measured.loop is None else _add_models(measured.loop, setup, fit, streams)
        rows = []
        for trial in trials:
            estimate, result = by_key[trial.key]
            if not estimate.success:
                rows.append(_make_row(trial, FAILED, f"the fit failed: {estimate.message}", 0.0))
                continue
            metrics = metrics_of(result, estimate)
            if loop is not None:
                metrics |= loop_metrics(loop, trial.key, setup.cell.plant.joint_units)
            true = np.array([p.true for p in result.base_parameters], dtype=float)
            vectors = {"beta": estimate.beta, "std": estimate.std, "true": true}
            arrays = {name: vectors[name] for name in self.arrays}
            rows.append(replace(_make_row(trial, DONE, "", 0.0), metrics=metrics, arrays=arrays))
        return rows


def run_undisturbed_loop(setup: Setup) -> ClosedLoop:
    """Run the undisturbed tasks with the true and the nominal model; they have no noise."""
    assert setup.comparison is not None
    undisturbed = replace(setup.comparison, scenarios={UNDISTURBED_NAME: (Undisturbed(),)})
    return run_closed_loops(setup.cell, setup.nominal, {}, Streams(0)("control"), undisturbed)


def _add_models(
    shared: ClosedLoop, setup: Setup, fit: Identification, streams: Streams
) -> ClosedLoop:
    """Add the models of all estimates to the closed loop."""
    comparison = setup.comparison
    assert comparison is not None
    models, rng = {}, streams("control")
    for estimate in fit.estimates:
        consistent = make_estimate_consistent(estimate, fit.nominal, fit.basis)
        if consistent is not None:
            models[estimate.estimator] = consistent.robot
    if set(comparison.scenarios) != {UNDISTURBED_NAME} or len(comparison.controllers) > 1:
        return run_closed_loops(setup.cell, setup.nominal, models, rng, comparison)
    first = [
        make_undisturbed_task(setup.cell, shared.gains, t, rng, comparison) for t in shared.tasks
    ]
    tasks = [
        replace(task, model=model, model_name=name, traced=False)
        for task in first
        for name, model in models.items()
    ]
    runs = [run for task in tasks if isinstance(run := run_loop(task), ControlRun)]
    return replace(shared, runs=(*shared.runs, *runs))


class _IndependentEstimator:
    """An estimator whose random numbers do not depend on other estimators."""

    def __init__(self, estimator: Estimator, seed: int, name: str) -> None:
        self._estimator, self._seed, self._name = estimator, seed, name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._estimator, name)

    def fit(self, problem: Any, _rng: np.random.Generator) -> Estimate:
        """Estimate with the random stream of the name of the estimator."""
        return self._estimator.fit(problem, make_stream(self._seed, "estimator", self._name))


def _make_row(trial: StudyTrial, status: str, error: str, seconds: float) -> TrialRow:
    return TrialRow(trial.key, trial.factors, trial.seed, status, error, seconds)


def _error_text(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, RobotIdError) else f"{type(error).__name__}: {text}"
