"""Assess an identification: the content of terminal, page and JSON."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robotid_sim.arrays import Float2D
from robotid_sim.diagnostics.cause import Cause, Diagnosis
from robotid_sim.diagnostics.diagnosis import diagnose as diagnose_log
from robotid_sim.diagnostics.directions import WeakDirection
from robotid_sim.diagnostics.intervals import Intervals
from robotid_sim.errors import LogError
from robotid_sim.importing.reading import Logs
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.identification import Identification
from robotid_sim.pipeline.identify import HoldOut, select_training_logs
from robotid_sim.pipeline.refit import Refit, refit_of
from robotid_sim.pipeline.trust import (
    BinnedResidual,
    FrictionCurve,
    InformationShares,
    bin_residuals,
    fit_remarks,
    friction_curves,
    further_checks,
    information_over_time,
    weakest_of,
)
from robotid_sim.preprocess import PREPROCESSORS
from robotid_sim.preprocess.adaptive import smoother_of
from robotid_sim.preprocess.kalman_torque import KalmanTorque
from robotid_sim.preprocess.preprocessor import Preprocessor
from robotid_sim.representation import public_value
from robotid_sim.threads import one_blas_thread
from robotid_sim.validation.prediction import Prediction, predictions

if TYPE_CHECKING:
    from robotid_sim.report.sections import Recipe


from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.pipeline.currents import add_constants, replace_constants
from robotid_sim.pipeline.fit_plan import EstimationConfig

WEAKEST_COUNT = 5
"""Number of weakly identifiable parameters that `next_steps` names."""

_logger = logging.getLogger(__name__)


@public_value
@dataclass(frozen=True, eq=False)
class FittedLog:
    """A log of a fit, with its preprocessed motion and its predictions."""

    log: Log
    fit: Identification
    preprocessor: Preprocessor
    """Preprocessor, tuned to the log."""

    @property
    def method(self) -> str:
        """Name of the preprocessor."""
        return PREPROCESSORS.name_of(self.preprocessor)

    @cached_property
    def motion(self) -> Motion:
        """Motion that the preprocessor reconstructs from the log."""
        with one_blas_thread():
            return self.preprocessor(self.log, self.fit.nominal)

    @cached_property
    def predictions(self) -> tuple[Prediction, Prediction] | None:
        """Predictions of the identified and the nominal model; None if the fit failed."""
        fit = self.fit
        if not fit.chosen.success:
            return None
        with one_blas_thread():
            return predictions(fit.chosen.beta, self.log, self.motion, fit.nominal, fit.basis)

    @cached_property
    def torques_by_filter(self) -> dict[str, Float2D]:
        """Filtered torques for comparison with the measured torque [N m], each of shape (N, n)."""
        smoother, log, nominal = smoother_of(self.preprocessor), self.log, self.fit.nominal
        if smoother is not None:
            with one_blas_thread():
                kalman = KalmanTorque(motion=smoother, rows=smoother.rows).tune(log, nominal)
                return {
                    "Kalman filter": kalman.filter_torque(log, nominal),
                    "Kalman smoother": replace(kalman, form="smoother").filter_torque(log, nominal),
                }
        tau = self.motion.tau
        if tau.shape == log.tau_meas.shape and not np.array_equal(tau, log.tau_meas):
            return {self.method: tau}
        return {}


@public_value
@dataclass(frozen=True, eq=False)
class Assessment:
    """Assessment of an identification; each part is computed at its first use."""

    fit: Identification
    logs: tuple[Log, ...]
    """The logs that were fitted."""

    @property
    def nominal(self) -> Robot:
        """Nominal model, with the constants that were estimated from the logs."""
        return self.fit.nominal

    @property
    def models(self) -> dict[str, Robot]:
        """The nominal model, and the identified model if it exists, by name."""
        models = {"nominal": self.nominal}
        return (
            models
            if self.fit.consistent_robot is None
            else models | {"identified": self.fit.consistent_robot.robot}
        )

    @cached_property
    def intervals(self) -> Intervals | None:
        """The 95 % intervals of the chosen estimate; None if it failed or has none."""
        return self.fit.intervals()

    @cached_property
    def diagnoses(self) -> tuple[Diagnosis | None, ...]:
        """Diagnosis of every log; None for a log that is too short."""
        diagnoses: list[Diagnosis | None] = []
        for log in self.logs:
            model = (self.fit.nominal, self.fit.basis)
            smoother = smoother_of(self.fit.preprocessor)
            try:
                diagnoses.append(diagnose_log(replace(log, truth=None), *model, smoother=smoother))
            except LogError as error:
                _logger.warning("no diagnosis: %s", error)
                diagnoses.append(None)
        return tuple(diagnoses)

    @property
    def causes(self) -> tuple[Cause, ...]:
        """Causes of faults in any of the logs, without duplicates."""
        each = (d.causes for d in self.diagnoses if d is not None)
        return tuple(dict.fromkeys(cause for causes in each for cause in causes))

    @cached_property
    def parts(self) -> tuple[FittedLog, ...]:
        """The logs with their motions and predictions."""
        pairs = zip(self.logs, self.fit.preprocessors, strict=False)
        return tuple(FittedLog(log, self.fit, preprocessor) for log, preprocessor in pairs)

    @cached_property
    def remarks(self) -> list[str]:
        """Remarks on unmodeled torque, its effect on intervals, and assumptions."""
        return fit_remarks(self.fit)

    @cached_property
    def checks(self) -> list[str]:
        """Results of further checks of the fit."""
        return further_checks(self.fit)

    @cached_property
    def residuals(self) -> list[BinnedResidual]:
        """Mean residuals over position, velocity and load."""
        return bin_residuals(self.fit)

    @cached_property
    def weakest(self) -> tuple[WeakDirection, ...]:
        """The weakly identifiable directions of the parameters."""
        return weakest_of(self.fit)

    @cached_property
    def information(self) -> InformationShares:
        """Distribution of the information on the parameters over the motion."""
        return information_over_time(self.fit)

    @cached_property
    def friction(self) -> list[FrictionCurve]:
        """Friction of the joints over their speed, measured and fitted."""
        with one_blas_thread():
            return friction_curves(self.fit, self.logs)

    @cached_property
    def refit(self) -> Refit | None:
        """Data with which the HTML report repeats the fit; None without a weighted fit."""
        return refit_of(self.fit)

    @property
    def least_known(self) -> dict[str, float]:
        """RMS torque of one standard deviation over torque noise, of the weakest parameters."""
        chosen, problem = self.fit.chosen, self.fit.problem
        if chosen.cov is None:
            return {}
        W = problem.unstack_rows(problem.W) / chosen.noise_std[:, None]
        effect = chosen.std * np.sqrt((W**2).sum(axis=1).mean(axis=0))
        worst = np.argsort(-effect, kind="stable")[:WEAKEST_COUNT]
        return {chosen.names[k]: float(effect[k]) for k in worst}

    @property
    def next_steps(self) -> list[str]:
        """Next steps, one sentence each."""
        steps = [cause.advice for cause in self.causes]
        if not self.fit.chosen.success:
            return [
                *steps,
                "Run `robotid diagnose` to find the parameters that the log does not excite.",
            ]
        least = ", ".join(self.least_known)
        return [
            *steps,
            f"To identify {least} better, design a further motion: `robotid design --prior LOG`.",
        ]

    def content(self) -> dict[str, Any]:
        """Return the assessment as JSON values."""
        fit, intervals = self.fit, self.intervals
        ends: dict[str, list[float]] = {}
        if intervals is not None:
            pairs = np.column_stack([intervals.lower, intervals.upper]).tolist()
            ends = dict(zip(intervals.names, pairs, strict=True))
        return {
            "robot": fit.nominal.name,
            "estimator": fit.chosen.estimator,
            "passed": fit.passed,
            "warning": fit.warning,
            "intervals": ends,
            "not_identifiable": list(fit.basis.not_identifiable),
            "remarks": self.remarks,
            "diagnoses": [None if d is None else d.content() for d in self.diagnoses],
            "fitted": [
                None if part.predictions is None else _scores(part.predictions[0])
                for part in self.parts
            ],
            "held_out": None if fit.held_out is None else fit.held_out.content(),
            "next_steps": self.next_steps,
        }

    def report(
        self, path: str | Path, *, replay: bool = True, recipe: "Recipe | None" = None
    ) -> Path:
        """Write the HTML report of the identification.

        Parameters
        ----------
        path : str or Path
            File to write.
        replay : bool
            Whether the report has a 3-D replay.
        recipe : Recipe, optional
            Instructions to reproduce the report.

        Returns
        -------
        path : Path
            The file.

        Raises
        ------
        FileFormatError
            If the file cannot be written.
        """
        from robotid_sim.report.identification_report import identification_report
        from robotid_sim.report.page import write_page
        from robotid_sim.report.sections import Recipe

        recipe = recipe or Recipe.from_python("robotid_sim.assess(fit, logs)")
        page = identification_report(self, recipe)
        write_page(page, Path(path), replay=replay)
        return Path(path)


def assess(fit: Identification, logs: Logs | Log | Sequence[Log]) -> Assessment:
    """Assess an identification with its logs; `log.truth` is ignored.

    Parameters
    ----------
    fit : Identification
        As returned by `identify`.
    logs : Logs, Log or sequence of Log
        Logs of the identification, including held-out data.

    Returns
    -------
    assessment : Assessment
        Intervals, causes of faults, unmodeled torque, predictions, parameters that are not
        identifiable, and next steps.
    """
    text = "" if fit.held_out is None else fit.held_out.what
    hold_out = HoldOut.parse(text) if text.startswith("last:") else None
    data = Logs.from_logs(logs)
    if fit.torque_constants is not None:
        data = replace_constants(data, fit.torque_constants)
    fitted = select_training_logs(list(data), hold_out)
    return Assessment(fit, tuple(replace(log, truth=None) for log in fitted))


def _scores(prediction: Prediction) -> dict[str, Any]:
    relative = prediction.torque_rms_relative
    return {
        "torque_rms": prediction.torque_rms.tolist(),
        "torque_rms_relative": [float(x) if np.isfinite(x) else None for x in relative],
    }


@one_blas_thread()
def diagnose(
    log: Logs | Log,
    nominal: Robot,
    *,
    joint_parameters: Sequence[str] = EstimationConfig().joint_parameters,
    basis: BaseParameters | None = None,
) -> Diagnosis:
    """Diagnose a log: named causes with evidence and remedy; `log.truth` is ignored.

    Parameters
    ----------
    log : Logs or Log
        A log as by `read_log`; the first of several logs.
    nominal : Robot
        The nominal model.
    joint_parameters : sequence of str
        Joint parameters that are estimated: some of Fv, Fc, Fo and Ia.
    basis : BaseParameters, optional
        The base parameters; by default those of `joint_parameters`.

    Returns
    -------
    diagnosis : Diagnosis
        Causes in the order of detection, and faults that are not detectable in the log.

    Raises
    ------
    LogError
        If the log is of another robot, has no torques, or is too short.
    """
    logs = Logs.from_logs(log)
    basis = basis or base_parameters(nominal, tuple(joint_parameters), logs[0].torque_measured)
    (logs,) = add_constants(logs, nominal, basis)
    return diagnose_log(logs[0], nominal, basis)
