"""The contract of every family of excitations: exact derivatives, rest, limits at all times."""

import json

import numpy as np
import pytest
from excitations import seeded
from robots import urdf_path

from robotid_sim.errors import FileFormatError, InfeasibleError, OptionError
from robotid_sim.excitation import FAMILIES
from robotid_sim.excitation.space import LinearSpace, NonlinearSpace
from robotid_sim.kinematics.inverse import find_exceeded_limit
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.homing import HomedTrajectory, add_approach, add_return
from robotid_sim.trajectory.trajectory_files import load_trajectory

PERIOD = 10.0
DENSE = 30_001
"""Times of a run at which limits are checked: more than ten times what any family looks at."""

ROUNDING = 1e-9
JERKY = ("b-spline", "fourier", "fourier-quintic", "quintic")
"""Families that take a jerk limit."""

RUNS = tuple(name for name in FAMILIES if name not in ("cartesian-fourier", "fourier"))


@pytest.fixture(scope="module", params=FAMILIES)
def space(request, irb140):
    """A space of every family."""
    return FAMILIES.build(request.param, period=PERIOD).space(irb140)


def run_of(trajectory):
    return trajectory.motion if isinstance(trajectory, HomedTrajectory) else trajectory


def slopes(function, x, h):
    """Return the derivative of a function of one number by Richardson extrapolation."""
    near = (function(x + h) - function(x - h)) / (2.0 * h)
    far = (function(x + 2.0 * h) - function(x - 2.0 * h)) / (4.0 * h)
    return (4.0 * near - far) / 3.0


@pytest.mark.parametrize("seed", range(3))
def test_derivatives_are_analytic(space, seed):
    trajectory = space.trajectory(space.random(seeded(seed)))
    h = 1e-3  # [s]
    t = seeded(seed).uniform(3.0 * h, trajectory.duration - 3.0 * h, 400)
    corners = (t * pieces / PERIOD for pieces in (8, 13))  # poses and knots, where the jerk jumps
    apart = [np.abs(phase - np.rint(phase)) * PERIOD / 13 > 3.0 * h for phase in corners]
    t = t[np.logical_and(*apart)]
    here = trajectory(t)
    # Truncation h^4/8 q''''' < 1e-10 and rounding 1e-13 / h.
    tolerance = 1e-9
    assert np.abs(slopes(lambda s: trajectory(s).q, t, h) - here.dq).max() < tolerance
    assert np.abs(slopes(lambda s: trajectory(s).dq, t, h) - here.ddq).max() < 10 * tolerance


@pytest.mark.parametrize("seed", range(3))
def test_every_run_starts_and_ends_at_rest_in_one_pose(space, seed):
    trajectory = space.trajectory(space.random(seeded(seed)))
    ends = trajectory(np.arange(4) * PERIOD)
    rounding = 1e-11  # of sums of ten terms with derivatives up to 10, and of J^-1
    assert np.abs(ends.dq).max() < rounding
    assert np.abs(ends.ddq).max() < rounding
    assert np.abs(ends.q - ends.q[0]).max() < rounding


def test_the_approach_starts_at_home_and_meets_the_motion(space):
    trajectory = space.trajectory(space.random(seeded()))
    first = trajectory(np.array([trajectory.start]))
    assert trajectory.start <= -1.0
    np.testing.assert_array_equal(first.q[0], space.robot.home)
    np.testing.assert_array_equal([first.dq, first.ddq], 0.0)
    around = trajectory(np.array([-1e-9, 0.0]))
    for part in (around.q, around.dq, around.ddq):
        assert np.abs(np.diff(part, axis=0)).max() < 1e-6  # the jerk, below 1000, over 1e-9 s


@pytest.mark.parametrize("seed", range(3))
def test_limits_hold_between_the_points_that_the_family_looks_at(space, seed):
    x = space.random(seeded(seed))
    trajectory, limits, margin = space.trajectory(x), space.robot.limits, 0.9
    run = trajectory(np.linspace(0.0, PERIOD, DENSE))
    allowed = margin * (1.0 + ROUNDING)
    assert (np.abs(run.q - limits.middle) <= allowed * limits.half_range).all()
    assert (np.abs(run.dq) <= allowed * limits.velocity).all()
    assert (np.abs(run.ddq) <= allowed * limits.acceleration).all()


@pytest.mark.parametrize("name", JERKY)
def test_a_jerk_limit_holds_between_the_points_too(irb140, name):
    jerk, h = 20.0, 1e-4  # [rad/s^3], [s]
    space = FAMILIES.build(name, period=PERIOD, jerk=jerk, margin=1.0).space(irb140)
    trajectory = space.trajectory(space.random(seeded()))
    t = np.linspace(h, PERIOD - h, DENSE)
    found = np.abs(trajectory(t + h).ddq - trajectory(t - h).ddq) / (2.0 * h)
    assert found.max() <= jerk * (1.0 + 1e-9)  # a mean over 2 h, with rounding 1e-15 / h
    assert found.max() > 0.9 * jerk


