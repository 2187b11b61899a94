"""The tables of a study's configuration, one a stage, and what a refused value says."""

import reprlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, Field, ValidationError
from pydantic_core import PydanticCustomError

from robotid_sim.config_section import ConfigSection, Length, OpenEnd
from robotid_sim.errors import OptionError
from robotid_sim.excitation.plan import GradientSearch, Handling, SwarmSearch
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.experiment.rollout import Cell
from robotid_sim.model.perturb import DEFAULT_SCALE
from robotid_sim.pipeline.nominal import MISMATCH_BAND
from robotid_sim.validation.comparison import Comparison

MAX_TEXT_LENGTH = 200
"""Length from which a refused value is shortened in a message."""


def first_error(error: ValidationError) -> tuple[str, str]:
    """Return the key of the first refused value, and why it is refused."""
    first = error.errors()[0]
    if first["type"] == "missing":
        return format_location(first["loc"]), "is required"
    is_table = first["type"] in ("dict_type", "model_type")
    reason = "should be a table" if is_table else first["msg"].removeprefix("Input ")
    text = repr(first["input"])
    if len(text) > MAX_TEXT_LENGTH:
        text = reprlib.repr(first["input"])
    return format_location(first["loc"]), f"{reason}, got {text}"


def format_location(location: Sequence[int | str]) -> str:
    """Return a place in a configuration as TOML writes keys."""
    return ".".join(map(str, location))


def list_keys(section: type[BaseModel], location: Sequence[int | str]) -> list[str]:
    """Return the keys of the section at a place within another one; numbers count in lists."""
    for part in location:
        if isinstance(part, str):
            annotation = section.model_fields[part].annotation
            kinds = (annotation, *get_args(annotation))
            section = next(k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel))
    return list(section.model_fields)


_DEFAULT_COMPARISON = Comparison()
"""Whose names are the defaults of section `control`."""


DEFAULT_CLEARANCE = 0.005
"""Smallest distance between links [m]."""


AnySection = TypeVar("AnySection", bound=ConfigSection)


def validate(section: type[AnySection], values: Mapping[str, Any], where: str) -> AnySection:
    """Return a section with values; raise `OptionError` with the key that is refused."""
    try:
        return section.model_validate(values)
    except ValidationError as error:
        key, reason = first_error(error)
        raise OptionError(f"{where}: '{key}': {reason}") from error


class PayloadConfig(ConfigSection):
    """A load at the tip."""

    mass: float = Field(ge=0.0, le=1e5)
    """Mass [kg]."""
    com: tuple[Length, Length, Length] = (0.0, 0.0, 0.0)
    """Center of mass in the tip frame [m]."""
    inertia: tuple[float, float, float, float, float, float] = (0.0,) * 6
    """Ixx Ixy Iyy Ixz Iyz Izz about the COM, tip axes [kg m^2]."""


class RobotConfig(ConfigSection):
    """How the robot is read."""

    base: str | None = None
    """Link where the chain starts; by default the root."""
    tip: str | None = None
    """Link where the chain ends; by default that of the longest chain."""
    gravity: tuple[Length, Length, Length] | None = None
    """In the frame of the root [m/s^2]; by default what an MJCF file says, else 9.81 downward."""
    urdf_friction: bool = True
    """Take ``<dynamics>`` of the URDF as Fv and Fc; if false, drop it."""
    payload: PayloadConfig | None = None
    joints: dict[str, dict[str, float]] = Field(default_factory=dict)
    """Overrides by joint: lower, upper, velocity, acceleration, effort, Fv, Fc, Fo, Ia, eps."""
    assume_limits: bool = False
    """Take stated limits for joints that have none: pi and pi/s, or 1 m and 1 m/s."""
    repair: bool = False
    """Replace impossible inertia by the nearest possible one."""
    xacro: dict[str, str] = Field(default_factory=dict)
    """Arguments of a xacro file."""


def _band(band: tuple[float, float]) -> tuple[float, float]:
    if not 0.0 <= band[0] < band[1] <= 10.0:
        raise PydanticCustomError("band", "should be two shares, 0 <= lower < upper <= 10")
    return band


