"""The stages of a study after the design: experiment, identification, closed loop.

Stages take values; a study and the commands call the same ones. Only `simulate` and `compare`
receive the cell, which holds the plant.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from robotid_sim.arrays import Float2D
from robotid_sim.diagnostics.cause import Diagnosis
from robotid_sim.diagnostics.diagnosis import diagnose
from robotid_sim.diagnostics.intervals import Intervals, confidence_intervals
from robotid_sim.diagnostics.residuals import ADVICE, doubt
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import InconsistentInertiaError, LogError, RobotIdError
from robotid_sim.estimation.block_sandwich import row_blocks_of
from robotid_sim.estimation.consistent import Lift, lift
from robotid_sim.estimation.correlation import block_of
from robotid_sim.estimation.discrepancy import Discrepancy, allowing_for, with_values
from robotid_sim.estimation.discrepancy_search import find_discrepancy
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.estimator import Estimator
from robotid_sim.estimation.friction_fit import FrictionFit
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.structure import Structure, with_term_values
from robotid_sim.experiment.cell import Cell
from robotid_sim.experiment.rollout import rollout
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.loop_noise import LoopNoise
from robotid_sim.measurement.motion import Motion
from robotid_sim.measurement.sensors import measure
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.adaptive import smoother_of
from robotid_sim.preprocess.faults import find_faults, repaired
from robotid_sim.preprocess.preprocessor import Preprocessor
from robotid_sim.progress import Progress, silent
from robotid_sim.representation import public_value
from robotid_sim.streams import named_stream
from robotid_sim.study.choosing import chosen_name, heeding_loop_noise
from robotid_sim.study.fitted_motion import FittedMotion, fitted_motion
from robotid_sim.study.setup import FitPlan
from robotid_sim.threads import one_blas_thread
from robotid_sim.trajectory.reference import Excitation
from robotid_sim.validation.closed_loop import IDENTIFIED

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
def clean_run(cell: Cell, trajectory: Excitation, *, progress: Progress = silent) -> Log:
    """Run the plant in the engine along a trajectory and return the true log; see `rollout`."""
    with cell.open() as engine:
        return rollout(engine, cell.controller, trajectory, progress=progress)


def measured(cell: Cell, clean: Log, rng: np.random.Generator, *, seed: int | None = None) -> Log:
    """Return what the sensors of a cell see of a clean run; `seed` is what the log shall say."""
    log = measure(clean, cell.sensors, rng)
    return replace(log, seed=seed, provenance={**log.provenance, "robot": cell.plant.name})


def simulate(
    cell: Cell,
    trajectory: Excitation,
    rng: np.random.Generator,
    *,
    seed: int | None = None,
    progress: Progress = silent,
) -> Log:
    """Run the virtual experiment: the plant in the engine, then what the sensors see of it.

    Parameters
    ----------
    cell : Cell
        Plant, controller and sensors.
    trajectory : Excitation
        The reference.
    rng : numpy.random.Generator
        Source of the noise.
    seed : int, optional
        What the log shall say of it.
    progress : callable
        Called with the stage and the share done.

    Returns
    -------
    log : Log
        What a real cell would give, and the truth for scoring.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> setup = rid.build_setup("twolink", rid.StudyConfig().quick())
    >>> nominal, basis = setup.nominal, setup.basis
    >>> rng, short = np.random.default_rng(0), rid.FourierOptions(period=5.0, periods=1)
    >>> path = rid.random_design(nominal, basis, rng, options=short, candidates=5)
    >>> log = rid.simulate(setup.cell, path, rng)
    >>> log.joint_names
    ('joint_1', 'joint_2')
    """
    return measured(cell, clean_run(cell, trajectory, progress=progress), rng, seed=seed)


@one_blas_thread()
def identify(
    logs: Log | Sequence[Log],
    nominal: Robot,
    basis: BaseParameters,
    plan: FitPlan,
    rng: np.random.Generator,
    *,
    progress: Progress = silent,
) -> Identification:
    """Preprocess logs and estimate; nothing here looks at a log's truth.

    Parameters
    ----------
    logs : Log or sequence of Log
        The measured log, virtual or of a machine, or several at one rate: each is preprocessed by
        itself, and the rows of every log and joint weigh by their noise.
    nominal : Robot
        What is known of the robot.
    basis : BaseParameters
        Its parameters to look for.
    plan : FitPlan
        Preprocessor and estimators.
    rng : numpy.random.Generator
        For estimators that draw.
    progress : callable
        Called with the stage and the share done.

    Returns
    -------
    identification : Identification
        Estimates, the chosen one, the identified robot.
    """
    each = (logs,) if isinstance(logs, Log) else tuple(logs)
    for log in each:
        log.require_robot(nominal).require_torques()
    progress("identify", 0.0)
    plan, heard = heeding_loop_noise(plan, each)
    seen = fitted_motion(each, nominal, basis, plan, progress)
    plain = seen.structure.beside(seen.rows)
    progress("identify", 0.6)
    gain_std = plan.torque_gain_std
    discrepancy = find_discrepancy(plain, seen.motion, seen.nominal, gain_std=gain_std)
    return estimated(seen, plain, discrepancy, plan, rng, heard=heard, progress=progress)


def estimated(
    seen: FittedMotion,
    plain: LinearProblem,
    discrepancy: Discrepancy,
    plan: FitPlan,
    rng: np.random.Generator,
    *,
    heard: LoopNoise | None,
    progress: Progress,
) -> Identification:
    """Return the identification from the rows of a motion, and from what their model lacks."""
    nominal, structure, rows = seen.nominal, seen.structure, seen.rows
    problem = allowing_for(plain, discrepancy)
    progress("identify", 0.8)
    estimates = {
        name: replace(estimator.fit(problem, rng), estimator=name)
        for name, estimator in plan.estimators.items()
    }
    chosen = estimates[chosen_name(plan, estimates, heard, problem)]
    if chosen.success:
        discrepancy = with_values(discrepancy, plain, chosen.beta)
        structure = with_term_values(structure, rows, chosen.beta, chosen.noise_std)
    lifted = lift_estimate(chosen, nominal, rows.basis)
    if lifted is not None and structure.terms:
        terms = (*nominal.terms, *structure.lasting_terms())
        lifted = replace(lifted, robot=replace(lifted.robot, terms=terms))
    why = doubt(chosen, problem, plain) if chosen.success else ""
    if why:
        lifted = _doubted(lifted)
    progress("identify", 1.0)
    return Identification(
        preprocessors=seen.preprocessors,
        motion=seen.motion,
        weights=seen.weights,
        nominal=nominal,
        eps=seen.eps,
        structure=structure,
        plain=plain,
        discrepancy=discrepancy,
        problem=problem,
        estimates=tuple(estimates.values()),
        estimators=plan.estimators,
        chosen=chosen,
        loop_noise=heard,
        torque_gain_std=plan.torque_gain_std,
        lift=lifted,
        doubt=why,
    )


@one_blas_thread()
def intervals_of(fit: Identification, estimate: Estimate | None = None) -> Intervals | None:
    """Return the 95 % intervals of an estimate of a fit, by default of the chosen one.

    None if the fit failed.
    """
    estimate = estimate or fit.chosen
    if not estimate.success or estimate.cov is None:
        return None
    try:
        return confidence_intervals(fit.problem, estimate)
    except (RobotIdError, np.linalg.LinAlgError):
        return None


def covariance_blocks(fit: Identification, estimate: Estimate) -> int:
    """Return how many blocks of residuals of all joints the covariance of an estimate is of."""
    return row_blocks_of(fit.problem, block_of(estimate)) * fit.problem.dof


def diagnosed(log: Log, fit: Identification) -> Diagnosis | None:
    """Return what speaks against a log and the model of its fit; None if the log is too short."""
    smoother = smoother_of(fit.preprocessor)
    try:
        return diagnose(replace(log, truth=None), fit.nominal, fit.basis, smoother=smoother)
    except LogError as error:
        _logger.warning("no diagnosis: %s", error)
        return None


def with_doubt(fit: Identification, why: str) -> Identification:
    """Return an identification that is in doubt by what speaks against its logs, if anything.

    A wrong zero, a unit of all torques or a delay leave a fit that looks sound.
    """
    if not fit.chosen.success or not why:
        return fit
    first = fit.doubt.removesuffix(ADVICE) or "the fit is sound, but not the log; "
    return replace(fit, doubt=f"{first}{why}", lift=_doubted(fit.lift))


def informed_by_sensors(log: Log, preprocessor: Preprocessor, nominal: Robot) -> Motion:
    """Return the motion of a log from its positions alone, where the preprocessor has a smoother.

    A motion that follows from the model too hides what is wrong with either.
    """
    smoother = smoother_of(preprocessor)
    if smoother is None:
        return preprocessor(log, nominal)
    return smoother(repaired(log, find_faults(log)), nominal)


def _doubted(lifted: Lift | None) -> Lift | None:
    """Return a consistent robot that is said not to explain the log."""
    text = "but does not explain the log"
    if lifted is None or text in lifted.message:
        return lifted
    return replace(lifted, message=f"{lifted.message}, {text}")


def lift_estimate(estimate: Estimate, nominal: Robot, basis: BaseParameters) -> Lift | None:
    """Return the consistent robot of an estimate; None if the fit or the search for one failed."""
    if not estimate.success or estimate.cov is None:
        return None
    if estimate.phi is not None:
        # The solver of the cone program may stop a little outside of its cones.
        robot = nominal.with_parameters(estimate.phi, formal=True).repaired()
        return Lift(robot, exact=True, distance=0.0, message="the estimate is a consistent robot")
    try:
        return lift(estimate.beta, estimate.cov, nominal, basis)
    except InconsistentInertiaError as error:  # the estimate is sound, only no body has it
        _logger.warning("%s", error)
        return None


def compared_models(
    identified: Robot,
    estimates: Sequence[Estimate],
    nominal: Robot,
    basis: BaseParameters,
    models: Mapping[str, Robot | None],
    refits: Mapping[str, Sequence[Estimate]] | None = None,
) -> dict[str, Robot | Sequence[Robot]]:
    """Return the models of a closed loop by name; see `closed_loop`.

    An estimate is taken as it is: its model has exactly the estimated base parameters, even where
    no rigid bodies can have them.

    `identified` is the chosen model, `estimates` are what the estimators returned for `nominal` and
    `basis`; of further `models`, None stands for the estimate of that name. `refits` are fits of
    the runs after the first, of estimators that draw; see `refits_of`.
    """
    by_name = {estimate.estimator: estimate for estimate in estimates}
    compared: dict[str, Robot | Sequence[Robot]] = {IDENTIFIED: identified}
    for name, model in models.items():
        if model is not None:
            compared[name] = model
        elif name in by_name and by_name[name].success:  # the estimates tell of a fit that failed
            more = (refits or {}).get(name, ())
            fits = [fit for fit in (by_name[name], *more) if fit.success]
            formal = [_formal(fit, nominal, basis) for fit in fits]
            every_run = len(more) > 0 and len(formal) == 1 + len(more)
            compared[name] = formal if every_run else formal[0]
    return compared


@one_blas_thread()
def refits_of(
    problem: LinearProblem,
    estimators: Mapping[str, Estimator],
    models: Mapping[str, Robot | None],
    runs: int,
    rng: np.random.Generator,
) -> dict[str, list[Estimate]]:
    """Return new fits for every run but the first, of the compared estimators that draw.

    None among `models` stands for an estimate that is compared. Every run draws from a child of
    `rng`.
    """
    drawn = [name for name, model in models.items() if model is None and estimators[name].random]
    return {
        name: [
            estimators[name].fit(problem, named_stream(rng, f"run {run}")) for run in range(1, runs)
        ]
        for name in drawn
    }


def _formal(estimate: Estimate, nominal: Robot, basis: BaseParameters) -> Robot:
    phi = basis.completed(estimate.beta, nominal.parameters())
    return nominal.with_parameters(phi, formal=True)
