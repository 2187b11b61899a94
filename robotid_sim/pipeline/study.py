"""The whole study: robot, excitation, experiment, identification, prediction, verdict."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from robotid_sim.diagnostics.cause import Diagnosis
from robotid_sim.errors import ControllerError, SimulationDiverged
from robotid_sim.measurement.files import save_log
from robotid_sim.measurement.log import Log
from robotid_sim.model.export import write_urdf
from robotid_sim.model.mesh_files import MeshMode
from robotid_sim.model.robot import Robot
from robotid_sim.parallel import kept_workers, run_ahead
from robotid_sim.pipeline.compared_models import compared_models, refits_of
from robotid_sim.pipeline.contacts import contacts
from robotid_sim.pipeline.excitation import Designs, design
from robotid_sim.pipeline.fit_files import write_fit
from robotid_sim.pipeline.folder import LOG, RESULT, study_folder
from robotid_sim.pipeline.identification import Identification, diagnosed
from robotid_sim.pipeline.result import (
    ComparedPreprocessor,
    EstimateResult,
    PreprocessingResult,
    StudyResult,
)
from robotid_sim.pipeline.result_parts import (
    describe_measurement,
    describe_robot,
    describe_trajectory,
    versions,
)
from robotid_sim.pipeline.scoring import compare_preprocessing, score_estimate
from robotid_sim.pipeline.setup import Setup
from robotid_sim.pipeline.stages import identify, simulate
from robotid_sim.pipeline.verdict import noise_beside_residuals, verdict
from robotid_sim.preprocess import PREPROCESSORS
from robotid_sim.progress import Progress
from robotid_sim.progress_display import in_notebook, progress_line
from robotid_sim.representation import public_value
from robotid_sim.threads import one_blas_thread
from robotid_sim.trajectory.reference import Excitation, Trajectory
from robotid_sim.trajectory.trajectory_files import save_trajectory
from robotid_sim.validation.closed_loop import ClosedLoop, closed_loop
from robotid_sim.validation.prediction import predict_all

_log = logging.getLogger(__name__)


@contextmanager
def saved_if_diverged(path: Path) -> Iterator[None]:
    """Save the log of a loop that diverges within the block, and say where it is."""
    try:
        yield
    except (SimulationDiverged, ControllerError) as error:
        if isinstance(error.log, Log):
            save_log(error.log, path)
            error.args = (f"{error}; log up to there: {path}", *error.args[1:])
        raise


def save_failures(loop: ClosedLoop, folder: Path, of: str = "") -> list[Path]:
    """Save the logs of runs that ended before their time.

    Parameters
    ----------
    loop : ClosedLoop
        Its failures count.
    folder : Path
        Where the files go; earlier ones of such names are removed.
    of : str
        What the names begin with.

    Returns
    -------
    paths : list of Path
        The files, oldest run first.

    Raises
    ------
    FileFormatError
        If a file cannot be written.
    """
    for old in folder.glob(f"{of}failed-*.h5"):
        old.unlink()
    paths = []
    for k, failure in enumerate(loop.failures, start=1):
        _log.warning("%s", failure)
        if failure.log is not None:
            paths.append(folder / f"{of}failed-{k}.h5")
            save_log(failure.log, paths[-1])
    return paths


@dataclass(slots=True)
class _Clock:
    """Wall time by stage [s]; the stages do not overlap."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - began
        _log.info("%s: %.2f s", name, self.seconds[name])


@public_value
@dataclass(frozen=True, slots=True, eq=False)
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
    fit: Identification
    """What was identified from the log."""
    diagnosis: Diagnosis | None
    """What speaks against the log and its model; None if the log is too short to tell."""
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


def run_study(
    setup: Setup,
    out: str | Path,
    *,
    workers: int = 1,
    meshes: MeshMode = MeshMode.COPY,
    progress: Progress | None = None,
) -> Study:
    """Run a whole virtual study and write its files into a folder.

    Parameters
    ----------
    setup : Setup
        The built values, as `build_setup` makes them from a configuration; any of them may be
        replaced by an object of the user's own.
    out : str or Path
        Folder for result.json, identified.urdf, nominal.urdf, their meshes, parameters.csv,
        trajectory.json, log.h5 and estimate.json; created if need be.
    workers : int
        Processes that share independent loops.
    meshes : MeshMode
        Whether the meshes come along.
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
    """
    line = progress_line(enabled=in_notebook()) if progress is None else nullcontext(progress)
    with study_folder(out, setup) as folder, line as shown, kept_workers():
        return study_in(folder, setup, workers=workers, meshes=meshes, progress=shown)


