"""Run one excitation in several engines, identify from each log, validate in each engine.

The difference of the estimates must agree with their covariances. Every model predicts the
validation motion of every engine and runs the closed loop there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.engine.engines import ENGINES, engine_named
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.experiment.conditions import Undisturbed
from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build import Setup
from robotid_sim.pipeline.config_tables import VerdictLimits
from robotid_sim.pipeline.excitation import design_excitation
from robotid_sim.pipeline.identification import Identification
from robotid_sim.pipeline.identify import identify
from robotid_sim.pipeline.result import finite
from robotid_sim.pipeline.simulate import clean_run, measure_clean_log
from robotid_sim.progress import Progress, silent
from robotid_sim.representation import public_value
from robotid_sim.threads import one_blas_thread
from robotid_sim.validation.agreement import ComparedEstimate, Difference, compare_estimates
from robotid_sim.validation.closed_loop import ClosedLoop, run_closed_loops
from robotid_sim.validation.comparison import UNDISTURBED_NAME, Comparison
from robotid_sim.validation.prediction import predict


@public_value
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EngineValidation:
    """Validation in one engine of a model that was identified in the same or another engine."""

    seed: int
    identified_in: str
    validated_in: str
    model_error: Float1D | None
    """RMS error on the validation motion over the RMS torque, shape (n,); None for a failed fit."""
    remaining_gap: float | None
    """Remaining share of the tracking gap, worst lap; None without laps or model."""

    @property
    def has_other_engine(self) -> bool:
        """Whether the engines of identification and validation differ."""
        return self.identified_in != self.validated_in

    @property
    def worst_error(self) -> float | None:
        """Model error of the worst joint."""
        return None if self.model_error is None else finite(float(self.model_error.max()))

    def content(self) -> dict[str, Any]:
        """Return the validation as JSON values."""
        error = None if self.model_error is None else self.model_error.tolist()
        gap = None if self.remaining_gap is None else finite(self.remaining_gap)
        return {
            "seed": self.seed,
            "identified_in": self.identified_in,
            "validated_in": self.validated_in,
            "model_error_relative": error,
            "remaining_tracking_gap": gap,
        }


@public_value
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EngineComparison:
    """One study in both engines, validated in both."""

    robot: str
    seed: int
    validations: tuple[EngineValidation, ...]
    """Validations for every pair of identification engine and validation engine."""
    difference: Difference | None
    """Estimate from the second engine minus estimate from the first; None if a fit failed."""
    failed_loops: int
    assumptions: tuple[str, ...]
    limits: VerdictLimits
    settings: str
    """Settings of the study that differ from the defaults, as JSON."""
    excitation: Mapping[str, Log] | None = None
    """Logs of the excitation by engine; None if they are not kept."""


def both_engines() -> tuple[str, ...]:
    """Return the names of the engines; raise `MissingExtraError` unless all are installed."""
    return tuple(engine_named(name) for name in ENGINES)


def engine_title(name: str | None) -> str:
    """Return the title of an engine, by default of the first that is installed."""
    return ENGINES[engine_named(name)].words


EngineRuns = tuple[Mapping[str, Log], Mapping[str, Log]]
"""Clean logs of the designed excitation and of the validation motion, by engine."""


@one_blas_thread()
def engine_runs(
    setup: Setup, engines: Sequence[str], *, workers: int = 1, progress: Progress = silent
) -> EngineRuns:
    """Design one excitation, and run it and the validation motion in all engines.

    The engine in the cell of the setup is ignored.
    """
    designs = design_excitation(
        setup.nominal,
        setup.basis,
        setup.excitation,
        setup.streams("design"),
        workers=workers,
        progress=progress,
    )
    if designs.is_interrupted:
        raise KeyboardInterrupt
    cells = {name: replace(setup.cell, engine=name) for name in engines}
    excitation, unseen = (
        {name: clean_run(cell, path, progress=progress) for name, cell in cells.items()}
        for path in (designs.trajectories[0], setup.unseen)
    )
    return excitation, unseen


@one_blas_thread()
def compare_engines(
    setup: Setup, runs: EngineRuns, *, workers: int = 1, progress: Progress = silent
) -> EngineComparison:
    """Identify from the log of every engine, with independent noise, and validate in all engines.

    The setup gives the seed of the noise; workers share the closed loops.
    """
    excitation, unseen_runs = runs
    engines = tuple(excitation)
    setups = {name: replace(setup, cell=replace(setup.cell, engine=name)) for name in engines}
    fits = {name: _identify(setups[name], excitation[name], progress) for name in engines}
    validations, failed, units = [], 0, setup.cell.plant.joint_units
    for name in engines:
        rng = setup.streams(f"{name} unseen measure")
        unseen = measure_clean_log(setups[name].cell, unseen_runs[name], rng)
        loop = _run_closed_loop(setups[name], fits, workers, progress)
        failed += 0 if loop is None else len(loop.failures)
        for source, fit in fits.items():
            error, beta = None, fit.chosen.beta
            if fit.chosen.success:
                predicted = predict(beta, unseen, fit.nominal, fit.basis, fit.preprocessor)
                error = predicted.model_error_relative
            gap = None if loop is None else loop.gap_left(units, _loop_name(source))
            validations.append(
                EngineValidation(
                    seed=setup.streams.seed,
                    identified_in=source,
                    validated_in=name,
                    model_error=error,
                    remaining_gap=gap,
                )
            )
    compared = [_select_compared_estimate(ENGINES[name].words, fit) for name, fit in fits.items()]
    valid = [estimate for estimate in compared if estimate is not None]
    return EngineComparison(
        robot=setup.cell.plant.name,
        seed=setup.streams.seed,
        validations=tuple(sorted(validations, key=lambda v: engines.index(v.identified_in))),
        difference=(compare_estimates(valid).pairs[0] if len(valid) == len(fits) else None),
        failed_loops=failed,
        assumptions=tuple(setup.assumptions),
        limits=setup.limits,
        settings=setup.settings,
        excitation=excitation,
    )


def _identify(setup: Setup, clean: Log, progress: Progress) -> Identification:
    """Identify from the log of one engine."""
    cell, streams = setup.cell, setup.streams
    log = measure_clean_log(cell, clean, streams(f"{cell.engine} measure"))
    rng = streams(f"{cell.engine} identify")
    return identify(
        log,
        setup.nominal,
        basis=setup.basis,
        plan=setup.fit,
        check=False,
        rng=rng,
        progress=progress,
    )


def _loop_name(engine: str) -> str:
    """Name the model of an engine in the closed loop."""
    return f"identified in {engine}"


def _run_closed_loop(
    setup: Setup, fits: Mapping[str, Identification], workers: int, progress: Progress
) -> ClosedLoop | None:
    """Run the laps in one engine with the models of all engines; None without laps or models."""
    if setup.comparison is None:
        return None
    models: dict[str, Robot | Sequence[Robot]] = {
        _loop_name(name): fit.consistent_robot.robot
        for name, fit in fits.items()
        if fit.consistent_robot is not None
    }
    laps = {name: task for name, task in setup.comparison.tasks.items() if not task.is_step}
    if not laps or not models:
        return None
    comparison: Comparison = replace(
        setup.comparison,
        controllers=dict([next(iter(setup.comparison.controllers.items()))]),
        baselines={},
        tasks=laps,
        scenarios={UNDISTURBED_NAME: (Undisturbed(),)},
        runs=1,
    )
    rng = setup.streams("control")
    return run_closed_loops(
        setup.cell, setup.nominal, models, rng, comparison, workers=workers, progress=progress
    )


def _select_compared_estimate(label: str, fit: Identification) -> ComparedEstimate | None:
    """Return the unbiased estimate for the comparison; None if it failed.

    A constrained estimate is replaced by weighted least squares of the same rows, because its
    covariance does not describe its error. Its variances are the unbiased variances of the
    intervals; the variances in `Estimate.cov` are too large.
    """
    estimate = fit.chosen
    if not estimate.unbiased:
        estimate = WeightedLeastSquares().fit(fit.problem, np.random.default_rng(0))
    intervals = fit.intervals(estimate)
    if intervals is None:
        return None
    scale = intervals.std / estimate.std
    assert estimate.cov is not None
    estimate = replace(estimate, cov=estimate.cov * np.outer(scale, scale))
    # As in `compare`: the covariance contains gain errors to first order only.
    blocks = None if fit.drive_gain_std else fit.covariance_blocks(estimate)
    return ComparedEstimate(label, estimate, fit.basis.groupings, dof=intervals.dof, blocks=blocks)
