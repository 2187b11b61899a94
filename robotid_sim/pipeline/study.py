"""Run a study: robot, excitation, experiment, identification, prediction, verdict."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.data_frames import data_frame
from robotid_sim.diagnostics.cause import Diagnosis
from robotid_sim.estimation.problem import build_problem
from robotid_sim.estimation.reduction import cramer_rao
from robotid_sim.excitation.design import ExcitationQuality, excitation_quality
from robotid_sim.measurement.log import Log
from robotid_sim.model.mesh_files import MeshMode
from robotid_sim.model.robot import Robot
from robotid_sim.parallel import keep_workers, run_ahead
from robotid_sim.pipeline.assess import Assessment, FittedLog
from robotid_sim.pipeline.build import Setup, build_setup, load_kernels
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.excitation import Designs
from robotid_sim.pipeline.identification import Identification
from robotid_sim.pipeline.refit import Refit, refit_of
from robotid_sim.pipeline.result import StudyResult
from robotid_sim.pipeline.study_stages import (
    LOG_FILE,
    RESULT_FILES,
    StudyStages,
    require_study_folder,
    study_folder,
)
from robotid_sim.progress import Progress
from robotid_sim.progress_display import is_notebook, progress_line
from robotid_sim.renamed import old_members
from robotid_sim.representation import public_value
from robotid_sim.threads import one_blas_thread
from robotid_sim.trajectory.reference import Excitation
from robotid_sim.validation.closed_loop import ClosedLoop
from robotid_sim.validation.prediction import exact_problem

if TYPE_CHECKING:
    import pandas

_log = logging.getLogger(__name__)


@old_members(fitted="fit_log", predicted="unseen_log")
@public_value
@dataclass(frozen=True, eq=False)
class Study:
    """A study: the values of all stages, and the result."""

    setup: Setup
    """The initial values."""
    designs: Designs
    """The designs of the excitation."""
    trajectory: Excitation
    """The excitation."""
    log: Log
    """Its measured log."""
    assessment: Assessment
    """The identification and its assessment without the truth."""
    unseen: Log
    """The log of the validation motion."""
    loop: ClosedLoop | None
    """The closed-loop runs; None without them or without an identified model."""
    result: StudyResult
    """Content of ``result.json``."""

    @property
    def plant(self) -> Robot:
        """The true model."""
        return self.setup.cell.plant

    @property
    def nominal(self) -> Robot:
        """The nominal model."""
        return self.setup.nominal

    @property
    def fit(self) -> Identification:
        """The identification."""
        return self.assessment.fit

    @property
    def diagnosis(self) -> Diagnosis | None:
        """Diagnosis of the log; None if the log is too short."""
        return self.assessment.diagnoses[0]

    @property
    def models(self) -> dict[str, Robot]:
        """The true and nominal robot, and the identified robot if it exists, by name."""
        identified = (
            {}
            if self.fit.consistent_robot is None
            else {"identified": self.fit.consistent_robot.robot}
        )
        return {"true": self.plant, "nominal": self.nominal, **identified}

    def to_frame(self) -> "pandas.DataFrame":
        """Tabulate the base parameters by estimator, with the truth, as a data frame.

        Raises `MissingExtraError` if pandas is not installed.
        """
        rows = [
            (estimate.estimator, p.name, p.unit, p.value, p.std, p.true)
            for estimate in self.result.estimates
            for p in estimate.base_parameters
        ]
        names = ("estimator", "name", "unit", "value", "std", "true")
        return data_frame(dict(zip(names, zip(*rows, strict=True), strict=True)))

    @cached_property
    def fit_log(self) -> FittedLog:
        """The log with its truth, motion and predictions."""
        return FittedLog(self.log, self.fit, self.fit.preprocessor)

    @cached_property
    def unseen_log(self) -> FittedLog:
        """The log of the validation motion with its truth and predictions."""
        return FittedLog(self.unseen, self.fit, self.fit.preprocessor)

    @cached_property
    def quality(self) -> ExcitationQuality:
        """Condition of the excitation and its use of the limits, by the nominal model."""
        with one_blas_thread():
            return excitation_quality(self.nominal, self.fit.basis, self.trajectory)

    @cached_property
    def cramer_rao_std(self) -> Float1D | None:
        """Cramér-Rao standard deviations, shape (b,); None without truth."""
        log = self.log
        if log.truth is None:
            return None
        noise = np.maximum(np.std(log.tau_meas - log.truth.tau, axis=0), np.finfo(float).tiny)
        try:
            with one_blas_thread():
                exact = exact_problem(log, self.nominal, self.fit.basis, 0.0)
                return np.asarray(np.sqrt(np.diag(cramer_rao(exact, noise))))
        except np.linalg.LinAlgError:
            return None

    @cached_property
    def refit(self) -> Refit | None:
        """Data with which the HTML report repeats the fit, with the validation motion."""
        with one_blas_thread():
            fit = self.fit
            return refit_of(fit, build_problem(self.unseen_log.motion, fit.nominal, fit.basis))


def run_study(
    study: Setup | Robot | str | Path,
    out: str | Path,
    config: StudyConfig | None = None,
    *,
    workers: int = 1,
    meshes: MeshMode = MeshMode.COPY,
    page: bool = False,
    replay: bool = True,
    figures: bool = False,
    command: str = "",
    progress: Progress | None = None,
) -> Study:
    """Run a simulated study and write its files into a folder.

    Parameters
    ----------
    study : Setup, Robot, str or Path
        The plant, or the values from `build_setup`, each of which may be replaced by the user's
        object.
    out : str or Path
        Folder for result.json, identified.urdf, nominal.urdf, their meshes, parameters.csv,
        trajectory.json, log.h5, estimate.json and run.log; created if missing.
    config : StudyConfig, optional
        Names and options; used if `study` is a plant.
    workers : int
        Processes that share independent loops.
    meshes : MeshMode
        Whether meshes are copied.
    page : bool
        Write report.html, too.
    replay : bool
        Whether the page has a 3-D replay.
    figures : bool
        Write the figures of the page into figures/, as SVG, PNG and CSV.
    command : str
        Command that reproduces the study, for the page and the folder.
    progress : callable, optional
        Called with the stage and the share done. By default a notebook shows a bar, and elsewhere
        nothing is shown; ``with progress_line() as progress`` makes a line for a terminal.

    Returns
    -------
    study : Study
        The values of all stages; ``study.result`` is the content of ``result.json``.

    Raises
    ------
    SimulationDiverged, ControllerError
        If an excitation, or the undisturbed loop with the true model, fails; its log is in the
        folder.
    KeyboardInterrupt
        If the design was interrupted.
    """
    line = progress_line(enabled=is_notebook()) if progress is None else nullcontext(progress)
    command = command or "robotid_sim.run_study(setup, out)"
    settings = (config or StudyConfig()).experiment
    engine = study.cell.engine if isinstance(study, Setup) else settings.engine
    with keep_workers():
        run_ahead(partial(load_kernels, engine), workers)  # in another process
        setup = study if isinstance(study, Setup) else build_setup(study, config)
        with (
            study_folder(out, setup, command) as folder,
            _log_file(folder / LOG_FILE),
            line as shown,
        ):
            stages = StudyStages(setup, folder, workers, meshes, shown)
            stages.write_nominal()
            known_loops = stages.begin_known_loops()
            designs = stages.design()
            trajectory = designs.trajectories[0]
            unseen_log = stages.begin_unseen_log()
            log = stages.simulate(trajectory)
            fit = stages.identify(log)
            noise = stages.begin_noise(log, fit)
            assessment = stages.diagnose(log, fit)
            unseen, compared = stages.collect_validation_log(unseen_log, log, fit)
            loop = stages.control(fit, known_loops)
            result = stages.score(trajectory, log, unseen, assessment, compared, loop, noise)
            done = Study(setup, designs, trajectory, log, assessment, unseen, loop, result)
            if page:
                from robotid_sim.report.page import write_page
                from robotid_sim.report.study_report import study_report

                start, path = time.perf_counter(), folder / "report.html"
                report, files = study_report(done, command), folder / "figures" if figures else None
                write_page(report, path, files, shown, workers, replay=replay)
                _log.info("report: %.2f s", time.perf_counter() - start)
    return done


def plan_study(
    robot: Robot | str | Path, out: str | Path, config: StudyConfig | None = None, command: str = ""
) -> dict[str, Any]:
    """Return the plan of `run_study` as JSON values; raise the same errors.

    The folder is not changed; `command` reproduces the study.
    """
    config = config or StudyConfig()
    setup = build_setup(robot, config)
    require_study_folder(out, setup, command)
    plant, family = setup.cell.plant, setup.excitation.family
    return {
        "robot": plant.name,
        "dof": plant.dof,
        "joint_names": list(plant.joint_names),
        "base_parameters": setup.basis.rank,
        "excitation_s": family.periods * family.period,
        "candidates": config.design.candidates,
        "sensors": config.sensors,
        "preprocessor": config.preprocess.name,
        "estimators": list(setup.fit.estimators),
        "seed": config.seed,
        "out": str(out),
        "files": list(RESULT_FILES),
        "assumptions": setup.assumptions,
    }


@contextmanager
def _log_file(path: Path) -> Iterator[None]:
    handler = logging.FileHandler(path, mode="w", encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s"))
    handler.setLevel(logging.INFO)
    logger = logging.getLogger("robotid_sim")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        handler.close()