def study_in(
    folder: Path, setup: Setup, *, workers: int, meshes: MeshMode, progress: Progress
) -> Study:
    """Run a study and write its files into an existing folder, as `run_study`.

    Parameters
    ----------
    folder : Path
        Where the files go.
    setup : Setup
        The built values.
    workers : int
        Processes that share independent loops.
    meshes : MeshMode
        Whether the meshes come along.
    progress : callable
        Called with the stage and the share done.

    Returns
    -------
    study : Study
        The values of all stages.

    Raises
    ------
    SimulationDiverged, ControllerError
        If an excitation, or the undisturbed loop with the true model, ends before its time; its
        log is in the folder.
    KeyboardInterrupt
        If the design was interrupted.
    """
    clock, streams, cell = _Clock(), setup.streams, setup.cell
    nominal, basis = setup.nominal, setup.basis
    with clock.stage("robot"):
        for note in write_urdf(nominal, folder / "nominal.urdf", meshes=meshes):
            _log.warning("%s", note)
    # What needs no identification runs beside it, where there are processes for that.
    known = _known_loops(setup, workers)
    with clock.stage("design"):
        designs = design(nominal, basis, setup.excitation, streams("design"), progress=progress)
        if designs.interrupted:  # a study does not go on with an unfinished design
            raise KeyboardInterrupt
        trajectory = designs.trajectories[0]
        save_trajectory(trajectory, folder / "trajectory.json", nominal)
    unseen_log = partial(simulate, cell, setup.unseen, streams("unseen measure"))
    measured_unseen = run_ahead(unseen_log, workers)
    with clock.stage("simulate"), saved_if_diverged(folder / "diverged.h5"):
        rng = streams("measure")
        log = simulate(cell, trajectory, rng, seed=streams.seed, progress=progress)
        save_log(log, folder / LOG)
    with clock.stage("identify"):
        fit = identify(log, nominal, basis, setup.fit, streams("identify"), progress=progress)
        identified = write_fit(fit, folder, meshes)
    noise = run_ahead(noise_beside_residuals(setup, log, fit), workers) if cell.sensors else None
    with clock.stage("diagnose"):
        diagnosis = diagnosed(log, fit)
    with clock.stage("validate"), saved_if_diverged(folder / "diverged.h5"):
        unseen = measured_unseen()
        compared = compare_preprocessing(cell.plant, fit.nominal, log, fit)
    with clock.stage("control"), saved_if_diverged(folder / "diverged.h5"):
        loop = _closed_loop(setup, fit, known, workers, progress)
        if loop is not None:
            save_failures(loop, folder)
    with clock.stage("score"):
        estimates = scored(cell.plant, unseen, fit)
        touching = contacts(nominal, _motions(trajectory, setup, loop), setup.excitation.floor)
        parts = (diagnosis, estimates, identified, loop, touching)
        judged = verdict(setup, log, unseen, fit, *parts, noise() if noise else None)
    result = StudyResult(
        robot=describe_robot(cell.plant),
        seed=streams.seed,
        versions=versions(),
        reproducible=True,
        assumptions=setup.assumptions,
        trajectory=describe_trajectory(setup, trajectory),
        contacts=touching,
        measurement=describe_measurement(log, setup.preset),
        preprocessing=_preprocessing(setup, fit, compared),
        estimates=estimates,
        chosen=fit.chosen.estimator,
        control=[] if loop is None else list(loop.runs),
        timings=clock.seconds,
        verdict=judged,
    )
    result.save(folder / RESULT)
    return Study(setup, designs, trajectory, log, fit, diagnosis, unseen, loop, result)


def _motions(
    trajectory: Excitation, setup: Setup, loop: ClosedLoop | None
) -> dict[str, Trajectory]:
    """Return everything that ran, by name."""
    tasks = () if loop is None else loop.tasks
    run: dict[str, Trajectory] = {"excitation": trajectory, "unseen": setup.unseen}
    return run | {task.name: task.trajectory for task in tasks}


def _preprocessing(
    setup: Setup, fit: Identification, compared: list[ComparedPreprocessor]
) -> PreprocessingResult:
    name = PREPROCESSORS.name_of(setup.fit.preprocessor)
    return PreprocessingResult(chosen=name, message=fit.preprocessor.message, compared=compared)


@one_blas_thread()
def scored(plant: Robot, unseen: Log, fit: Identification) -> list[EstimateResult]:
    """Return the estimates beside the truth and tried on the unseen log.

    Parameters
    ----------
    plant : Robot
        The truth.
    unseen : Log
        A log that the estimates have not seen.
    fit : Identification
        With the estimates.

    Returns
    -------
    results : list of EstimateResult
        In the order of the estimates; those that failed predict nothing.
    """
    betas = [estimate.beta for estimate in fit.estimates if estimate.success]
    motion = fit.preprocessor(unseen, fit.nominal)
    tried = iter(predict_all(betas, unseen, motion, fit.nominal, fit.basis))
    return [
        score_estimate(estimate, plant, next(tried) if estimate.success else None, fit)
        for estimate in fit.estimates
    ]


def _known_loops(setup: Setup, workers: int) -> Callable[[], ClosedLoop] | None:
    """Begin the loops with the models that are there before the identification."""
    if setup.comparison is None or workers < 2:
        return None
    control = setup.streams("control")
    loops = partial(closed_loop, setup.cell, setup.nominal, {}, control, setup.comparison)
    return run_ahead(loops, workers)


def _closed_loop(
    setup: Setup,
    fit: Identification,
    known: Callable[[], ClosedLoop] | None,
    workers: int,
    progress: Progress,
) -> ClosedLoop | None:
    """Run the closed loop with all models; None if it is off or there is no model to run."""
    if fit.lift is None or setup.comparison is None:
        return None
    runs, rng = setup.comparison.runs, setup.streams("identify")
    refits = refits_of(fit.problem, setup.fit.estimators, setup.models, runs, rng)
    models = compared_models(
        fit.lift.robot, fit.estimates, fit.nominal, fit.basis, setup.models, refits
    )
    return closed_loop(
        setup.cell,
        setup.nominal,
        models,
        setup.streams("control"),
        setup.comparison,
        known=known() if known else None,
        workers=workers,
        progress=progress,
    )
