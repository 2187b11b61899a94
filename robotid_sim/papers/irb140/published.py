"""What the paper on the ABB IRB 140 prints, and the 27 parameters it identifies."""

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.model.catalog import published_print

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

MAPE = {"QPSO": (0.43, 0.76), "PSO": (2.94, 4.66)}
"""Mean absolute percentage errors that the text states: centers of mass, inertia [%]."""
FITNESS = {"QPSO": (1.02, 0.923), "PSO": (2.09, 0.901)}
"""Mean and standard deviation of the final fitness over 30 runs."""
TRACKING = {
    ("nominal", "reference"): (0.577, 0.599, 1.85, 0.0899),
    ("nominal", "PSO"): (0.462, 0.499, 1.69, 0.0607),
    ("nominal", "QPSO"): (0.515, 0.531, 1.77, 0.0799),
    ("disturbed", "reference"): (0.654, 0.791, 1.99, 0.0985),
    ("disturbed", "PSO"): (0.589, 0.699, 1.91, 0.0851),
    ("disturbed", "QPSO"): (0.613, 0.713, 1.92, 0.091),
}
"""Table 4: rise time [s], settling time [s], overshoot [%], steady-state error [%]."""
NETWORK = (0.48, 0.61)
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
