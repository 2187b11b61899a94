"""Motions made to be looked at, links that touch on them, and tracking errors made visible."""

from dataclasses import replace

import numpy as np
import pytest
from robots import DATA, urdf_path

from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.engine.proximity import Proximity
from robotid_sim.errors import LogError, OptionError
from robotid_sim.kinematics.forward import tip_pose
from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.tasks.task import TaskRun
from robotid_sim.trajectory.reference import PointToPoint
from robotid_sim.validation.closed_loop import TaskMotions
from robotid_sim.viewer import colors
from robotid_sim.viewer.animation import (
    SAMPLE_RATE,
    Animation,
    ContactTimes,
    position_share,
    torque_share,
    velocity_share,
)
from robotid_sim.viewer.compositor import Compositor
from robotid_sim.viewer.joint_panel import JointPanel
from robotid_sim.viewer.sources import make_tracking_animations, visible_magnification
from robotid_sim.viewer.view_settings import ViewSettings

TEXT = 1e-9  # limits of a URDF are text


def test_a_sweep_takes_every_joint_through_its_range_once(robot) -> None:
    sweep = Animation.sweep(robot)
    limits = robot.limits
    for j in range(robot.dof):
        assert sweep.q[:, j].min() == pytest.approx(limits.lower[j], abs=2e-3)
        assert sweep.q[:, j].max() == pytest.approx(limits.upper[j], abs=2e-3)
    away = np.abs(sweep.q - robot.home) > 1e-9
    assert (away.sum(axis=1) <= 1).all()  # one joint at a time
    order = [int(np.flatnonzero(away[:, j])[0]) for j in range(robot.dof)]
    assert order == sorted(order)


def test_a_sweep_stays_within_the_limits(robot) -> None:
    sweep = Animation.sweep(robot)
    assert np.abs(velocity_share(robot, sweep.dq)).max() <= 0.5 + TEXT
    assert np.abs(position_share(robot, sweep.q)).max() <= 1.0 + TEXT


def test_a_sweep_starts_and_ends_at_rest_at_home(robot) -> None:
    sweep = Animation.sweep(robot)
    for k in (0, -1):
        np.testing.assert_allclose(sweep.q[k], robot.home, atol=1e-12)
        np.testing.assert_allclose(sweep.dq[k], 0.0, atol=1e-12)


def test_a_sweep_is_smooth(irb140) -> None:
    sweep = Animation.sweep(irb140)
    slope = np.gradient(sweep.q, sweep.t, axis=0)
    assert np.abs(slope - sweep.dq).max() < 0.03 * irb140.limits.velocity.max()


def test_a_continuous_joint_turns_once(tmp_path) -> None:
    path = tmp_path / "turning.urdf"
    path.write_text((DATA / "2r.urdf").read_text().replace("revolute", "continuous"))
    sweep = Animation.sweep(Robot.from_urdf(path))
    assert np.ptp(sweep.q[:, 1]) == pytest.approx(2.0 * np.pi, abs=2e-3)


def a_log(robot: Robot, *, rate: float = 1000.0, velocity: bool = False) -> Log:
    """Two seconds of sines with an approach's negative times."""
    t = -0.5 + np.arange(round(2.0 * rate)) / rate
    phase = 2.0 * np.pi * t[:, None] + np.arange(robot.dof)
    return Log(
        t=t,
        q=np.sin(phase),
        dq=2.0 * np.pi * np.cos(phase) if velocity else None,
        tau_meas=10.0 * np.cos(phase),
        joint_names=robot.joint_names,
        joint_units=robot.joint_units,
    )


def test_a_log_is_thinned_to_what_can_be_seen(arm) -> None:
    log = a_log(arm)
    shown = Animation.from_log(arm, log, "run")
    assert shown.t.size <= 2.0 * SAMPLE_RATE + 2
    assert (shown.start, shown.end) == (log.t[0], log.t[-1])
    np.testing.assert_allclose(shown.q[:, 0], np.sin(2.0 * np.pi * shown.t), atol=1e-5)
    np.testing.assert_allclose(shown.tau[:, 0], 10.0 * np.cos(2.0 * np.pi * shown.t), atol=1e-4)


