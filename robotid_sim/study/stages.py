"""The stages of a study, one public function each; a study and the commands call the same ones."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
from threadpoolctl import threadpool_limits

from robotid_sim.control.computed_torque import ComputedTorque
from robotid_sim.diagnostics.doubt import doubt
from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.engine.plant import Plant, substeps_for
from robotid_sim.errors import OptionError
from robotid_sim.estimation import ESTIMATORS
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.estimator import Estimator
from robotid_sim.estimation.friction_fit import FrictionFit, estimate_eps, finer_rows, with_eps
from robotid_sim.estimation.lift import Lift, lift
from robotid_sim.estimation.problem import LinearProblem, build_problem
from robotid_sim.experiment.rollout import GRID_TOLERANCE, rollout
from robotid_sim.measurement import SENSORS
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.measurement.sensors import Sensor, measure
from robotid_sim.model.friction_laws import FRICTION_LAWS, FrictionLaw
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess import PREPROCESSORS
from robotid_sim.preprocess.misfit import CONSIDERED
from robotid_sim.preprocess.preprocessor import Preprocessor, Rows
from robotid_sim.progress import silent
from robotid_sim.study.config import StudyConfig
from robotid_sim.study.excitation import basis_of, check_design, designs, family_of
from robotid_sim.study.models import Models, require_models
from robotid_sim.study.robots import nominal_robot, stage_rng
from robotid_sim.trajectory.quintic import APPROACH_STEP
from robotid_sim.trajectory.reference import Excitation
from robotid_sim.validation.closed_loop import ClosedLoop, LoopPlan, closed_loop, task_runs

Progress = Callable[[str, float], None]

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Identification:
    """What the identify stage found in one log."""

    preprocessor: Preprocessor
    """The preprocessor with what it learnt from the log held fixed."""
    motion: Motion
    """What the preprocessor made of the log."""
    nominal: Robot
    """The model of the regressor; its friction velocities are those that were estimated, if so."""
    eps: FrictionFit | None
    """The estimate of the friction velocities; None if they were taken as given."""
    problem: LinearProblem
    estimates: tuple[Estimate, ...]
    estimator: Estimator
    """The estimator of the chosen estimate."""
    chosen: Estimate
    lift: Lift | None
    """The consistent robot of the chosen estimate; None if that failed."""
    doubt: str = ""
    """Why the chosen estimate cannot be trusted, as `robotid_sim.diagnostics.doubt` says."""

    @property
    def basis(self) -> BaseParameters:
        """The base parameters of the problem."""
        return self.problem.basis


def design(plant: Robot, config: StudyConfig, *, progress: Progress = silent) -> Excitation:
    """Return the excitation of a study; see `robotid_sim.study.excitation.designs`.

    Raises
    ------
    KeyboardInterrupt
        At Ctrl-C; a study does not go on with an unfinished design.
    """
    found = designs(plant, config, progress=progress)
    if found.interrupted:
        raise KeyboardInterrupt
    return found.trajectories[0]


def sensors_of(config: StudyConfig) -> tuple[Sensor, ...]:
    """Return the sensors of a study, in the order in which they apply."""
    return tuple(SENSORS.build(name, **options) for name, options in config.measuring().items())


def estimators_of(config: StudyConfig) -> list[Estimator]:
    """Return the estimators of a study; raise if one is unknown or the chosen one is not run."""
    settings = config.estimation
    if settings.chosen not in settings.estimators:
        raise OptionError(
            f"the chosen estimator '{settings.chosen}' is not among those run: "
            f"{', '.join(settings.estimators)}"
        )
    for name in settings.options:
        if name not in settings.estimators:
            raise OptionError(f"options for the estimator '{name}', which is not run")
    return [ESTIMATORS.build(n, **settings.options.get(n, {})) for n in settings.estimators]


def rows_of(config: StudyConfig) -> Rows:
    """Return which rows of a log enter the fit of a study."""
    try:
        return Rows(**config.preprocess.rows)
    except TypeError as error:
        known = ", ".join(field.name for field in fields(Rows))
        raise OptionError(f"preprocess.rows: {error}; known: {known}") from error


def preprocessor_of(config: StudyConfig) -> Preprocessor:
    """Return the preprocessor of a study."""
    settings, rows = config.preprocess, rows_of(config)
    if "rows" in settings.options:
        raise OptionError("preprocess.options.rows: rows have their own section, preprocess.rows")
    return PREPROCESSORS.build(settings.name, **settings.options, rows=rows)


def check_config(plant: Robot, config: StudyConfig) -> None:
    """Raise on everything in a configuration that would only fail after minutes of work.

    Raises
    ------
    OptionError, UnknownNameError
        If a name or an option is unknown, or the rate does not divide the period.
    PathError
        If a path of the closed loop is not within reach.
    """
    sensors_of(config)
    friction_law_of(config)
    estimators_of(config)
    preprocessor_of(config)
    _check_period(plant, config)
    check_design(plant, config)
    for name, time in (("period", family_of(config).period), ("approach", APPROACH_STEP)):
        samples = time * config.experiment.rate
        if abs(samples - round(samples)) > GRID_TOLERANCE:
            raise OptionError(
                f"a rate of {config.experiment.rate:g} Hz does not divide the {name} (multiples of "
                f"{time:g} s) into whole samples; change the rate"
            )
    ComputedTorque(plant, config.experiment.kp, config.experiment.kd)
    if config.control.enabled:
        require_models(plant, config.control.models, config.estimation.estimators)
        task_runs(plant, loop_plan(config))


def _check_period(plant: Robot, config: StudyConfig) -> None:
    """Raise if the excitation is too short for a fit."""
    dt = 1.0 / config.experiment.rate
    family = family_of(config)
    with threadpool_limits(1):
        most = max(basis_of(plant, config).rank, base_parameters(plant, CONSIDERED).rank)
    rows = 2 * most // plant.dof + 1  # what a comparison of preprocessors needs
    least = rows_of(config).shortest_period(dt, family.periods, rows)
    if not least <= family.period < np.inf:
        raise OptionError(
            f"design.period is {family.period:g} s; give at least {np.ceil(100.0 * least) / 100:g} "
            "s, or the rows of the fit are too few"
        )


def friction_law_of(config: StudyConfig) -> FrictionLaw | None:
    """Return the law of the plant's friction; None for that of the models.

    Raises
    ------
    UnknownNameError, OptionError
        If the law or an option is unknown.
    """
    options = dict(config.experiment.friction)
    if not options:
        return None
    if "law" not in options:
        raise OptionError(f"experiment.friction needs a law; known: {', '.join(FRICTION_LAWS)}")
    return FRICTION_LAWS.build(options.pop("law"), **options)


def _plant(robot: Robot, dt: float, substeps: int, config: StudyConfig) -> Plant:
    return Plant(
        robot,
        dt=dt,
        substeps=substeps,
        leapfrog=config.experiment.leapfrog,
        friction=friction_law_of(config),
    )


def simulate(
    plant: Robot,
    trajectory: Excitation,
    config: StudyConfig,
    *,
    stage: str = "measure",
    progress: Progress = silent,
) -> Log:
    """Run the virtual experiment: the plant in the engine, then what the sensors see of it.

    Parameters
    ----------
    plant : Robot
        The true robot.
    trajectory : Excitation
        The reference.
    config : StudyConfig
        Sections `experiment`, `sensors`, `nominal` (the controller's model).
    stage : str
        Names the child of the seed that the noise is drawn from.
    progress : callable
        Called with the stage and the share done.
    """
    settings = config.experiment
    controller = ComputedTorque(nominal_robot(plant, config), settings.kp, settings.kd)
    sensors = sensors_of(config)
    times = np.linspace(trajectory.start, trajectory.duration, 500)
    dt = 1.0 / settings.rate
    law = friction_law_of(config)
    substeps = substeps_for(plant, trajectory(times).q, dt, settings.substeps, law)
    if substeps > settings.substeps:
        _logger.info("friction needs %d sub-steps a control step", substeps)
    with threadpool_limits(1):
        with _plant(plant, dt, substeps, config) as engine:
            log = rollout(engine, controller, trajectory, progress=progress)
        measured = measure(log, sensors, stage_rng(config.seed, stage))
    provenance = {**measured.provenance, "sensors": config.measuring(), "robot": plant.name}
    return replace(measured, seed=config.seed, provenance=provenance)


def identify(
    robot: Robot,
    log: Log,
    config: StudyConfig,
    *,
    progress: Progress = silent,
) -> Identification:
    """Preprocess a log and estimate; nothing here looks at the log's truth.

    Parameters
    ----------
    robot : Robot
        The URDF's robot: of a virtual log the plant, from which the nominal model is derived as in
        the experiment; of a machine's log the nominal model itself.
    log : Log
        The measured log.
    config : StudyConfig
        Sections `preprocess`, `estimation`, `nominal`.
    progress : callable
        Called with the stage and the share done.
    """
    nominal = nominal_of_log(robot, log, config)
    log.require_robot(nominal).require_torques()
    names, estimators = config.estimation.estimators, estimators_of(config)
    template = preprocessor_of(config)
    with threadpool_limits(1):
        progress("identify", 0.0)
        basis = basis_of(nominal, config)
        preprocessor = template.tuned(log, nominal)
        motion = preprocessor(log, nominal)
        progress("identify", 0.4)
        nominal, eps = _with_own_eps(nominal, motion, basis, config)
        problem = build_problem(motion, nominal, basis)
        progress("identify", 0.8)
        rng = stage_rng(config.seed, "identify")
        estimates = tuple(estimator.fit(problem, rng) for estimator in estimators)
        choice = names.index(config.estimation.chosen)
        chosen = estimates[choice]
        lifted = lift_estimate(chosen, nominal, basis)
        why = doubt(chosen, problem) if chosen.success else ""
        if why and lifted is not None:
            lifted = replace(lifted, message=f"{lifted.message}, but does not explain the log")
        progress("identify", 1.0)
    return Identification(
        preprocessor=preprocessor,
        motion=motion,
        nominal=nominal,
        eps=eps,
        problem=problem,
        estimates=estimates,
        estimator=estimators[choice],
        chosen=chosen,
        lift=lifted,
        doubt=why,
    )


def _with_own_eps(
    nominal: Robot, motion: Motion, basis: BaseParameters, config: StudyConfig
) -> tuple[Robot, FrictionFit | None]:
    """Return the nominal robot with the friction velocities of the log, if they are wanted."""
    if config.estimation.eps == "fixed":
        return nominal, None
    fit = estimate_eps(finer_rows(motion), nominal, basis)
    if not fit.success:
        _logger.warning("friction velocities were not estimated: %s", fit.message)
        return nominal, fit
    return with_eps(nominal, fit.values[0]), fit


def lift_estimate(estimate: Estimate, nominal: Robot, basis: BaseParameters) -> Lift | None:
    """Return the consistent robot of an estimate; None if the fit failed."""
    if not estimate.success or estimate.cov is None:
        return None
    if estimate.phi is not None:
        robot = nominal.with_parameters(estimate.phi)
        return Lift(robot, exact=True, distance=0.0, message="the estimate is a consistent robot")
    return lift(estimate.beta, estimate.cov, nominal, basis)


def loop_plan(config: StudyConfig) -> LoopPlan:
    """Return what the closed loop of a study runs."""
    control = config.control
    return LoopPlan(
        controllers=control.controllers,
        baselines=control.baselines,
        tasks=control.tasks,
        scenarios=control.scenarios,
        conditions=control.conditions,
        runs=control.runs,
        slow_lap=control.slow_lap,
        rate=config.experiment.rate,
        substeps=config.experiment.substeps,
        bandwidth=control.bandwidth,
        error=control.error,
        friction=friction_law_of(config),
    )


def validate(
    plant: Robot,
    models: Models,
    config: StudyConfig,
    *,
    workers: int = 1,
    progress: Progress = silent,
) -> ClosedLoop:
    """Run the closed loop in the engine with the true, the nominal and other models.

    Parameters
    ----------
    plant : Robot
        The truth.
    models : mapping of str to Robot or sequence of Robot
        ``identified`` and those that `compared_models` gives: see `closed_loop`.
    config : StudyConfig
        Sections `control`, `experiment`, `nominal`.
    workers : int
        Processes that share the loops.
    progress : callable
        Called with the stage and the share done.
    """
    nominal = nominal_robot(plant, config)
    with threadpool_limits(1):
        return closed_loop(
            plant,
            nominal,
            models,
            stage_rng(config.seed, "control"),
            loop_plan(config),
            workers=workers,
            progress=progress,
        )


def nominal_of_log(robot: Robot, log: Log, config: StudyConfig) -> Robot:
    """Return the nominal model for a log: of a machine's log (without seed) the robot itself."""
    if log.seed is None and config.nominal.file is None:
        return robot
    return nominal_robot(robot, config)
