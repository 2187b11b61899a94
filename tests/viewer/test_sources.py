"""Tracking errors made visible."""

import numpy as np
import pytest
from robots import urdf_path

from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.errors import LogError, OptionError
from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.tasks.task import TaskRun
from robotid_sim.trajectory.reference import PointToPoint
from robotid_sim.validation.closed_loop import TaskMotions
from robotid_sim.viewer import colors
from robotid_sim.viewer.sources import tracking_animations, visible_magnification

RATE = 1000.0


def reference_of(robot: Robot) -> PointToPoint:
    """Two seconds from the lower to the upper half of every range."""
    middle, half = robot.limits.middle, robot.limits.half_range
    return PointToPoint(robot.joint_names, middle - 0.2 * half, middle + 0.2 * half, 0.0, 2.0)


def motions_of(robot: Robot, **errors: np.ndarray) -> TaskMotions:
    """Return motions whose errors grow linearly up to the given ones [rad or m]."""
    path = reference_of(robot)
    t = np.arange(round(2.0 * RATE)) / RATE
    logs = {
        model: Log(
            t=t,
            q=path(t).q + np.outer(t / t[-1], largest),
            tau_meas=np.zeros((t.size, robot.dof)),
            joint_names=robot.joint_names,
            joint_units=robot.joint_units,
        )
        for model, largest in errors.items()
    }
    return TaskMotions(TaskRun("wave", path), "pid", logs)


def test_errors_are_magnified_and_nothing_else_is(arm) -> None:
    largest = np.array([2e-4, -3e-5])
    motions = motions_of(arm, true=0.0 * largest, nominal=largest)
    reference, true, nominal = tracking_animations(arm, motions, 250.0)
    expected = reference_of(arm)(reference.t)
    np.testing.assert_array_equal(reference.q, expected.q)
    np.testing.assert_array_equal(reference.dq, expected.dq)
    tau = joint_torque(arm, expected.q, expected.dq, expected.ddq)
    np.testing.assert_allclose(reference.tau, tau)
    np.testing.assert_allclose(true.q, expected.q, rtol=0.0, atol=1e-12)
    share = reference.t / reference.end
    shown = expected.q + 250.0 * np.outer(share, largest)
    np.testing.assert_allclose(nominal.q, shown, rtol=0.0, atol=1e-11)
    np.testing.assert_allclose(nominal.error, np.outer(share, largest), rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(
        nominal.dq, expected.dq + 250.0 * largest / reference.end, rtol=0.0, atol=1e-9
    )


def test_names_say_the_factor_and_colors_the_model(arm) -> None:
    error = np.array([1e-4, 1e-4])
    motions = motions_of(arm, true=error, nominal=error, identified=error)
    shown = tracking_animations(arm, motions, 500.0)
    assert [a.name for a in shown] == [
        "wave reference",
        *(f"{model}, error x 500" for model in ("true", "nominal", "identified")),
    ]
    assert [a.color for a in shown] == [None, *colors.MODELS.values()]
    assert tracking_animations(arm, motions, 1.0)[2].name == "nominal"


@pytest.mark.parametrize(
    ("error", "factor"),
    [
        (1.7e-3, 100.0),
        (1e-3, 200.0),
        (1.01e-3, 100.0),
        (4e-4, 500.0),
        (0.02, 10.0),
        (0.15, 1.0),
        (3.0, 1.0),  # never made smaller than it is
        (0.0, 5e5),
    ],
)
def test_the_largest_error_is_shown_as_some_degrees(arm, error, factor) -> None:
    motions = motions_of(arm, true=np.zeros(2), nominal=np.array([0.3 * error, -error]))
    assert visible_magnification(arm, motions.errors().values()) == factor
    assert tracking_animations(arm, motions)[1].name.removeprefix("true") == (
        "" if factor == 1.0 else f", error x {factor:g}"
    )


def test_a_sliding_joint_is_measured_by_its_range() -> None:
    robot = Robot.from_urdf(urdf_path("rp"))
    slide = robot.prismatic.index(True)
    span = 2.0 * robot.limits.half_range[slide]
    error = np.zeros(robot.dof)
    error[slide] = span * 0.2 / (2.0 * np.pi) / 50.0
    assert visible_magnification(robot, [error]) == 50.0
    error[slide] *= 1.01
    assert visible_magnification(robot, [error]) == 20.0


@pytest.mark.parametrize("factor", [0.0, -1.0, np.inf, np.nan])
def test_a_factor_must_be_positive_and_finite(arm, factor) -> None:
    with pytest.raises(OptionError, match="a magnification of"):
        tracking_animations(arm, motions_of(arm, true=np.zeros(2)), factor)


def test_too_many_models_and_other_robots_are_refused(arm, irb140) -> None:
    motions = motions_of(arm, **{f"m{k}": np.zeros(2) for k in range(5)})
    with pytest.raises(OptionError, match="at most 5 motions can be shown together, got 6"):
        tracking_animations(arm, motions)
    with pytest.raises(LogError, match="another robot"):
        tracking_animations(irb140, motions)
