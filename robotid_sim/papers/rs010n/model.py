"""The arm of the paper, and its base parameters as Table 5 has them."""

from collections.abc import Mapping
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
from robotid_sim.papers.printed import read_printed

A1, A2 = 0.35, 1.035
"""Link lengths of Table 1 [m]."""
FACTORS = {
    "1": 1.0,
    "-1": -1.0,
    "2 a1": 2.0 * A1,
    "a1²": A1**2,
    "a1²-a2²": A1**2 - A2**2,
    "a2": A2,
    "-a2": -A2,
    "a2²": A2**2,
    "-a2²": -(A2**2),
}
"""Factors of inertial parameters in the combinations of Table 5."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table5Row:
    """A row of Table 5."""

    printed_label: str
    label: str
    """The combination that the printed value is of; L: inertia about the link origin, l: m c."""
    terms: Mapping[str, str]
    """The same as symbols of the inertial parameters with `FACTORS`; empty for friction."""
    unit: str
    theoretical: float
    """As printed, like what follows."""
    sedsabso: float
    bso: float
    ldwpso: float


PRINTED_TABLES = read_printed(__file__)
TABLE_5 = tuple(Table5Row(**row) for row in PRINTED_TABLES["table_5"])
"""Base parameters, theoretical and as three searches identify them."""
TABLE_4: dict[str, dict[str, float]] = PRINTED_TABLES["table_4"]
"""Mean fitness and mean time [s] of the searches."""
PRINTED = {"SEDSABSO": "sedsabso", "BSO": "bso", "LDWPSO": "ldwpso"}
"""Methods of the paper, and their columns of Table 5."""
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
        for symbol, factor in terms.items():
            matrix[k, symbols.index(symbol)] = FACTORS[factor]
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
