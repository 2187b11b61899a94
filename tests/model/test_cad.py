"""Mass properties from geometry against closed forms; shares of the mass; robots from meshes."""

import sys
from pathlib import Path

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st
from robots import urdf_path

from robotid_sim.errors import FileFormatError, MissingExtraError, OptionError, ShapeError
from robotid_sim.model import inertia
from robotid_sim.model.cad import inertia_from_geometry, link_solid, mass_shares, vertices
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.export import write_urdf
from robotid_sim.model.geometry import rotation_from_rpy, transform
from robotid_sim.model.robot import Robot
from robotid_sim.model.solid import Solid, box, capsule, cylinder, read_mesh, sphere, union
from robotid_sim.report.text import cad_text

EXACT = 1e-12
"""Relative; the sums over tetrahedra are exact up to rounding."""

PLACE = transform(rotation_from_rpy(np.array([0.3, -0.7, 1.1])), np.array([0.4, -1.2, 0.8]))


def assert_moments(found: Solid, volume: float, com, central: np.ndarray, rtol=EXACT) -> None:
    """Check volume, COM and tensor of a solid placed anywhere, at density 1 and with a mass."""
    mass, c, tensor = inertia.unpack(found.parameters(density=1.0))
    assert mass == pytest.approx(volume, rel=rtol)
    assert found.volume == pytest.approx(volume, rel=rtol)
    size = np.ptp(found.vertices, axis=0).max()
    np.testing.assert_allclose(c, com, rtol=0.0, atol=max(rtol, EXACT) * size)
    np.testing.assert_allclose(tensor, central, rtol=0.0, atol=rtol * np.abs(central).max())
    moved = found.transform(PLACE)
    R = PLACE[:3, :3]
    mass, c, tensor = inertia.unpack(moved.parameters(mass=2.0))
    assert mass == pytest.approx(2.0, rel=EXACT)
    np.testing.assert_allclose(c, PLACE[:3, 3] + R @ com, atol=10 * max(rtol, EXACT) * size)
    want = 2.0 / volume * R @ central @ R.T
    far = 1.0 + np.sum(PLACE[:3, 3] ** 2)  # digits lost to the parallel axes
    np.testing.assert_allclose(tensor, want, rtol=0.0, atol=far * max(rtol, 1e-13))


def ngon(n: int, radius: float) -> np.ndarray:
    angle = 2 * np.pi * np.arange(n) / n
    return radius * np.column_stack([np.cos(angle), np.sin(angle)])


def prism(polygon, length: float) -> Solid:
    """Return a prism along z about the origin over a convex polygon in x, y, shape (n, 2)."""
    ends = [np.column_stack([polygon, np.full(len(polygon), h)]) for h in (length / 2, -length / 2)]
    return Solid.from_mesh(trimesh.convex.convex_hull(np.vstack(ends)))


def prism_tensor(n: int, radius: float, length: float) -> tuple[float, np.ndarray]:
    """Return volume and tensor about the COM of a regular prism, at density 1 (closed form)."""
    step = 2 * np.pi / n
    area = 0.5 * n * radius**2 * np.sin(step)
    across = area * radius**2 * (2.0 + np.cos(step)) / 12.0  # second moment of area
    Ixx = length * across + area * length**3 / 12.0
    return area * length, np.diag([Ixx, Ixx, 2.0 * length * across])


def test_box_has_its_closed_form() -> None:
    x, y, z = 0.1, 0.25, 0.4
    tensor = x * y * z / 12.0 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y])
    assert_moments(box(x, y, z), x * y * z, np.zeros(3), tensor)


@pytest.mark.parametrize("n", [3, 4, 6, 17, 64])
def test_regular_prism_has_its_closed_form(n: int) -> None:
    volume, tensor = prism_tensor(n, 0.15, 0.4)
    assert_moments(prism(ngon(n, 0.15), 0.4), volume, np.zeros(3), tensor)
    mirrored = prism(ngon(n, 0.15)[::-1], 0.4)  # wound the other way
    assert_moments(mirrored, volume, np.zeros(3), tensor)


