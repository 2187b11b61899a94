"""Flat pictures in PyBullet's window: it has no text of its own worth reading.

A card is a textured rectangle that stands right in front of the camera, so that every pixel of its
picture meets one of the window.
"""

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw
from scipy.spatial.transform import Rotation

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.engine.quiet import captured_output
from robotid_sim.viewer import colors
from robotid_sim.viewer.colors import Rgb
from robotid_sim.viewer.environment import Floor
from robotid_sim.viewer.posed_robot import ELSEWHERE

with captured_output():  # prints its build time
    import pybullet

SKY: Rgb = (236, 240, 245)
"""Background of the window."""
LIGHT = (0.35, -0.3, 1.0)
"""Direction to the light."""

PIXEL = 1.5e-4
"""Size of a pixel of a card [m]; small, so that no robot comes between."""

TEXTURE_TRIES = 5
"""How often a body is given its texture, for PyBullet may lose the command.

It asks the window's thread for the number of the shape and, having asked, presets the answer to -1.
If the window answered before that, the texture goes to no shape and nobody is told: once in about
3,000 commands. One that has arrived stays, so a command more does no harm.
"""

TILT = 45.0
"""Angle by which a card's normal is turned up, to the light, from facing the camera [deg]."""


def brightness(cosine: float) -> float:
    """Return the factor that Bullet's shader puts on a color; `cosine` of light and normal."""
    return 0.75 + 0.25 * cosine


class WindowCamera:
    """The window's camera at this moment.

    Parameters
    ----------
    found : tuple
        What PyBullet reports of it.

    Attributes
    ----------
    width, height : int
        Size of the window [pixels].
    yaw, pitch : float
        [deg]
    distance : float
        Of the target [m].
    target : ndarray, shape (3,)
    """

    def __init__(self, found: tuple[Any, ...]) -> None:
        self.width, self.height = max(int(found[0]), 1), max(int(found[1]), 1)
        view = np.reshape(found[2], (4, 4)).T
        self.axes = view[:3, :3].T
        self.eye = -self.axes @ view[:3, 3]
        self.yaw, self.pitch, self.distance = (float(value) for value in found[8:11])
        self.target = np.array(found[11])

    @classmethod
    def read(cls, client: int) -> "WindowCamera | None":
        """Return the camera of a window, or None if it has none.

        That is so before it has drawn its first frame and while it closes: what PyBullet then
        reports is no rotation.
        """
        found = pybullet.getDebugVisualizerCamera(physicsClientId=client)
        if found is None:
            return None
        view = cls(found)
        turned = view.axes @ view.axes.T
        return view if np.allclose(turned, np.eye(3), atol=1e-3) else None

    def moved(self, other: "WindowCamera") -> bool:
        """Return whether the camera or the window changed."""
        return (self.width, self.height) != (other.width, other.height) or bool(
            np.abs(np.r_[self.eye - other.eye, (self.axes - other.axes).ravel()]).max() > 1e-7
        )


def look(client: int, distance: float, yaw: float, pitch: float, target: Float1D) -> None:
    """Set the window's camera: distance of the target [m], yaw and pitch [deg], target [m]."""
    pybullet.resetDebugVisualizerCamera(
        distance, yaw, pitch, target.tolist(), physicsClientId=client
    )


