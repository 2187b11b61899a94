"""Constraints on a motion: values, exact slopes, messages."""

import numpy as np
import pytest

from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.engine.proximity import Proximity
from robotid_sim.errors import OptionError, ShapeError
from robotid_sim.excitation.constraints import TipBox, TipPlane, TorqueLimit, violations
from robotid_sim.excitation.penalties import Clearance
from robotid_sim.kinematics.forward import tip_position


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
    assert [v.what for v in found] == ["z of the tip"]
    assert found[0].t == t[int(tip[:, 2].argmax())]
    assert found[0].value == pytest.approx(top)
    assert f"above {top - 0.05:.4g} m" in str(found[0])
    weak = violations([TorqueLimit(irb140, 0.01)], t, motion)
    assert any("torque of joint 'joint_2'" in str(v) for v in weak)
    assert violations([TipBox(irb140, [-9, -9, -9], [9, 9, top + 0.05])], t, motion) == []


def test_clearance_asks_the_engine(irb140):
    with Proximity(irb140, floor=0.0) as proximity:
        names = tuple(map(str, proximity.pairs))
        constraint = Clearance(proximity.along, names, clearance=0.05)
        motion = motion_of(irb140, count=20)
        distance, gradient = proximity.along(motion[0])
        np.testing.assert_allclose(constraint.values(motion), distance / 0.1)
        np.testing.assert_allclose(constraint.slopes(motion)[0], gradient / 0.1)
        found = violations([constraint], np.arange(20.0), motion)
    assert len(found) == int((distance.min(axis=0) < 0.05).sum())
    assert all("distance of" in v.what and v.unit == "m" for v in found)


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