def test_right_triangle_prism_has_its_closed_form() -> None:
    a, b, h = 0.3, 0.2, 0.5
    found = prism([(0, 0), (a, 0), (0, b)], h)
    V = 0.5 * a * b * h
    Sxx, Syy, Sxy, Szz = a * a / 18, b * b / 18, -a * b / 36, h * h / 12  # central, per volume
    tensor = V * np.array([[Syy + Szz, -Sxy, 0], [-Sxy, Sxx + Szz, 0], [0, 0, Sxx + Syy]])
    assert_moments(found, V, np.array([a / 3, b / 3, 0.0]), tensor)


@pytest.mark.parametrize("segments", [8, 24, 128])
def test_tessellated_cylinder_is_a_prism_of_the_cylinders_volume(segments: int) -> None:
    r, h = 0.08, 0.3
    step = 2 * np.pi / segments
    volume, tensor = prism_tensor(segments, r * np.sqrt(step / np.sin(step)), h)
    assert volume == pytest.approx(np.pi * r * r * h, rel=EXACT)
    assert_moments(cylinder(r, h, segments), volume, np.zeros(3), tensor)


def test_primitives_stand_for_the_round_bodies_of_a_urdf() -> None:
    r, h = 0.08, 0.3
    V = np.pi * r * r * h
    round_ = V * np.diag([(3 * r * r + h * h) / 12, (3 * r * r + h * h) / 12, r * r / 2])
    assert_moments(cylinder(r, h), V, np.zeros(3), round_, 1e-6)
    V = 4 / 3 * np.pi * r**3
    assert_moments(sphere(r), V, np.zeros(3), 0.4 * r * r * V * np.eye(3), 1e-6)
    Vc = np.pi * r * r * h
    axial = Vc * r * r / 2 + V * 0.4 * r * r
    side = Vc * (h * h / 12 + r * r / 4) + V * (0.4 * r * r + h * h / 4 + 3 * h * r / 8)
    # Scaled as a whole to the volume, so a little too long.
    assert_moments(capsule(r, h), Vc + V, np.zeros(3), np.diag([side, side, axial]), 1e-3)


def test_capsule_and_hulls_are_closed() -> None:
    for made in (box(1, 2, 3), cylinder(1, 2), sphere(1), capsule(1, 2), sphere(1).convex_hull()):
        assert made.open_edges == 0
        assert made.volume > 0.0


def shifted(made: Solid, *by: float) -> Solid:
    return made.transform(transform(np.eye(3), np.array(by)))


def test_union_counts_overlaps_once() -> None:
    both = union([box(1, 1, 1), shifted(box(1, 1, 1), 0.5, 0, 0)])
    tensor = 1.5 / 12 * np.diag([2.0, 1 + 2.25, 1 + 2.25])
    assert_moments(both, 1.5, np.array([0.25, 0, 0]), tensor, 1e-9)
    assert both.open_edges == 0


def test_unions_refuse_what_is_open() -> None:
    lidless = Solid(box(1, 1, 1).vertices, box(1, 1, 1).faces[:-2])
    with pytest.raises(OptionError, match="not a closed surface"):
        union([lidless, box(1, 1, 1)])


def test_moments_add_up_over_parts_and_follow_the_frame() -> None:
    a, b = box(0.3, 0.2, 0.1), shifted(cylinder(0.1, 0.4), 2.0, 0, 0)
    np.testing.assert_allclose(
        union([a, b]).moments(), a.moments() + b.moments(), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(
        b.transform(PLACE).moments(), PLACE @ b.moments() @ PLACE.T, rtol=1e-11, atol=1e-14
    )


def test_scaled_and_mirrored_solids_keep_their_volume_positive() -> None:
    flipped = prism([(0, 0), (3, 0), (0, 1)], 1.0).transform(np.diag([-1.0, 2.0, 1.0, 1.0]))
    assert flipped.volume == pytest.approx(3.0)
    assert flipped.parameters(mass=1.0)[1] == pytest.approx(-1.0)


def test_density_and_mass_give_the_same_body() -> None:
    made = cylinder(0.1, 0.2)
    by_mass = made.parameters(mass=3.0)
    np.testing.assert_allclose(made.parameters(density=3.0 / made.volume), by_mass, rtol=1e-14)


@pytest.mark.parametrize("given_", [{}, {"mass": 1.0, "density": 1.0}, {"mass": -1.0}])
def test_mass_or_density_must_be_one_sensible_number(given_) -> None:
    with pytest.raises(OptionError, match="mass or"):
        box(1, 1, 1).parameters(**given_)


def test_flat_solid_has_no_volume_and_no_hull() -> None:
    flat = Solid(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0.0]]), np.array([[0, 1, 2], [0, 2, 1]]))
    assert flat.open_edges == 0
    with pytest.raises(OptionError, match="no volume"):
        flat.parameters(mass=1.0)
    with pytest.raises(OptionError, match="flat"):
        flat.convex_hull()


