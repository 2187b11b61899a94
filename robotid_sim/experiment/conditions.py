"""Conditions: named, seeded parts of a scenario, scaled to the robot; they can be combined."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import ClassVar

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import OptionError
from robotid_sim.experiment.scenario import (
    Constant,
    Feedback,
    FrictionScale,
    Impulses,
    Scenario,
    Sinusoidal,
    TipLoad,
)
from robotid_sim.model.robot import Robot
from robotid_sim.registry import Registry

NAME_JOINER = "+"
"""Separator between the names of combined conditions, as in ``payload+sinusoidal``."""


@dataclass(frozen=True, slots=True, eq=False)
class ConditionScale:
    """Nominal model, peak torques and duration of a run, by which conditions are scaled."""

    nominal: Robot
    peak: Float1D
    """Largest torque of the undisturbed run with the true model [N m or N], shape (n,)."""
    duration: float
    """Time of the run [s]."""


class Condition(ABC):
    """One part of a scenario; a frozen dataclass of its options."""

    random: ClassVar[bool] = False
    """Whether it is random; runs without random conditions need no repetition."""

    @abstractmethod
    def add(self, scenario: Scenario, size: ConditionScale, rng: np.random.Generator) -> Scenario:
        """Add this condition to a scenario.

        Parameters
        ----------
        scenario : Scenario
            The scenario without it.
        size : LoopSize
            Nominal model, peak torques and duration, which scale the condition.
        rng : numpy.random.Generator
            Random generator.

        Returns
        -------
        scenario : Scenario
            The scenario with it.
        """


OPTION_RANGES = {
    **{"share": (0.0, 1e3), "frequency": (0.0, 1e5), "rate": (0.0, 1e3), "width": (1e-6, 1e3)},
    **{"mass": (0.0, 1e5), "factor": (0.0, 1e3), "lost": (0.0, 0.99)},
    **{"revolute": (0.0, 10.0), "prismatic": (0.0, 10.0)},
}
"""Smallest and largest value of an option; at a rate of 1 kHz impacts follow without a gap."""


def _require_ranges(condition: Condition) -> None:
    """Raise `OptionError` if an option lies outside its range."""
    assert is_dataclass(condition)
    for option in fields(condition):
        value, (lowest, highest) = getattr(condition, option.name), OPTION_RANGES[option.name]
        if value is not None and not lowest <= value <= highest:
            raise OptionError(
                f"{type(condition).__name__}: {option.name} must lie between {lowest:g} and "
                f"{highest:g}, got {value:g}"
            )


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class Undisturbed(Condition):
    """Only the drives act on the robot."""

    def add(self, scenario: Scenario, size: ConditionScale, rng: np.random.Generator) -> Scenario:
        """Return the scenario unchanged."""
        del size, rng
        return scenario


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class SinusoidalTorque(Condition):
    """Sinusoidal torque on every joint, a share of its peak torque, with random phases.

    References
    ----------
    .. [1] Fazilat, Zioui (2025), "Quantum particle swarm optimization (QPSO)-based enhanced dynamic
       model parameters identification for an industrial robotic arm", Mathematics 13(16), 2631,
       doi:10.3390/math13162631.
    """

    random: ClassVar[bool] = True
    share: float = 0.4
    """Amplitude over the peak torque of the undisturbed run."""
    frequency: float = 1.0
    """Frequency [Hz]."""

    def __post_init__(self) -> None:
        _require_ranges(self)

    def add(self, scenario: Scenario, size: ConditionScale, rng: np.random.Generator) -> Scenario:
        """Add the torque."""
        phase = rng.uniform(0.0, 2.0 * np.pi, size.peak.size)
        torque = Sinusoidal(self.share * size.peak, self.frequency, phase)
        return replace(scenario, disturbances=(*scenario.disturbances, torque))


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantTorque(Condition):
    """Constant torque on every joint, a share of its peak torque, with random signs."""

    random: ClassVar[bool] = True
    share: float = 0.2
    """Torque over the peak torque of the undisturbed run."""

    def __post_init__(self) -> None:
        _require_ranges(self)

    def add(self, scenario: Scenario, size: ConditionScale, rng: np.random.Generator) -> Scenario:
        """Add the torque."""
        sign = rng.choice([-1.0, 1.0], size.peak.size)
        torque = Constant(self.share * size.peak * sign)
        return replace(scenario, disturbances=(*scenario.disturbances, torque))


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class ImpulsiveTorque(Condition):
    """Impacts on all joints at once, with random times and signs."""

    random: ClassVar[bool] = True
    share: float = 1.0
    """Largest torque of an impact over the peak torque."""
    rate: float = 0.5
    """Impacts per second; at least one per run."""
    width: float = 0.02
    """Duration of an impact [s]."""

    def __post_init__(self) -> None:
        _require_ranges(self)

    def add(self, scenario: Scenario, size: ConditionScale, rng: np.random.Generator) -> Scenario:
        """Add the impacts."""
        count = max(1, round(self.rate * size.duration))
        times = np.sort(rng.uniform(0.0, max(size.duration - self.width, 0.0), count))
        signs = rng.choice([-1.0, 1.0], (count, size.peak.size))
        impulses = Impulses(times, self.share * size.peak * signs, self.width)
        return replace(scenario, disturbances=(*scenario.disturbances, impulses))


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownPayload(Condition):
    """A load at the tip that is in no model."""

    mass: float | None = None
    """Mass [kg]; by default 3 % of the moving mass."""

    def __post_init__(self) -> None:
        _require_ranges(self)

    def add(self, scenario: Scenario, size: ConditionScale, rng: np.random.Generator) -> Scenario:
        """Add the load."""
        del rng
        mass = self.mass
        if mass is None:
            mass = 0.03 * sum(float(link.phi[0]) for link in size.nominal.links)
        return replace(scenario, changes=(*scenario.changes, TipLoad(mass)))


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class FrictionChange(Condition):
    """Viscous and Coulomb friction that changed after the identification."""

    factor: float = 1.5
    """Factor of both."""

    def __post_init__(self) -> None:
        _require_ranges(self)

    def add(self, scenario: Scenario, size: ConditionScale, rng: np.random.Generator) -> Scenario:
        """Scale the friction."""
        del size, rng
        return replace(scenario, changes=(*scenario.changes, FrictionScale(self.factor)))


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class SensorFeedback(Condition):
    """Noisy encoders in the loop, with an observer of the velocity."""

    random: ClassVar[bool] = True
    revolute: float = 1e-4
    """Standard deviation of revolute joints [rad]."""
    prismatic: float = 1e-5
    """Standard deviation of prismatic joints [m]."""

    def __post_init__(self) -> None:
        _require_ranges(self)

    def add(self, scenario: Scenario, size: ConditionScale, rng: np.random.Generator) -> Scenario:
        """Add the encoders to the loop; the probability of lost samples is kept."""
        del size, rng
        lost = 0.0 if scenario.feedback is None else scenario.feedback.lost
        seen = Feedback(revolute=self.revolute, prismatic=self.prismatic, lost=lost)
        return replace(scenario, feedback=seen)


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class LostSamples(Condition):
    """Lost encoder samples, which an observer bridges by prediction."""

    random: ClassVar[bool] = True
    lost: float = 0.1
    """Probability for every sample."""

    def __post_init__(self) -> None:
        _require_ranges(self)

    def add(self, scenario: Scenario, size: ConditionScale, rng: np.random.Generator) -> Scenario:
        """Lose samples of the encoders in the loop, or of ideal ones."""
        del size, rng
        seen = scenario.feedback or Feedback(revolute=0.0, prismatic=0.0)
        return replace(scenario, feedback=replace(seen, lost=self.lost))


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class ComputationDelay(Condition):
    """One sample between the measurement and the torque computed from it."""

    def add(self, scenario: Scenario, size: ConditionScale, rng: np.random.Generator) -> Scenario:
        """Delay the controller."""
        del size, rng
        return replace(scenario, delay=1)


CONDITIONS: Registry[Condition] = Registry(
    "scenario",
    Condition,
    {
        "computation-delay": "robotid_sim.experiment.conditions:ComputationDelay",
        "constant": "robotid_sim.experiment.conditions:ConstantTorque",
        "dropped-samples": "robotid_sim.experiment.conditions:LostSamples",
        "feedback": "robotid_sim.experiment.conditions:SensorFeedback",
        "friction": "robotid_sim.experiment.conditions:FrictionChange",
        "impulsive": "robotid_sim.experiment.conditions:ImpulsiveTorque",
        "payload": "robotid_sim.experiment.conditions:UnknownPayload",
        "sinusoidal": "robotid_sim.experiment.conditions:SinusoidalTorque",
        "undisturbed": "robotid_sim.experiment.conditions:Undisturbed",
    },
)


def compose(
    name: str, parts: Sequence[Condition], size: ConditionScale, rng: np.random.Generator
) -> Scenario:
    """Combine conditions into a scenario."""
    scenario = Scenario(name=name)
    for part in parts:
        scenario = part.add(scenario, size, rng)
    return scenario
