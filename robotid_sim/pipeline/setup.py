"""The built values of a study: what its stages take, with no name left to look up."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.excitation.plan import DesignPlan
from robotid_sim.experiment.rollout import Cell
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.config_tables import VerdictLimits
from robotid_sim.pipeline.fit_plan import FitPlan
from robotid_sim.representation import public_value
from robotid_sim.streams import Streams
from robotid_sim.trajectory.fourier import FourierTrajectory
from robotid_sim.validation.comparison import Comparison


@public_value
@dataclass(frozen=True, kw_only=True, eq=False)
class Setup:
    """A virtual study, ready to run. The plant stands in `cell` alone."""

    cell: Cell
    nominal: Robot
    """What is known of the plant before."""
    basis: BaseParameters
    """What the study looks for."""
    excitation: DesignPlan
    unseen: FourierTrajectory
    """The trajectory on which the models are tried."""
    fit: FitPlan
    comparison: Comparison | None
    """The closed loop; None for a study without."""
    models: Mapping[str, Robot | None] = field(default_factory=dict)
    """Models beside the true, nominal and identified one; None for the estimate of that name."""
    limits: VerdictLimits = field(default_factory=VerdictLimits)
    streams: Streams = field(default_factory=lambda: Streams(0))
    preset: str | None = None
    """Name of the sensor preset, if it is one."""
    settings: str = "{}"
    """The configuration where it differs from the defaults, as JSON; for the page."""

    @property
    def assumptions(self) -> list[str]:
        """What was assumed of the plant, its nominal model and its space, one sentence each."""
        parts = self.cell.plant, self.nominal, self.excitation
        return list(dict.fromkeys(note for part in parts for note in part.assumptions))