@pytest.mark.parametrize("faces", [[[0, 1]], [[0, 1, 9]], [[-1, 0, 1]]])
def test_faces_that_make_no_sense_are_a_shape_error(faces) -> None:
    with pytest.raises(ShapeError, match="faces of a solid"):
        Solid(np.eye(3), np.array(faces))


def test_mass_properties_are_trimeshs() -> None:
    robot = load_robot("irb120")
    for shape in (s for link in robot.links for s in link.shapes if not s.collision):
        theirs = trimesh.load_mesh(shape.mesh).mass_properties
        mass, com, central = inertia.unpack(read_mesh(shape.mesh).parameters(density=1.0))
        assert mass == pytest.approx(theirs["mass"], rel=1e-6)
        np.testing.assert_allclose(com, theirs["center_mass"], atol=1e-7)
        np.testing.assert_allclose(central, theirs["inertia"], atol=1e-6 * np.abs(central).max())


# Shares of the mass


@given(
    st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=12),
    st.floats(1e-3, 1e4),
    st.randoms(use_true_random=False),
)
def test_shares_sum_to_the_last_bit_in_any_order(volumes, total, random) -> None:
    masses = mass_shares(volumes, total)
    random.shuffle(masses)
    assert sum(masses) == total
    assert min(masses) >= 0.0


def test_shares_are_in_proportion() -> None:
    masses = mass_shares([1.0, 2.0, 3.0], 78.0)
    np.testing.assert_allclose(masses, [13.0, 26.0, 39.0], rtol=1e-15)
    thirds = mass_shares([1.0, 1.0, 1.0], 1.0)
    assert sum(thirds) == 1.0
    np.testing.assert_allclose(thirds, 1 / 3, rtol=1e-15)


@pytest.mark.parametrize(("volumes", "total"), [([1.0], 0.0), ([1.0, 0.0], 1.0), ([1.0], np.inf)])
def test_shares_of_nothing_are_refused(volumes, total) -> None:
    with pytest.raises(OptionError, match="positive"):
        mass_shares(volumes, total)


# Robots


def test_catalog_robot_gets_the_inertia_of_its_meshes(tmp_path: Path) -> None:
    robot = load_robot("irb120")
    made = inertia_from_geometry(robot, 25.0)
    assert sum(link.mass for link in made.links) == 25.0
    assert [link.name for link in made.links if not link.movable] == ["base_link"]
    densities = [link.mass / link.volume for link in made.links]
    np.testing.assert_allclose(densities, densities[0], rtol=1e-12)
    tail = slice(10 * robot.dof, None)
    np.testing.assert_array_equal(made.robot.parameters()[tail], robot.parameters()[tail])
    path = tmp_path / "irb120_cad.urdf"
    write_urdf(made.robot, path)
    back = Robot.from_urdf(path)
    np.testing.assert_allclose(back.parameters(), made.robot.parameters(), rtol=1e-12, atol=1e-15)
    masses = [link.phi[0] for link in back.document.links.values()]
    assert sum(masses) == 25.0  # the base too
    base = next(link for link in made.links if not link.movable)
    np.testing.assert_allclose(
        back.document.links["base_link"].phi, base.phi, rtol=1e-12, atol=1e-15
    )


