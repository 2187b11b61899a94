"""Instrumental variables: least squares that noise of the motion does not bias."""

import time
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import require_type
from robotid_sim.estimation.block_sandwich import check_rounds
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.least_squares import PROBLEM_REMEDY, WeightedLeastSquares
from robotid_sim.estimation.problem import Estimator, LinearProblem
from robotid_sim.estimation.reduction import span_of

MISSING_INSTRUMENTS_MESSAGE = (
    "no instruments: the log does not repeat; this is weighted least squares"
)


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class InstrumentalVariables(Estimator):
    r"""Two-stage least squares with the regressor of other periods as instruments.

    The regressor is made from measured positions, so that its noise goes with the residuals: that
    of velocities and accelerations shrinks least squares, and in a loop that feeds the same
    positions back even the torque follows it. The regressor Z along the mean of the *other* periods
    of a log that repeats goes with W, and its noise with neither [1]_. With the weights of the
    joints the first stage is the projection :math:`\hat W = Z (Z^T Z)^{-1} Z^T W`, the second

    .. math:: \hat\beta = (\hat W^T \hat W)^{-1} \hat W^T y ,

    which is :math:`(Z^T W)^{-1} Z^T y`. Where other work simulates the identified robot with its
    controller for instruments [2]_, a log that repeats has them itself, and nobody needs to know
    the controller. Without a second period it is weighted least squares, and says so.

    References
    ----------
    .. [1] Söderström, Stoica (2002), "Instrumental variable methods for system identification",
       Circuits, Systems and Signal Processing 21(1), doi:10.1007/BF01211647.
    .. [2] Janot, Vandanjon, Gautier (2014), "A generic instrumental variable approach for
       industrial robot identification", IEEE Trans. Control Systems Technology 22(1),
       doi:10.1109/TCST.2013.2246163.
    """

    uses_instruments: ClassVar[bool] = True
    rounds: int = 5
    """How often weights are estimated anew."""
    block: float | None = None
    """Length of the blocks of the covariance [s]; None: by the correlation of the residuals."""

    def __post_init__(self) -> None:
        check_rounds("instrumental variables need", self.rounds, self.block)

    def fit(self, problem: LinearProblem, rng: np.random.Generator | None = None) -> Estimate:
        """Return the estimate; `rng` is not used."""
        require_type(problem, LinearProblem, "problem", PROBLEM_REMEDY)
        began, wls = time.perf_counter(), WeightedLeastSquares(rounds=1, block=self.block)
        found = WeightedLeastSquares(rounds=self.rounds, block=self.block).fit(problem, rng)
        named: dict[str, Any] = {"estimator": "instrumental-variables", "options": asdict(self)}
        if problem.instruments is None or not found.success:
            text = found.message or MISSING_INSTRUMENTS_MESSAGE
            return replace(found, message=text, **named)
        beta = found.beta
        for _ in range(self.rounds):
            left = problem.y - problem.W @ beta
            sigma = np.sqrt((problem.unstack_rows(left) ** 2).mean(axis=0))
            weight = np.tile(1.0 / np.where(sigma > 0.0, sigma, 1.0), problem.samples)
            Q = span_of(problem.instruments * weight[:, None])
            first = Q.T @ (problem.W * weight[:, None])
            beta = np.linalg.lstsq(first, Q.T @ (problem.y * weight), rcond=None)[0]
        left, W = problem.y - problem.W @ beta, Q @ first / weight[:, None]
        # A fit of these torques has the residuals of W, not those of its share.
        found = wls.fit(replace(problem, W=W, y=W @ beta + left), rng)
        rms = np.sqrt((problem.unstack_rows(left) ** 2).mean(axis=0))
        seconds = time.perf_counter() - began
        return replace(found, beta=beta, torque_rms=rms, seconds=seconds, **named)
