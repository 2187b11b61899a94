"""The arm of the paper and the tables that it prints: base parameters, settings, results."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from robotid_sim.arrays import Float, Float1D, Float2D, readonly
from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.model import inertia, parameters
from robotid_sim.model.catalog import published_links, published_parameters
from robotid_sim.model.robot import Robot

A1, A2 = 0.35, 1.035
"""Link lengths of Table 1 [m]."""


@dataclass(frozen=True, slots=True)
class Table5Row:
    """A row of Table 5."""

    printed_label: str
    label: str
    """The combination that the printed value is of; L: inertia about the link origin, l: m c."""
    terms: tuple[tuple[str, float], ...]
    """The same as symbols of the inertial parameters with factors; empty for friction."""
    unit: str
    theoretical: float
    """As printed, like what follows."""
    sedsabso: float
    bso: float
    ldwpso: float


TABLE_5 = (
    Table5Row(
        "I1yy+I2yy+I3zz+2a1I1x+m1a1²-(m2+m3)a2²",
        "L1yy + L2yy + L3zz + 2 a1 l1x + m1 a1² - (m2+m3)(a2²-a1²)",
        (
            ("Iyy1", 1.0),
            ("Iyy2", 1.0),
            ("Izz3", 1.0),
            ("mx1", 2.0 * A1),
            ("m1", A1**2),
            ("m2", A1**2 - A2**2),
            ("m3", A1**2 - A2**2),
        ),
        "kg m²", 16.41, 16.8, 16.89, 16.82,
    ),
    Table5Row("F1c", "F1c", (), "N m", 0.0, 0.01, 0.35, -0.2),
    Table5Row("F1v", "F1v", (), "N m s/rad", 0.0, -0.07, -0.21, 0.22),
    Table5Row(
        "I2xx-I2yy+(m2+m3)a2²", "L2xx - L2yy + (m2+m3) a2²",
        (("Ixx2", 1.0), ("Iyy2", -1.0), ("m2", A2**2), ("m3", A2**2)),
        "kg m²", 31.83, 31.77, 31.92, 32.21,
    ),
    Table5Row("I2xy", "L2xy", (("Ixy2", 1.0),), "kg m²", 6.14, 5.78, 5.12, 6.12),
    Table5Row(
        "I2x-a2(I2z-I3y)", "L2xz - a2 (l2z + l3y)",
        (("Ixz2", 1.0), ("mz2", -A2), ("my3", -A2)),
        "kg m²", 5.76, 5.54, 6.22, 5.83,
    ),
    Table5Row("I2yz", "L2yz", (("Iyz2", 1.0),), "kg m²", -7.82, -7.84, -7.72, -8.1),
    Table5Row(
        "I2zz-(m2+m3)a2²", "L2zz - (m2+m3) a2²",
        (("Izz2", 1.0), ("m2", -(A2**2)), ("m3", -(A2**2))),
        "kg m²", -37.29, -37.11, -37.3, -37.94,
    ),
    Table5Row(
        "I2x+(m2+m3)a2²", "l2x + (m2+m3) a2", (("mx2", 1.0), ("m2", A2), ("m3", A2)),
        "kg m", 47.37, 47.29, 47.52, 47.27,
    ),
    Table5Row("I2y", "l2y", (("my2", 1.0),), "kg m", 0.16, 0.13, 0.09, 0.27),
    Table5Row("F2c", "F2c", (), "N m", 0.0, 0.14, -0.02, -0.08),
    Table5Row("F2v", "F2v", (), "N m s/rad", 0.0, -0.21, -0.23, -0.03),
    Table5Row(
        "I3xx-I3zz", "L3xx - L3zz", (("Ixx3", 1.0), ("Izz3", -1.0)),
        "kg m²", -2.07, -2.2, -2.4, -1.51,
    ),
    Table5Row("I3xy", "L3xy", (("Ixy3", 1.0),), "kg m²", 3.34, 3.24, 3.25, 4.57),
    Table5Row("I3xz", "L3xz", (("Ixz3", 1.0),), "kg m²", -3.42, -3.34, -2.95, -4.1),
    Table5Row("I3yy", "L3yy", (("Iyy3", 1.0),), "kg m²", 1.02, 0.77, 1.12, -0.85),
    Table5Row("I3yz", "L3yz", (("Iyz3", 1.0),), "kg m²", -0.29, 0.1, -0.34, -1.42),
    Table5Row("I3x", "l3x", (("mx3", 1.0),), "kg m", 0.15, 0.11, 0.12, -0.04),
    Table5Row("I3z", "l3z", (("mz3", 1.0),), "kg m", -0.034, 0.0, -0.16, 0.04),
    Table5Row("F3c", "F3c", (), "N m", 0.0, 0.18, -0.13, -1.2),
    Table5Row("F3v", "F3v", (), "N m s/rad", 0.0, 0.06, -0.34, -0.1),
)  # fmt: skip
"""Table 5: base parameters, theoretical and as three searches identify them."""

PRINTED = {"SEDSABSO": "sedsabso", "BSO": "bso", "LDWPSO": "ldwpso"}
"""Methods of the paper, and their columns of Table 5."""


@dataclass(frozen=True, slots=True)
class Table4Row:
    """A row of Table 4."""

    fitness: float
    """Mean over 10 runs."""
    seconds: float
    """Mean time [s]."""


TABLE_4 = {
    "SEDSABSO": Table4Row(0.95, 16.93),
    "BSO": Table4Row(1.12, 17.31),
    "LDWPSO": Table4Row(1.18, 12.73),
}

TABLE_3 = (
    ("position [°]", ("-180 … 180", "-60 … 140", "-180 … 80")),
    ("velocity [°/s]", ("± 125", "± 100", "± 165")),
    ("acceleration [°/s²]", ("± 45", "± 40", "± 75")),
)
"""Limits of the joints as printed; the units of Table 3 are assumed."""
Q2_OFFSET = np.pi / 2.0
"""The paper's q2 less that of the catalog's URDF [rad]."""

ITERATIONS, RUNS = 600, 30
"""Iterations as published; runs of ours, where the paper has 10: they are cheap."""
N_FIXED = 50
"""Population of the methods without a schedule."""


@cache
def arm() -> Robot:
    """Return links 1 to 3 of the catalog's robot: the nearest bodies that can exist."""
    return published_links("rs010n")


