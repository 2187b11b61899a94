"""The stages of a study with its files; long independent work starts before its stage."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from robotid_sim.files import FILE_SPACE
from robotid_sim.measurement.files import save_log
from robotid_sim.measurement.log import Log
from robotid_sim.model.export import write_urdf
from robotid_sim.model.mesh_files import MESH_FOLDER as MESHES
from robotid_sim.model.mesh_files import MeshMode
from robotid_sim.parallel import run_ahead
from robotid_sim.pipeline.assess import Assessment, assess
from robotid_sim.pipeline.build import Setup
from robotid_sim.pipeline.excitation import Designs, contacts, design_excitation
from robotid_sim.pipeline.identification import ESTIMATE, IDENTIFIED, PARAMETERS, Identification
from robotid_sim.pipeline.identify import identify
from robotid_sim.pipeline.result import (
    ComparedPreprocessor,
    PreprocessingResult,
    StudyResult,
    versions,
)
from robotid_sim.pipeline.scoring import (
    compare_preprocessing,
    describe_measurement,
    describe_robot,
    describe_trajectory,
    score_estimates,
)
from robotid_sim.pipeline.simulate import run_experiment, save_failures, save_if_diverged
from robotid_sim.pipeline.validate import collect_models, refits_of
from robotid_sim.pipeline.verdict import prepare_noise_replicates, verdict
from robotid_sim.preprocess import PREPROCESSORS
from robotid_sim.progress import Progress
from robotid_sim.result_folder import Run, require_usable, result_folder
from robotid_sim.trajectory.reference import Excitation, Trajectory
from robotid_sim.trajectory.trajectory_files import save_trajectory
from robotid_sim.validation.closed_loop import ClosedLoop, run_closed_loops
from robotid_sim.validation.fit_tests import ResidualNoise

LOG, RESULT = "log.h5", "result.json"
"""Files of the measured log and of the result."""

LOG_FILE = "run.log"
"""Log file of the stages, with times."""

FOLDER_KIND = "study"
"""Kind of the result folder."""

RESULT_FILES = (
    *(RESULT, IDENTIFIED, "nominal.urdf", "trajectory.json", LOG),
    *(ESTIMATE, PARAMETERS, "report.html", "figures", MESHES, LOG_FILE),
)
"""Files of a study and its report."""

SAMPLE_BYTES = 400.0
"""Disk space per sample and joint of a log [bytes], with the logs of failed loops."""


def study_folder(
    out: str | Path, setup: Setup, command: str = "run_study"
) -> AbstractContextManager[Path]:
    """Return the result folder of a study as a context manager; see `result_folder`."""
    return result_folder(out, RESULT_FILES, *_describe_run(setup, command))


def require_study_folder(out: str | Path, setup: Setup, command: str) -> None:
    """Raise the errors of `study_folder` without changes."""
    require_usable(out, RESULT_FILES, *_describe_run(setup, command))


def _describe_run(setup: Setup, command: str) -> tuple[Run, float]:
    plant, family = setup.cell.plant, setup.excitation.family
    samples = family.periods * family.period * setup.cell.rate
    return Run(FOLDER_KIND, plant.name, command), FILE_SPACE + SAMPLE_BYTES * samples * plant.dof


_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class StudyStages:
    """The stages of a study; each writes its files into the folder and records its wall time.

    The validation log and the loops with models other than the identified one do not depend on
    earlier stages; they start early, in other processes if available.
    """

    setup: Setup
    folder: Path
    workers: int
    """Number of processes; results do not depend on it."""
    meshes: MeshMode
    progress: Progress
    seconds: dict[str, float] = field(default_factory=dict)
    """Wall time by stage [s]; the stages do not overlap."""

    @contextmanager
    def _time_stage(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        with save_if_diverged(self.folder / "diverged.h5"):
            yield
        self.seconds[name] = time.perf_counter() - began
        _log.info("%s: %.2f s", name, self.seconds[name])

    def write_nominal(self) -> None:
        """Write the nominal model."""
        with self._time_stage("robot"):
            path = self.folder / "nominal.urdf"
            for note in write_urdf(self.setup.nominal, path, meshes=self.meshes):
                _log.warning("%s", note)

    def begin_known_loops(self) -> Callable[[], ClosedLoop] | None:
        """Start the loops with the models other than the identified one."""
        setup = self.setup
        if setup.comparison is None or self.workers < 2:
            return None
        stream = setup.streams("control")
        loops = partial(run_closed_loops, setup.cell, setup.nominal, {}, stream, setup.comparison)
        return run_ahead(loops, self.workers)

    def design(self) -> Designs:
        """Design the excitation."""
        setup, stream = self.setup, self.setup.streams("design")
        with self._time_stage("design"):
            designs = design_excitation(
                setup.nominal, setup.basis, setup.excitation, stream, progress=self.progress
            )
            if designs.is_interrupted:  # a study stops at an unfinished design
                raise KeyboardInterrupt
            path = self.folder / "trajectory.json"
            save_trajectory(designs.trajectories[0], path, setup.nominal)
        return designs

    def begin_unseen_log(self) -> Callable[[], Log]:
        """Start the experiment with the validation motion."""
        setup, stream = self.setup, self.setup.streams("unseen measure")
        work = partial(run_experiment, setup.cell, setup.unseen, stream)
        return run_ahead(work, self.workers)

    def simulate(self, trajectory: Excitation) -> Log:
        """Run the experiment."""
        streams = self.setup.streams
        with self._time_stage("simulate"):
            stream, seed = streams("measure"), streams.seed
            log = run_experiment(
                self.setup.cell, trajectory, stream, seed=seed, progress=self.progress
            )
            save_log(log, self.folder / LOG)
        return log

    def identify(self, log: Log) -> Identification:
        """Identify the robot from its log."""
        setup = self.setup
        with self._time_stage("identify"):
            fit = identify(
                log,
                setup.nominal,
                basis=setup.basis,
                plan=setup.fit,
                check=False,
                rng=setup.streams("identify"),
                progress=self.progress,
            )
            fit = replace(fit, names=(LOG,))
            fit.write(self.folder, meshes=self.meshes)
        return fit

    def begin_noise(self, log: Log, fit: Identification) -> Callable[[], ResidualNoise] | None:
        """Start the simulations with other noise that the expected residuals are computed from."""
        if not self.setup.cell.sensors:
            return None
        return run_ahead(prepare_noise_replicates(self.setup, log, fit), self.workers)

    def diagnose(self, log: Log, fit: Identification) -> Assessment:
        """Diagnose the log and the model."""
        with self._time_stage("diagnose"):
            assessment = assess(fit, log)
            _ = assessment.diagnoses
        return assessment

    def collect_validation_log(
        self, unseen: Callable[[], Log], log: Log, fit: Identification
    ) -> tuple[Log, list[ComparedPreprocessor]]:
        """Wait for the validation log, and compare the filters of preprocessing if requested."""
        with self._time_stage("validate"):
            validation_log, setup = unseen(), self.setup
            if not setup.compares_filters:
                return validation_log, []
            return validation_log, compare_preprocessing(setup.cell.plant, fit.nominal, log, fit)

    def control(
        self, fit: Identification, early_loop: Callable[[], ClosedLoop] | None
    ) -> ClosedLoop | None:
        """Run the closed loop with all models; None if disabled or without identified model."""
        setup = self.setup
        with self._time_stage("control"):
            if fit.consistent_robot is None or setup.comparison is None:
                return None
            runs, stream = setup.comparison.runs, setup.streams("identify")
            refits = refits_of(fit.problem, setup.fit.estimators, setup.models, runs, stream)
            models = collect_models(
                fit.consistent_robot.robot,
                fit.estimates,
                fit.nominal,
                fit.basis,
                setup.models,
                refits,
            )
            loop = run_closed_loops(
                setup.cell,
                setup.nominal,
                models,
                setup.streams("control"),
                setup.comparison,
                reused=early_loop() if early_loop else None,
                workers=self.workers,
                progress=self.progress,
            )
            save_failures(loop, self.folder)
        return loop

    def score(
        self,
        trajectory: Excitation,
        log: Log,
        unseen: Log,
        assessment: Assessment,
        compared: list[ComparedPreprocessor],
        loop: ClosedLoop | None,
        noise: Callable[[], ResidualNoise] | None,
    ) -> StudyResult:
        """Score the study with the truth and compute its verdict."""
        setup, fit, plant = self.setup, assessment.fit, self.setup.cell.plant
        with self._time_stage("score"):
            estimates = score_estimates(plant, unseen, fit)
            motions: dict[str, Trajectory] = {"excitation": trajectory, "validation": setup.unseen}
            motions |= {} if loop is None else {t.name: t.trajectory for t in loop.tasks}
            contact_list = contacts(setup.nominal, motions, setup.excitation.floor)
            identified = None if fit.consistent_robot is None else self.folder / IDENTIFIED
            parts = (assessment.diagnoses[0], estimates, identified, loop, contact_list)
            outcome = verdict(setup, log, unseen, fit, *parts, noise() if noise else None)
        result = StudyResult(
            robot=describe_robot(plant),
            seed=setup.streams.seed,
            versions=versions(),
            reproducible=True,
            assumptions=setup.assumptions,
            trajectory=describe_trajectory(setup, trajectory),
            contacts=contact_list,
            measurement=describe_measurement(log, setup.preset),
            preprocessing=PreprocessingResult(
                chosen=PREPROCESSORS.name_of(setup.fit.preprocessor),
                message=fit.preprocessor.message,
                compared=compared,
            ),
            estimates=estimates,
            chosen=fit.chosen.estimator,
            control=[] if loop is None else list(loop.runs),
            timings=self.seconds,
            verdict=outcome,
        )
        result.save(self.folder / RESULT)
        return result
