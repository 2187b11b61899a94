"""The arm of the paper, its base parameters as in Table 5, and its excitation."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from robotid_sim.arrays import Float, Float1D, Float2D, readonly
from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.excitation import CRITERIA, FAMILIES
from robotid_sim.excitation.problem import ExcitationProblem
from robotid_sim.excitation.space import LinearSpace
from robotid_sim.model import inertia, parameters
from robotid_sim.model.catalog import load_published_parameters, make_published_links
from robotid_sim.model.robot import Robot
from robotid_sim.papers.sheet import read_settings

A1, A2 = 0.35, 1.035
"""Link lengths of Table 1 [m]."""
INERTIAL_FACTORS = {
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


SETTINGS = read_settings(__file__)
_COLUMNS = ("printed_label", "label", "terms", "unit", "theoretical", "SEDSABSO", "BSO", "LDWPSO")
TABLE_5 = dict(zip(_COLUMNS, map(list, zip(*SETTINGS["table_5"], strict=True)), strict=True))
"""Columns of Table 5: labels, combinations as symbols with `INERTIAL_FACTORS`, units, and
values."""
PRINTED_METHODS = ("SEDSABSO", "BSO", "LDWPSO")
"""Methods of the paper."""
PARAMETER_COUNT = len(TABLE_5["label"])
Q2_OFFSET = np.pi / 2.0
"""Joint position q2 of the paper minus q2 of the URDF in the catalog [rad]."""
HARMONICS, PERIOD = 5, 10.0
"""Number of harmonics and base period [s] of eq. (5); neither is printed."""
SAMPLE_COUNT = 200
"""Samples of a run; not printed."""
UNBOUNDED_TORQUE_RATIO = 10.0
"""Allowed share of the torque limits; the paper has no torque limits."""
CRITERIA_OF_PAPER = {"unit": "normalized-condition-number", "SI": "condition-number"}
"""Criteria by the scaling of the columns of W in cond(W)."""


@cache
def arm() -> Robot:
    """Make links 1 to 3 of the catalog's robot: the nearest consistent bodies."""
    return make_published_links("rs010n")


@cache
def frames() -> Float2D:
    """Compute the map of inertial parameters from the paper's frames to the URDF's, (30, 30).

    The paper's frames are those of standard Denavit-Hartenberg with alpha = (90, 0, 90) degrees.
    """
    return inertia.frame_map(load_published_parameters("rs010n").frames)


@cache
def base() -> BaseParameters:
    """Find the base parameters of joint torques with viscous and Coulomb friction."""
    return base_parameters(arm(), ("Fv", "Fc"))


@cache
def combinations() -> Float2D:
    """Build the matrix from the paper's inertial parameters to those rows of Table 5, (15, 30)."""
    symbols = parameters.names(arm().dof)[: len(frames())]
    rows = [terms for terms in TABLE_5["terms"] if terms]
    matrix = np.zeros((len(rows), len(symbols)))
    for k, terms in enumerate(rows):
        for symbol, factor in terms.items():
            matrix[k, symbols.index(symbol)] = INERTIAL_FACTORS[factor]
    return matrix


@cache
def inertial_rows() -> NDArray[np.bool_]:
    """Mark the rows of Table 5 that are not friction, shape (21,)."""
    return np.array([bool(terms) for terms in TABLE_5["terms"]])


def table_5_of(inertial: Float1D, friction: Float2D | None = None) -> Float1D:
    """Compute the 21 base parameters of Table 5.

    Inertial parameters are in the URDF's frames, shape (30,); friction is the Coulomb and viscous
    coefficient of every joint, shape (3, 2), by default none, as in Table 2.
    """
    beta = np.zeros(PARAMETER_COUNT)
    beta[inertial_rows()] = combinations() @ np.linalg.solve(frames(), inertial)
    if friction is not None:
        beta[~inertial_rows()] = friction.ravel()
    return beta