@cache
def frames() -> Float2D:
    """Return the map of inertial parameters from the paper's frames to the URDF's, (30, 30).

    The paper's frames are those of standard Denavit-Hartenberg with alpha = (90, 0, 90) degrees.
    """
    return inertia.frame_map(published_parameters("rs010n").frames)


@cache
def base() -> BaseParameters:
    """Return the base parameters of joint torques with viscous and Coulomb friction."""
    return base_parameters(arm(), ("Fv", "Fc"))


@cache
def combinations() -> Float2D:
    """Return the rows of Table 5 that are not friction, on the paper's parameters, (15, 30)."""
    symbols = parameters.names(arm().dof)[: len(frames())]
    rows = [row.terms for row in TABLE_5 if row.terms]
    matrix = np.zeros((len(rows), len(symbols)))
    for k, terms in enumerate(rows):
        for symbol, factor in terms:
            matrix[k, symbols.index(symbol)] = factor
    return matrix


def table_5_of(inertial: Float1D, friction: Float2D | None = None) -> Float1D:
    """Return the 21 base parameters of Table 5.

    Inertial parameters are in the URDF's frames, shape (30,); friction is the Coulomb and viscous
    coefficient of every joint, shape (3, 2), by default none, as in Table 2.
    """
    beta = np.zeros(len(TABLE_5))
    beta[inertial_rows()] = combinations() @ np.linalg.solve(frames(), inertial)
    if friction is not None:
        beta[~inertial_rows()] = friction.ravel()
    return beta


@cache
def theoretical() -> Float1D:
    """Return the theoretical column of Table 5, computed from Table 2, shape (21,)."""
    inertial = published_parameters("rs010n", "table-5").phi[: len(frames())]
    return readonly(table_5_of(inertial), shape=(len(TABLE_5),), name="theoretical")


def printed(method: str | None = None) -> Float1D:
    """Return a column of Table 5 as printed: of a method, or the theoretical one, (21,)."""
    column = "theoretical" if method is None else PRINTED[method]
    return np.array([getattr(row, column) for row in TABLE_5])


def regressor(q: Float2D, dq: Float2D, ddq: Float2D, friction: Float | None = None) -> Float:
    r"""Return the regressor of the 21 parameters of Table 5, shape (N, 3, 21), of motion (N, 3).

    With the combinations G, :math:`Y = Y_b G`, and as G has full rank,
    :math:`Y_b = Y G^T (G G^T)^{-1}`. Friction is :math:`F_c \operatorname{sign}(\dot q) + F_v \dot
    q`, eq. (1); for a plant with smooth friction another shape (N, 3) stands for the sign.
    """
    G, inertial = combinations(), len(frames())
    Y = torque_regressor(arm(), q, dq, ddq)[:, :, :inertial] @ frames()
    W = np.zeros((*q.shape, len(TABLE_5)))
    W[:, :, inertial_rows()] = Y @ np.linalg.pinv(G)
    joints = np.arange(arm().dof)
    columns = np.flatnonzero(~inertial_rows()).reshape(arm().dof, 2)
    W[:, joints, columns[:, 0]] = np.sign(dq) if friction is None else friction
    W[:, joints, columns[:, 1]] = dq
    return W


@cache
def inertial_rows() -> NDArray[np.bool_]:
    """Return which rows of Table 5 are not friction, shape (21,)."""
    return np.array([bool(row.terms) for row in TABLE_5])
