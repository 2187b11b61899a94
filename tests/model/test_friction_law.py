"""Friction laws: their numbers are shares of the robot's own, bad options are named."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from robots import urdf_path

from robotid_sim.engine.drives import drive_of, rows_of_drive
from robotid_sim.engine.plant import Plant
from robotid_sim.errors import OptionError
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.friction_law import (
    COLUMNS,
    FRICTION_LAWS,
    Asymmetric,
    FrictionLaw,
    SmoothCoulomb,
    StickSlip,
    Stribeck,
    coefficients_of,
    column,
    describe_law,
    evaluate_coefficients,
)
from robotid_sim.model.joint_terms import require_terms_of
from robotid_sim.model.robot import Robot
from robotid_sim.testing import check_friction_law


def of_robot(robot, name):
    return np.array([getattr(joint.friction, name) for joint in robot.joints])


def test_any_robot_can_take_every_law(robot):
    for name in FRICTION_LAWS:
        law = FRICTION_LAWS.build(name)
        rows = law.coefficients(robot)
        assert rows.shape == (robot.dof, len(COLUMNS))
        assert np.isfinite(rows).all()
        assert (column(rows, "velocity") > 0.0).all()
        np.testing.assert_array_equal(column(rows, "Fo"), of_robot(robot, "Fo"))
        factor = 4.0 if name == "transition-velocity" else 1.0  # what this law is about
        np.testing.assert_array_equal(column(rows, "eps"), factor * of_robot(robot, "eps"))
        require_terms_of(law.terms(robot), robot.joint_names)
        checked = evaluate_coefficients(law, robot)
        assert checked.tobytes() == rows.tobytes(), name
        assert checked.flags.writeable  # presliding takes its share from them


@pytest.mark.parametrize("name", FRICTION_LAWS)
class TestContract:
    def test_it_describes_itself_by_name_and_options(self, name):
        law = FRICTION_LAWS.build(name)
        described = describe_law(law)
        assert described.pop("law") == name
        assert FRICTION_LAWS.build(name, **described) == law


@pytest.mark.parametrize(
    ("name", "option", "bad"),
    [
        ("stribeck", "static", 0.9),
        ("stribeck", "static", np.nan),
        ("stribeck", "velocity", 0.0),
        ("stribeck", "prismatic_velocity", -1.0),
        ("stribeck", "shape", 0.0),
        ("asymmetric", "coulomb", 1.5),
        ("asymmetric", "viscous", -1.5),
        ("load-dependent", "share", -0.1),
        ("load-dependent", "share", 0.6),
        ("stick-slip", "static", 0.5),
        ("stick-slip", "velocity", np.inf),
    ],
)
def test_bad_options_are_named_with_what_is_allowed(name, option, bad):
    with pytest.raises(OptionError, match=rf"{option} must lie in \[.*\], got {bad}"):
        FRICTION_LAWS.build(name, **{option: bad})


def test_smooth_coulomb_is_the_robots_own(irb140):
    rows = SmoothCoulomb().coefficients(irb140)
    np.testing.assert_array_equal(rows, coefficients_of(irb140))
    for name in ("Fc", "Fs"):
        for side in ("forward", "backward"):
            np.testing.assert_array_equal(column(rows, f"{name}_{side}"), of_robot(irb140, "Fc"))


@pytest.mark.parametrize("law", [Stribeck, StickSlip])
def test_static_friction_is_a_multiple_of_coulombs_and_velocities_go_by_kind_of_joint(law):
    robot = Robot.from_urdf(urdf_path("scara"))
    rows = law(static=1.4, velocity=0.2, prismatic_velocity=0.05, shape=1.0).coefficients(robot)
    np.testing.assert_allclose(column(rows, "Fs_forward"), 1.4 * of_robot(robot, "Fc"), rtol=1e-15)
    np.testing.assert_array_equal(column(rows, "velocity"), np.where(robot.prismatic, 0.05, 0.2))


def test_asymmetric_friction_is_larger_forward_by_what_it_is_smaller_backward(irb140):
    rows = Asymmetric(coulomb=0.2, viscous=-0.1).coefficients(irb140)
    for name, share in (("Fc", 0.2), ("Fs", 0.2), ("Fv", -0.1)):
        own = of_robot(irb140, name if name != "Fs" else "Fc")
        np.testing.assert_allclose(column(rows, f"{name}_forward"), (1 + share) * own, rtol=1e-15)
        np.testing.assert_allclose(column(rows, f"{name}_backward"), (1 - share) * own, rtol=1e-15)


@dataclass(frozen=True, kw_only=True)
class Wrong(FrictionLaw):
    """A law of a user with a mistake."""

    rows: Callable[[Any], Any]

    def coefficients(self, robot):
        """Return the coefficients of the robot with the mistake."""
        return self.rows(coefficients_of(robot))


def with_column(name, value):
    def rows(right):
        right[1, COLUMNS.index(name)] = value
        return right

    return rows


WRONG = [
    (lambda rows: rows[:, :5], r"coefficients has shape \(2, 5\), expected \(2, 11\); .*Fv_forw"),
    (lambda rows: None, "coefficients is not an array of numbers: None"),
    (lambda rows: np.nan * rows, "coefficients is not finite at"),
    (with_column("Fv_backward", -1.0), "Fv_backward of joint 'joint_2' is -1; it must be 0 or"),
    (with_column("Fc_forward", -1.0), "Fc_forward of joint 'joint_2' is -1; it must be 0 or"),
    (with_column("Fs_forward", -1.0), "Fs_forward of joint 'joint_2' is -1; it must be 0 or"),
    (with_column("load", -0.1), "load of joint 'joint_2' is -0.1; it must be 0 or more"),
    (with_column("velocity", 0.0), "velocity of joint 'joint_2' is 0; it must be positive"),
    (with_column("shape", 0.0), "shape of joint 'joint_2' is 0; it must be positive"),
    (with_column("eps", 0.0), "eps of joint 'joint_2' is 0; it must be positive"),
]


@pytest.mark.parametrize(("rows", "said"), WRONG)
def test_wrong_coefficients_name_the_law_where_a_plant_is_built_and_in_its_check(rows, said):
    law, robot = Wrong(rows=rows), load_robot("twolink")
    for build in (partial(drive_of, leapfrog=True), partial(drive_of, leapfrog=False)):
        with pytest.raises(OptionError, match=f"friction law 'wrong': {said}"):
            build(robot, law, 1e-3)
    with pytest.raises(OptionError, match="friction law 'wrong': "):
        rows_of_drive(robot, law)  # as a drive with springs takes them
    with pytest.raises(AssertionError, match="friction law 'wrong': "):
        check_friction_law(law)


def test_an_offset_of_friction_may_be_negative():
    law, robot = Wrong(rows=with_column("Fo", -1.0)), load_robot("twolink")
    assert column(evaluate_coefficients(law, robot), "Fo")[1] == -1.0


def test_a_law_derived_from_the_smooth_one_has_its_own_coefficients():
    class Thick(SmoothCoulomb):
        def coefficients(self, robot):
            Fv = np.array([20.0 * joint.friction.Fv for joint in robot.joints])
            return coefficients_of(robot, Fv_forward=Fv, Fv_backward=Fv)

    robot, moved = load_robot("twolink"), []
    for law in (SmoothCoulomb(), Thick()):
        with Plant(robot, friction=law) as plant:
            for _ in range(100):
                plant.step(0.5 * robot.limits.effort)
            moved.append(abs(plant.q[0] - robot.home[0]))
    assert moved[1] < 0.95 * moved[0]
