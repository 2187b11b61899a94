"""The excitation problem of the paper, and what the paper prints about it.

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


@dataclass(frozen=True, slots=True)
class Table3Row:
    """A row of Table 3: condition numbers of 30 runs, and the time."""

    least: float
    mean: float
    std: float
    seconds: float
    """As printed; of one run or of all is not said [s]."""


TABLE_3 = {
    "mupso": Table3Row(4.73, 7.16, 1.17, 7150.0),
    "spso": Table3Row(6.27, 7.33, 0.911, 7430.0),
    "woa": Table3Row(6.05, 23.8, 12.5, 10900.0),
    "gwo": Table3Row(5.19, 7.56, 3.09, 14600.0),
    "goa": Table3Row(6.72, 45.5, 63.6, 6780.0),
    "de": Table3Row(10.0, 31.6, 17.2, 13600.0),
}

SWARM_SIZES = (30, 50, 70)
FIGURE_2 = {50: (5.2, 1.12e4), 70: (4.6, 1.57e4)}
"""Best cost and time [s] by the number of particles, from the text under Figure 2."""

OPTIMUM_A = (-0.3392, 1.1738, -0.20492)
OPTIMUM_B = (0.3305, -0.26181, -0.9965)
OPTIMUM_C = 2.0328
"""Published coefficients of the trajectory that was used; c is a single number."""

IDENTIFIABILITY = (20, 2, 8)
"""Parameters said to be identifiable alone, in combinations, and not at all."""

LIMITS = (
    # joint, printed [deg], data sheet [deg]
    ("1", "± 90", "± 165"),
    ("2", "± 110", "± 110"),
    ("3", "-110 … 70", "-110 … 70"),
    ("4", "± 160", "± 160"),
    ("5", "± 270", "± 120"),
    ("6", "± 242", "± 400"),
)
"""Joint ranges of Table 1 and of the robot's data sheet; the misprints are in joints 1, 5, 6."""

TABLE_4 = (
    # symbol, ideal, identified; lengths in mm as printed
    ("my1", 0.0, -1.08e-06),
    ("Iyy1", 13651.0, 13651.0),
    ("m2", 4.0, 4.0),
    ("mx2", 350.0, 350.0),
    ("my2", 0.0, -6.83e-09),
    ("mz2", 0.0, -5.64e-08),
    ("Iyy2", 79173.0, 79173.0),
    ("Izz2", 30809.0, 30809.0),
    ("Ixz2", 0.0, -4.86e-07),
    ("Iyz2", 0.0, 0.000491),
    ("m3", 3.0, 3.0),
    ("mx3", 60.0, 60.0),
    ("my3", 0.0, 1.77e-09),
    ("mz3", 0.0, -4.72e-08),
    ("Ixx3", 9855.0, 9855.0),
    ("Iyy3", 9759.0, 9759.0),
    ("Izz3", 7360.0, 7360.0),
    ("Ixy3", 0.0, -3.22e-05),
    ("Ixz3", 0.0, -1.24e-06),
    ("Iyz3", 0.0, -3.24e-05),
    ("Ixz1", 0.0, -0.00079),
    ("Ixx2", 103901.0, 103901.0),
)
"""Table 4 in its order; masses [kg], first moments [kg mm], inertia [kg mm^2]."""


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
