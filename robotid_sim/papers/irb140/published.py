"""What the paper on the ABB IRB 140 prints, and the 27 parameters it identifies."""

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.model.catalog import published_print
from robotid_sim.papers.printed import read_printed

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
IS_COM = np.array([name[:-1] in COM for name in NAMES])

RUNS, PARTICLES, ITERATIONS = 30, 120, 150

_PRINTED = read_printed(__file__)
MAPE: dict[str, list[float]] = _PRINTED["mape"]
"""Mean absolute percentage errors that the text states: centers of mass, inertia [%]."""
FITNESS: dict[str, list[float]] = _PRINTED["fitness"]
"""Mean and standard deviation of the final fitness over 30 runs."""
TRACKING: dict[str, dict[str, list[float]]] = _PRINTED["tracking"]
"""Table 4, by scenario and model: rise and settling time [s], overshoot, steady-state error [%]."""
NETWORK: list[float] = _PRINTED["network"]
"""Position error of the network in training and validation [mm]."""


def parameter_vector(column: str) -> Float1D:
    """Return the 27 parameters of a column of Table 3 [m, kg m^2], in the order of `NAMES`."""
    printed = published_print(ROBOT, SETS[column])
    values: list[float] = []
    for link in LINKS:
        values += [float(value) for value in printed[link]["com"]]
        values += [float(printed[link]["inertia"][name]) for name in INERTIA]
    return np.array(values)


def mape(estimate: Float1D, reference: Float1D) -> tuple[float, float]:
    """Return the mean absolute percentage error of centers of mass and of inertia [%]."""
    share = 100.0 * np.abs((estimate - reference) / reference)
    return float(share[IS_COM].mean()), float(share[~IS_COM].mean())
