"""The tables of the configuration of a study, one per stage, and messages on refused values."""

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
"""Largest length of a refused value in a message."""


def first_error(error: ValidationError) -> tuple[str, str]:
    """Return the key of the first refused value, and the reason."""
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
    """Format a location in a configuration as a TOML key."""
    return ".".join(map(str, location))


def list_keys(section: type[BaseModel], location: Sequence[int | str]) -> list[str]:
    """Return the keys of the section at a location in `section`; numbers are indices of lists."""
    for part in location:
        if isinstance(part, str):
            annotation = section.model_fields[part].annotation
            kinds = (annotation, *get_args(annotation))
            section = next(k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel))
    return list(section.model_fields)


_DEFAULT_COMPARISON = Comparison()
"""Source of the defaults of section `control`."""


DEFAULT_CLEARANCE = 0.005
"""Default of the smallest distance between links [m]."""


AnySection = TypeVar("AnySection", bound=ConfigSection)


def validate(section: type[AnySection], values: Mapping[str, Any], where: str) -> AnySection:
    """Validate the values of a section; raise `OptionError` with the refused key."""
    try:
        return section.model_validate(values)
    except ValidationError as error:
        key, reason = first_error(error)
        raise OptionError(f"{where}: '{key}': {reason}") from error


class PayloadConfig(ConfigSection):
    """The payload at the tip."""

    mass: float = Field(ge=0.0, le=1e5)
    """Mass [kg]."""
    com: tuple[Length, Length, Length] = (0.0, 0.0, 0.0)
    """Center of mass in the tip frame [m]."""
    inertia: tuple[float, float, float, float, float, float] = (0.0,) * 6
    """Ixx Ixy Iyy Ixz Iyz Izz about the COM, tip axes [kg m^2]."""


class RobotConfig(ConfigSection):
    """The robot: chain, gravity, joints and payload."""

    base: str | None = None
    """Link where the chain starts; by default the root."""
    tip: str | None = None
    """Link where the chain ends; by default the tip of the longest chain."""
    gravity: tuple[Length, Length, Length] | None = None
    """Gravity, root frame [m/s^2]; by default that of an MJCF file, otherwise 9.81 downward."""
    urdf_friction: bool = True
    """Take ``<dynamics>`` of the URDF as Fv and Fc; if false, drop it."""
    payload: PayloadConfig | None = None
    joints: dict[str, dict[str, float]] = Field(default_factory=dict)
    """Overrides by joint: lower, upper, velocity, acceleration, effort, Fv, Fc, Fo, Ia, eps."""
    assume_limits: bool = False
    """Assume limits for joints without limits: pi and pi/s, or 1 m and 1 m/s."""
    repair: bool = False
    """Replace inconsistent inertia by the nearest physically consistent one."""
    xacro: dict[str, str] = Field(default_factory=dict)
    """Arguments of a xacro file."""


def _band(band: tuple[float, float]) -> tuple[float, float]:
    if not 0.0 <= band[0] < band[1] <= 10.0:
        raise PydanticCustomError("band", "should be two shares, 0 <= lower < upper <= 10")
    return band


class NominalConfig(ConfigSection):
    """The nominal model."""

    file: Path | None = None
    """A URDF; by default the perturbed plant."""
    scale: float = Field(default=DEFAULT_SCALE, ge=0.0, lt=1.0)
    """Relative size of the perturbation."""
    mismatch: Annotated[tuple[float, float], AfterValidator(_band)] = MISMATCH_BAND
    """Band of the relative RMS torque mismatch of every joint."""


class BoxConfig(ConfigSection):
    """A box in the root frame that contains the tip [m]; an open side is infinite."""

    lower: tuple[OpenEnd, OpenEnd, OpenEnd]
    """Its lowest corner [m]."""
    upper: tuple[OpenEnd, OpenEnd, OpenEnd]
    """Its highest corner [m]."""


