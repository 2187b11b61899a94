"""PyBullet's own inverse dynamics, as a reference."""

import numpy as np

from robotid_sim.engine.plant import Plant


def engine_torque(plant: Plant, *state: np.ndarray) -> np.ndarray:
    """Return the torques of the private copy [N m] at position, velocity and acceleration."""
    # Lists, not arrays: PyBullet reads an ndarray here as a tuple and crashes.
    values = [value.tolist() for value in state]
    return np.array(plant._client.calculateInverseDynamics(plant._body, *values))
