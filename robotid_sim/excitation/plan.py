"""What a design stage designs: family, criterion, constraints and search as values."""

from dataclasses import dataclass, field

from robotid_sim.arrays import Float1D
from robotid_sim.excitation.constraints import MotionConstraint
from robotid_sim.excitation.criteria import Criterion, DOptimality
from robotid_sim.excitation.fourier_space import FourierOptions
from robotid_sim.excitation.optimal import GradientSearch
from robotid_sim.excitation.prior import Prior
from robotid_sim.excitation.space import ExcitationFamily
from robotid_sim.excitation.swarm_design import SwarmSearch


@dataclass(frozen=True, kw_only=True, eq=False)
class DesignPlan:
    """An excitation to design, for a nominal model that comes with it."""

    family: ExcitationFamily = field(default_factory=FourierOptions)
    """Kind of motion and its limits."""
    criterion: Criterion = field(default_factory=DOptimality)
    """What to minimize."""
    search: GradientSearch | SwarmSearch = field(default_factory=GradientSearch)
    """How to look for the minimum."""
    constraints: tuple[MotionConstraint, ...] = ()
    """What the motion must keep beside the limits of its joints."""
    clearance: float | None = None
    """Smallest distance between links that are no neighbors, and to the floor [m]."""
    floor: float | None = None
    """Height of the floor in the root frame [m]."""
    start: Float1D | None = None
    """Pose where every run starts [rad or m], shape (n,)."""
    noise_std: Float1D | None = None
    """Torque noise of every joint [N m] by which its rows count, shape (n,)."""
    prior: Prior | None = None
    """Information of the data that exist already."""
    prior_names: tuple[str, ...] = ()
    """Where that comes from."""
    count: int = 1
    """Number of trajectories, each designed given those before."""
    jointly: bool = False
    """Whether all of them are improved together in the end."""
    rate: float = 1000.0
    """Samples a second of the log [Hz]."""

    @property
    def dt(self) -> float:
        """Time between the samples of the log [s]."""
        return 1.0 / self.rate

    @property
    def keeps_apart(self) -> bool:
        """Whether contact is a constraint."""
        return self.clearance is not None or self.floor is not None