class NominalConfig(ConfigSection):
    """What is known before the identification."""

    file: Path | None = None
    """A URDF; default is the plant, perturbed."""
    scale: float = Field(default=DEFAULT_SCALE, ge=0.0, lt=1.0)
    """Relative size of the perturbation."""
    mismatch: Annotated[tuple[float, float], AfterValidator(_band)] = MISMATCH_BAND
    """Band of the relative RMS torque mismatch that every joint shall have."""


class BoxConfig(ConfigSection):
    """A box of the root frame that the tip stays in [m]; infinite for an open side."""

    lower: tuple[OpenEnd, OpenEnd, OpenEnd]
    """Its lowest corner [m]."""
    upper: tuple[OpenEnd, OpenEnd, OpenEnd]
    """Its highest corner [m]."""


class PlaneConfig(ConfigSection):
    """A plane of the root frame that the tip stays below: normal . position <= offset [m]."""

    normal: tuple[Length, Length, Length]
    """Its normal, of any length."""
    offset: Length
    """Largest product of normal and position [m]."""


class ConstraintsConfig(ConfigSection):
    """What an excitation keeps beside the limits of its joints."""

    uncertainty: float = Field(default=0.0, ge=0.0, le=10.0)
    """Relative uncertainty of every parameter under which torque limits shall hold too."""
    boxes: tuple[BoxConfig, ...] = ()
    """Boxes that the tip stays in."""
    planes: tuple[PlaneConfig, ...] = ()
    """Planes that the tip stays below."""
    contact: bool = False
    """Whether links may pass through one another and through the floor."""
    clearance: float = Field(default=DEFAULT_CLEARANCE, ge=0.0, le=1e3)
    """Smallest distance between links that are no neighbors, and to the floor [m]."""
    floor: Annotated[OpenEnd, Field(le=1e3)] | None = None
    """Height of the floor in the root frame [m]; -inf for none; by default where the base stands.
    """
    start: tuple[Length, ...] | None = None
    """Pose where every run starts [rad or m]."""
    jerk: float | None = Field(default=None, gt=0.0, le=1e8)
    """Jerk limit of every joint [rad/s^3 or m/s^3]."""


class DesignConfig(ConfigSection):
    """The excitation."""

    family: str = "fourier"
    """Form of the motion, see `robotid list families`."""
    solver: str = "slsqp"
    """Sequential quadratic programming (``slsqp``) from the best random draws, the best draw itself
    (``random``), or an optimizer."""
    criterion: str = "d-optimality"
    """What is minimized, see `robotid list criteria`."""
    candidates: int = Field(default=GradientSearch.candidates, ge=1, le=10**5)
    """Random draws before the solver starts."""
    starts: int = Field(default=GradientSearch.starts, ge=1, le=10**4)
    """Draws that the solver starts from, the best ones; the best result counts."""
    iterations: int = Field(default=GradientSearch.iterations, ge=1, le=10**5)
    """Largest number of iterations of a run of the solver."""
    population: int = Field(default=SwarmSearch.population, ge=2, le=10**5)
    """Of an optimizer, like `generations` and `handling`."""
    generations: int = Field(default=SwarmSearch.generations, ge=1, le=10**6)
    """Of an optimizer: rounds."""
    handling: Handling = SwarmSearch.handling
    """Of an optimizer: draws are scaled into the limits, or pay a penalty."""
    harmonics: int = Field(default=FourierOptions.harmonics, ge=1, le=10**4)
    """Of the families that have harmonics."""
    period: float = Field(default=FourierOptions.period, gt=0.0, le=1e5)
    """Of the motion [s]."""
    periods: int = Field(default=FourierOptions.periods, ge=1, le=10**5)
    """How often the motion is repeated."""
    margin: float = Field(default=FourierOptions.margin, gt=0.0, le=1.0)
    """Share of the limits of position, velocity and acceleration that may be used."""
    torque_ratio: float = Field(default=FourierOptions.torque_ratio, gt=0.0, le=10.0)
    """Share of the torque limits that the nominal model may use."""
    amplitude: float = Field(default=FourierOptions.amplitude, gt=0.0, le=1.0)
    """Of Fourier series: share of the limits that the motion about its middle uses."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Further options of the family."""
    criterion_options: dict[str, Any] = Field(default_factory=dict)
    """Options of the criterion, see `robotid list criteria NAME`."""
    noise_std: tuple[float, ...] | None = None
    """Torque noise of every joint [N m] that rows count by; by default as large as the torque."""
    prior: tuple[Path, ...] = ()
    """Trajectories or logs that exist already: the next one is to complement them."""
    count: int = Field(default=1, ge=1, le=1000)
    """Number of trajectories, each designed given those before."""
    jointly: bool = False
    """Improve all of them together in the end."""
    constraints: ConstraintsConfig = ConstraintsConfig()


