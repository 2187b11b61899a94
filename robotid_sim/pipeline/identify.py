"""Identify a robot from logs, for the command, a study and a campaign."""

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
from robotid_sim.pipeline.currents import add_constants
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
"""Shortest part of a log that gives rows for a prediction [s]."""


@document_attributes
@dataclass(frozen=True, slots=True)
class HoldOut:
    """Data that are held out of a fit."""

    share: float = 0.0
    """Share of every log that is held out at its end; 0 for none."""
    blocks: int = 0
    """Number of blocks of every log, each held out in turn; 0 for none."""
    logs: tuple[Log, ...] = ()
    """Logs for prediction only."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.share <= MAX_HELD_OUT_SHARE or self.blocks not in (
            0,
            *range(2, MAX_BLOCKS + 1),
        ):
            raise OptionError(
                f"hold out at most {100 * MAX_HELD_OUT_SHARE:g} % of a log or 2 to {MAX_BLOCKS} "
                f"blocks; got {100 * self.share:g} % and {self.blocks} blocks"
            )
        if bool(self.share) + bool(self.blocks) + bool(self.logs) != 1:
            raise OptionError("give one of share, blocks or logs to hold out")

    @classmethod
    def from_value(cls, value: "HoldOut | str | Sequence[Log]") -> "HoldOut":
        """Create a hold-out from ``last:30%``, ``blocks:4`` or logs."""
        if isinstance(value, HoldOut):
            return value
        return cls.parse(value) if isinstance(value, str) else cls(logs=tuple(value))

    @property
    def text(self) -> str:
        """The held-out data as a text for `parse`; empty for logs."""
        if self.blocks:
            return f"{BLOCKS_PREFIX}:{self.blocks}"
        return f"{LAST_PREFIX}:{100.0 * self.share:g}%" if self.share else ""

    @classmethod
    def parse(cls, text: str) -> "HoldOut":
        """Create a hold-out from ``last:30%`` or ``blocks:4``."""
        kind, _, number = text.partition(":")
        try:
            if kind == BLOCKS_PREFIX:
                return cls(blocks=int(number))
            if kind == LAST_PREFIX and number.endswith("%"):
                return cls(share=float(number[:-1]) / 100.0)
        except ValueError as error:
            if isinstance(error, OptionError):
                raise
        raise OptionError(f"unknown hold-out '{text}'; give last:30%, blocks:4 or a log")


def fit_and_predict(
    logs: Sequence[Log],
    split: HoldOut | None,
    nominal: Robot,
    basis: BaseParameters,
    plan: FitPlan,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> tuple[Identification, LogPrediction | None]:
    """Identify from logs without the held-out data, and predict the held-out data.

    Parameters are as in `pipeline.stages.fit_logs`; the prediction covers all held-out data and is
    None without them or if the fit failed.
    """
    if split is None:
        return fit_logs(logs, nominal, basis, plan, rng, progress=progress), None
    share = split.share or (1.0 / split.blocks if split.blocks else 1.0)
    shortest = min(float(log.t[-1] - log.t[0]) for log in split.logs or logs)
    if share * shortest < MIN_PART_TIME:
        raise OptionError(
            f"the held-out part is {share * shortest:.3g} s of {shortest:.4g} s; it must have at "
            f"least {MIN_PART_TIME:g} s: hold out more, or fewer blocks"
        )
    if split.blocks:
        fit = fit_logs(logs, nominal, basis, plan, rng, progress=progress)
        if not fit.chosen.success:
            return fit, None
        # Transition velocities and kinds of terms are few choices and remain those of all data;
        # joints with terms and parameters are determined again for every block.
        block_plan, parts = replace(plan, estimate_eps=False, estimate_gravity=False), []
        if plan.terms_by_need:
            kinds = {term.kind for term in fit.structure.robot_terms()}
            chosen = tuple(kind for kind in plan.joint_terms if kind in kinds)
            block_plan = replace(block_plan, joint_terms=chosen, terms_by_need=bool(chosen))
        for k in range(split.blocks):
            training, test = _cut_block(logs, k, split.blocks)
            block_fit = fit_logs(training, fit.nominal, fit.basis, block_plan, rng)
            parts += [predict_fit(block_fit, log, block_plan) for log in test]
        return fit, pool_predictions(parts)
    fit = fit_logs(select_training_logs(logs, split), nominal, basis, plan, rng, progress=progress)
    if not fit.chosen.success:
        return fit, None
    test_logs = split.logs or [log.cut(slice(_find_end(log, split.share), None)) for log in logs]
    return fit, pool_predictions([predict_fit(fit, log, plan) for log in test_logs])


def select_training_logs(logs: Sequence[Log], hold_out: HoldOut | None) -> list[Log]:
    """Select the data of the fit: logs without their last share, but with all blocks."""
    share = 0.0 if hold_out is None else hold_out.share
    return [log.cut(slice(0, _find_end(log, share))) for log in logs]


def _find_end(log: Log, share: float) -> int:
    """Return the number of samples before the last `share` of a log."""
    return log.t.size - round(share * log.t.size)


def predict_fit(
    fit: Identification, log: Log, plan: FitPlan, error: ModelError | None = None
) -> LogPrediction:
    """Predict a log with the delay and transition velocities of a fit.

    With the `error` of its model the prediction has a band.
    """
    if not fit.chosen.success:
        raise LogError(f"no prediction: the fit failed: {fit.chosen.message}")
    preprocessor = ignore_velocities(plan.preprocessor, fit.preprocessor.delay)
    model = (fit.nominal, fit.basis, preprocessor, fit.discrepancy.unmodeled)
    return predict_log(fit.chosen.beta, log, *model, fit.structure.robot_terms(), error)


def _cut_block(logs: Sequence[Log], k: int, count: int) -> tuple[list[Log], list[Log]]:
    """Cut block number k out of every log; return the remaining parts and the blocks."""
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
    """Measure the error of predictions of a fit, for held-out data or else for its own logs."""
    prediction = held_out or pool_predictions([predict_fit(fit, log, plan) for log in logs])
    return error_of(
        fit.problem_without_terms,
        fit.chosen.beta,
        fit.discrepancy,
        prediction.identified.torque_rms,
    )


EXCERPT_COUNT = 4
"""Number of parts of a long log that are checked before the fit."""


class LogWarnings(NamedTuple):
    """Warnings about logs; empty without contradictions."""

    errors: str
    couplings: str

    def __str__(self) -> str:
        return "; ".join(filter(None, self))


def check_logs(
    logs: Sequence[ReadLog], nominal: Robot, basis: BaseParameters, *, refuse: bool = True
) -> LogWarnings:
    """Check logs for contradictions to the nominal model.

    Errors are a wrong sign, unit, zero position or column, a delay, and clipped torques; they raise
    `LogError` if `refuse`. Coupled joints are warnings. `log.truth` is ignored.
    """
    by_log = [contradictions(log.log, nominal, basis) for log in logs]
    errors, couplings = (
        "; ".join(
            f"{log.name}: {'; '.join(texts[kind])}"
            for log, texts in zip(logs, by_log, strict=True)
            if texts[kind]
        )
        for kind in range(2)
    )
    if errors and refuse:
        raise LogError(
            f"{errors}; correct the log (see `robotid diagnose`), or use it unchanged with --force"
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
    """Identify the parameters of a robot from logs of a machine or of a simulation.

    `log.truth` is ignored.

    Parameters
    ----------
    logs : Logs, Log or sequence of Log
        As returned by `read_logs`; logs of equal rate are fitted together, weighted by their noise.
    nominal : Robot
        The nominal model.
    estimators : sequence of str, or mapping of str to Estimator, optional
        By default weighted and physically consistent least squares, and output error if
        measurement noise is fed back by the controller.
    chosen : str, optional
        Estimator of the identified robot; by default ``consistent`` if it runs, else the last.
    preprocessor : Preprocessor or str
        Computes motion and torque of a log.
    terms : str or sequence of str
        Joint terms that the fit may select: ``none``, ``all``, kinds, or by default ``auto``: all
        terms that predict the torque of a joint better than general functions of its state, such
        as of speed or load.
    joint_parameters : sequence of str
        Joint parameters that are estimated: some of Fv, Fc, Fo and Ia.
    friction_velocity : str
        Transition velocity of Coulomb friction: ``fixed``, or ``estimate`` if the log determines
        it.
    gravity : str
        Direction of gravity, which depends on the tilt of the base: ``fixed`` or ``estimate``.
    drive_gain_std : float
        Relative standard deviation of the drive gains, which a log cannot determine.
    hold_out : HoldOut, str, Logs or sequence of Log, optional
        Data that are held out of the fit and predicted: ``last:30%``, ``blocks:4``, or logs.
    model_error : bool
        Measure the error of predictions, for their bands; also done with `hold_out`.
    check : bool
        Check the logs for errors (sign, unit, zero, column, delay, clipping) before the fit.
    force : bool
        Use logs with such errors; the identification then has a warning.
    basis : BaseParameters, optional
        The base parameters; by default those of `joint_parameters`.
    plan : FitPlan, optional
        Options as an object, in place of the parameters from `estimators` to `drive_gain_std`.
    rng : int or numpy.random.Generator
        Seed or generator for estimators.
    progress : callable
        Called with the stage and the share done.

    Returns
    -------
    identification : Identification
        Estimates, the chosen one, the identified robot, and warnings.

    Raises
    ------
    LogError
        If a log is of another robot, has no torques, or has an error.
    OptionError, UnknownNameError
        If a name or an option is invalid.

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
    data = Logs.from_logs(logs)
    held_out = None if hold_out is None else HoldOut.from_value(hold_out)
    plan = plan or fit_plan(
        estimators=estimators,
        chosen=chosen,
        preprocessor=preprocessor,
        terms=terms,
        friction_velocity=friction_velocity,
        gravity=gravity,
        drive_gain_std=drive_gain_std,
    )
    if held_out is not None or model_error or not can_stream(plan):
        data = data.whole()
    tested = Logs.from_logs(
        hold_out.whole() if isinstance(hold_out, Logs) else held_out.logs if held_out else ()
    )
    Logs((*data.read, *tested.read)).require_distinct()
    if basis is None:
        measured = np.any([log.torque_measured for log in data], axis=0)
        basis = base_parameters(nominal, tuple(joint_parameters), measured)
    data, tested, held_out = _add_constants_to(data, tested, held_out, nominal, basis)
    warnings = LogWarnings("", "")
    if check:
        checked = [*data.excerpts(EXCERPT_COUNT), *tested.read]
        warnings = check_logs(checked, nominal, basis, refuse=not force)
    rng = stream_of(rng, "identify")
    if data.long is not None:
        fit = identify_long(data.long, nominal, basis, plan, rng, progress=progress)
        fit, prediction = replace(fit, samples=data.long.samples), None
    else:
        logs = list(data)
        fit, prediction = fit_and_predict(logs, held_out, nominal, basis, plan, rng, progress)
    if held_out is not None and prediction is not None:
        data_name = held_out.text or ", ".join(tested.names)
        fit = replace(fit, held_out=HeldOutPrediction(data_name, prediction))
    if fit.chosen.success and (model_error or prediction is not None):
        fitted = select_training_logs(list(data), held_out)
        fit = replace(fit, model_error=measure_error(fit, fitted, plan, prediction))
    return add_warning(_add_origin(fit, data), str(warnings))


def _add_constants_to(
    data: Logs, tested: Logs, held_out: HoldOut | None, nominal: Robot, basis: BaseParameters
) -> tuple[Logs, Logs, HoldOut | None]:
    """Add torque constants to logs of currents, also to held-out logs."""
    data, tested = add_constants(data, nominal, basis, tested)
    if held_out is not None and held_out.logs:
        held_out = replace(held_out, logs=tuple(tested))
    return data, tested, held_out


def _add_origin(fit: Identification, data: Logs) -> Identification:
    """Add names, notes and torque constants of the logs."""
    constants = data[0].torque_constant if all(log.current is not None for log in data) else None
    return replace(fit, names=tuple(data.names), notes=data.notes, torque_constants=constants)
