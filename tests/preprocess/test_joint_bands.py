"""The low-pass of every joint's rows: the band in which a model explains its torque."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.errors import OptionError
from robotid_sim.pipeline.build import build_setup
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.preprocess.adaptive import (
    ABOVE,
    BY_JOINT,
    LOWEST,
    Adaptive,
    explained,
    rows_by_joint,
)
from robotid_sim.preprocess.preprocessor import Rows
from robotid_sim.preprocess.rts import RtsSmoother

RATE = 200.0


def band(low, high, size):
    """Return a torque of one amplitude at all frequencies of a band."""
    t = np.arange(0.0, 60.0, 1.0 / RATE)
    f = np.arange(low + 0.05, high, 0.1)[:, None]
    return size * np.sin(2.0 * np.pi * f * t + 7.0 * f**2).sum(axis=0)


def test_a_band_ends_where_a_model_leaves_more_than_it_explains():
    rest = band(0.0, 80.0, 1.0)
    model = [band(0.0, end, 2.0) for end in (1.25, 5.0, 20.0, 80.0)]
    ends = explained(np.column_stack(model), np.column_stack([rest] * 4), RATE)
    assert ends.tolist() == [1.25, 5.0, 20.0, 40.0]


def test_what_is_explained_again_above_a_gap_does_not_count():
    model = band(0.0, 2.5, 2.0) + band(5.0, 20.0, 2.0)
    assert explained(model[:, None], band(0.0, 80.0, 1.0)[:, None], RATE).tolist() == [2.5]
    nothing = band(5.0, 20.0, 2.0)
    assert explained(nothing[:, None], band(0.0, 80.0, 1.0)[:, None], RATE).tolist() == [LOWEST]


def test_rows_come_as_often_as_the_fastest_joint_needs(engine, arm):
    case = engine(arm)
    motion = RtsSmoother()(case.log, case.nominal)
    noise = np.random.default_rng(0).standard_normal(motion.tau.shape)
    loud = replace(motion, tau=motion.tau + 0.02 * np.std(motion.tau, axis=0) * noise)
    rows = rows_by_joint(loud, case.nominal, Rows())
    assert rows.cutoff == max(rows.cutoffs)
    assert rows.rate == 2.0 * rows.cutoff
    assert rows.edge == pytest.approx(0.1 * max(1.0, 5.0 / min(rows.cutoffs)))
    assert min(rows.cutoffs) >= ABOVE * LOWEST
    quiet = rows_by_joint(motion, case.nominal, Rows())
    assert all(a >= b for a, b in zip(quiet.cutoffs, rows.cutoffs, strict=True))


@pytest.mark.slow
def test_the_adaptive_preprocessor_says_how_far_the_rows_of_joints_go(engine, arm):
    case = engine(arm)
    tuned = Adaptive(low_pass=BY_JOINT, method="rts").tuned(case.log, case.nominal)
    assert f"rows of joints up to {tuned.rows.cutoffs[0]:g}" in tuned.message
    motion = tuned(case.log, case.nominal)
    assert motion.row_filter.cutoffs == tuned.rows.cycles(case.log.dt)


def test_wrong_words_and_cutoffs_are_refused():
    with pytest.raises(OptionError, match="unknown low-pass 'own'"):
        Adaptive(low_pass="own")
    with pytest.raises(OptionError, match="up to the common one, 5 Hz"):
        Rows(cutoffs=(5.0, 6.0))


def test_cutoffs_are_as_many_as_joints_before_anything_runs(arm):
    config = StudyConfig.model_validate({"preprocess": {"cutoffs": [5.0, 4.0, 3.0]}})
    with pytest.raises(OptionError, match=f"has 3 numbers; the robot has {arm.dof} joints"):
        build_setup(arm, config.quick())
