"""Flat pictures in PyBullet's window: it has no text of its own worth reading.

A billboard is a textured rectangle that stands right in front of the camera, so that every pixel of
its picture meets one of the window.
"""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw
from scipy.spatial.transform import Rotation

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.engine.client import EngineClient
from robotid_sim.viewer import colors
from robotid_sim.viewer.camera import Camera
from robotid_sim.viewer.environment import Floor
from robotid_sim.viewer.posed_robot import ELSEWHERE

FOV = 90.0
"""Field of view of PyBullet's window [deg]."""

LIGHT = (0.35, -0.3, 1.0)
"""Direction to the light."""

PIXEL = 1.5e-4
"""Size of a pixel of a billboard [m]; small, so that no robot comes between."""

TEXTURE_TRIES = 5
"""How often a body is given its texture, for PyBullet may lose the command.

It asks the window's thread for the number of the shape and, having asked, presets the answer to -1.
If the window answered before that, the texture goes to no shape and nobody is told: once in about
3,000 commands. One that has arrived stays, so a command more does no harm.
"""

TILT = 45.0
"""Angle by which a billboard's normal is turned up, to the light, from facing the camera [deg]."""


def window_camera(client: EngineClient) -> Camera | None:
    """Return the camera of a window, or None if it has none.

    That is so before it has drawn its first frame and while it closes: what PyBullet then reports
    is no rotation.
    """
    report = client.getDebugVisualizerCamera()
    if report is None:
        return None
    matrix = np.reshape(report[2], (4, 4)).T
    axes = matrix[:3, :3].T
    if not np.allclose(axes @ axes.T, np.eye(3), atol=1e-3):
        return None
    width, height = (max(int(side), 1) for side in report[:2])
    yaw, pitch, distance = map(float, report[8:11])
    return Camera(-axes @ matrix[:3, 3], yaw, pitch, distance, width, height, FOV)


def look(client: EngineClient, distance: float, yaw: float, pitch: float, target: Float1D) -> None:
    """Set the window's camera: distance of the target [m], yaw and pitch [deg], target [m]."""
    client.resetDebugVisualizerCamera(distance, yaw, pitch, target.tolist())


class Billboard:
    """A picture of fixed size in pixels; PyBullet reads its texture from a file in a folder."""

    def __init__(self, client: EngineClient, picture: Image.Image, folder: Path) -> None:
        self._client, self.size = client, picture.size
        up = np.radians(TILT)
        corners = [[0, 0, 0], [1, 0, 0], [1, -1, 0], [0, -1, 0]]
        normal = [0.0, float(np.sin(up)), float(np.cos(up))]
        scale = [self.size[0] * PIXEL, self.size[1] * PIXEL, 1.0]
        shape = _rectangle(client, corners, [0, 2, 1, 0, 3, 2], normal, scale)
        self._body = client.createMultiBody(0.0, -1, shape)
        self._texture = cover(client, self._body, picture, folder)

    def update(self, picture: Image.Image) -> None:
        """Show another picture of the same size; takes the window a frame."""
        self._client.changeTexture(self._texture, picture.tobytes(), *self.size)

    def place(self, camera: Camera, left: float, top: float, shrink: float = 1.0) -> None:
        """Stand in front of the camera with the corner at a place in the window [pixels]."""
        # The window's field of view is 90 degrees: what is half its height away fills it.
        half = 0.5 * camera.height
        local = np.array([left - 0.5 * camera.width, half - top, -half])
        self._stand(camera.eye + camera.axes @ (local * PIXEL / shrink), camera.axes)

    def hide(self) -> None:
        """Go out of sight."""
        self._stand(np.array(ELSEWHERE), np.eye(3))

    def _stand(self, position: Float1D, axes: Float2D) -> None:
        turn = Rotation.from_matrix(axes).as_quat().tolist()
        self._client.resetBasePositionAndOrientation(self._body, position.tolist(), turn)


def cover(client: EngineClient, body: int, picture: Image.Image, folder: Path) -> int:
    """Put a picture on a body, without gloss; return PyBullet's number of the texture.

    The file in the folder, from which PyBullet reads the picture, is no longer needed afterwards.
    """
    file = folder / f"texture_{body}.png"
    picture.save(file)
    texture = int(client.loadTexture(str(file)))
    for _ in range(TEXTURE_TRIES):
        client.changeVisualShape(body, -1, textureUniqueId=texture, specularColor=[0.0, 0.0, 0.0])
    return texture


def add_floor(client: EngineClient, points: Float2D, folder: Path) -> None:
    """Put a grid on the ground that fades into the background; what is below it shines through."""
    floor = Floor.below(points)
    half = 1.6 * floor.size
    # Bullet's shader makes colors so much darker; the floor shall fade into the background exactly.
    lift = 1.0 / (0.75 + 0.25 * LIGHT[2] / float(np.linalg.norm(LIGHT)))
    corners = [[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]
    shape = _rectangle(client, corners, [0, 1, 2, 0, 2, 3], [0.0, 0.0, 1.0], [half, half, 1.0])
    place = [*floor.middle.tolist(), -2e-3 * floor.size]
    body = client.createMultiBody(0.0, -1, shape, place)
    cover(client, body, _floor_picture(floor, half), folder)
    client.changeVisualShape(body, -1, rgbaColor=[lift, lift, lift, 0.6])


def _rectangle(
    client: EngineClient,
    corners: list[list[int]],
    indices: list[int],
    normal: list[float],
    scale: list[float],
) -> int:
    """Return the shape of a textured rectangle without gloss."""
    shape = client.createVisualShape(
        client.GEOM_MESH,
        vertices=corners,
        indices=indices,
        uvs=[[0, 1], [1, 1], [1, 0], [0, 0]],
        normals=[normal] * 4,
        meshScale=scale,
        specularColor=[0.0, 0.0, 0.0],
    )
    return int(shape)


def _floor_picture(floor: Floor, half: float, pixels: int = 1024) -> Image.Image:
    """Return the floor from above: the background's color with fading grid lines."""
    sky, grid = np.array(colors.WINDOW_SKY), np.array(colors.GRID)
    picture = Image.new("RGB", (pixels, pixels), colors.WINDOW_SKY)
    pen = ImageDraw.Draw(picture)
    for line in floor.lines():
        place = ((line[:, :2] - floor.middle) / half * (0.5, -0.5) + 0.5) * pixels
        strength = 0.8 * floor.strength(line)
        for k in np.flatnonzero(strength[:-1] > 0.02):
            mix = (strength[k] * grid + (1.0 - strength[k]) * sky).round().astype(int)
            pen.line(place[k : k + 2].ravel().tolist(), fill=tuple(mix.tolist()), width=1)
    return picture
