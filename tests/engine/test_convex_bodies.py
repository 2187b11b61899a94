"""Convex bodies in every engine: closed forms, and that both engines say the same."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
import trimesh
from robots import urdf_path
from sampling import sampled
from scipy.spatial.transform import Rotation

from robotid_sim.engine.convex_bodies import MESH_MARGIN
from robotid_sim.engine.engines import ENGINES, convex_bodies_of, is_installed
from robotid_sim.engine.proximity import Proximity, base_bottom
from robotid_sim.errors import FileFormatError
from robotid_sim.model.geometry import GeometryShape
from robotid_sim.model.robot import Robot

STILL = (0.0, 0.0, 0.0, 1.0)

ROUNDED = (3.0**0.5 - 1.0) * MESH_MARGIN
"""What PyBullet's rounded corners of a box are short of sharp ones [m]; cylinders less."""

AGREED = 1e-4
"""PyBullet's stated precision where two meshes are near one another [m]."""

ARMS = ("irb140", "irb120", "iiwa", "ur5", "rocr6", "rs010n", "kinova", "scara")

INSTALLED = tuple(filter(is_installed, ENGINES))


def shape(kind: str, *size: float, mesh=None) -> GeometryShape:
    return GeometryShape(kind, size, np.eye(4), mesh)


SHAPES = {
    "box": shape("box", 0.1, 0.2, 0.4),
    "sphere": shape("sphere", 0.05),
    "cylinder": shape("cylinder", 0.05, 0.4),
    "capsule": shape("capsule", 0.05, 0.4),
    "floor": shape("box", 100.0, 100.0, 100.0),
}


def cube_file(path, *centers, word="o"):
    """Write an OBJ file of cubes of 0.1 m."""
    corners = np.array([(i, j, k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)])
    quads = ((1, 2, 4, 3), (5, 7, 8, 6), (1, 5, 6, 2), (3, 4, 8, 7), (1, 3, 7, 5), (2, 6, 8, 4))
    lines = []
    for n, center in enumerate(centers):
        lines.append(f"{word} part_{n}")
        lines += [f"v {x} {y} {z}" for x, y, z in center + 0.05 * corners]
        lines += ["f " + " ".join(str(8 * n + index) for index in quad) for quad in quads]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("engine", INSTALLED)
def test_a_sphere_above_a_floor(engine) -> None:
    with convex_bodies_of(engine, [SHAPES["sphere"], SHAPES["floor"]]) as bodies:
        for height in (0.3, 0.01, -0.02):
            bodies.place(0, [0.1, 0.2, 50.05 + height], STILL)
            closest = bodies.closest(0, 1, 1.0)
            assert closest.distance == pytest.approx(height, abs=1e-6)
            np.testing.assert_allclose(closest.normal, [0.0, 0.0, 1.0], atol=1e-6)
            np.testing.assert_allclose(closest.second, [0.1, 0.2, 50.0], atol=2.0 * MESH_MARGIN)
            back = bodies.closest(1, 0, 1.0)
            np.testing.assert_allclose(back.normal, [0.0, 0.0, -1.0], atol=1e-6)
        bodies.place(0, [0.0, 0.0, 52.0], STILL)
        assert bodies.closest(0, 1, 1.0) is None


@pytest.mark.parametrize("engine", INSTALLED)
@pytest.mark.parametrize("word", ["o", "g", "usemtl"])
def test_objects_and_groups_of_a_file_are_hulls_of_their_own(engine, word, tmp_path) -> None:
    ends = np.array([[-0.5, 0.0, 0.0], [0.5, 0.0, 0.0]])
    mesh = shape("mesh", 1.0, 1.0, 1.0, mesh=cube_file(tmp_path / "two.obj", *ends, word=word))
    with convex_bodies_of(engine, [mesh, SHAPES["sphere"]]) as bodies:
        bodies.place(1, [0.0, 0.0, 0.3], STILL)
        apart = bodies.closest(0, 1, 1.0).distance
    hollow, filled = np.hypot(0.45, 0.25) - 0.05, 0.2
    expected = filled if word == "usemtl" else hollow  # a material is no object
    assert apart == pytest.approx(expected - MESH_MARGIN, abs=1e-5)


@pytest.mark.parametrize("engine", INSTALLED)
def test_boxes_hold_their_bodies(engine, tmp_path) -> None:
    file = cube_file(tmp_path / "one.obj", np.array([0.2, 0.0, -0.1]))
    shapes = [*SHAPES.values(), shape("mesh", 1.0, 2.0, 1.0, mesh=file)]
    half = [(0.05, 0.1, 0.2), (0.05,) * 3, (0.05, 0.05, 0.2), (0.05, 0.05, 0.25), (50.0,) * 3]
    with convex_bodies_of(engine, shapes) as bodies:
        for k, expected in enumerate(half):
            low, high = bodies.box(k)
            assert (high >= np.array(expected) - 1e-7).all()
            np.testing.assert_allclose(high, expected, atol=3.0 * MESH_MARGIN)
            np.testing.assert_allclose(low, -high)
        low, high = bodies.box(len(half))
        np.testing.assert_allclose(low, [0.15, -0.1, -0.15], atol=3.0 * MESH_MARGIN)
        np.testing.assert_allclose(high, [0.25, 0.1, -0.05], atol=3.0 * MESH_MARGIN)


