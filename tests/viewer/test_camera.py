"""Cameras: PyBullet's conventions, projection, and the fit to a motion."""

import numpy as np
import pytest

from robotid_sim.errors import UnknownNameError
from robotid_sim.viewer.camera import Camera, Margins
from robotid_sim.viewer.view_settings import VIEW_ANGLES


@pytest.fixture
def points() -> np.ndarray:
    return np.random.default_rng(0).uniform([-1.0, -0.4, 0.0], [0.6, 0.8, 1.5], (400, 3))


@pytest.mark.parametrize("name", VIEW_ANGLES)
def test_the_view_is_pybullets_for_the_same_angles(points, name, pybullet) -> None:
    camera = Camera.fit(points, name, 640, 480)
    theirs = pybullet.computeViewMatrixFromYawPitchRoll(
        camera.target.tolist(), camera.distance, camera.yaw, camera.pitch, 0.0, 2
    )
    np.testing.assert_allclose(camera.view_matrix(), np.reshape(theirs, (4, 4)).T, atol=1e-5)


def test_the_projection_is_pybullets(points, pybullet) -> None:
    camera = Camera.fit(points, "iso", 640, 480)
    theirs = pybullet.computeProjectionMatrixFOV(camera.fov, 4.0 / 3.0, *camera.clip_planes())
    np.testing.assert_allclose(camera.projection_matrix(), np.reshape(theirs, (4, 4)).T, atol=1e-5)


@pytest.mark.parametrize("name", VIEW_ANGLES)
@pytest.mark.parametrize("size", [(640, 480), (300, 900), (1280, 200)])
def test_a_fitted_camera_sees_all_and_touches_the_margins(points, name, size) -> None:
    margins = Margins(at_left=0.3, at_right=0.05, at_top=0.1, at_bottom=0.02)
    camera = Camera.fit(points, name, *size, margins=margins)
    uv, depth = camera.project(points)
    low = (margins.at_left * size[0], margins.at_top * size[1])
    high = ((1.0 - margins.at_right) * size[0], (1.0 - margins.at_bottom) * size[1])
    assert (depth > 0.0).all()
    assert (uv >= np.array(low) - 1e-6).all()
    assert (uv <= np.array(high) + 1e-6).all()
    room = [uv[:, 0].min() - low[0], high[0] - uv[:, 0].max()]
    room += [uv[:, 1].min() - low[1], high[1] - uv[:, 1].max()]
    assert min(room[:2]) < 1e-6 or min(room[2:]) < 1e-6


def test_projection_agrees_with_the_matrices(points) -> None:
    camera = Camera.fit(points, "iso", 640, 480)
    uv, depth = camera.project(points)
    clip = (
        np.c_[points, np.ones(len(points))] @ (camera.projection_matrix() @ camera.view_matrix()).T
    )
    ndc = clip[:, :3] / clip[:, 3:]
    np.testing.assert_allclose(uv, (ndc[:, :2] * (1, -1) + 1.0) * (320.0, 240.0), atol=1e-9)
    np.testing.assert_allclose(camera.depth(0.5 * (ndc[:, 2] + 1.0)), depth, rtol=1e-9)


def test_the_ray_of_a_pixel_goes_through_what_is_seen_there(points) -> None:
    camera = Camera.fit(points, "iso", 64, 48)
    seen = camera.eye + 2.0 * camera.rays()
    uv, depth = camera.project(seen)
    np.testing.assert_allclose(depth, 2.0)
    column, row = np.meshgrid(np.arange(64) + 0.5, np.arange(48) + 0.5)
    np.testing.assert_allclose(uv, np.stack([column, row], axis=-1), atol=1e-9)


def test_the_end_of_the_depth_buffer_is_infinitely_far(points) -> None:
    camera = Camera.fit(points, "iso", 64, 48)
    assert np.isinf(camera.depth(np.array([1.0, 0.9999998]))).all()


@pytest.mark.parametrize(
    ("name", "where"), [("front", (1, 0, 0)), ("side", (0, -1, 0)), ("top", (0, 0, 1))]
)
def test_directions_are_seen_from_where_they_say(name, where) -> None:
    cube = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T
    eye = Camera.fit(cube, name, 100, 100).eye
    assert eye @ where > 0.98 * np.linalg.norm(eye)


def test_an_unknown_direction_lists_the_known_ones(points) -> None:
    with pytest.raises(UnknownNameError, match="front, side, top, iso"):
        Camera.fit(points, "back", 64, 48)
