"""Distances to itself and to the floor: values, gradients, pairs."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from robots import DATA, urdf_path
from scipy.spatial.transform import Rotation

from robotid_sim.dynamics import kernels
from robotid_sim.engine.convex_bodies import MESH_MARGIN, bound_box_distance
from robotid_sim.engine.proximity import DISTANCE_CUTOFF, Proximity, base_bottom, is_bodiless
from robotid_sim.errors import FileFormatError
from robotid_sim.kinematics.forward import tip_pose
from robotid_sim.kinematics.workspace import CAPSULE_THICKNESS, reach
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.robot import Robot

ARMS = ("irb140", "rocr6", "iiwa")


@pytest.fixture(scope="module", params=ARMS)
def proximity(request):
    robot = Robot.from_urdf(urdf_path(request.param))
    with Proximity(robot, floor=0.0) as made:
        yield made


def slopes(function, q, j, step=1e-5):
    """Return the derivative along joint j, and how much it differs to the left and to the right."""
    shift = step * np.eye(q.size)[j]
    here, ahead, behind = function(q), function(q + shift), function(q - shift)
    return (ahead - behind) / (2.0 * step), np.abs(ahead - 2.0 * here + behind) / step


def test_gradients_are_the_slopes_away_from_changes_of_the_feature(proximity):
    rng = np.random.default_rng(0)
    limits, checked = proximity.robot.limits, 0
    for _ in range(6):
        q = rng.uniform(limits.lower, limits.upper)
        distance, gradient = proximity(q)
        for j in range(q.size):
            slope, bend = slopes(lambda x: proximity(x)[0], q, j)
            # Within a feature the two sides differ by curvature alone; facets of a mesh are small.
            smooth = (bend < 1e-4) & (distance > 0.01) & (distance < 0.9 * DISTANCE_CUTOFF)
            checked += int(smooth.sum())
            np.testing.assert_allclose(gradient[smooth, j], slope[smooth], atol=1e-4)
    assert checked > 20


def test_neighbors_and_links_that_always_touch_are_no_pairs(proximity):
    chain = [proximity.robot.base, *(link.name for link in proximity.robot.links)]
    for pair in proximity.pairs:
        if pair.second in chain:
            assert abs(chain.index(pair.first) - chain.index(pair.second)) >= 2
        assert (pair.first, pair.second) != (chain[1], "floor")
    assert any(pair.second == "floor" for pair in proximity.pairs)


def test_home_is_free_and_a_folded_arm_is_not(irb140):
    with Proximity(irb140, floor=0.0) as proximity:
        assert proximity(irb140.home)[0].min() > 0.0
        down = irb140.home.copy()
        down[1], down[2] = irb140.limits.upper[1], irb140.limits.upper[2]
        distance, _ = proximity(down)
        worst = proximity.pairs[int(distance.argmin())]
        assert distance.min() < 0.0
        assert str(worst) == "link_5 and base_link"


def test_distance_to_the_floor_is_the_height_of_the_lowest_corner(irb140):
    q = irb140.home
    with Proximity(irb140, floor=-0.1) as low, Proximity(irb140, floor=0.0) as high:
        names = [pair.first for pair in high.pairs if pair.second == "floor"]
        at_low = dict(zip(low.pairs, low(q)[0], strict=True))
        at_high = dict(zip(high.pairs, high(q)[0], strict=True))
    assert names
    for pair, distance in at_high.items():
        if pair.second == "floor" and distance < DISTANCE_CUTOFF - 0.1:
            assert at_low[pair] - distance == pytest.approx(0.1, abs=2.0 * MESH_MARGIN)


def bare(robot):
    """Return a robot without its geometry."""
    links = tuple(replace(link, shapes=()) for link in robot.links)
    return replace(robot, links=links, document=None)


def test_capsules_stand_for_a_robot_without_geometry():
    rng = np.random.default_rng(0)
    arm = bare(load_robot("irb140"))
    limits, radius = arm.limits, CAPSULE_THICKNESS * reach(arm)
    assert is_bodiless(arm)
    assert base_bottom(arm) is None
    with Proximity(arm, floor=0.0) as proximity:
        height = [pair.second == "floor" for pair in proximity.pairs]
        for q in rng.uniform(limits.lower, limits.upper, (20, arm.dof)):
            poses = kernels.link_poses(arm.geometry, q)
            ends = np.array([*poses[1:, :3, 3], tip_pose(arm, q)[:3, 3]])
            lowest = np.minimum(poses[:, 2, 3], ends[:, 2]) - radius
            expected = np.minimum(lowest[1:], DISTANCE_CUTOFF)
            np.testing.assert_allclose(proximity(q)[0][height], expected, atol=2.0 * MESH_MARGIN)


@pytest.mark.parametrize(("name", "height"), [("irb140", 0.0), ("rocr6", 0.0), ("iiwa", 0.0)])
def test_the_lowest_point_of_a_base_is_where_it_stands(name, height):
    robot = Robot.from_urdf(urdf_path(name))
    assert base_bottom(robot) == pytest.approx(height, abs=2.0 * MESH_MARGIN)


@pytest.mark.slow
def test_an_overlap_has_a_way_out_with_exact_gradients(irb140):
    rng, limits, tried = np.random.default_rng(0), irb140.limits, 0
    with Proximity(irb140, floor=0.0, cutoff=0.04) as proximity:
        for _ in range(60):
            q = rng.uniform(limits.lower, limits.upper)
            (true, _), (pushed, gradient) = (
                proximity.measure(q[None]),
                proximity.measure_pushed(q[None]),
            )
            apart = true[0] >= 0.0
            np.testing.assert_array_equal(pushed[0, apart], true[0, apart])
            assert (pushed[0, ~apart] <= true[0, ~apart]).all()
            for j in range(q.size):
                slope, bend = slopes(lambda x: proximity.measure_pushed(x[None])[0][0], q, j)
                smooth = (bend < 1e-4) & (true[0] < -1e-3)
                tried += int(smooth.sum())
                np.testing.assert_allclose(gradient[0, smooth, j], slope[smooth], atol=2e-4)
            again = pickle.loads(pickle.dumps(proximity))
            again.close()
            assert again.cutoff == proximity.cutoff
    assert tried > 20


def test_same_configuration_same_bits(irb140):
    q = irb140.limits.middle
    with Proximity(irb140) as one, Proximity(irb140) as two:
        one(q + 0.5)
        assert one(q)[0].tobytes() == two(q)[0].tobytes()


def test_boxes_are_never_said_to_be_farther_apart_than_they_are():
    rng = np.random.default_rng(0)
    turns = Rotation.random(2000, rng=rng).as_matrix().reshape(2, 1000, 3, 3)
    halves = rng.uniform(0.01, 0.5, (2, 1000, 3))
    apart = rng.uniform(-1.5, 1.5, (1000, 3))
    bound = bound_box_distance(*turns, apart, *halves)
    # The closest points of both boxes by projected gradients, which end above their distance.
    points = np.zeros((2, 1000, 3))
    for _ in range(300):
        here = np.einsum("kmij,kmj->kmi", turns, points)
        way = apart + here[1] - here[0]
        steps = np.einsum("kmij,kmi->kmj", turns, np.array([way, -way]))
        points = np.clip(points + 0.5 * steps, -halves, halves)
    distance = np.linalg.norm(way, axis=1)
    assert (bound <= distance + 1e-3).all()
    assert (bound > 0.0)[distance > 0.3].mean() > 0.9  # and tell most of those that are apart


def meshed(folder, base="", upper=""):
    """Return the planar arm with shapes in its base and its first link."""
    text = (DATA / "2r.urdf").read_text()
    text = text.replace('<link name="base"/>', f'<link name="base">{base}</link>')
    path = folder / "arm.urdf"
    path.write_text(text.replace('<link name="upper">', f'<link name="upper">{upper}'))
    return Robot.from_urdf(path)


MISSING = '<{0}><geometry><mesh filename="package://nope/m/x.stl"/></geometry></{0}>'
SPHERE = '<collision><geometry><sphere radius="0.01"/></geometry></collision>'


@pytest.mark.parametrize("tag", ["collision", "visual"])
@pytest.mark.parametrize("link", ["base", "upper"])
def test_a_missing_mesh_is_one_line_with_its_link_and_the_remedy(tmp_path, tag, link):
    robot = meshed(tmp_path, **{link: MISSING.format(tag)})
    with pytest.raises(FileFormatError) as caught:
        Proximity(robot)
    text = str(caught.value)
    assert f"x.stl of link '{link}' is missing; put the file there" in text
    assert f"remove the <{tag}> element" in text
    assert "\n" not in text


def test_a_missing_mesh_that_is_only_drawn_does_not_matter(tmp_path):
    shapes = SPHERE + MISSING.format("visual")
    robot = meshed(tmp_path, base=shapes, upper=shapes)
    with Proximity(robot):
        assert not is_bodiless(robot)
