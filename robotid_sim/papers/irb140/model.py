"""The 27 parameters that the paper on the ABB IRB 140 identifies, and what it prints of them."""

from decimal import Decimal

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.model.catalog import published_parameters, published_print
from robotid_sim.model.parameters import N_INERTIAL
from robotid_sim.papers.sheet import read_settings

ROOT = "irb140-qpso"
"""Name of the paper and of its random streams."""
ROBOT = "irb140"
SETS = {"reference": "table-2", "QPSO": "table-3-qpso", "PSO": "table-3-pso"}
"""The columns of Table 3 and the published sets that hold them."""
COM = ("Xc", "Yc", "Zc")
INERTIA = ("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
LINKS = ("link_1", "link_2", "link_3")
NAMES = tuple(f"{name}{k}" for k in range(1, 4) for name in (*COM, *INERTIA))
"""The 27 parameters, link by link, in the order of Table 3."""
KINDS = np.array([name[:-1] for name in NAMES])
IS_COM = np.isin(KINDS, COM)
IS_MOMENT = np.isin(KINDS, ("Ixx", "Iyy", "Izz"))
PARTICLES, ITERATIONS = 120, 150
SETTINGS = read_settings(__file__)


def parameter_vector(column: str) -> Float1D:
    """Read the 27 parameters of a column of Table 3 [m, kg m^2], in the order of `NAMES`."""
    return np.array([float(value) for value in _printed_numbers(column)])


def link_parameters(candidates: Float2D) -> Float2D:
    """Compute the inertial parameters of the links from the 27 of candidates (m, 27), (m, 30).

    Masses are those of Table 2; the vectorized form of `inertia.pack`.
    """
    masses = published_parameters(ROBOT).phi[: len(LINKS) * N_INERTIAL : N_INERTIAL]
    links = candidates.reshape(len(candidates), len(LINKS), -1)
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


def rounding_of(value: float | Decimal) -> float:
    """Half a unit of the last digit of a number as it is printed."""
    exponent = Decimal(str(value)).as_tuple().exponent
    assert isinstance(exponent, int)
    return 0.5 * 10.0**exponent


def distance_from_print(printed: float, ends: tuple[float, float]) -> float:
    """Measure how far a printed number, to its last digit, is from a range; zero if they meet."""
    half = rounding_of(printed)
    return max(0.0, ends[0] - (printed + half), printed - half - ends[1])


def mape(estimate: Float1D, reference: Float1D) -> tuple[float, float]:
    """Compute the mean absolute percentage error of centers of mass and of inertia [%]."""
    share = 100.0 * np.abs((estimate - reference) / reference)
    return float(share[IS_COM].mean()), float(share[~IS_COM].mean())


def mape_ranges(column: str) -> tuple[tuple[float, float], tuple[float, float]]:
    """Bound both errors of `mape` by the last printed digits of a column and of the reference [%].

    Of centers of mass and of inertia: the least and the largest error.
    """
    ends = []
    for name in (column, "reference"):
        values, half = parameter_vector(name), [rounding_of(v) for v in _printed_numbers(name)]
        ends.append((values - half, values + half))
    shares = np.array([100.0 * (above / below - 1.0) for above in ends[0] for below in ends[1]])
    low, high = shares.min(axis=0), shares.max(axis=0)
    least = np.where(low * high <= 0.0, 0.0, np.minimum(np.abs(low), np.abs(high)))
    largest = np.maximum(np.abs(low), np.abs(high))
    com, inertia = (
        (float(least[part].mean()), float(largest[part].mean())) for part in (IS_COM, ~IS_COM)
    )
    return com, inertia


def _printed_numbers(column: str) -> list[Decimal]:
    links = published_print(ROBOT, SETS[column])
    return [
        value
        for link in LINKS
        for value in (*links[link]["com"], *(links[link]["inertia"][name] for name in INERTIA))
    ]