@pytest.mark.parametrize("engine", INSTALLED)
def test_a_missing_file_is_refused_by_its_name(engine, tmp_path) -> None:
    with pytest.raises(FileFormatError, match="missing"):
        convex_bodies_of(engine, [shape("mesh", 1.0, 1.0, 1.0, mesh=tmp_path / "missing.stl")])


NO_MESHES = {
    "words.stl": b"no mesh",
    "empty.stl": b"",
    "cut.stl": bytes(80) + (5).to_bytes(4, "little") + bytes(50),
    "words.obj": b"no mesh",
    "faces.obj": b"v 0 0 0\nv 1 0 0\nf 1 2 9\n",
}


@pytest.mark.parametrize("engine", INSTALLED)
@pytest.mark.parametrize("name", NO_MESHES)
def test_a_file_that_is_no_mesh_is_one_line_with_the_remedy(engine, name, tmp_path) -> None:
    (tmp_path / name).write_bytes(NO_MESHES[name])
    with pytest.raises(FileFormatError, match=f"{name}: .*; save it again as STL or") as caught:
        convex_bodies_of(engine, [shape("mesh", 1.0, 1.0, 1.0, mesh=tmp_path / name)])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("engine", INSTALLED)
def test_an_stl_file_of_text_is_as_good_as_a_binary_one(engine, tmp_path) -> None:
    cube, found = trimesh.creation.box((0.1, 0.2, 0.4)), []
    for kind in ("stl", "stl_ascii"):
        mesh = tmp_path / f"{kind}.stl"
        cube.export(mesh, file_type=kind)
        with convex_bodies_of(
            engine, [shape("mesh", 2.0, 1.0, 1.0, mesh=mesh), SHAPES["sphere"]]
        ) as bodies:
            bodies.place(0, [0.0, 0.0, 0.0], STILL)
            bodies.place(1, [0.3, 0.0, 0.0], STILL)
            found.append(bodies.closest(0, 1, 1.0).distance)
    assert found[1] == pytest.approx(0.15 - MESH_MARGIN, abs=AGREED)
    assert found[1] == pytest.approx(found[0], abs=1e-8)  # single precision


def test_a_file_that_is_no_mesh_is_refused_by_its_name(tmp_path) -> None:
    path = tmp_path / "broken.stl"
    path.write_text("no mesh")
    with pytest.raises(FileFormatError, match="broken"):
        convex_bodies_of("mujoco", [shape("mesh", 1.0, 1.0, 1.0, mesh=path)])


def test_a_flat_mesh_has_a_distance_in_mujoco(tmp_path) -> None:
    path = tmp_path / "flat.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3\nf 1 3 4\n")
    shapes = [shape("mesh", 1.0, 1.0, 1.0, mesh=path), SHAPES["sphere"]]
    with convex_bodies_of("mujoco", shapes) as bodies:
        bodies.place(1, [0.5, 0.5, 0.15], STILL)
        assert bodies.closest(0, 1, 1.0).distance == pytest.approx(0.1 - MESH_MARGIN, abs=2e-5)


@pytest.mark.pybullet
@pytest.mark.parametrize("pair", list(combinations_with_replacement(SHAPES, 2)))
def test_both_engines_measure_the_same_between_simple_shapes(pair) -> None:
    first, second = (SHAPES[name] for name in pair)
    if pair == ("floor", "floor"):
        return  # there is one
    rng, differences, depths = np.random.default_rng(0), [], []
    above = np.array([0.0, 0.0, 50.0 if "floor" in pair else 0.0])
    with (
        convex_bodies_of("pybullet", [first, second]) as ours,
        convex_bodies_of("mujoco", [first, second]) as theirs,
    ):
        for turn in Rotation.random(100, rng=rng).as_quat().tolist():
            place = (rng.uniform(-0.3, 0.3, 3) + above).tolist()
            points = []
            for bodies in (ours, theirs):
                bodies.place(0, place, turn)
                points.append(bodies.closest(0, 1, 2.0))
            differences.append(points[0].distance - points[1].distance)
            depths.append(points[0].distance)
    sharp = not {"box", "cylinder", "floor"} & set(pair)
    assert np.abs(differences).max() < (1e-9 if sharp else 2.0 * ROUNDED)
    assert min(depths) < 0.0


@pytest.mark.pybullet
@pytest.mark.parametrize("name", sampled(ARMS, "irb140", mark=pytest.mark.slow))
def test_both_engines_measure_the_same_distances_of_a_robot(name) -> None:
    robot = Robot.from_urdf(urdf_path(name))
    rng, limits = np.random.default_rng(0), robot.limits
    q = rng.uniform(limits.lower, limits.upper, (60, robot.dof))
    with (
        Proximity(robot, floor=0.0, engine="pybullet") as ours,
        Proximity(robot, floor=0.0, engine="mujoco") as theirs,
    ):
        assert theirs.pairs == ours.pairs
        (d, slopes), (other, others) = ours.measure(q), theirs.measure(q)
    bottoms = base_bottom(robot, "pybullet"), base_bottom(robot, "mujoco")
    near = d < ours.cutoff
    assert near.sum() > 40
    # Where bodies are deep in one another, PyBullet's way out is not always the shortest.
    np.testing.assert_allclose(other[d > -0.02], d[d > -0.02], atol=AGREED)
    np.testing.assert_allclose(other, d, atol=10.0 * AGREED)
    assert np.quantile(np.abs(others - slopes)[near], 0.99) < 0.01  # another corner is near then
    if None not in bottoms:
        assert bottoms[1] == pytest.approx(bottoms[0], abs=AGREED)
