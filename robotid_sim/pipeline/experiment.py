"""The virtual experiment of a cell: the plant in the engine, then its sensors.

Only what is here receives the cell, which holds the plant.
"""

from dataclasses import replace

import numpy as np

from robotid_sim.experiment.rollout import Cell, rollout
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.sensors import measure
from robotid_sim.progress import Progress, silent
from robotid_sim.threads import one_blas_thread
from robotid_sim.trajectory.reference import Excitation


@one_blas_thread()
def clean_run(cell: Cell, trajectory: Excitation, *, progress: Progress = silent) -> Log:
    """Run the plant in the engine along a trajectory; return the clean log, with what was true.

    Raises `SimulationDiverged` if the loop leaves every sensible range, and `ControllerError` if
    the controller returns anything but finite torques: both carry the log up to there. Raises
    `LogError` if the trajectory is of another robot, `InconsistentInertiaError` or
    `RankDeficientError` if a body of the plant cannot exist, or a joint of it moves no inertia.
    """
    with cell.open() as engine:
        return rollout(engine, cell.controller, trajectory, progress=progress)


def measured(cell: Cell, clean: Log, rng: np.random.Generator, *, seed: int | None = None) -> Log:
    """Return what the sensors of a cell see of a clean run, which is the log's truth.

    The seed is what the log says of it. Raises `OptionError` if a sensor has options for another
    number of joints.
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

    The log is what a real cell would give, and the truth for scoring; the seed is what it says of
    it.
    """
    return measured(cell, clean_run(cell, trajectory, progress=progress), rng, seed=seed)
