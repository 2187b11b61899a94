"""The virtual experiment of a cell: the plant in the engine, then its sensors.

Only what is here receives the cell, which holds the plant.
"""

from dataclasses import replace

import numpy as np

from robotid_sim.experiment.cell import Cell
from robotid_sim.experiment.rollout import rollout
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.sensors import measure
from robotid_sim.progress import Progress, silent
from robotid_sim.threads import one_blas_thread
from robotid_sim.trajectory.reference import Excitation


@one_blas_thread()
def clean_run(cell: Cell, trajectory: Excitation, *, progress: Progress = silent) -> Log:
    """Run the plant in the engine along a trajectory.

    Parameters
    ----------
    cell : Cell
        Plant and controller.
    trajectory : Excitation
        The reference.
    progress : callable
        Called with the stage and the share done.

    Returns
    -------
    log : Log
        The clean log, with what was true.

    Raises
    ------
    SimulationDiverged
        If the loop leaves every sensible range; carries the log up to there.
    ControllerError
        If the controller returns anything but finite torques; carries the log up to there.
    LogError
        If the trajectory is of another robot.
    InconsistentInertiaError, RankDeficientError
        If a body of the plant cannot exist, or a joint of it moves no inertia.
    """
    with cell.open() as engine:
        return rollout(engine, cell.controller, trajectory, progress=progress)


def measured(cell: Cell, clean: Log, rng: np.random.Generator, *, seed: int | None = None) -> Log:
    """Return what the sensors of a cell see of a clean run.

    Parameters
    ----------
    cell : Cell
        Its sensors are applied in their order.
    clean : Log
        A clean log, as by `clean_run`.
    rng : numpy.random.Generator
        Source of the noise.
    seed : int, optional
        What the log shall say of it.

    Returns
    -------
    log : Log
        The clean one is its truth.

    Raises
    ------
    OptionError
        If a sensor has options for another number of joints.
    """
    log = measure(clean, cell.sensors, rng)
    return replace(log, seed=seed, provenance={**log.provenance, "robot": cell.plant.name})


def run_experiment(
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
    """
    return measured(cell, clean_run(cell, trajectory, progress=progress), rng, seed=seed)
