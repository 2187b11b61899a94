"""What an identification makes of logs: values, files, and what speaks against it."""

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
from robotid_sim.measurement.log import LoopNoise
from robotid_sim.measurement.motion import Motion
from robotid_sim.model import parameters
from robotid_sim.model.export import write_urdf
from robotid_sim.model.mesh_files import MeshMode
from robotid_sim.model.perturb import unlikely_masses
from robotid_sim.model.robot import Robot
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
    *("body", "parameter", "kind", "unit", "value", "std", "lower", "upper", "nominal"),
    "grouping",
)

NO_EFFECT, NOT_FITTED = "not identifiable", "not in the fit"
NOT_IDENTIFIABLE_TEXT = "not identifiable alone"


def parameter_rows(fit: "Identification") -> Table:
    """Return the parameters of an identification, body by body.

    Columns are the name of the link or joint, the parameter and its unit, value, standard deviation
    and 95 % interval, what the nominal model says, and the grouping. Rows of the kind ``base`` are
    base parameters, their grouping is the sum that they stand for; rows of the kind ``full`` are
    what identified.urdf holds, their grouping names the base parameters in which they show; those
    of the kind ``body`` are of links by log and nominal model together, with an interval or not
    identifiable alone. A cell is empty where there is no such number.
    """
    nominal, basis, chosen = fit.nominal, fit.basis, fit.chosen
    owners = parameters.owners(nominal.dof)
    full_units = parameters.units(nominal.prismatic)
    phi, beta = nominal.parameters(), basis.project(nominal.parameters())
    lifted = (
        np.full(phi.size, np.nan)
        if fit.consistent_robot is None
        else fit.consistent_robot.robot.parameters()
    )
    accuracy = _accuracy(fit)
    base_of = {int(column): k for k, column in enumerate(basis.columns)}
    rows = []
    for p, symbol in enumerate(nominal.parameter_names):
        of_link = p < parameters.INERTIAL_COUNT * nominal.dof
        body = nominal.links[owners[p]].name if of_link else nominal.joint_names[owners[p]]
        members = np.flatnonzero(basis.B[:, p])
        known = np.full(3, np.nan)
        if symbol in basis.identifiable_alone:
            grouping, known = "alone", accuracy[base_of[p]]
        elif members.size:
            grouping = "; ".join(basis.names[k] for k in members)
        else:
            grouping = NO_EFFECT if p in basis.considered else NOT_FITTED
        cells = _cells(lifted[p], *known, phi[p])
        rows.append((body, symbol, "full", full_units[p], *cells, grouping))
        if p in base_of:
            k = base_of[p]
            cells = _cells(chosen.beta[k], *accuracy[k], beta[k])
            rows.append((body, basis.names[k], "base", basis.units[k], *cells, basis.groupings[k]))
    for of in fit.bodies():
        ends = (of.std, *of.interval) if of.identifiable else (np.nan,) * 3
        cells = _cells(of.value, *ends, of.nominal)
        note = "alone" if of.identifiable else NOT_IDENTIFIABLE_TEXT
        rows.append((of.link, of.name, "body", of.unit, *cells, note))
    return Table(CSV_COLUMNS, tuple(rows))


def _accuracy(fit: "Identification") -> Float1D:
    """Return standard deviation and interval of every base parameter, shape (b, 3), NaN if none."""
    intervals = fit.intervals()
    if intervals is None:
        nothing = np.full(fit.chosen.beta.size, np.nan)
        return np.column_stack([fit.chosen.std, nothing, nothing])
    return np.column_stack([intervals.std, intervals.lower, intervals.upper])


def _cells(*values: float) -> list[str]:
    return [repr(float(value)) if np.isfinite(value) else "" for value in values]


ESTIMATE, PARAMETERS, IDENTIFIED = "estimate.json", "parameters.csv", "identified.urdf"
"""Files of an identification: all estimates, a table of the chosen one, its robot."""


def table_beside(estimate: Path) -> Path:
    """Return where the table of an estimate file goes; every estimate of a folder has its own."""
    own = f"{estimate.stem}-{PARAMETERS}"
    return estimate.with_name(PARAMETERS if estimate.name == ESTIMATE else own)


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class HeldOutPrediction:
    """What a fit predicts of data that were left out of it."""

    what: str
    """Which data, as ``last:30%``, ``blocks:4`` or the names of logs."""
    prediction: LogPrediction

    def content(self) -> dict[str, Any]:
        """Return what was left out and the scores, as JSON values."""
        return {"what": self.what, **self.prediction.content()}