@cache
def theoretical() -> Float1D:
    """Compute the theoretical column of Table 5 from Table 2, shape (21,)."""
    inertial = load_published_parameters("rs010n", "table-5").phi[: len(frames())]
    return readonly(table_5_of(inertial), shape=(PARAMETER_COUNT,), name="theoretical")


def read_printed_column(column: str) -> Float1D:
    """Return a column of Table 5 as printed: of a method, or the theoretical one, (21,)."""
    return np.array(TABLE_5[column])


def true_of_engine() -> Float1D:
    """Return the parameters of Table 5 of the feasible robot, with its friction, shape (21,)."""
    phi, inertial = arm().parameters(), parameters.INERTIAL_COUNT * arm().dof
    drives = phi[inertial:].reshape(arm().dof, parameters.JOINT_COUNT)
    order = [parameters.JOINT_SYMBOLS.index(symbol) for symbol in ("Fc", "Fv")]
    return table_5_of(phi[:inertial], drives[:, order])


def regressor(q: Float2D, dq: Float2D, ddq: Float2D, friction: Float | None = None) -> Float:
    r"""Compute the regressor of the 21 parameters of Table 5, shape (N, 3, 21), of motion (N, 3).

    With the combinations G, :math:`Y = Y_b G`, and as G has full rank,
    :math:`Y_b = Y G^T (G G^T)^{-1}`. Friction is :math:`F_c \operatorname{sign}(\dot q) + F_v \dot
    q`, eq. (1); for a plant with smooth friction `friction`, shape (N, 3), replaces the
    sign.
    """
    G, inertial = combinations(), len(frames())
    Y = torque_regressor(arm(), q, dq, ddq)[:, :, :inertial] @ frames()
    W = np.zeros((*q.shape, PARAMETER_COUNT))
    W[:, :, inertial_rows()] = Y @ np.linalg.pinv(G)
    joints = np.arange(arm().dof)
    columns = np.flatnonzero(~inertial_rows()).reshape(arm().dof, 2)
    W[:, joints, columns[:, 0]] = np.sign(dq) if friction is None else friction
    W[:, joints, columns[:, 1]] = dq
    return W


@dataclass(frozen=True, slots=True, eq=False)
class PaperProblem(ExcitationProblem):
    """The excitation problem with the columns of Table 5, on which the condition number depends.

    It has no gradients: the gradients of `ExcitationProblem` are for its own base parameters.
    """

    def regressor(self, x: Float1D) -> Float:
        """Compute the regressor of the parameters of Table 5."""
        return regressor(*self.grid.motion(x))


@cache
def problem(columns: str = "unit") -> PaperProblem:
    """Make the problem: limits of Table 3, condition number of unit or SI columns."""
    family = FAMILIES.build(
        "fourier",
        harmonics=HARMONICS,
        period=PERIOD,
        periods=1,
        margin=1.0,
        torque_ratio=UNBOUNDED_TORQUE_RATIO,
    )
    return PaperProblem(arm(), base(), family, CRITERIA.build(CRITERIA_OF_PAPER[columns]))


def gradient_problem() -> ExcitationProblem:
    """Make the problem with gradients, from which feasible motions are drawn."""
    paper = problem()
    return ExcitationProblem(paper.nominal, paper.basis, paper.family, paper.criterion)


def motion(x: Float1D, samples: int = SAMPLE_COUNT) -> tuple[Float2D, Float2D, Float2D]:
    """Compute position, velocity and acceleration of a run, each (samples, 3)."""
    return problem().space.make_grid(samples).motion(x)


def condition_numbers(x: Float1D) -> dict[str, float]:
    """Compute the condition number of a run with columns of unit length and in SI units."""
    return {name: float(np.exp(problem(name).value(x))) for name in CRITERIA_OF_PAPER}


def limit_use(x: Float1D) -> float:
    """Compute the largest share of a limit of Table 3 that a run uses."""
    space = problem().space
    assert isinstance(space, LinearSpace)
    return float(np.abs(space.limit_matrix() @ x).max())
