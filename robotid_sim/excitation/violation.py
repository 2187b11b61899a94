"""Bounds that a motion does not keep, in words."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import Float1D, MotionArrays
from robotid_sim.excitation.constraints import SCALE, MotionConstraint, TorqueLimit
from robotid_sim.trajectory.reference import Excitation, run_time


@dataclass(frozen=True, slots=True)
class Violation:
    """A bound that a motion does not keep."""

    what: str
    t: float
    """When it is worst [s]."""
    value: float
    """What it is there."""
    bound: float
    """What it may be."""
    unit: str

    def __str__(self) -> str:
        beyond = "above" if self.value > self.bound else "below"
        return (
            f"{self.what} is {self.value:.4g} {self.unit}, {beyond} {self.bound:.4g} {self.unit}, "
            f"at t = {self.t:.3f} s"
        )


def violations(
    constraints: Sequence[MotionConstraint],
    t: Float1D,
    motion: MotionArrays,
    tolerance: float = 1e-9,
) -> list[Violation]:
    """Return every bound that a motion violates, at its worst time.

    Times t [s], shape (N,), and the motion, each part (N, n), belong together; up to the
    tolerance, in a constraint's own scale, a violation is rounding.
    """
    rows = []
    for constraint in constraints:
        excess, values = constraint.excess(motion), constraint.values(motion)
        lower, upper = constraint.bounds
        for k in np.flatnonzero(excess.max(axis=0) > tolerance).tolist():
            when = int(excess[:, k].argmax())
            above = values[when, k] > upper[k]
            unit, scale = ("m", SCALE) if not isinstance(constraint, TorqueLimit) else ("", 1.0)
            rows.append(
                Violation(
                    constraint.label(k),
                    float(t[when]),
                    float(values[when, k] * scale),
                    float((upper if above else lower)[k] * scale),
                    unit or "of the allowance",
                )
            )
    return rows


def violated_by(
    trajectory: Excitation, constraints: Sequence[MotionConstraint], *, quickly: bool = False
) -> list[Violation]:
    """Return what a trajectory violates in its first run and on its ways from home and back.

    Quickly, a coarser grid and the first constraint that is violated will do.
    """
    run, rows = run_time(trajectory), []
    for constraint in constraints:
        step = run / (constraint.checked_quickly if quickly else constraint.checked)
        t = np.arange(trajectory.start, run + 0.5 * step, step)
        reference = trajectory(t)
        rows += violations([constraint], t, (reference.q, reference.dq, reference.ddq))
        if quickly and rows:
            break
    return rows
