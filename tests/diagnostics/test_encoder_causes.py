"""Encoders that err, clocks that run wrong and gravity of another strength are named."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.diagnostics.diagnosis import diagnose

J = 2
"""The joint of the faults."""


def eccentric(log):
    return log.q[:, J] + 3e-3 * np.sin(log.q[:, J] + 0.7)


def skipped(log):
    return log.q[:, J] + 8e-3 * (log.t > log.t[0] + 0.55 * np.ptp(log.t))


def lagging(log):
    """Return the position of an encoder that follows with a play of 10 mrad."""
    follows = np.empty_like(log.q[:, J])
    at = log.q[0, J]
    for k, q in enumerate(log.q[:, J]):
        at = np.clip(at, q - 5e-3, q + 5e-3)
        follows[k] = at
    return follows


def named(cell, log):
    causes = diagnose(log, cell.nominal, cell.basis).causes
    return {(cause.kind, cause.joints) for cause in causes}


@pytest.mark.parametrize(
    ("kind", "fault"),
    [("eccentricity", eccentric), ("position-step", skipped), ("hysteresis", lagging)],
)
def test_an_encoder_that_errs_is_named_with_its_joint(cell, kind, fault):
    q = np.array(cell.log.q)
    q[:, J] = fault(cell.log)
    log = cell.changed(q=q)
    assert (kind, (log.joint_names[J],)) in named(cell, log)


def test_gravity_of_another_strength_is_named(cell):
    strong = replace(cell.nominal, gravity=1.03 * cell.nominal.gravity)
    found = diagnose(cell.log, strong, cell.basis).causes
    assert [cause.kind for cause in found] == ["gravity-strength"]


def test_a_slow_clock_is_told_as_gravity_of_another_strength(cell):
    """Torques of inertia grow with the square of the clock, those of bodies do not."""
    log, slow = cell.log, 0.98
    log = replace(
        log,
        t=slow * log.t,
        torque_time_offset=slow * log.torque_time_offset,
        period=None if log.period is None else slow * log.period,
    )
    assert ("gravity-strength", ()) in named(cell, log)
