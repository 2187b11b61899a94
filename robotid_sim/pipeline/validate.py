"""Validate an estimate on an unseen log and in the closed loop of the simulated plant."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import FileFormatError, LogError
from robotid_sim.estimation.consistent import ConsistentRobot
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.problem import Estimator, LinearProblem
from robotid_sim.importing.reading import Logs, ReadLog
from robotid_sim.measurement.files import load_log
from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build import build_cell, build_comparison, build_models
from robotid_sim.pipeline.build_design import build_space
from robotid_sim.pipeline.build_robot import build_basis, build_nominal, build_robot
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.excitation import contacts
from robotid_sim.pipeline.fit_plan import build_preprocessor
from robotid_sim.pipeline.identification import Identification
from robotid_sim.pipeline.identify import check_logs
from robotid_sim.pipeline.predict import SavedEstimate
from robotid_sim.pipeline.result import CheckResult, ContactResult
from robotid_sim.pipeline.simulate import save_failures, save_if_diverged
from robotid_sim.pipeline.stages import make_estimate_consistent
from robotid_sim.pipeline.verdict import loop_checks
from robotid_sim.progress import Progress, silent
from robotid_sim.representation import public_value
from robotid_sim.streams import Streams, make_stream
from robotid_sim.threads import one_blas_thread
from robotid_sim.validation.closed_loop import ClosedLoop, run_closed_loops
from robotid_sim.validation.comparison import IDENTIFIED
from robotid_sim.validation.log_prediction import apply_saved_eps, apply_saved_gravity
from robotid_sim.validation.prediction import Prediction, predictions


def collect_models(
    identified: Robot,
    estimates: Sequence[Estimate],
    nominal: Robot,
    basis: BaseParameters,
    models: Mapping[str, Robot | None],
    refits: Mapping[str, Sequence[Estimate]] | None = None,
) -> dict[str, Robot | Sequence[Robot]]:
    """Collect the models of a closed loop by name; see `run_closed_loops`.

    The model of an estimate has exactly the estimated base parameters, even if they are not
    physically consistent.

    A model None stands for the estimate of that name. Random estimators have one model per run;
    `refits` has the estimates of all runs but the first. Failed estimates are excluded.
    """
    by_name = {estimate.estimator: estimate for estimate in estimates}
    compared: dict[str, Robot | Sequence[Robot]] = {IDENTIFIED: identified}
    for name, model in models.items():
        if model is not None:
            compared[name] = model
        elif name in by_name and by_name[name].success:  # the estimates report a failed fit
            more = (refits or {}).get(name, ())
            fits = [fit for fit in (by_name[name], *more) if fit.success]
            phi = nominal.parameters()
            sets = [basis.complete(fit.beta, phi) for fit in fits]
            formal = [nominal.with_parameters(each, formal=True) for each in sets]
            every_run = len(more) > 0 and len(formal) == 1 + len(more)
            compared[name] = formal if every_run else formal[0]
    return compared


@one_blas_thread()
def refits_of(
    problem: LinearProblem,
    estimators: Mapping[str, Estimator],
    models: Mapping[str, Robot | None],
    runs: int,
    rng: np.random.Generator,
) -> dict[str, list[Estimate]]:
    """Repeat the fits of random estimators for every run except the first.

    A model None stands for the estimate of that name; every run uses a child of `rng`.
    """
    random_names = [
        name for name, model in models.items() if model is None and estimators[name].random
    ]
    return {
        name: [
            estimators[name].fit(problem, make_stream(rng, f"run {run}")) for run in range(1, runs)
        ]
        for name in random_names
    }


CSV_TASK = "csv"
"""Task with a path from a file."""


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Validation:
    """Prediction of an unseen log by an estimate, and closed loops with its robot."""

    plant: Robot
    estimate: Estimate
    """The chosen estimate."""
    consistent_robot: ConsistentRobot
    """The robot of the estimate."""
    unseen: Log | None
    predicted: tuple[Prediction, Prediction] | None
    """Predictions of the unseen log by estimate and nominal model; None without a log."""
    loop: ClosedLoop
    checks: Sequence[CheckResult]
    contacts: Sequence[ContactResult]
    """Link contacts on the paths of the tasks."""
    warning: str
    """Contradictions in the log to the nominal model; empty if there are none."""

    @property
    def passed(self) -> bool:
        """Whether every check passed and the log has no warning."""
        return all(check.passed for check in self.checks) and not self.warning

    def content(self) -> dict[str, Any]:
        """Return the validation as JSON values."""
        of_estimate = None if self.predicted is None else self.predicted[0]
        return {
            "robot": self.plant.name,
            "estimator": self.estimate.estimator,
            "identified": self.consistent_robot.message,
            "bandwidth": self.loop.gains.bandwidth,
            "error_bound": self.loop.gains.error_bound.tolist(),
            "bandwidth_limited": list(self.loop.gains.limited),
            "torque_rms": of_estimate and of_estimate.torque_rms.tolist(),
            "torque_rms_relative": of_estimate and of_estimate.torque_rms_relative.tolist(),
            "control": [run.content() for run in self.loop.runs],
            "contacts": [str(contact) for contact in self.contacts],
            "checks": [check.model_dump(mode="json") for check in self.checks],
            **({"warning": self.warning} if self.warning else {}),
        }


def validate(
    estimate: SavedEstimate | Identification | str | Path,
    robot: str | Path | Robot,
    config: StudyConfig | None = None,
    *,
    log: Logs | Log | Path | None = None,
    controllers: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    scenarios: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    runs: int | None = None,
    force: bool = False,
    seed: int | None = None,
    failures: Path | None = None,
    workers: int = 1,
    progress: Progress = silent,
) -> Validation:
    """Validate an estimate: predict an unseen simulated log, and run the closed loop.

    Parameters
    ----------
    estimate : SavedEstimate, Identification, str or Path
        The estimate.
    robot : str, Path or Robot
        The plant.
    config : StudyConfig, optional
        All settings; further arguments override them.
    log : Logs, Log or Path, optional
        A simulated log that was not used in the fit, or its file.
    controllers, tasks, scenarios, models : sequence of str, optional
        Names of `robotid list`; ``csv:FILE`` is a path from a file, and a model is an estimator of
        the estimate or ``published:SET``.
    runs : int, optional
        Number of repetitions with random disturbances and noise.
    force : bool
        Use a log that has an error.
    seed : int, optional
        Seed; by default that of the configuration.
    failures : Path, optional
        Prefix of the file names for logs of failed runs; by default none are written.
    workers : int
        Processes; the result does not depend on their number.
    progress : callable
        Called with the stage and the share done.

    Returns
    -------
    validation : Validation
        Prediction, loops and checks.

    Raises
    ------
    FileFormatError
        If the estimate is of another robot, or its fit failed.
    LogError
        If the log is of a machine, of another robot, or has an error.
    SimulationDiverged, ControllerError
        If the undisturbed loop with the true model fails.
    """
    config = (config or StudyConfig()).with_seed(seed)
    names = {"controllers": controllers, "scenarios": scenarios, "models": models}
    config = _apply_choices(config, names, tasks, runs)
    unseen = None if log is None else _require_simulated(log)
    plant = build_robot(robot, config.robot)
    saved = SavedEstimate.from_estimate(estimate)
    nominal = apply_saved_gravity(build_nominal(plant, config), saved.context)
    basis = build_basis(nominal, config)
    saved = saved.select_robot(plant, basis)
    before, estimates = nominal, list(saved.estimates)
    nominal = apply_saved_eps(nominal, saved.context)
    others = build_models(plant, config.control, tuple(e.estimator for e in estimates))
    consistent_robot = _require_robot(saved, nominal, basis)
    warning, predicted = "", None
    if unseen is not None:
        unseen[0].require_robot(nominal)
        warning = check_logs(unseen.read, before, basis, refuse=not force).errors
        motion = build_preprocessor(config.preprocess)(unseen[0], nominal)
        predicted = predictions(saved.chosen.beta, unseen[0], motion, nominal, basis)
    cell, space = build_cell(plant, nominal, config), build_space(nominal, config)
    comparison = replace(build_comparison(config.control), space=space)
    with save_if_diverged(failures and failures.with_name(f"{failures.name}-diverged.h5")):
        compared = collect_models(consistent_robot.robot, estimates, nominal, basis, others)
        stream = Streams(config.seed)("control")
        loop = run_closed_loops(
            cell, nominal, compared, stream, comparison, workers=workers, progress=progress
        )
        if failures is not None:
            save_failures(loop, failures.parent, f"{failures.name}-")
    paths = {task.name: task.trajectory for task in loop.tasks}
    return Validation(
        plant=plant,
        estimate=saved.chosen,
        consistent_robot=consistent_robot,
        unseen=None if unseen is None else unseen[0],
        predicted=predicted,
        loop=loop,
        checks=loop_checks(plant, loop, config.validation),
        contacts=contacts(nominal, paths, None if space is None else space.floor),
        warning=warning,
    )


def _require_simulated(log: Logs | Log | Path) -> Logs:
    """Read a simulated log; raise `LogError` if it is of a machine."""
    if isinstance(log, Path):
        log = Logs((ReadLog(load_log(log), str(log)),))
    logs = Logs.from_logs(log)
    if logs[0].origin == "machine":
        raise LogError(
            f"{logs.names[0]} is of a machine, which is not simulated; use predict, or omit the log"
        )
    return logs


def _require_robot(saved: SavedEstimate, nominal: Robot, basis: BaseParameters) -> ConsistentRobot:
    """Return the robot of the chosen estimate; raise `FileFormatError` if there is none."""
    chosen = saved.chosen
    robot = make_estimate_consistent(chosen, nominal, basis)
    if robot is None:
        reason = f"the chosen fit failed: {chosen.message}"
        if chosen.success:
            reason = "no physically consistent robot exists near the chosen estimate"
        raise FileFormatError(f"{saved.name}: {reason}")
    return robot


def _apply_choices(
    config: StudyConfig,
    names: Mapping[str, Sequence[str] | None],
    tasks: Sequence[str] | None,
    runs: int | None,
) -> StudyConfig:
    """Return the study with other choices for its loop; options by task are kept."""
    chosen: dict[str, Any] = {key: tuple(v) for key, v in names.items() if v is not None}
    if tasks is not None:
        options, chosen["tasks"] = config.control.tasks, {}
        for word in tasks:
            name, _, file = word.partition(":")
            if name == CSV_TASK and file:
                chosen["tasks"][CSV_TASK] = {**options.get(CSV_TASK, {}), "path": file}
            else:
                chosen["tasks"][word] = options.get(word, {})
    if runs is not None:
        chosen["runs"] = runs
    control = config.control.model_copy(update=chosen)
    return config.model_copy(update={"control": control})
