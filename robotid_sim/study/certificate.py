"""Whether a study depends on the engine: its log comes from one, its model is proved in the other.

An identification that is proved in the engine that made its log may fit what that engine does wrong
(the "inverse crime"). Here one excitation runs in both engines, with independent sensor noise; both
logs are identified, and either model predicts the unseen log of either engine and runs the closed
loop there. The two estimates are of one robot: their difference must be what their covariances say.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.engine.engines import ENGINES, engine_named
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.experiment.conditions import Undisturbed
from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.parallel import map_tasks
from robotid_sim.progress import Progress, silent
from robotid_sim.representation import public_value
from robotid_sim.study.config import VerdictLimits
from robotid_sim.study.excitation import design
from robotid_sim.study.result import CheckResult, VerdictResult, finite
from robotid_sim.study.setup import Setup
from robotid_sim.study.stages import (
    Identification,
    covariance_blocks,
    identify,
    intervals_of,
    simulate,
)
from robotid_sim.threads import one_blas_thread
from robotid_sim.trajectory.reference import Excitation
from robotid_sim.validation.agreement import ComparedEstimate, Difference, compare_estimates
from robotid_sim.validation.closed_loop import UNDISTURBED, ClosedLoop, Comparison, closed_loop
from robotid_sim.validation.honesty import difference_range, share_limit
from robotid_sim.validation.prediction import predict

SetupOfSeed = Callable[[int], Setup]
"""Builds the study of a seed; a function of a module, or a `functools.partial` of one."""


@public_value
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Proof:
    """What a model identified in one engine is worth in another, or in the same."""

    seed: int
    identified_in: str
    proved_in: str
    model_error: Float1D | None
    """RMS error on the unseen motion over the RMS torque, shape (n,); None if the fit failed."""
    gap_left: float | None
    """Share of the tracking gap that is left, worst lap; None without laps or model."""

    @property
    def crosses(self) -> bool:
        """Whether the engines differ."""
        return self.identified_in != self.proved_in

    @property
    def worst_error(self) -> float | None:
        """Model error of the worst joint."""
        return None if self.model_error is None else finite(float(self.model_error.max()))

    def content(self) -> dict[str, Any]:
        """Return the proof as JSON values."""
        error = None if self.model_error is None else self.model_error.tolist()
        gap = None if self.gap_left is None else finite(self.gap_left)
        return {
            "seed": self.seed,
            "identified_in": self.identified_in,
            "proved_in": self.proved_in,
            "model_error_relative": error,
            "tracking_gap_left": gap,
        }


@public_value
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Crossing:
    """One study in both engines, proved in both."""

    robot: str
    seed: int
    proofs: tuple[Proof, ...]
    """Every engine of the identification with every one of the proof."""
    difference: Difference | None
    """The second engine's estimate minus the first's; None if a fit failed."""
    failed_loops: int
    assumptions: tuple[str, ...]
    limits: VerdictLimits
    settings: str
    """Configuration of the study where it differs from the defaults, as JSON."""


@public_value
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Certificate:
    """Studies of several seeds in both engines, and the verdict on all of them together."""

    robot: str
    engines: tuple[str, ...]
    crossings: tuple[Crossing, ...]
    """One a seed."""
    verdict: VerdictResult

    @property
    def proofs(self) -> tuple[Proof, ...]:
        """The proofs of all seeds."""
        return tuple(proof for crossing in self.crossings for proof in crossing.proofs)

    @property
    def differences(self) -> tuple[Difference, ...]:
        """The differences of the estimates, of all seeds that have one."""
        return tuple(c.difference for c in self.crossings if c.difference is not None)

    @property
    def share_within(self) -> float | None:
        """Share of all parameters whose difference lies within its interval."""
        return _share_within(self.differences)

    def content(self) -> dict[str, Any]:
        """Return the certificate as JSON values."""
        return {
            "robot": self.robot,
            "engines": list(self.engines),
            "seeds": [crossing.seed for crossing in self.crossings],
            "proofs": [proof.content() for proof in self.proofs],
            "differences": [pair.content() for pair in self.differences],
            "share_within": self.share_within,
            "verdict": self.verdict.model_dump(mode="json"),
        }


def both_engines() -> tuple[str, ...]:
    """Return the names of the engines; raise `MissingExtraError` unless all are installed."""
    return tuple(engine_named(name) for name in ENGINES)


def certificate(
    setup_of: SetupOfSeed, seeds: Sequence[int], *, workers: int = 1, progress: Progress = silent
) -> Certificate:
    """Run the study of every seed in both engines, and judge all of them together.

    Parameters
    ----------
    setup_of : callable
        Returns the built values of the study of a seed: nominal model, excitation and noise are its
        own.
    seeds : sequence of int
        One or more.
    workers : int
        Processes: for the seeds, or for the loops of a single one.
    progress : callable
        Called with the stage and the share done.

    Raises
    ------
    MissingExtraError
        If an engine is not installed.
    """
    engines = both_engines()
    if len(seeds) == 1:
        crossings = [crossing(setup_of(seeds[0]), engines, workers=workers, progress=progress)]
    else:
        crossings = map_tasks(
            partial(_crossing_of_seed, setup_of, engines),
            seeds,
            workers,
            lambda share: progress("certify", share),
        )
    return Certificate(
        robot=crossings[0].robot,
        engines=engines,
        crossings=tuple(crossings),
        verdict=judge(crossings),
    )


def _crossing_of_seed(setup_of: SetupOfSeed, engines: Sequence[str], seed: int) -> Crossing:
    return crossing(setup_of(seed), engines)


@one_blas_thread()
def crossing(
    setup: Setup, engines: Sequence[str], *, workers: int = 1, progress: Progress = silent
) -> Crossing:
    """Run a study in two engines, with one excitation and independent noise, and prove it in both.

    The engine of the setup's own cell plays no part.
    """
    streams, nominal = setup.streams, setup.nominal
    designs = design(
        nominal,
        setup.basis,
        setup.excitation,
        streams("design"),
        workers=workers,
        progress=progress,
    )
    if designs.interrupted:
        raise KeyboardInterrupt
    setups = {name: replace(setup, cell=replace(setup.cell, engine=name)) for name in engines}
    fits = {
        name: _identified(setups[name], designs.trajectories[0], name, progress) for name in engines
    }
    proofs, failed = [], 0
    for name in engines:
        rng = streams(f"{name} unseen measure")
        unseen = simulate(setups[name].cell, setup.unseen, rng, progress=progress)
        loop = _closed_loop(setups[name], fits, workers, progress)
        failed += 0 if loop is None else len(loop.failures)
        proofs += [_proof(setup, source, name, fit, unseen, loop) for source, fit in fits.items()]
    return Crossing(
        robot=setup.cell.plant.name,
        seed=streams.seed,
        proofs=tuple(sorted(proofs, key=lambda proof: engines.index(proof.identified_in))),
        difference=_difference(fits),
        failed_loops=failed,
        assumptions=tuple(setup.assumptions),
        limits=setup.limits,
        settings=setup.settings,
    )


def _identified(
    setup: Setup, trajectory: Excitation, engine: str, progress: Progress
) -> Identification:
    """Return what the log of one engine gives."""
    streams = setup.streams
    log = simulate(setup.cell, trajectory, streams(f"{engine} measure"), progress=progress)
    rng = streams(f"{engine} identify")
    return identify(log, setup.nominal, setup.basis, setup.fit, rng, progress=progress)


def _loop_name(engine: str) -> str:
    """Return what a model is called in the loop."""
    return f"identified in {engine}"


def _closed_loop(
    setup: Setup, fits: Mapping[str, Identification], workers: int, progress: Progress
) -> ClosedLoop | None:
    """Run the laps in one engine with the models of all; None without laps or models."""
    if setup.comparison is None:
        return None
    models: dict[str, Robot | Sequence[Robot]] = {
        _loop_name(name): fit.lift.robot for name, fit in fits.items() if fit.lift is not None
    }
    laps = {name: task for name, task in setup.comparison.tasks.items() if not task.is_step}
    if not laps or not models:
        return None
    comparison: Comparison = replace(
        setup.comparison,
        controllers=dict([next(iter(setup.comparison.controllers.items()))]),
        baselines={},
        tasks=laps,
        scenarios={UNDISTURBED: (Undisturbed(),)},
        runs=1,
    )
    rng = setup.streams("control")
    return closed_loop(
        setup.cell, setup.nominal, models, rng, comparison, workers=workers, progress=progress
    )


def _proof(
    setup: Setup,
    source: str,
    target: str,
    fit: Identification,
    unseen: Log,
    loop: ClosedLoop | None,
) -> Proof:
    """Return what the model of the engine `source` is worth in the engine `target`."""
    error = None
    if fit.chosen.success:
        predicted = predict(fit.chosen.beta, unseen, fit.nominal, fit.basis, fit.preprocessor)
        error = predicted.model_error_relative
    units = setup.cell.plant.joint_units
    return Proof(
        seed=setup.streams.seed,
        identified_in=source,
        proved_in=target,
        model_error=error,
        gap_left=None if loop is None else loop.gap_left(units, _loop_name(source)),
    )


def _difference(fits: Mapping[str, Identification]) -> Difference | None:
    """Return the difference of the estimates of both engines; None if a fit failed."""
    compared = [_compared_estimate(ENGINES[name].words, fit) for name, fit in fits.items()]
    sound = [estimate for estimate in compared if estimate is not None]
    return compare_estimates(sound).pairs[0] if len(sound) == len(fits) else None


def _compared_estimate(label: str, fit: Identification) -> ComparedEstimate | None:
    """Return the estimate whose error is that of the noise alone; None if it failed.

    A covariance says nothing of an estimate that constraints move, so weighted least squares of the
    same rows stands for it, as in the verdict of a study. Its variances are those of its intervals,
    which have no bias, where those of `Estimate.cov` err on the large side.
    """
    estimate = fit.chosen
    if not estimate.unbiased:
        estimate = WeightedLeastSquares().fit(fit.problem, np.random.default_rng(0))
    intervals = intervals_of(fit, estimate)
    if intervals is None:
        return None
    scale = intervals.std / estimate.std
    assert estimate.cov is not None
    estimate = replace(estimate, cov=estimate.cov * np.outer(scale, scale))
    # As in `compare`: errors of torque constants are held to first order only.
    blocks = None if fit.torque_gain_std else covariance_blocks(fit, estimate)
    return ComparedEstimate(label, estimate, fit.basis.groupings, dof=intervals.dof, blocks=blocks)


def judge(crossings: Sequence[Crossing]) -> VerdictResult:
    """Return the verdict on the studies of all seeds: the worst proof, the pooled differences.

    The limits are those of the first one.
    """
    limits = crossings[0].limits
    crossed = [proof for c in crossings for proof in c.proofs if proof.crosses]
    failed = sum(c.failed_loops for c in crossings)
    checks = [
        _worst(
            "model_error_crossed", crossed, [p.worst_error for p in crossed], limits.model_error
        ),
        *_gap_checks(crossed, limits),
        CheckResult.at_most("failed_loops", float(failed), 0.0),
        *_difference_checks([c.difference for c in crossings], limits.false_alarm),
    ]
    return VerdictResult(passed=all(check.passed for check in checks), checks=checks)


def _gap_checks(crossed: Sequence[Proof], limits: VerdictLimits) -> list[CheckResult]:
    """Return the check of the tracking gap; none for studies without laps."""
    gaps = [proof.gap_left for proof in crossed]
    if all(gap is None for gap in gaps):
        return []
    return [_worst("tracking_gap_crossed", crossed, gaps, limits.gap)]


def _worst(
    name: str, proofs: Sequence[Proof], values: Sequence[float | None], limit: float
) -> CheckResult:
    """Return the check of the largest value, which says whose it is; a missing one fails."""
    sizes = [np.inf if value is None else value for value in values]
    k = int(np.argmax(sizes))
    proof = proofs[k]
    source, target = (ENGINES[name].words for name in (proof.identified_in, proof.proved_in))
    whose = f"(identified in {source}, proved in {target}, seed {proof.seed})"
    return CheckResult.at_most(name, values[k], limit).model_copy(update={"message": whose})


def _difference_checks(
    differences: Sequence[Difference | None], false_alarm: float
) -> list[CheckResult]:
    """Return the checks of the pooled differences; they fail if a fit failed.

    Without enough blocks of residuals there is no test of all parameters at once.
    """
    pairs = [pair for pair in differences if pair is not None]
    if len(pairs) < len(differences):
        failed = CheckResult.at_most("difference_within_intervals", None, 1.0)
        return [failed.model_copy(update={"message": "(a fit failed)"})]
    tested = [pair for pair in pairs if pair.f_dof is not None]
    checks = []
    if tested:
        squared = float(np.mean([pair.chi_squared / pair.rank for pair in tested]))
        band = difference_range(tested, false_alarm)
        checks.append(CheckResult.between("difference_in_band", squared, *band))
    least = share_limit(pairs, false_alarm)
    share = _share_within(pairs)
    checks.append(CheckResult.between("difference_within_intervals", share, least, 1.0))
    return checks


def _share_within(pairs: Sequence[Difference]) -> float | None:
    """Return the share of all parameters of several pairs; None without any."""
    counts = [len(pair.names) for pair in pairs]
    if not counts:
        return None
    return float(np.average([pair.share_within for pair in pairs], weights=counts))
