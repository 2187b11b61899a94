"""The renderer of the engine that is installed."""

import pkgutil

from robotid_sim.engine.engines import engine_named
from robotid_sim.viewer.renderer import Renderer

RENDERERS = {
    "pybullet": "robotid_sim.viewer.pybullet_renderer:PyBulletRenderer",
    "mujoco": "robotid_sim.viewer.mujoco_renderer:MujocoRenderer",
}
"""Where the renderer of each engine is."""


def open_renderer(kind: str = "auto") -> Renderer:
    """Return the renderer of the first engine that is installed, of a kind of `choices.RENDERERS`.

    Raises `MissingExtraError` if no engine is installed, `OptionError` if it cannot draw in this
    way on this machine.
    """
    renderer: Renderer = pkgutil.resolve_name(RENDERERS[engine_named(None)])(kind)
    return renderer
