"""Test whether a study depends on the engine: identify in one, validate in the other.

An identification that is validated in the engine of its log may fit errors of that engine (the
"inverse crime"). Here one excitation runs in both engines, with independent sensor noise. Each
model is validated in both engines, on a validation motion and in the closed loop. The difference of
the two estimates must agree with their covariances.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from robotid_sim.engine.engines import ENGINES
from robotid_sim.model.robot import Robot
from robotid_sim.parallel import keep_workers, map_tasks
from robotid_sim.pipeline.build import Setup, build_setup
from robotid_sim.pipeline.build_robot import build_robot
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.engine_comparison import (
    EngineComparison,
    EngineValidation,
    both_engines,
    compare_engines,
    engine_runs,
)
from robotid_sim.pipeline.result import CheckResult, VerdictResult
from robotid_sim.progress import Progress, silent
from robotid_sim.representation import public_value
from robotid_sim.validation.agreement import Difference
from robotid_sim.validation.fit_tests import difference_range, share_limit

SetupOfSeed = Callable[[int], Setup]
"""Function that builds the study of a seed; it must be possible to pickle it for workers."""


@public_value
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Certificate:
    """Studies of several seeds in both engines, and the verdict on all of them together."""

    robot: str
    engines: tuple[str, ...]
    engine_comparisons: tuple[EngineComparison, ...]
    """One comparison per seed."""
    verdict: VerdictResult

    @property
    def validations(self) -> tuple[EngineValidation, ...]:
        """The validations of all seeds."""
        return tuple(v for comparison in self.engine_comparisons for v in comparison.validations)

    @property
    def differences(self) -> tuple[Difference, ...]:
        """The differences of the estimates of all seeds, if available."""
        return tuple(c.difference for c in self.engine_comparisons if c.difference is not None)

    @property
    def share_within(self) -> float | None:
        """Share of all parameters whose difference lies within its interval."""
        return _share_within(self.differences)

    def content(self) -> dict[str, Any]:
        """Return the certificate as JSON values."""
        return {
            "robot": self.robot,
            "engines": list(self.engines),
            "seeds": [comparison.seed for comparison in self.engine_comparisons],
            "validations": [validation.content() for validation in self.validations],
            "differences": [pair.content() for pair in self.differences],
            "coverage": self.share_within,
            "verdict": self.verdict.model_dump(mode="json"),
        }


def certificate(
    setup_of: SetupOfSeed, seeds: Sequence[int], *, workers: int = 1, progress: Progress = silent
) -> Certificate:
    """Run the study of every seed in both engines, and judge all of them together.

    `setup_of` builds the study of a seed, with its nominal model, excitation and noise. Workers
    share the seeds, or the closed loops of a single seed. Raises `MissingExtraError` if an engine
    is not installed.
    """
    engines = both_engines()
    if len(seeds) == 1:
        setup = setup_of(seeds[0])
        runs = engine_runs(setup, engines, workers=workers, progress=progress)
        comparisons = [compare_engines(setup, runs, workers=workers, progress=progress)]
    else:
        comparisons = map_tasks(
            partial(_compare_for_seed, setup_of, engines, seeds[0]),
            seeds,
            workers,
            lambda share: progress("certify", share),
        )
    return Certificate(
        robot=comparisons[0].robot,
        engines=engines,
        engine_comparisons=tuple(comparisons),
        verdict=judge(comparisons),
    )


def certify(
    robot: str | Path | Robot,
    config: StudyConfig | None = None,
    *,
    seeds: int = 1,
    seed: int | None = None,
    workers: int = 1,
    progress: Progress = silent,
) -> Certificate:
    """Test that a study does not depend on the engine: identify in one, validate in the other.

    Parameters
    ----------
    robot : str, Path or Robot
        The plant.
    config : StudyConfig, optional
        Settings of the study.
    seeds : int
        Number of studies with consecutive seeds, judged together.
    seed : int, optional
        First seed; by default that of the configuration.
    workers : int
        Processes; the result does not depend on their number.
    progress : callable
        Called with the stage and the share done.

    Returns
    -------
    certificate : Certificate
        The validations in both engines, and the verdict on them.

    Raises
    ------
    MissingExtraError
        If an engine is not installed.
    OptionError, UnknownNameError, InfeasibleError
        See `build_setup`.
    """
    both_engines()
    config = (config or StudyConfig()).with_seed(seed)
    plant = build_robot(robot, config.robot)
    numbers = range(config.seed, config.seed + seeds)
    setup_of = partial(_setup_of_seed, plant, config)
    with keep_workers():
        return certificate(setup_of, numbers, workers=workers, progress=progress)


def _setup_of_seed(plant: Robot, config: StudyConfig, seed: int) -> Setup:
    return build_setup(plant, config.with_seed(seed))


def _compare_for_seed(
    setup_of: SetupOfSeed, engines: Sequence[str], first: int, seed: int
) -> EngineComparison:
    """Compare the engines for a seed; only the first seed keeps its large logs."""
    setup = setup_of(seed)
    comparison = compare_engines(setup, engine_runs(setup, engines))
    return comparison if seed == first else replace(comparison, excitation=None)


def judge(comparisons: Sequence[EngineComparison]) -> VerdictResult:
    """Judge the studies of all seeds by the worst validation and the pooled differences.

    The limits are those of the first seed.
    """
    limits = comparisons[0].limits
    validations = [v for c in comparisons for v in c.validations if v.has_other_engine]
    failed = sum(c.failed_loops for c in comparisons)
    gaps = [validation.remaining_gap for validation in validations]
    with_laps = any(gap is not None for gap in gaps)
    checks = [
        _check_largest(
            "model_predicts_other_engine",
            validations,
            [v.worst_error for v in validations],
            limits.model_error,
        ),
        *(
            [_check_largest("tracking_gap_closed_in_other_engine", validations, gaps, limits.gap)]
            if with_laps
            else []
        ),
        CheckResult.from_limit("all_closed_loops_completed", float(failed), 0.0),
    ]
    pairs = [c.difference for c in comparisons if c.difference is not None]
    if len(pairs) < len(comparisons):
        incomplete = CheckResult.from_limit("differences_within_intervals", None, 1.0)
        checks.append(incomplete.model_copy(update={"message": "(a fit failed)"}))
    else:
        tested = [pair for pair in pairs if pair.f_dof is not None]
        if tested:  # enough blocks of residuals for a joint test of all parameters
            squared = float(np.mean([pair.chi_squared / pair.rank for pair in tested]))
            band = difference_range(tested, limits.false_alarm)
            checks.append(CheckResult.from_range("estimates_agree_jointly", squared, *band))
        limit, share = share_limit(pairs, limits.false_alarm), _share_within(pairs)
        checks.append(CheckResult.from_range("differences_within_intervals", share, limit, 1.0))
    return VerdictResult(passed=all(check.passed for check in checks), checks=checks)


def _check_largest(
    name: str, validations: Sequence[EngineValidation], values: Sequence[float | None], limit: float
) -> CheckResult:
    """Check the largest value and name its engines and seed; a missing value fails."""
    sizes = [np.inf if value is None else value for value in values]
    k = int(np.argmax(sizes))
    worst = validations[k]
    source, target = (ENGINES[name].words for name in (worst.identified_in, worst.validated_in))
    origin = f"(identified in {source}, validated in {target}, seed {worst.seed})"
    return CheckResult.from_limit(name, values[k], limit).model_copy(update={"message": origin})


def _share_within(pairs: Sequence[Difference]) -> float | None:
    """Compute the share of all differences within their intervals; None without pairs."""
    counts = [len(pair.names) for pair in pairs]
    if not counts:
        return None
    return float(np.average([pair.share_within for pair in pairs], weights=counts))
