"""The whole study: robot, excitation, experiment, identification, prediction, verdict."""

import hashlib
import logging
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import numpy as np

from robotid_sim.errors import ControllerError, SimulationDiverged
from robotid_sim.estimation.estimate import save_estimates
from robotid_sim.excitation.design import assess
from robotid_sim.files import make_folder
from robotid_sim.measurement.files import save_log
from robotid_sim.measurement.log import Log
from robotid_sim.model.export import write_urdf
from robotid_sim.model.robot import Robot
from robotid_sim.progress import silent
from robotid_sim.study.config import StudyConfig
from robotid_sim.study.excitation import basis_of, unseen_trajectory
from robotid_sim.study.models import compared_models
from robotid_sim.study.result import (
    MeasurementResult,
    PreprocessingResult,
    RobotResult,
    StudyResult,
    TrajectoryResult,
)
from robotid_sim.study.robots import nominal_robot, read_robot
from robotid_sim.study.scoring import compare_preprocessing, describe_run, score_estimate
from robotid_sim.study.stages import (
    Identification,
    Progress,
    check_config,
    design,
    identify,
    simulate,
    validate,
)
from robotid_sim.study.verdict import verdict
from robotid_sim.trajectory.reference import Excitation
from robotid_sim.validation.closed_loop import ClosedLoop

PACKAGES = ("robotid_sim", "pybullet", "numpy", "scipy", "numba", "clarabel", "h5py")

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


def save_failures(loop: ClosedLoop, folder: Path) -> list[Path]:
    """Save the logs of runs that ended before their time; return the files, oldest run first."""
    for old in folder.glob("failed-*.h5"):
        old.unlink()
    paths = []
    for k, failure in enumerate(loop.failures, start=1):
        _log.warning("%s", failure)
        if failure.log is not None:
            paths.append(folder / f"failed-{k}.h5")
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


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """A whole study: the values that went from stage to stage, and the result that sums them up."""

    config: StudyConfig
    plant: Robot
    """The truth."""
    nominal: Robot
    """What was known before."""
    trajectory: Excitation
    """The excitation."""
    log: Log
    """What the sensors saw of it."""
    found: Identification
    """What was identified from the log."""
    unseen: Log
    """A log of a trajectory that the identification has not seen."""
    loop: ClosedLoop | None
    """The closed-loop runs; None if they were not wanted or there was no model to run."""
    result: StudyResult
    """What ``result.json`` holds."""