class PlaneConfig(ConfigSection):
    """A plane in the root frame, with the tip below it: normal . position <= offset [m]."""

    normal: tuple[Length, Length, Length]
    """Its normal, of any length."""
    offset: Length
    """Largest product of normal and position [m]."""


class ConstraintsConfig(ConfigSection):
    """Constraints of an excitation in addition to joint limits."""

    uncertainty: float = Field(default=0.0, ge=0.0, le=10.0)
    """Relative uncertainty of every parameter under which torque limits must hold."""
    boxes: tuple[BoxConfig, ...] = ()
    """Boxes that the tip stays in."""
    planes: tuple[PlaneConfig, ...] = ()
    """Planes that the tip stays below."""
    contact: bool = False
    """Whether links may pass through one another and through the floor."""
    clearance: float = Field(default=DEFAULT_CLEARANCE, ge=0.0, le=1e3)
    """Smallest distance between links that are not adjacent, and to the floor [m]."""
    floor: Annotated[OpenEnd, Field(le=1e3)] | None = None
    """Height of the floor in the root frame [m]; -inf for no floor; by default that of the base.
    """
    start: tuple[Length, ...] | None = None
    """Start pose of every run [rad or m]."""
    jerk: float | None = Field(default=None, gt=0.0, le=1e8)
    """Jerk limit of every joint [rad/s^3 or m/s^3]."""


class DesignConfig(ConfigSection):
    """The excitation."""

    family: str = "fourier"
    """Form of the motion, see `robotid list families`."""
    solver: str = "slsqp"
    """Sequential quadratic programming (``slsqp``) from the best random candidates, the best
    candidate itself (``random``), or an optimizer."""
    criterion: str = "d-optimality"
    """Minimized criterion, see `robotid list criteria`."""
    candidates: int = Field(default=GradientSearch.candidates, ge=1, le=10**5)
    """Number of random candidates before the solver starts."""
    starts: int = Field(default=GradientSearch.starts, ge=1, le=10**4)
    """Number of best candidates from which the solver starts; the best result is used."""
    iterations: int = Field(default=GradientSearch.iterations, ge=1, le=10**5)
    """Largest number of iterations of a run of the solver."""
    population: int = Field(default=SwarmSearch.population, ge=2, le=10**5)
    """Population of an optimizer."""
    generations: int = Field(default=SwarmSearch.generations, ge=1, le=10**6)
    """Generations of an optimizer."""
    handling: Handling = SwarmSearch.handling
    """Constraint handling of an optimizer: candidates are scaled into the limits, or penalized."""
    harmonics: int = Field(default=FourierOptions.harmonics, ge=1, le=10**4)
    """Number of harmonics of families with harmonics."""
    period: float = Field(default=FourierOptions.period, gt=0.0, le=1e5)
    """Period of the motion [s]."""
    periods: int = Field(default=FourierOptions.periods, ge=1, le=10**5)
    """Number of periods of the motion."""
    margin: float = Field(default=FourierOptions.margin, gt=0.0, le=1.0)
    """Share of the limits of position, velocity and acceleration that may be used."""
    torque_ratio: float = Field(default=FourierOptions.torque_ratio, gt=0.0, le=10.0)
    """Share of the torque limits that the nominal model may use."""
    amplitude: float = Field(default=FourierOptions.amplitude, gt=0.0, le=1.0)
    """Amplitude of Fourier series about the middle of the limits, as a share of the limits."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Further options of the family."""
    criterion_options: dict[str, Any] = Field(default_factory=dict)
    """Options of the criterion, see `robotid list criteria NAME`."""
    noise_std: tuple[float, ...] | None = None
    """Torque noise of every joint [N m] for the weights; by default proportional to the torque."""
    prior: tuple[Path, ...] = ()
    """Existing trajectories or logs, which the design complements."""
    count: int = Field(default=1, ge=1, le=1000)
    """Number of trajectories; each one complements the trajectories before it."""
    jointly: bool = False
    """Improve all trajectories together at the end."""
    constraints: ConstraintsConfig = ConstraintsConfig()


