"""A control step in one compiled call: drives and engine, sub-step by sub-step.

From Python a sub-step costs several times what drives and engine take. The engines are libraries of
C, whose functions compiled code can call.
"""

from pathlib import Path
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.compiled import jit_calling
from robotid_sim.dynamics import kernels

_VERSIONS = [Path(__file__).with_name(f"{name}.py") for name in ("bullet", "mujoco_bodies")]
"""Files with what engines do in compiled code."""

_jit = jit_calling(kernels, *_VERSIONS)


def advance(bodies: Any, tau: Float1D) -> None:
    """Take one engine step under joint torques.

    For compiled code; an engine gives this and `read` a version for the type of its `bodies`.

    Parameters
    ----------
    bodies : object
        State of an engine, changed in place.
    tau : ndarray, shape (n,)
        Joint torque [N m or N].

    Raises
    ------
    NotImplementedError
        If called from Python: Numba compiles the version of an engine.
    """
    raise NotImplementedError  # Numba compiles the version of an engine, never this


def read(bodies: Any, q: Float1D, dq: Float1D) -> None:
    """Put the engine's state into `q` and `dq`; see `advance`.

    Parameters
    ----------
    bodies : object
        State of an engine.
    q, dq : ndarray, shape (n,)
        Filled with position [rad or m] and velocity [rad/s or m/s].

    Raises
    ------
    NotImplementedError
        If called from Python.
    """
    raise NotImplementedError  # Numba compiles the version of an engine, never this


@_jit
def step_of(bodies: Any, tau: Float1D) -> None:
    """Take one engine step from Python.

    Parameters
    ----------
    bodies : object
        State of an engine, changed in place.
    tau : ndarray, shape (n,)
        Joint torque [N m or N].
    """
    advance(bodies, tau)


@_jit
def state_of(bodies: Any, q: Float1D, dq: Float1D) -> None:
    """Read the engine's state from Python.

    Parameters
    ----------
    bodies : object
        State of an engine.
    q, dq : ndarray, shape (n,)
        Filled with position [rad or m] and velocity [rad/s or m/s].
    """
    read(bodies, q, dq)


@_jit
def smooth_steps(
    bodies: Any,
    geometry: Float2D,
    gravity: Float1D,
    phi: Float1D,
    rows: Float2D,
    q: Float1D,
    dq: Float1D,
    tau: Float1D,
    dt: float,
    coupling: Float2D | None,
    count: int,
) -> tuple[Float1D, Float1D, Float1D, Float1D, Float1D, Float1D, bool]:
    """Take `count` engine steps under constant drive torques; see `kernels.plant_step`.

    Parameters
    ----------
    bodies : object
        State of an engine, changed in place.
    geometry, gravity, phi, rows : ndarray
        The plant, as `kernels.plant_step` takes it.
    q, dq : ndarray, shape (n,)
        Position [rad or m] and velocity [rad/s or m/s] at the start.
    tau : ndarray, shape (n,)
        Drive torque [N m or N].
    dt : float
        Time of an implicit step [s]; 0 for forces of the velocity at the start.
    coupling : ndarray, shape (n, n), optional
        Inertia of rotors that joints share [kg m^2].
    count : int
        Number of steps.

    Returns
    -------
    q, dq : ndarray, shape (n,)
        Position and velocity at the end.
    held, ddq, v, friction : ndarray, shape (n,)
        Of the first step: torque for the engine, acceleration, velocity at which forces act, and
        friction torque.
    ok : bool
        False if a step has no solution: then the state is that before it.
    """
    q, dq = q.copy(), dq.copy()
    first = np.zeros((4, q.shape[0]))
    for k in range(count):
        held, ddq, v, friction, ok = kernels.plant_step(
            geometry, gravity, phi, rows, q, dq, tau, dt, coupling
        )
        if not ok:
            return q, dq, first[0], first[1], first[2], first[3], False
        if k == 0:
            first[0], first[1], first[2], first[3] = held, ddq, v, friction
        advance(bodies, held)
        read(bodies, q, dq)
    return q, dq, first[0], first[1], first[2], first[3], True


@_jit
def is_sound(q: Float1D, dq: Float1D, fastest: Float1D) -> bool:
    """Return whether positions are finite and no joint is faster than its bound.

    Parameters
    ----------
    q, dq : ndarray, shape (n,)
        Position [rad or m], velocity [rad/s or m/s].
    fastest : ndarray, shape (n,)
        Bound of the speed [rad/s or m/s].

    Returns
    -------
    sound : bool
        False also for velocities that are not numbers.
    """
    for j in range(q.shape[0]):
        if not (np.isfinite(q[j]) and abs(dq[j]) < fastest[j]):
            return False
    return True
