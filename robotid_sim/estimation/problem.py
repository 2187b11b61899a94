"""Linear problems, from a motion and the nominal model, and the base class of estimators."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import block_diag

from robotid_sim.arrays import Bool1D, Float, Float1D, Float2D, Int1D, freeze
from robotid_sim.dynamics.base_parameters import BaseParameters, require_basis_of
from robotid_sim.dynamics.dynamics import regressor_parts, torque_regressor
from robotid_sim.dynamics.term_torques import standard_torque
from robotid_sim.errors import LogError, OptionError, ShapeError, require_type
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.recording import RecordedLog
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.renamed import old_members
from robotid_sim.representation import public_value
from robotid_sim.threads import one_blas_thread


@old_members(measured="measured_joints", by_joint="unstack_rows")
@public_value
@dataclass(frozen=True, slots=True, eq=False)
class LinearProblem:
    """Find base parameters beta with ``y = W beta + noise``; noise differs between joints.

    Rows are sample-major: row ``k n + j`` is joint j at sample k.
    """

    W: Float2D
    """Stacked base regressor, shape (N n, b)."""
    y: Float1D
    """Stacked torques [N m], shape (N n,)."""
    basis: BaseParameters
    """Base parameters of the columns of W."""
    joint_names: tuple[str, ...]
    dt: float
    """Time between samples [s]."""
    nominal: Robot | None = None
    """Nominal model; estimators of full parameters need it."""
    random: Float2D | None = None
    """Torque of one standard deviation of unknown random effects, such as errors of torque
    constants, shape (N n, k): they widen the covariance."""
    instruments: Float2D | None = None
    """Columns that correlate with those of W, but not with their noise, shape (N n, b), if known.
    """
    recordings: tuple[RecordedLog, ...] = ()
    """Recordings of the logs, if an estimator uses them; rows may be a part of them."""
    period: float | None = None
    """Period [s], if the rows are one motion of at least two periods."""
    repeats: bool = False
    """Whether residuals repeat with the period, so that periods are not independent."""
    start: float = 0.0
    """Time of the first sample [s]."""

    def __post_init__(self) -> None:
        freeze(self, (None, self.basis.rank), "W")
        W = self.W
        freeze(self, (len(W),), "y")
        freeze(self, (len(W), None), "random", optional=True)
        freeze(self, (len(W), self.basis.rank), "instruments", optional=True)
        if len(W) % len(self.joint_names):
            raise ShapeError(f"{len(W)} rows are not a multiple of {len(self.joint_names)} joints")
        if len(W) <= self.basis.rank:
            raise LogError(
                f"{len(W)} rows cannot determine {self.basis.rank} parameters; record a longer log"
            )

    @property
    def dof(self) -> int:
        """Rows per sample."""
        return len(self.joint_names)

    @property
    def samples(self) -> int:
        """Number of samples N."""
        return len(self.W) // self.dof

    @property
    def times(self) -> Float1D:
        """Time of every sample [s], shape (N,); those of several logs follow one another."""
        return np.asarray(self.start + self.dt * np.arange(self.samples))

    @property
    def measured_joints(self) -> Bool1D:
        """Whether the torque of a joint was recorded, shape (n,); rows of the others are zero."""
        return np.asarray(self.unstack_rows(self.y).any(axis=0))

    def unstack_rows(self, x: Float) -> Float:
        """Reshape stacked rows to (N, n, ...)."""
        return x.reshape(self.samples, self.dof, *x.shape[1:])


def map_rows(problem: LinearProblem, change: Callable[[Float], Float]) -> LinearProblem:
    """Map the rows of a problem linearly, joint by joint.

    W, y, instruments and random effects are mapped, each as rows of shape (N, n, m).
    """
    parts = [problem.W, problem.y[:, None]]
    parts += [part for part in (problem.instruments, problem.random) if part is not None]
    changed = change(problem.unstack_rows(np.hstack(parts))).reshape(len(problem.y), -1)
    ends = np.cumsum([0, *(part.shape[1] for part in parts)])
    W, y, *more = (changed[:, low:high] for low, high in pairwise(ends))
    return replace(
        problem,
        W=W,
        y=y[:, 0],
        instruments=None if problem.instruments is None else more[0],
        random=None if problem.random is None else more[-1],
    )


@one_blas_thread()
def build_problem(motion: Motion, nominal: Robot, basis: BaseParameters) -> LinearProblem:
    """Build the linear problem of a motion; regressor and torque pass the same row filter.

    The nominal robot provides kinematics, gravity and transition velocities; its inertial
    parameters are used only for the loads of its terms, whose torque is subtracted.

    Parameters
    ----------
    motion : Motion
        Motion, torque and row filter, from a preprocessor.
    nominal : Robot
        Nominal model.
    basis : BaseParameters
        Parameters of the fit.

    Returns
    -------
    problem : LinearProblem
        Regressor, shape (N n, b), and torque, shape (N n,) [N m or N].

    Raises
    ------
    ArgumentTypeError
        If the motion or the robot has a wrong type.
    ShapeError
        If motion, robot and basis are not of the same robot.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> setup = rid.build_setup("twolink", rid.StudyConfig().quick())
    >>> nominal, basis = setup.nominal, setup.basis
    >>> rng, short = np.random.default_rng(0), rid.FourierOptions(period=5.0, periods=1)
    >>> path = rid.random_design(nominal, basis, rng, options=short, candidates=5)
    >>> log = rid.simulate(setup.cell, path, rng=rng).log
    >>> problem = rid.build_problem(rid.RtsSmoother()(log, nominal), nominal, basis)
    >>> problem.W.shape[-1] == basis.rank
    True
    """
    remedy = "preprocess the log first, as Adaptive()(log, nominal) does"
    require_type(motion, Motion, "motion", remedy)
    require_type(nominal, Robot, "nominal", "give a Robot, as load_robot returns")
    if motion.joint_names != nominal.joint_names:
        raise ShapeError(
            f"the motion has joints {', '.join(motion.joint_names)}, and '{nominal.name}' has "
            f"{', '.join(nominal.joint_names)}; give the robot of the log"
        )
    require_basis_of(nominal, basis)
    row_filter = motion.row_filter
    if row_filter is None:
        samples = slice(None) if motion.mask is None else motion.mask
    else:
        samples = row_filter.sample_slice
    q, dq, ddq = (part[samples] for part in (motion.q, motion.dq, motion.ddq))
    if row_filter is None:
        W = torque_regressor(nominal, q, dq, ddq, basis.columns)
    else:
        W = row_filter.filter_parts(regressor_parts(nominal, q, dq, ddq, basis.columns))
    tau = standard_torque(nominal, motion.q, motion.dq, motion.ddq, motion.tau)
    return LinearProblem(
        W=W.reshape(-1, basis.rank),
        y=rows_of(motion, tau).ravel(),
        basis=basis,
        joint_names=motion.joint_names,
        dt=motion.dt * (1 if row_filter is None else row_filter.step),
        nominal=nominal,
        period=motion.repeats if motion.mask is None else None,
        start=float(motion.row_times[0]),
    )


def extend_problem(
    problem: LinearProblem, columns: Float2D, symbols: Sequence[str], units: Sequence[str]
) -> LinearProblem:
    """Append columns of parameters that do not belong to the robot.

    Of the estimators of full parameters, only `Consistent` fits them, in addition to its robot.

    Columns are the torque per unit parameter [N m or N], shape (N n, e), and come last. Raises
    `ShapeError` if their rows are not those of the problem, or there is not one column per symbol.
    """
    if columns.shape != (len(problem.W), len(symbols)):
        raise ShapeError(
            f"columns have shape {columns.shape}, expected {(len(problem.W), len(symbols))}; use "
            "the motion that the problem was built from"
        )
    basis = problem.basis
    further = len(basis.symbols) + np.arange(len(symbols))
    larger = replace(
        basis,
        columns=np.concatenate([basis.columns, further]),
        B=block_diag(basis.B, np.eye(len(symbols))),
        symbols=(*basis.symbols, *symbols),
        units=(*basis.units, *units),
        considered=np.concatenate([basis.considered, further]),
    )
    instruments_before = problem.instruments
    instruments = None if instruments_before is None else np.hstack([instruments_before, columns])
    W = np.hstack([problem.W, columns])
    return replace(problem, W=W, basis=larger, instruments=instruments)


def get_robot_basis(problem: LinearProblem) -> BaseParameters:
    """Get the base parameters of a problem without those that `extend_problem` appended.

    Raises `OptionError` if the problem has no nominal robot.
    """
    if problem.nominal is None:
        raise OptionError("full parameters need the nominal robot of the problem")
    basis, full = problem.basis, len(problem.nominal.parameter_names)
    count = int((basis.columns < full).sum())
    if count == basis.rank:
        return basis
    return replace(
        basis,
        columns=basis.columns[:count],
        B=basis.B[:count, :full],
        symbols=basis.symbols[:full],
        units=basis.units[:count],
        considered=basis.considered[basis.considered < full],
    )


def select_columns(problem: LinearProblem, columns: Sequence[int] | Int1D) -> LinearProblem:
    """Select some base parameters of a problem, in ascending order; the others are zero.

    The result has no nominal robot.
    """
    basis, which = problem.basis, np.array(columns, dtype=np.intp)
    smaller = replace(
        basis,
        columns=basis.columns[which],
        B=basis.B[which],
        units=tuple(basis.units[k] for k in which),
        inertial_rank=int((which < basis.inertial_rank).sum()),
    )
    instruments_before = problem.instruments
    instruments = None if instruments_before is None else instruments_before[:, which]
    W = problem.W[:, which]
    return replace(problem, W=W, basis=smaller, nominal=None, instruments=instruments)


MAX_RATE_DIFFERENCE = 0.1
"""Maximum relative difference of the rates of stacked rows; only correlations use the rate."""


def stack_problems(problems: Sequence[LinearProblem]) -> LinearProblem:
    """Stack the rows of several problems with the same parameters."""
    first = problems[0]
    for other in problems[1:]:
        same = (other.joint_names, other.basis.names) == (first.joint_names, first.basis.names)
        if not same or abs(other.dt - first.dt) > MAX_RATE_DIFFERENCE * first.dt:
            raise ShapeError("only problems of one robot, basis and row rate can be stacked")
    W = np.vstack([problem.W for problem in problems])
    y = np.concatenate([problem.y for problem in problems])
    parts = [problem.instruments for problem in problems if problem.instruments is not None]
    instruments = np.vstack(parts) if len(parts) == len(problems) else None
    all_recorded = all(problem.recordings for problem in problems)
    recordings = tuple(part for problem in problems for part in problem.recordings if all_recorded)
    joined = replace(first, W=W, y=y, instruments=instruments, recordings=recordings)
    return joined if len(problems) == 1 else replace(joined, period=None)


def part_of(estimate: Estimate, count: int) -> Estimate:
    """Keep the first `count` parameters of an estimate, with their marginal covariance."""

    def corner(cov: Float2D | None) -> Float2D | None:
        return None if cov is None else cov[:count, :count]

    return replace(
        estimate,
        beta=estimate.beta[:count],
        names=estimate.names[:count],
        units=estimate.units[:count],
        cov=corner(estimate.cov),
        cov_white=corner(estimate.cov_white),
    )


def rows_of(motion: Motion, signal: Float) -> Float:
    """Filter a signal, shape (N, n, ...), to rows as `build_problem` does with the torque."""
    if motion.row_filter is not None:
        return motion.row_filter.apply(signal[motion.row_filter.sample_slice])
    return signal if motion.mask is None else signal[motion.mask]


def joint_columns(rows: Float2D) -> Float2D:
    """Make columns (N n, n), one per joint, that are zero except in the rows of that joint.

    The rows, shape (N, n), are torque per unit of the parameter of every joint.
    """
    samples, dof = rows.shape
    columns = np.zeros((samples, dof, dof))
    columns[:, np.arange(dof), np.arange(dof)] = rows
    return columns.reshape(samples * dof, dof)


def joint_only(rows: Float2D, joint: int, dof: int) -> Float:
    """Place rows of one joint, (N, k), in columns (N, n, k) that are zero for all other joints."""
    columns = np.zeros((len(rows), dof, rows.shape[1]))
    columns[:, joint] = rows
    return columns


def weights_of(estimate: Estimate) -> Float1D:
    """Read the weights of the joints in an estimate, shape (n,)."""
    return 1.0 / estimate.noise_std if estimate.weights is None else estimate.weights


class Estimator(ABC):
    """A method of estimation: hyper-parameters in the constructor, data in `fit`.

    An estimator never changes itself; all results are in the Estimate.
    """

    check_options: ClassVar[Mapping[str, Any]] = {}
    """Options with which `robotid_sim.testing` tests it within a second."""

    random: ClassVar[bool] = False
    """Whether `fit` uses random numbers, so that the estimate depends on the stream."""

    uses_instruments: ClassVar[bool] = False
    """Whether `fit` uses the instruments of a problem, which take time to compute."""

    uses_recordings: ClassVar[bool] = False
    """Whether `fit` uses the recordings of a problem."""

    @abstractmethod
    def fit(self, problem: LinearProblem, rng: np.random.Generator) -> Estimate:
        """Fit the problem; numerical failure is data, not an exception.

        Parameters
        ----------
        problem : LinearProblem
            Rows of the fit.
        rng : numpy.random.Generator
            Random stream; deterministic estimators ignore it.

        Returns
        -------
        estimate : Estimate
            ``success=False`` and a message where the fit failed.
        """