def run_study(
    robot: str | Path,
    config: StudyConfig,
    out: str | Path,
    *,
    workers: int = 1,
    progress: Progress = silent,
) -> Study:
    """Run a whole virtual study and write its files into a folder.

    Parameters
    ----------
    robot : str or Path
        Catalog name or URDF; the plant.
    config : StudyConfig
        All options.
    out : str or Path
        Folder for result.json, identified.urdf, nominal.urdf, trajectory.json, log.h5 and
        estimate.json; created if need be.
    workers : int
        Processes that share independent loops; they import the caller's main module anew, so a
        script needs ``if __name__ == "__main__"`` for more than one.
    progress : callable
        Called with the stage and the share done.

    Returns
    -------
    study : Study
        The values of all stages; ``study.result`` is what ``result.json`` holds.
    """
    clock = _Clock()
    with clock.stage("robot"):
        plant = read_robot(robot, config.robot)
        check_config(plant, config)
        nominal = nominal_robot(plant, config)
        folder = make_folder(out)
        write_urdf(nominal, folder / "nominal.urdf")
    with clock.stage("design"):
        trajectory = design(plant, config, progress=progress)
        trajectory.save(folder / "trajectory.json")
    with clock.stage("simulate"), saved_if_diverged(folder / "diverged.h5"):
        log = simulate(plant, trajectory, config, progress=progress)
        save_log(log, folder / "log.h5")
    with clock.stage("identify"):
        found = identify(plant, log, config, progress=progress)
        save_estimates(list(found.estimates), folder / "estimate.json", **estimate_context(found))
        identified = write_identified(found, folder / "identified.urdf")
    with clock.stage("validate"), saved_if_diverged(folder / "diverged.h5"):
        path = unseen_trajectory(plant, config)
        unseen = simulate(plant, path, config, stage="unseen measure", progress=progress)
        compared = compare_preprocessing(plant, found.nominal, log, found)
    with clock.stage("control"), saved_if_diverged(folder / "diverged.h5"):
        loop = None
        if found.lift is not None and config.control.enabled:
            models = compared_models(
                plant,
                found.nominal,
                found.lift.robot,
                found.estimates,
                found.basis,
                config,
                found.problem,
            )
            loop = validate(plant, models, config, workers=workers, progress=progress)
            save_failures(loop, folder)
    with clock.stage("score"):
        model = found.nominal  # with the friction velocities that were estimated, if they were
        estimates = [score_estimate(e, plant, model, unseen, found) for e in found.estimates]
        judged = verdict(plant, model, log, unseen, found, estimates, identified, loop, config)
    result = StudyResult(
        robot=describe_robot(plant),
        seed=config.seed,
        versions=versions(),
        reproducible=True,
        assumptions=list(plant.assumptions),
        trajectory=describe_trajectory(plant, nominal, trajectory, config),
        measurement=describe_measurement(log, config.preset),
        preprocessing=PreprocessingResult(
            chosen=config.preprocess.name,
            message=found.preprocessor.message,
            compared=compared,
        ),
        estimates=estimates,
        chosen=found.chosen.estimator,
        control=[] if loop is None else [describe_run(run) for run in loop.runs],
        timings=clock.seconds,
        verdict=judged,
    )
    result.save(folder / "result.json")
    return Study(config, plant, nominal, trajectory, log, found, unseen, loop, result)


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that decide the numbers."""
    return {"python": platform.python_version(), **{p: version(p) for p in PACKAGES}}


def estimate_context(found: Identification) -> dict[str, object]:
    """Return what an estimate file says beside the estimates."""
    return {
        "chosen": found.chosen.estimator,
        "groupings": list(found.basis.groupings),
        "lift": None if found.lift is None else found.lift.message,
        "doubt": found.doubt,
    }


def write_identified(found: Identification, path: Path) -> Path | None:
    """Write the identified robot as URDF; return the path, or None if there is no such robot."""
    if found.lift is None:
        path.unlink(missing_ok=True)  # of an earlier run
        return None
    write_urdf(found.lift.robot, path)
    return path


def describe_robot(robot: Robot) -> RobotResult:
    """Return the robot's part of the result."""
    document = robot.document
    return RobotResult(
        name=robot.name,
        dof=robot.dof,
        joint_names=list(robot.joint_names),
        joint_units=list(robot.joint_units),
        urdf_sha256=None if document is None else hashlib.sha256(document.xml).hexdigest(),
    )


def describe_trajectory(
    plant: Robot, nominal: Robot, trajectory: Excitation, config: StudyConfig
) -> TrajectoryResult:
    """Return the trajectory's part of the result."""
    basis = basis_of(nominal, config)
    found = assess(nominal, basis, trajectory)
    true = assess(plant, basis, trajectory)
    return TrajectoryResult(
        family=config.design.family,
        criterion=config.design.criterion,
        base_set=list(basis.names),
        cond_raw=found.cond_raw,
        cond_normalized=found.cond_normalized,
        duration_s=trajectory.duration - trajectory.start,
        max_position_ratio=found.position_ratio,
        max_velocity_ratio=found.velocity_ratio,
        max_acceleration_ratio=found.acceleration_ratio,
        max_torque_ratio_nominal=found.torque_ratio,
        max_torque_ratio_true=true.torque_ratio,
    )


def describe_measurement(log: Log, preset: str | None = None) -> MeasurementResult:
    """Return the log's part of the result; the noise is that of the samples against the truth."""
    torque: list[float | None] = [None] * log.dof
    encoder: list[float | None] = [None] * log.dof
    if log.truth is not None:
        torque = [float(v) for v in np.std(log.tau_meas - log.truth.tau, axis=0)]
        encoder = [float(v) for v in np.std(log.q - log.truth.q, axis=0)]
    return MeasurementResult(
        preset=preset or ("custom" if log.provenance.get("sensors") else "unknown"),
        samples=log.t.size,
        dt_s=log.dt,
        feedback=str(log.provenance.get("feedback", "unknown")),
        torque_noise_std=torque,
        encoder_noise_std=encoder,
    )
