"""From motion to rows: regressor and torque pass the same filter, and truth never matters."""

from dataclasses import replace

import numpy as np
import pytest
from sampling import sampled
from searches import brief

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.errors import ShapeError
from robotid_sim.estimation import ESTIMATORS
from robotid_sim.estimation.problem import build_problem
from robotid_sim.measurement.encoder_sensors import EncoderNoise
from robotid_sim.measurement.log import Truth
from robotid_sim.measurement.motion import Motion
from robotid_sim.measurement.sensors import measure
from robotid_sim.measurement.torque_sensors import TorqueNoise
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.perturb import perturb
from robotid_sim.preprocess import PREPROCESSORS
from robotid_sim.preprocess.preprocessor import Rows
from robotid_sim.preprocess.rts import RtsSmoother


@pytest.fixture(scope="module")
def virtual(experiment, arm):
    return experiment(arm)


@pytest.fixture(scope="module")
def exact_motion(virtual):
    """Return the motion of the truth, with the default rows."""
    log, truth = virtual.log, virtual.log.truth
    return Motion(
        log.t, truth.q, truth.dq, truth.ddq, truth.tau, log.joint_names, Rows().filter_for(log)
    )


def test_rows_of_exact_motion_satisfy_the_equation(virtual, exact_motion):
    problem = build_problem(exact_motion, virtual.nominal, virtual.basis)
    beta = virtual.basis.of(virtual.plant.parameters())
    residual = np.abs(problem.y - problem.W @ beta)
    assert residual.max() < 1e-9 * np.abs(problem.y).max()  # rounding of filters in series


def test_motion_robot_and_basis_are_of_one_robot(virtual, exact_motion, irb140):
    nominal = virtual.nominal
    with pytest.raises(ShapeError, match="the basis is of another robot than"):
        build_problem(exact_motion, nominal, base_parameters(load_robot("twolink")))
    with pytest.raises(ShapeError, match="the basis is of another robot than"):
        build_problem(exact_motion, nominal, base_parameters(irb140))
    names = tuple(f"axis_{k}" for k in range(nominal.dof))
    with pytest.raises(ShapeError, match=r"the motion is of joints axis_0, .*give the robot of"):
        build_problem(replace(exact_motion, joint_names=names), nominal, virtual.basis)


def test_torque_rows_are_the_filtered_torque(virtual, exact_motion):
    problem = build_problem(exact_motion, virtual.nominal, virtual.basis)
    rows = exact_motion.row_filter
    np.testing.assert_array_equal(problem.y, rows.apply(exact_motion.tau[rows.used]).ravel())
    assert problem.dt == pytest.approx(0.1, rel=1e-9)  # rows at 10 Hz
    assert problem.samples == 292  # 30 s less 0.3 s of tail and 0.1 s of edge, each twice
    assert problem.joint_names == virtual.plant.joint_names


def test_regressor_rows_are_the_filtered_regressor(virtual, exact_motion):
    problem = build_problem(exact_motion, virtual.nominal, virtual.basis)
    rows, use = exact_motion.row_filter, exact_motion.row_filter.used
    motion = (getattr(exact_motion, name)[use] for name in ("q", "dq", "ddq"))
    W = torque_regressor(virtual.nominal, *motion, virtual.basis.columns)
    wanted = rows.apply(W).reshape(-1, virtual.basis.rank)
    np.testing.assert_array_equal(problem.W, wanted)


def test_a_mask_selects_samples_unfiltered(virtual, exact_motion):
    mask = np.zeros(exact_motion.t.size, dtype=bool)
    mask[5000:20_000:50] = True
    masked = replace(exact_motion, row_filter=None, mask=mask)
    problem = build_problem(masked, virtual.nominal, virtual.basis)
    np.testing.assert_array_equal(problem.y, exact_motion.tau[mask].ravel())
    assert problem.samples == mask.sum()


def test_without_mask_or_filter_every_sample_is_a_row(virtual, exact_motion):
    problem = build_problem(replace(exact_motion, row_filter=None), virtual.nominal, virtual.basis)
    assert problem.samples == exact_motion.t.size
    assert problem.dt == exact_motion.dt


def test_inertia_of_the_nominal_does_not_enter(virtual, exact_motion):
    other = perturb(virtual.plant, np.random.default_rng(99))
    one, two = (
        build_problem(exact_motion, nominal, base_parameters(nominal))
        for nominal in (virtual.nominal, other)
    )
    assert one.W.tobytes() == two.W.tobytes()
    assert one.basis.B.tobytes() == two.basis.B.tobytes()


def scrambled(log):
    rng = np.random.default_rng(1)
    return replace(log, truth=Truth(*rng.standard_normal((4, *log.q.shape))))


@pytest.mark.parametrize("preprocessor", sampled(PREPROCESSORS, "rts", mark=pytest.mark.slow))
def test_truth_changes_no_estimate(virtual, preprocessor):
    log = measure(virtual.log, (EncoderNoise(), TorqueNoise()), np.random.default_rng(0))
    versions = (log, replace(log, truth=None), scrambled(log))
    motions = [PREPROCESSORS.build(preprocessor)(one, virtual.nominal) for one in versions]
    problems = [build_problem(motion, virtual.nominal, virtual.basis) for motion in motions]
    for name in ESTIMATORS:
        found = set()
        for problem in problems:
            estimate = brief(name).fit(problem, np.random.default_rng(0))
            assert estimate.success, name
            found.add(estimate.beta.tobytes() + estimate.cov.tobytes())
        assert len(found) == 1, name


def test_filtering_the_torque_alone_would_bias(virtual):
    """The reason for the shared filter: friction is biased by many standard deviations."""
    log = measure(virtual.log, (EncoderNoise(), TorqueNoise()), np.random.default_rng(0))
    motion = RtsSmoother()(log, virtual.nominal)
    right = build_problem(motion, virtual.nominal, virtual.basis)
    rows = motion.row_filter
    use = np.arange(log.t.size)[rows.used][rows.rows]
    mask = np.isin(np.arange(log.t.size), use)
    unfiltered = build_problem(
        replace(motion, row_filter=None, mask=mask), virtual.nominal, virtual.basis
    )
    wrong = replace(right, W=unfiltered.W)
    beta = virtual.basis.of(virtual.plant.parameters())
    wls = ESTIMATORS.build("wls")
    estimates = [wls.fit(problem, np.random.default_rng(0)) for problem in (right, wrong)]
    std = estimates[0].std
    worst = [np.abs((estimate.beta - beta) / std).max() for estimate in estimates]
    assert worst[0] < 5.0
    assert worst[1] > 20.0
