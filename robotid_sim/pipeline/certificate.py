"""Whether a study depends on the engine: its log comes from one, its model is proved in the other.

An identification that is proved in the engine that made its log may fit what that engine does wrong
(the "inverse crime"). Here one excitation runs in both engines, with independent sensor noise; both
logs are identified, and either model predicts the unseen log of either engine and runs the closed
loop there. The two estimates are of one robot: their difference must be what their covariances say.
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
"""Builds the study of a seed; a function of a module, or a `functools.partial` of one."""


@public_value
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Certificate:
    """Studies of several seeds in both engines, and the verdict on all of them together."""

    robot: str
    engines: tuple[str, ...]
    crossings: tuple[EngineComparison, ...]
    """One a seed."""
    verdict: VerdictResult

    @property
    def proofs(self) -> tuple[EngineValidation, ...]:
        """The proofs of all seeds."""
        return tuple(proof for crossing in self.crossings for proof in crossing.validations)

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
            "validations": [proof.content() for proof in self.proofs],
            "differences": [pair.content() for pair in self.differences],
            "coverage": self.share_within,
            "verdict": self.verdict.model_dump(mode="json"),
        }


def certificate(
    setup_of: SetupOfSeed, seeds: Sequence[int], *, workers: int = 1, progress: Progress = silent
) -> Certificate:
    """Run the study of every seed in both engines, and judge all of them together.

    `setup_of` returns the built values of the study of a seed: nominal model, excitation and noise
    are its own. Workers are for the seeds, or for the loops of a single one. Raises
    `MissingExtraError` if an engine is not installed.
    """
    engines = both_engines()
    if len(seeds) == 1:
        setup = setup_of(seeds[0])
        runs = engine_runs(setup, engines, workers=workers, progress=progress)
        crossings = [compare_engines(setup, runs, workers=workers, progress=progress)]
    else:
        crossings = map_tasks(
            partial(_cross_seed, setup_of, engines, seeds[0]),
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
        Studies, of the seeds from that of the configuration on, judged together.
    seed : int, optional
        The first one; by default that of the configuration.
    workers : int
        Processes; the result does not depend on their number.
    progress : callable
        Called with the stage and the share done.

    Returns
    -------
    certificate : Certificate
        The proofs in both engines, and the verdict on them.

    Raises
    ------
    MissingExtraError
        If an engine is not installed.
    OptionError, UnknownNameError, InfeasibleError
        As by `build_setup`.
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


def _cross_seed(
    setup_of: SetupOfSeed, engines: Sequence[str], first: int, seed: int
) -> EngineComparison:
    """Return the study of a seed, with the runs of the first one alone: they are large."""
    setup = setup_of(seed)
    crossed = compare_engines(setup, engine_runs(setup, engines))
    return crossed if seed == first else replace(crossed, excitation=None)


def judge(crossings: Sequence[EngineComparison]) -> VerdictResult:
    """Return the verdict on the studies of all seeds: the worst proof, the pooled differences.

    The limits are those of the first one.
    """
    limits = crossings[0].limits
    crossed = [proof for c in crossings for proof in c.validations if proof.has_other_engine]
    failed = sum(c.failed_loops for c in crossings)
    gaps = [proof.remaining_gap for proof in crossed]
    with_laps = any(gap is not None for gap in gaps)
    checks = [
        _worst(
            "model_predicts_other_engine",
            crossed,
            [p.worst_error for p in crossed],
            limits.model_error,
        ),
        *(
            [_worst("tracking_gap_closed_in_other_engine", crossed, gaps, limits.gap)]
            if with_laps
            else []
        ),
        CheckResult.from_limit("all_closed_loops_completed", float(failed), 0.0),
        *_difference_checks([c.difference for c in crossings], limits.false_alarm),
    ]
    return VerdictResult(passed=all(check.passed for check in checks), checks=checks)


def _worst(
    name: str, proofs: Sequence[EngineValidation], values: Sequence[float | None], limit: float
) -> CheckResult:
    """Return the check of the largest value, which says whose it is; a missing one fails."""
    sizes = [np.inf if value is None else value for value in values]
    k = int(np.argmax(sizes))
    proof = proofs[k]
    source, target = (ENGINES[name].words for name in (proof.identified_in, proof.validated_in))
    whose = f"(identified in {source}, proved in {target}, seed {proof.seed})"
    return CheckResult.from_limit(name, values[k], limit).model_copy(update={"message": whose})


def _difference_checks(
    differences: Sequence[Difference | None], false_alarm: float
) -> list[CheckResult]:
    """Return the checks of the pooled differences; they fail if a fit failed.

    Without enough blocks of residuals there is no test of all parameters at once.
    """
    pairs = [pair for pair in differences if pair is not None]
    if len(pairs) < len(differences):
        failed = CheckResult.from_limit("differences_within_intervals", None, 1.0)
        return [failed.model_copy(update={"message": "(a fit failed)"})]
    tested = [pair for pair in pairs if pair.f_dof is not None]
    checks = []
    if tested:
        squared = float(np.mean([pair.chi_squared / pair.rank for pair in tested]))
        band = difference_range(tested, false_alarm)
        checks.append(CheckResult.from_range("estimates_agree_jointly", squared, *band))
    least = share_limit(pairs, false_alarm)
    share = _share_within(pairs)
    checks.append(CheckResult.from_range("differences_within_intervals", share, least, 1.0))
    return checks


def _share_within(pairs: Sequence[Difference]) -> float | None:
    """Return the share of all parameters of several pairs; None without any."""
    counts = [len(pair.names) for pair in pairs]
    if not counts:
        return None
    return float(np.average([pair.share_within for pair in pairs], weights=counts))
