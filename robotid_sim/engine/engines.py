"""The engines by name, with a check of installation, and the bodies of a robot in an engine."""

import platform
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from typing import NamedTuple

from robotid_sim.engine.convex_bodies import ConvexBodies
from robotid_sim.engine.rigid_bodies import RigidBodies
from robotid_sim.errors import MissingExtraError, UnknownNameError
from robotid_sim.model.geometry import GeometryShape
from robotid_sim.model.robot import Robot


class Engine(NamedTuple):
    """An engine."""

    package: str
    """Package that Python imports."""
    words: str
    bodies: Callable[[Robot, float], RigidBodies]
    """Constructor of the bodies of a robot with a step [s]."""
    convex: Callable[[Sequence[GeometryShape]], ConvexBodies]
    """Constructor of convex bodies for distances."""


def _pybullet(robot: Robot, dt: float) -> RigidBodies:
    from robotid_sim.engine.bullet import PyBulletBodies

    return PyBulletBodies(robot, dt)


def _mujoco(robot: Robot, dt: float) -> RigidBodies:
    from robotid_sim.engine.mujoco_bodies import MujocoBodies

    return MujocoBodies(robot, dt)


def _pybullet_convex(shapes: Sequence[GeometryShape]) -> ConvexBodies:
    from robotid_sim.engine.bullet import PyBulletConvexBodies

    return PyBulletConvexBodies(shapes)


def _mujoco_convex(shapes: Sequence[GeometryShape]) -> ConvexBodies:
    from robotid_sim.engine.mujoco_bodies import MujocoConvexBodies

    return MujocoConvexBodies(shapes)


ENGINES: Mapping[str, Engine] = {
    "pybullet": Engine("pybullet", "PyBullet", _pybullet, _pybullet_convex),
    "mujoco": Engine("mujoco", "MuJoCo", _mujoco, _mujoco_convex),
}
"""All engines, the default first; imported when they are needed."""


def is_installed(name: str) -> bool:
    """Return whether an engine of the list is installed."""
    return find_spec(ENGINES[name].package) is not None


_preferred: ContextVar[str | None] = ContextVar("preferred engine", default=None)


@contextmanager
def use_engine(name: str | None) -> Iterator[None]:
    """Make an engine the default one within the block; None changes nothing."""
    before = _preferred.set(_preferred.get() if name is None else engine_named(name))
    try:
        yield
    finally:
        _preferred.reset(before)


def default_engine() -> str:
    """Return the engine of the block, or the first that is installed or else has a wheel."""
    with_wheel = "pybullet" if is_pybullet_available() else "mujoco"
    return _preferred.get() or next(filter(is_installed, ENGINES), with_wheel)


def is_pybullet_available() -> bool:
    """Return whether PyBullet has a wheel for this Python and platform; MuJoCo has wheels for all.

    The markers of the package's dependencies state the same condition.
    """
    machine = sys.platform, platform.machine()
    return sys.version_info[:2] == (3, 11) and machine == ("linux", "x86_64")


def engine_named(name: str | None) -> str:
    """Return the name of an installed engine, by default the first one.

    Raises `UnknownNameError` if there is no such engine, and `MissingExtraError` if it is not
    installed; the text says how to install it.
    """
    engine = default_engine() if name is None else name
    if engine not in ENGINES:
        raise UnknownNameError.from_names("engine", engine, ENGINES)
    if not is_installed(engine):
        package = ENGINES[engine].package
        if name is None:
            raise MissingExtraError(f"no physics engine is installed: pip install {package}")
        raise MissingExtraError(
            f"the engine {ENGINES[engine].words} is not installed: pip install {package}"
        )
    return engine


def bodies_of(name: str, robot: Robot, dt: float) -> RigidBodies:
    """Make the bodies of a robot in an installed engine, given by name."""
    return ENGINES[name].bodies(robot, dt)


def convex_bodies_of(name: str, shapes: Sequence[GeometryShape]) -> ConvexBodies:
    """Make convex bodies in an installed engine, given by name."""
    return ENGINES[name].convex(shapes)