class ExperimentConfig(ConfigSection):
    """The loop in the engine."""

    rate: float = Field(default=Cell.rate, gt=10.0, le=1e5)
    """Control and log rate [Hz]."""
    substeps: int = Field(default=Cell.substeps, ge=1, le=256)
    """Smallest number of engine steps per control step; friction may need more."""
    leapfrog: bool = Cell.leapfrog
    """Whether velocity-dependent forces act within a sub-step (second order), not at its start."""
    engine: str | None = None
    """Engine of the plant: ``pybullet`` or ``mujoco``; null for the first that is installed."""
    friction: dict[str, Any] = Field(default_factory=dict)
    """Friction law of the plant, if different from the model: ``law`` and its options."""
    drive: dict[str, Any] = Field(default_factory=dict)
    """Drives between rotors and links of the plant, if not rigid: ``kind`` and its options."""
    kp: float | None = Field(default=None, ge=0.0, le=1e8)
    """Position gain of the excitation loop [1/s^2]; null for that of `excitation_bandwidth`: 2500,
    less for light links with Coulomb friction and without rotors."""
    kd: float | None = Field(default=None, ge=0.0, le=1e5)
    """Velocity gain [1/s]; null for critical damping."""


class ControlConfig(ConfigSection):
    """The closed loop."""

    enabled: bool = True
    """Run the closed loop; if false, result and verdict omit it."""
    controllers: tuple[str, ...] = Field(
        default=tuple(_DEFAULT_COMPARISON.controllers), min_length=1
    )
    """Controllers for every model; the first one determines the verdict."""
    baselines: tuple[str, ...] = tuple(_DEFAULT_COMPARISON.baselines)
    """Controllers for the identified model only, on the first fast path."""
    models: tuple[str, ...] = ()
    """Models in addition to true, nominal and identified: estimators, or ``published:SET``."""
    tasks: dict[str, dict[str, Any]] = Field(
        default_factory=lambda: {task: dict[str, Any]() for task in _DEFAULT_COMPARISON.tasks},
        min_length=1,
    )
    """Tasks by name with their options."""
    scenarios: tuple[str, ...] = Field(default=tuple(_DEFAULT_COMPARISON.scenarios), min_length=1)
    """Conditions, combined by ``+`` as in ``payload+sinusoidal``."""
    conditions: dict[str, dict[str, float]] = Field(default_factory=dict)
    """Options by condition."""
    runs: int = Field(default=Comparison.runs, ge=1, le=10**4)
    """Number of repetitions with random phases, torque impacts, sensor noise or optimizers."""
    bandwidth: float = Field(default=Comparison.bandwidth, gt=0.0, le=1e4)
    """Smallest bandwidth [rad/s]; increased until the error bound holds."""
    error: float = Field(default=Comparison.error, ge=1e-9, le=1e3)
    """Largest tracking error under the disturbance [rad or m]."""
    slow_lap: float | None = Field(default=Comparison.slow_lap, gt=3.0, le=1e4)
    """Duration of an additional slow lap [s]; null in JSON for the fast lap only."""


class VerdictLimits(ConfigSection):
    """Limits of the verdict of a study."""

    replicates: int = Field(default=6, ge=5, le=1000)
    """Number of noise replicates for the expected residual."""
    model_error: float = Field(default=0.003, gt=0.0, le=1e3)
    """Largest model error on the validation motion, share of the RMS torque."""
    false_alarm: float = Field(default=2e-4, gt=0.0, lt=1.0)
    """Probability that a correct run fails a test of residual, covariance or constraints."""
    gap: float = Field(default=0.1, gt=0.0, le=1e3)
    """Largest remaining share of the tracking gap between nominal and true model."""
    mismatch: float = Field(default=0.05, gt=0.0, le=1e3)
    """Largest torque error of the identified over that of the nominal model, along the laps."""
