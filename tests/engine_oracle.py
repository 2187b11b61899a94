"""The engines' own inverse dynamics, as a reference."""

import ctypes

import mujoco
import numpy as np

from robotid_sim.engine.plant import Plant


def engine_torque(plant: Plant, *state: np.ndarray) -> np.ndarray:
    """Return the torques of the engine's bodies [N m] at position, velocity and acceleration."""
    bodies = plant._bodies
    if plant.engine == "pybullet":
        return bullet_torque(bodies._body, *state)
    data = bodies._data
    data.qpos[:], data.qvel[:], data.qacc[:] = state
    mujoco.mj_inverse(bodies._model, data)
    return data.qfrc_inverse.copy()


def bullet_torque(body, *state: np.ndarray) -> np.ndarray:
    """Return what Bullet's C interface says of a body."""
    from robotid_sim.engine import bullet

    numbers, count = ctypes.POINTER(ctypes.c_double), ctypes.c_int
    place = bullet._ptr
    ask = bullet._c(
        "CalculateInverseDynamicsCommandInit2",
        *(place, place, count, numbers, count, numbers, numbers, count),
    )
    tell = bullet._c("GetStatusInverseDynamicsJointForces", count, place, place, place, numbers)
    n, torque = state[0].size, np.empty(state[0].size)
    q, dq, ddq = ((ctypes.c_double * n)(*value.tolist()) for value in state)
    status = body._submit(ask(body._client, body._body, q, n, dq, ddq, n))
    assert tell(status, None, None, torque.ctypes.data_as(numbers)) == 1
    return torque
