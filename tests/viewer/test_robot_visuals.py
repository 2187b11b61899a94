"""Robots as the viewer draws them: meshes, stand-ins, ellipsoids, poses in the engine."""

import logging
from pathlib import Path

import numpy as np
import pytest
from robots import DATA

from robotid_sim.errors import RobotIdError
from robotid_sim.model import inertia
from robotid_sim.model.geometry import rotation_from_rpy
from robotid_sim.model.robot import Robot
from robotid_sim.model.side_car import base_shapes
from robotid_sim.viewer import bounds, primitive_meshes
from robotid_sim.viewer.bounds import (
    add_ellipsoid_points,
    find_drawable_parts,
    motion_points,
    surface_points,
)
from robotid_sim.viewer.robot_visuals import (
    frame_parts,
    inertia_ellipsoid,
    inertia_parts,
    reach,
    robot_parts,
)

VOLUMES = {
    "box": (primitive_meshes.box(0.3, 0.2, 0.5), 0.03),
    "cylinder": (primitive_meshes.cylinder(0.2, 0.5), np.pi * 0.02),
    "flat cylinder": (primitive_meshes.cylinder(0.2, 0.01), np.pi * 0.0004),
    "sphere": (primitive_meshes.sphere(0.3), np.pi * 4.0 / 3.0 * 0.027),
    "capsule": (primitive_meshes.capsule(0.2, 0.5), np.pi * (0.02 + 4.0 / 3.0 * 0.008)),
}


@pytest.mark.parametrize("name", VOLUMES)
def test_meshes_enclose_the_volume_of_their_body(name) -> None:
    mesh, volume = VOLUMES[name]
    assert mesh.volume == pytest.approx(volume, rel=0.02)  # chords, bevels


@pytest.mark.parametrize("name", VOLUMES)
def test_faces_and_normals_point_outward(name) -> None:
    mesh, _ = VOLUMES[name]
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    across = np.cross(b - a, c - a)
    for k in range(3):
        assert (np.einsum("ij,ij->i", across, mesh.vertex_normals[mesh.faces[:, k]]) > 0.0).all()
    np.testing.assert_allclose(np.linalg.norm(mesh.vertex_normals, axis=1), 1.0)


def test_the_ellipsoid_of_a_solid_ellipsoid_is_itself() -> None:
    m, a = 3.0, np.array([0.5, 0.3, 0.2])
    moments = m / 5.0 * (np.sum(a**2) - a**2)
    R = rotation_from_rpy(np.array([0.3, -0.5, 1.1]))
    com = np.array([0.1, 0.2, -0.3])
    found = inertia_ellipsoid(inertia.pack(m, com, R @ np.diag(moments) @ R.T))
    np.testing.assert_allclose(found.center, com)
    np.testing.assert_allclose(np.sort(found.semi_axes), np.sort(a))
    shape = found.rotation @ np.diag(found.semi_axes**2) @ found.rotation.T
    np.testing.assert_allclose(shape, R @ np.diag(a**2) @ R.T, atol=1e-12)


def test_bodies_without_extent_have_flat_ellipsoids_and_without_mass_none() -> None:
    rod = inertia_ellipsoid(inertia.pack(1.0, np.zeros(3), np.diag([0.0, 0.1, 0.1])))
    np.testing.assert_allclose(np.sort(rod.semi_axes), [0.0, 0.0, np.sqrt(0.5)], atol=1e-12)
    assert inertia_ellipsoid(np.zeros(10)) is None
    impossible = inertia_ellipsoid(inertia.pack(1.0, np.zeros(3), np.diag([0.1, 0.1, 0.5])))
    assert np.isfinite(impossible.semi_axes).all()


def test_every_robot_has_something_to_draw_on_every_body_with_shapes(robot) -> None:
    drawn = {part.body for part in robot_parts(robot)}
    bare = not any(link.shapes for link in robot.links)
    for body, link in enumerate(robot.links):
        assert (body in drawn) == (bare or bool(link.shapes))


