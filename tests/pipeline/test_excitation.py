"""The design stage: families, solvers, constraints, prior data, several trajectories."""

from dataclasses import replace

import numpy as np
import pytest
from studies import designed, simulated

from robotid_sim.engine.proximity import Proximity
from robotid_sim.errors import InfeasibleError, OptionError, RankDeficientError, UnknownNameError
from robotid_sim.excitation import FAMILIES
from robotid_sim.excitation.constraints import TorqueLimit
from robotid_sim.kinematics.forward import tip_position
from robotid_sim.measurement.files import save_log
from robotid_sim.model.catalog import load_robot
from robotid_sim.pipeline.build_design import build_criterion, build_design, build_unseen
from robotid_sim.pipeline.build_robot import build_basis, build_nominal
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.excitation import designs_by_criteria, explanation
from robotid_sim.trajectory.reference import run_time

SMALL = {"candidates": 6, "iterations": 4, "period": 5.0, "periods": 2}


def configured(constraints=None, **design):
    return load_config(
        None,
        {
            "design": {**SMALL, **design, "constraints": constraints or {}},
            "experiment": {"rate": 250.0},
        },
    )


def dense(trajectory, count=3000):
    return trajectory(np.linspace(0.0, run_time(trajectory), count))


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "cartesian-fourier"])
def test_every_family_is_designed_and_simulated(arm, family):
    config = configured(family=family)
    found = designed(arm, config)
    (design,) = found.designs
    assert design.value_after <= design.value_before
    assert design.violated == ()
    log = simulated(arm, design.trajectory, config)
    assert log.truth is not None
    assert np.abs(log.truth.q - design.trajectory(log.t).q).max() < 0.1


@pytest.mark.slow
def test_a_cartesian_path_is_designed_for_the_joints_that_it_moves(irb140):
    arm = load_robot("irb140", tip="link_3")
    point = {"point": [0.2, 0.1, 0.3]}
    config = configured(family="cartesian-fourier", harmonics=3, options=point)
    (design,) = designed(arm, config).designs
    assert design.violated == ()
    reference = dense(design.trajectory)
    assert (np.abs(reference.dq) <= arm.limits.velocity).all()
    assert np.isfinite(design.value_after)
    assert design.value_after < design.value_before
    with pytest.raises(RankDeficientError, match="moves too few joints"):
        designed(irb140, configured(family="cartesian-fourier", harmonics=3))


@pytest.mark.parametrize("solver", ["random", "mupso", "ga", "de"])
def test_every_solver_keeps_the_limits(arm, solver):
    config = configured(solver=solver, population=6, generations=3)
    (design,) = designed(arm, config).designs
    reference = dense(design.trajectory)
    assert design.violated == ()
    assert (np.abs(reference.dq) <= arm.limits.velocity).all()
    again = designed(arm, config).designs[0]
    assert again.value_after == design.value_after


def test_a_penalty_may_leave_limits_and_says_so(arm):
    weak = replace(arm, joints=tuple(replace(j, effort=0.5 * j.effort) for j in arm.joints))
    config = configured(solver="ga", handling="penalty", population=6, generations=2)
    (design,) = designed(weak, config).designs
    for violation in design.violated:
        assert "torque of joint" in str(violation)
    assert "limits by penalty" in design.message


def test_the_start_pose_is_kept(arm):
    pose = arm.home + 0.2
    found = designed(arm, configured({"start": list(pose)}))
    np.testing.assert_allclose(found.trajectories[0](np.zeros(1)).q[0], pose, atol=1e-9)


@pytest.mark.slow
def test_the_tip_stays_in_its_box(irb140):
    box = {"lower": [0.2, -0.5, 0.3], "upper": [0.9, 0.5, 1.1]}
    plane = {"normal": [1.0, 0.0, 1.0], "offset": 1.7}
    config = configured({"boxes": [box], "planes": [plane]}, candidates=20, iterations=15)
    (design,) = designed(irb140, config).designs
    assert design.violated == ()
    tip = tip_position(irb140, dense(design.trajectory).q)
    assert (tip >= np.array(box["lower"]) - 1e-6).all()
    assert (tip <= np.array(box["upper"]) + 1e-6).all()
    assert (tip[:, 0] + tip[:, 2]).max() <= 1.7 + 1e-6
    free = tip_position(irb140, dense(designed(irb140, configured()).trajectories[0]).q)
    assert (free < np.array(box["lower"])).any()


