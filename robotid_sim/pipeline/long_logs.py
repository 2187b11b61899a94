"""Identification from a log that does not fit into memory.

The preprocessor and the constants of the model are tuned to the beginning of the log. The log is
then processed in parts, each with margins such that its rows equal the rows of the whole log up to
rounding. The rows of the fit, ten per second, are stored, and the joint states at five times their
rate for unmodeled torque and figures. Unmodeled torque is estimated from excerpts. If there is any,
the fit also uses the excerpts: unmodeled torque, not noise, then determines the accuracy and needs
more memory than all rows.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robotid_sim.arrays import Float2D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.estimation.discrepancy_search import find_discrepancy, make_empty_discrepancy
from robotid_sim.estimation.problem import build_problem
from robotid_sim.measurement.joined_motion import join_motions
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.long_log import LongLog
from robotid_sim.measurement.motion import RINGING_TIME_RATIO, Motion, RowFilter, add_gate
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.fit_plan import FitPlan, add_output_error
from robotid_sim.pipeline.fitted_motion import FittedMotion, fit_motion, tune_model
from robotid_sim.pipeline.identification import Identification
from robotid_sim.pipeline.stages import estimate
from robotid_sim.preprocess.adaptive import Adaptive
from robotid_sim.progress import Progress, silent
from robotid_sim.threads import one_blas_thread

SETTLING_TIME = 2.0
"""Settling time of a smoother after its start [s]."""

MAX_STATES_PER_ROW = 5
"""Largest number of joint states per row."""

SEARCH_ROWS = 30_000
"""Number of rows in all excerpts, of all joints together."""

EXCERPT_COUNT = 8
"""Number of excerpts of a log."""


def can_stream(plan: FitPlan) -> bool:
    """Check whether a plan does not need all samples at once."""
    preprocessor, estimators = plan.preprocessor, plan.estimators.values()
    return (
        isinstance(preprocessor, Adaptive)
        and preprocessor.method != "fourier-fit"
        and preprocessor.rows.low_velocity == 0.0
        and (plan.terms_by_need or not plan.joint_terms)
        and not any(e.uses_recordings or e.uses_instruments for e in estimators)
    )


class _Grid(NamedTuple):
    """Grid of the rows of a log, which is divided into parts."""

    first: int
    """Sample of the first row."""
    step: int
    """Number of samples from one row to the next."""
    rows: int
    """Number of rows."""
    margin: int
    """Number of rows before and after the rows of a part."""
    part: int
    """Number of rows of a part."""

    @classmethod
    def from_log(cls, log: LongLog, preprocessor: Adaptive) -> "_Grid":
        """Create the grid of the rows with a margin before and after them."""
        rows = preprocessor.rows
        step = max(1, round(1.0 / (rows.rate * log.dt)))
        reach = (
            RINGING_TIME_RATIO / (min(rows.cutoffs or (rows.cutoff,)) * log.dt)
            + SETTLING_TIME / log.dt
        )
        margin = int(np.ceil(reach / step))
        begin = rows.samples(log.head, max(0.0, float(log.head.t[0])) + rows.tail).start
        first = begin + margin * step
        count = (log.samples - 1 - margin * step - first) // step + 1
        parts = max(1, round(count * step / log.part_samples))
        return cls(first, step, count, margin, -(-count // parts))

    def parts(self, log: LongLog) -> Iterator[tuple[Log, int]]:
        """Yield the samples of every part with margins, and its number of rows."""
        for row in range(0, self.rows, self.part):
            count = min(self.part, self.rows - row)
            begin = self.first + (row - self.margin) * self.step
            stop = begin + (count - 1 + 2 * self.margin) * self.step + 1
            yield log.part(begin, stop), count


@one_blas_thread()
def identify_long(
    log: LongLog,
    nominal: Robot,
    basis: BaseParameters,
    plan: FitPlan,
    rng: np.random.Generator,
    *,
    progress: Progress = silent,
) -> Identification:
    """Preprocess a long log and estimate, with only a part of it in memory.

    Parameters are as in `pipeline.stages.fit_logs`. The plan satisfies `can_stream`; output error
    is not run for measurement noise fed back by the controller.
    """
    progress("identify", 0.0)
    _, loop_noise = add_output_error(plan, (log.head,))
    head = (log.head,)
    fitted = fit_motion(head, tune_model(head, nominal, basis, plan), plan)
    progress("identify", 0.2)
    fitted = _extend_fit(fitted, log, progress)
    gain_std = plan.drive_gain_std
    excerpts = excerpts_of(fitted)
    discrepancy = find_discrepancy(
        excerpts.rows, excerpts.motion, fitted.model.nominal, gain_std=gain_std
    )
    if discrepancy.unmodeled:
        fitted = excerpts
    else:
        discrepancy = make_empty_discrepancy(fitted.rows, gain_std=gain_std)
    return estimate(fitted, discrepancy, plan, rng, loop_noise=loop_noise, progress=progress)


def _extend_fit(head: FittedMotion, log: LongLog, progress: Progress) -> FittedMotion:
    """Compute the joint states and the rows of a whole log, with the fit of its beginning.

    The results of the parts are written into preallocated arrays.
    """
    tuned, basis = head.preprocessors[0], head.model.basis
    assert isinstance(tuned, Adaptive)
    grid = _Grid.from_log(log, tuned)
    # Rows begin with the first sample; margins are removed later.
    rows_options = replace(tuned.rows, tail=0.0, edge=0.0)
    preprocessor = replace(
        tuned,
        rows=rows_options,
        errors_in_variables=replace(tuned.errors_in_variables, rows=rows_options),
    )
    states_per_row = max(k for k in range(1, MAX_STATES_PER_ROW + 1) if grid.step % k == 0)
    n = log.head.dof
    W, y = np.empty((grid.rows * n, basis.rank)), np.empty(grid.rows * n)
    t = np.empty(grid.rows * states_per_row)
    states: dict[str, Float2D] = {name: np.empty((len(t), n)) for name in ("q", "dq", "ddq", "tau")}
    first = 0
    for part, count in grid.parts(log):
        motion = preprocessor(part, head.model.nominal)
        rows = build_problem(motion, head.model.nominal, basis)
        inside = slice(grid.margin * n, (grid.margin + count) * n)
        span = slice(first * n, (first + count) * n)
        W[span], y[span] = rows.W[inside], rows.y[inside]
        samples = slice(
            grid.margin * grid.step, (grid.margin + count) * grid.step, grid.step // states_per_row
        )
        span = slice(first * states_per_row, (first + count) * states_per_row)
        t[span] = motion.t[samples]
        for name, state in states.items():
            state[span] = getattr(motion, name)[samples]
        first += count
        progress("identify", 0.2 + 0.4 * first / grid.rows)
    for values in (W, y, t, *states.values()):
        values.setflags(write=False)
    dt = log.dt * grid.step / states_per_row
    row_filter = RowFilter(
        first=0,
        stop=len(t),
        step=states_per_row,
        edge=0,
        cutoff=tuned.rows.cutoff * dt,
        cutoffs=tuned.rows.cutoffs_per_sample(dt),
    )
    measured = np.broadcast_to(states["tau"].any(axis=0), states["tau"].shape)
    motion = Motion(
        t=t,
        q=states["q"],
        dq=states["dq"],
        ddq=states["ddq"],
        tau=states["tau"],
        joint_names=log.head.joint_names,
        row_filter=add_gate(row_filter, measured),
        period=log.head.period,
    )
    start = float(motion.row_times[0])
    rows = replace(rows, W=W, y=y, period=motion.repeats, start=start)
    return head._replace(motion=motion, rows=rows)


def excerpts_of(fitted: FittedMotion) -> FittedMotion:
    """Select motion and rows of excerpts spread over a log; all of it if it has few rows.

    Excerpts of a periodic log have equal numbers of whole periods, so that they remain periodic.
    """
    problem, motion = fitted.rows, fitted.motion
    row_filter = motion.row_filter
    assert row_filter is not None
    margin = int(np.ceil(RINGING_TIME_RATIO / (row_filter.lowest * row_filter.step)))
    max_rows = SEARCH_ROWS // problem.dof
    if problem.samples <= max_rows + 2 * EXCERPT_COUNT * margin:
        return fitted
    period = problem.period / problem.dt if problem.period else 1.0
    excerpt_period = problem.period if 2.0 * period <= max_rows else None
    unit = period if excerpt_period else 1.0
    parts = min(EXCERPT_COUNT, int(max_rows / unit))
    units = int(max_rows / parts / unit)
    last = int((problem.samples - 2 * margin - 1) / unit) - units
    firsts = np.round(margin + np.linspace(0, last, parts).astype(int) * unit)
    lengths = np.diff(np.round(np.arange(parts + 1) * units * unit))  # preserves the phase
    ranges = [*zip(firsts.astype(int), (firsts + lengths).astype(int), strict=True)]
    rows = np.concatenate([np.arange(*each) for each in ranges])
    W, y = problem.unstack_rows(problem.W), problem.unstack_rows(problem.y)
    W, y = W[rows].reshape(-1, W.shape[2]), y[rows].ravel()
    cuts = [_cut(motion, row_filter, begin, end, margin) for begin, end in ranges]
    part = replace(problem, W=W, y=y, period=excerpt_period)
    return fitted._replace(motion=join_motions(cuts), rows=part)


def _cut(motion: Motion, row_filter: RowFilter, begin: int, end: int, margin: int) -> Motion:
    """Cut the part of a motion that gives rows `begin` to `end`, with a margin on both sides."""
    step = row_filter.step
    samples = slice((begin - margin) * step, (end - 1 + margin) * step + 1)
    arrays = {name: getattr(motion, name)[samples] for name in ("t", "q", "dq", "ddq", "tau")}
    stop = len(arrays["t"])
    part_filter: RowFilter = RowFilter(
        first=0,
        stop=stop,
        step=step,
        edge=margin * step,
        cutoff=row_filter.cutoff,
        cutoffs=row_filter.cutoffs,
    )
    measured = np.broadcast_to(motion.tau.any(axis=0), arrays["q"].shape)
    return replace(motion, **arrays, row_filter=add_gate(part_filter, measured), period=None)
