"""Build the values of a study from a configuration; see also `build_robot`, `build_design`."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from robotid_sim.control import CONTROLLERS
from robotid_sim.control.linear_feedback import (
    ComputedTorque,
    excitation_bandwidth,
    friction_inertia,
)
from robotid_sim.dynamics.base_parameters import BaseParameters, require_moved_inertia
from robotid_sim.engine.engines import engine_named
from robotid_sim.engine.plant import Plant
from robotid_sim.errors import ControllerError, OptionError, SimulationDiverged
from robotid_sim.estimation import ESTIMATORS
from robotid_sim.excitation.criteria import DOptimality
from robotid_sim.excitation.draws import sample_feasible
from robotid_sim.excitation.plan import DesignPlan
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.experiment.conditions import CONDITIONS, NAME_JOINER, Condition
from robotid_sim.experiment.rollout import Cell, rollout
from robotid_sim.measurement import SENSORS
from robotid_sim.measurement.sensors import Sensor, measure
from robotid_sim.model.catalog import apply_published, load_published_parameters, load_robot
from robotid_sim.model.friction_law import FRICTION_LAWS, FrictionLaw
from robotid_sim.model.parameters import columns
from robotid_sim.model.plant_drives import PLANT_DRIVES
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build_design import (
    build_criterion,
    build_design,
    build_family,
    build_search,
    build_unseen,
    require_period,
    require_whole_steps,
)
from robotid_sim.pipeline.build_robot import build_basis, build_nominal, build_robot
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.config_tables import ControlConfig, VerdictLimits
from robotid_sim.pipeline.excitation import add_clearance, free_space
from robotid_sim.pipeline.fit_plan import FitPlan, build_fit, build_preprocessor, build_rows
from robotid_sim.registry import Registry
from robotid_sim.representation import public_value
from robotid_sim.streams import Streams
from robotid_sim.tasks import TASKS
from robotid_sim.threads import one_blas_thread
from robotid_sim.trajectory.fourier import FourierTrajectory
from robotid_sim.trajectory.reference import PointToPoint
from robotid_sim.validation.comparison import Comparison, loop_gains, task_runs


@public_value
@dataclass(frozen=True, kw_only=True, eq=False)
class Setup:
    """A simulated study, ready to run. Only `cell` contains the plant."""

    cell: Cell
    nominal: Robot
    """The nominal model."""
    basis: BaseParameters
    """The base parameters of the study."""
    excitation: DesignPlan
    unseen: FourierTrajectory
    """The validation motion."""
    fit: FitPlan
    comparison: Comparison | None
    """The closed loop; None if the study has no closed loop."""
    models: Mapping[str, Robot | None] = field(default_factory=dict)
    """Further models of the closed loop; None stands for the estimate with that name."""
    compares_filters: bool = False
    """Whether torque filters are compared on the log."""
    limits: VerdictLimits = field(default_factory=VerdictLimits)
    streams: Streams = field(default_factory=lambda: Streams(0))
    preset: str | None = None
    """Name of the sensor preset; empty for other sensors."""
    settings: str = "{}"
    """Settings that differ from the defaults, as JSON; for the page."""

    @property
    def assumptions(self) -> list[str]:
        """Assumptions on plant, nominal model and space, one sentence each."""
        parts = self.cell.plant, self.nominal, self.excitation
        return list(dict.fromkeys(note for part in parts for note in part.assumptions))


REHEARSAL_DURATION = 0.2
"""Duration of the run in the home pose that checks a study [s]."""


def rehearse(setup: Setup) -> None:
    """Run the cell briefly in the home pose, and read its sensors.

    The run has a separate random stream, so that the study does not depend on it. Raises
    `RobotIdError` if the engine rejects the plant, or a sensor does not match the robot.
    """
    nominal, cell = setup.nominal, setup.cell
    samples = max(20, round(REHEARSAL_DURATION * cell.rate))
    rest = PointToPoint(nominal.joint_names, nominal.home, nominal.home, 0.0, samples * cell.dt)
    # A loop that diverges is a result: the study reports it and keeps its log.
    with suppress(SimulationDiverged, ControllerError), cell.open() as plant:
        log = rollout(plant, cell.controller, rest)
        measure(log, cell.sensors, setup.streams("rehearsal"))


Part = TypeVar("Part")

PUBLISHED_PREFIX = "published:"
"""Prefix of models that are published in a paper, as in ``published:table-3-qpso``."""


@one_blas_thread()
def build_setup(
    robot: str | Path | Robot, config: StudyConfig | None = None, *, in_full: bool = True
) -> Setup:
    """Build the values of a simulated study.

    Settings that would fail after minutes of work raise an error here.

    Parameters
    ----------
    robot : str, Path or Robot
        The plant: a catalog name, a URDF, or a robot.
    config : StudyConfig, optional
        Names and options.
    in_full : bool
        Search for a validation motion of full amplitude, and place the default tasks; tasks that
        do not fit are moved, or replaced by joint motion.

    Returns
    -------
    setup : Setup
        Argument of `run_study`.

    Raises
    ------
    OptionError, UnknownNameError
        If a name, an option or a size is invalid.
    PathError
        If a path of the closed loop is not within reach.
    InfeasibleError, RankDeficientError
        If no excitation respects the constraints, or determines the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> setup = rid.build_setup("twolink", rid.StudyConfig().quick())
    >>> setup.nominal.joint_names
    ('joint_1', 'joint_2')
    """
    config = config or StudyConfig()
    plant = robot if isinstance(robot, Robot) else build_robot(robot, config.robot)
    streams = Streams(config.seed)
    sensors = build_sensors(config)
    friction = build_part(FRICTION_LAWS, config.experiment.friction, "friction", "law")
    fit = build_fit(config)
    nominal = build_nominal(plant, config)
    basis = build_basis(nominal, config)
    cell = build_cell(plant, nominal, config, sensors=sensors, friction=friction)
    require_period(nominal, basis, config, build_rows(config.preprocess))
    excitation = build_design(nominal, basis, config)
    require_whole_steps(excitation.family.period, config.experiment.rate)
    comparison = build_comparison(config.control) if config.control.enabled else None
    models: dict[str, Robot | None] = {}
    if comparison is not None:
        models = build_models(plant, config.control, config.estimation.estimators)
        comparison = replace(comparison, space=free_space(nominal, excitation))
        if in_full or config.control != ControlConfig():
            loop_gains(nominal, task_runs(nominal, comparison), comparison, cell.rate)
    with add_clearance(nominal, excitation) as (plan, _):
        is_same_search = isinstance(plan.family, FourierOptions) and plan.count == 1
        if in_full or not (is_same_search and isinstance(plan.criterion, DOptimality)):
            # Raises if no motion keeps all constraints; so does the search for the other motion.
            sample_feasible(plan.problem(nominal, basis), streams("rehearsal"), 1)
        unseen = build_unseen(nominal, basis, plan, config, is_wide=in_full)
    setup = Setup(
        cell=cell,
        nominal=nominal,
        basis=basis,
        excitation=excitation,
        unseen=unseen,
        fit=fit,
        comparison=comparison,
        models=models,
        compares_filters=config.preprocess.compare,
        limits=config.validation,
        streams=streams,
        preset=config.preset,
        settings=config.changes(),
    )
    rehearse(setup)
    return setup


def require_buildable(config: StudyConfig) -> None:
    """Raise if a name or an option is invalid in any section, also in unused ones.

    For commands, which report errors before their work; `build_setup` raises them later.
    """
    build_sensors(config)
    build_part(FRICTION_LAWS, config.experiment.friction, "friction", "law")
    build_part(PLANT_DRIVES, config.experiment.drive, "drive", "kind")
    # Without a name no engine is needed, because not every command simulates.
    if config.experiment.engine is not None:
        engine_named(config.experiment.engine)
    build_fit(config)
    build_family(config.design)
    build_criterion(config.design)
    build_search(config.design)
    build_comparison(config.control)
    for name, options in config.control.conditions.items():
        CONDITIONS.build(name, **options)
    columns(1, config.estimation.joint_parameters)
    for name in config.control.models:
        if not name.startswith(PUBLISHED_PREFIX):
            ESTIMATORS[name]  # raises if the name is unknown


def build_cell(
    plant: Robot,
    nominal: Robot,
    config: StudyConfig,
    *,
    sensors: tuple[Sensor, ...] | None = None,
    friction: FrictionLaw | None = None,
) -> Cell:
    """Build the cell of an experiment, with the nominal model in its controller.

    Sensors and friction law are those of the configuration unless given. Raises `OptionError` or
    `UnknownNameError` if a sensor, law, drive or engine is invalid, `MissingExtraError` if the
    engine is not installed, and `RankDeficientError` if a joint moves no inertia.
    """
    for robot in (plant, nominal):
        require_moved_inertia(robot)
    settings = config.experiment
    kp = excitation_bandwidth(nominal, settings.rate) ** 2 if settings.kp is None else settings.kp
    kd = 2.0 * kp**0.5 if settings.kd is None else settings.kd
    inertia = friction_inertia(nominal, settings.rate)
    return Cell(
        plant=plant,
        controller=ComputedTorque(nominal, kp, kd, inertia if inertia.any() else None),
        sensors=build_sensors(config) if sensors is None else sensors,
        rate=settings.rate,
        substeps=settings.substeps,
        leapfrog=settings.leapfrog,
        friction=friction or build_part(FRICTION_LAWS, settings.friction, "friction", "law"),
        drive=build_part(PLANT_DRIVES, settings.drive, "drive", "kind"),
        engine=engine_named(settings.engine),
    )


def build_sensors(config: StudyConfig) -> tuple[Sensor, ...]:
    """Build the sensors of a study in their order of application."""
    return tuple(SENSORS.build(name, **options) for name, options in config.list_sensors().items())


def build_part(
    registry: Registry[Part], table: Mapping[str, Any], name: str, key: str
) -> Part | None:
    """Build a part of the plant, such as its friction, from a table; None for an empty table."""
    options = dict(table)
    if not options:
        return None
    if key not in options:
        raise OptionError(f"experiment.{name} needs a {key}; known: {', '.join(registry)}")
    return registry.build(options.pop(key), **options)


def build_comparison(config: ControlConfig) -> Comparison:
    """Build the closed loop of a study."""
    return Comparison(
        controllers={name: CONTROLLERS[name].from_gains for name in config.controllers},
        baselines={name: CONTROLLERS[name].from_gains for name in config.baselines},
        tasks={name: TASKS.build(name, **options) for name, options in config.tasks.items()},
        scenarios={name: build_conditions(name, config.conditions) for name in config.scenarios},
        runs=config.runs,
        slow_lap=config.slow_lap,
        bandwidth=config.bandwidth,
        error=config.error,
    )


def build_conditions(name: str, options: Mapping[str, Mapping[str, Any]]) -> tuple[Condition, ...]:
    """Build the conditions of a scenario such as ``payload+sinusoidal``, in the order of its name.

    The options of all conditions are checked, also of those that `name` does not contain. Raises
    `UnknownNameError` if there is no such condition, and `OptionError` if an option is invalid or a
    condition is named twice.
    """
    for other, values in options.items():  # also conditions that the scenario does not name
        CONDITIONS.build(other, **values)
    parts = name.split(NAME_JOINER)
    if len(set(parts)) < len(parts):
        raise OptionError(f"the scenario '{name}' names a condition twice; keep one")
    return tuple(CONDITIONS.build(part, **options.get(part, {})) for part in parts)


def build_models(
    plant: Robot, config: ControlConfig, estimators: tuple[str, ...]
) -> dict[str, Robot | None]:
    """Build the further models of the closed loop.

    None stands for the estimate of that name. Raises `OptionError` if a name is neither an
    estimator of the study nor a published set, and `UnknownNameError` if the robot has no such set.
    """
    models: dict[str, Robot | None] = {}
    for name in config.models:
        if name.startswith(PUBLISHED_PREFIX):
            parameters = load_published_parameters(plant.name, name.removeprefix(PUBLISHED_PREFIX))
            models[name] = apply_published(plant, parameters)
        elif name in estimators:
            models[name] = None
        else:
            raise OptionError(
                f"unknown model '{name}' of the closed loop; known: estimates "
                f"({', '.join(estimators)}) and {PUBLISHED_PREFIX}SET"
            )
    return models


def load_kernels(engine: str | None = None) -> None:
    """Load the compiled functions of experiment and filters, or compile them for all processes.

    The first compilation takes half a minute; another process can do it during the design.

    The default is the first installed engine; raises `MissingExtraError` without an engine.
    """
    robot, config = load_robot("twolink"), StudyConfig()
    with Plant(robot, engine=engine) as plant:  # takes longest to compile, is needed last
        plant.step(np.zeros(robot.dof))
    # A short motion of 0.3 rad in 3 s has enough rows for a filter.
    path = PointToPoint(robot.joint_names, robot.home, robot.home + 0.3, 0.0, 3.0)
    cell = build_cell(robot, robot, config)
    with cell.open() as plant:
        log = measure(rollout(plant, cell.controller, path), cell.sensors, Streams(0)("kernels"))
    build_preprocessor(config.preprocess)(log, robot)
