"""Constraints on a motion and its home: values, exact slopes, messages, penalties."""

from dataclasses import replace

import numpy as np
import pytest
from robots import urdf_path
from sampling import sampled

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import gravity_torque, joint_torque
from robotid_sim.engine.free_space import Clearance
from robotid_sim.engine.proximity import Proximity
from robotid_sim.errors import InfeasibleError, OptionError, ShapeError
from robotid_sim.excitation.constraints import TipBox, TipPlane, TorqueLimit, violations
from robotid_sim.excitation.design import random_feasible, torque_ratios
from robotid_sim.excitation.draws import sample_feasible
from robotid_sim.excitation.optimal import optimal_design, optimize
from robotid_sim.excitation.penalties import (
    PENALTY_WEIGHTS,
    SCREENING_ITERATIONS,
    WAY_SHARES,
    Penalty,
    move_apart,
    screen,
    softly,
)
from robotid_sim.excitation.plan import (
    MAX_HOLDING_SHARE,
    MAX_REPLACEMENT_SHARE,
    DesignPlan,
    GradientSearch,
    choose_home,
)
from robotid_sim.excitation.problem import ExcitationProblem
from robotid_sim.excitation.rest_to_rest_space import QuinticOptions
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.kinematics.forward import tip_position
from robotid_sim.model.catalog import make_published_plant
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build import build_setup
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.excitation import add_clearance, design_excitation


def motion_of(robot, seed=0, count=5):
    rng = np.random.default_rng(seed)
    limits = robot.limits
    q = limits.middle + 0.5 * limits.half_range * rng.uniform(-1.0, 1.0, (count, robot.dof))
    dq = limits.velocity * rng.uniform(-0.5, 0.5, (count, robot.dof))
    return q, dq, 5.0 * rng.standard_normal((count, robot.dof))


def made(robot):
    return {
        "torque": TorqueLimit(robot, 0.6),
        "robust": TorqueLimit(robot, 0.6, uncertainty=0.2),
        "box": TipBox(robot, [0.1, -0.4, 0.2], [0.7, 0.4, np.inf]),
        "plane": TipPlane(robot, [0.3, -0.2, 1.0], 0.9),
    }


@pytest.mark.parametrize("name", ["torque", "robust", "box", "plane"])
def test_slopes_are_exact(irb140, name):
    constraint, motion = made(irb140)[name], motion_of(irb140)
    slopes = constraint.slopes(motion)
    for part, slope in enumerate(slopes):
        for j in range(irb140.dof):

            def central(h, part=part, j=j):
                moved = [[p.copy() for p in motion] for _ in range(2)]
                moved[0][part][:, j] += h
                moved[1][part][:, j] -= h
                ahead, behind = (constraint.values(tuple(m)) for m in moved)
                return (ahead - behind) / (2.0 * h)

            h = 1e-3
            richardson = (4.0 * central(0.5 * h) - central(h)) / 3.0
            scale = max(1.0, np.abs(slope).max())
            # Richardson: h^4 of the fifth derivative, with tanh(dq / eps) the largest.
            np.testing.assert_allclose(slope[:, :, j], richardson, atol=1e-8 * scale)


def test_torque_values_are_torque_over_allowance(irb140):
    motion = motion_of(irb140)
    wanted = joint_torque(irb140, *motion) / (0.6 * irb140.limits.effort)
    np.testing.assert_allclose(made(irb140)["torque"].values(motion), wanted, rtol=1e-12)


def test_robust_torque_covers_models_that_are_off_by_as_much(irb140):
    motion = motion_of(irb140, count=40)
    constraint = made(irb140)["robust"]
    upper, lower = np.hsplit(constraint.values(motion), 2)
    rng = np.random.default_rng(0)
    allowance = 0.6 * irb140.limits.effort
    phi, inside = irb140.parameters(), []
    for _ in range(60):
        wrong = irb140.with_parameters(
            phi * (1.0 + 0.2 * rng.standard_normal(phi.size)), formal=True
        )
        tau = joint_torque(wrong, *motion) / allowance
        inside.append((tau <= upper) & (tau >= lower))
    # One standard deviation of independent normal errors on either side.
    assert np.mean(inside) == pytest.approx(0.683, abs=0.04)


