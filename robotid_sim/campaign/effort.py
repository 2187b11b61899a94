"""What a campaign will cost, from the sizes of its logs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from robotid_sim.campaign.plan import CampaignPlan
from robotid_sim.campaign.trial_list import StudyTrial
from robotid_sim.docstrings import documented
from robotid_sim.pipeline.build_robot import build_robot

DESIGN = 6.0
"""Time of a design in its space [s of a core]; of an arm of six joints with 40 candidates."""

SUBSTEP = 45e-6
"""Time of a sub-step of the engine with controller and drives [s]; `bench/loop.py` prints it."""

SAMPLE = 18e-6
"""Time of the preprocessing of a sample of a joint, of the log and of the unseen one [s]."""

LOOP = 30.0
"""Simulated time of the closed loop of a trial [s]."""

CHANNELS = 9
"""Arrays of a clean log."""

ROW = 1e-3
"""Size of a row of the store [MB]."""


@documented
@dataclass(frozen=True, slots=True)
class Effort:
    """Expected cost of trials, right within a factor of two or three."""

    seconds: float
    """Of one core."""
    megabytes: float
    """On disk."""

    @classmethod
    def of(
        cls, trials: Sequence[StudyTrial], plan: CampaignPlan, recorded: Sequence[float] = ()
    ) -> Self:
        """Return the effort of trials that are left to do.

        Where there are seconds recorded of trials of the plan, each takes as long as those did.
        """
        seconds, megabytes = 0.0, ROW * len(trials)
        bases = {trial.base: trial for trial in trials}
        sizes = {base: _size(trial) for base, trial in bases.items()}
        for base, trial in bases.items():
            samples, joints = sizes[base]
            engine = trial.study.experiment.substeps * SUBSTEP
            seconds += DESIGN + samples * engine
            megabytes += 8e-6 * CHANNELS * samples * joints
        fits = {trial.rows: trial for trial in trials}
        for trial in fits.values():
            samples, joints = sizes[trial.base]
            seconds += SAMPLE * samples * joints
        if plan.needs_loop:
            experiment = trials[0].study.experiment if trials else None
            steps = LOOP * experiment.rate * experiment.substeps if experiment else 0.0
            seconds += len(trials) * steps * SUBSTEP
        if recorded:
            seconds = len(trials) * sum(recorded) / len(recorded)
        return cls(seconds, megabytes)


def _size(trial: StudyTrial) -> tuple[float, int]:
    """Return the samples of a log and the unseen one, and the joints."""
    design, rate = trial.study.design, trial.study.experiment.rate
    joints = build_robot(trial.robot, trial.study.robot).dof
    return (design.periods + 1) * design.period * rate, joints
