"""The excitation of the paper: a finite Fourier series, found by a genetic algorithm."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.excitation import CRITERIA, FAMILIES
from robotid_sim.excitation.problem import ExcitationProblem
from robotid_sim.excitation.space import LinearSpace
from robotid_sim.papers.rs010n import model

HARMONICS, PERIOD = 5, 10.0
"""Of eq. (5); neither is printed [-, s]."""
SAMPLES = 200
"""Samples of a run; not printed."""
UNBOUND = 10.0
"""Share of the torque limits allowed: the paper has none."""
CRITERIA_OF_PAPER = {"unit": "normalized-condition-number", "SI": "condition-number"}
"""How the columns of W may count in cond(W)."""


@dataclass(frozen=True, slots=True, eq=False)
class PaperProblem(ExcitationProblem):
    """The excitation problem with the columns of Table 5, of which the condition number depends.

    Without gradients: those of `ExcitationProblem` are for its own base parameters.
    """

    def regressor(self, x: Float1D) -> Float:
        """Return the regressor of the parameters of Table 5."""
        return model.regressor(*self.grid.motion(x))


@cache
def problem(columns: str = "unit") -> PaperProblem:
    """Return the problem: limits of Table 3, condition number of unit or SI columns."""
    family = FAMILIES.build(
        "fourier", harmonics=HARMONICS, period=PERIOD, periods=1, margin=1.0, torque_ratio=UNBOUND
    )
    criterion = CRITERIA.build(CRITERIA_OF_PAPER[columns])
    return PaperProblem(model.arm(), model.base(), family, criterion)


def motion(x: Float1D, samples: int = SAMPLES) -> tuple[Float2D, Float2D, Float2D]:
    """Return position, velocity and acceleration of a run, each (samples, 3)."""
    return problem().space.on_grid(samples).motion(x)


def condition_numbers(x: Float1D) -> dict[str, float]:
    """Return the condition number of a run with columns of unit length and in SI units."""
    return {name: float(np.exp(problem(name).value(x))) for name in CRITERIA_OF_PAPER}


def limit_use(x: Float1D) -> float:
    """Return the largest share of a limit of Table 3 that a run uses."""
    space = problem().space
    assert isinstance(space, LinearSpace)
    return float(np.abs(space.limit_matrix() @ x).max())
