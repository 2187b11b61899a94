"""The loop: a controller drives the plant along a trajectory, with a record of the true motion.

The module also defines the cell: the plant, its loop, and the sensors.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.control.controller import Controller, Setpoint
from robotid_sim.control.observer import VelocityObserver
from robotid_sim.engine.plant import Plant, Step
from robotid_sim.errors import (
    ControllerError,
    LogError,
    OptionError,
    ShapeError,
    SimulationDiverged,
)
from robotid_sim.experiment.scenario import ObservedState, Scenario, StateSource, TrueState
from robotid_sim.measurement.log import MIN_SAMPLES, Log, Truth
from robotid_sim.measurement.sensors import Sensor
from robotid_sim.model.friction_law import FrictionLaw
from robotid_sim.model.plant_drives import PlantDrive
from robotid_sim.model.robot import Robot
from robotid_sim.progress import silent
from robotid_sim.representation import public_value
from robotid_sim.trajectory.reference import Reference, Trajectory

STEPS_PER_PROGRESS = 1000

GRID_TOLERANCE = 1e-6
"""Deviation of a period from whole samples [samples]."""


def rollout(
    plant: Plant,
    controller: Controller,
    trajectory: Trajectory,
    *,
    scenario: Scenario | None = None,
    observer: VelocityObserver | None = None,
    rng: np.random.Generator | None = None,
    progress: Callable[[str, float], None] = silent,
) -> Log:
    """Drive the plant along a trajectory and record the clean log.

    The controller has the true state of the engine, or that of an observer if the scenario has
    sensors in the loop. The log has the true positions, the commanded and the applied torques; the
    sensors of the cell are applied afterwards.

    Parameters
    ----------
    plant : Plant
        The robot in the engine, with the changes of the scenario; it is reset to the start of the
        trajectory.
    controller : Controller
        The control law, called once per control step.
    trajectory : Trajectory
        The reference, from `start` to `duration`.
    scenario : Scenario, optional
        Disturbances; by default none, with a start on the trajectory.
    observer : VelocityObserver, optional
        Needed with sensors in the loop, as is `rng`.
    rng : numpy.random.Generator, optional
        Source of the noise in the loop.
    progress : callable
        Called with the stage and the share done.

    Returns
    -------
    log : Log
        The clean log, with the true motion.

    Raises
    ------
    SimulationDiverged
        If the loop diverges; its `log` ends there.
    ControllerError
        If the controller returns no finite torques; its `log` ends there.
    LogError
        If the trajectory is for another robot.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> setup = rid.build_setup("twolink", rid.StudyConfig().quick())
    >>> nominal, basis = setup.nominal, setup.basis
    >>> rng, short = np.random.default_rng(0), rid.FourierOptions(period=5.0, periods=1)
    >>> path = rid.random_design(nominal, basis, rng, options=short, candidates=5)
    >>> with rid.Plant(setup.cell.plant) as engine:
    ...     log = rid.rollout(engine, rid.ComputedTorque(nominal), path)
    >>> log.truth is not None
    True
    """
    robot = plant.robot
    if trajectory.joint_names != robot.joint_names:
        raise LogError(
            f"the trajectory is for joints {', '.join(trajectory.joint_names)}; robot "
            f"'{robot.name}' has {', '.join(robot.joint_names)}"
        )
    _require_grid(trajectory, plant.dt)
    scenario = scenario or Scenario()
    approach_samples = round(-trajectory.start / plant.dt)
    count = approach_samples + round(trajectory.duration / plant.dt)
    t = (np.arange(count) - approach_samples) * plant.dt
    reference = trajectory(t)
    record = _Record(plant, controller, trajectory, scenario, t)
    plant.reset(reference.q[0] + scenario.start_offset(robot.dof), reference.dq[0])
    controller.reset()
    source = _state_source(plant, scenario, observer, rng, count)
    try:
        _loop(plant, controller, reference, scenario, source, record, progress)
    except (SimulationDiverged, ControllerError) as error:
        error.log = record.log()
        raise
    progress("simulate", 1.0)
    log = record.log()
    if log is None:
        raise LogError(f"a run of {count} samples is too short for a log; lengthen the trajectory")
    return log


def _loop(
    plant: Plant,
    controller: Controller,
    reference: Reference,
    scenario: Scenario,
    source: StateSource,
    record: "_Record",
    progress: Callable[[str, float], None],
) -> None:
    disturbance = scenario.disturbance(record.t, plant.robot.dof)
    for k, t in enumerate(record.t.tolist()):
        q, dq = source.state(k, plant.q, plant.dq)
        setpoint = Setpoint(reference.q[k], reference.dq[k], reference.ddq[k])
        command = controller(t, q, dq, setpoint)
        try:
            step = plant.step(command, None if disturbance is None else disturbance[k])
        except ShapeError as error:
            raise _bad_command(controller, command, plant) from error
        source.note_torque(step.tau)
        record.add(k, command, step)
        if k % STEPS_PER_PROGRESS == 0:
            progress("simulate", k / record.t.size)


def _bad_command(controller: Controller, command: object, plant: Plant) -> ControllerError:
    """Make the error for an invalid command."""
    values = np.asarray(command, dtype=float)
    names, joint = plant.robot.joint_names, ""
    if values.shape == (len(names),):
        joint = f" for joint '{names[int(np.isfinite(values).argmin())]}'"
    return ControllerError(
        f"controller {type(controller).__name__} returned {values}{joint} at t = {plant.t:.3f} s; "
        f"it must return {len(names)} finite torques"
    )


def _state_source(
    plant: Plant,
    scenario: Scenario,
    observer: VelocityObserver | None,
    rng: np.random.Generator | None,
    count: int,
) -> StateSource:
    if scenario.feedback is None:
        return TrueState()
    if observer is None or rng is None:
        raise OptionError(
            f"scenario '{scenario.name}' has sensors in the loop, which need an observer and rng"
        )
    return ObservedState.draw(scenario.feedback, observer, rng, count, plant.q, plant.dq)


class _Record:
    """Recorded channels of a run in progress."""

    def __init__(
        self,
        plant: Plant,
        controller: Controller,
        trajectory: Trajectory,
        scenario: Scenario,
        t: Float1D,
    ) -> None:
        self.t = t
        self._plant, self._controller = plant, controller
        self._trajectory, self._scenario = trajectory, scenario
        shape = (t.size, plant.robot.dof)
        self._command = np.empty(shape)
        self._state = np.empty((t.size, 4, plant.robot.dof))
        self._done = 0

    def add(self, k: int, command: Float1D, step: Step) -> None:
        """Store sample `k`."""
        self._command[k] = command
        self._state[k] = step
        self._done = k + 1

    def log(self) -> Log | None:
        """Make the log of the samples so far; None if they are too few."""
        if self._done < MIN_SAMPLES:
            return None
        recorded, plant = slice(self._done), self._plant
        q, dq, ddq, tau = (np.ascontiguousarray(self._state[recorded, i]) for i in range(4))
        feedback, period = self._scenario.feedback, self._trajectory.period
        if self._done < self.t.size and period is not None and period > self.t[self._done - 1]:
            period = None  # no repetition within the first period
        log = Log(
            t=self.t[recorded],
            q=q,
            tau_meas=tau,
            tau_cmd=self._command[recorded],
            joint_names=plant.robot.joint_names,
            joint_units=plant.robot.joint_units,
            torque_time_offset=plant.torque_time_offset,
            period=period,
            origin="virtual",
            truth=Truth(q, dq, ddq, tau),
            provenance={
                "engine": plant.engine,
                "substeps": plant.substeps,
                "feedback": "clean state" if feedback is None else str(feedback),
                "controller": type(self._controller).__name__,
            },
        )
        return plant.add_provenance(log)


def _require_grid(trajectory: Trajectory, dt: float) -> None:
    """Raise unless the samples of every period have the same phases."""
    for name, time in (("period", trajectory.period), ("approach", -trajectory.start)):
        steps = (time or 0.0) / dt
        if abs(steps - round(steps)) > GRID_TOLERANCE:
            raise OptionError(
                f"a rate of {1.0 / dt:g} Hz does not divide the {name} of {time:g} s into whole "
                "samples; change the rate or the period"
            )


@public_value
@dataclass(frozen=True, kw_only=True, eq=False)
class Cell:
    """A robot cell in the engine, the only owner of the true plant.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> robot = rid.load_robot("twolink")
    >>> nominal = rid.perturb(robot, np.random.default_rng(1))
    >>> law = rid.ComputedTorque(nominal)
    >>> cell = rid.Cell(plant=robot, controller=law, sensors=(rid.TorqueNoise(),))
    >>> cell.rate
    1000.0
    """

    plant: Robot
    """The true robot."""
    controller: Controller
    """Controller for the excitation, built from the nominal model."""
    sensors: tuple[Sensor, ...] = ()
    """Sensors for the clean log, applied in this order."""
    rate: float = 1000.0
    """Control and log rate [Hz]."""
    substeps: int = 4
    """Engine steps per control step."""
    leapfrog: bool = True
    """Whether velocity-dependent forces act within a sub-step, not at its start; see `Plant`."""
    friction: FrictionLaw | None = None
    """Friction law of the plant; None for that of the models."""
    drive: PlantDrive | None = None
    """Drive model between rotors and links of the plant; None for rigid joints."""
    engine: str | None = None
    """Engine of the plant, ``pybullet`` or ``mujoco``; None for the first that is installed."""

    @property
    def dt(self) -> float:
        """Control step [s]."""
        return 1.0 / self.rate

    def open(self, robot: Robot | None = None) -> Plant:
        """Open the plant in its own engine; close it, or use it in a ``with`` block.

        `robot` is the plant with the changes of a scenario.
        """
        return Plant(
            self.plant if robot is None else robot,
            dt=self.dt,
            substeps=self.substeps,
            leapfrog=self.leapfrog,
            friction=self.friction,
            drive=self.drive,
            engine=self.engine,
        )