def test_a_slow_log_keeps_its_samples(arm) -> None:
    log = a_log(arm, rate=20.0)
    np.testing.assert_array_equal(Animation.from_log(arm, log).t, log.t)


@pytest.mark.parametrize(("velocity", "tolerance"), [(True, 1e-3), (False, 0.05)])
def test_velocity_is_measured_or_differentiated(arm, velocity, tolerance) -> None:
    shown = Animation.from_log(arm, a_log(arm, velocity=velocity))
    expected = 2.0 * np.pi * np.cos(2.0 * np.pi * shown.t)
    np.testing.assert_allclose(shown.dq[1:-1, 0], expected[1:-1], atol=tolerance)


def test_a_log_of_another_robot_is_refused(arm, irb140) -> None:
    with pytest.raises(LogError, match="a different robot"):
        Animation.from_log(irb140, a_log(arm))


def test_a_trajectory_shows_the_torque_it_needs(arm) -> None:
    path = PointToPoint(arm.joint_names, np.zeros(2), np.array([1.0, -0.5]), 0.0, 2.0)
    shown = Animation.from_trajectory(arm, path)
    reference = path(shown.t)
    np.testing.assert_array_equal(shown.q, reference.q)
    tau = joint_torque(arm, reference.q, reference.dq, reference.ddq)
    np.testing.assert_allclose(shown.tau, tau)
    with pytest.raises(OptionError, match="joints"):
        Animation.from_trajectory(arm, replace(path, joint_names=("a", "b")))


def test_states_between_samples_are_interpolated(arm) -> None:
    t = np.array([0.0, 1.0, 3.0])
    q = np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 0.0]])
    shown = Animation("x", arm, t, q, q, q)
    np.testing.assert_allclose(shown.state_at(0.5).q, [0.5, 1.0])
    np.testing.assert_allclose(shown.state_at(2.0).tau, [2.0, 1.0])
    np.testing.assert_allclose(shown.state_at(-5.0).q, q[0])
    np.testing.assert_allclose(shown.state_at(5.0).dq, q[-1])
    assert shown.state_at(5.0).t == 3.0
    assert Animation("x", arm, t, q, q).state_at(1.0).tau is None


def test_times_must_increase(arm) -> None:
    q = np.zeros((2, 2))
    with pytest.raises(OptionError, match="increasing times"):
        Animation("x", arm, np.zeros(2), q, q)
    with pytest.raises(OptionError, match="two samples"):
        Animation("x", arm, np.zeros(1), q[:1], q[:1])


def test_shares_are_of_the_limits(arm) -> None:
    limits = arm.limits
    np.testing.assert_allclose(position_share(arm, limits.upper), 1.0)
    np.testing.assert_allclose(position_share(arm, limits.lower), -1.0)
    np.testing.assert_allclose(velocity_share(arm, -0.5 * limits.velocity), -0.5)
    np.testing.assert_allclose(torque_share(arm, 0.25 * limits.effort), 0.25)


def test_a_joint_without_torque_limit_has_no_share(tmp_path) -> None:
    path = tmp_path / "free.urdf"
    path.write_text((DATA / "2r.urdf").read_text().replace('effort="60"', 'effort="0"'))
    np.testing.assert_allclose(torque_share(Robot.from_urdf(path), np.array([60.0, 60.0]))[1], 0.0)


def test_the_tool_path_is_that_of_the_tip(irb140) -> None:
    sweep = Animation.sweep(irb140)
    path = sweep.tool_path()
    for k in (0, 1000, -1):
        np.testing.assert_allclose(path[k], tip_pose(irb140, sweep.q[k])[:3, 3])


@pytest.fixture(scope="module")
def contacts(sweep) -> ContactTimes:
    return ContactTimes.from_animation(sweep)


def red(picture) -> int:
    """Return how many pixels are red, in light or shade; the arm is orange."""
    r, g, b = np.moveaxis(np.asarray(picture.convert("RGB"), dtype=int), -1, 0)
    return int(((r > 100) & (g < 0.3 * r) & (abs(g - b) < 0.2 * r)).sum())


