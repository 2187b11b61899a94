"""MuJoCo's pictures: what is in them, beside PyBullet's, and what is said where nothing draws."""

import ctypes.util
from dataclasses import replace

import numpy as np
import pytest
from robots import DATA

from robotid_sim.engine import engines
from robotid_sim.errors import FileFormatError, OptionError, RobotIdError
from robotid_sim.kinematics.forward import link_poses
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.robot import Robot
from robotid_sim.viewer import mujoco_renderer, primitive_meshes
from robotid_sim.viewer.animation import Animation
from robotid_sim.viewer.bounds import surface_points
from robotid_sim.viewer.camera import Camera
from robotid_sim.viewer.compositor import Compositor
from robotid_sim.viewer.mujoco_renderer import MujocoRenderer, MujocoScene, backend
from robotid_sim.viewer.robot_visuals import VisualPart
from robotid_sim.viewer.view_settings import ViewSettings

LIGHT = np.array([0.0, -0.6, 0.8])

COARSE = 0.01
"""Relative precision of the depth that PyBullet's software renderer gives."""

RED, BLUE = (0.8, 0.1, 0.1, 1.0), (0.1, 0.1, 0.8, 1.0)


@pytest.fixture
def only_mujoco(monkeypatch) -> None:
    monkeypatch.setattr(engines, "default_engine", lambda: "mujoco")


def ball(x: float, color=RED, radius: float = 0.1) -> VisualPart:
    """Return a ball on the base."""
    T = np.eye(4)
    T[0, 3] = x
    return VisualPart(-1, T, primitive_meshes.sphere(radius), rgba=color)


def camera(width: int = 120, height: int = 80) -> Camera:
    """Return a camera in front of the root frame, two meters away, that looks along +y."""
    return Camera(np.array([0.0, -2.0, 0.0]), 0.0, 0.0, 2.0, width, height)


def test_a_ball_is_where_it_projects_as_large_as_it_is_and_lit(arm) -> None:
    with MujocoRenderer() as renderer:
        renderer.add(arm, [ball(0.3)])
        image = renderer.render(camera(), LIGHT, 3.0)
    rows, columns = np.nonzero(image.body)
    uv, _ = camera().project(np.array([0.3, 0.0, 0.0]))
    np.testing.assert_allclose(np.array([columns.mean(), rows.mean()]) / 3.0, uv, atol=0.7)
    assert image.depth[image.body].min() == pytest.approx(1.9, abs=2e-3)
    focus = 0.5 * 80 / np.tan(np.radians(18.0))
    assert np.sqrt(image.body.sum() / np.pi) / 3.0 == pytest.approx(0.1 / 2.0 * focus, rel=0.03)
    red = image.pixels[image.body].astype(int)
    assert (red[:, 0] > red[:, 1] + 20).all()
    upper, lower = image.pixels[rows.min() + 5, columns.mean().astype(int), 0], red[:, 0].min()
    assert upper > lower + 30  # the light is from above
    assert (image.pixels[..., 3] == 255).all()


def test_robots_are_posed_painted_hidden_and_added_later(arm) -> None:
    with MujocoRenderer() as renderer:
        first = renderer.add(arm, [ball(-0.3)])
        one = renderer.render(camera(), LIGHT)
        second = renderer.add(arm, [ball(0.3, BLUE)])
        two = renderer.render(camera(), LIGHT)
        assert two.body.sum() > 1.8 * one.body.sum()
        first.show(visible=False)
        second.paint({-1: RED})
        image = renderer.render(camera(), LIGHT)
        assert not image.body[:, :60].any()
        shown = image.pixels[image.body].astype(int)
        assert (shown[:, 0] > shown[:, 2]).all()
        second.paint({-1: None})
        first.show(visible=True)
        image = renderer.render(camera(), LIGHT)
        np.testing.assert_array_equal(image.pixels, two.pixels)


def test_bodies_stand_where_our_kinematics_puts_them(irb140) -> None:
    q = np.random.default_rng(0).uniform(irb140.limits.lower, irb140.limits.upper)
    scene = MujocoScene()
    parts = [VisualPart(k, np.eye(4), primitive_meshes.box(0.1, 0.2, 0.3)) for k in range(6)]
    scene.add(irb140, parts).pose(q)
    _, data = scene.update()
    poses = link_poses(irb140, q)
    np.testing.assert_allclose(data.xpos[1:], poses[:, :3, 3], atol=1e-12)
    np.testing.assert_allclose(data.xmat[1:].reshape(-1, 3, 3), poses[:, :3, :3], atol=1e-12)