PRIMITIVES = """<robot name="toy"><link name="base"><inertial><mass value="7"/></inertial></link>
<link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="-5" izz="1"/></inertial>
<visual><origin xyz="0 0 .2"/><geometry><box size=".1 .1 .4"/></geometry></visual>
<visual><origin xyz="0 0 .4"/><geometry><cylinder radius=".08" length=".1"/></geometry></visual>
<collision><geometry><sphere radius="3"/></geometry></collision></link>
<link name="hand"><collision><geometry><sphere radius=".05"/></geometry></collision></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
<joint name="twist" type="revolute"><parent link="arm"/><child link="hand"/>
<origin xyz="0 0 .5"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"""


def test_urdf_of_primitives_with_impossible_inertia_is_mended(tmp_path: Path) -> None:
    path = tmp_path / "toy.urdf"
    path.write_text(PRIMITIVES, encoding="utf-8")
    robot = Robot.from_urdf(path, formal=True)
    made = inertia_from_geometry(robot, 10.0)
    arm, hand = made.links  # the base has no geometry
    post = shifted(box(0.1, 0.1, 0.4), 0, 0, 0.2)
    head = shifted(cylinder(0.08, 0.1), 0, 0, 0.4)
    want = union([post, head])
    assert arm.volume == pytest.approx(want.volume, rel=1e-12)
    assert arm.volume < post.volume + head.volume
    assert hand.volume == pytest.approx(4 / 3 * np.pi * 0.05**3, rel=1e-12)  # no visual shape
    np.testing.assert_allclose(arm.phi, want.parameters(mass=arm.mass), rtol=1e-12, atol=1e-12)
    assert not made.robot.formal
    assert made.robot.inconsistencies() == [None, None]
    write_urdf(made.robot, tmp_path / "out.urdf")
    assert "<mass" not in (tmp_path / "out.urdf").read_text().split('name="arm"')[0]
    by_collision = inertia_from_geometry(robot, 10.0, collision=True)
    assert by_collision.links[0].volume == pytest.approx(36 * np.pi, rel=1e-12)


def test_limits_that_are_assumed_are_told(tmp_path: Path) -> None:
    path = tmp_path / "toy.urdf"
    path.write_text(PRIMITIVES.replace('velocity="1" ', 'velocity="0" ', 1), encoding="utf-8")
    made = inertia_from_geometry(Robot.from_urdf(path, assume_limits=True, formal=True), 10.0)
    told = [str(line) for line in cad_text(made)]
    assert "limits missing in the URDF: 'hinge' velocity; assumed limits are written" in "\n".join(
        told
    )


def test_body_without_geometry_is_named(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="link 'upper' has no geometry"):
        inertia_from_geometry(Robot.from_urdf(urdf_path("2r")), 10.0)


def stl(path: Path, made: Solid) -> None:
    lines = ["solid x"]
    for face in made.faces:
        lines += ["facet normal 0 0 0", "outer loop"]
        lines += ["vertex {:.17g} {:.17g} {:.17g}".format(*made.vertices[k]) for k in face]
        lines += ["endloop", "endfacet"]
    path.write_text("\n".join([*lines, "endsolid x", ""]), encoding="ascii")


def obj(path: Path, made: Solid) -> None:
    lines = ["v {:.17g} {:.17g} {:.17g}".format(*p) for p in made.vertices]
    lines += ["f {} {} {}".format(*(face + 1)) for face in made.faces]
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


@pytest.mark.parametrize(("write", "suffix"), [(stl, ".stl"), (obj, ".obj")])
def test_meshed_primitives_read_back_exactly(write, suffix: str, tmp_path: Path) -> None:
    for k, made in enumerate((box(0.1, 0.2, 0.3), cylinder(0.05, 0.2, 32), sphere(0.1))):
        path = tmp_path / f"{k}{suffix}"
        write(path, made.transform(PLACE))
        back = read_mesh(path)
        assert back.open_edges == 0
        # An STL reader keeps single precision of some 1e-7.
        np.testing.assert_allclose(
            back.moments(), made.transform(PLACE).moments(), rtol=1e-6, atol=1e-12
        )


