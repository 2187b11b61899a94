"""What the identify stage makes of logs, and what is asked of it."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from robotid_sim.arrays import Float2D
from robotid_sim.diagnostics.cause import Diagnosis
from robotid_sim.diagnostics.diagnosis import diagnose
from robotid_sim.diagnostics.intervals import Intervals, confidence_intervals
from robotid_sim.diagnostics.residuals import ADVICE
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import LogError, RobotIdError
from robotid_sim.estimation.block_sandwich import row_blocks_of
from robotid_sim.estimation.consistent import Lift
from robotid_sim.estimation.correlation import block_of
from robotid_sim.estimation.discrepancy import Discrepancy
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.estimator import Estimator
from robotid_sim.estimation.friction_fit import FrictionFit
from robotid_sim.estimation.gravity_fit import GravityFit
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.structure import Structure
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.loop_noise import LoopNoise
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.adaptive import smoother_of
from robotid_sim.preprocess.faults import find_faults, repaired
from robotid_sim.preprocess.preprocessor import Preprocessor
from robotid_sim.representation import public_value
from robotid_sim.threads import one_blas_thread

_logger = logging.getLogger(__name__)


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Identification:
    """What the identify stage makes of a log, or of several."""

    preprocessors: tuple[Preprocessor, ...]
    """The preprocessor with what it learnt from each log held fixed."""
    motion: Motion
    """What the preprocessor made of the log, of several logs one after the other."""
    weights: Float2D
    """What the rows of every log and joint weigh, by their noise, shape (logs, n)."""
    nominal: Robot
    """The model of the regressor; its friction velocities are those that were estimated, if so."""
    eps: FrictionFit | None
    """The estimate of the friction velocities; None if they were taken as given."""
    gravity: GravityFit | None
    """The direction of gravity, if the log shows the base to be tilted."""
    structure: Structure
    """Terms that joints have beside the standard ones."""
    plain: LinearProblem
    """Rows of the motion as the model has them, without what the terms can explain."""
    discrepancy: Discrepancy
    """What the model lacks, and the errors that no log can show."""
    problem: LinearProblem
    """The rows that were fitted: the plain ones, the discrepancy allowed for."""
    estimates: tuple[Estimate, ...]
    estimators: Mapping[str, Estimator]
    """What made them: those of the plan, and what the log has asked for beside."""
    chosen: Estimate
    torque_gain_std: float
    """Relative standard deviation of the torque constants that the intervals hold."""
    lift: Lift | None
    """The consistent robot of the chosen estimate; None if that failed."""
    loop_noise: LoopNoise | None = None
    """Where torques follow the noise of the encoders, if that shakes the robot and the plan heeds
    it."""
    doubt: str = ""
    """Why the chosen estimate cannot be trusted, as `robotid_sim.diagnostics.residuals` says."""

    @property
    def preprocessor(self) -> Preprocessor:
        """The preprocessor as tuned to the first log."""
        return self.preprocessors[0]

    @property
    def estimator(self) -> Estimator:
        """The estimator of the chosen estimate."""
        return self.estimators[self.chosen.estimator]

    @property
    def basis(self) -> BaseParameters:
        """The base parameters of the problem."""
        return self.problem.basis


@one_blas_thread()
def intervals_of(fit: Identification, estimate: Estimate | None = None) -> Intervals | None:
    """Return the 95 % intervals of an estimate of a fit.

    Parameters
    ----------
    fit : Identification
        The rows of its problem count.
    estimate : Estimate, optional
        By default the chosen one.

    Returns
    -------
    intervals : Intervals or None
        None if the estimate failed or has none.
    """
    estimate = estimate or fit.chosen
    if not estimate.success or estimate.cov is None:
        return None
    try:
        return confidence_intervals(fit.problem, estimate)
    except (RobotIdError, np.linalg.LinAlgError):
        return None


def covariance_blocks(fit: Identification, estimate: Estimate) -> int:
    """Return how many blocks of residuals the covariance of an estimate is of.

    Parameters
    ----------
    fit : Identification
        The rows of its problem count.
    estimate : Estimate
        One of its estimates.

    Returns
    -------
    count : int
        Blocks of all joints together.
    """
    return row_blocks_of(fit.problem, block_of(estimate)) * fit.problem.dof


def diagnosed(log: Log, fit: Identification) -> Diagnosis | None:
    """Return what speaks against a log and the model of its fit.

    Parameters
    ----------
    log : Log
        Its truth is not looked at.
    fit : Identification
        Of this log, or of several with it.

    Returns
    -------
    diagnosis : Diagnosis or None
        None if the log is too short.
    """
    smoother = smoother_of(fit.preprocessor)
    try:
        return diagnose(replace(log, truth=None), fit.nominal, fit.basis, smoother=smoother)
    except LogError as error:
        _logger.warning("no diagnosis: %s", error)
        return None


def with_doubt(fit: Identification, why: str) -> Identification:
    """Return an identification that is in doubt by what speaks against its logs, if anything.

    A wrong zero, a unit of all torques or a delay leave a fit that looks sound.

    Parameters
    ----------
    fit : Identification
        In doubt already, or not.
    why : str
        What speaks against its logs; empty for nothing.

    Returns
    -------
    fit : Identification
        As it was if its fit failed or nothing speaks against its logs.
    """
    if not fit.chosen.success or not why:
        return fit
    first = fit.doubt.removesuffix(ADVICE) or "the fit is sound, but not the log; "
    return replace(fit, doubt=f"{first}{why}", lift=doubted(fit.lift))


def informed_by_sensors(log: Log, preprocessor: Preprocessor, nominal: Robot) -> Motion:
    """Return the motion of a log from its positions alone, where the preprocessor has a smoother.

    A motion that follows from the model too hides what is wrong with either.

    Parameters
    ----------
    log : Log
        As recorded.
    preprocessor : Preprocessor
        As tuned to the log.
    nominal : Robot
        What is known of the robot.

    Returns
    -------
    motion : Motion
        What the preprocessor makes of the log where it has no smoother.

    Raises
    ------
    LogError
        If the log is too short.
    """
    smoother = smoother_of(preprocessor)
    if smoother is None:
        return preprocessor(log, nominal)
    return smoother(repaired(log, find_faults(log)), nominal)


def doubted(lifted: Lift | None) -> Lift | None:
    """Return a consistent robot that is said not to explain the log."""
    text = "but does not explain the log"
    if lifted is None or text in lifted.message:
        return lifted
    return replace(lifted, message=f"{lifted.message}, {text}")
