"""Plan of a design: family, criterion, constraints and search as values.

The module also chooses a home pose that the arm can hold; motions start and end there, and
infeasible ones are shrunk toward it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.docstrings import document_attributes
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.dynamics.dynamics import gravity_torque
from robotid_sim.errors import InfeasibleError, OptionError
from robotid_sim.excitation.constraints import MotionConstraint
from robotid_sim.excitation.criteria import Criterion, DOptimality
from robotid_sim.excitation.information import Prior, log_samples
from robotid_sim.excitation.problem import ExcitationProblem
from robotid_sim.excitation.space import ExcitationFamily, FourierOptions
from robotid_sim.model.robot import Robot
from robotid_sim.optim.optimizer import Optimizer
from robotid_sim.representation import public_value

Handling = Literal["scaling", "penalty"]


@document_attributes
@dataclass(frozen=True, kw_only=True)
class GradientSearch:
    """Sequential quadratic programming from the best random candidates."""

    candidates: int = 200
    """Number of random draws."""
    starts: int = 1
    """Number of draws from which the solver starts; with 0 the best candidate is the result."""
    iterations: int = 200
    """Largest number of iterations of a run of the solver; a start has one to four runs."""


@document_attributes
@dataclass(frozen=True, kw_only=True, eq=False)
class SwarmSearch:
    """An optimizer of `robotid_sim.optim` or of the user, with its budget."""

    method: str | Optimizer
    """Name in OPTIMIZERS, or an optimizer."""
    population: int = 50
    """Number of points of a generation."""
    generations: int = 30
    options: Mapping[str, Any] = field(default_factory=dict)
    """Hyper-parameters of the method, if it is a name."""
    handling: Handling = "scaling"
    """Handling of limits; see `DesignCost`."""


@public_value
@dataclass(frozen=True, kw_only=True, eq=False)
class DesignPlan:
    """Plan of an excitation, for a nominal model that is given separately."""

    family: ExcitationFamily = field(default_factory=FourierOptions)
    """Kind of motion and its limits."""
    criterion: Criterion = field(default_factory=DOptimality)
    """Criterion to minimize."""
    search: GradientSearch | SwarmSearch = field(default_factory=GradientSearch)
    """Search for the minimum."""
    constraints: tuple[MotionConstraint, ...] = ()
    """Constraints in addition to the limits of the joints."""
    clearance: float | None = None
    """Minimum distance between links that are not neighbors, and to the floor [m]."""
    floor: float | None = None
    """Height of the floor in the root frame [m]."""
    assumptions: tuple[str, ...] = ()
    """Assumptions about geometry and floor, one sentence each."""
    start: Float1D | None = None
    """Pose at the start of every run [rad or m], shape (n,)."""
    noise_std: Float1D | None = None
    """Torque noise of every joint [N m] that weights its rows, shape (n,)."""
    prior: Prior | None = None
    """Information of existing data."""
    prior_names: tuple[str, ...] = ()
    """Sources of the prior."""
    count: int = 1
    """Number of trajectories, each designed given the previous ones."""
    jointly: bool = False
    """Whether all trajectories are improved together at the end."""
    rate: float = 1000.0
    """Sample rate of the log [Hz]."""

    @property
    def dt(self) -> float:
        """Time between the samples of the log [s]."""
        return 1.0 / self.rate

    @property
    def gradient(self) -> GradientSearch:
        """The search by gradient.

        Raises `OptionError` if the plan has another search, or a negative number of starts.
        """
        search = self.search
        if not isinstance(search, GradientSearch):
            raise OptionError("the plan is to search by a swarm; give it a GradientSearch")
        if search.starts < 0:
            raise OptionError(f"the number of starts must not be negative, got {search.starts}")
        return search

    def problem(self, nominal: Robot, basis: BaseParameters, motions: int = 1) -> ExcitationProblem:
        """Return the nonlinear program of all new motions; their logs add to the prior data."""
        prior = self.prior
        criterion = self.criterion.set_data(
            noise_std=self.noise_std,
            prior=None if prior is None or prior.is_empty else prior.root,
            samples=motions * log_samples(self.family, self.dt),
            motions=motions,
        )
        return ExcitationProblem(
            nominal, basis, self.family, criterion, self.constraints, self.start
        )

    @property
    def has_clearance(self) -> bool:
        """Whether contact is a constraint."""
        return self.clearance is not None or self.floor is not None


MAX_HOLDING_SHARE = 2.0 / 3.0
"""Largest gravity torque at the home pose, over the torque that motions may use, with which the
pose is kept."""

MAX_REPLACEMENT_SHARE = 1.0 / 3.0
"""Largest ratio of the same torques at a pose that replaces it."""

DRAW_COUNT = 4000
"""Number of random poses that are tried."""

PATH_SHARES = (0.25, 0.5, 0.75, 1.0)
"""Shares of the path from home to each random pose."""


def choose_home(robot: Robot, torque_ratio: float) -> Robot:
    """Choose a home pose that the robot can hold against gravity with a torque reserve.

    It is its own home if possible; otherwise the nearest seeded random pose with a large reserve
    or, if there is none, the pose with the largest reserve. The new pose is recorded in the
    assumptions of the robot.

    `torque_ratio` is the share of the torque limits that motions may use. Raises `InfeasibleError`
    if no pose can be held within it; the message names the joint.
    """
    allowed = torque_ratio * robot.limits.effort
    at_home = np.abs(gravity_torque(robot, robot.home)) / allowed
    if at_home.max() <= MAX_HOLDING_SHARE:
        return robot
    weak = int(at_home.argmax())
    rng = np.random.default_rng(int(robot.fingerprint()[:16], 16))
    bounds = (
        robot.home - 0.9 * (robot.home - robot.limits.lower),
        (robot.home + 0.9 * (robot.limits.upper - robot.home)),
    )
    drawn = rng.uniform(*bounds, (DRAW_COUNT, robot.dof))
    poses = np.concatenate([robot.home + share * (drawn - robot.home) for share in PATH_SHARES])
    ratio = (np.abs(gravity_torque(robot, poses)) / allowed).max(axis=1)
    distance = (np.abs(poses - robot.home) / robot.limits.half_range).max(axis=1)
    reserve = ratio <= MAX_REPLACEMENT_SHARE
    best = int(np.where(reserve, distance, np.inf).argmin() if reserve.any() else ratio.argmin())
    joint = robot.joints[weak]
    share = at_home[weak] * torque_ratio
    if ratio[best] >= 1.0:
        raise InfeasibleError(
            f"joint '{joint.name}' of '{robot.name}' needs {share:.0%} of its {joint.effort:g} N m "
            f"against gravity at home, above {torque_ratio:.0%}; correct its effort limit or the "
            f"masses"
        )
    note = (
        f"home is {_format_pose(poses[best])}, where gravity takes {torque_ratio * ratio[best]:.0%}"
        f" of a torque limit; at {_format_pose(robot.home)} joint '{joint.name}' needs {share:.0%}"
    )
    return replace(robot, held_home=poses[best], assumptions=(*robot.assumptions, note))


def _format_pose(pose: Float1D) -> str:
    return f"({', '.join(f'{value:.3g}' for value in pose)})"
