"""Instrumental variables: least squares without bias from noise of the motion."""

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
    "no instruments, because the log does not repeat; this is weighted least squares"
)


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class InstrumentalVariables(Estimator):
    r"""Two-stage least squares with the regressor of other periods as instruments.

    The regressor is computed from measured positions, so that its noise correlates with the
    residuals: noise of velocities and accelerations biases least squares toward zero, and feedback
    of the same positions makes the torque depend on it. The regressor Z along the mean of *other*
    periods of a periodic log correlates with W, but not with the noise [1]_. With the weights of
    the joints the first stage is the projection :math:`\hat W = Z (Z^T Z)^{-1} Z^T W`, the second

    .. math:: \hat\beta = (\hat W^T \hat W)^{-1} \hat W^T y ,

    which is :math:`(Z^T W)^{-1} Z^T y`. Instruments may also come from a simulation of the
    identified robot with its controller [2]_; a periodic log needs no knowledge of the controller.
    Without a second period it is weighted least squares, as its message states.

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
    """Number of weight estimates."""
    block: float | None = None
    """Length of the blocks of the covariance [s]; None: by the correlation of the residuals."""

    def __post_init__(self) -> None:
        check_rounds("instrumental variables need", self.rounds, self.block)

    def fit(self, problem: LinearProblem, rng: np.random.Generator | None = None) -> Estimate:
        """Fit the problem; `rng` is not used."""
        require_type(problem, LinearProblem, "problem", PROBLEM_REMEDY)
        began, wls = time.perf_counter(), WeightedLeastSquares(rounds=1, block=self.block)
        estimate = WeightedLeastSquares(rounds=self.rounds, block=self.block).fit(problem, rng)
        labels: dict[str, Any] = {"estimator": "instrumental-variables", "options": asdict(self)}
        if problem.instruments is None or not estimate.success:
            text = estimate.message or MISSING_INSTRUMENTS_MESSAGE
            return replace(estimate, message=text, **labels)
        beta = estimate.beta
        for _ in range(self.rounds):
            residual = problem.y - problem.W @ beta
            sigma = np.sqrt((problem.unstack_rows(residual) ** 2).mean(axis=0))
            weight = np.tile(1.0 / np.where(sigma > 0.0, sigma, 1.0), problem.samples)
            Q = span_of(problem.instruments * weight[:, None])
            projected_W = Q.T @ (problem.W * weight[:, None])
            beta = np.linalg.lstsq(projected_W, Q.T @ (problem.y * weight), rcond=None)[0]
        residual, W = problem.y - problem.W @ beta, Q @ projected_W / weight[:, None]
        # With these torques the residuals are those of the original W, not of its projection.
        estimate = wls.fit(replace(problem, W=W, y=W @ beta + residual), rng)
        rms = np.sqrt((problem.unstack_rows(residual) ** 2).mean(axis=0))
        seconds = time.perf_counter() - began
        return replace(estimate, beta=beta, torque_rms=rms, seconds=seconds, **labels)