@pytest.mark.parametrize("margin", [1.0, 0.5])
def test_random_coordinates_use_what_is_allowed(space, margin):
    for seed in range(5):
        x = space.random(seeded(seed), margin)
        assert x.shape == (space.size,)
        if isinstance(space, LinearSpace):
            use = np.abs(space.limit_matrix() @ x)
            assert use.max() == pytest.approx(margin, rel=1e-9)
        else:
            assert isinstance(space, NonlinearSpace)
            assert space.limit_values(x).max() <= 1.0
            assert space.limit_values(x / margin / 0.8).max() > 1.0


def test_bounds_of_linear_families_are_tight(irb140):
    for name in JERKY:
        space = FAMILIES.build(name, period=PERIOD).space(irb140)
        limits = irb140.limits
        for seed in range(5):
            run = space.trajectory(space.random(seeded(seed)))(np.linspace(0.0, PERIOD, DENSE))
            use = max(
                (np.abs(run.q - limits.middle) / limits.half_range).max(),
                (np.abs(run.dq) / limits.velocity).max(),
                (np.abs(run.ddq) / limits.acceleration).max(),
            )
            assert use > 0.97 * 0.9


def test_gradient_and_jacobian_agree_with_differences(space):
    x = space.random(seeded(), 0.7)
    grid = space.make_grid(40)
    weights = seeded(1).standard_normal((3, 40, space.robot.dof))

    def value(point):
        return sum((w * part).sum() for w, part in zip(weights, grid.motion(point), strict=True))

    gradient = grid.pull_back(*weights, x)
    linear = isinstance(space, LinearSpace)
    h = 1e-2 if linear else 1e-3
    numeric = [slopes(lambda s, e=e: value(x + s * e), 0.0, h) for e in np.eye(space.size)]
    tolerance = (1e-8 if linear else 1e-6) * np.abs(gradient).max()
    assert np.abs(gradient - numeric).max() < tolerance
    jacobian = grid.jacobian(x)
    assert all(part.shape == (40, space.robot.dof, space.size) for part in jacobian)
    chained = sum(np.einsum("tj,tjd->d", w, J) for w, J in zip(weights, jacobian, strict=True))
    np.testing.assert_allclose(chained, gradient, atol=1e-10 * np.abs(gradient).max())


def test_grid_is_the_trajectory(space):
    x = space.random(seeded())
    grid, reference = space.make_grid(50), space.trajectory(x)(np.arange(50) * PERIOD / 50)
    for part, name in zip(grid.motion(x), ("q", "dq", "ddq"), strict=True):
        np.testing.assert_allclose(part, getattr(reference, name), atol=1e-10)


def test_coordinates_round_trip(space):
    x = space.random(seeded())
    back = space.coordinates(space.trajectory(x))
    np.testing.assert_allclose(back, x, atol=1e-10)  # rounding of a null space basis


def test_files_keep_every_bit(space, tmp_path):
    trajectory = space.trajectory(space.random(seeded()))
    trajectory.save(tmp_path / "trajectory.json")
    loaded = load_trajectory(tmp_path / "trajectory.json")
    assert loaded.content() == trajectory.content()
    t = np.linspace(trajectory.start - 0.1, trajectory.duration + 0.1, 301)
    for name in ("q", "dq", "ddq"):
        assert getattr(loaded(t), name).tobytes() == getattr(trajectory(t), name).tobytes()
    for name in ("joint_names", "start", "duration", "period"):
        assert getattr(loaded, name) == getattr(trajectory, name)


def test_it_works_on_every_robot(robot):
    for name in RUNS:
        space = FAMILIES.build(name, period=PERIOD).space(robot)
        trajectory = space.trajectory(space.random(seeded()))
        reference = trajectory(np.linspace(trajectory.start, trajectory.duration, 400))
        assert all(find_exceeded_limit(robot, q) is None for q in reference.q)


@pytest.mark.parametrize("name", RUNS)
def test_a_single_run_has_no_period(irb140, name):
    space = FAMILIES.build(name, periods=1).space(irb140)
    trajectory = space.trajectory(space.random(seeded()))
    assert trajectory.period is None
    assert trajectory.duration == PERIOD


@pytest.mark.parametrize("name", RUNS)
def test_a_home_outside_the_limits_is_named(irb140, name):
    home = (0.0, 0.0, 4.0, 0.0, 0.0, 0.0)
    space = FAMILIES.build(name, home=home).space(irb140)
    with pytest.raises(InfeasibleError, match=r"'home' .* needs joint_3 at 4 rad") as caught:
        space.trajectory(space.random(seeded()))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", RUNS)
