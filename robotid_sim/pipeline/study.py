"""The whole study: robot, excitation, experiment, identification, prediction, verdict."""

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
from robotid_sim.diagnostics.cause import Diagnosis
from robotid_sim.estimation.problem import build_problem
from robotid_sim.estimation.reduction import cramer_rao
from robotid_sim.excitation.design import ExcitationQuality, excitation_quality
from robotid_sim.frames import data_frame
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
    """A whole study: the values that went from stage to stage, and the result that sums them up."""

    setup: Setup
    """What it began with."""
    designs: Designs
    """The excitation and how it came about."""
    trajectory: Excitation
    """The excitation."""
    log: Log
    """What the sensors saw of it."""
    assessment: Assessment
    """What was identified from the log, and what that is worth without the truth."""
    unseen: Log
    """A log of a trajectory that the identification has not seen."""
    loop: ClosedLoop | None
    """The closed-loop runs; None if they were not asked for or there was no model to run."""
    result: StudyResult
    """What ``result.json`` holds."""

    @property
    def plant(self) -> Robot:
        """The truth."""
        return self.setup.cell.plant

    @property
    def nominal(self) -> Robot:
        """What was known before."""
        return self.setup.nominal

    @property
    def fit(self) -> Identification:
        """What was identified from the log."""
        return self.assessment.fit

    @property
    def diagnosis(self) -> Diagnosis | None:
        """What speaks against the log and its model; None if the log is too short to tell."""
        return self.assessment.diagnoses[0]

    @property
    def models(self) -> dict[str, Robot]:
        """The true, nominal and, if there is one, identified robot."""
        identified = (
            {}
            if self.fit.consistent_robot is None
            else {"identified": self.fit.consistent_robot.robot}
        )
        return {"true": self.plant, "nominal": self.nominal, **identified}

    def to_frame(self) -> "pandas.DataFrame":
        """Return every base parameter by every estimator as a data frame, beside the truth.

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
        """The log with its truth, and how it was fitted."""
        return FittedLog(self.log, self.fit, self.fit.preprocessor)

    @cached_property
    def unseen_log(self) -> FittedLog:
        """The unseen log with its truth, and how it is predicted."""
        return FittedLog(self.unseen, self.fit, self.fit.preprocessor)

    @cached_property
    def quality(self) -> ExcitationQuality:
        """How well the excitation excites the nominal model, and its use of the limits."""
        with one_blas_thread():
            return excitation_quality(self.nominal, self.fit.basis, self.trajectory)

    @cached_property
    def cramer_rao_std(self) -> Float1D | None:
        """Least standard deviations of an unbiased estimate, where truth and noise give them."""
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
        """What a page fits again from, and tries on the unseen log."""
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
    """Run a whole virtual study and write its files into a folder.

    Parameters
    ----------
    study : Setup, Robot, str or Path
        The plant; or the built values, as `build_setup` makes them from a configuration, any of
        which may be replaced by an object of the user's own.
    out : str or Path
        Folder for result.json, identified.urdf, nominal.urdf, their meshes, parameters.csv,
        trajectory.json, log.h5, estimate.json and run.log; created if need be.
    config : StudyConfig, optional
        Names and options, for a plant.
    workers : int
        Processes that share independent loops.
    meshes : MeshMode
        Whether the meshes come along.
    page : bool
        Write report.html, too.
    replay : bool
        Whether the robot moves on the page, in 3-D.
    figures : bool
        Write the figures of the page into figures/, as SVG, PNG and CSV.
    command : str
        What does it again, for the page and the folder.
    progress : callable, optional
        Called with the stage and the share done. By default a notebook shows a bar, and elsewhere
        nothing is shown; ``with progress_line() as progress`` makes a line for a terminal.

    Returns
    -------
    study : Study
        The values of all stages; ``study.result`` is what ``result.json`` holds.

    Raises
    ------
    SimulationDiverged, ControllerError
        If an excitation, or the undisturbed loop with the true model, ends before its time; its
        log is in the folder.
    KeyboardInterrupt
        If the design was interrupted.
    """
    line = progress_line(enabled=is_notebook()) if progress is None else nullcontext(progress)
    command = command or "robotid_sim.run_study(setup, out)"
    settings = (config or StudyConfig()).experiment
    engine = study.cell.engine if isinstance(study, Setup) else settings.engine
    with keep_workers():
        run_ahead(partial(load_kernels, engine), workers)  # in another process, meanwhile
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
            unseen, compared = stages.validate(unseen_log, log, fit)
            loop = stages.control(fit, known_loops)
            result = stages.score(trajectory, log, unseen, assessment, compared, loop, noise)
            done = Study(setup, designs, trajectory, log, assessment, unseen, loop, result)
            if page:
                from robotid_sim.report.page import write_page
                from robotid_sim.report.study_report import study_report

                began, place = time.perf_counter(), folder / "report.html"
                drawn, files = study_report(done, command), folder / "figures" if figures else None
                write_page(drawn, place, files, shown, workers, replay=replay)
                _log.info("report: %.2f s", time.perf_counter() - began)
    return done


def plan_study(
    robot: Robot | str | Path, out: str | Path, config: StudyConfig | None = None, command: str = ""
) -> dict[str, Any]:
    """Return what `run_study` would do, as JSON values; raise what it would refuse.

    Nothing is written into the folder; the command is what does it again.
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