def test_a_picture_larger_than_those_before_is_whole(arm) -> None:
    wall = ball(0.0, radius=5.0)
    wall.T_body_part[1, 3] = 6.0
    with MujocoRenderer() as renderer:
        renderer.add(arm, [wall])
        for scale in (1.0, 8.0, 2.0):
            assert renderer.render(camera(640, 480), LIGHT, scale).body.all()


def test_mirrored_and_flat_meshes_are_drawn(arm, tmp_path) -> None:
    path = tmp_path / "flat.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 1 0 1\nv 0 0 1\nf 1 2 3\nf 1 3 4\n")
    flat = VisualPart(-1, np.eye(4), path, scale=(-0.2, 1.0, 0.2))
    with MujocoRenderer() as renderer:
        renderer.add(arm, [flat])
        image = renderer.render(camera(), LIGHT)
    columns = np.nonzero(image.body)[1]
    assert columns.size > 20
    assert columns.max() <= 60  # to the left of the middle, though it lies to the right in its file


@pytest.mark.usefixtures("only_mujoco")
def test_a_mesh_that_cannot_be_read_is_an_error_with_its_name(arm, tmp_path) -> None:
    part = VisualPart(-1, np.eye(4), tmp_path / "none.stl")
    with pytest.raises(FileFormatError, match=r"none\.stl"):
        surface_points(arm, [part])
    with MujocoRenderer() as renderer, pytest.raises(RobotIdError, match=r"none\.stl"):
        renderer.add(arm, [part])


@pytest.mark.pybullet
@pytest.mark.parametrize("name", ["irb140", "rocr6"])
def test_both_engines_draw_the_same_picture(name, monkeypatch) -> None:
    sweep, images = Animation.sweep(load_robot(name)), []
    settings = ViewSettings(width=320, height=240, layers=frozenset(), renderer="software")
    view = None
    for engine in ("pybullet", "mujoco"):
        monkeypatch.setattr(engines, "default_engine", lambda engine=engine: engine)
        with Compositor([sweep], settings) as film:
            view = view or film.camera
            np.testing.assert_allclose(film.camera.eye, view.eye, atol=0.03)
            images.append(film._renderer.render(view, LIGHT, 2.0))
    ours, theirs = images
    assert (ours.body != theirs.body).mean() < 0.003  # edges
    both = ours.body & theirs.body
    difference = np.abs(ours.depth[both] / theirs.depth[both] - 1.0)
    assert np.quantile(difference, 0.98) < COARSE
    colors = [image.pixels[both].astype(float).mean(axis=0) for image in (ours, theirs)]
    assert np.abs(colors[0] - colors[1]).max() < 25.0


@pytest.mark.parametrize(
    ("present", "named", "expected"),
    [
        (("EGL", "OSMesa"), "", "egl"),
        (("OSMesa",), "", "osmesa"),
        (("EGL",), "osmesa", "osmesa"),
        (("EGL",), "nonsense", "egl"),
    ],
)
def test_what_draws_is_chosen_by_libraries_and_the_environment(
    monkeypatch, present, named, expected
) -> None:
    monkeypatch.setenv("MUJOCO_GL", named)
    monkeypatch.setattr(ctypes.util, "find_library", lambda name: name if name in present else None)
    assert backend() == expected


@pytest.mark.usefixtures("only_mujoco")
def test_where_nothing_draws_the_libraries_to_install_are_named(monkeypatch) -> None:
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.setattr(ctypes.util, "find_library", lambda name: None)
    with pytest.raises(OptionError, match="libegl1 or libosmesa6"):
        MujocoRenderer()


def test_a_driver_that_fails_is_told_in_one_line(monkeypatch) -> None:
    def fail(name: str) -> None:
        raise ImportError("Cannot initialize a EGL device display.\nSecond line")

    monkeypatch.setattr(mujoco_renderer.importlib, "import_module", fail)
    with pytest.raises(OptionError, match=r"by egl \(Cannot initialize a EGL device display\.\)"):
        MujocoRenderer("egl")


@pytest.mark.usefixtures("only_mujoco")
def test_a_robot_without_geometry_is_drawn_as_bars() -> None:
    robot = Robot.from_urdf(DATA / "scara.urdf")
    view = ViewSettings(width=160, height=120, layers=frozenset({"panel", "path"}))
    with Compositor([Animation.sweep(robot)], replace(view, renderer="auto")) as film:
        assert film.renderer in ("egl", "osmesa")
        assert np.asarray(film.frame(1.0)).std() > 5.0
