"""Interface of a plant to an engine: rigid bodies without friction and rotors, step by step."""

from abc import abstractmethod
from typing import Any, NoReturn

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.engine import compiled_loop
from robotid_sim.engine.closing import Closeable
from robotid_sim.errors import InconsistentInertiaError, OptionError
from robotid_sim.model import inertia
from robotid_sim.model.robot import Robot

TRIANGLE_TOLERANCE = 1e-13
"""Relative distance kept from the triangle inequality; engines refuse a tensor beyond it."""


class RigidBodies(Closeable):
    r"""The bodies of a robot in an engine of their own.

    A step of `dt` is semi-implicit, :math:`\dot q^+ = \dot q + \Delta t\, \ddot q(q, \dot q)` and
    :math:`q^+ = q + \Delta t\, \dot q^+`, with only rigid bodies, gravity and the torques
    that are applied: friction and rotors are the plant's.

    Parameters
    ----------
    dof : int
        Number of joints.
    handle : tuple
        Identifies the bodies in compiled loops; see `robotid_sim.engine.compiled_loop`.
    """

    def __init__(self, dof: int, handle: tuple[Any, ...]) -> None:
        self._dof, self.handle = dof, handle

    @abstractmethod
    def set_state(self, q: Float1D, dq: Float1D) -> None:
        """Put the joints into a state, both of shape (n,)."""

    def state(self) -> tuple[Float1D, Float1D]:
        """Return positions and velocities, both of shape (n,)."""
        q, dq = np.empty(self._dof), np.empty(self._dof)
        compiled_loop.state_of(self.handle, q, dq)
        return q, dq

    def advance(self, tau: Float1D) -> None:
        """Take one step under joint torques [N m], shape (n,)."""
        compiled_loop.step_of(self.handle, tau)


class ClosedBodies:
    """Placeholder for the bodies of a closed plant, whose handle would crash."""

    def close(self) -> None:
        """Do nothing."""

    def __getattr__(self, name: str) -> NoReturn:
        raise OptionError("the plant is closed; use it within its 'with' block, or make a new one")


def require_consistent_bodies(robot: Robot) -> None:
    """Raise `InconsistentInertiaError` if a body is physically inconsistent.

    Bullet would silently set its inertia to zero, MuJoCo name it by its number only.
    """
    for link in robot.links:
        if reason := inertia.inconsistency(link.phi):
            raise InconsistentInertiaError(
                f"link '{link.name}': {reason}; the engine cannot simulate such a body"
            )


def engine_inertia(phi: Float1D) -> tuple[float, Float1D, Float2D]:
    """Return mass, principal moments and their frame (4, 4) for an engine."""
    mass, com, central = inertia.unpack(phi)
    moments, axes = inertia.principal_axes(central)
    moments = np.maximum(moments, 0.0)
    moments[2] = min(moments[2], (moments[0] + moments[1]) * (1.0 - TRIANGLE_TOLERANCE))
    frame = np.eye(4)
    frame[:3, :3], frame[:3, 3] = axes, com
    return mass, moments, frame
