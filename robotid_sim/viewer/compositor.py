"""Pictures of an animation: robot, ghost, surroundings and overlays, laid over one another."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from robotid_sim.arrays import Bool2D, Float1D, Float2D
from robotid_sim.engine.client import Closing
from robotid_sim.model.robot import Robot
from robotid_sim.viewer import colors, overlays
from robotid_sim.viewer.animation import Animation, JointState, torque_share
from robotid_sim.viewer.bounds import visuals_and_bounds
from robotid_sim.viewer.camera import Camera, Margins
from robotid_sim.viewer.environment import Floor, Shadow, backdrop, light_camera, light_for
from robotid_sim.viewer.joint_panel import JointPanel, legend
from robotid_sim.viewer.posed_robot import PosedRobot
from robotid_sim.viewer.renderer import PixelBox, RenderedImage, Renderer
from robotid_sim.viewer.robot_visuals import reach
from robotid_sim.viewer.view_settings import ViewSettings

GHOST_OPACITY, FADED = 0.42, 0.38
PATCH = 24
"""Pixels by which the rendered part of the picture is larger than the robot."""


class _RobotImage:
    """A robot in front of the camera, and the part of the picture that it filled last."""

    def __init__(self, renderer: Renderer, posed: PosedRobot) -> None:
        self.renderer, self.posed = renderer, posed
        self._box: PixelBox | None = None

    def render(self, camera: Camera, light: Float1D, scale: float) -> RenderedImage:
        """Return the robot's picture, rendered no larger than need be.

        Rendering time goes with the area. The part of the last picture is used again, with some
        room; if the robot has reached its edge the whole picture is rendered.
        """
        whole = (0, 0, camera.width, camera.height)
        image = self.renderer.render(camera, light, scale, self._box)
        if image.box != whole and _touches(image, whole):
            image = self.renderer.render(camera, light, scale)
        self._box = _around(image, whole)
        return image


class Compositor(Closing):
    """Takes pictures of an animation without a display; use it in a ``with`` block.

    A second animation is shown as a ghost. `models` are those whose masses the layer ``inertia``
    shows, by default the robot of the motion.
    """

    def __init__(
        self,
        animations: Sequence[Animation],
        settings: ViewSettings,
        models: Mapping[str, Robot] | None = None,
    ) -> None:
        self.animation, robot = animations[0], animations[0].robot
        self.settings = settings
        self._models = dict(models or {"model": robot}) if "inertia" in settings.layers else {}
        self._colors = {n: colors.model_color(n, k) for k, n in enumerate(self._models)}
        self.parts, points = visuals_and_bounds(animations, self._models.values())
        unit = self._unit = min(settings.height / 480.0, settings.width / 560.0)
        self._panel = JointPanel(self.animation, unit, legend(animations, self._models))
        corner = np.array(self._panel.size) * ("panel" in settings.layers) + 20.0 * unit
        self.camera = beside(points, settings, corner)
        self._light = light_for(self.camera)
        self._light_camera = light_camera(self._light, points)
        self.backdrop = backdrop(self.camera, Floor.below(points))
        self._shadow = Shadow(self.camera, self._light_camera)
        self._paths = [
            overlays.PathOverlay(self.camera, a.t, a.tool_path(), color)
            for a, color in zip(animations, colors.ANIMATIONS, strict=False)
        ]
        self._ghost: tuple[_RobotImage, Animation] | None = None
        self._renderer = Renderer(settings.renderer)
        try:
            self._robot = self._robot_image()
            if len(animations) > 1:
                self._ghost = self._robot_image(), animations[1]
                self._ghost[0].posed.show(visible=False)
        except BaseException:
            self.close()
            raise

    def _robot_image(self) -> _RobotImage:
        posed = PosedRobot(self._renderer.client, self.animation.robot, self.parts)
        return _RobotImage(self._renderer, posed)

    @property
    def renderer(self) -> str:
        """What draws: ``software`` or ``egl``."""
        return self._renderer.kind

    def frame(self, time: float, scale: float = 2.0) -> Image.Image:
        """Return the picture at a time [s], rendered `scale` times as large and smoothed."""
        state, layers = self.animation.at(time), self.settings.layers
        self._robot.posed.pose(state.q)
        if "torque" in layers and state.tau is not None:
            shares = torque_share(self.animation.robot, state.tau)
            tones = dict(enumerate(shares)) | {-1: 0.0}  # the base bears no torque of its own
            warm = {k: colors.rgba(colors.warm(float(share))) for k, share in tones.items()}
            self._robot.posed.paint(warm)
        picture = self.backdrop.copy()
        self._shadow.cast(picture, self._renderer.render(self._light_camera, self._light))
        image = self._robot.render(self.camera, self._light, scale)
        opacity = FADED if "inertia" in layers else 1.0
        if self._ghost is None:
            _lay(picture, image, image.pixels, image.body, opacity)
        else:
            ghost, animation = self._ghost
            self._lay_with_ghost(picture, image, ghost, animation.at(time).q, opacity)
        self._draw_overlays(picture, image, state)
        if "panel" in layers:
            self._draw_panel(picture, state)
        return picture

    def close(self) -> None:
        """Disconnect from the engine."""
        self._renderer.close()

    def _lay_with_ghost(
        self,
        picture: Image.Image,
        image: RenderedImage,
        other: _RobotImage,
        q: Float1D,
        opacity: float,
    ) -> None:
        self._robot.posed.show(visible=False)
        other.posed.show(visible=True)
        other.posed.pose(q)
        ghost = other.render(self.camera, self._light, image.scale)
        other.posed.show(visible=False)
        self._robot.posed.show(visible=True)
        gray = ghost.pixels[..., :3].mean(axis=-1, keepdims=True)
        tint = 0.5 * gray + 0.5 * np.array(colors.GHOST)
        pixels = np.dstack([tint.astype(np.uint8), ghost.pixels[..., 3]])
        rows, columns = np.indices(ghost.depth.shape)
        uv = np.stack([columns, rows], axis=-1) / ghost.scale + ghost.box[:2]
        front = ghost.depth < image.depth_at(uv) * (1.0 - overlays.BIAS)
        _lay(picture, ghost, pixels, ghost.body & ~front, GHOST_OPACITY)
        _lay(picture, image, image.pixels, image.body, opacity)
        _lay(picture, ghost, pixels, ghost.body & front, GHOST_OPACITY)

    def _draw_overlays(self, picture: Image.Image, image: RenderedImage, state: JointState) -> None:
        if self.settings.layers <= {"panel", "torque"}:
            return
        canvas, robot = overlays.OverlayCanvas(self.camera, self._unit), self.animation.robot
        if "path" in self.settings.layers:
            for path in reversed(self._paths):
                path.draw(canvas, image, state.t)
        overlays.draw_inertia(canvas, self._models, self._colors, state.q)
        if "frames" in self.settings.layers:
            overlays.draw_frames(canvas, robot, state.q, 0.12 * reach(robot))
        canvas.lay_on(picture)

    def _draw_panel(self, picture: Image.Image, state: JointState) -> None:
        edge = round(10 * self._unit)
        picture.paste(self._panel.draw(state), (edge, edge))
        done, top = self.animation.share_of(state.t), picture.height - max(2, round(3 * self._unit))
        pen = ImageDraw.Draw(picture)
        for width, color in ((picture.width, colors.TRACK), (done * picture.width, colors.PATH)):
            pen.rectangle((0, top, round(width), picture.height), fill=color)


def beside(points: Float2D, settings: ViewSettings, corner: Float1D) -> Camera:
    """Return the nearest camera that keeps points out of the top left corner of its picture."""
    width, height = settings.width, settings.height
    for share in np.linspace(0.0, 1.0, 12):
        margins = Margins(left=0.05 + share * float(corner[0]) / width, bottom=0.06)
        camera = Camera.fitted(points, settings.camera, width, height, margins=margins)
        uv, _ = camera.project(points)
        if not (uv < corner).all(axis=1).any():
            break
    return camera


def _lay(
    picture: Image.Image,
    image: RenderedImage,
    pixels: NDArray[np.uint8],
    where: Bool2D,
    opacity: float,
) -> None:
    """Lay the pixels of an image on a picture, smoothed down to its resolution."""
    left, top, right, bottom = image.box
    cut = pixels * where[..., None].astype(np.uint8)  # color times opacity, which is 0 or 1
    size = (where.shape[1], where.shape[0])
    body = Image.frombuffer("RGBa", size, cut.tobytes())
    body = body.resize((right - left, bottom - top), Image.Resampling.BOX).convert("RGBA")
    mask = body.getchannel("A")
    if opacity < 1.0:
        mask = mask.point(lambda value: round(value * opacity))
    picture.paste(body.convert("RGB"), (left, top), mask)


def _touches(image: RenderedImage, whole: PixelBox) -> bool:
    """Return whether the body reaches an edge of the image that is not one of the picture."""
    edges = (image.body[:, 0], image.body[0], image.body[:, -1], image.body[-1])
    inner = (a != b for a, b in zip(image.box, whole, strict=True))
    return any(inside and edge.any() for inside, edge in zip(inner, edges, strict=True))


def _around(image: RenderedImage, whole: PixelBox) -> PixelBox | None:
    """Return the part around the body of an image with some room; even, for whole pixels."""
    columns, rows = (np.flatnonzero(image.body.any(axis=axis)) for axis in (0, 1))
    if not columns.size:
        return None
    left, top = image.box[:2]
    low = (left + columns[0] / image.scale, top + rows[0] / image.scale)
    high = (left + columns[-1] / image.scale, top + rows[-1] / image.scale)
    a, b = (max(0, 2 * int((value - PATCH) // 2)) for value in low)
    c, d = (2 * int((value + PATCH) // 2 + 1) for value in high)
    return a, b, min(c, whole[2]), min(d, whole[3])
