"""From base parameters to a full, physically consistent robot near the nominal one."""

from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import InconsistentInertiaError
from robotid_sim.estimation.cone_program import ConsistentProgram
from robotid_sim.model.robot import Robot


@dataclass(frozen=True, slots=True, eq=False)
class Lift:
    """A consistent robot for estimated base parameters."""

    robot: Robot
    exact: bool
    """Whether the robot has exactly the estimated base parameters."""
    distance: float
    """Distance of its base parameters to the estimate, in standard deviations per parameter."""
    message: str


def lift(beta: Float1D, cov: Float2D, nominal: Robot, basis: BaseParameters) -> Lift:
    """Return the consistent robot nearest to `nominal` with base parameters `beta`.

    Base parameters leave most of the full parameters open; the nominal robot resolves them. If no
    consistent robot has exactly these base parameters, the one of least covariance-weighted
    deviation is taken, and the message says so.

    Parameters
    ----------
    beta : ndarray, shape (b,)
        Estimated base parameters.
    cov : ndarray, shape (b, b)
        Their covariance; weighs deviations where `beta` itself is not possible.
    nominal : Robot
        Resolves what the data leave open.
    basis : BaseParameters
        Map from full to base parameters.

    Raises
    ------
    InconsistentInertiaError
        If the solver finds no consistent robot at all.
    """
    program = ConsistentProgram(nominal, basis)
    std = np.sqrt(np.diag(cov))
    phi = program.exact(beta)
    exact = phi is not None
    if phi is None:
        phi = program.nearest(beta, np.linalg.inv(np.linalg.cholesky(cov)))
    if phi is None:
        raise InconsistentInertiaError(
            "no consistent robot was found near the estimate; the estimate is too far from any "
            "rigid body, check the log and the friction model"
        )
    distance = float(np.sqrt((((basis.of(phi) - beta) / std) ** 2).mean()))
    message = (
        "a consistent robot with exactly the estimated base parameters"
        if exact
        else "no rigid bodies have exactly the estimated base parameters; the nearest consistent "
        f"robot is {distance:.2g} standard deviations away (rms)"
    )
    return Lift(nominal.with_parameters(phi), exact, distance, message)