def test_tip_constraints_are_of_the_tip(irb140):
    motion, constraints = motion_of(irb140), made(irb140)
    tip = tip_position(irb140, motion[0])
    np.testing.assert_allclose(constraints["box"].values(motion), tip / 0.1, atol=1e-12)
    height = tip @ np.array([0.3, -0.2, 1.0])
    np.testing.assert_allclose(constraints["plane"].values(motion)[:, 0], height / 0.1, atol=1e-12)


def test_violations_name_what_when_and_by_how_much(irb140):
    motion = motion_of(irb140, count=30)
    t = np.linspace(0.0, 3.0, 30)
    tip = tip_position(irb140, motion[0])
    top = float(tip[:, 2].max())
    found = violations([TipBox(irb140, [-9, -9, -9], [9, 9, top - 0.05])], t, motion)
    assert [v.quantity for v in found] == ["z of the tip"]
    assert found[0].t == t[int(tip[:, 2].argmax())]
    assert found[0].value == pytest.approx(top)
    assert f"above {top - 0.05:.4g} m" in str(found[0])
    weak = violations([TorqueLimit(irb140, 0.01)], t, motion)
    assert any("torque of joint 'joint_2'" in str(v) for v in weak)
    assert violations([TipBox(irb140, [-9, -9, -9], [9, 9, top + 0.05])], t, motion) == []


def test_clearance_asks_the_engine(irb140):
    with Proximity(irb140, floor=0.0) as proximity:
        names = tuple(map(str, proximity.pairs))
        constraint = Clearance(proximity.measure, names, clearance=0.05)
        motion = motion_of(irb140, count=20)
        distance, gradient = proximity.measure(motion[0])
        np.testing.assert_allclose(constraint.values(motion), distance / 0.1)
        np.testing.assert_allclose(constraint.slopes(motion)[0], gradient / 0.1)
        found = violations([constraint], np.arange(20.0), motion)
    assert len(found) == int((distance.min(axis=0) < 0.05).sum())
    assert all("distance of" in v.quantity and v.unit == "m" for v in found)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda r: TipBox(r, [0, 0, 0], [1, 0, 1]), OptionError, "three lower bounds below"),
        (lambda r: TipPlane(r, [0, 0, 0], 1.0), OptionError, "must not be zero"),
        (lambda r: TipPlane(r, [0, np.nan, 0], 1.0), ShapeError, "normal of a plane"),
        (lambda r: TorqueLimit(r, 0.0), OptionError, "must be positive"),
        (lambda r: TorqueLimit(r, 0.5, -0.1), OptionError, "not negative"),
        (lambda _: Clearance(lambda q: (q, q), ("a",), -1.0), OptionError, "clearance"),
    ],
)
def test_constraints_that_make_no_sense_are_refused(irb140, make, error, words):
    with pytest.raises(error, match=words):
        make(irb140)


ON_THE_WAY = np.array([3, 50, 140])
LOW, HIGH = [0.2, -0.5, 0.3], [0.9, 0.5, 1.1]


@pytest.fixture(scope="module")
def problem():
    """Return a design of irb140 whose tip shall stay in a box."""
    arm = Robot.from_urdf(urdf_path("irb140"))
    plan = DesignPlan(family=FourierOptions(), constraints=(TipBox(arm, LOW, HIGH),))
    return plan.problem(arm, base_parameters(arm))


