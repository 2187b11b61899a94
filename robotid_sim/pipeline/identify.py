"""From logs to an identified robot: what the command, a study and a campaign all call."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from robotid_sim.diagnostics.contradictions import contradictions
from robotid_sim.docstrings import document_attributes
from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.errors import LogError, OptionError
from robotid_sim.importing.reading import Logs, ReadLog
from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.fit_plan import (
    ConstantSource,
    EstimationConfig,
    Estimators,
    FitPlan,
    fit_plan,
)
from robotid_sim.pipeline.identification import HeldOutPrediction, Identification, add_warning
from robotid_sim.pipeline.long_logs import can_stream, identify_long
from robotid_sim.pipeline.stages import fit_logs
from robotid_sim.preprocess.preprocessor import Preprocessor
from robotid_sim.progress import Progress, silent
from robotid_sim.streams import stream_of
from robotid_sim.threads import one_blas_thread
from robotid_sim.validation.log_prediction import (
    LogPrediction,
    ignore_velocities,
    pool_predictions,
    predict_log,
)
from robotid_sim.validation.predictive_band import ModelError, error_of

LAST_PREFIX = "last"
BLOCKS_PREFIX = "blocks"

MAX_HELD_OUT_SHARE = 0.9
"""Largest share of a log that may be held out."""

MAX_BLOCKS = 20

MIN_PART_TIME = 2.5
"""Shortest part of a log of which a prediction leaves rows [s]."""


@document_attributes
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
        if not 0.0 <= self.share <= MAX_HELD_OUT_SHARE or self.blocks not in (
            0,
            *range(2, MAX_BLOCKS + 1),
        ):
            raise OptionError(
                f"held out can be up to {100 * MAX_HELD_OUT_SHARE:g} % of a log or 2 to "
                f"{MAX_BLOCKS} "
                f"blocks; got {100 * self.share:g} % and {self.blocks} blocks"
            )
        if bool(self.share) + bool(self.blocks) + bool(self.logs) != 1:
            raise OptionError("held out is a share, blocks or logs: give one of them")

    @classmethod
    def from_value(cls, what: "HoldOut | str | Sequence[Log]") -> "HoldOut":
        """Return ``last:30%``, ``blocks:4`` or logs as a value."""
        if isinstance(what, HoldOut):
            return what
        return cls.parse(what) if isinstance(what, str) else cls(logs=tuple(what))

    @property
    def text(self) -> str:
        """What is left out, as it is given; empty for logs."""
        if self.blocks:
            return f"{BLOCKS_PREFIX}:{self.blocks}"
        return f"{LAST_PREFIX}:{100.0 * self.share:g}%" if self.share else ""

    @classmethod
    def parse(cls, text: str) -> "HoldOut":
        """Return ``last:30%`` or ``blocks:4`` as a value."""
        kind, _, number = text.partition(":")
        try:
            if kind == BLOCKS_PREFIX:
                return cls(blocks=int(number))
            if kind == LAST_PREFIX and number.endswith("%"):
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
        # Friction velocities, and kinds of terms, are a few choices by all data; joints that have
        # terms are chosen, and parameters fitted, anew.
        refit, parts = replace(plan, estimate_eps=False, estimate_gravity=False), []
        if plan.terms_by_need:
            kinds = {term.kind for term in fit.structure.robot_terms()}
            chosen = tuple(kind for kind in plan.joint_terms if kind in kinds)
            refit = replace(refit, joint_terms=chosen, terms_by_need=bool(chosen))
        for k in range(held.blocks):
            training, test = _cut_block(logs, k, held.blocks)
            others = fit_logs(training, fit.nominal, fit.basis, refit, rng)
            parts += [predict_fit(others, log, refit) for log in test]
        return fit, pool_predictions(parts)
    fit = fit_logs(select_training_logs(logs, held), nominal, basis, plan, rng, progress=progress)
    if not fit.chosen.success:
        return fit, None
    cut_off = held.logs or [log.cut(slice(_end(log, held.share), None)) for log in logs]
    return fit, pool_predictions([predict_fit(fit, log, plan) for log in cut_off])


def _require_lengths(logs: Sequence[Log], held: HoldOut) -> None:
    """Raise `OptionError` if what is held out of a log is too short for a prediction."""
    share = held.share or (1.0 / held.blocks if held.blocks else 1.0)
    shortest = min(float(log.t[-1] - log.t[0]) for log in held.logs or logs)
    if share * shortest < MIN_PART_TIME:
        raise OptionError(
            f"held out are {share * shortest:.3g} s of a log of {shortest:.4g} s; a prediction "
            f"needs {MIN_PART_TIME:g} s: hold out more, or fewer blocks"
        )


def select_training_logs(logs: Sequence[Log], held: HoldOut | None) -> list[Log]:
    """Return what the estimate is fitted to: of blocks, all."""
    share = 0.0 if held is None else held.share
    return [log.cut(slice(0, _end(log, share))) for log in logs]


def _end(log: Log, share: float) -> int:
    """Return how many samples are left of a log whose last part is a share of them."""
    return log.t.size - round(share * log.t.size)


def predict_fit(
    fit: Identification, log: Log, plan: FitPlan, error: ModelError | None = None
) -> LogPrediction:
    """Return what a fit predicts of a log, with the delay and friction velocities of the fit.

    With the error of its model there is a band about the prediction.
    """
    if not fit.chosen.success:
        raise LogError(f"nothing to predict with: the fit failed: {fit.chosen.message}")
    preprocessor = ignore_velocities(plan.preprocessor, fit.preprocessor.delay)
    given = (fit.chosen.beta, log, fit.nominal, fit.basis, preprocessor, fit.discrepancy.unmodeled)
    return predict_log(*given, fit.structure.robot_terms(), error)


def _cut_block(logs: Sequence[Log], k: int, count: int) -> tuple[list[Log], list[Log]]:
    """Cut block number k out of every log; return what is left, and the blocks."""
    training, test = [], []
    for log in logs:
        ends = np.linspace(0, log.t.size, count + 1).astype(int)
        test.append(log.cut(slice(ends[k], ends[k + 1])))
        if k > 0:
            training.append(log.cut(slice(0, ends[k])))
        if k < count - 1:
            training.append(log.cut(slice(ends[k + 1], log.t.size)))
    return training, test


@one_blas_thread()
def measure_error(
    fit: Identification, logs: Sequence[Log], plan: FitPlan, held_out: LogPrediction | None = None
) -> ModelError:
    """Return how far predictions of a fit may be off: by data held out, else by its own logs."""
    prediction = held_out or pool_predictions([predict_fit(fit, log, plan) for log in logs])
    return error_of(
        fit.problem_without_terms,
        fit.chosen.beta,
        fit.discrepancy,
        prediction.identified.torque_rms,
    )


EXCERPT_COUNT = 4
"""Parts of a long log in which errors are looked for before the fit."""


class LogWarnings(NamedTuple):
    """What contradicts logs, in words; empty if nothing does."""

    errors: str
    couplings: str

    def __str__(self) -> str:
        return "; ".join(filter(None, self))


def check_logs(
    logs: Sequence[ReadLog], nominal: Robot, basis: BaseParameters, *, refuse: bool = True
) -> LogWarnings:
    """Look for errors of logs that no robot like the nominal one can have recorded.

    Those are a wrong sign, unit, zero or column, a delay, and clipped torques: by the name of the
    log, beside coupled joints, or, to be refused, a `LogError`. Truths of the logs are ignored.
    """
    found = [contradictions(log.log, nominal, basis) for log in logs]
    errors, couplings = (
        "; ".join(
            f"{log.name}: {'; '.join(texts[kind])}"
            for log, texts in zip(logs, found, strict=True)
            if texts[kind]
        )
        for kind in range(2)
    )
    if errors and refuse:
        raise LogError(
            f"{errors}; correct the log, or use it unchanged with --force (`robotid diagnose` "
            f"explains the fault)"
        )
    return LogWarnings(errors, couplings)


DEFAULT_CONFIG = EstimationConfig()


@one_blas_thread()
def identify(
    logs: Logs | Log | Sequence[Log],
    nominal: Robot,
    *,
    estimators: Estimators | None = None,
    chosen: str | None = None,
    preprocessor: Preprocessor | str = "adaptive",
    terms: str | Sequence[str] = DEFAULT_CONFIG.joint_terms,
    joint_parameters: Sequence[str] = DEFAULT_CONFIG.joint_parameters,
    friction_velocity: ConstantSource = DEFAULT_CONFIG.eps,
    gravity: ConstantSource = DEFAULT_CONFIG.gravity,
    drive_gain_std: float = 0.0,
    hold_out: HoldOut | str | Logs | Sequence[Log] | None = None,
    model_error: bool = False,
    check: bool = True,
    force: bool = False,
    basis: BaseParameters | None = None,
    plan: FitPlan | None = None,
    rng: int | np.random.Generator = 0,
    progress: Progress = silent,
) -> Identification:
    """Identify the parameters of a robot from logs, of a machine or virtual.

    Nothing here looks at the truth of a virtual log.

    Parameters
    ----------
    logs : Logs, Log or sequence of Log
        As by `read_logs`; several at one rate are fitted together, each weighed by its noise.
    nominal : Robot
        What is known of the robot before.
    estimators : sequence of str, or mapping of str to Estimator, optional
        What runs. By default ordinary, weighted and physically consistent least squares, and output
        error where the controller shakes the robot with the noise of its encoders.
    chosen : str, optional
        The estimate that the robot is made from; by default the consistent one, else the last.
    preprocessor : Preprocessor or str
        Makes motion and torque of a log.
    terms : str or sequence of str
        Terms of joints that the fit may choose by evidence: ``none``, ``all``, kinds, or by default
        ``auto``: all, of joints that they predict better than functions of the state do.
    joint_parameters : sequence of str
        Parameters of every joint that are looked for, of Fv, Fc, Fo and Ia.
    friction_velocity : str
        Transition velocity of Coulomb friction: ``fixed``, or ``estimate``, from the log where it
        shows another.
    gravity : str
        Likewise of gravity, which a tilted base turns.
    drive_gain_std : float
        Relative standard deviation of the drive gains, which a log cannot determine.
    hold_out : HoldOut, str, Logs or sequence of Log, optional
        Data that are left out of the fit and predicted: ``last:30%``, ``blocks:4``, or logs.
    model_error : bool
        Measure how far predictions may be off, for bands about them; done with `hold_out`, too.
    check : bool
        Look for errors of the logs (sign, unit, zero, column, delay, clipping) before the fit.
    force : bool
        Go on with logs that hold one; the identification is in doubt then.
    basis : BaseParameters, optional
        The base parameters; by default those of `joint_parameters`.
    plan : FitPlan, optional
        Built options, in place of those from `estimators` to `drive_gain_std`.
    rng : int or numpy.random.Generator
        Seed, or source, of what estimators draw.
    progress : callable
        Called with the stage and the share done.

    Returns
    -------
    identification : Identification
        Estimates, the chosen one, the identified robot, and what speaks against them.

    Raises
    ------
    LogError
        If a log is of another robot, has no torques, or holds an error.
    OptionError, UnknownNameError
        If a name or an option is refused.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> setup = rid.build_setup("twolink", rid.StudyConfig().quick())
    >>> log = rid.simulate(setup.cell, setup.unseen, rng=0).log
    >>> fit = rid.identify(log, setup.nominal, estimators=["wls"])
    >>> fit.chosen.success
    True
    """
    given = Logs.from_logs(logs)
    held = None if hold_out is None else HoldOut.from_value(hold_out)
    plan = plan or fit_plan(
        estimators=estimators,
        chosen=chosen,
        preprocessor=preprocessor,
        terms=terms,
        friction_velocity=friction_velocity,
        gravity=gravity,
        drive_gain_std=drive_gain_std,
    )
    if held is not None or model_error or not can_stream(plan):
        given = given.whole()
    tested = Logs.from_logs(
        hold_out.whole() if isinstance(hold_out, Logs) else held.logs if held else ()
    )
    Logs((*given.read, *tested.read)).require_distinct()
    if basis is None:
        measured = np.any([log.torque_measured for log in given], axis=0)
        basis = base_parameters(nominal, tuple(joint_parameters), measured)
    warnings = LogWarnings("", "")
    if check:
        looked_at = [*given.excerpts(EXCERPT_COUNT), *tested.read]
        warnings = check_logs(looked_at, nominal, basis, refuse=not force)
    stream = stream_of(rng, "identify")
    if given.long is not None:
        fit = identify_long(given.long, nominal, basis, plan, stream, progress=progress)
        fit, prediction = replace(fit, samples=given.long.samples), None
    else:
        fit, prediction = fit_and_predict(list(given), held, nominal, basis, plan, stream, progress)
    if held is not None and prediction is not None:
        fit = replace(
            fit, held_out=HeldOutPrediction(held.text or ", ".join(tested.names), prediction)
        )
    if fit.chosen.success and (model_error or prediction is not None):
        fitted = select_training_logs(list(given), held)
        fit = replace(fit, model_error=measure_error(fit, fitted, plan, prediction))
    return add_warning(replace(fit, names=tuple(given.names), notes=given.notes), str(warnings))
