"""Files of robots that an identification leaves possible, and how wrong its predictions are."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from robotid_sim.errors import FileFormatError, OptionError
from robotid_sim.estimation.draws import draw_robots
from robotid_sim.files import make_folder
from robotid_sim.measurement.log import Log
from robotid_sim.model.export import write_urdf
from robotid_sim.model.mesh_files import MeshMode
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.hold_out import predicted
from robotid_sim.pipeline.identification import Identification
from robotid_sim.pipeline.setup import FitPlan
from robotid_sim.progress import Progress, silent
from robotid_sim.threads import one_blas_thread
from robotid_sim.validation.log_prediction import LogPrediction, pooled
from robotid_sim.validation.predictive_band import ModelError, error_of

PATTERN = "draw_*.urdf"


def folder_of_draws(folder: Path, count: int) -> list[Path]:
    """Return the files that draws will have; make their folder.

    Raises `OptionError` if none are asked for, `FileFormatError` if the folder cannot be written
    or has other draws.
    """
    if count < 1:
        raise OptionError(f"draws are counted from 1, got {count}")
    make_folder(folder, "--draws")
    digits = max(2, len(str(count)))
    files = [folder / f"draw_{k:0{digits}d}.urdf" for k in range(1, count + 1)]
    if others := sorted(set(folder.glob(PATTERN)) - set(files)):
        raise FileFormatError(
            f"{folder} has other draws, such as {others[0].name}; remove them, or choose another "
            "folder"
        )
    return files


@one_blas_thread()
def drawn(
    fit: Identification, count: int, rng: np.random.Generator, progress: Progress = silent
) -> list[Robot]:
    """Return robots that logs and nominal model leave possible; see `draw_robots`."""
    return draw_robots(fit.chosen, fit.nominal, fit.basis, count, rng, progress=progress)


def write_draws(robots: Sequence[Robot], files: Sequence[Path], meshes: MeshMode) -> None:
    """Write drawn robots as URDF."""
    for robot, file in zip(robots, files, strict=True):
        write_urdf(robot, file, meshes=meshes)


@one_blas_thread()
def model_error(
    fit: Identification, logs: Sequence[Log], plan: FitPlan, held_out: LogPrediction | None = None
) -> ModelError:
    """Return how far predictions of a fit may be off: by data held out, else by its own logs."""
    found = held_out or pooled([predicted(fit, log, plan) for log in logs])
    return error_of(fit.plain, fit.discrepancy, found.identified.torque_rms)
