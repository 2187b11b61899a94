"""The loop: a controller drives the plant along a trajectory, and everything true is recorded."""

from collections.abc import Callable

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.control.controller import Controller, Setpoint
from robotid_sim.engine.plant import Plant
from robotid_sim.errors import LogError, OptionError, SimulationDiverged
from robotid_sim.experiment.scenario import Scenario
from robotid_sim.measurement.log import SHORTEST_LOG, Log, Truth
from robotid_sim.trajectory.design import silent
from robotid_sim.trajectory.reference import Trajectory

PROGRESS_EVERY = 1000

GRID_TOLERANCE = 1e-6
"""Deviation of a period from whole samples [samples]."""


def rollout(
    plant: Plant,
    controller: Controller,
    trajectory: Trajectory,
    *,
    scenario: Scenario | None = None,
    progress: Callable[[str, float], None] = silent,
) -> Log:
    """Drive the plant along a trajectory and return the clean log.

    The controller is fed the clean state of the engine. The log holds the true positions, the
    commanded and the applied torques; sensors corrupt it afterwards.

    Parameters
    ----------
    plant : Plant
        The robot in the engine; it is reset to the start of the trajectory.
    controller : Controller
        The control law, called once per control step.
    trajectory : Trajectory
        The reference, from `start` to `duration`.
    scenario : Scenario, optional
        What else acts on the robot; by default nothing, and it starts on the trajectory.
    progress : callable
        Called with the stage and the share done.

    Raises
    ------
    SimulationDiverged
        If the loop leaves every sensible range; carries the log up to there.
    LogError
        If the trajectory is of another robot.
    """
    robot = plant.robot
    if trajectory.joint_names != robot.joint_names:
        raise LogError(
            f"the trajectory is for joints {', '.join(trajectory.joint_names)}; robot "
            f"'{robot.name}' has {', '.join(robot.joint_names)}"
        )
    _require_grid(trajectory, plant.dt)
    before = round(-trajectory.start / plant.dt)
    count = before + round(trajectory.duration / plant.dt)
    t = (np.arange(count) - before) * plant.dt
    reference = trajectory(t)
    channels: dict[str, Float2D] = {
        name: np.empty((count, robot.dof)) for name in ("q", "dq", "ddq", "tau", "command")
    }
    scenario = scenario or Scenario()
    outside = scenario.disturbance(t, robot.dof)
    plant.reset(reference.q[0] + scenario.start_offset(robot.dof), reference.dq[0])
    controller.reset()
    done = 0
    try:
        for k in range(count):
            setpoint = Setpoint(reference.q[k], reference.dq[k], reference.ddq[k])
            command = controller(t[k], plant.q, plant.dq, setpoint)
            channels["command"][k] = command
            step = plant.step(command, None if outside is None else outside[k])
            channels["q"][k], channels["dq"][k], channels["ddq"][k], channels["tau"][k] = step
            done = k + 1
            if k % PROGRESS_EVERY == 0:
                progress("simulate", k / count)
    except SimulationDiverged as error:
        error.log = (
            _log(plant, controller, trajectory, t[:done], channels)
            if done >= SHORTEST_LOG
            else None
        )
        raise
    progress("simulate", 1.0)
    return _log(plant, controller, trajectory, t, channels)


def _require_grid(trajectory: Trajectory, dt: float) -> None:
    """Raise unless the samples of every period fall on the same phases."""
    for name, time in (("period", trajectory.period), ("approach", -trajectory.start)):
        steps = (time or 0.0) / dt
        if abs(steps - round(steps)) > GRID_TOLERANCE:
            raise OptionError(
                f"a rate of {1.0 / dt:g} Hz does not divide the {name} of {time:g} s into whole "
                "samples; change the rate or the period"
            )


def _log(
    plant: Plant,
    controller: Controller,
    trajectory: Trajectory,
    t: Float1D,
    channels: dict[str, Float2D],
) -> Log:
    q, dq, ddq, tau, command = (
        channels[name][: t.size] for name in ("q", "dq", "ddq", "tau", "command")
    )
    return Log(
        t=t,
        q=q,
        tau_meas=tau,
        tau_cmd=command,
        joint_names=plant.robot.joint_names,
        joint_units=plant.robot.joint_units,
        torque_time_offset=plant.torque_time_offset,
        period=trajectory.period,
        truth=Truth(q, dq, ddq, tau),
        provenance={
            "engine": "pybullet",
            "substeps": plant.substeps,
            "feedback": "clean state",
            "controller": type(controller).__name__,
        },
    )
