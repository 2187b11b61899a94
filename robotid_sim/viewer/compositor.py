"""Pictures of an animation: robot, ghosts, surroundings and overlays in layers."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from robotid_sim.arrays import Bool2D, Float1D, Float2D
from robotid_sim.engine.closing import Closeable
from robotid_sim.model.robot import Robot
from robotid_sim.viewer import colors, overlays
from robotid_sim.viewer.animation import (
    Animation,
    ContactTimes,
    JointState,
    animation_colors,
    torque_share,
)
from robotid_sim.viewer.bounds import visuals_and_bounds
from robotid_sim.viewer.camera import Camera, Margins
from robotid_sim.viewer.colors import Rgb
from robotid_sim.viewer.joint_panel import JointCurves, JointPanel, legend
from robotid_sim.viewer.overlays import Floor, Shadow, backdrop, light_camera, light_for
from robotid_sim.viewer.renderer import (
    PixelBox,
    RenderedImage,
    RenderedRobot,
    Renderer,
    open_renderer,
)
from robotid_sim.viewer.robot_visuals import reach
from robotid_sim.viewer.view_settings import ViewSettings

GHOST_OPACITY, FADED_OPACITY = 0.42, 0.38
"""Opacity of ghosts, and of the robot if its inertia is shown."""
MODEL_OPACITY = 0.6
"""Opacity of ghosts in their own colors, which differ little from the color of the robot."""
PATCH_PIXELS = 24
"""Margin of the rendered part of the picture around the robot [pixels]."""


class _RobotImage:
    """A robot in front of the camera, and the part of the last picture that contains it."""

    def __init__(self, renderer: Renderer, posed: RenderedRobot) -> None:
        self.renderer, self.posed = renderer, posed
        self._box: PixelBox | None = None

    def render(self, camera: Camera, light: Float1D, scale: float) -> RenderedImage:
        """Render the part of the picture with the robot.

        Rendering time is proportional to the area. The part from the last picture is reused, with a
        margin; if the robot reaches its edge, the whole picture is rendered.
        """
        frame = (0, 0, camera.width, camera.height)
        image = self.renderer.render(camera, light, scale, self._box)
        if image.box != frame and _is_at_edge(image, frame):
            image = self.renderer.render(camera, light, scale)
        self._box = _crop_around(image, frame)
        return image


class Compositor(Closeable):
    """Takes pictures of an animation without a display; use it in a ``with`` block.

    Animations after the first are shown as ghosts, the last one in front. The layer ``inertia``
    shows the inertia of `models`, by default of the robot of the motion.
    """

    def __init__(
        self,
        animations: Sequence[Animation],
        settings: ViewSettings,
        models: Mapping[str, Robot] | None = None,
    ) -> None:
        self.animation, robot = animations[0], animations[0].robot
        tones = animation_colors(animations)
        self.settings = settings
        named = settings.layers & {"inertia", "curves"}
        self._models = dict(models or {"model": robot}) if "inertia" in settings.layers else {}
        self._colors = {n: colors.model_color(n, k) for k, n in enumerate(self._models)}
        self.parts, points = visuals_and_bounds(animations, self._models.values())
        unit = self._unit = min(settings.height / 480.0, settings.width / 560.0)
        self._contacts = (
            ContactTimes.from_animation(self.animation) if "contacts" in settings.layers else None
        )
        notes = legend(animations, (models or {}) if named else {})
        self._joint = settings.joint_of(robot)
        for scale in (unit, *unit * np.linspace(0.95, 0.5, 10)):  # the largest that fits
            self._panel = JointPanel(self.animation, scale, notes, self._contacts)
            self._curves = JointCurves(self.animation, scale, models, animations[1:])
            boards = {"panel": self._panel.size, "curves": self._curves.size}
            sizes = [size for name, size in boards.items() if name in settings.layers]
            widest, total = max((w for w, _ in sizes), default=0), sum(h for _, h in sizes)
            corner = np.array([widest, total]) + 10.0 * unit * (1 + len(sizes))
            if corner[1] <= settings.height:
                break
        self.camera = fit_outside_corner(points, settings, corner)
        self._light = light_for(self.camera)
        self._light_camera = light_camera(self._light, points)
        self.backdrop = backdrop(self.camera, Floor.from_points(points))
        self._shadow = Shadow(self.camera, self._light_camera)
        self._paths = [
            overlays.PathOverlay(self.camera, a.t, a.tool_path(), color)
            for a, color in zip(animations, tones, strict=True)
        ]
        self._ghosts: list[tuple[_RobotImage, Animation, Rgb]] = []
        self._renderer = open_renderer(settings.renderer)
        try:
            self._robot = self._robot_image()
            for animation, color in zip(animations[1:], tones[1:], strict=True):
                self._ghosts.append((self._robot_image(), animation, color))
                self._ghosts[-1][0].posed.show(visible=False)
        except BaseException:
            self.close()
            raise

    def _robot_image(self) -> _RobotImage:
        posed = self._renderer.add(self.animation.robot, self.parts)
        return _RobotImage(self._renderer, posed)

    @property
    def renderer(self) -> str:
        """Kind of the renderer, such as ``software`` or ``egl``."""
        return self._renderer.kind

    def frame(self, time: float, scale: float = 2.0) -> Image.Image:
        """Make the picture at a time [s], rendered `scale` times as large and smoothed."""
        state, layers = self.animation.state_at(time), self.settings.layers
        self._robot.posed.pose(state.q)
        if "torque" in layers and state.tau is not None:
            shares = torque_share(self.animation.robot, state.tau)
            tones = dict(enumerate(shares)) | {-1: 0.0}  # the base has no joint torque
            warm = {k: colors.rgba(colors.warm(float(share))) for k, share in tones.items()}
            self._robot.posed.paint(warm)
        elif self._contacts:
            red, bodies = colors.rgba(colors.CONTACT_COLOR), self._contacts.bodies_ever_in_contact
            touching = self._contacts.contacts_at(state.t)
            self._robot.posed.paint({k: red if k in touching else None for k in bodies})
        picture = self.backdrop.copy()
        self._shadow.cast(picture, self._renderer.render(self._light_camera, self._light))
        image = self._robot.render(self.camera, self._light, scale)
        opacity = FADED_OPACITY if "inertia" in layers else 1.0
        ghosts = self._render_ghosts(image, time)
        alpha = [MODEL_OPACITY if a.color else GHOST_OPACITY for _, a, _ in self._ghosts]
        for (ghost, front), share in zip(ghosts, alpha, strict=True):
            _lay(picture, ghost, ghost.pixels, ghost.body & ~front, share)
        _lay(picture, image, image.pixels, image.body, opacity)
        for (ghost, front), share in zip(ghosts, alpha, strict=True):
            _lay(picture, ghost, ghost.pixels, ghost.body & front, share)
        self._draw_overlays(picture, image, state)
        self._draw_boards(picture, state)
        return picture

    def close(self) -> None:
        """Disconnect from the engine."""
        self._renderer.close()

    def _render_ghosts(
        self, image: RenderedImage, time: float
    ) -> list[tuple[RenderedImage, Bool2D]]:
        """Render the ghosts in their colors, and mark where they are in front of the robot."""
        rendered = []
        self._robot.posed.show(visible=False)
        for ghost_robot, animation, color in self._ghosts:
            ghost_robot.posed.show(visible=True)
            ghost_robot.posed.pose(animation.state_at(time).q)
            ghost = ghost_robot.render(self.camera, self._light, image.scale)
            ghost_robot.posed.show(visible=False)
            gray = ghost.pixels[..., :3].mean(axis=-1, keepdims=True)
            tint = 0.5 * gray + 0.5 * np.array(color)
            pixels = np.dstack([tint.astype(np.uint8), ghost.pixels[..., 3]])
            rows, columns = np.indices(ghost.depth.shape)
            uv = np.stack([columns, rows], axis=-1) / ghost.scale + ghost.box[:2]
            front = ghost.depth < image.depth_at(uv) * (1.0 - overlays.DEPTH_BIAS)
            rendered.append((ghost._replace(pixels=pixels), front))
        self._robot.posed.show(visible=True)
        return rendered

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

    def _draw_boards(self, picture: Image.Image, state: JointState) -> None:
        """Draw panel, curves, and a bar with the elapsed share of the motion."""
        layers, edge = self.settings.layers, round(10 * self._unit)
        offset = edge
        if "panel" in layers:
            picture.paste(self._panel.draw(state), (edge, offset))
            offset += self._panel.size[1] + edge
        if "curves" in layers:
            picture.paste(self._curves.draw(state.t, self._joint), (edge, offset))
        if not layers & {"panel", "curves"}:
            return
        width, top = picture.width, picture.height - max(2, round(3 * self._unit))
        elapsed = self.animation.share_of(state.t)
        contacts = self._contacts.spans() if self._contacts else []
        spans = [(0.0, 1.0, colors.TRACK_COLOR), (0.0, elapsed, colors.PATH_COLOR)]
        share = self.animation.share_of
        spans += [(share(start), share(end), colors.CONTACT_COLOR) for start, end in contacts]
        pen = ImageDraw.Draw(picture)
        for begin, end, color in spans:
            pen.rectangle((round(begin * width), top, round(end * width), picture.height), color)


def fit_outside_corner(points: Float2D, settings: ViewSettings, corner: Float1D) -> Camera:
    """Fit the nearest camera that keeps points out of the top left corner of its picture."""
    width, height = settings.width, settings.height
    for share in np.linspace(0.0, 1.0, 12):
        margins = Margins(at_left=0.05 + share * float(corner[0]) / width, at_bottom=0.06)
        camera = Camera.fit(points, settings.camera, width, height, margins=margins)
        uv, _ = camera.project(points)
        if not (uv < corner).all(axis=1).any():
            break
    return camera


def _lay(
    picture: Image.Image,
    image: RenderedImage,
    pixels: NDArray[np.uint8],
    visible: Bool2D,
    opacity: float,
) -> None:
    """Draw the pixels of an image on a picture, smoothed to its resolution."""
    x, y, x_end, y_end = image.box
    colored = pixels * visible[..., None].astype(np.uint8)  # color times opacity, which is 0 or 1
    size = (visible.shape[1], visible.shape[0])
    body = Image.frombuffer("RGBa", size, colored.tobytes())
    body = body.resize((x_end - x, y_end - y), Image.Resampling.BOX).convert("RGBA")
    mask = body.getchannel("A")
    if opacity < 1.0:
        mask = mask.point(lambda value: round(value * opacity))
    picture.paste(body.convert("RGB"), (x, y), mask)


def _is_at_edge(image: RenderedImage, frame: PixelBox) -> bool:
    """Check whether the body reaches an edge of the image that is not an edge of the picture."""
    edges = (image.body[:, 0], image.body[0], image.body[:, -1], image.body[-1])
    inner = (a != b for a, b in zip(image.box, frame, strict=True))
    return any(inside and edge.any() for inside, edge in zip(inner, edges, strict=True))


def _crop_around(image: RenderedImage, frame: PixelBox) -> PixelBox | None:
    """Find the part of an image around the body, with a margin and even edges."""
    columns, rows = (np.flatnonzero(image.body.any(axis=axis)) for axis in (0, 1))
    if not columns.size:
        return None
    x, y = image.box[:2]
    low = (x + columns[0] / image.scale, y + rows[0] / image.scale)
    high = (x + columns[-1] / image.scale, y + rows[-1] / image.scale)
    a, b = (max(0, 2 * int((value - PATCH_PIXELS) // 2)) for value in low)
    c, d = (2 * int((value + PATCH_PIXELS) // 2 + 1) for value in high)
    return a, b, min(c, frame[2]), min(d, frame[3])
