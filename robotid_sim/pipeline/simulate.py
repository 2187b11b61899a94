"""The simulated experiment: a robot in the engine on a trajectory, with sensors."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.errors import ControllerError, SimulationDiverged
from robotid_sim.experiment.rollout import Cell, rollout
from robotid_sim.measurement.files import save_log
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.sensors import measure
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build import build_cell
from robotid_sim.pipeline.build_design import build_space
from robotid_sim.pipeline.build_robot import build_nominal, build_robot
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.excitation import contacts
from robotid_sim.pipeline.verdict import find_saturation
from robotid_sim.progress import Progress, silent
from robotid_sim.representation import public_value
from robotid_sim.streams import stream_of
from robotid_sim.threads import one_blas_thread
from robotid_sim.trajectory.reference import Excitation, Trajectory, limit_use, require_runnable
from robotid_sim.trajectory.trajectory_files import load_trajectory
from robotid_sim.validation.closed_loop import ClosedLoop

_log = logging.getLogger(__name__)


@contextmanager
def save_if_diverged(path: Path | None) -> Iterator[None]:
    """Save the log of a loop that diverges in the context, and add its path to the message."""
    try:
        yield
    except (SimulationDiverged, ControllerError) as error:
        if path is not None and isinstance(error.log, Log):
            save_log(error.log, path)
            error.args = (f"{error}; log until then: {path}", *error.args[1:])
        raise


def save_failures(loop: ClosedLoop, folder: Path, prefix: str = "") -> list[Path]:
    """Save the logs of failed runs, in order; return the files.

    Their names begin with `prefix`; old files with such names are removed. Raises `FileFormatError`
    if a log cannot be written.
    """
    for old in folder.glob(f"{prefix}failed-*.h5"):
        old.unlink()
    paths = []
    for k, failure in enumerate(loop.failures, start=1):
        _log.warning("%s", failure)
        if failure.log is not None:
            paths.append(folder / f"{prefix}failed-{k}.h5")
            save_log(failure.log, paths[-1])
    return paths


@one_blas_thread()
def clean_run(cell: Cell, trajectory: Trajectory, *, progress: Progress = silent) -> Log:
    """Run the plant in the engine along a trajectory; return the clean log with the truth.

    Raises `SimulationDiverged` if the loop diverges, and `ControllerError` if the controller
    returns torques that are not finite; both errors have the log until then. Raises `LogError` if
    the trajectory is of another robot, `InconsistentInertiaError` or `RankDeficientError` if a body
    of the plant is not physically consistent, or a joint moves no inertia.
    """
    with cell.open() as engine:
        return rollout(engine, cell.controller, trajectory, progress=progress)


def measure_clean_log(
    cell: Cell, clean: Log, rng: np.random.Generator, *, seed: int | None = None
) -> Log:
    """Apply the sensors of a cell to a clean log, which becomes the truth.

    `seed` is recorded in the log. Raises `OptionError` if a sensor has options for another
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
    """Run the simulated experiment: the plant in the engine, then its sensors.

    The log has the content of a log of a real cell, plus the truth for scoring; `seed` is recorded
    in it.
    """
    return measure_clean_log(cell, clean_run(cell, trajectory, progress=progress), rng, seed=seed)


@public_value
@dataclass(frozen=True, eq=False)
class Experiment:
    """A simulated experiment: the log, and the use of the limits."""

    plant: Robot
    """The true model."""
    nominal: Robot
    """The nominal model."""
    trajectory: Excitation
    log: Log
    floor: float | None
    """Height of the floor in the root frame [m]; None without a floor."""

    @property
    def limit_use(self) -> dict[str, list[float]]:
        """Largest use of the limits along the trajectory, by kind of limit and joint."""
        return limit_use(self.plant, self.trajectory)

    @cached_property
    def contacts(self) -> list[str]:
        """Descriptions of link contacts on the trajectory."""
        return list(map(str, contacts(self.nominal, {"trajectory": self.trajectory}, self.floor)))

    @property
    def peak_torque(self) -> Float1D:
        """Largest measured torque [N m or N], shape (n,)."""
        return np.asarray(np.abs(self.log.tau_meas).max(axis=0))

    @property
    def saturated_share(self) -> Float1D:
        """Share of the samples with a commanded torque above the limit, shape (n,)."""
        return np.asarray(find_saturation(self.log).mean(axis=0))

    def write(self, path: str | Path) -> None:
        """Write the log, as `save_log` does."""
        save_log(self.log, Path(path))

    def content(self, file: str | Path | None = None) -> dict[str, Any]:
        """Return the experiment without its samples as JSON values, with the file of the log."""
        return {
            "robot": self.plant.name,
            "log": None if file is None else str(file),
            "samples": self.log.t.size,
            "dt_s": self.log.dt,
            "peak_torque": self.peak_torque.tolist(),
            "saturated": self.saturated_share.tolist(),
            **self.limit_use,
            "contacts": self.contacts,
        }


def simulate(
    robot: str | Path | Robot | Cell,
    trajectory: Excitation | str | Path,
    config: StudyConfig | None = None,
    *,
    nominal: Robot | None = None,
    rng: int | np.random.Generator | None = None,
    diverged: str | Path | None = None,
    progress: Progress = silent,
) -> Experiment:
    """Run the simulated experiment: the robot in the engine, then its sensors.

    Parameters
    ----------
    robot : str, Path, Robot or Cell
        The plant: a catalog name, a file, or a robot; or a cell, with a controller and sensors.
    trajectory : Excitation, str or Path
        A motion, or a file of `design`.
    config : StudyConfig, optional
        Engine, controller, sensors and friction of the plant.
    nominal : Robot, optional
        Model of the controller; by default as in the configuration or, with a cell, the plant.
    rng : int or numpy.random.Generator, optional
        Seed or generator of the noise; by default the seed of the configuration.
    diverged : str or Path, optional
        File for the log of a loop that diverges.
    progress : callable
        Called with the stage and the share done.

    Returns
    -------
    experiment : Experiment
        The log, with the truth for scoring, and the use of the limits.

    Raises
    ------
    SimulationDiverged, ControllerError
        If the loop fails; the error contains the log until then.
    LogError, OptionError
        If the trajectory is of another robot, or cannot be run.

    Examples
    --------
    >>> import robotid_sim as rid
    >>> setup = rid.build_setup("twolink", rid.StudyConfig().quick())
    >>> rid.simulate("twolink", setup.unseen).log.joint_names
    ('joint_1', 'joint_2')
    """
    config = (config or StudyConfig()).with_seed(rng if isinstance(rng, int) else None)
    if isinstance(robot, Cell):
        cell, plant = robot, robot.plant
        nominal = nominal or plant
    else:
        plant = build_robot(robot, config.robot)
        nominal = nominal or build_nominal(plant, config)
        cell = build_cell(plant, nominal, config)
    name = "the trajectory" if not isinstance(trajectory, str | Path) else str(trajectory)
    path = load_trajectory(trajectory, plant) if isinstance(trajectory, str | Path) else trajectory
    require_runnable(path, plant, cell.rate, name)
    stream = stream_of(config.seed if rng is None else rng, "measure")
    with save_if_diverged(None if diverged is None else Path(diverged)):
        log = run_experiment(cell, path, stream, seed=config.seed, progress=progress)
    space = build_space(nominal, config)
    return Experiment(plant, nominal, path, log, None if space is None else space.floor)
