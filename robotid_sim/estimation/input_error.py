"""Input error: the torque that holds a simulated robot to the measured positions."""

from dataclasses import asdict, dataclass, replace
from typing import ClassVar

import numpy as np

from robotid_sim.arrays import Int1D
from robotid_sim.docstrings import documented
from robotid_sim.dynamics.dynamics import mass_matrix
from robotid_sim.errors import OptionError, require_type
from robotid_sim.estimation.block_sandwich import check_block
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.estimator import Estimator
from robotid_sim.estimation.least_squares import PROBLEM
from robotid_sim.estimation.prediction_error import Observer, fit_predictions, settled
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.recording import RecordedLog
from robotid_sim.estimation.simulation import constant_gains
from robotid_sim.model.robot import Robot


@documented
@dataclass(frozen=True, slots=True, kw_only=True)
class InputError(Estimator):
    r"""Parameters with which a simulated loop needs the measured torques and no others.

    The robot is simulated under the measured torques, and a loop of a given bandwidth holds it to
    the measured positions z. What that loop adds to the measured torque is the input error

    .. math:: \Delta\tau_k(\beta) = \omega^2 \tilde M(q_k) \, (z_k - q_k(\beta)) ,

    and its square over the noise of every joint is minimized, as closed-loop input error methods
    do [1]_, [2]_. Those simulate the machine's own controller along its reference; the logs of a
    machine seldom tell either, and here nothing has to be known of them. The mass matrix is that of
    weighted least squares, from which Gauss-Newton steps start, with all sensitivities (DIDIM [1]_
    neglects those of the simulated motion). The covariance is the block sandwich of the last step.

    Beside output error it weighs what is in the torque, in its own unit: the choice where torques
    are noisier than positions. The loop is a low-pass for both, so that its bandwidth is that of
    the fit: too high, and the noise of the encoders comes in with its square; too low, and friction
    near standstill goes out. Where the controller has seen the noise of the log, torques go with
    it, and bias this estimate; take `output-error` there.

    References
    ----------
    .. [1] Gautier, Janot, Vandanjon (2013), "A new closed-loop output error method for parameter
       identification of robot dynamics", IEEE Trans. Control Systems Technology 21(2).
    .. [2] Leboutet, Roux, Janot, Guadarrama-Olvera, Cheng (2021), "Inertial parameter
       identification in robotics: a survey", Applied Sciences 11(9), doi:10.3390/app11094303.
    """

    uses_recordings: ClassVar[bool] = True

    bandwidth: float = 50.0
    """Bandwidth of the loop [rad/s], the same for all joints."""
    block: float | None = None
    """Length of the blocks of the covariance [s]; None: by the correlation of the input error."""

    def __post_init__(self) -> None:
        if not 0.0 < self.bandwidth < np.inf:
            raise OptionError(f"a loop needs a positive bandwidth, got {self.bandwidth}")
        check_block(self.block)

    def fit(self, problem: LinearProblem, rng: np.random.Generator | None = None) -> Estimate:
        """Return the estimate; `rng` is not used."""
        del rng
        require_type(problem, LinearProblem, "problem", PROBLEM)
        found = fit_predictions(problem, self._observer, self.block)
        return replace(found, estimator="input-error", options=asdict(self))

    def _observer(self, robot: Robot, recording: RecordedLog, columns: Int1D) -> Observer:
        del columns
        return holding(robot, recording, self.bandwidth)


def holding(robot: Robot, recording: RecordedLog, bandwidth: float) -> Observer:
    """Return the loop that holds a simulated robot to a recording, its innovations as torques.

    All joints have one bandwidth [rad/s]. The weighted innovations are the torques that the loop
    adds [N m or N], zero until it has forgotten the start and what it missed.
    """
    weights = bandwidth**2 * mass_matrix(robot, recording.q)
    weights[~settled(bandwidth, recording)] = 0.0
    return Observer(recording, constant_gains(bandwidth, recording), weights)
