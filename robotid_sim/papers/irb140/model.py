"""The 27 parameters that the paper on the ABB IRB 140 identifies, and their printed values."""

from decimal import Decimal

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.model.catalog import load_published_parameters, load_published_print
from robotid_sim.model.parameters import INERTIAL_COUNT
from robotid_sim.papers.sheet import read_settings

PAPER_NAME = "irb140-qpso"
"""Name of the paper and of its random streams."""
ROBOT_NAME = "irb140"
PUBLISHED_SETS = {"reference": "table-2", "QPSO": "table-3-qpso", "PSO": "table-3-pso"}
"""Published sets by the columns of Table 3."""
COM_SYMBOLS = ("Xc", "Yc", "Zc")
INERTIA_SYMBOLS = ("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
LINK_NAMES = ("link_1", "link_2", "link_3")
PARAMETER_NAMES = tuple(
    f"{name}{k}" for k in range(1, 4) for name in (*COM_SYMBOLS, *INERTIA_SYMBOLS)
)
"""The 27 parameters, link by link, in the order of Table 3."""
PARAMETER_KINDS = np.array([name[:-1] for name in PARAMETER_NAMES])
COM_MASK = np.isin(PARAMETER_KINDS, COM_SYMBOLS)
MOMENT_MASK = np.isin(PARAMETER_KINDS, ("Ixx", "Iyy", "Izz"))
PARTICLES, ITERATIONS = 120, 150
SETTINGS = read_settings(__file__)


def parameter_vector(column: str) -> Float1D:
    """Read a column of Table 3 [m, kg m^2], in the order of `PARAMETER_NAMES`."""
    return np.array([float(value) for value in _parse_printed(column)])


def link_parameters(candidates: Float2D) -> Float2D:
    """Compute inertial parameters of the links, shape (m, 30), from candidates of shape (m, 27).

    Masses are those of Table 2; see `inertia.pack` for a single body.
    """
    masses = load_published_parameters(ROBOT_NAME).phi[
        : len(LINK_NAMES) * INERTIAL_COUNT : INERTIAL_COUNT
    ]
    links = candidates.reshape(len(candidates), len(LINK_NAMES), -1)
    bodies = []
    for k, mass in enumerate(masses):
        x, y, z, xx, xy, xz, yy, yz, zz = links[:, k].T
        bodies += [
            np.full(len(candidates), mass),
            *(mass * x, mass * y, mass * z),
            *(xx + mass * (y * y + z * z), xy - mass * x * y, yy + mass * (x * x + z * z)),
            *(xz - mass * x * z, yz - mass * y * z, zz + mass * (x * x + y * y)),
        ]
    return np.column_stack(bodies)


def compute_rounding(value: float | Decimal) -> float:
    """Compute half a unit of the last printed digit of a number."""
    exponent = Decimal(str(value)).as_tuple().exponent
    assert isinstance(exponent, int)
    return 0.5 * 10.0**exponent


def distance_from_print(printed: float, ends: tuple[float, float]) -> float:
    """Measure how far a printed number, to its last digit, is from a range; zero if they meet."""
    half = compute_rounding(printed)
    return max(0.0, ends[0] - (printed + half), printed - half - ends[1])


def mape(estimate: Float1D, reference: Float1D) -> tuple[float, float]:
    """Compute the mean absolute percentage error of centers of mass and of inertia [%]."""
    share = 100.0 * np.abs((estimate - reference) / reference)
    return float(share[COM_MASK].mean()), float(share[~COM_MASK].mean())


def mape_ranges(column: str) -> tuple[tuple[float, float], tuple[float, float]]:
    """Bound both errors of `mape` by the last printed digits of a column and of the reference [%].

    The result has the smallest and the largest error of centers of mass and of inertia.
    """
    ends = []
    for name in (column, "reference"):
        values, half = parameter_vector(name), [compute_rounding(v) for v in _parse_printed(name)]
        ends.append((values - half, values + half))
    shares = np.array([100.0 * (above / below - 1.0) for above in ends[0] for below in ends[1]])
    low, high = shares.min(axis=0), shares.max(axis=0)
    least = np.where(low * high <= 0.0, 0.0, np.minimum(np.abs(low), np.abs(high)))
    largest = np.maximum(np.abs(low), np.abs(high))
    com, inertia = (
        (float(least[part].mean()), float(largest[part].mean())) for part in (COM_MASK, ~COM_MASK)
    )
    return com, inertia


def _parse_printed(column: str) -> list[Decimal]:
    links = load_published_print(ROBOT_NAME, PUBLISHED_SETS[column])
    return [
        value
        for link in LINK_NAMES
        for value in (
            *links[link]["com"],
            *(links[link]["inertia"][name] for name in INERTIA_SYMBOLS),
        )
    ]