def test_a_rest_pose_outside_the_limits_is_named(irb140, name):
    space = FAMILIES.build(name).space(irb140)
    x = np.zeros(space.size)
    x[0] = 1.5  # the rest pose of the first joint, over half of its range
    with pytest.raises(InfeasibleError, match=r"start of the motion .* needs joint_1 at"):
        space.trajectory(x)


@pytest.mark.parametrize("name", [*RUNS, "cartesian-fourier"])
def test_a_period_that_is_too_short_says_how_long_it_must_be(irb140, name):
    with pytest.raises(InfeasibleError, match=r"acceleration limit.*raise 'period'") as caught:
        FAMILIES.build(name, period=0.01).space(irb140)
    assert "joint '" in str(caught.value)
    assert "\n" not in str(caught.value)
    enough = float(str(caught.value).split(" to ")[-1].split(" s or")[0])
    FAMILIES.build(name, period=enough).space(irb140)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("b-spline", {"points": 0}),
        ("quintic", {"poses": 0}),
        ("fourier-quintic", {"harmonics": 0}),
        ("fourier", {"jerk": -1.0}),
        ("b-spline", {"margin": 1.1}),
        ("quintic", {"period": 0.0}),
        ("quintic", {"periods": 0}),
        ("cartesian-fourier", {"harmonics": 1}),
        ("cartesian-fourier", {"follow": "elbow"}),
        ("cartesian-fourier", {"margin": 2.0}),
        ("cartesian-fourier", {"period": -1.0}),
    ],
)
def test_impossible_options_are_refused(irb140, name, options):
    with pytest.raises(OptionError):
        FAMILIES.build(name, **options).space(irb140)


def test_a_trajectory_of_another_space_has_no_coordinates_here(irb140):
    splines = FAMILIES.build("b-spline").space(irb140)
    others = FAMILIES.build("quintic").space(irb140)
    with pytest.raises(OptionError, match="not a combination"):
        others.coordinates(splines.trajectory(splines.random(seeded())))


def test_the_way_back_ends_where_the_approach_started(space):
    trajectory = add_return(space.robot, space.trajectory(space.random(seeded())))
    limits = space.robot.limits
    ends = trajectory(np.array([trajectory.start, trajectory.duration, trajectory.duration + 9.0]))
    np.testing.assert_array_equal(ends.q, np.array([space.robot.home] * 3))
    np.testing.assert_array_equal([ends.dq, ends.ddq], 0.0)
    motion = run_of(trajectory)
    back = trajectory(np.linspace(motion.duration, trajectory.duration, 2000))
    assert (np.abs(back.dq) <= 0.5 * limits.velocity).all()
    assert (np.abs(back.ddq) <= 0.5 * limits.acceleration).all()
    assert add_return(space.robot, trajectory).duration == trajectory.duration
    assert trajectory.period == motion.period


def test_a_home_of_ones_own_is_where_it_starts(irb140):
    space = FAMILIES.build("quintic").space(irb140)
    run = space.trajectory(space.random(seeded())).motion
    home = np.full(6, 0.3)
    trajectory = add_approach(irb140, run, home)
    np.testing.assert_array_equal(trajectory(np.array([trajectory.start])).q[0], home)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"family": "spiral"}, "known: b-spline, cartesian-fourier, fourier"),
        ({"motion": 3}, "not a usable trajectory"),
        ({"approach": -1.0}, "not a usable trajectory"),
        ({"home": [0.0]}, "not a usable trajectory"),
    ],
)
def test_unusable_files_are_refused_in_one_line(irb140, tmp_path, change, message):
    space = FAMILIES.build("b-spline").space(irb140)
    path = tmp_path / "trajectory.json"
    space.trajectory(space.random(seeded())).save(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(FileFormatError, match=message) as caught:
        load_trajectory(path)
    assert "\n" not in str(caught.value)


def test_a_gantry_has_prismatic_joints_and_families_too():
    gantry = Robot.from_urdf(urdf_path("ppp"))
    space = FAMILIES.build("cartesian-fourier").space(gantry)
    trajectory = space.trajectory(space.random(seeded()))
    t = np.linspace(0.0, PERIOD, 50)
    p, v, a = trajectory.motion.point(t)
    # Its joints are the axes of space, in some order and sense.
    np.testing.assert_allclose(
        np.linalg.norm(trajectory(t).dq, axis=1), np.linalg.norm(v, axis=1), atol=1e-12
    )
    np.testing.assert_allclose(
        np.linalg.norm(trajectory(t).ddq, axis=1), np.linalg.norm(a, axis=1), atol=1e-12
    )
    assert np.isfinite(p).all()
