"""A joint of the chain: placement, limits, friction and drive.

The friction of a joint is viscous friction, smoothed Coulomb friction and an offset.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D, freeze
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import OptionError, UrdfError
from robotid_sim.model.urdf import UrdfDocument, UrdfJoint
from robotid_sim.representation import public_value

DEFAULT_EPS_REVOLUTE = 0.03  # [rad/s]
DEFAULT_EPS_PRISMATIC = 0.01  # [m/s]


@document_attributes
@dataclass(frozen=True, slots=True)
class Friction:
    """Friction torque of one joint, ``Fv dq + Fc tanh(dq / eps) + Fo``.

    The smooth sign makes the law linear in `Fv`, `Fc` and `Fo` and lets an explicit integrator
    follow it; `eps` is a constant of the model and is not identified.
    """

    Fv: float = 0.0
    """Viscous coefficient [N m s/rad or N s/m], not negative."""
    Fc: float = 0.0
    """Coulomb torque [N m] or force [N], not negative."""
    Fo: float = 0.0
    """Offset torque [N m] or force [N]."""
    eps: float = DEFAULT_EPS_REVOLUTE
    """Velocity at which the Coulomb part reaches 76 % [rad/s or m/s], positive."""

    def __post_init__(self) -> None:
        for name in ("Fv", "Fc", "Fo", "eps"):
            if not np.isfinite(getattr(self, name)):
                raise OptionError(f"friction {name} is {getattr(self, name)}; give a finite number")
        if self.eps <= 0.0:
            raise OptionError(f"friction eps is {self.eps}; give a positive velocity")

    def torque(self, dq: Float) -> Float:
        """Return the friction torque [N m] at joint velocity `dq` [rad/s], any shape."""
        return np.asarray(self.Fv * dq + self.Fc * np.tanh(dq / self.eps) + self.Fo)


ACCELERATION_RATIO = 10.0
"""Assumed acceleration limit over the velocity limit [1/s] where none is given."""


MAX_RANGE = 50.0
"""Largest range between the limits of a joint in a file: eight turns, or 50 m [rad or m]."""

MIN_EFFORT = 1e-9
"""Smallest torque limit that counts as a limit [N m or N]."""

MAX_VELOCITY = 100.0
"""Largest velocity limit of a joint in a file [rad/s or m/s]."""

UNLIMITED_VELOCITY = 1000.0
"""Velocity limit that means no limit in files [rad/s]; above any in deg/s."""

UNLIMITED_RANGE = 1e5
"""Range that means no limits in files [rad or m]; above any in degrees or mm."""

MAX_VALUES = {
    **{"acceleration": 1e6, "eps": UNLIMITED_VELOCITY},  # [rad/s^2 or m/s^2], [rad/s or m/s]
    **dict.fromkeys(("Fv", "Fc", "Fo", "Ia"), 1e6),
}
"""Largest plausible values of a joint."""

UNLIMITED_EFFORT = 1e9
"""Torque limit that means no limit in files [N m or N]."""

MIN_VELOCITY = 1e-5
"""Minimum limit of velocity [rad/s or m/s] and of acceleration [rad/s^2 or m/s^2]."""

ASSUMED_REVOLUTE_LIMITS = {"lower": -np.pi, "upper": np.pi, "velocity": np.pi}  # [rad], [rad/s]
ASSUMED_PRISMATIC_LIMITS = {"lower": -1.0, "upper": 1.0, "velocity": 1.0}  # [m], [m/s]
"""Limits of joints without limits, if the user permits assumed ones."""


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """A revolute or prismatic joint; units are rad or m, and their derivatives."""

    name: str
    T_parent_joint: Float2D
    """Joint frame at zero in the frame of the previous body, shape (4, 4)."""
    axis: Float1D
    """Unit axis in the joint frame, shape (3,)."""
    prismatic: bool
    lower: float
    upper: float
    velocity: float
    acceleration: float
    effort: float = np.inf
    """Torque or force limit [N m or N]; infinite where there is none."""
    friction: Friction = field(default_factory=Friction)
    rotor_inertia: float = 0.0
    """Reflected rotor inertia `Ia` [kg m^2 or kg]."""

    def __post_init__(self) -> None:
        freeze(self, (4, 4), "T_parent_joint", what=f"joint '{self.name}': ")
        freeze(self, (3,), "axis", what=f"joint '{self.name}': ")
        if not self.lower < self.upper:
            raise OptionError(
                f"joint '{self.name}': lower limit {self.lower:g} is not below upper limit "
                f"{self.upper:g}"
            )
        for name in ("lower", "upper", "velocity", "acceleration", "rotor_inertia"):
            if not np.isfinite(getattr(self, name)):
                raise OptionError(f"joint '{self.name}': {name} is {getattr(self, name)}")
        for name in ("velocity", "acceleration", "effort"):
            if not getattr(self, name) > 0.0:
                raise OptionError(
                    f"joint '{self.name}': {name} limit {getattr(self, name):g} is not positive"
                )


def pack_geometry(joints: Sequence[Joint]) -> Float2D:
    """Return the kinematics of a chain as the kernels read them, shape (n, 37).

    Per joint: origin in the previous body, axis, 1.0 if prismatic, axis in the previous body, and
    the three matrices of Rodrigues' formula ``R(q) = A + cos(q) B + sin(q) C``.
    """
    rows = []
    for joint in joints:
        R0, axis = joint.T_parent_joint[:3, :3], joint.axis
        x, y, z = axis
        along = R0 @ np.outer(axis, axis)
        turned = R0 @ np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        head = [*joint.T_parent_joint[:3, 3], *axis, float(joint.prismatic), *(R0 @ axis)]
        rows.append([*head, *along.ravel(), *(R0 - along).ravel(), *turned.ravel()])
    return np.array(rows)


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """Limits of all joints, each of shape (n,)."""

    lower: Float1D
    upper: Float1D
    velocity: Float1D
    acceleration: Float1D
    effort: Float1D

    @classmethod
    def from_joints(cls, joints: Sequence[Joint]) -> "Limits":
        """Collect the limits of joints."""
        arrays = [np.array([getattr(j, f.name) for j in joints], dtype=float) for f in fields(cls)]
        for array in arrays:  # effort may be infinite
            array.setflags(write=False)
        return cls(*arrays)

    @property
    def middle(self) -> Float1D:
        """Middle of the position range, shape (n,)."""
        return 0.5 * (self.lower + self.upper)

    @property
    def half_range(self) -> Float1D:
        """Half of the position range, shape (n,)."""
        return 0.5 * (self.upper - self.lower)

    def arrays(self) -> Iterator[Float1D]:
        """Yield the five arrays."""
        return (getattr(self, f.name) for f in fields(self))


def joint_from_urdf(
    document: UrdfDocument,
    source: UrdfJoint,
    T_parent_joint: Float2D,
    override: Mapping[str, float],
    *,
    urdf_friction: bool,
) -> tuple[Joint, list[str]]:
    """Build a joint with defaults for missing values; return it and notes on assumed values."""
    notes: list[str] = []
    limits = _limits(document, source, override, notes)
    prismatic = source.kind == "prismatic"
    default_eps = DEFAULT_EPS_PRISMATIC if prismatic else DEFAULT_EPS_REVOLUTE
    dynamics = source.dynamics if urdf_friction else {}
    law = dict(
        Fv=override.get("Fv", dynamics.get("damping", 0.0)),
        Fc=override.get("Fc", dynamics.get("friction", 0.0)),
        Fo=override.get("Fo", dynamics.get("Fo", 0.0)),
        eps=override.get("eps", source.dynamics.get("eps", default_eps)),
    )
    sizes = {**law, "Ia": override.get("Ia", source.dynamics.get("Ia", 0.0)), **limits}
    for key, largest in MAX_VALUES.items():
        if abs(sizes[key]) > largest:
            text = f"joint '{source.name}': {key} = {sizes[key]:g} is more than {largest:g}"
            document.fail(source.line, f"{text}: is it in another unit?")
    try:
        joint = Joint(
            name=source.name,
            T_parent_joint=T_parent_joint,
            axis=source.axis,
            prismatic=prismatic,
            friction=Friction(**law),
            rotor_inertia=sizes["Ia"],
            **limits,
        )
    except OptionError as error:
        where = document.where(source.line)
        named = str(error).startswith("joint")
        text = f"{error}" if named else f"joint '{source.name}': {error}"
        raise UrdfError(f"{where}: {text}") from error
    return joint, notes


def list_missing_limits(
    source: UrdfJoint, override: Mapping[str, float], *, assume: bool
) -> tuple[str, ...]:
    """List which of the limits lower, upper and velocity are missing for a joint.

    A URDF may omit one bound that is zero, but not both. With `assume`, two equal bounds count as
    missing, because exporters write 0 for missing limits.
    """
    stated = {**source.limits, **override}
    bounds = () if stated.keys() & {"lower", "upper"} else ("lower", "upper")
    if assume and stated.get("lower", 0.0) == stated.get("upper", 0.0):
        bounds = ("lower", "upper")
    velocity = ("velocity",) if stated.get("velocity", 0.0) <= 0.0 else ()
    return (*(() if source.kind == "continuous" else bounds), *velocity)


def add_assumed_limits(
    document: UrdfDocument,
    sources: Sequence[UrdfJoint],
    overrides: Mapping[str, Mapping[str, float]],
    *,
    assume: bool,
) -> tuple[dict[str, dict[str, float]], list[str]]:
    """Add assumed limits to the overrides of joints; return all overrides and a note.

    Raises `UrdfError`, with the names of all missing limits, if some are missing and not `assume`.
    """
    complete = {name: dict(values) for name, values in overrides.items()}
    missing = {
        joint: names
        for joint in sources
        if (names := list_missing_limits(joint, complete.get(joint.name, {}), assume=assume))
    }
    listed = "; ".join(f"'{joint.name}' {', '.join(names)}" for joint, names in missing.items())
    if missing and not assume:
        remedy = "add them to <limit> or robot.toml"
        if document.format != "URDF":
            remedy = (
                f"{document.format} cannot represent velocity limits, add what is missing to a "
                f'robot.toml with urdf = "{document.path.name}"'
            )
        document.fail(
            next(iter(missing)).line,
            f"limits of joints are missing: {listed}; {remedy}, or take "
            "±3.14 rad and 3.14 rad/s, ±1 m and 1 m/s by --assume-limits",
        )
    for joint, names in missing.items():
        table = ASSUMED_PRISMATIC_LIMITS if joint.kind == "prismatic" else ASSUMED_REVOLUTE_LIMITS
        complete.setdefault(joint.name, {}).update({name: table[name] for name in names})
    return complete, [f"limits missing in the {document.format}: {listed}"] if missing else []


def _require_radians(
    document: UrdfDocument, source: UrdfJoint, what: str, value: float, most: float
) -> None:
    """Raise if a limit of a joint is implausible, as degrees would be."""
    if value > most:
        unit, other = ("m", "mm") if source.kind == "prismatic" else ("rad", "degrees")
        unit += "/s" if what.startswith("velocity") else ""
        document.fail(
            source.line,
            f"joint '{source.name}': a {what} of {value:g} {unit} is implausible; if the limits "
            f"are "
            f"in {other}, convert them; else state them in robot.toml or the section [robot]",
        )


def _usable_range(
    source: UrdfJoint, bounds: tuple[float, float], notes: list[str]
) -> tuple[float, float]:
    """Return `bounds`, or assumed ones if they are too wide to be limits."""
    if bounds[1] - bounds[0] < UNLIMITED_RANGE:
        return bounds
    table = ASSUMED_PRISMATIC_LIMITS if source.kind == "prismatic" else ASSUMED_REVOLUTE_LIMITS
    text = f"taken as no limit, ±{table['upper']:.3g} assumed"
    notes.append(f"position range of {bounds[1] - bounds[0]:g} {text}")
    return table["lower"], table["upper"]


def _limits(
    document: UrdfDocument, source: UrdfJoint, override: Mapping[str, float], notes: list[str]
) -> dict[str, float]:
    stated = {**source.limits, **source.dynamics, **override}
    if source.kind == "continuous":
        if "lower" not in override or "upper" not in override:
            notes.append("continuous, position range assumed -pi to pi")
        bounds = (override.get("lower", -np.pi), override.get("upper", np.pi))
    else:
        bounds = (stated.get("lower", 0.0), stated.get("upper", 0.0))
    velocity = stated["velocity"]
    if not override.keys() & {"lower", "upper"}:
        bounds = _usable_range(source, bounds, notes)
        _require_radians(document, source, "range", bounds[1] - bounds[0], MAX_RANGE)
    from_file = "velocity" not in override
    if from_file and velocity >= UNLIMITED_VELOCITY and source.kind != "prismatic":
        assumed = ASSUMED_REVOLUTE_LIMITS["velocity"]
        text = f"taken as no limit, {assumed:.3g} rad/s assumed"
        notes.append(f"velocity limit of {velocity:g} rad/s {text}")
        velocity = assumed
    elif from_file:
        _require_radians(document, source, "velocity limit", velocity, MAX_VELOCITY)
    if "acceleration" not in stated:
        stated["acceleration"] = ACCELERATION_RATIO * velocity
        notes.append(f"acceleration limit assumed {ACCELERATION_RATIO:g} x velocity limit")
    for name, value in (("a velocity", velocity), ("an acceleration", stated["acceleration"])):
        if value < MIN_VELOCITY:
            text = f"joint '{source.name}': {name} limit of {value:g} is implausible"
            document.fail(source.line, f"{text}; correct it, or state it in robot.toml")
    return {
        "lower": bounds[0],
        "upper": bounds[1],
        "velocity": velocity,
        "acceleration": stated["acceleration"],
        "effort": _effort(document, source, stated.get("effort", 0.0), notes),
    }


def _effort(document: UrdfDocument, source: UrdfJoint, effort: float, notes: list[str]) -> float:
    """Check the torque limit of a joint; return it, infinite if the file has none."""
    if effort < 0.0:
        text = f"joint '{source.name}' has a negative effort limit ({effort:g})"
        document.fail(source.line, f"{text}; 0 means none")
    if 0.0 < effort < MIN_EFFORT:
        text = f"joint '{source.name}' has an effort limit of {effort:g}, too small to move a link"
        document.fail(source.line, f"{text}; 0 means none")
    if 0.0 < effort < UNLIMITED_EFFORT:
        return effort
    notes.append("no torque limit")
    return np.inf
