"""The excitation problem of the paper in all its readings, and the motion that it publishes.

The robot is not named; its links are those of an ABB IRB 120. Its first three joints move.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.errors import PathError
from robotid_sim.excitation import CRITERIA, FAMILIES
from robotid_sim.excitation.cartesian_space import CartesianFourierSpace
from robotid_sim.excitation.design import REGRESSOR_SAMPLES
from robotid_sim.excitation.problem import ExcitationProblem
from robotid_sim.excitation.space import LinearSpace, NonlinearSpace
from robotid_sim.model.catalog import published_links
from robotid_sim.model.robot import Robot
from robotid_sim.papers.sheet import read_settings
from robotid_sim.trajectory.cartesian_fourier import cartesian_basis

PRINTED = read_settings(__file__)

METHODS = {"mupso": "MuPSO", "spso": "SPSO", "woa": "WOA", "gwo": "GWO", "goa": "GOA", "de": "DE"}
"""Ends of the names of the published settings, in the order of Table 3, and their names there."""

POPULATION = 50

CENTER = (0.35, 0.0, 0.45)
"""Center of the path in the base frame [m]; not printed. In front of the arm at mid height."""
WRIST = (0.302, 0.0, 0.07)
"""Wrist center in the frame of the third link [m], from Table 1: d4 and a3."""
PERIOD = 10.0
"""Time of a run [s]; not printed."""
HARMONICS = 3
"""Number of harmonics; not printed, but the published vectors have three entries."""
HALVINGS = 20
"""Of the range of scales in which the largest one within reach is sought."""
UNBOUND = 10.0
"""Share of the torque limits allowed: the paper has no torque limits. It is finite all the same: a
motion that glides through a singular pose between two samples asks for more torque than that."""

SWARM_SIZES = (30, 50, 70)
IDENTIFIABILITY = tuple(PRINTED["identifiability"])
"""Parameters said to be identifiable alone, in combinations, and not at all."""


@dataclass(frozen=True, slots=True)
class PathReading:
    """What may be meant by trajectory and condition number."""

    family: str = "cartesian-fourier"
    criterion: str = "normalized-condition-number"
    center: tuple[float, float, float] = CENTER
    harmonics: int = HARMONICS
    period: float = PERIOD


MAIN_READING = "Cartesian path, unit columns"
READINGS = {
    MAIN_READING: PathReading(),
    "Cartesian path, SI columns": PathReading(criterion="condition-number"),
    "Cartesian path, eq. (44) with y = 1": PathReading(criterion="combined-condition"),
    "joint Fourier series, unit columns": PathReading(family="fourier"),
    "joint Fourier series, SI columns": PathReading(family="fourier", criterion="condition-number"),
}
"""Spaces of the path, and criteria."""
UNPRINTED = {
    "center 10 cm further out": PathReading(center=(0.45, 0.0, 0.45)),
    "center 15 cm higher": PathReading(center=(0.35, 0.0, 0.6)),
    "center 15 cm lower": PathReading(center=(0.35, 0.0, 0.3)),
    "2 harmonics": PathReading(harmonics=2),
    "5 harmonics": PathReading(harmonics=5),
    "20 s a run": PathReading(period=20.0),
}
"""Other values of what the paper does not print, one at a time."""


@cache
def arm() -> Robot:
    """Return the three links of eq. (49) to (53), with the wrist cut off."""
    return published_links("irb120")


@cache
def problem(reading: str = MAIN_READING) -> ExcitationProblem:
    """Return the excitation problem of a reading of section 4, printed or not.

    Always with the 15 base parameters: 22 columns, as in the paper, have rank 15.
    """
    meant = (READINGS | UNPRINTED)[reading]
    options: dict[str, Any] = {"harmonics": meant.harmonics, "period": meant.period}
    if meant.family == "cartesian-fourier":
        options |= {"center": meant.center, "point": WRIST}
    family = FAMILIES.build(meant.family, margin=1.0, torque_ratio=UNBOUND, **options)
    basis = base_parameters(arm(), ())
    return ExcitationProblem(arm(), basis, family, CRITERIA.build(meant.criterion))


def limit_use(problem: ExcitationProblem, x: Float1D) -> float:
    """Return the largest share of a position, velocity or acceleration limit that is used."""
    if isinstance(problem.space, NonlinearSpace):
        return float(problem.space.limit_values(x).max())
    assert isinstance(problem.space, LinearSpace)
    return float(np.abs(problem.space.limit_matrix() @ x).max())


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
    c = PRINTED["optimum"]["c"]
    readings = {"c = (2.0328, 0, 0)": (c, 0.0, 0.0), "c = (2.0328, 2.0328, 2.0328)": (c, c, c)}
    return [_published_motion(name, np.array(vector)) for name, vector in readings.items()]


def _published_motion(reading: str, c: Float1D) -> PublishedMotion:
    a, b = (PRINTED["optimum"][name] for name in ("a", "b"))
    coefficients = np.concatenate([a, b, c])
    followed = bool(np.isfinite(_condition(coefficients)))
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        reached = np.isfinite(_condition(middle * coefficients))
        low, high = (middle, high) if reached else (low, middle)
    scale = 1.0 if followed else low
    start_speed = abs(float(np.sum(b)))
    return PublishedMotion(reading, followed, scale, _condition(scale * coefficients), start_speed)


def _condition(coefficients: Float1D) -> float:
    """Return the condition number along a path, infinite where the arm cannot follow."""
    paper = problem()
    space = paper.space
    assert isinstance(space, CartesianFourierSpace)
    t = np.arange(REGRESSOR_SAMPLES) * PERIOD / REGRESSOR_SAMPLES
    p, v, a = (part @ coefficients for part in cartesian_basis(t, HARMONICS, PERIOD))
    try:
        q = space.carrier.along(space.center + p)
        dq, ddq = space.carrier.rates(q, v, a)
    except PathError:
        return np.inf
    W = torque_regressor(arm(), q, dq, ddq, paper.basis.columns)
    return float(np.exp(paper.criterion(W, paper.torque_scale)[0]))
