"""When the torque of a log acts: what the true parameters leave of it, from positions alone.

The motion is differentiated by the smoother at a corner of 200 Hz, far above what friction
reversals excite; the torque of the true parameters at that motion and the recorded torque then pass
the same zero-phase low-pass of 250 Hz, because the differentiated motion knows nothing above.
"""

from dataclasses import replace

import numpy as np
import pytest
from sampling import sampled

from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.measurement.motion import RowFilter
from robotid_sim.preprocess.rts import RtsSmoother

CORNER = 200.0  # [Hz]
CUTOFF = 250.0  # [Hz]

RIGHT = 3e-4
"""Largest residual over the RMS torque where torque and motion are paired rightly."""

WRONG = 8e-4
"""What the worst joint leaves at least where they are paired 0.125 ms wrongly."""


def relative_residual(run, offset):
    """Return RMS residual over RMS torque of every joint, periods two and three."""
    log = replace(run.log, torque_time_offset=offset)
    motion = RtsSmoother(corners=(CORNER,) * log.dof)(log, run.nominal)
    tau = joint_torque(run.plant, motion.q, motion.dq, motion.ddq)
    low_pass = RowFilter(
        first=int((log.t < log.period).sum()),
        stop=log.t.size - 300,
        step=1,
        edge=100,
        cutoff=CUTOFF * log.dt,
    )
    wanted, found = (low_pass.apply(x[low_pass.sample_slice]) for x in (motion.tau, tau))
    return np.sqrt(((found - wanted) ** 2).mean(axis=0) / (wanted**2).mean(axis=0))


@pytest.fixture(params=sampled(("irb140", "geared_iiwa"), "irb140", mark=pytest.mark.slow))
def plant(request):
    return request.getfixturevalue(request.param)


def test_true_parameters_explain_the_log_at_its_torque_time(experiment, plant):
    run = experiment(plant)
    assert run.log.torque_time_offset == pytest.approx(3.75e-4, rel=1e-12)  # 4 sub-steps of 1 ms
    assert relative_residual(run, run.log.torque_time_offset).max() < RIGHT


def test_half_a_step_is_the_wrong_torque_time(experiment, plant):
    run = experiment(plant)
    assert relative_residual(run, 0.5 * run.log.dt).max() > WRONG


@pytest.mark.slow
def test_semi_implicit_euler_alone_is_not_second_order(experiment, plant):
    run = experiment(plant, leapfrog=False)
    assert relative_residual(run, run.log.torque_time_offset).max() > WRONG


@pytest.mark.slow
def test_without_friction_the_residual_is_that_of_differentiation(experiment, iiwa):
    """The stock iiwa has smooth motion: the pairing is right to a few parts in a million."""
    run = experiment(iiwa)
    right = relative_residual(run, run.log.torque_time_offset).max()
    wrong = relative_residual(run, 0.5 * run.log.dt).max()
    assert right < 1e-5
    assert wrong > 50.0 * right