def penalty_of(problem: ExcitationProblem, weight: float = 10.0) -> Penalty:
    constraints = problem.constraints
    stations = [
        np.concatenate([np.arange(0, c.checked, c.checked // c.samples), c.checked + ON_THE_WAY])
        for c in constraints
    ]
    return Penalty(problem, constraints, stations, weight)


def test_the_gradient_is_that_of_the_value(problem):
    rng, penalty = np.random.default_rng(1), penalty_of(problem)
    x = problem.shrink_to_limits(problem.space.random(rng))
    assert penalty.value(x) > 0.0
    step = 1e-6 * rng.standard_normal((4, x.size))
    slopes = [(penalty.value(x + s) - penalty.value(x - s)) / 2.0 for s in step]
    np.testing.assert_allclose(step @ penalty.gradient(x), slopes, rtol=1e-5)


def test_what_keeps_everything_costs_nothing(problem):
    (draw, *_) = sample_feasible(problem, np.random.default_rng(0), 5)
    smaller = problem.rest + 0.5 * (draw.x - problem.rest)
    penalty = penalty_of(problem)
    assert problem.is_feasible(smaller)
    assert penalty.value(smaller) == 0.0
    assert not penalty.gradient(smaller).any()


def test_times_between_the_samples_join_them(problem):
    penalty = penalty_of(problem)
    x = problem.shrink_to_limits(problem.space.random(np.random.default_rng(1)))
    box = next(k for k, c in enumerate(penalty.constraints) if isinstance(c, TipBox))
    added = np.setdiff1d(penalty.refine_stations(x)[box], penalty.stations[box])
    assert added.size > 0
    constraint = penalty.constraints[box]
    motion = problem.grid_of(constraint.checked).motion(x)
    samples = added[added < constraint.checked]
    assert samples.size > 0
    assert (constraint.excess(motion)[samples].max(axis=1) > -0.03).all()


def test_points_of_the_way_from_home_join_them(problem):
    penalty, rng, home = penalty_of(problem), np.random.default_rng(3), problem.nominal.home
    box = next(k for k, c in enumerate(penalty.constraints) if isinstance(c, TipBox))
    constraint, points = penalty.constraints[box], 0
    for _ in range(5):
        x = problem.shrink_to_limits(problem.space.random(rng))
        added = np.setdiff1d(penalty.refine_stations(x)[box], penalty.stations[box])
        shares = WAY_SHARES[added[added >= constraint.checked] - constraint.checked]
        if not shares.size:
            continue
        start = problem.grid_of(constraint.checked).motion(x)[0][0]
        way = home + shares[:, None] * (start - home)
        excess = constraint.excess((way, np.zeros_like(way), np.zeros_like(way)))
        assert (excess.max(axis=1) > -0.03).all()
        points += shares.size
    assert points > 0


@pytest.mark.parametrize(
    ("seen", "weights"), [(0.0, [*PENALTY_WEIGHTS, 1e6, 1e6, 1e6]), (0.1, [1e3, 1e4, 1e6, 1e6])]
)
def test_rounds_begin_again_if_what_they_see_stays_as_deep(problem, monkeypatch, seen, weights):
    """Not if a new overlap, which no round has seen, happens to be as deep as the last."""
    tried = []

    def descend(self, x, goals, *_, **_options):
        tried.append(goals[1].weight)
        return x, False, ""

    monkeypatch.setattr(ExcitationProblem, "descend", descend)
    monkeypatch.setattr(Penalty, "excess", lambda self, x: 0.1)
    monkeypatch.setattr(Penalty, "excess_at_stations", lambda self, x: seen)
    monkeypatch.setattr(ExcitationProblem, "is_feasible", lambda self, x: False)
    softly(problem, problem.rest, problem.criterion, 25, lambda _: None)
    assert tried == weights


def test_random_motions_are_moved_apart(problem):
    """A penalty of large gradient does not stop the solver where it began."""
    with add_clearance(problem.nominal, DesignPlan(family=problem.family, clearance=0.02)) as (
        plan,
        _,
    ):
        safe, rng = plan.problem(problem.nominal, problem.basis), np.random.default_rng(0)
        motions = [move_apart(safe, safe.space.random(rng)) for _ in range(6)]
        moved = [x for x in motions if x is not None]
        assert len(moved) >= 5  # 3 of 6 without `MAX_GRADIENT`
        assert not any(safe.find_violations(x) for x in moved)
        draws = sample_feasible(safe, rng, 8)
        ranked = screen(safe, draws, 2 * SCREENING_ITERATIONS)
    values = [screened.value for screened in ranked]
    assert len(ranked) == len(draws)
    assert np.isfinite(values[:2]).all()
    assert values[0] <= values[1] < values[2] == np.inf


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_links_are_kept_apart_at_little_cost(problem, seed):
    arm, basis, plan = problem.nominal, problem.basis, DesignPlan(family=problem.family)
    free = plan.problem(arm, basis)
    (draw, *_) = sample_feasible(free, np.random.default_rng(seed), 20)
    best = optimize(free, 25, draw.x).value
    with add_clearance(arm, replace(plan, clearance=0.02, floor=0.0)) as (kept, _):
        safe = kept.problem(arm, basis)
        assert not safe.is_feasible(draw.x)
        (start, *_) = sample_feasible(safe, np.random.default_rng(seed), 20)
        x, _, _ = softly(safe, start.x, safe.criterion, 25, lambda _: None)
        assert safe.is_feasible(x)
    # D-optimality is log det of the covariance: a fifth for the std of a parameter.
    assert safe.value(x) - best < 2.0 * basis.rank * np.log(1.2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", sampled((1, 8), 8))
def test_an_elbow_that_falls_through_the_floor_is_not_the_end(seed):
    """Seed 8 falls too deep to come out, and is designed again without entering the overlap."""
    setup = build_setup(urdf_path("ur10"), load_config(None, {"seed": seed}).quick())
    rng = np.random.default_rng(seed)
    found = design_excitation(setup.nominal, setup.basis, setup.excitation, rng).designs[0]
    assert not found.violated
    # log det of the covariance: the standard deviation of a parameter falls by more than a half.
    assert found.value_after < found.value_before - 2.0 * setup.basis.rank * np.log(2.0)


RATIO = 0.75


def weak(robot, share):
    """Return a slow robot with a shoulder of which gravity at zero takes `share`."""
    need = np.abs(gravity_torque(robot, np.zeros(robot.dof)))
    joints = [replace(j, acceleration=5.0) for j in robot.joints]
    joints[1] = replace(joints[1], effort=float(need[1]) / share)
    return replace(robot, joints=tuple(joints))


def use(robot):
    """Return the largest share of a torque limit that gravity takes at home."""
    return (np.abs(gravity_torque(robot, robot.home)) / robot.limits.effort).max()


def test_a_home_that_is_held_stays(irb140):
    assert choose_home(irb140, RATIO) is irb140
    almost = weak(irb140, 0.99 * MAX_HOLDING_SHARE * RATIO)
    assert choose_home(almost, RATIO) is almost


def test_another_home_is_found_and_said(irb140):
    arm = weak(irb140, 1.3)
    held = choose_home(arm, RATIO)
    assert use(arm) == pytest.approx(1.3)
    assert use(held) <= MAX_REPLACEMENT_SHARE * RATIO
    assert (held.home > arm.limits.lower).all()
    assert (held.home < arm.limits.upper).all()
    assert "home is (" in held.assumptions[-1]
    assert "joint 'joint_2' needs 130%" in held.assumptions[-1]
    assert held.home.tobytes() == choose_home(arm, RATIO).home.tobytes()
    assert held.fingerprint() == arm.fingerprint()  # names of parameters do not depend on it
    np.testing.assert_array_equal(held.with_parameters(held.parameters()).home, held.home)


def test_an_arm_that_no_pose_holds_is_refused_by_name():
    sunk = replace(make_published_plant("irb140"), gravity=np.array([0.0, 0.0, -4000.0]))
    with pytest.raises(
        InfeasibleError, match=r"joint .joint_\d. of .irb140. needs .* against gravity"
    ):
        choose_home(sunk, RATIO)


@pytest.mark.slow
def test_draws_of_an_arm_that_cannot_hold_zero_keep_the_torque_limits(irb140):
    arm = weak(irb140, 1.3)
    with pytest.raises(InfeasibleError):
        random_feasible(arm, np.random.default_rng(0), FourierOptions())
    held = choose_home(arm, RATIO)
    trajectory = random_feasible(held, np.random.default_rng(0), FourierOptions())
    assert torque_ratios(held, trajectory).max() <= RATIO
    start = trajectory(np.array([trajectory.start])).q[0]
    np.testing.assert_allclose(start, held.home, atol=1e-12)


@pytest.mark.slow
def test_other_families_shrink_to_it_too(irb140):
    held = choose_home(weak(irb140, 1.3), RATIO)
    plan = DesignPlan(family=QuinticOptions(), search=GradientSearch(candidates=2, starts=0))
    found = optimal_design(held, base_parameters(held), np.random.default_rng(0), plan)
    assert not found.violated
