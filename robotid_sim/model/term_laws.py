"""Further friction laws of a plant: joint terms in addition to the standard friction formula.

Their parameters are relative to the robot's own Fv, Fc and rotors, like those of
`robotid_sim.model.friction_law`; for each joint they give a `JointTerm`.
"""

from abc import abstractmethod
from dataclasses import dataclass

from robotid_sim.arrays import Float2D
from robotid_sim.docstrings import document_attributes
from robotid_sim.model.friction_law import FrictionLaw, coefficients_of, require
from robotid_sim.model.joint import Joint
from robotid_sim.model.joint_terms import JointTerm
from robotid_sim.model.robot import Robot


class TermLaw(FrictionLaw):
    """A law that adds a term to the friction of every joint."""

    def coefficients(self, robot: Robot) -> Float2D:
        """Return the coefficients; see `FrictionLaw`."""
        return coefficients_of(robot)

    def terms(self, robot: Robot) -> tuple[JointTerm, ...]:
        """Return the terms; see `FrictionLaw`."""
        return tuple(self.term(joint) for joint in robot.joints)

    @abstractmethod
    def term(self, joint: Joint) -> JointTerm:
        """Return the term of a joint."""


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class Offset(TermLaw):
    """A constant torque, such as a sensor offset."""

    share: float = 0.2
    """Torque over Fc."""

    def __post_init__(self) -> None:
        require(self, "share", -10.0, 10.0)

    def term(self, joint: Joint) -> JointTerm:
        """Return the term; see `TermLaw`."""
        return JointTerm("offset", joint.name, (self.share * joint.friction.Fc,))


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class TransitionVelocity(FrictionLaw):
    """Coulomb friction with another transition velocity than the model's."""

    factor: float = 4.0
    """Transition velocity over that of the model."""

    def __post_init__(self) -> None:
        require(self, "factor", 0.01, 100.0)

    def coefficients(self, robot: Robot) -> Float2D:
        """Return the coefficients; see `FrictionLaw`."""
        return coefficients_of(robot, eps=self.factor * robot.eps)


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class CurvedViscous(TermLaw):
    r"""Additional nonlinear viscous friction, :math:`F_a |\dot q|^a \operatorname{sign} \dot q`."""

    share: float = 0.6
    """Additional torque at 1 rad/s or 1 m/s, over Fc."""
    exponent: float = 0.5
    """Exponent a: the slope decreases with velocity below 1 and increases above 1."""

    def __post_init__(self) -> None:
        require(self, "share", -1.0, 10.0)
        require(self, "exponent", 0.1, 4.0)

    def term(self, joint: Joint) -> JointTerm:
        """Return the term; see `TermLaw`."""
        values = (self.share * joint.friction.Fc,)
        return JointTerm("curved-viscous", joint.name, values, self.exponent)


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class PositionDependent(TermLaw):
    r"""Coulomb friction that depends on the position, :math:`F_c (1 + a \sin k q)`."""

    share: float = 0.3
    """Share a of Fc."""
    waves: int = 1
    """Number k of waves per revolution, or per meter."""

    def __post_init__(self) -> None:
        require(self, "share", -1.0, 1.0)
        require(self, "waves", 1, 64)

    def term(self, joint: Joint) -> JointTerm:
        """Return the term; see `TermLaw`."""
        values = (self.share * joint.friction.Fc, 0.0)
        return JointTerm("position-dependent-friction", joint.name, values, float(self.waves))


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class Cogging(TermLaw):
    """A torque that repeats with the position: magnets of a motor, teeth of a gear."""

    share: float = 0.2
    """Amplitude over Fc."""
    waves: int = 6
    """Number of waves per revolution, or per meter."""

    def __post_init__(self) -> None:
        require(self, "share", -10.0, 10.0)
        require(self, "waves", 1, 1000)

    def term(self, joint: Joint) -> JointTerm:
        """Return the term; see `TermLaw`."""
        values = (self.share * joint.friction.Fc, 0.0)
        return JointTerm("cogging", joint.name, values, float(self.waves))


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class Presliding(TermLaw):
    """Coulomb friction that builds up over a distance after a reversal (Dahl), in place of Fc."""

    distance: float = 5e-3
    """Distance over which it rises to 63 % [rad or m]."""

    def __post_init__(self) -> None:
        require(self, "distance", 1e-4, 1.0)

    def term(self, joint: Joint) -> JointTerm:
        """Return the term; see `TermLaw`."""
        return JointTerm("presliding", joint.name, (joint.friction.Fc,), self.distance)


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class SpringLoaded(TermLaw):
    """A spring on the joint, without torque at position zero."""

    share: float = 1.0
    """Stiffness over Fc [1/rad or 1/m]."""

    def __post_init__(self) -> None:
        require(self, "share", -100.0, 100.0)

    def term(self, joint: Joint) -> JointTerm:
        """Return the term; see `TermLaw`."""
        return JointTerm("spring", joint.name, (self.share * joint.friction.Fc, 0.0))


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class Warming(TermLaw):
    """Viscous friction that changes as the joint warms up."""

    share: float = -0.4
    """Change of Fv over Fv."""
    duration: float = 30.0
    """Time over which it changes linearly; then it is constant [s]."""

    def __post_init__(self) -> None:
        require(self, "share", -1.0, 10.0)
        require(self, "duration", 1e-3, 1e9)

    def term(self, joint: Joint) -> JointTerm:
        """Return the term; see `TermLaw`."""
        values = (self.share * joint.friction.Fv / self.duration,)
        return JointTerm("warming", joint.name, values)


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class CoupledJoints(FrictionLaw):
    """The motor of the last joint also turns with the joint before it, as in many wrists."""

    share: float = 0.5
    """Share of the last joint's rotor inertia and friction that acts on both joints."""

    def __post_init__(self) -> None:
        require(self, "share", 0.0, 0.9)

    def coefficients(self, robot: Robot) -> Float2D:
        """Return the coefficients; see `FrictionLaw`."""
        return coefficients_of(robot)

    def terms(self, robot: Robot) -> tuple[JointTerm, ...]:
        """Return the one term; none for a robot of one joint."""
        if robot.dof < 2:
            return ()
        before, last = robot.joints[-2:]
        parameters = (last.rotor_inertia, last.friction.Fv, last.friction.Fc)
        values = tuple(self.share * value for value in parameters)
        return (JointTerm("coupled-joints", last.name, values, 1.0, before.name),)
