r"""Joint torques in addition to rigid bodies, rotor and :math:`F_v \dot q + F_c s + F_o`.

A kind of term has a name, parameters, at most one nonlinear constant and a description; the numbers
of one joint are a `JointTerm`. The torque of a term along a motion is that of
`robotid_sim.dynamics.term_torques`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import OptionError, UnknownNameError
from robotid_sim.renamed import RENAMED_KINDS, upgrade_word


class TermConstant(NamedTuple):
    """The nonlinear constant of a kind of term."""

    name: str
    unit: str
    """Unit, with ``{q}`` for the unit of the joint."""
    start_values: tuple[float, ...]
    """Start values of a search; a velocity is relative to the joint's eps."""
    bounds: tuple[float, float] | None = None
    """Range of a search; None if only the start values are allowed."""
    of_eps: bool = False
    """Whether the constant is a velocity, relative to eps."""


class TermKind(NamedTuple):
    """One kind of term."""

    symbols: tuple[str, ...]
    """Names of the parameters."""
    units: tuple[str, ...]
    """Units of the parameters; ``{t}`` is that of the torque, ``{q}`` that of the joint."""
    words: str
    """Description."""
    constant: TermConstant | None = None
    coupled: bool = False
    """Whether it acts on the joint and on the one before it."""
    positive: bool = False
    """Whether it dissipates energy, so that its first parameter is positive."""
    allows_several: bool = False
    """Whether a joint may have several terms with different constants, such as harmonics."""
    table: bool = False
    """Whether its parameters are the rows of a table, which a fit treats as known."""


TERM_KINDS: Mapping[str, TermKind] = {
    "offset": TermKind(("To",), ("{t}",), "an offset"),
    "asymmetric-friction": TermKind(
        ("dFv", "dFc"), ("{t} s/{q}", "{t}"), "friction that differs between the directions"
    ),
    "transition-velocity": TermKind(
        ("Fe",),
        ("{t}",),
        "Coulomb friction with another transition velocity",
        TermConstant("w", "{q}/s", (0.1, 0.3, 3.0, 10.0, 30.0), (0.02, 100.0), of_eps=True),
        positive=True,
    ),
    "stribeck": TermKind(
        ("Fp",),
        ("{t}",),
        "Coulomb friction that decreases with velocity (Stribeck)",
        TermConstant("vs", "{q}/s", (3.0, 6.0, 12.0, 24.0), (1.5, 60.0), of_eps=True),
        positive=True,
    ),
    "curved-viscous": TermKind(
        ("Fa",),
        ("{t} (s/{q})^a",),
        "viscous friction whose slope changes with speed",
        TermConstant("a", "1", (0.5, 2.0, 3.0)),
    ),
    "load-dependent-friction": TermKind(
        ("mu",),
        ("1",),
        "Coulomb friction that increases with the transmitted torque",
        positive=True,
    ),
    "position-dependent-friction": TermKind(
        ("Fs", "Fk"),
        ("{t}", "{t}"),
        "Coulomb friction that depends on the position",
        TermConstant("k", "1/turn", (1.0, 2.0, 3.0, 4.0)),
        allows_several=True,
    ),
    "cogging": TermKind(
        ("Ts", "Tk"),
        ("{t}", "{t}"),
        "a torque that repeats with the position",
        TermConstant("k", "1/turn", (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)),
        allows_several=True,
    ),
    "presliding": TermKind(
        ("Fd",),
        ("{t}",),
        "Coulomb friction that builds up over a distance (Dahl)",
        TermConstant("d", "{q}", (3e-4, 1e-3, 3e-3, 1e-2), (5e-5, 0.05)),
        positive=True,
    ),
    "spring": TermKind(("ks", "Ts0"), ("{t}/{q}", "{t}"), "a spring"),
    "counterbalance": TermKind(
        ("q", "T"), ("{q}", "{t}"), "a counterbalance that is known, as a table", table=True
    ),
    "warming": TermKind(("Ft",), ("{t}/{q}",), "viscous friction that changes with time"),
    "coupled-joints": TermKind(
        ("Im", "Fvm", "Fcm"),
        ("{t} s^2/{q}", "{t} s/{q}", "{t}"),
        "a motor that two joints share, with its inertia and friction",
        TermConstant("side", "1", (1.0, -1.0)),
        coupled=True,
    ),
}
"""All kinds by name."""

NONE, ALL, AUTO = "none", "all", "auto"
"""Names that select no kind, all kinds, and all kinds if the log requires terms."""

COUPLED, LOADED, PRESLIDING, WARMING = (
    *("coupled-joints", "load-dependent-friction", "presliding", "warming"),
)
"""Kinds that need more than the state of their joint."""

SPRING, COUNTERBALANCE = "spring", "counterbalance"
"""Kinds that a robot.toml can state, in addition to coupled joints."""

TIME_KINDS = (WARMING,)
"""Kinds that depend on time and do not transfer to another motion."""

LINK_KINDS = (SPRING, COUNTERBALANCE)
"""Kinds that act on the links; the others act on the rotors."""

FITTED_KINDS = tuple(name for name, kind in TERM_KINDS.items() if not kind.table)
"""Kinds that a fit may select."""


