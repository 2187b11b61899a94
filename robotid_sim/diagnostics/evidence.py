"""Regressor rows of a log for the comparison of candidate causes, and corrections of them.

The module also computes the likelihood of rows under physically consistent robots, which reveals
wrong torque signs.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from robotid_sim.arrays import Bool2D, Float, Float1D, Float2D, Int1D
from robotid_sim.dynamics.base_parameters import (
    BaseParameters,
    base_parameters,
    base_parameters_like,
)
from robotid_sim.dynamics.dynamics import regressor_parts, torque_regressor
from robotid_sim.dynamics.term_torques import standard_torque
from robotid_sim.errors import LogError
from robotid_sim.estimation.cone_program import ConsistentProgram
from robotid_sim.estimation.hold_out import FOLD_COUNT, NOISE_FLOOR, Fit, HeldOut, assign_blocks
from robotid_sim.estimation.selection import ResidualProjection
from robotid_sim.measurement.motion import Motion, RowFilter, interpolate_samples, remove_gate
from robotid_sim.model import parameters
from robotid_sim.model.robot import Robot

MIN_BLOCK_ROWS = 5
"""Minimum number of rows of a block."""

SAMPLES_PER_ROW = 50
"""Samples of the regressor per row: a coarse grid widens the smooth sign of friction, and ten per
row biased the transition velocity of a wrist; all samples cost time."""

UNTRUSTED_TIME = 0.15
"""Time around an untrusted sample in which rows are ignored [s]."""

MAX_DELAY = 0.2
"""Largest torque delay that can be corrected, of either sign [s]; rows exclude both ends."""


@dataclass(frozen=True, slots=True, eq=False)
class Correction:
    """Correction of a log and of gravity: linear maps of the torque and position columns.

    ``tau' = tau torque``, then read `delay` later; ``q' = q position + shift``.
    """

    torque: Float2D
    """Map of the torques, shape (n, n)."""
    position: Float2D
    """Map of the positions, shape (n, n)."""
    shift: Float1D
    """Addition to the positions [rad or m], shape (n,)."""
    delay: Float1D
    """Torque delay of each joint [s], shape (n,)."""
    gravity: Float1D
    """Change of the model's gravity [m/s^2], shape (3,)."""

    @classmethod
    def none(cls, dof: int) -> Self:
        """Make the correction that changes nothing."""
        return cls(np.eye(dof), np.eye(dof), np.zeros(dof), np.zeros(dof), np.zeros(3))


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Rows of a log with their folds; noise differs and is independent between joints."""

    nominal: Robot
    basis: BaseParameters
    q: Float2D
    dq: Float2D
    ddq: Float2D
    """Motion on the coarse grid of the regressor, shape (M, n)."""
    dt: float
    """Step of that grid [s]."""
    rows: RowFilter
    """Row filter from that grid to the rows."""
    low: Float2D
    """Low-passed torque on that grid [N m], shape (M, n)."""
    offset: float
    """`torque_time_offset` of the log [s]."""
    fold: Int1D
    """Block of every row, shape (N,)."""
    use: Bool2D
    """Rows that count, shape (N, n)."""
    correction: Correction
    """Corrections so far."""
    W: Float
    """Regressor, shape (N, n, b)."""
    y: Float2D
    """Torque [N m], shape (N, n)."""
    columns: Float
    """Further columns that were accepted, shape (N, n, k)."""
    volume: float = 0.0
    """Logarithm of the determinant of the torque correction, times the ratio of all joints to
    joints with torque: the likelihood contains it for the mean number of rows of a joint, which is
    zero for a joint without torque."""
    unfiltered: bool = False
    """Whether the regressor is computed without low-pass filter."""

    @classmethod
    def from_motion(
        cls,
        motion: Motion,
        nominal: Robot,
        basis: BaseParameters,
        *,
        offset: float = 0.0,
        bad: Bool2D | None = None,
    ) -> Self:
        """Compute the rows of a smoothed motion, except near `bad` samples, shape (N, n).

        The motion has a row filter, and its torque delay is not corrected. Raises `LogError` if the
        rows are too few.
        """
        row_filter = motion.row_filter
        assert row_filter is not None
        reach = max(row_filter.edge, round(MAX_DELAY / motion.dt))
        # One cut-off for all: candidates put the torque of a joint into the rows of another.
        row_filter = replace(remove_gate(row_filter), edge=reach, cutoffs=None)
        coarse, grid = _coarsen(row_filter)
        full = replace(row_filter, step=1, edge=0)
        tau = standard_torque(nominal, motion.q, motion.dq, motion.ddq, motion.tau)
        low = full.apply(tau[full.sample_slice])[grid.start - full.first :: grid.step]
        times = motion.t[grid][coarse.rows]
        use = np.ones((times.size, nominal.dof), dtype=bool)
        if bad is not None:
            use = ~_dilate(bad, round(UNTRUSTED_TIME / motion.dt))[grid][coarse.rows]
        measured = motion.tau.any(axis=0)
        use &= measured
        columns = basis.rank
        if (
            use[:, measured].sum(axis=0).min() < MIN_BLOCK_ROWS * FOLD_COUNT
            or use.sum() < 2 * columns
        ):
            raise LogError(
                f"{int(use.sum())} rows are too few to compare causes with {columns} parameters; "
                "record a longer log"
            )
        q, dq, ddq = (part[grid] for part in (motion.q, motion.dq, motion.ddq))
        W = coarse.filter_parts(regressor_parts(nominal, q, dq, ddq, basis.columns))
        return cls(
            nominal=nominal,
            basis=basis,
            q=q,
            dq=dq,
            ddq=ddq,
            dt=motion.dt * grid.step,
            rows=coarse,
            low=low,
            offset=offset,
            fold=assign_blocks(times, motion.period),
            use=use,
            correction=Correction.none(nominal.dof),
            W=W,
            y=low[coarse.rows],
            columns=np.zeros((*use.shape, 0)),
        )

    @property
    def dof(self) -> int:
        """Number of joints."""
        return self.nominal.dof

    @property
    def rms_torque(self) -> Float1D:
        """RMS torque of the rows of every joint [N m], shape (n,); 1 where none was measured."""
        size = np.sqrt((self.y**2).mean(axis=0))
        return np.asarray(np.where(size > 0.0, size, 1.0))

    @property
    def floor(self) -> Float1D:
        """Minimum noise of the rows [N m], shape (n,)."""
        return NOISE_FLOOR * self.rms_torque

    @property
    def width(self) -> int:
        """Number of columns of the regressor and of accepted causes."""
        return int(self.W.shape[2] + self.columns.shape[2])

    def sum_by_block(self, columns: Float | None = None) -> HeldOut:
        """Sum the products of all columns and of further `columns`, (N, n, k), by block."""
        further = np.zeros((*self.y.shape, 0)) if columns is None else columns
        parts = [self.W, self.columns, further, self.y[:, :, None]]
        A = np.concatenate(parts, axis=2) * self.use[:, :, None]
        return HeldOut.from_columns(A, self.fold, self.use, self.floor, self.volume)

    def fit(self) -> Fit:
        """Fit all columns."""
        return self.sum_by_block().fit(np.arange(self.width))

    def project_residual(self, fit: Fit) -> ResidualProjection:
        """Project residuals onto the complement of all columns, weighted by the noise of a fit."""
        return ResidualProjection.from_columns(
            np.concatenate([self.W, self.columns], axis=2), self.use / fit.sigma
        )

    def build_robot(self, fit: Fit) -> Robot:
        """Build the robot of a fit of all columns; it need not be physically consistent."""
        phi = self.basis.complete(fit.beta[: self.basis.rank], self.nominal.parameters())
        return self.nominal.with_parameters(phi, formal=True)

    def add_columns(self, columns: Float) -> Self:
        """Add accepted columns."""
        return replace(self, columns=np.concatenate([self.columns, columns], axis=2))

    def replace_columns(self, first: int, count: int, columns: Float) -> Self:
        """Replace `count` accepted columns, from index `first`."""
        before, after = self.columns[:, :, :first], self.columns[:, :, first + count :]
        return replace(self, columns=np.concatenate([before, columns, after], axis=2))

    def apply_correction(self, new: Correction) -> Self:
        """Apply a further correction; accepted columns are kept."""
        old = self.correction
        delay, torque = old.delay + new.delay, old.torque @ new.torque
        share = self.dof / max(int(self.use.any(axis=0).sum()), 1)
        position, shift = old.position @ new.position, old.shift @ new.position + new.shift
        result = replace(
            self,
            correction=Correction(torque, position, shift, delay, old.gravity + new.gravity),
            volume=share * float(np.linalg.slogdet(torque)[1]),
        )
        result = replace(result, y=result.shift_torque(np.zeros(self.dof)))
        if new.gravity.any():  # the base parameters depend on gravity
            nominal = replace(self.nominal, gravity=self.nominal.gravity + new.gravity)
            result = replace(
                result, nominal=nominal, basis=base_parameters_like(self.basis, nominal)
            )
        elif (new.position == np.eye(self.dof)).all() and not new.shift.any():
            return result
        q = self.q @ new.position + new.shift
        dq, ddq = self.dq @ new.position, self.ddq @ new.position
        result = replace(result, q=q, dq=dq, ddq=ddq)
        return replace(result, W=result.compute_regressor())

    @property
    def torque(self) -> Float2D:
        """Corrected low-passed torque on the grid of the regressor, not delayed, shape (M, n)."""
        return self.low @ self.correction.torque

    def shift_torque(self, delay: Float1D) -> Float2D:
        """Compute the torque rows for a further delay of every joint [s], shape (N, n)."""
        torque, delay = self.torque, self.correction.delay + delay
        y = torque[self.rows.rows]
        place = np.arange(len(torque), dtype=float)[self.rows.rows]
        if np.ptp(delay) == 0.0 and delay.any():
            return interpolate_samples(torque, place + delay[0] / self.dt)
        for j in np.flatnonzero(delay):
            y[:, [j]] = interpolate_samples(torque[:, [j]], place + delay[j] / self.dt)
        return y

    def compute_regressor(self) -> Float:
        """Compute the rows of the regressor, shape (N, n, b)."""
        robot, columns, rows = self.nominal, self.basis.columns, self.rows
        if self.unfiltered:
            q, dq, ddq = (part[rows.rows] for part in (self.q, self.dq, self.ddq))
            return torque_regressor(robot, q, dq, ddq, columns)
        return rows.filter_parts(regressor_parts(robot, self.q, self.dq, self.ddq, columns))

    def add_friction(self) -> Self:
        """Add Fv and Fc to the model; `skip_low_pass` recomputes the regressor.

        The residual of a model without friction resembles delays and wrong columns.
        """
        drives = range(
            parameters.INERTIAL_COUNT * self.nominal.dof, parameters.size(self.nominal.dof)
        )
        kinds = {self.basis.symbols[c][:2] for c in self.basis.considered if c in drives}
        friction = {"Fv", "Fc"}
        if friction <= kinds:
            return self
        symbols = [s for s in parameters.JOINT_SYMBOLS if s in kinds | friction]
        return replace(self, basis=base_parameters(self.nominal, symbols))

    def skip_low_pass(self) -> Self:
        """Compute the regressor without low-pass filter, which makes corrections fast."""
        unfiltered = replace(self, unfiltered=True)
        return replace(unfiltered, W=unfiltered.compute_regressor())


def _coarsen(row_filter: RowFilter) -> tuple[RowFilter, slice]:
    """Return the row filter of a coarser grid and the samples of that grid."""
    divisors = (
        d for d in range(row_filter.step // SAMPLES_PER_ROW, 0, -1) if not row_filter.step % d
    )
    d = next(divisors, 1)
    grid = slice(row_filter.first + row_filter.edge % d, row_filter.stop, d)
    samples = len(range(grid.start, grid.stop, d))
    step, edge = row_filter.step // d, row_filter.edge // d
    coarse = row_filter.scale_cutoffs(d, first=0, stop=samples, step=step, edge=edge)
    return coarse, grid


def _dilate(bad: Bool2D, reach: int) -> Bool2D:
    """Mark all samples within `reach` samples of a bad one, shape (N, n)."""
    sums = np.cumsum(np.pad(bad, ((reach + 1, reach), (0, 0))), axis=0)
    return np.asarray(sums[2 * reach + 1 :] > sums[: -2 * reach - 1])


@dataclass(frozen=True, slots=True, eq=False)
class ConsistentFit:
    """The best fit of a physically consistent robot."""

    rms: Float1D
    """Residual of every joint [N m], infinite if the solver failed, shape (n,)."""
    unconstrained: Float1D
    """Residual of the fit without constraints [N m], shape (n,)."""
    by_fold: Float1D
    """Log-likelihood of every block, shape (folds,)."""

    @classmethod
    def fit_evidence(cls, evidence: Evidence, program: ConsistentProgram) -> Self:
        """Fit the rows minus the torque of accepted columns."""
        rank = evidence.basis.rank
        fit = evidence.fit()
        y = evidence.y - evidence.columns @ fit.beta[rank:]
        weights = evidence.use / fit.sigma
        weighted = (evidence.W * weights[:, :, None]).reshape(-1, rank)
        target = (y * weights).ravel()
        Q, R = np.linalg.qr(weighted)
        if np.abs(np.diag(R)).min() <= 1e-12 * np.abs(np.diag(R)).max():
            return cls._from_free_fit(evidence, fit.sigma)
        phi = program.find_nearest(np.linalg.solve(R, Q.T @ target), R)
        if phi is None:
            return cls._from_free_fit(evidence, fit.sigma)
        squares = (y - evidence.W @ evidence.basis.project(phi)) ** 2 * evidence.use
        count = np.maximum(evidence.use.sum(axis=0), 1)
        sigma = np.sqrt(squares.sum(axis=0) / count + (evidence.floor) ** 2)
        terms = evidence.use * (evidence.volume / evidence.dof - np.log(sigma))
        terms = terms - 0.5 * squares / sigma**2
        by_fold = np.array(
            [terms[evidence.fold == f].sum() for f in range(evidence.fold.max() + 1)]
        )
        return cls(sigma, fit.sigma, by_fold)

    @classmethod
    def _from_free_fit(cls, evidence: Evidence, sigma: Float1D) -> Self:
        worst = np.full(int(evidence.fold.max()) + 1, -np.inf)
        return cls(np.full(evidence.dof, np.inf), sigma, worst)
