"""The loop: a controller drives the plant along a trajectory, and everything true is recorded."""

from collections.abc import Callable

import numpy as np

from robotid_sim.control.controller import Controller, Setpoint
from robotid_sim.engine.plant import Plant
from robotid_sim.errors import LogError
from robotid_sim.measurement.log import Log, Truth
from robotid_sim.trajectory.design import silent
from robotid_sim.trajectory.reference import Trajectory

PROGRESS_EVERY = 1000


def rollout(
    plant: Plant,
    controller: Controller,
    trajectory: Trajectory,
    *,
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
    progress : callable
        Called with the stage and the share done.

    Raises
    ------
    SimulationDiverged
        If the loop leaves every sensible range.
    LogError
        If the trajectory is of another robot.
    """
    robot = plant.robot
    if trajectory.joint_names != robot.joint_names:
        raise LogError(
            f"the trajectory is for joints {', '.join(trajectory.joint_names)}; robot "
            f"'{robot.name}' has {', '.join(robot.joint_names)}"
        )
    before = round(-trajectory.start / plant.dt)
    count = before + round(trajectory.duration / plant.dt)
    t = (np.arange(count) - before) * plant.dt
    reference = trajectory(t)
    channels = {name: np.empty((count, robot.dof)) for name in ("q", "dq", "ddq", "tau", "command")}
    plant.reset(reference.q[0], reference.dq[0])
    controller.reset()
    for k in range(count):
        setpoint = Setpoint(reference.q[k], reference.dq[k], reference.ddq[k])
        command = controller(t[k], plant.q, plant.dq, setpoint)
        channels["command"][k] = command
        step = plant.step(command)
        channels["q"][k], channels["dq"][k], channels["ddq"][k], channels["tau"][k] = step
        if k % PROGRESS_EVERY == 0:
            progress("simulate", k / count)
    progress("simulate", 1.0)
    return Log(
        t=t,
        q=channels["q"],
        tau_meas=channels["tau"],
        tau_cmd=channels["command"],
        joint_names=robot.joint_names,
        joint_units=robot.joint_units,
        torque_time_offset=plant.torque_time_offset,
        period=trajectory.period,
        truth=Truth(channels["q"], channels["dq"], channels["ddq"], channels["tau"]),
        provenance={
            "engine": "pybullet",
            "substeps": plant.substeps,
            "feedback": "clean state",
            "controller": type(controller).__name__,
        },
    )