@document_attributes
@dataclass(frozen=True, slots=True)
class JointTerm:
    """One term of one joint with its numbers."""

    kind: str
    joint: str
    values: tuple[float, ...]
    """Parameters in the order of the kind's symbols, SI units; tables row by row."""
    shape: float | None = None
    """Nonlinear constant; None if the kind has none."""
    partner: str | None = None
    """Previous joint, if the motor drives two joints."""

    def __post_init__(self) -> None:
        if self.kind not in TERM_KINDS:
            raise OptionError(f"unknown term '{self.kind}'; known: {', '.join(TERM_KINDS)}")
        kind = TERM_KINDS[self.kind]
        numbers = [*self.values, *([] if self.shape is None else [self.shape])]
        size = len(self.values) if kind.table else len(kind.symbols)
        if len(self.values) != size or not np.isfinite(numbers).all():
            raise OptionError(
                f"{self.kind} of {self.joint} needs finite {', '.join(kind.symbols)}; got "
                f"{self.values}"
            )
        rising = bool((np.diff(self.values[::2]) > 0.0).all())
        if kind.table and not (len(self.values) >= 4 and len(self.values) % 2 == 0 and rising):
            raise OptionError(
                f"{self.kind} of {self.joint} needs two or more rows of position and torque, the "
                "positions rising"
            )
        if (self.shape is None) != (kind.constant is None):
            name = "no constant" if kind.constant is None else kind.constant.name
            raise OptionError(f"{self.kind} of {self.joint} needs {name}; got {self.shape}")
        if kind.constant is not None and not kind.coupled and not float(self.shape or 0.0) > 0.0:
            raise OptionError(f"{self.kind} of {self.joint}: {kind.constant.name} must be positive")
        if kind.coupled != (self.partner is not None):
            raise OptionError(f"{self.kind} of {self.joint}: only coupled joints have a partner")

    def content(self) -> dict[str, Any]:
        """Return the term as JSON values."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def require_terms_of(
    terms: Sequence[JointTerm], joint_names: Sequence[str], robot: str = "the robot"
) -> None:
    """Raise `OptionError` unless the joints of terms are those of a robot."""
    for term in terms:
        for joint in (term.joint, term.partner):
            if joint is not None and joint not in joint_names:
                raise OptionError(
                    f"{robot} has no joint '{joint}' for {term.kind}; it has "
                    f"{', '.join(joint_names)}"
                )


def names_of(terms: Sequence[JointTerm]) -> str:
    """List kind and joint of every term in one text."""
    return ", ".join(dict.fromkeys(f"{term.kind} of {term.joint}" for term in terms))


class LinearSpring(NamedTuple):
    """A linear spring, as other tools represent it."""

    stiffness: float
    """Stiffness [N m/rad or N/m]."""
    rest: float
    """Position at which it has no torque [rad or m]."""


def linear_springs(terms: Sequence[JointTerm]) -> dict[str, LinearSpring]:
    """Sum up the linear springs of each joint; joints with negative stiffness are omitted."""
    sums: dict[str, Any] = {}
    for term in terms:
        if term.kind == SPRING:
            sums[term.joint] = np.add(sums.get(term.joint, 0.0), term.values)
    return {
        joint: LinearSpring(float(stiffness), float(-torque / stiffness))
        for joint, (stiffness, torque) in sums.items()
        if stiffness > 0.0
    }


def remove_linear_springs(terms: Sequence[JointTerm]) -> list[JointTerm]:
    """Return the terms that `linear_springs` does not represent, in their order."""
    springs = linear_springs(terms)
    return [term for term in terms if term.kind != SPRING or term.joint not in springs]


def describe_omissions(terms: Sequence[JointTerm]) -> tuple[str, ...]:
    """Describe terms that a file cannot represent; nothing if there are none."""
    return (f"Terms of joints are omitted: {names_of(terms)}.",) * bool(terms)


def unit_of(unit: str, joint_unit: str) -> str:
    """Insert the units of a joint in rad or m into `unit`, a unit of a `TermKind`."""
    torque = "N m" if joint_unit == "rad" else "N"
    return unit.replace("{t}", torque).replace("{q}", joint_unit)


def select_kinds(names: Sequence[str]) -> tuple[str, ...]:
    """Return the kinds of terms that a fit may select, in order; ``all`` selects all.

    ``none`` alone selects no kind; ``auto`` alone is returned as it is.

    Raises `UnknownNameError` if a name is unknown, `OptionError` if no fit can select it.
    """
    names = [upgrade_word(name, RENAMED_KINDS) for name in names]
    if {NONE, AUTO} & set(names):
        if len(names) > 1:
            raise OptionError(f"terms '{NONE}' and '{AUTO}' stand alone, got {', '.join(names)}")
        return () if NONE in names else (AUTO,)
    for name in names:
        if name not in (*TERM_KINDS, ALL):
            raise UnknownNameError.from_names("term", name, (AUTO, NONE, ALL, *FITTED_KINDS))
        if name != ALL and name not in FITTED_KINDS:
            raise OptionError(
                f"no fit selects the term '{name}', which is a table; state it in robot.toml"
            )
    return tuple(kind for kind in FITTED_KINDS if kind in names or ALL in names)