def test_contacts_are_those_of_every_pose_by_itself(sweep, contacts) -> None:
    bodies = [link.name for link in sweep.robot.links]
    with Proximity(sweep.robot, floor=0.0) as proximity:
        for k in range(0, sweep.t.size, 40):
            distances, _ = proximity(sweep.q[k])
            inside = [p for p, d in zip(proximity.pairs, distances, strict=True) if d < 0.0]
            names = {name for pair in inside for name in (pair.first, pair.second)} - {"floor"}
            numbers = {bodies.index(name) if name in bodies else -1 for name in names}
            assert contacts.contacts_at(sweep.t[k]) == numbers
    assert contacts.bodies_ever_in_contact >= {3, 4, 5}


def test_spans_hold_every_sample_that_touches(sweep, contacts) -> None:
    touching = np.array([bool(contacts.contacts_at(t)) for t in sweep.t])
    spans = contacts.spans()
    assert len(spans) > 1
    inside = np.any([(sweep.t >= a) & (sweep.t <= b) for a, b in spans], axis=0)
    assert np.array_equal(inside, touching)


def test_a_robot_without_geometry_that_cannot_touch_has_no_contacts() -> None:
    found = ContactTimes.from_animation(Animation.sweep(Robot.from_urdf(DATA / "2r.urdf")))
    assert not found.bodies_ever_in_contact
    assert found.spans() == []
    assert found.contacts_at(0.0) == frozenset()


@pytest.mark.slow
def test_links_are_red_while_they_touch_and_have_their_own_color_after(sweep, contacts) -> None:
    start, end = contacts.spans()[0]
    times = (start - 0.5, 0.5 * (start + end), end + 0.5)
    settings = ViewSettings(layers=frozenset({"contacts"}), renderer="software")
    with Compositor([sweep], settings) as film:
        before, during, after = (red(film.frame(t)) for t in times)
    assert before == after == 0
    assert during > 300
    with Compositor([sweep], replace(settings, layers=frozenset())) as film:
        assert red(film.frame(times[1])) == 0


def test_the_panel_says_so(sweep, contacts) -> None:
    start, end = contacts.spans()[0]
    panel = JointPanel(sweep, contacts=contacts)
    named = [red(panel.draw(sweep.state_at(t))) for t in (start - 0.5, end)]
    assert named[0] == 0
    assert named[1] > 20


SAMPLES = 1000.0


def reference_of(robot: Robot) -> PointToPoint:
    """Two seconds from the lower to the upper half of every range."""
    middle, half = robot.limits.middle, robot.limits.half_range
    return PointToPoint(robot.joint_names, middle - 0.2 * half, middle + 0.2 * half, 0.0, 2.0)


def motions_of(robot: Robot, **errors: np.ndarray) -> TaskMotions:
    """Return motions whose errors grow linearly up to the given ones [rad or m]."""
    path = reference_of(robot)
    t = np.arange(round(2.0 * SAMPLES)) / SAMPLES
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
    reference, true, nominal = make_tracking_animations(arm, motions, 250.0)
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
    shown = make_tracking_animations(arm, motions, 500.0)
    assert [a.name for a in shown] == [
        "wave reference",
        *(f"{model}, error x 500" for model in ("true", "nominal", "identified")),
    ]
    assert [a.color for a in shown] == [None, *colors.MODEL_COLORS.values()]
    assert make_tracking_animations(arm, motions, 1.0)[2].name == "nominal"


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
    assert make_tracking_animations(arm, motions)[1].name.removeprefix("true") == (
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
        make_tracking_animations(arm, motions_of(arm, true=np.zeros(2)), factor)


def test_too_many_models_and_other_robots_are_refused(arm, irb140) -> None:
    motions = motions_of(arm, **{f"m{k}": np.zeros(2) for k in range(5)})
    with pytest.raises(OptionError, match="at most 5 motions can be shown together, got 6"):
        make_tracking_animations(arm, motions)
    with pytest.raises(LogError, match="a different robot"):
        make_tracking_animations(irb140, motions)
