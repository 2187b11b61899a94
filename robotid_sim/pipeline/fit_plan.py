"""How logs become estimates: built values, with no name left to look up."""

from collections.abc import Mapping
from dataclasses import dataclass

from robotid_sim.estimation.problem import Estimator
from robotid_sim.preprocess.preprocessor import Preprocessor
from robotid_sim.representation import public_value


@public_value
@dataclass(frozen=True, kw_only=True, eq=False)
class FitPlan:
    """How a log becomes estimates."""

    preprocessor: Preprocessor
    estimators: Mapping[str, Estimator]
    """By the name that their estimates get, in the order in which they run."""
    chosen: str
    """The estimate that the identified robot is made from."""
    estimate_eps: bool = False
    """Whether transition velocities of friction are taken from the log where it shows others."""
    estimate_gravity: bool = False
    """Whether gravity is taken from the log where it shows another."""
    torque_gain_std: float = 0.0
    """Standard deviation of the relative errors of the torque constants."""
    joint_terms: tuple[str, ...] = ()
    """Kinds of terms of a joint's torque that the fit may choose beside the standard ones."""
    heeds_loop_noise: bool = False
    """Whether output error is run and chosen where the controller of a log has shaken the robot
    with the noise of its encoders."""
