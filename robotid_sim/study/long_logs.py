"""Identification from a log that does not fit into memory.

The preprocessor, and the friction velocities, are tuned to the beginning of the log. Parts of the
log then pass it one after the other, with so much before and after each that its rows are those of
the whole log to rounding. Kept are the rows of the fit, ten a second, and the state of the joints
at five times their rate, for what the model may lack and for figures. Functions that the model
lacks are looked for in excerpts; what they are along the whole log enters the fit.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.estimation.discrepancy_search import along, find_discrepancy
from robotid_sim.estimation.problem import LinearProblem, build_problem
from robotid_sim.measurement.joined_motion import joined
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.long_log import LongLog
from robotid_sim.measurement.motion import RINGING, Motion, RowFilter, gated
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.adaptive import Adaptive
from robotid_sim.progress import Progress, silent
from robotid_sim.study.choosing import heeding_loop_noise
from robotid_sim.study.fitted_motion import FittedMotion, fitted_motion
from robotid_sim.study.identification import Identification
from robotid_sim.study.setup import FitPlan
from robotid_sim.study.stages import estimated
from robotid_sim.threads import one_blas_thread

SETTLED = 2.0
"""Time in which a smoother forgets where it began [s]."""

STATES = 5
"""States of the joints that are kept for every row, at most."""

SEARCHED = 40_000
"""Rows of all joints in which functions that the model lacks are looked for."""

EXCERPTS = 8
"""Parts of the log that these rows are from."""


def can_stream(plan: FitPlan) -> bool:
    """Return whether a plan asks for nothing that needs all samples at once."""
    use, estimators = plan.preprocessor, plan.estimators.values()
    return (
        isinstance(use, Adaptive)
        and use.method != "fourier-fit"
        and use.rows.low_velocity == 0.0
        and not plan.joint_terms
        and not any(e.uses_recordings or e.uses_instruments for e in estimators)
    )


class _Grid(NamedTuple):
    """Where the rows of a log are, and how its samples are cut into parts."""

    first: int
    """Sample of the first row."""
    step: int
    rows: int
    margin: int
    """Rows before and after those of a part."""
    part: int
    """Rows of a part."""

    @classmethod
    def of(cls, log: LongLog, preprocessor: Adaptive) -> "_Grid":
        """Return the rows of all samples that have a margin before and after them."""
        rows = preprocessor.rows
        step = max(1, round(1.0 / (rows.rate * log.dt)))
        reach = RINGING / (min(rows.cutoffs or (rows.cutoff,)) * log.dt) + SETTLED / log.dt
        margin = int(np.ceil(reach / step))
        begin = rows.samples(log.head, max(0.0, float(log.head.t[0])) + rows.tail).start
        first = begin + margin * step
        count = (log.samples - 1 - margin * step - first) // step + 1
        parts = max(1, round(count * step / log.part_samples))
        return cls(first, step, count, margin, -(-count // parts))

    def parts(self, log: LongLog) -> Iterator[tuple[Log, int]]:
        """Yield samples with the margins, and how many rows they are to give."""
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
    """Preprocess a long log and estimate, with no more than a part of it in memory.

    Parameters as of `robotid_sim.study.stages.identify`. The plan is one that `can_stream`; output
    error is not run where noise in the loop has shaken the robot.
    """
    progress("identify", 0.0)
    _, heard = heeding_loop_noise(plan, (log.head,))
    head = fitted_motion((log.head,), nominal, basis, plan, silent)
    nominal = head.nominal
    progress("identify", 0.2)
    motion, plain = _rows_of_parts(log, head, basis, progress)
    seen = head._replace(motion=motion, rows=plain)
    gain_std = plan.torque_gain_std
    found = find_discrepancy(*_searched(plain, motion), nominal, gain_std=gain_std)
    whole = along(found, plain, motion, nominal, gain_std=gain_std)
    return estimated(seen, plain, whole, plan, rng, heard=heard, progress=progress)


def _rows_of_parts(
    log: LongLog, head: FittedMotion, basis: BaseParameters, progress: Progress
) -> tuple[Motion, LinearProblem]:
    """Return the state of the joints along a log, and the rows of its fit."""
    tuned = head.preprocessors[0]
    assert isinstance(tuned, Adaptive)
    grid = _Grid.of(log, tuned)
    use = _without_edges(tuned)
    kept = max(k for k in range(1, STATES + 1) if grid.step % k == 0)
    W, y, states = [], [], []
    for part, count in grid.parts(log):
        motion = use(part, head.nominal)
        rows = build_problem(motion, head.nominal, basis)
        inside = slice(grid.margin, grid.margin + count)
        W.append(rows.by_joint(rows.W)[inside].copy())  # a view would keep all of the part
        y.append(rows.by_joint(rows.y)[inside].copy())
        samples = slice(
            grid.margin * grid.step, (grid.margin + count) * grid.step, grid.step // kept
        )
        kinds = ("t", "q", "dq", "ddq", "tau")
        states.append([getattr(motion, name)[samples].copy() for name in kinds])
        progress("identify", 0.2 + 0.4 * sum(map(len, y)) / grid.rows)
    t, q, dq, ddq, tau = (np.concatenate(parts) for parts in zip(*states, strict=True))
    rows = replace(rows, W=np.concatenate(W).reshape(-1, basis.rank), y=np.concatenate(y).ravel())
    row_filter: RowFilter = RowFilter(
        first=0,
        stop=len(t),
        step=kept,
        edge=0,
        cutoff=tuned.rows.cutoff * log.dt * grid.step / kept,
        cutoffs=tuned.rows.cycles(log.dt * grid.step / kept),
    )
    measured = np.asarray(tau.any(axis=0))
    motion = Motion(
        t=t,
        q=q,
        dq=dq,
        ddq=ddq,
        tau=tau,
        joint_names=log.head.joint_names,
        row_filter=gated(row_filter, np.broadcast_to(measured, q.shape)),
        period=log.head.period,
    )
    return motion, replace(rows, period=motion.repeats, start=float(motion.row_times[0]))


def _without_edges(tuned: Adaptive) -> Adaptive:
    """Return a preprocessor whose rows begin with the first sample; margins are cut off later."""
    rows = replace(tuned.rows, tail=0.0, edge=0.0)
    return replace(tuned, rows=rows, joint=replace(tuned.joint, rows=rows))


def _searched(problem: LinearProblem, motion: Motion) -> tuple[LinearProblem, Motion]:
    """Return rows of excerpts that are spread over a log, and their motion; of few rows all."""
    row_filter = motion.row_filter
    assert row_filter is not None
    margin = int(np.ceil(RINGING / (row_filter.lowest * row_filter.step)))
    count = SEARCHED // problem.dof // EXCERPTS
    if problem.samples <= EXCERPTS * (count + 2 * margin):
        return problem, motion
    firsts = np.linspace(margin, problem.samples - margin - count, EXCERPTS).astype(int)
    W, y = problem.by_joint(problem.W), problem.by_joint(problem.y)
    rows = np.concatenate([np.arange(first, first + count) for first in firsts])
    part = replace(problem, W=W[rows].reshape(-1, W.shape[2]), y=y[rows].ravel(), period=None)
    return part, joined([_cut(motion, row_filter, first, count, margin) for first in firsts])


def _cut(motion: Motion, row_filter: RowFilter, first: int, count: int, margin: int) -> Motion:
    """Return the motion that gives some rows of another one, without edges."""
    step = row_filter.step
    samples = slice((first - margin) * step, (first + count - 1 + margin) * step + 1)
    arrays = {name: getattr(motion, name)[samples] for name in ("t", "q", "dq", "ddq", "tau")}
    stop = len(arrays["t"])
    own: RowFilter = RowFilter(
        first=0,
        stop=stop,
        step=step,
        edge=margin * step,
        cutoff=row_filter.cutoff,
        cutoffs=row_filter.cutoffs,
    )
    measured = np.broadcast_to(motion.tau.any(axis=0), arrays["q"].shape)
    return replace(motion, **arrays, row_filter=gated(own, measured), period=None)
