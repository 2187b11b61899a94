"""Frames of a playback: puppets, camera, light and everything drawn over them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from robotid_sim.arrays import Bool2D, Float1D, Float2D
from robotid_sim.engine.closing import Closing
from robotid_sim.model.robot import Robot
from robotid_sim.viewer import colors, overlays
from robotid_sim.viewer.animation import Animation, JointState, torque_share
from robotid_sim.viewer.bounds import drawable, motion_points, with_masses
from robotid_sim.viewer.camera import Camera, Margins
from robotid_sim.viewer.colors import Rgb
from robotid_sim.viewer.environment import Floor, Shadow, backdrop, light_camera, light_for
from robotid_sim.viewer.joint_panel import JointPanel
from robotid_sim.viewer.posed_robot import PosedRobot
from robotid_sim.viewer.renderer import PixelBox, RenderedImage, Renderer
from robotid_sim.viewer.robot_visuals import reach
from robotid_sim.viewer.view_settings import ViewSettings

POSES = 120
"""Poses of a motion that the camera is fitted to."""

GHOST_OPACITY, FADED = 0.42, 0.38
PATCH = 24
"""Pixels by which the rendered window is larger than the robot."""


@dataclass(slots=True)
class _Actor:
    """A puppet in front of the camera, and the part of the picture that it filled last."""

    puppet: PosedRobot
    window: PixelBox | None = None

    def shot(
        self, renderer: Renderer, camera: Camera, light: Float1D, scale: float
    ) -> RenderedImage:
        """Return the puppet's picture, rendered no larger than need be.

        Rendering time goes with the area. The window of the last picture is used again, with some
        room; if the puppet has reached its edge the whole picture is rendered.
        """
        whole = (0, 0, camera.width, camera.height)
        found = renderer.shoot(camera, light, scale, self.window)
        if found.window != whole and _touches(found, whole):
            found = renderer.shoot(camera, light, scale)
        self.window = _around(found, whole)
        return found


class Compositor(Closing):
    """Takes frames of a playback without a display; use it in a ``with`` block.

    Parameters
    ----------
    playbacks : sequence of Animation
        The motion, and optionally a second one that is shown as a ghost.
    view : ViewSettings
        How it is shown.
    models : mapping of str to Robot
        Models whose masses the layer ``inertia`` shows; by default the robot of the motion.
    """

    def __init__(
        self,
        playbacks: Sequence[Animation],
        view: ViewSettings,
        models: Mapping[str, Robot] | None = None,
    ) -> None:
        self.playback, robot = playbacks[0], playbacks[0].robot
        self.view = view
        self._models = dict(models or {"model": robot})
        self._colors = {n: colors.model_color(n, k) for k, n in enumerate(self._models)}
        self.parts, surface = drawable(robot)
        if "inertia" in view.layers:
            surface = with_masses(surface, self._models.values())
        seen = [p.q[:: max(1, p.t.size // POSES)] for p in playbacks]
        points = motion_points(robot, surface, np.vstack(seen))
        unit = min(view.height / 480.0, view.width / 560.0)
        self._unit = unit
        self._panel = JointPanel(self.playback, unit, self._notes(playbacks))
        taken = (0, 0) if "panel" not in view.layers else self._panel.size
        self.camera = beside(points, view, (taken[0] + 20.0 * unit, taken[1] + 20.0 * unit))
        self._light = light_for(self.camera)
        self._light_camera = light_camera(self._light, points)
        self.backdrop = backdrop(self.camera, Floor.below(points))
        self._shadow = Shadow(self.camera, self._light_camera)
        self._frame_size = 0.12 * reach(robot)
        self._paths = [
            overlays.PathOverlay(self.camera, p.t, p.tool_path(), color)
            for p, color in zip(playbacks, (colors.PATH, colors.GHOST), strict=False)
        ]
        self._ghost: tuple[_Actor, Animation] | None = None
        self._renderer = Renderer(view.renderer)
        try:
            self._robot = _Actor(PosedRobot(self._renderer.client, robot, self.parts))
            if len(playbacks) > 1:
                self._ghost = (
                    _Actor(PosedRobot(self._renderer.client, robot, self.parts)),
                    playbacks[1],
                )
                self._ghost[0].puppet.show(visible=False)
        except BaseException:
            self.close()
            raise

    @property
    def renderer(self) -> str:
        """What draws: ``software`` or ``egl``."""
        return self._renderer.kind

    def frame(self, time: float, scale: float = 2.0) -> Image.Image:
        """Return the picture at a time [s], rendered `scale` times as large and smoothed."""
        sample = self.playback.at(time)
        self._robot.puppet.pose(sample.q)
        if "torque" in self.view.layers and sample.tau is not None:
            shares = torque_share(self.playback.robot, sample.tau)
            warm = {k: colors.warm(float(share)) for k, share in enumerate([*shares, 0.0])}
            warm[-1] = warm.pop(len(shares))  # the base bears no torque of its own
            self._robot.puppet.paint({k: colors.rgba(color) for k, color in warm.items()})
        picture = self.backdrop.copy()
        silhouette = self._renderer.shoot(self._light_camera, self._light)
        self._shadow.cast(picture, silhouette)
        shot = self._robot.shot(self._renderer, self.camera, self._light, scale)
        opacity = FADED if "inertia" in self.view.layers else 1.0
        if self._ghost is None:
            _lay(picture, shot, shot.pixels, shot.body, opacity)
        else:
            actor, motion = self._ghost
            self._lay_with_ghost(picture, shot, actor, motion.at(time).q, opacity)
        self._draw_marks(picture, shot, sample)
        if "panel" in self.view.layers:
            self._draw_panel(picture, sample)
        return picture

    def close(self) -> None:
        """Disconnect from the engine."""
        self._renderer.close()

    def _notes(self, playbacks: Sequence[Animation]) -> list[tuple[str, Rgb]]:
        notes = []
        if len(playbacks) > 1:
            marks = (colors.PATH, colors.GHOST)
            notes += [(p.name, c) for p, c in zip(playbacks, marks, strict=False)]
        if "inertia" in self.view.layers:
            notes += list(self._colors.items())
        return notes

    def _lay_with_ghost(
        self, picture: Image.Image, shot: RenderedImage, actor: _Actor, q: Float1D, opacity: float
    ) -> None:
        self._robot.puppet.show(visible=False)
        actor.puppet.show(visible=True)
        actor.puppet.pose(q)
        ghost = actor.shot(self._renderer, self.camera, self._light, shot.scale)
        actor.puppet.show(visible=False)
        self._robot.puppet.show(visible=True)
        gray = ghost.pixels[..., :3].mean(axis=-1, keepdims=True)
        tint = 0.5 * gray + 0.5 * np.array(colors.GHOST)
        pixels = np.dstack([tint.astype(np.uint8), ghost.pixels[..., 3]])
        rows, columns = np.indices(ghost.depth.shape)
        uv = np.stack([columns, rows], axis=-1) / ghost.scale + ghost.window[:2]
        front = ghost.depth < shot.depth_at(uv) * (1.0 - overlays.BIAS)
        _lay(picture, ghost, pixels, ghost.body & ~front, GHOST_OPACITY)
        _lay(picture, shot, shot.pixels, shot.body, opacity)
        _lay(picture, ghost, pixels, ghost.body & front, GHOST_OPACITY)

    def _draw_marks(self, picture: Image.Image, shot: RenderedImage, sample: JointState) -> None:
        layers = self.view.layers & {"path", "frames", "inertia"}
        if not layers:
            return
        canvas = overlays.Canvas(self.camera, self._unit)
        if "path" in layers:
            for path in reversed(self._paths):
                path.draw(canvas, shot, sample.t)
        if "inertia" in layers:
            overlays.draw_inertia(canvas, self._models, self._colors, sample.q)
        if "frames" in layers:
            overlays.draw_frames(canvas, self.playback.robot, sample.q, self._frame_size)
        canvas.lay_on(picture)

    def _draw_panel(self, picture: Image.Image, sample: JointState) -> None:
        edge = round(10 * self._unit)
        picture.paste(self._panel.draw(sample), (edge, edge))
        done = (sample.t - self.playback.start) / (self.playback.end - self.playback.start)
        top = picture.height - max(2, round(3 * self._unit))
        pen = ImageDraw.Draw(picture)
        pen.rectangle((0, top, picture.width, picture.height), fill=colors.TRACK)
        pen.rectangle((0, top, round(done * picture.width), picture.height), fill=colors.PATH)


def beside(points: Float2D, view: ViewSettings, corner: tuple[float, float]) -> Camera:
    """Return the nearest camera that keeps points out of the top left corner of its picture."""
    for share in np.linspace(0.0, 1.0, 12):
        margins = Margins(left=0.05 + share * corner[0] / view.width, bottom=0.06)
        camera = Camera.fitted(points, view.camera, view.width, view.height, margins=margins)
        uv, _ = camera.project(points)
        if not (uv < corner).all(axis=1).any():
            break
    return camera


def _lay(
    picture: Image.Image,
    shot: RenderedImage,
    pixels: NDArray[np.uint8],
    where: Bool2D,
    opacity: float,
) -> None:
    """Lay the pixels of a shot on a picture, smoothed down to its resolution."""
    left, top, right, bottom = shot.window
    cut = pixels * where[..., None].astype(np.uint8)  # color times opacity, which is 0 or 1
    size = (where.shape[1], where.shape[0])
    body = Image.frombuffer("RGBa", size, cut.tobytes())
    body = body.resize((right - left, bottom - top), Image.Resampling.BOX).convert("RGBA")
    mask = body.getchannel("A")
    if opacity < 1.0:
        mask = mask.point(lambda value: round(value * opacity))
    picture.paste(body.convert("RGB"), (left, top), mask)


def _touches(shot: RenderedImage, whole: PixelBox) -> bool:
    """Return whether the body reaches an edge of the window that is not one of the picture."""
    edges = (shot.body[:, 0], shot.body[0], shot.body[:, -1], shot.body[-1])
    inner = (a != b for a, b in zip(shot.window, whole, strict=True))
    return any(inside and edge.any() for inside, edge in zip(inner, edges, strict=True))


def _around(shot: RenderedImage, whole: PixelBox) -> PixelBox | None:
    """Return the window around the body of a shot with some room; even, for whole pixels."""
    columns, rows = (np.flatnonzero(shot.body.any(axis=axis)) for axis in (0, 1))
    if not columns.size:
        return None
    left, top = shot.window[:2]
    low = (left + columns[0] / shot.scale, top + rows[0] / shot.scale)
    high = (left + columns[-1] / shot.scale, top + rows[-1] / shot.scale)
    a, b = (max(0, 2 * int((value - PATCH) // 2)) for value in low)
    c, d = (2 * int((value + PATCH) // 2 + 1) for value in high)
    return a, b, min(c, whole[2]), min(d, whole[3])
