"""The result of an identification from logs: values, files and warnings."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.diagnostics.intervals import Intervals, confidence_intervals
from robotid_sim.diagnostics.residuals import RESIDUAL_REMEDY
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import InconsistentInertiaError, RobotIdError
from robotid_sim.estimation.block_sandwich import block_of, row_blocks_of
from robotid_sim.estimation.body_intervals import BodyQuantity, estimate_bodies
from robotid_sim.estimation.consistent import ConsistentRobot, draw_robots
from robotid_sim.estimation.discrepancy import Discrepancy
from robotid_sim.estimation.estimate import Estimate, save_estimates
from robotid_sim.estimation.friction_fit import FrictionFit
from robotid_sim.estimation.gravity_fit import GravityFit
from robotid_sim.estimation.problem import Estimator, LinearProblem
from robotid_sim.estimation.structure import Structure
from robotid_sim.files import make_folder, write_text
from robotid_sim.measurement.loop_noise import LoopNoise
from robotid_sim.measurement.motion import Motion
from robotid_sim.model import parameters
from robotid_sim.model.export import write_urdf
from robotid_sim.model.mesh_files import MeshMode
from robotid_sim.model.perturb import unlikely_masses
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.currents import CONSTANTS_KEY
from robotid_sim.preprocess.preprocessor import Preprocessor
from robotid_sim.progress import Progress, silent
from robotid_sim.renamed import old_members
from robotid_sim.representation import public_value
from robotid_sim.section import csv_table
from robotid_sim.streams import stream_of
from robotid_sim.table import Table
from robotid_sim.threads import one_blas_thread
from robotid_sim.validation.log_prediction import LogPrediction
from robotid_sim.validation.predictive_band import ModelError

CSV_COLUMNS = (
    *("body", "parameter", "kind", "unit", "value", "std", "lower", "upper", "nominal", "grouping"),
)
NO_EFFECT, NOT_FITTED = "not identifiable", "not in the fit"
NOT_IDENTIFIABLE_TEXT = "not identifiable alone"


def parameter_rows(fit: "Identification") -> Table:
    """Tabulate the parameters of an identification, body by body.

    Columns are the link or joint, parameter, unit, value, standard deviation, 95 % interval,
    nominal value and grouping. Rows of the kind ``base`` are base parameters with their linear
    combinations; rows of the kind ``full`` are the standard parameters of identified.urdf with the
    base parameters that contain them; rows of the kind ``body`` are link parameters from log and
    nominal model, with an interval or not identifiable alone. Unknown numbers are empty cells.
    """
    nominal, basis, chosen = fit.nominal, fit.basis, fit.chosen
    owners = parameters.owners(nominal.dof)
    full_units = parameters.units(nominal.prismatic)
    phi, beta = nominal.parameters(), basis.project(nominal.parameters())
    consistent = fit.consistent_robot
    identified = np.full(phi.size, np.nan) if consistent is None else consistent.robot.parameters()
    intervals, unknown = fit.intervals(), np.full(beta.size, np.nan)
    columns = [chosen.std, unknown, unknown]
    if intervals is not None:
        columns = [intervals.std, intervals.lower, intervals.upper]
    accuracy = np.column_stack(columns)
    base_of = {int(column): k for k, column in enumerate(basis.columns)}
    rows = []
    for p, symbol in enumerate(nominal.parameter_names):
        is_link = p < parameters.INERTIAL_COUNT * nominal.dof
        body = nominal.links[owners[p]].name if is_link else nominal.joint_names[owners[p]]
        members = np.flatnonzero(basis.B[:, p])
        errors = np.full(3, np.nan)
        if symbol in basis.identifiable_alone:
            grouping, errors = "alone", accuracy[base_of[p]]
        elif members.size:
            grouping = "; ".join(basis.names[k] for k in members)
        else:
            grouping = NO_EFFECT if p in basis.considered else NOT_FITTED
        cells = _format_cells(identified[p], *errors, phi[p])
        rows.append((body, symbol, "full", full_units[p], *cells, grouping))
        if p in base_of:
            k = base_of[p]
            cells = _format_cells(chosen.beta[k], *accuracy[k], beta[k])
            rows.append((body, basis.names[k], "base", basis.units[k], *cells, basis.groupings[k]))
    for quantity in fit.bodies():
        ends = (quantity.std, *quantity.interval) if quantity.identifiable else (np.nan,) * 3
        cells = _format_cells(quantity.value, *ends, quantity.nominal)
        note = "alone" if quantity.identifiable else NOT_IDENTIFIABLE_TEXT
        rows.append((quantity.link, quantity.name, "body", quantity.unit, *cells, note))
    return Table(CSV_COLUMNS, tuple(rows))


def _format_cells(*values: float) -> list[str]:
    return [repr(float(value)) if np.isfinite(value) else "" for value in values]


ESTIMATE, PARAMETERS, IDENTIFIED = "estimate.json", "parameters.csv", "identified.urdf"
"""Files of an identification: all estimates, table of the chosen one, identified robot."""


def default_table_path(estimate: Path) -> Path:
    """Return the path of the parameter table of an estimate file."""
    table_name = f"{estimate.stem}-{PARAMETERS}"
    return estimate.with_name(PARAMETERS if estimate.name == ESTIMATE else table_name)


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class HeldOutPrediction:
    """Prediction of held-out data by a fit."""

    what: str
    """Held-out data, as ``last:30%``, ``blocks:4`` or the names of logs."""
    prediction: LogPrediction

    def content(self) -> dict[str, Any]:
        """Return the held-out data and the scores as JSON values."""
        return {"what": self.what, **self.prediction.content()}


@old_members(
    doubt="warning",
    lift="consistent_robot",
    plain="problem_without_terms",
    draw_robots="sample_robots",
)
@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Identification:
    """Result of the identification from one or several logs."""

    preprocessors: tuple[Preprocessor, ...]
    """Preprocessors, each tuned to its log."""
    motion: Motion
    """Preprocessed motion of the log, of several logs one after the other."""
    weights: Float2D
    """Weights of the rows of every log and joint, by their noise, shape (logs, n)."""
    nominal: Robot
    """Model of the regressor, with the estimated transition velocities."""
    eps: FrictionFit | None
    """Estimated transition velocities; None if the nominal ones are used."""
    gravity: GravityFit | None
    """Estimated direction of gravity; None if the nominal one is used."""
    structure: Structure
    """Joint terms in addition to the standard parameters."""
    problem_without_terms: LinearProblem
    """Rows of the motion without the part that joint terms can explain."""
    discrepancy: Discrepancy
    """Unmodeled torque, and errors of the drive gains."""
    problem: LinearProblem
    """The fitted rows, weighted for the discrepancy."""
    estimates: tuple[Estimate, ...]
    estimators: Mapping[str, Estimator]
    """Estimators of the plan, and estimators added for the log."""
    chosen: Estimate
    drive_gain_std: float
    """Relative standard deviation of the drive gains, included in the intervals."""
    consistent_robot: ConsistentRobot | None
    """The consistent robot of the chosen estimate; None if there is none."""
    torque_constants: Float1D | None = None
    """Torque constants of the logs [N m/A or N/A], shape (n,); None for measured torques."""
    loop_noise: LoopNoise | None = None
    """Measurement noise fed back by the controller; None if it is small or the plan ignores it."""
    warning: str = ""
    """Reason why the chosen estimate is untrusted; empty if it is trusted."""
    names: tuple[str, ...] = ("log.h5",)
    """Names of the logs."""
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Conclusions from reading the logs, by the names of the logs."""
    samples: int | None = None
    """Number of samples of a log that was read in parts; otherwise None."""
    held_out: HeldOutPrediction | None = None
    """Prediction of held-out data."""
    model_error: ModelError | None = None
    """Error of predictions, if it was measured."""

    @property
    def preprocessor(self) -> Preprocessor:
        """Preprocessor, tuned to the first log."""
        return self.preprocessors[0]

    @property
    def estimator(self) -> Estimator:
        """The estimator of the chosen estimate."""
        return self.estimators[self.chosen.estimator]

    @property
    def basis(self) -> BaseParameters:
        """The base parameters of the problem."""
        return self.problem.basis

    @property
    def passed(self) -> bool:
        """Whether there is an estimate without warning."""
        return self.chosen.success and not self.warning

    @property
    def model(self) -> Robot:
        """The nominal robot with the estimated parameters, physically consistent or not."""
        phi = self.basis.complete(self.chosen.beta, self.nominal.parameters())
        return self.nominal.with_parameters(phi, formal=True)

    @one_blas_thread()
    def intervals(self, estimate: Estimate | None = None) -> Intervals | None:
        """Return the 95 % intervals of an estimate, by default the chosen one.

        Returns
        -------
        intervals : Intervals or None
            None if the estimate failed or has no covariance.
        """
        estimate = estimate or self.chosen
        if not estimate.success or estimate.cov is None:
            return None
        try:
            return confidence_intervals(self.problem, estimate)
        except (RobotIdError, np.linalg.LinAlgError):
            return None

    def covariance_blocks(self, estimate: Estimate) -> int:
        """Return the number of residual blocks of all joints for the covariance of an estimate."""
        return row_blocks_of(self.problem, block_of(estimate)) * self.problem.dof

    @one_blas_thread()
    def sample_robots(
        self, count: int, rng: int | np.random.Generator = 0, *, progress: Progress = silent
    ) -> list[Robot]:
        """Draw posterior samples of the robot; see `estimation.consistent`.

        Parameters
        ----------
        count : int
            Number of robots.
        rng : int or numpy.random.Generator
            Seed or generator.
        progress : callable
            Called with the stage and the share done.

        Returns
        -------
        robots : list of Robot
            Physically consistent robots.
        """
        chosen, nominal = self.chosen, self.nominal
        stream = stream_of(rng, "draws")
        return draw_robots(chosen, nominal, self.basis, count, stream, progress=progress)

    def bodies(self) -> list[BodyQuantity]:
        """Estimate mass, center of mass and inertia of the links from log and nominal model.

        Returns
        -------
        quantities : list of BodyQuantity
            With intervals if identifiable; empty without a consistent robot or a covariance.
        """
        chosen, intervals = self.chosen, self.intervals()
        if self.consistent_robot is None or intervals is None or chosen.cov is None:
            return []
        robots = (self.consistent_robot.robot, self.nominal)
        return list(estimate_bodies(chosen, *robots, self.basis, intervals.std))

    def content(self) -> dict[str, Any]:
        """Return the content of an estimate file as JSON values."""
        return {**self.context(), "estimates": [each.content() for each in self.estimates]}

    def context(self) -> dict[str, Any]:
        """Return the content of an estimate file without the estimates, as JSON values."""
        robot, intervals = self.consistent_robot, self.intervals()
        blocks = None if intervals is None else self.covariance_blocks(self.chosen)
        content: dict[str, Any] = {
            "logs": list(self.names),
            "preprocessing": [preprocessor.message for preprocessor in self.preprocessors],
            "weights": self.weights.tolist(),
            "chosen": self.chosen.estimator,
            "groupings": list(self.basis.groupings),
            "consistent_robot": None if robot is None else robot.message,
            "unlikely_masses": unlikely_masses(robot.robot, self.nominal) if robot else [],
            "warning": self.warning,
            "unmodeled_torque": [asdict(function) for function in self.discrepancy.unmodeled],
            "residuals_repeat": self.discrepancy.repeats,
            "terms": [fitted.content() for fitted in self.structure.terms],
            "drive_gain_std": self.drive_gain_std,
            "transition_velocity": [joint.friction.eps for joint in self.nominal.joints],
            "gravity": self.nominal.gravity.tolist(),
            "torque_delay": self.preprocessor.delay,
            "torque_measured": self.problem_without_terms.measured_joints.tolist(),
            "cov_dof": None if intervals is None else intervals.dof.tolist(),
            "cov_blocks": blocks,
            "bodies": [asdict(quantity) for quantity in self.bodies()],
        }
        if self.torque_constants is not None:
            content[CONSTANTS_KEY] = self.torque_constants.tolist()
        if self.samples is not None:
            content["read_in_parts"] = self.samples
        if self.notes:
            content["imported"] = {name: list(notes) for name, notes in self.notes.items()}
        if self.held_out is not None:
            content["held_out"] = self.held_out.content()
        if self.model_error is not None:
            content["model_error"] = self.model_error.content()
        return content

    def write(self, folder: str | Path, *, meshes: MeshMode = MeshMode.COPY) -> list[Path]:
        """Write estimate.json, parameters.csv and, for a consistent robot, identified.urdf.

        Parameters
        ----------
        folder : str or Path
            Folder of the files; created if missing.
        meshes : MeshMode
            Whether meshes are copied.

        Returns
        -------
        paths : list of Path
            The files that were written.

        Raises
        ------
        FileFormatError
            If a file cannot be written.
        """
        path = Path(folder)
        make_folder(path, "the folder")
        files = (path / ESTIMATE, path / PARAMETERS, path / IDENTIFIED)
        return self.write_files(*files, meshes=meshes)

    def write_files(
        self,
        estimate: Path,
        parameters: Path,
        urdf: Path | None = None,
        *,
        meshes: MeshMode = MeshMode.COPY,
        require_robot: bool = False,
    ) -> list[Path]:
        """Write estimates, parameter table and URDF; remove old files without new content.

        Parameters
        ----------
        estimate, parameters, urdf : Path
            Files of the estimates (JSON), of the table (CSV) and, optionally, of the robot.
        meshes : MeshMode
            Whether meshes are copied.
        require_robot : bool
            Raise if there is no robot for the URDF.

        Returns
        -------
        paths : list of Path
            The files that were written.

        Raises
        ------
        InconsistentInertiaError
            If the required robot is missing; no file is written then.
        """
        if require_robot and urdf is not None and self.consistent_robot is None:
            chosen = self.chosen
            reason = chosen.message if not chosen.success else "none exists near the estimate"
            raise InconsistentInertiaError(f"no consistent robot to write to {urdf}: {reason}")
        written = [estimate]
        save_estimates(list(self.estimates), estimate, **self.context())
        if self.chosen.success:
            write_text(parameters, csv_table(parameter_rows(self)))
            written.append(parameters)
        else:
            parameters.unlink(missing_ok=True)  # from an earlier run
        if urdf is not None and self.consistent_robot is not None:
            write_urdf(self.consistent_robot.robot, urdf, meshes=meshes)
            written.append(urdf)
        elif urdf is not None:
            urdf.unlink(missing_ok=True)
        return written


def add_warning(fit: Identification, reason: str) -> Identification:
    """Add a warning about the logs to an identification, unless it failed or there is no reason.

    Logs with a wrong zero position, torque unit or delay may give a fit that passes its tests.
    """
    if not fit.chosen.success or not reason:
        return fit
    cause = fit.warning.removesuffix(RESIDUAL_REMEDY)
    first = cause or "the fit passes its tests, but the log does not: "
    robot = mark_untrusted(fit.consistent_robot)
    return replace(fit, warning=f"{first}{reason}", consistent_robot=robot)


def mark_untrusted(robot: ConsistentRobot | None) -> ConsistentRobot | None:
    """Add to the message of a consistent robot that it does not explain the log."""
    text = "but does not explain the log"
    if robot is None or text in robot.message:
        return robot
    return replace(robot, message=f"{robot.message}, {text}")
