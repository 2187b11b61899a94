"""The folder of a study: its files, and the space that they take."""

from contextlib import AbstractContextManager
from pathlib import Path

from robotid_sim.files import FILE_SPACE
from robotid_sim.model.mesh_files import FOLDER as MESHES
from robotid_sim.pipeline.identification import ESTIMATE, IDENTIFIED, PARAMETERS
from robotid_sim.pipeline.setup import Setup
from robotid_sim.result_folder import Run, require_usable, result_folder

LOG, RESULT = "log.h5", "result.json"
"""The measured log, and what came out."""

RUN_LOG = "run.log"
"""What the stages said, with times."""

KIND = "study"
"""What such a folder is of."""

FILES = (
    *(RESULT, IDENTIFIED, "nominal.urdf", "trajectory.json", LOG),
    *(ESTIMATE, PARAMETERS, "report.html", "figures", MESHES, RUN_LOG),
)
"""What a study and its page leave in a folder."""

SAMPLE_SPACE = 400.0
"""Space of a sample of a joint in a log [bytes], with the logs of loops that fail."""


def study_folder(
    out: str | Path, setup: Setup, command: str = "run_study"
) -> AbstractContextManager[Path]:
    """Return the result folder of a study, to be entered; see `result_folder`."""
    return result_folder(out, FILES, *_run_and_space(setup, command))


def require_study_folder(out: str | Path, setup: Setup, command: str) -> None:
    """Raise as `study_folder` would, and leave all as it is."""
    require_usable(out, FILES, *_run_and_space(setup, command))


def _run_and_space(setup: Setup, command: str) -> tuple[Run, float]:
    plant, family = setup.cell.plant, setup.excitation.family
    samples = family.periods * family.period * setup.cell.rate
    return Run(KIND, plant.name, command), FILE_SPACE + SAMPLE_SPACE * samples * plant.dof
