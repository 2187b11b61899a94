"""The published coefficients: what can be said about the motion that they describe."""

from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.errors import PathError
from robotid_sim.excitation import CRITERIA
from robotid_sim.excitation.cartesian_space import CartesianFourierSpace
from robotid_sim.excitation.design import REGRESSOR_SAMPLES
from robotid_sim.papers.irb120 import model
from robotid_sim.trajectory.cartesian_fourier import cartesian_basis

HALVINGS = 20


@dataclass(frozen=True, slots=True)
class PublishedMotion:
    """The published coefficients in one reading of c."""

    reading: str
    followed: bool
    """Whether the arm can follow the path in meters."""
    scale: float
    """Largest scale of the path at which it can."""
    condition: float
    """Condition number there, with columns of unit length."""
    start_speed: float
    """Speed of each coordinate at the start, which should be zero [m/s]."""


def published_motions() -> list[PublishedMotion]:
    """Return the published motion with c read as the first coefficient, and as all three."""
    c = model.PRINTED["optimum"]["c"]
    readings = {"c = (2.0328, 0, 0)": (c, 0.0, 0.0), "c = (2.0328, 2.0328, 2.0328)": (c, c, c)}
    return [_published_motion(name, np.array(vector)) for name, vector in readings.items()]


def _published_motion(reading: str, c: Float1D) -> PublishedMotion:
    a, b = (model.PRINTED["optimum"][name] for name in ("a", "b"))
    coefficients = np.concatenate([a, b, c])
    followed = bool(np.isfinite(_condition(coefficients)))
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        reached = np.isfinite(_condition(middle * coefficients))
        low, high = (middle, high) if reached else (low, middle)
    scale = 1.0 if followed else low
    return PublishedMotion(
        reading,
        followed,
        scale,
        _condition(scale * coefficients),
        start_speed=abs(float(np.sum(b))),
    )


def _condition(coefficients: Float1D) -> float:
    """Return the condition number along a path, infinite where the arm cannot follow."""
    problem = model.problem()
    assert isinstance(problem.space, CartesianFourierSpace)
    carrier, basis = problem.space.carrier, problem.basis
    t = np.arange(REGRESSOR_SAMPLES) * model.PERIOD / REGRESSOR_SAMPLES
    p, v, a = (part @ coefficients for part in cartesian_basis(t, model.HARMONICS, model.PERIOD))
    try:
        q = carrier.along(problem.space.center + p)
        dq, ddq = carrier.rates(q, v, a)
    except PathError:
        return np.inf
    W = torque_regressor(problem.nominal, q, dq, ddq, basis.columns)
    criterion = CRITERIA.build("normalized-condition-number")
    return float(np.exp(criterion(W, problem.torque_scale)[0]))
