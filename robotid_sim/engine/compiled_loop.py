"""A control step in one compiled call: drives and engine, sub-step by sub-step.

From Python a sub-step costs several times what drives and engine take. The engines are C libraries,
whose functions compiled code can call.
"""

from pathlib import Path
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.compiled import jit_calling
from robotid_sim.dynamics import kernels

_SOURCE_FILES = [Path(__file__).with_name(f"{name}.py") for name in ("bullet", "mujoco_bodies")]
"""Files with the compiled code of the engines."""

_jit = jit_calling(kernels, *_SOURCE_FILES)


def advance(bodies: Any, tau: Float1D) -> None:
    """Take one engine step under joint torques, shape (n,) [N m or N]; it changes `bodies`.

    For compiled code; an engine registers versions of this and `read` for the type of its `bodies`:
    Numba compiles that version, and Python raises `NotImplementedError`.
    """
    raise NotImplementedError  # Numba compiles the version of an engine, never this


def read(bodies: Any, q: Float1D, dq: Float1D) -> None:
    """Write the engine's state into `q` and `dq`, both of shape (n,); see `advance`."""
    raise NotImplementedError  # Numba compiles the version of an engine, never this


@_jit
def step_of(bodies: Any, tau: Float1D) -> None:
    """Take one engine step from Python, under joint torques, shape (n,) [N m or N]."""
    advance(bodies, tau)


@_jit
def state_of(bodies: Any, q: Float1D, dq: Float1D) -> None:
    """Read the engine's state into `q` and `dq` from Python, both of shape (n,)."""
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

    The bodies are changed in place; geometry, gravity, phi and rows describe the plant. Implicit
    steps have the time dt [s]; 0 means forces at the velocity of the start; joints may share the
    inertia of rotors, shape (n, n) [kg m^2]. The first two arrays are position and velocity at the
    end; the next four are, for the first step, torque for the engine, acceleration, velocity at
    which forces act, and friction torque. The last value is False if a step has no solution; the
    state then precedes this step.
    """
    q, dq = q.copy(), dq.copy()
    first = np.zeros((4, q.shape[0]))
    for k in range(count):
        drive_torque, ddq, v, friction, ok = kernels.plant_step(
            geometry, gravity, phi, rows, q, dq, tau, dt, coupling
        )
        if not ok:
            return q, dq, first[0], first[1], first[2], first[3], False
        if k == 0:
            first[0], first[1], first[2], first[3] = drive_torque, ddq, v, friction
        advance(bodies, drive_torque)
        read(bodies, q, dq)
    return q, dq, first[0], first[1], first[2], first[3], True


@_jit
def is_sound(q: Float1D, dq: Float1D, fastest: Float1D) -> bool:
    """Return whether positions are finite and no joint is faster than its bound [rad/s or m/s]."""
    for j in range(q.shape[0]):
        if not (np.isfinite(q[j]) and abs(dq[j]) < fastest[j]):
            return False
    return True