@pytest.mark.slow
def test_links_keep_their_distance_as_the_engine_confirms(irb140):
    box = {"lower": [0.2, -0.6, 0.2], "upper": [0.9, 0.6, 1.2]}
    space = {"boxes": [box], "clearance": 0.02, "floor": 0.0}
    config = load_config(None, {"design": {"candidates": 40, "constraints": space}})
    (design,) = designed(irb140, config).designs
    assert design.violated == ()
    assert design.value_after < design.value_before - 10.0
    path = design.trajectory
    t = np.linspace(path.start, run_time(path), 800)
    nominal = build_nominal(irb140, config)
    with Proximity(nominal, floor=0.0) as proximity:
        distance, _ = proximity.measure(path(t).q)
        at_home, _ = proximity(nominal.home)
    assert (distance > 0.0).all()
    assert (distance >= np.minimum(0.02, 0.8 * at_home) - 1e-4).all()


@pytest.mark.slow
def test_robust_torque_leaves_room(arm):
    tight = {"candidates": 30, "iterations": 20, "period": 1.0, "torque_ratio": 0.3}
    excess = []
    for uncertainty in (0.0, 0.3):
        config = configured({"uncertainty": uncertainty}, **tight)
        (design,) = designed(arm, config).designs
        assert design.violated == ()
        reference = dense(design.trajectory)
        robust = TorqueLimit(build_nominal(arm, config), 0.3, 0.3)
        excess.append(robust.excess((reference.q, reference.dq, reference.ddq)).max())
    assert excess[0] > 0.1
    assert excess[1] <= 0.0


def test_prior_data_of_trajectory_and_log_change_the_design(arm, tmp_path):
    config = configured()
    first = designed(arm, config).trajectories[0]
    first.save(tmp_path / "first.json")
    save_log(simulated(arm, first, config), tmp_path / "first.h5")
    nominal = build_nominal(arm, config)
    basis = build_basis(nominal, config)
    planned, measured = (
        build_design(nominal, basis, configured(prior=[str(tmp_path / name)])).prior
        for name in ("first.json", "first.h5")
    )
    assert planned.is_full_rank
    assert measured.is_full_rank
    after = designed(arm, configured(prior=[str(tmp_path / "first.json")])).trajectories[0]
    assert np.abs(dense(after).q - dense(first).q).max() > 0.1


def test_several_trajectories_add_up(arm):
    found = designed(arm, configured(count=2))
    assert len(found.trajectories) == 2
    assert found.sequence.log_dets[1] > found.sequence.log_dets[0]
    with pytest.raises(OptionError, match="designs one trajectory, not 2"):
        designed(arm, configured(count=2, solver="pso"))


def test_criteria_side_by_side_and_explanation(arm):
    config = configured()
    nominal = build_nominal(arm, config)
    basis = build_basis(nominal, config)
    plan = build_design(nominal, basis, config)
    names = ("d-optimality", "condition-number")
    criteria = {name: build_criterion(config.design, name) for name in names}
    rngs = {name: np.random.default_rng(0) for name in names}
    others = designs_by_criteria(nominal, basis, plan, rngs, criteria)
    assert tuple(others) == names
    reasons = explanation(nominal, basis, designed(arm, config).trajectories, plan)
    assert len(reasons.parameters) == basis.rank
    assert any("Share of the information" in text for text in reasons.sentences())


def test_the_unseen_motion_is_a_series_whatever_the_family(arm):
    config = configured(family="b-spline")
    basis = build_basis(arm, config)
    unseen = build_unseen(arm, basis, build_design(arm, basis, config), config)
    assert unseen.period == 5.0
    assert unseen.duration == 5.0


@pytest.mark.parametrize(
    ("constraints", "design", "error", "words"),
    [
        ({"start": [9.0, 0.0]}, {}, InfeasibleError, "start pose has joint 'shoulder' at 9"),
        ({"start": [0.0]}, {}, OptionError, "design.start has 1 numbers for 2 joints"),
        ({}, {"noise_std": [1.0]}, OptionError, "design.noise_std has 1 numbers"),
        ({}, {"solver": "magic"}, UnknownNameError, "unknown solver 'magic'"),
        ({}, {"family": "b-spline", "period": 0.02}, InfeasibleError, "raise 'period'"),
        (
            {"boxes": [{"lower": [5.0, 5.0, 5.0], "upper": [6.0, 6.0, 6.0]}]},
            {},
            InfeasibleError,
            "even at rest in the home pose",
        ),
        ({"clearance": 1.0}, {}, OptionError, "clearance is 1 m; give at most"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(arm, constraints, design, error, words):
    config = configured(constraints, **design)

    with pytest.raises(error, match=words) as caught:
        designed(arm, config)
    assert "\n" not in str(caught.value)
