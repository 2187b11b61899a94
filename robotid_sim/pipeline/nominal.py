"""Make the nominal model of a plant."""

import logging

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.errors import OptionError
from robotid_sim.excitation.design import default_path
from robotid_sim.model.export import embed_parameters
from robotid_sim.model.perturb import DEFAULT_SCALE, perturb
from robotid_sim.model.robot import Robot

MISMATCH_BAND = (0.05, 0.30)
"""Band of the relative RMS torque mismatch of every joint."""

MAX_DRAWS = 500
"""Largest number of perturbations, after which the best one is used."""

GEOMETRY_TOLERANCE = 1e-9
"""Largest difference of the geometry of two models of one robot [m]."""

_log = logging.getLogger(__name__)


def perturb_nominal(
    plant: Robot,
    rng: np.random.Generator,
    *,
    scale: float = DEFAULT_SCALE,
    mismatch: tuple[float, float] = MISMATCH_BAND,
) -> Robot:
    """Perturb the parameters of the plant by about 20 %.

    The perturbation is repeated until the torque mismatch of every joint on the default path lies
    in the band `mismatch` of the relative RMS torque. The file of the plant is omitted because it
    contains the true parameters. `scale` is the relative size of the errors, see `perturb`.
    """
    low, high = mismatch
    best, best_miss = plant, np.inf
    for _ in range(MAX_DRAWS):
        candidate = perturb(plant, rng, scale=scale)
        error = torque_mismatch(candidate, plant)
        miss = float(np.maximum(low - error, error - high).max())
        if miss < best_miss:
            best, best_miss = candidate, miss
        if miss <= 0.0 or scale == 0.0:
            break
    else:
        _log.info(
            "no perturbation has the mismatch of every joint in %s; the nearest is used", mismatch
        )
    return best if best.formal else embed_parameters(best)


def torque_mismatch(model: Robot, plant: Robot) -> Float1D:
    """Compute the RMS torque error of a model over the RMS torque, on the default path, (n,)."""
    path = default_path(plant)
    reference = path(np.linspace(0.0, path.duration, 500))
    state = (reference.q, reference.dq, reference.ddq)
    true = joint_torque(plant, *state)
    error = joint_torque(model, *state) - true
    size = np.sqrt((true**2).mean(axis=0))
    floor = max(1e-12 * float(size.max()), np.finfo(float).tiny)
    return np.asarray(np.sqrt((error**2).mean(axis=0)) / np.maximum(size, floor))


def require_same_robot(nominal: Robot, plant: Robot, name: str) -> Robot:
    """Return the nominal model after checking that it has the joints and the geometry of the plant.

    Raises `OptionError` if not; its message contains `name`.
    """
    same = nominal.joint_names == plant.joint_names
    if not same or np.abs(nominal.geometry - plant.geometry).max() > GEOMETRY_TOLERANCE:
        raise OptionError(
            f"the nominal robot {name} has other joints or another geometry than '{plant.name}'; "
            "give a model of the same robot"
        )
    return nominal