class ExperimentConfig(ConfigSection):
    """The loop in the engine."""

    rate: float = Field(default=Cell.rate, gt=10.0, le=1e5)
    """Control and log rate [Hz]."""
    substeps: int = Field(default=Cell.substeps, ge=1, le=256)
    """Engine steps per control step, at least; friction may need more."""
    leapfrog: bool = Cell.leapfrog
    """Whether forces of velocity act within a sub-step, not at its start: second order, not
    first."""
    engine: str | None = None
    """Engine of the plant: ``pybullet`` or ``mujoco``; null for the first that is installed."""
    friction: dict[str, Any] = Field(default_factory=dict)
    """Law of the plant's friction where it differs from the model's: ``law`` and its options."""
    drive: dict[str, Any] = Field(default_factory=dict)
    """What lies between rotors and links of the plant, if not rigid: ``kind`` and its options."""
    kp: float | None = Field(default=None, ge=0.0, le=1e8)
    """Position gain of the excitation loop [1/s^2]; null for that of `excitation_bandwidth`, which
    is 2500 but for light links, and dry friction, without rotors."""
    kd: float | None = Field(default=None, ge=0.0, le=1e5)
    """Velocity gain [1/s]; null for critical damping."""


class ControlConfig(ConfigSection):
    """The closed loop."""

    enabled: bool = True
    """Run it; if false its part of the result is empty and the verdict is without it."""
    controllers: tuple[str, ...] = Field(
        default=tuple(_DEFAULT_COMPARISON.controllers), min_length=1
    )
    """Controllers that run with every model; the first one decides the verdict."""
    baselines: tuple[str, ...] = tuple(_DEFAULT_COMPARISON.baselines)
    """Controllers that run with the identified model only, on the first fast path."""
    models: tuple[str, ...] = ()
    """Models beside the true, nominal and identified one: estimators, or ``published:SET``."""
    tasks: dict[str, dict[str, Any]] = Field(
        default_factory=lambda: {task: dict[str, Any]() for task in _DEFAULT_COMPARISON.tasks},
        min_length=1,
    )
    """Tasks by name with their options."""
    scenarios: tuple[str, ...] = Field(default=tuple(_DEFAULT_COMPARISON.scenarios), min_length=1)
    """Conditions, joined by ``+`` where they hold together, as in ``payload+sinusoidal``."""
    conditions: dict[str, dict[str, float]] = Field(default_factory=dict)
    """Options by condition."""
    runs: int = Field(default=Comparison.runs, ge=1, le=10**4)
    """Repetitions of what is drawn: phases, blows, sensor noise, optimizers."""
    bandwidth: float = Field(default=Comparison.bandwidth, gt=0.0, le=1e4)
    """Smallest bandwidth [rad/s]; raised until the error bound holds."""
    error: float = Field(default=Comparison.error, ge=1e-9, le=1e3)
    """Tracking error to keep under the disturbance [rad or m]."""
    slow_lap: float | None = Field(default=Comparison.slow_lap, gt=3.0, le=1e4)
    """Time of a slow lap beside the fast one [s]; null in JSON for the fast lap only."""


class VerdictLimits(ConfigSection):
    """What a study must reach to pass."""

    replicates: int = Field(default=6, ge=5, le=1000)
    """Noise replicates behind the expected residual."""
    model_error: float = Field(default=0.003, gt=0.0, le=1e3)
    """Largest model error on the unseen trajectory, share of the RMS torque."""
    false_alarm: float = Field(default=2e-4, gt=0.0, lt=1.0)
    """Probability that a sound run fails one of the tests of residual, covariance, constraints."""
    gap: float = Field(default=0.1, gt=0.0, le=1e3)
    """Largest share of the tracking gap between nominal and true model that may be left."""
    mismatch: float = Field(default=0.05, gt=0.0, le=1e3)
    """Largest torque error of the identified model over the nominal one's, along the laps."""