@old_members(doubt="warning", lift="consistent_robot", plain="problem_without_terms")
@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Identification:
    """What the identify stage makes of a log, or of several."""

    preprocessors: tuple[Preprocessor, ...]
    """The preprocessor with what it learnt from each log held fixed."""
    motion: Motion
    """What the preprocessor made of the log, of several logs one after the other."""
    weights: Float2D
    """What the rows of every log and joint weigh, by their noise, shape (logs, n)."""
    nominal: Robot
    """The model of the regressor; its friction velocities are those that were estimated, if so."""
    eps: FrictionFit | None
    """The estimate of the friction velocities; None if they were taken as given."""
    gravity: GravityFit | None
    """The direction of gravity, if the log shows the base to be tilted."""
    structure: Structure
    """Terms that joints have beside the standard ones."""
    problem_without_terms: LinearProblem
    """Rows of the motion as the model has them, without what the terms can explain."""
    discrepancy: Discrepancy
    """What the model lacks, and the errors that no log can show."""
    problem: LinearProblem
    """The rows that were fitted: the plain ones, the discrepancy allowed for."""
    estimates: tuple[Estimate, ...]
    estimators: Mapping[str, Estimator]
    """What made them: those of the plan, and what the log has asked for beside."""
    chosen: Estimate
    drive_gain_std: float
    """Relative standard deviation of the torque constants that the intervals hold."""
    consistent_robot: ConsistentRobot | None
    """The consistent robot of the chosen estimate; None if that failed."""
    loop_noise: LoopNoise | None = None
    """Where torques follow the noise of the encoders, if that shakes the robot and the plan heeds
    it."""
    warning: str = ""
    """Why the chosen estimate cannot be trusted, as `robotid_sim.diagnostics.residuals` says."""
    names: tuple[str, ...] = ("log.h5",)
    """Names of the logs."""
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What was concluded when foreign logs were read, by their names."""
    samples: int | None = None
    """Samples of a log that was read in parts."""
    held_out: HeldOutPrediction | None = None
    """What the fit predicts of data that were left out of it."""
    model_error: ModelError | None = None
    """How far predictions may be off, if that was measured."""

    @property
    def preprocessor(self) -> Preprocessor:
        """The preprocessor as tuned to the first log."""
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
        """Whether there is an estimate that nothing speaks against."""
        return self.chosen.success and not self.warning

    @property
    def model(self) -> Robot:
        """The nominal robot with the parameters of the estimate, possible or not."""
        phi = self.basis.complete(self.chosen.beta, self.nominal.parameters())
        return self.nominal.with_parameters(phi, formal=True)

    @one_blas_thread()
    def intervals(self, estimate: Estimate | None = None) -> Intervals | None:
        """Return the 95 % intervals of an estimate, by default the chosen one.

        Returns
        -------
        intervals : Intervals or None
            None if the estimate failed or has none.
        """
        estimate = estimate or self.chosen
        if not estimate.success or estimate.cov is None:
            return None
        try:
            return confidence_intervals(self.problem, estimate)
        except (RobotIdError, np.linalg.LinAlgError):
            return None

    def covariance_blocks(self, estimate: Estimate) -> int:
        """Return how many blocks of residuals of all joints the covariance of an estimate is of."""
        return row_blocks_of(self.problem, block_of(estimate)) * self.problem.dof

    @one_blas_thread()
    def draw_robots(
        self, count: int, rng: int | np.random.Generator = 0, *, progress: Progress = silent
    ) -> list[Robot]:
        """Draw robots that logs and nominal model leave possible; see `estimation.consistent`.

        Parameters
        ----------
        count : int
            How many.
        rng : int or numpy.random.Generator
            Seed, or source, of randomness.
        progress : callable
            Called with the stage and the share done.

        Returns
        -------
        robots : list of Robot
            Physically consistent ones.
        """
        chosen, nominal = self.chosen, self.nominal
        stream = stream_of(rng, "draws")
        return draw_robots(chosen, nominal, self.basis, count, stream, progress=progress)

    def bodies(self) -> list[BodyQuantity]:
        """Return mass, center of mass and inertia of the links, by log and nominal model together.

        Returns
        -------
        quantities : list of BodyQuantity
            With intervals, as far as the log tells them; none without a robot or a covariance.
        """
        chosen, intervals = self.chosen, self.intervals()
        if self.consistent_robot is None or intervals is None or chosen.cov is None:
            return []
        robots = (self.consistent_robot.robot, self.nominal)
        return list(estimate_bodies(chosen, *robots, self.basis, intervals.std))

    def content(self) -> dict[str, Any]:
        """Return what an estimate file holds, as JSON values."""
        return {**self.context(), "estimates": [each.content() for each in self.estimates]}

    def context(self) -> dict[str, Any]:
        """Return what an estimate file says beside the estimates, as JSON values."""
        lift, intervals = self.consistent_robot, self.intervals()
        blocks = None if intervals is None else self.covariance_blocks(self.chosen)
        content: dict[str, Any] = {
            "logs": list(self.names),
            "preprocessing": [preprocessor.message for preprocessor in self.preprocessors],
            "weights": self.weights.tolist(),
            "chosen": self.chosen.estimator,
            "groupings": list(self.basis.groupings),
            "lift": None if lift is None else lift.message,
            "unlikely_masses": [] if lift is None else unlikely_masses(lift.robot, self.nominal),
            "warning": self.warning,
            "unmodeled_torque": [asdict(lack) for lack in self.discrepancy.unmodeled],
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
        """Write estimate.json, parameters.csv and, if there is one, identified.urdf into a folder.

        Parameters
        ----------
        folder : str or Path
            Created if need be.
        meshes : MeshMode
            Whether the meshes come along.

        Returns
        -------
        paths : list of Path
            The files that were written.

        Raises
        ------
        FileFormatError
            If a file cannot be written.
        """
        place = Path(folder)
        make_folder(place, "the folder")
        files = (place / ESTIMATE, place / PARAMETERS, place / IDENTIFIED)
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
        """Write estimates, table of parameters and URDF; what there is none of is removed.

        Parameters
        ----------
        estimate, parameters, urdf : Path
            Files of the estimates (JSON), of the table (CSV) and, optionally, of the robot.
        meshes : MeshMode
            Whether the meshes come along.
        require_robot : bool
            Raise if there is no robot for a URDF that is asked for.

        Returns
        -------
        paths : list of Path
            The files that were written.

        Raises
        ------
        InconsistentInertiaError
            If a robot is required and there is none; nothing is written then.
        """
        if require_robot and urdf is not None and self.consistent_robot is None:
            chosen = self.chosen
            why = chosen.message if not chosen.success else "none is known near the estimate"
            raise InconsistentInertiaError(f"no robot to write to {urdf}: {why}")
        written = [estimate]
        save_estimates(list(self.estimates), estimate, **self.context())
        if self.chosen.success:
            write_text(parameters, csv_table(parameter_rows(self)))
            written.append(parameters)
        else:
            parameters.unlink(missing_ok=True)  # of an earlier run
        if urdf is not None and self.consistent_robot is not None:
            write_urdf(self.consistent_robot.robot, urdf, meshes=meshes)
            written.append(urdf)
        elif urdf is not None:
            urdf.unlink(missing_ok=True)
        return written


def add_warning(fit: Identification, why: str) -> Identification:
    """Return an identification that is in doubt by what speaks against its logs, if anything.

    A wrong zero, a unit of all torques or a delay leave a fit that looks sound.

    A fit that failed, or that nothing speaks against, stays as it is.
    """
    if not fit.chosen.success or not why:
        return fit
    first = (
        fit.warning.removesuffix(RESIDUAL_REMEDY)
        or "the fit passes its tests, but the log does not: "
    )
    return replace(
        fit, warning=f"{first}{why}", consistent_robot=find_untrusted_robot(fit.consistent_robot)
    )


def find_untrusted_robot(lifted: ConsistentRobot | None) -> ConsistentRobot | None:
    """Return a consistent robot that is said not to explain the log."""
    text = "but does not explain the log"
    if lifted is None or text in lifted.message:
        return lifted
    return replace(lifted, message=f"{lifted.message}, {text}")