class Billboard:
    """A picture of fixed size in pixels.

    Parameters
    ----------
    client : int
        PyBullet client with a window.
    picture : Image
        What it shows first.
    folder : Path
        Where the texture is written; PyBullet reads it from a file.
    """

    def __init__(self, client: int, picture: Image.Image, folder: Path) -> None:
        self._client = client
        self.size = picture.size
        up = np.radians(TILT)
        shape = pybullet.createVisualShape(
            pybullet.GEOM_MESH,
            vertices=[[0, 0, 0], [1, 0, 0], [1, -1, 0], [0, -1, 0]],
            indices=[0, 2, 1, 0, 3, 2],
            uvs=[[0, 1], [1, 1], [1, 0], [0, 0]],
            normals=[[0.0, float(np.sin(up)), float(np.cos(up))]] * 4,
            meshScale=[self.size[0] * PIXEL, self.size[1] * PIXEL, 1.0],
            specularColor=[0.0, 0.0, 0.0],
            physicsClientId=client,
        )
        self._body = pybullet.createMultiBody(0.0, -1, shape, physicsClientId=client)
        self._texture = cover(client, self._body, picture, folder)

    def update(self, picture: Image.Image) -> None:
        """Show another picture of the same size; takes the window a frame."""
        pybullet.changeTexture(
            self._texture, picture.tobytes(), *self.size, physicsClientId=self._client
        )

    def place(self, view: WindowCamera, left: float, top: float, shrink: float = 1.0) -> None:
        """Stand in front of the camera with the corner at a place in the window [pixels]."""
        # The window's field of view is 90 degrees: what is half its height away fills it.
        local = np.array([left - 0.5 * view.width, 0.5 * view.height - top, -0.5 * view.height])
        self._stand(view.eye + view.axes @ (local * PIXEL / shrink), view.axes)

    def hide(self) -> None:
        """Go out of sight."""
        self._stand(np.array(ELSEWHERE), np.eye(3))

    def _stand(self, position: Float1D, axes: Float2D) -> None:
        pybullet.resetBasePositionAndOrientation(
            self._body,
            position.tolist(),
            Rotation.from_matrix(axes).as_quat().tolist(),
            physicsClientId=self._client,
        )


def cover(client: int, body: int, picture: Image.Image, folder: Path) -> int:
    """Put a picture on a body, without gloss; return PyBullet's number of the texture.

    The file in the folder, from which PyBullet reads the picture, is no longer needed afterwards.
    """
    file = folder / f"texture_{body}.png"
    picture.save(file)
    texture = int(pybullet.loadTexture(str(file), physicsClientId=client))
    for _ in range(TEXTURE_TRIES):
        pybullet.changeVisualShape(
            body,
            -1,
            textureUniqueId=texture,
            specularColor=[0.0, 0.0, 0.0],
            physicsClientId=client,
        )
    return texture


def add_floor(client: int, points: Float2D, folder: Path) -> None:
    """Put a grid on the ground that fades into the background; what is below it shines through."""
    floor = Floor.below(points)
    half = 1.6 * floor.size
    cosine = LIGHT[2] / float(np.linalg.norm(LIGHT))
    lift = 1.0 / brightness(cosine)  # so that the floor fades into the background exactly
    shape = pybullet.createVisualShape(
        pybullet.GEOM_MESH,
        vertices=[[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]],
        indices=[0, 1, 2, 0, 2, 3],
        uvs=[[0, 1], [1, 1], [1, 0], [0, 0]],
        normals=[[0.0, 0.0, 1.0]] * 4,
        meshScale=[half, half, 1.0],
        physicsClientId=client,
    )
    place = [*floor.middle.tolist(), -2e-3 * floor.size]
    body = pybullet.createMultiBody(0.0, -1, shape, place, physicsClientId=client)
    cover(client, body, _floor_picture(floor, half), folder)
    pybullet.changeVisualShape(body, -1, rgbaColor=[lift, lift, lift, 0.6], physicsClientId=client)


def _floor_picture(floor: Floor, half: float, pixels: int = 1024) -> Image.Image:
    """Return the floor from above: the background's color with fading grid lines."""
    picture = Image.new("RGB", (pixels, pixels), SKY)
    pen = ImageDraw.Draw(picture)
    for line in floor.lines():
        place = (line[:, :2] - floor.middle) / half * (0.5, -0.5) + 0.5
        strength = 0.8 * floor.strength(line)
        for k in range(len(line) - 1):
            if strength[k] > 0.02:
                mix = [
                    round(strength[k] * g + (1.0 - strength[k]) * s)
                    for g, s in zip(colors.GRID, SKY, strict=True)
                ]
                ends = (place[k : k + 2] * pixels).ravel().tolist()
                pen.line(ends, fill=(mix[0], mix[1], mix[2]), width=1)
    return picture
