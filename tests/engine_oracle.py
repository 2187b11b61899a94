"""The engines' own inverse dynamics, as a reference."""

import mujoco
import numpy as np

from robotid_sim.engine.plant import Plant


def engine_torque(plant: Plant, *state: np.ndarray) -> np.ndarray:
    """Return the torques of the engine's bodies [N m] at position, velocity and acceleration."""
    bodies = plant._bodies
    if plant.engine == "mujoco":
        data = bodies._data
        data.qpos[:], data.qvel[:], data.qacc[:] = state
        mujoco.mj_inverse(bodies._model, data)
        return data.qfrc_inverse.copy()
    # Lists, not arrays: PyBullet reads an ndarray here as a tuple and crashes.
    values = [value.tolist() for value in state]
    return np.array(bodies._client.calculateInverseDynamics(bodies._body, *values))
