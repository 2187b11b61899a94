"""Prediction of a log that was not used in the fit, at the full rate and filtered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robotid_sim.arrays import Bool2D, Float1D, Float2D, linear_at, rms
from robotid_sim.docstrings import document_attributes
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.dynamics.term_torques import terms_torque
from robotid_sim.errors import FileFormatError
from robotid_sim.estimation.friction_fit import set_eps
from robotid_sim.estimation.problem import rows_of
from robotid_sim.estimation.state_functions import (
    QUANTITIES,
    UnmodeledFunction,
    compute_unmodeled_torque,
)
from robotid_sim.measurement.log import Log
from robotid_sim.model.joint_terms import TIME_KINDS, JointTerm
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.adaptive import Adaptive
from robotid_sim.preprocess.preprocessor import Preprocessor
from robotid_sim.renamed import old_members
from robotid_sim.validation.prediction import (
    Prediction,
    add_torque,
    predict_all,
    scale_by_measured,
    stack_predictions,
)
from robotid_sim.validation.predictive_band import ModelError, half_width, spread_of


@old_members(explained="explained_share", in_band="coverage")
@document_attributes
@dataclass(frozen=True, slots=True, eq=False)
class LogPrediction:
    """Torques of a log and of a model along its motion; scores have the shape (n,)."""

    identified: Prediction
    """Prediction by the estimate and the functions of `added`, filtered like the rows of a fit."""
    parameters: Prediction
    """Prediction by the parameters only."""
    nominal: Prediction
    """Prediction by the nominal model."""
    t: Float1D
    """Times of the torques [s], shape (N,), as recorded even if the log was resampled."""
    measured: Float2D
    """Torque of the log at its full rate, as recorded, shape (N, n)."""
    predicted: Float2D
    """Torque of the estimate, shape (N, n)."""
    moving: Bool2D
    """Samples at which a joint is faster than its transition velocity, shape (N, n)."""
    message: str
    """Decisions of the preprocessing."""
    added: tuple[UnmodeledFunction, ...] = ()
    """Functions of unmodeled torque that are predicted in addition to the parameters."""
    band: Float2D | None = None
    """Half width of the 90 % band [N m], shape (N, n), if the model error is known."""
    cutoff: float | None = None
    """Maximum frequency of the filtered predictions [Hz]; None if they are not filtered."""

    @property
    def torque_rms(self) -> Float1D:
        """RMS of measured minus predicted torque at the full rate [N m]."""
        return rms(self.measured - self.predicted)

    @property
    def error(self) -> Float1D:
        """RMS error over the RMS of the measured torque."""
        return _relative(self.measured, self.predicted, np.ones_like(self.moving))

    @property
    def error_moving(self) -> Float1D:
        """The same without standstill; NaN for a joint that never moves."""
        return _relative(self.measured, self.predicted, self.moving)

    @property
    def share_moving(self) -> Float1D:
        """Share of the samples at which a joint moves."""
        return np.asarray(self.moving.mean(axis=0))

    @property
    def explained_share(self) -> Float1D:
        """Share of the variance of the measured torque that the estimate explains; at most 1."""
        residual = self.measured - self.predicted
        return 1.0 - scale_by_measured((residual**2).mean(axis=0), self.measured.var(axis=0))

    @property
    def coverage(self) -> Float1D | None:
        """Share of the samples in the 90 % band; None without a band, NaN without torque."""
        if self.band is None:
            return None
        has_band = self.measured.any(axis=0) & np.isfinite(self.band).all(axis=0)
        inside = (np.abs(self.measured - self.predicted) <= self.band).mean(axis=0)
        return np.where(has_band, inside, np.nan)

    def content(self) -> dict[str, Any]:
        """Return the scores as JSON values."""
        inside = {} if self.coverage is None else {"in_band": _numbers(self.coverage)}
        return inside | {
            "samples": self.t.size,
            "preprocessing": self.message,
            "torque_rms": self.torque_rms.tolist(),
            "error": _numbers(self.error),
            "error_moving": _numbers(self.error_moving),
            "share_moving": self.share_moving.tolist(),
            "explained": _numbers(self.explained_share),
            "error_filtered": _numbers(self.identified.torque_rms_relative),
            "error_filtered_parameters_only": _numbers(self.parameters.torque_rms_relative),
            "error_filtered_nominal": _numbers(self.nominal.torque_rms_relative),
        }


def _numbers(x: Float1D) -> list[float | None]:
    """Convert to JSON values; None for a joint without measured torque or motion."""
    return [float(value) if np.isfinite(value) else None for value in x]


def predict_log(
    beta: Float1D,
    log: Log,
    nominal: Robot,
    basis: BaseParameters,
    preprocessor: Preprocessor,
    functions: Sequence[UnmodeledFunction] = (),
    terms: Sequence[JointTerm] = (),
    error: ModelError | None = None,
) -> LogPrediction:
    """Compare the torque predicted by an estimate along a log with the measured torque.

    The log, simulated or of a machine, was not used in the fit; the nominal model has the
    transition velocities of the estimate, and the preprocessor computes the motion from positions
    only, see `ignore_velocities`. Unmodeled torque and joint terms are predicted if they are
    functions of the state, not of time. With the model error there is a predictive band.
    """
    log.require_robot(nominal).require_torques()
    blind = replace(log, truth=None)
    tuned = preprocessor.tune(blind, nominal)
    motion = tuned(blind, nominal)
    both = [beta, basis.project(nominal.parameters())]
    parameters, before = predict_all(both, blind, motion, nominal, basis)
    model = nominal.with_parameters(basis.complete(beta, nominal.parameters()), formal=True)
    added = tuple(
        function
        for function in functions
        if function.knots and QUANTITIES[function.quantity].lasting
    )
    lasting = tuple(term for term in terms if term.kind not in TIME_KINDS)
    modeled = terms_torque(model, lasting, motion.q, motion.dq, motion.ddq)
    if lasting:
        parameters = add_torque(parameters, rows_of(motion, modeled))
    unmodeled = compute_unmodeled_torque(added, motion, model)
    used = slice(None) if motion.row_filter is None else motion.row_filter.sample_slice
    q, dq, ddq = motion.q[used], motion.dq[used], motion.ddq[used]
    slow = np.array([joint.friction.eps for joint in nominal.joints])
    predicted: Float2D = joint_torque(model, q, dq, ddq) + (modeled + unmodeled)[used]
    spread = np.zeros_like(q) if error is None else spread_of(error, motion, model, basis)[used]
    t = motion.t[used] - log.torque_time_offset + (tuned.delay or 0.0)
    measured = motion.tau[used]
    if log.recording is not None:
        stamps, torques = log.recording
        within = (stamps >= t[0]) & (stamps <= t[-1])
        at, measured = stamps[within], torques[within]
        predicted, dq, spread = (linear_at(at, t, x) for x in (predicted, dq, spread))
        t = at
    residual = measured - predicted
    return LogPrediction(
        identified=add_torque(parameters, rows_of(motion, unmodeled)),
        parameters=parameters,
        nominal=before,
        t=t,
        measured=measured,
        predicted=predicted,
        moving=np.abs(dq) > slow,
        message=tuned.message,
        added=added,
        band=None if error is None else half_width(residual, motion, error.std, spread),
        cutoff=None if motion.row_filter is None else motion.row_filter.cutoff / log.dt,
    )


def pool_predictions(parts: Sequence[LogPrediction]) -> LogPrediction:
    """Join predictions of several logs of one robot, samples one after the other."""
    first = parts[0]
    if len(parts) == 1:
        return first
    stacks = ("t", "measured", "predicted", "moving")
    arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in stacks}
    bands = [part.band for part in parts if part.band is not None]
    return LogPrediction(
        identified=stack_predictions([part.identified for part in parts]),
        parameters=stack_predictions([part.parameters for part in parts]),
        nominal=stack_predictions([part.nominal for part in parts]),
        added=first.added,
        cutoff=first.cutoff,
        message="; ".join(dict.fromkeys(part.message for part in parts)),
        band=np.concatenate(bands) if len(bands) == len(parts) else None,
        **arrays,
    )


def ignore_velocities(preprocessor: Preprocessor, delay: float | None) -> Preprocessor:
    """Restrict a preprocessor to positions, as predictions need it.

    A motion estimated together with the torques would use the predicted quantity. The delay [s] is
    taken from the estimate; None to estimate it.
    """
    if not isinstance(preprocessor, Adaptive):
        return preprocessor
    method = "rts" if preprocessor.method == "errors-in-variables" else preprocessor.method
    return replace(preprocessor, method=method, delay=delay)


def apply_saved_eps(nominal: Robot, context: Mapping[str, Any]) -> Robot:
    """Apply the transition velocities of an estimate file to the nominal robot, if any."""
    eps = context.get("transition_velocity")
    if eps is None:
        return nominal
    values = np.asarray(eps, dtype=float)
    if values.shape != (nominal.dof,) or not (values > 0.0).all():
        raise FileFormatError(
            f"the transition_velocity of the estimate must be {nominal.dof} positive numbers, got "
            f"{eps}"
        )
    return set_eps(nominal, values)


def apply_saved_gravity(nominal: Robot, context: Mapping[str, Any]) -> Robot:
    """Apply the gravity of an estimate file to the nominal robot, if any.

    The base parameters depend on it if the base is tilted.
    """
    gravity = context.get("gravity")
    if gravity is None or np.array_equal(gravity, nominal.gravity):
        return nominal
    if len(gravity) != 3 or not np.isfinite(gravity).all():
        raise FileFormatError(f"the gravity of the estimate must be 3 numbers, got {gravity}")
    return replace(nominal, gravity=np.array(gravity))


def _relative(measured: Float2D, predicted: Float2D, is_used: Bool2D) -> Float1D:
    counts = np.maximum(is_used.sum(axis=0), 1)
    error = np.where(is_used, measured - predicted, 0.0)
    size = np.where(is_used, measured, 0.0)
    rms_error = np.sqrt((error**2).sum(axis=0) / counts)
    return scale_by_measured(rms_error, np.sqrt((size**2).sum(axis=0) / counts))