def test_mesh_that_is_turned_inside_out_is_turned_back(tmp_path: Path) -> None:
    made = box(1, 1, 1)
    stl(tmp_path / "x.stl", Solid(made.vertices, made.faces[:, ::-1]))
    assert read_mesh(tmp_path / "x.stl").volume == pytest.approx(1.0)


MESHED = """<robot name="toy"><link name="base"/><link name="arm"><visual><geometry>
<mesh filename="arm.stl" scale="2 2 2"/></geometry></visual></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/>
<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"""


@pytest.fixture
def meshed(tmp_path: Path) -> Path:
    path = tmp_path / "toy.urdf"
    path.write_text(MESHED, encoding="utf-8")
    return path


def test_open_mesh_is_named_and_its_hull_is_an_option(meshed: Path) -> None:
    made = box(0.1, 0.2, 0.3)
    stl(meshed.parent / "arm.stl", Solid(made.vertices, made.faces[:-1]))
    robot = Robot.from_urdf(meshed)
    with pytest.raises(FileFormatError) as caught:
        inertia_from_geometry(robot, 3.0)
    text = str(caught.value)
    assert "link 'arm': mesh" in text
    assert "arm.stl is not closed (3 open edges)" in text
    assert "--convex-hull" in text
    taken = inertia_from_geometry(robot, 3.0, convex_hull=True)
    (arm,) = taken.links
    assert arm.hulls == ("arm.stl",)
    assert arm.volume == pytest.approx(8 * made.volume, rel=1e-6)


def test_missing_and_broken_meshes_are_named(meshed: Path) -> None:
    robot = Robot.from_urdf(meshed)
    with pytest.raises(
        FileFormatError, match=r"arm\.stl of link .* is missing; put the file there"
    ):
        inertia_from_geometry(robot, 1.0)
    (meshed.parent / "arm.stl").write_text("solid nothing\nendsolid nothing\n")
    with pytest.raises(FileFormatError, match=r"cannot read mesh .*arm\.stl"):
        inertia_from_geometry(robot, 1.0)
    (shape,) = robot.links[0].shapes
    assert vertices(shape) is None


def test_corners_of_primitives_surround_their_middle(meshed: Path) -> None:
    (meshed.parent / "p.urdf").write_text(PRIMITIVES, encoding="utf-8")
    for link in Robot.from_urdf(meshed.parent / "p.urdf", formal=True).links:
        for shape in link.shapes:
            corners = vertices(shape)
            middle = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
            np.testing.assert_allclose(middle, shape.T_body_shape[:3, 3], atol=1e-12)


def test_missing_package_raises_with_the_install_command(monkeypatch, meshed) -> None:
    stl(meshed.parent / "arm.stl", box(0.1, 0.2, 0.3))
    monkeypatch.setitem(sys.modules, "manifold3d", None)
    with pytest.raises(MissingExtraError, match=r"manifold3d: pip install -e '\.\[cad\]'"):
        link_solid([*Robot.from_urdf(meshed).links[0].shapes] * 2, "arm")


def test_format_whose_reader_is_missing_says_what_to_do(tmp_path, monkeypatch) -> None:
    (tmp_path / "x.dae").write_text("<COLLADA/>")

    def load_scene(*_: object, **__: object) -> None:
        raise ImportError("missing `pip install pycollada`")

    monkeypatch.setattr(trimesh, "load_scene", load_scene)
    with pytest.raises(MissingExtraError, match=r"pip install pycollada\); or convert"):
        read_mesh(tmp_path / "x.dae")


@pytest.mark.parametrize(("name", "total"), [("ur5", 18.4), ("panda", 18.0)])
def test_other_peoples_robots_get_their_mass_from_closed_collision_meshes(name, total) -> None:
    robot = Robot.from_urdf(urdf_path(name))
    made = inertia_from_geometry(robot, total, collision=True)
    assert sum(link.mass for link in made.links) == total
    assert made.robot.inconsistencies() == [None] * robot.dof
