"""What stands in the window, by an engine without one: colors, layers, ghosts, texts."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from robots import DATA

from robotid_sim.engine.client import EngineClient
from robotid_sim.model.robot import Robot
from robotid_sim.viewer import colors
from robotid_sim.viewer.animation import Animation, ContactTimes
from robotid_sim.viewer.pybullet_renderer import PosedRobot
from robotid_sim.viewer.view_settings import WINDOW_LAYERS, ViewSettings
from robotid_sim.viewer.window_scene import FADED_OPACITY, MAX_LINES, WindowScene

SETTINGS = ViewSettings(width=1280, height=800)


class DrawingClient(EngineClient):
    """An engine that keeps what its window would have drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: dict[int, tuple[object, ...]] = {}
        self.texts: list[str] = []
        self.camera: tuple[float, ...] = ()

    def addUserDebugLine(self, *words: object) -> int:
        self.lines[len(self.lines)] = words
        return len(self.lines) - 1

    def removeUserDebugItem(self, number: int) -> None:
        del self.lines[number]

    def addUserDebugText(self, text: str, *place: object, **words: object) -> int:
        assert ("replaceItemUniqueId" in words) == bool(self.texts)
        self.texts.append(text)
        return 0

    def resetDebugVisualizerCamera(self, *camera: float) -> None:
        self.camera = camera


@pytest.fixture
def client() -> Iterator[DrawingClient]:
    with DrawingClient() as opened:
        yield opened


@pytest.fixture
def scene(client, sweep) -> WindowScene:
    return WindowScene(client, [sweep], {"model": sweep.robot}, SETTINGS)


def part_colors(client: EngineClient, posed: PosedRobot) -> np.ndarray:
    """Return the colors of the parts of a robot, shape (parts, 4)."""
    shapes = {shape[1]: shape[7] for shape in client.getVisualShapeData(posed._body)}
    return np.array([shapes[link] for link in posed.links])


def settle(scene: WindowScene, time: float, layers: set[str]) -> None:
    """Show a time until every body has its color."""
    for _ in range(scene.animation.robot.dof + 1):
        scene.update(scene.animation.state_at(time), layers)


@pytest.mark.slow
def test_links_are_red_while_they_touch(client, scene, sweep) -> None:
    contacts = ContactTimes.from_animation(sweep)
    start, end = contacts.spans()[0]
    robot = scene._robots[1.0]
    own = part_colors(client, robot)
    settle(scene, 0.5 * (start + end), {"contacts"})
    touching = contacts.contacts_at(0.5 * (start + end))
    for part, color, before in zip(robot.parts, part_colors(client, robot), own, strict=True):
        wanted = colors.rgba(colors.CONTACT_COLOR) if part.body in touching else before
        np.testing.assert_allclose(color, wanted, atol=1e-6)
    assert ", contact: " in client.texts[-1]
    settle(scene, start - 0.5, {"contacts"})
    np.testing.assert_allclose(part_colors(client, robot), own, atol=1e-6)
    assert "contact" not in client.texts[-1]


def test_torque_colors_links_and_not_the_base(client, scene, sweep) -> None:
    robot = scene._robots[1.0]
    own = part_colors(client, robot)
    settle(scene, 20.0, {"torque"})
    share = np.abs(sweep.state_at(20.0).tau / sweep.robot.limits.effort)
    for part, color in zip(robot.parts, part_colors(client, robot), strict=True):
        wanted = colors.warm(0.0 if part.body < 0 else share[part.body])
        np.testing.assert_allclose(color, colors.rgba(wanted), atol=0.06)  # in steps
    settle(scene, 20.0, set())
    np.testing.assert_allclose(part_colors(client, robot), own, atol=1e-6)


@pytest.mark.slow
def test_layers_show_and_hide_what_they_name(scene) -> None:
    for layers in (set(), {"frames"}, {"inertia"}, {"frames", "inertia"}):
        settle(scene, 1.0, layers)
        assert scene._frames.visible == ("frames" in layers)
        assert [masses.visible for masses in scene._ellipsoids] == ["inertia" in layers]
        assert scene._robots[FADED_OPACITY].visible == ("inertia" in layers)
        assert scene._robots[1.0].visible != scene._robots[FADED_OPACITY].visible


@pytest.mark.slow
def test_paths_follow_the_tool_and_are_taken_away(client, sweep) -> None:
    ghost = replace(sweep, name="other", q=0.5 * sweep.q)
    scene = WindowScene(client, [sweep, ghost], {}, SETTINGS)
    settle(scene, 1.0, {"path"})
    assert len(client.lines) == MAX_LINES
    starts = np.array([line[0] for line in client.lines.values()])
    for animation, part in ((sweep, starts[: MAX_LINES // 2]), (ghost, starts[MAX_LINES // 2 :])):
        apart = np.linalg.norm(part[:, None] - animation.tool_path()[None], axis=-1)
        assert apart.min(axis=1).max() < 0.02
    settle(scene, 1.0, set())
    assert client.lines == {}


@pytest.mark.slow
def test_ghosts_are_translucent_in_the_color_of_their_motion(client, sweep) -> None:
    reference = replace(sweep, name="nominal", color=colors.MODEL_COLORS["nominal"])
    scene = WindowScene(client, [sweep, reference], {}, SETTINGS)
    scene.update(sweep.state_at(5.0), set())
    for ghost in scene._ghosts:
        for color in part_colors(client, ghost):
            np.testing.assert_allclose(color[:3], colors.rgba(reference.color)[:3], atol=1e-6)
            assert color[3] < 0.5


def test_the_text_names_robot_motion_and_time(client, scene) -> None:
    for time in (0.0, 0.01, 3.0):
        scene.update(scene.animation.state_at(time), set())
    assert client.texts == ["irb140: joint sweep, 0.0 s", "irb140: joint sweep, 3.0 s"]


@pytest.mark.slow
def test_the_camera_has_the_name_and_the_motion_in_the_middle(client, sweep) -> None:
    for name, yaw, pitch in (("front", 90.0, -8.0), ("top", 90.0, -89.0)):
        WindowScene(client, [sweep], {}, replace(SETTINGS, camera=name))
        distance, *angles, target = client.camera
        assert tuple(angles) == (yaw, pitch)
        assert 0.5 < distance < 3.0
        assert np.abs(target).max() < 1.0


def test_a_log_without_torque_and_a_robot_without_meshes_are_shown(client) -> None:
    arm = Robot.from_urdf(DATA / "2r.urdf")
    silent = replace(Animation.sweep(arm), tau=None)
    scene = WindowScene(client, [silent], {"model": arm}, SETTINGS)
    settle(scene, 1.0, set(WINDOW_LAYERS))
    assert scene._robots[FADED_OPACITY].visible
