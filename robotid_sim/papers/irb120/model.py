"""The excitation problem of the paper, in all its readings.

The robot is not named; its links are those of an ABB IRB 120. Its first three joints move.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.excitation import CRITERIA, FAMILIES
from robotid_sim.excitation.problem import ExcitationProblem
from robotid_sim.excitation.space import LinearSpace, NonlinearSpace
from robotid_sim.model.catalog import published_links
from robotid_sim.model.robot import Robot
from robotid_sim.papers.printed import read_printed

PRINTED = read_printed(__file__)

METHODS = {"mupso": "MuPSO", "spso": "SPSO", "woa": "WOA", "gwo": "GWO", "goa": "GOA", "de": "DE"}
"""Ends of the names of the published settings, in the order of Table 3, and their names there."""

POPULATION, ITERATIONS, RUNS = 50, 30, 30
STUDY_ITERATIONS = 200
"""Iterations of the study of the swarm size."""

CENTER = (0.35, 0.0, 0.45)
"""Center of the path in the base frame [m]; not printed. In front of the arm at mid height."""
WRIST = (0.302, 0.0, 0.07)
"""Wrist center in the frame of the third link [m], from Table 1: d4 and a3."""
PERIOD = 10.0
"""Time of a run [s]; not printed."""
HARMONICS = 3
"""Number of harmonics; not printed, but the published vectors have three entries."""
UNBOUND = 10.0
"""Share of the torque limits allowed: the paper has no torque limits."""


SWARM_SIZES = (30, 50, 70)
FIGURE_2 = {int(size): values for size, values in PRINTED["figure_2"].items()}
"""Best cost and time [s] by the number of particles."""
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
    path = {"center": meant.center, "point": WRIST} if meant.family == "cartesian-fourier" else {}
    family = FAMILIES.build(
        meant.family,
        harmonics=meant.harmonics,
        period=meant.period,
        margin=1.0,
        torque_ratio=UNBOUND,
        **path,
    )
    basis = base_parameters(arm(), ())
    return ExcitationProblem(arm(), basis, family, CRITERIA.build(meant.criterion))


def limit_use(problem: ExcitationProblem, x: Float1D) -> float:
    """Return the largest share of a position, velocity or acceleration limit that is used."""
    if isinstance(problem.space, NonlinearSpace):
        return float(problem.space.limit_values(x).max())
    assert isinstance(problem.space, LinearSpace)
    return float(np.abs(problem.space.limit_matrix() @ x).max())