def test_visual_shapes_are_preferred_to_collision_shapes(tmp_path) -> None:
    text = (DATA / "2r.urdf").read_text()
    both = (
        '<link name="upper"><visual><geometry><sphere radius="0.1"/></geometry></visual>'
        '<collision><geometry><box size="1 1 1"/></geometry></collision>'
    )
    for shapes, volume in ((both, 4.19e-3), (both.replace("visual>", "v>"), 1.0)):
        robot = _robot(text.replace('<link name="upper">', shapes), tmp_path)
        parts = [part for part in robot_parts(robot) if part.body == 0]
        assert len(parts) == 1
        assert parts[0].mesh.volume == pytest.approx(volume, rel=0.05)


def _robot(text: str, folder: Path) -> Robot:
    path = folder / "robot.urdf"
    path.write_text(text)
    return Robot.from_urdf(path)


MESH = '<link name="upper"><visual><geometry><mesh filename="{}"/></geometry></visual>'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("missing.stl", None),
        ("text.stl", b"this is no mesh"),
        ("short.stl", b"\0" * 80 + (1000).to_bytes(4, "little") + b"\0" * 100),
        ("empty.obj", b""),
        ("junk.dae", b"<COLLADA/>"),
        ("other.ply", b"ply"),
    ],
)
def test_bars_stand_in_for_a_mesh_that_cannot_be_read(tmp_path, caplog, name, content) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    text = (DATA / "2r.urdf").read_text().replace('<link name="upper">', MESH.format(name))
    robot = _robot(text, tmp_path)
    with caplog.at_level(logging.WARNING):
        parts = robot_parts(robot)
    assert {part.body for part in parts} == {-1, 0, 1}
    assert name in caplog.text


def test_bars_stand_in_where_bullet_itself_refuses_a_mesh(arm, monkeypatch) -> None:
    def refuse(robot, parts):
        monkeypatch.undo()
        raise RobotIdError("no")

    monkeypatch.setattr(bounds, "surface_points", refuse)
    parts, surface = find_drawable_parts(arm)
    assert {part.body for part in parts} == {-1, 0, 1}
    assert set(surface) >= {0, 1}


def test_the_base_is_drawn_too(irb140, iiwa) -> None:
    for robot in (irb140, iiwa):
        assert base_shapes(robot)
        assert any(part.body == -1 for part in robot_parts(robot))


@pytest.mark.usefixtures("each_engine")
def test_surface_points_lie_on_the_bodies(arm) -> None:
    upper = surface_points(arm, robot_parts(arm))[0]
    assert upper[:, 0].max() == pytest.approx(0.5, abs=0.06)  # the bar to the elbow
    assert np.abs(upper[:, 1:]).max() < 0.06


def test_a_motion_sweeps_the_boxes_of_all_its_poses(arm) -> None:
    surface = surface_points(arm, robot_parts(arm))
    q = np.array([[0.0, 0.0], [np.pi / 2.0, 0.0]])
    swept = motion_points(arm, surface, q)
    assert swept[:, 0].max() > 0.8
    assert swept[:, 2].max() > 0.8
    more = motion_points(arm, add_ellipsoid_points(surface, [arm]), q)
    assert (more.max(axis=0) >= swept.max(axis=0) - 1e-12).all()


def test_overlays_hang_on_the_bodies(irb140) -> None:
    frames = frame_parts(irb140, 0.1)
    assert len(frames) == 3 * (irb140.dof + 1)
    masses = inertia_parts(irb140, (0.0, 0.0, 1.0, 1.0), dot=0.02)
    assert len(masses) == 2 * irb140.dof
    for part in masses:
        mass = irb140.links[part.body].phi
        np.testing.assert_allclose(part.T_body_part[:3, 3], mass[1:4] / mass[0])
    assert 1.0 < reach(irb140) < 1.5
