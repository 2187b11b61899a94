"""Model of a robot: a serial chain of rigid bodies with limits, friction and gravity."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from robotid_sim.arrays import ArrayLike, Float1D, Float2D, freeze, readonly
from robotid_sim.errors import (
    InconsistentInertiaError,
    OptionError,
    ShapeError,
    UnknownNameError,
    suggestion,
)
from robotid_sim.model import inertia, parameters
from robotid_sim.model.chain import chain_notes, select_chain
from robotid_sim.model.geometry import Link
from robotid_sim.model.joint import (
    Friction,
    Joint,
    Limits,
    add_assumed_limits,
    joint_from_urdf,
    pack_geometry,
)
from robotid_sim.model.joint_terms import JointTerm, require_terms_of
from robotid_sim.model.mjcf_reader import is_mjcf, read_mjcf
from robotid_sim.model.settings import check_overrides, read_settings, terms_of_chain
from robotid_sim.model.urdf import UrdfDocument, read_urdf
from robotid_sim.renamed import old_members
from robotid_sim.representation import public_value

STANDARD_GRAVITY = (0.0, 0.0, -9.81)  # [m/s^2]


@old_members(repaired="repair")
@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Robot:
    r"""A serial robot; immutable, and independent of any engine.

    The parameter vector of `parameters` has the layout of `robotid_sim.model.parameters`: ten
    inertial parameters per link, then ``Fv Fc Fo Ia`` per joint, so that

    .. math:: \tau = Y(q, \dot q, \ddot q)\, \phi .

    Examples
    --------
    >>> import robotid_sim as rid
    >>> robot = rid.load_robot("twolink")
    >>> robot.dof, robot.joint_names
    (2, ('joint_1', 'joint_2'))
    >>> robot.limits.velocity
    array([6.28318531, 6.28318531])
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    gravity: Float1D = field(default_factory=lambda: np.array(STANDARD_GRAVITY))
    """Gravity in the frame of the URDF root [m/s^2], shape (3,)."""
    T_last_tip: Float2D = field(default_factory=lambda: np.eye(4))
    """Tool frame in the frame of the last body, shape (4, 4)."""
    base: str = "base"
    tip: str = "tip"
    assumptions: tuple[str, ...] = ()
    """Assumptions made when the model was read, one sentence each."""
    formal: bool = False
    """True if inertial parameters that no rigid body can have are allowed."""
    document: UrdfDocument | None = None
    """URDF that the robot was read from; a writer keeps the rest of it."""
    held_home: Float1D | None = None
    """Home pose [rad or m], shape (n,), if the drives cannot hold the usual one against gravity."""
    terms: tuple[JointTerm, ...] = ()
    """Joint terms: torques in addition to the standard model, not in the parameter vector."""
    geometry: Float2D = field(init=False)
    """Kinematics packed for the kernels, shape (n, 37); see `pack_geometry`."""
    eps: Float1D = field(init=False)
    """Friction `eps` of every joint, shape (n,)."""
    limits: Limits = field(init=False)

    def __post_init__(self) -> None:
        if not self.joints or len(self.joints) != len(self.links):
            raise ShapeError("a robot needs as many links as joints, and at least one")
        require_terms_of(self.terms, self.joint_names, self.name)
        object.__setattr__(self, "geometry", pack_geometry(self.joints))
        object.__setattr__(self, "eps", [joint.friction.eps for joint in self.joints])
        object.__setattr__(self, "limits", Limits.from_joints(self.joints))
        freeze(self, (3,), "gravity")
        if self.held_home is not None:
            freeze(self, (self.dof,), "held_home")
        freeze(self, (4, 4), "T_last_tip")
        freeze(self, (self.dof, 37), "geometry")
        freeze(self, (self.dof,), "eps")
        if not self.formal:
            for link, joint, reason in zip(
                self.links, self.joints, self.inconsistencies(), strict=True
            ):
                if reason is not None:
                    document, where = self.document, ""
                    if document is not None and link.name in document.links:
                        where = f"{document.where(document.links[link.name].line)}: "
                    if entry := inertia.find_outlying_entry(link.phi):
                        reason += f"; {entry}"
                    raise InconsistentInertiaError(
                        f"{where}link '{link.name}': {reason}; "
                        "correct the URDF or let `robotid check --repair` take the nearest body"
                    )
                for symbol, value in (
                    ("Fv", joint.friction.Fv),
                    ("Fc", joint.friction.Fc),
                    ("Ia", joint.rotor_inertia),
                ):
                    if value < 0.0:
                        raise OptionError(
                            f"joint '{joint.name}': {symbol} = {value:g} is negative; friction and "
                            "rotor inertia take energy, correct the sign"
                        )

    @classmethod
    def from_urdf(
        cls,
        path: str | Path,
        *,
        base: str | None = None,
        tip: str | None = None,
        gravity: Sequence[float] | None = None,
        urdf_friction: bool = True,
        joints: Mapping[str, Mapping[str, float]] | None = None,
        assume_limits: bool = False,
        formal: bool = False,
        xacro: Mapping[str, str] | None = None,
    ) -> Self:
        """Read a robot from a URDF file, and from a ``robot.toml`` beside it that names the file.

        Parameters
        ----------
        path : str or Path
            The URDF, or an MJCF file, which needs MuJoCo; see `robotid_sim.model.mjcf_reader`.
        base, tip : str, optional
            Links at the ends of the chain; see `robotid_sim.model.chain.select_chain`.
        gravity : sequence of float, shape (3,)
            In the frame of the root [m/s^2]; by default that of an MJCF file, else standard
            gravity.
        urdf_friction : bool
            Take ``<dynamics damping friction>`` as `Fv` and `Fc`; if False they are dropped.
        joints : mapping, optional
            Overrides by joint name, with precedence over robot.toml and the URDF; same keys as
            there.
        assume_limits : bool
            Take stated limits of position and velocity for joints that have none.
        formal : bool
            Accept inertia that no rigid body can have.
        xacro : mapping, optional
            Arguments of a xacro file.

        Returns
        -------
        robot : Robot

        Raises
        ------
        UrdfError, UnknownNameError
            If the file is not a usable URDF, or settings name a joint that it does not have.
        InconsistentInertiaError
            If a body has impossible inertia and `formal` is False.
        """
        document = read_mjcf(path) if is_mjcf(path) else read_urdf(path, xacro)
        settings = read_settings(Path(path))
        chain = select_chain(document, base or settings.base, tip or settings.tip)
        overrides = {name: dict(values) for name, values in settings.joints.items()}
        for name, values in check_overrides(joints or {}, "joint settings").items():
            overrides.setdefault(name, {}).update(values)
        for name in overrides:  # settings of joints off the chain apply with another --tip
            if name not in document.joints:
                names = ", ".join(document.joints)
                raise UnknownNameError(
                    f"settings name the unknown joint '{name}'{suggestion(name, document.joints)}; "
                    f"joints: {names}"
                )
        sources = [body.joint for body in chain.bodies]
        overrides, assumed_limits = add_assumed_limits(
            document, sources, overrides, assume=assume_limits
        )
        notes = [*chain_notes(chain, document), *document.notes, *assumed_limits]
        if chain.base != document.root and not (base or settings.base or document.base):
            notes.append(f"base '{chain.base}', which carries the arm; choose another by --base")
        by_assumption: dict[str, list[str]] = {}
        movable: list[Joint] = []
        for body in chain.bodies:
            override = overrides.get(body.joint.name, {})
            joint, assumed = joint_from_urdf(
                document, body.joint, body.T_parent_joint, override, urdf_friction=urdf_friction
            )
            movable.append(joint)
            for text in assumed:
                by_assumption.setdefault(text, []).append(joint.name)
        notes += [f"{text}: {', '.join(items)}" for text, items in by_assumption.items()]
        gravities = (gravity, document.gravity, STANDARD_GRAVITY)
        return cls(
            name=document.name,
            links=tuple(
                Link(b.joint.child, b.phi, b.fixed, b.locked, b.shapes) for b in chain.bodies
            ),
            joints=tuple(movable),
            gravity=np.array(next(g for g in gravities if g is not None), dtype=float),
            T_last_tip=chain.T_last_tip,
            base=chain.base,
            tip=chain.tip,
            assumptions=tuple(notes),
            formal=formal,
            document=document,
            terms=terms_of_chain(document.terms, settings.terms, list(document.joints), movable),
        )

    @property
    def dof(self) -> int:
        """Number of joints."""
        return len(self.joints)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, base to tip."""
        return tuple(joint.name for joint in self.joints)

    @property
    def prismatic(self) -> tuple[bool, ...]:
        """Whether each joint is prismatic."""
        return tuple(joint.prismatic for joint in self.joints)

    @property
    def joint_units(self) -> tuple[str, ...]:
        """Unit of each joint position, ``rad`` or ``m``."""
        return tuple("m" if joint.prismatic else "rad" for joint in self.joints)

    @property
    def home(self) -> Float1D:
        """Home pose, shape (n,): `held_home`, or zero, or the middle of a range far from zero."""
        if self.held_home is not None:
            return self.held_home
        middle, room = self.limits.middle, 0.8 * self.limits.half_range
        return np.where(np.abs(middle) <= room, 0.0, middle)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Symbols of `parameters`, shape (14 n,)."""
        return parameters.names(self.dof)

    def parameters(self) -> Float1D:
        """Return the full parameter vector `phi`, shape (14 n,)."""
        tail = [[j.friction.Fv, j.friction.Fc, j.friction.Fo, j.rotor_inertia] for j in self.joints]
        return np.concatenate([*(link.phi for link in self.links), *np.array(tail)])

    def with_parameters(self, phi: Float1D, *, formal: bool = False) -> Self:
        """Return the robot with another parameter vector; all else stays.

        Parameters
        ----------
        phi : ndarray, shape (14 n,)
            Layout of `parameters`.
        formal : bool
            Accept inertia that no rigid body can have: never for the engine or a writer.

        Returns
        -------
        robot : Robot

        Raises
        ------
        InconsistentInertiaError
            If a body is impossible and `formal` is False.
        """
        phi = readonly(phi, shape=(parameters.size(self.dof),), name="phi")
        links = tuple(
            replace(link, phi=phi[parameters.inertial_slice(k)])
            for k, link in enumerate(self.links)
        )
        joints = []
        for k, joint in enumerate(self.joints):
            Fv, Fc, Fo, Ia = (float(v) for v in phi[parameters.joint_slice(k, self.dof)])
            friction = Friction(Fv, Fc, Fo, joint.friction.eps)
            joints.append(replace(joint, friction=friction, rotor_inertia=Ia))
        return replace(self, links=links, joints=tuple(joints), formal=formal)

    def with_payload(
        self, mass: float, com: ArrayLike = (0.0, 0.0, 0.0), central: Float2D | None = None
    ) -> Self:
        """Return the robot with a rigid load fixed to its tip.

        Parameters
        ----------
        mass : float
            Mass [kg], not negative.
        com : sequence of float, shape (3,)
            Center of mass in the tip frame [m].
        central : ndarray, shape (3, 3), optional
            Inertia about the COM in tip axes [kg m^2]; default a point mass.

        Returns
        -------
        robot : Robot

        Raises
        ------
        InconsistentInertiaError
            If no rigid body has such inertia.
        """
        tensor = np.zeros((3, 3)) if central is None else central
        tensor = readonly(tensor, shape=(3, 3), name="payload inertia")
        com = readonly(com, shape=(3,), name="payload COM")
        phi = inertia.pack(float(readonly(mass, shape=(), name="payload mass")), com, tensor)
        if reason := inertia.inconsistency(phi):
            raise InconsistentInertiaError(f"payload: {reason}")
        last = self.links[-1]
        loaded = replace(last, phi=last.phi + inertia.transform(phi, self.T_last_tip))
        note = f"payload of {mass:g} kg at the tip '{self.tip}'"
        return replace(
            self, links=(*self.links[:-1], loaded), assumptions=(*self.assumptions, note)
        )

    @classmethod
    def from_pinocchio(cls, model: Any, *, formal: bool = False) -> Self:
        """Read a robot from a Pinocchio model.

        Parameters
        ----------
        model : pinocchio.Model
            A chain of revolute and prismatic joints with limits. Damping, Coulomb friction and
            armature are `Fv`, `Fc` and `Ia`.
        formal : bool
            Accept inertia that no rigid body can have.

        Returns
        -------
        robot : Robot
            Its tip is the frame of the last body.

        Raises
        ------
        MissingExtraError
            If Pinocchio is not installed.
        UrdfError
            If the model branches, or a joint has no limits, or not one degree of freedom.
        InconsistentInertiaError
            If a body has impossible inertia and `formal` is False.
        """
        from robotid_sim.model.pinocchio_model import read_pinocchio

        joints, links, gravity = read_pinocchio(model)
        name, tip = model.name or "robot", links[-1].name
        return cls(name, links, joints, gravity, base="universe", tip=tip, formal=formal)

    def to_pinocchio(self) -> Any:
        """Build a Pinocchio model of the same torques, without friction, which `rnea` ignores.

        Returns
        -------
        model : pinocchio.Model
            With damping, Coulomb friction, armature, limits, and the tip as a frame.

        Raises
        ------
        MissingExtraError
            If Pinocchio is not installed.
        """
        from robotid_sim.model.pinocchio_model import build_pinocchio

        model = build_pinocchio(self.joints, self.links, self.gravity, (self.tip, self.T_last_tip))
        model.name = self.name
        return model

    def inconsistencies(self) -> list[str | None]:
        """Return the reason why each movable body is not physically consistent, or None."""
        return [inertia.inconsistency(link.phi) for link in self.links]

    def repair(self) -> Self:
        """Return the robot with every impossible body replaced, see `inertia.repair`."""
        links = tuple(
            link if reason is None else replace(link, phi=inertia.repair(link.phi))
            for link, reason in zip(self.links, self.inconsistencies(), strict=True)
        )
        return replace(self, links=links, formal=False)

    def fingerprint(self) -> str:
        """Return a hash of kinematics, gravity and limits, which plant and nominal model share."""
        digest = hashlib.sha256()
        for part in (self.geometry, self.gravity, self.T_last_tip, *self.limits.arrays()):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()
