"""Data left out of a fit, and what the fit predicts of them.

Ways to say what is left out: ``last:30%`` of every log, ``blocks:4``, every fourth of each log in
turn, or a log of its own. Blocks are cross-validation: the estimate is that of all data, and every
block is predicted by a fit of the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robotid_sim.docstrings import documented
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import LogError, OptionError
from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.fit_plan import FitPlan
from robotid_sim.pipeline.identification import Identification
from robotid_sim.pipeline.stages import fit_logs
from robotid_sim.progress import Progress, silent
from robotid_sim.threads import one_blas_thread
from robotid_sim.validation.log_prediction import LogPrediction, by_positions, pooled, predict_log
from robotid_sim.validation.predictive_band import ModelError, error_of

LAST = "last"
BLOCKS = "blocks"

LARGEST_SHARE = 0.9
"""Largest share of a log that may be held out."""

MOST_BLOCKS = 20

SHORTEST = 2.5
"""Shortest part of a log of which a prediction leaves rows [s]."""


@documented
@dataclass(frozen=True, slots=True)
class HoldOut:
    """What is left out of the fit of some logs."""

    share: float = 0.0
    """Share of every log, its last part; 0 for none."""
    blocks: int = 0
    """Blocks of every log, each left out in turn; 0 for none."""
    logs: tuple[Log, ...] = ()
    """Logs that are predicted only."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.share <= LARGEST_SHARE or self.blocks not in (
            0,
            *range(2, MOST_BLOCKS + 1),
        ):
            raise OptionError(
                f"held out can be up to {100 * LARGEST_SHARE:g} % of a log or 2 to {MOST_BLOCKS} "
                f"blocks; got {100 * self.share:g} % and {self.blocks} blocks"
            )
        if bool(self.share) + bool(self.blocks) + bool(self.logs) != 1:
            raise OptionError("held out is a share, blocks or logs: give one of them")

    @classmethod
    def of(cls, what: "HoldOut | str | Sequence[Log]") -> "HoldOut":
        """Return ``last:30%``, ``blocks:4`` or logs as a value."""
        if isinstance(what, HoldOut):
            return what
        return cls.parse(what) if isinstance(what, str) else cls(logs=tuple(what))

    @property
    def text(self) -> str:
        """What is left out, as it is given; empty for logs."""
        if self.blocks:
            return f"{BLOCKS}:{self.blocks}"
        return f"{LAST}:{100.0 * self.share:g}%" if self.share else ""

    @classmethod
    def parse(cls, text: str) -> "HoldOut":
        """Return ``last:30%`` or ``blocks:4`` as a value."""
        kind, _, number = text.partition(":")
        try:
            if kind == BLOCKS:
                return cls(blocks=int(number))
            if kind == LAST and number.endswith("%"):
                return cls(share=float(number[:-1]) / 100.0)
        except ValueError as error:
            if isinstance(error, OptionError):
                raise
        raise OptionError(
            f"'{text}' does not say what to hold out; give last:30%, blocks:4 or a log"
        )


def fit_and_predict(
    logs: Sequence[Log],
    held: HoldOut | None,
    nominal: Robot,
    basis: BaseParameters,
    plan: FitPlan,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> tuple[Identification, LogPrediction | None]:
    """Identify from logs without what is held out, and predict that.

    Parameters as of `pipeline.stages.fit_logs`; the prediction is of all that is held out,
    None if nothing is or the fit failed.
    """
    if held is None:
        return fit_logs(logs, nominal, basis, plan, rng, progress=progress), None
    _require_lengths(logs, held)
    if held.blocks:
        fit = fit_logs(logs, nominal, basis, plan, rng, progress=progress)
        if not fit.chosen.success:
            return fit, None
        blocks = (_of_block(k, held.blocks, logs, fit, plan, rng) for k in range(held.blocks))
        return fit, pooled([part for block in blocks for part in block])
    fit = fit_logs(training_logs(logs, held), nominal, basis, plan, rng, progress=progress)
    test = held.logs or [log.cut(slice(_end(log, held.share), None)) for log in logs]
    if not fit.chosen.success:
        return fit, None
    return fit, pooled([predicted(fit, log, plan) for log in test])


def _require_lengths(logs: Sequence[Log], held: HoldOut) -> None:
    """Raise `OptionError` if what is held out of a log is too short for a prediction."""
    share = held.share or (1.0 / held.blocks if held.blocks else 1.0)
    shortest = min(float(log.t[-1] - log.t[0]) for log in held.logs or logs)
    if share * shortest < SHORTEST:
        raise OptionError(
            f"held out are {share * shortest:.3g} s of a log of {shortest:.4g} s; a prediction "
            f"needs {SHORTEST:g} s: hold out more, or fewer blocks"
        )


def training_logs(logs: Sequence[Log], held: HoldOut | None) -> list[Log]:
    """Return what the estimate is fitted to: of blocks, all."""
    share = 0.0 if held is None else held.share
    return [log.cut(slice(0, _end(log, share))) for log in logs]


def _end(log: Log, share: float) -> int:
    """Return how many samples are left of a log whose last part is a share of them."""
    return log.t.size - round(share * log.t.size)


def predicted(
    fit: Identification, log: Log, plan: FitPlan, error: ModelError | None = None
) -> LogPrediction:
    """Return what a fit predicts of a log, with the delay and friction velocities of the fit.

    With the error of its model there is a band about the prediction.
    """
    if not fit.chosen.success:
        raise LogError(f"nothing to predict with: the fit failed: {fit.chosen.message}")
    preprocessor = by_positions(plan.preprocessor, fit.preprocessor.delay)
    given = (fit.chosen.beta, log, fit.nominal, fit.basis, preprocessor, fit.discrepancy.lacks)
    return predict_log(*given, fit.structure.robot_terms(), error)


def _of_block(
    k: int,
    count: int,
    logs: Sequence[Log],
    whole: Identification,
    plan: FitPlan,
    rng: np.random.Generator,
) -> list[LogPrediction]:
    """Return what a fit of all blocks but number k predicts of it, a prediction a log."""
    training, test = [], []
    for log in logs:
        ends = np.linspace(0, log.t.size, count + 1).astype(int)
        test.append(log.cut(slice(ends[k], ends[k + 1])))
        if k > 0:
            training.append(log.cut(slice(0, ends[k])))
        if k < count - 1:
            training.append(log.cut(slice(ends[k + 1], log.t.size)))
    # Friction velocities are a few numbers of all data; parameters are fitted anew.
    known = replace(plan, estimate_eps=False, estimate_gravity=False)
    fit = fit_logs(training, whole.nominal, whole.basis, known, rng)
    return [predicted(fit, log, known) for log in test]


@one_blas_thread()
def measured_error(
    fit: Identification, logs: Sequence[Log], plan: FitPlan, held_out: LogPrediction | None = None
) -> ModelError:
    """Return how far predictions of a fit may be off: by data held out, else by its own logs."""
    prediction = held_out or pooled([predicted(fit, log, plan) for log in logs])
    return error_of(fit.plain, fit.chosen.beta, fit.discrepancy, prediction.identified.torque_rms)
