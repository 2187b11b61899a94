"""Drives with separate rotors, connected by springs or backlash.

The module also makes the springs between rotors and links of a plant, and tests whether its
sub-steps resolve them.
"""

from typing import NamedTuple

import numpy as np

from robotid_sim.arrays import Bool1D, Float1D, Float2D
from robotid_sim.dynamics import elastic_kernels
from robotid_sim.dynamics.dynamics import gravity_torque, mass_matrix, not_positive_definite
from robotid_sim.dynamics.elastic_kernels import stick_slip_acceleration
from robotid_sim.dynamics.running_terms import RunningTerms, rotor_coupling
from robotid_sim.engine.drives import DriveStep, bias, no_solution, rows_of_drive, terms_of
from robotid_sim.errors import OptionError, RankDeficientError, RobotIdError, ShapeError
from robotid_sim.model.friction_law import COLUMNS, FrictionLaw, column
from robotid_sim.model.joint_terms import LINK_KINDS
from robotid_sim.model.plant_drives import SPRING_COLUMNS, PlantDrive
from robotid_sim.model.robot import Robot

BIAS_ITERATIONS = 4
"""Iterations between bias and stiction; the error decreases by about the sub-step in each."""

LINK_COEFFICIENTS = np.array([float(name in ("velocity", "shape", "eps")) for name in COLUMNS])
"""Coefficients of a link, whose friction is on the side of the rotor."""

SETTLING_ITERATIONS = 20
"""Iterations for the pose at which the springs hold the links."""


class ElasticDrive:
    r"""Drives whose rotors move separately from the links; see `robotid_sim.model.plant_drives`.

    Encoders and friction are on the side of the rotors. Springs act at the angles at the start of
    the sub-step plus a twelfth of their second difference: with velocities half a sub-step earlier,
    this is the method of Fox and Goodwin (Newmark's with beta = 1/12 [1]_), which has frequencies
    of fourth order and no damping. Damping and friction act within the sub-step, implicitly.

    Attributes
    ----------
    outside : ndarray, shape (n,)
        External torques on the links [N m].
    link : tuple of ndarray, each of shape (n,)
        Position, velocity and acceleration of the links in the last sub-step.

    References
    ----------
    .. [1] Hughes (2000), "The Finite Element Method", Dover, table 9.1.1.
    """

    def __init__(
        self,
        robot: Robot,
        drive: PlantDrive,
        dt: float,
        *,
        law: FrictionLaw | None = None,
        leapfrog: bool = True,
    ) -> None:
        if law is not None and law.sticks and not leapfrog:
            raise OptionError("a plant drive with a law that sticks needs leapfrog = true")
        self._robot, self._dt, self._leapfrog = robot, dt, leapfrog
        self._springs = springs_of(robot, drive, dt)
        self._elastic = self._springs.elastic
        self._model = (robot.geometry, robot.gravity, robot.parameters())
        n, elastic_joints = robot.dof, np.flatnonzero(self._elastic)
        rigid = np.eye(n) * ~self._elastic
        self._motors = np.hstack([rigid, np.eye(n)[:, elastic_joints]])
        """Matrix from velocities of all coordinates, links and then elastic rotors, to rotors, (n,
        N)."""
        self._wound = self._motors - np.eye(n, n + elastic_joints.size)
        """Matrix from coordinates to rotor minus link positions, (n, N)."""
        terms = terms_of(robot, law)
        inertia = np.diag([joint.rotor_inertia for joint in robot.joints])
        coupling = rotor_coupling(robot, terms)
        inertia += 0.0 if coupling is None else coupling
        self._rotors = self._motors.T @ inertia @ self._motors
        self._none: Float1D = np.zeros(n)
        self._rows = np.tile(LINK_COEFFICIENTS, (n + elastic_joints.size, 1))
        self._at = self._motors.argmax(axis=1)
        """Coordinate of every rotor, (n,)."""
        self._rows[self._at] = rows_of_drive(robot, law)
        self._sticks = law is not None and law.sticks
        self._of_links = RunningTerms(robot, [term for term in terms if term.kind in LINK_KINDS])
        self.reset(robot.home, np.zeros(n))

    def reset(self, q: Float1D, dq: Float1D) -> Float1D:
        """Put the rotors into a state; return the link positions held by the springs [rad or m]."""
        self.outside: Float1D = np.zeros(q.size)
        self._next = (q.copy(), dq.copy())
        self._load: Float1D = np.zeros(q.size)
        self._before: Float1D = np.zeros(self._rotors.shape[0])
        self._of_links.reset()
        none, links = np.zeros(q.size), q
        stiffness = np.where(self._elastic, self._springs.stiffness, np.inf)
        for _ in range(SETTLING_ITERATIONS):
            load = bias(self._model, links, none) + self._of_links(links, none, none)
            away = load / stiffness + 0.5 * self._springs.play * np.sign(load)
            links = np.where(self._elastic, q - away, q)
        return links

    def describe(self) -> dict[str, list[float]]:
        """Return the springs of the joints, for the provenance of a log; zero where rigid."""
        stiffness, damping, play = (part.tolist() for part in self._springs)
        return {"stiffness": stiffness, "damping": damping, "play": play}

    def sync_links(self, q: Float1D, dq: Float1D) -> tuple[Float1D, Float1D]:
        """Copy the state of the links from the engine; return the state of the rotors.

        They are equal for rigid joints.
        """
        self._links = (q, dq)
        rotors = self._next
        return np.where(self._elastic, rotors[0], q), np.where(self._elastic, rotors[1], dq)

    def __call__(self, q: Float1D, dq: Float1D, tau: Float1D) -> DriveStep:
        """Return the step of the rotors from their state; see `Drive`."""
        links, speed = self._links
        n, dt = q.size, self._dt
        stiffness, damping, twist = self._springs.contact_values(q - links)
        ahead = stiffness * dt**2 / 12.0 + (0.5 * damping * dt if self._leapfrog else 0.0)
        pull = stiffness * twist + damping * (dq - speed)
        push = self._motors.T @ tau - self._wound.T @ pull
        further = self._of_links(links, speed, self._none) if self._of_links else self._none
        push[:n] += self.outside - further
        dx = np.concatenate([speed, dq[self._elastic]])
        accelerated = self._stick if self._sticks else self._slide
        ddx, v, friction = accelerated(push, np.stack([pull, ahead]), dx)
        ddq = self._motors @ ddx
        after = dq + dt * ddq
        self._before, self._next = ddx, (q + dt * after, after)
        self.link = (links, v[:n], ddx[:n])
        drive_torque = bias(self._model, links, speed, ddx[:n])
        return DriveStep(drive_torque, ddq, self._motors @ v, friction[self._at] + further)

    def _slide(
        self, push: Float1D, springs: Float2D, dx: Float1D
    ) -> tuple[Float1D, Float1D, Float1D]:
        """Return acceleration, velocity within the sub-step and friction of all coordinates."""
        dt = self._dt if self._leapfrog else 0.0
        ddx, v, friction, sound = elastic_kernels.two_mass_step(
            *self._model,
            self._rows,
            self._rotors,
            push,
            springs,
            self._at,
            self._links[0],
            dx,
            dx + 0.5 * dt * self._before,
            self._load,
            dt,
        )
        if not sound:
            raise RankDeficientError(not_positive_definite(self._robot))
        return ddx, v, friction

    def _stick(
        self, push: Float1D, springs: Float2D, dx: Float1D
    ) -> tuple[Float1D, Float1D, Float1D]:
        """Return the same with set-valued friction, as in `StickSlipDrive`."""
        rows, span, links = self._rows, 0.5 * self._dt, self._links[0]
        drive = elastic_kernels.two_mass_inertia(
            self._model[0], self._model[2], self._rotors, springs[1], self._at, links
        )
        falling = np.exp(-((np.abs(dx) / column(rows, "velocity")) ** column(rows, "shape")))
        limit = np.empty((dx.size, 2))
        for k, side in enumerate(("forward", "backward")):
            level, peak = column(rows, f"Fc_{side}"), column(rows, f"Fs_{side}")
            limit[:, k] = level + (peak - level) * falling
        viscous, v = column(rows, "Fv_forward"), dx + span * self._before
        for _ in range(BIAS_ITERATIONS):
            free = push.copy()
            free[: links.size] -= bias(self._model, links, v[: links.size])
            ddx, _, sound = stick_slip_acceleration(
                drive + np.diag(viscous * span),
                free - column(rows, "Fo") - viscous * dx,
                limit,
                dx,
                self._dt,
            )
            if not sound:
                raise RobotIdError(no_solution(self._robot, links))
            v = dx + span * ddx
        return ddx, v, free - drive @ ddx


MAX_PHASE_STEP = 1.5
"""Largest phase of an oscillation in a sub-step [rad].

A spring with a twelfth of its stiffness as inertia is stable up to 2.45, with a relative frequency
error of the fourth power of the phase over 480."""

POSE_COUNT = 20
"""Number of poses for the largest load and the highest frequency."""


class Springs(NamedTuple):
    """Springs of a plant, each of shape (n,)."""

    stiffness: Float1D
    """Stiffness [N m/rad]; zero for a rigid joint."""
    damping: Float1D
    """Damping [N m s/rad]."""
    play: Float1D
    """Backlash from flank to flank [rad]."""

    @property
    def elastic(self) -> Bool1D:
        """Whether each joint has two masses."""
        return self.stiffness > 0.0

    def contact_values(self, wound: Float1D) -> tuple[Float1D, Float1D, Float1D]:
        """Return stiffness, damping and twist at flank contact, for angles of rotor minus link."""
        twist = wound - np.clip(wound, -0.5 * self.play, 0.5 * self.play)
        touch = (twist != 0.0) | (self.play == 0.0)
        return self.stiffness * touch, self.damping * touch, twist


def springs_of(robot: Robot, drive: PlantDrive, dt: float) -> Springs:
    """Return the springs of a plant with sub-steps `dt` [s].

    Raises `OptionError` if a joint oscillates faster than the sub-steps resolve.
    """
    limits, rng = robot.limits, np.random.default_rng(0)
    draws = rng.uniform(limits.lower, limits.upper, (POSE_COUNT, robot.dof))
    poses = np.concatenate([robot.home[None], draws])
    M = mass_matrix(robot, poses, rotors=False)
    fast = np.abs(gravity_torque(robot, poses)) + limits.acceleration * np.abs(M).sum(axis=2)
    load = np.where(np.isfinite(limits.effort), limits.effort, fast.max(axis=0))
    rotor = np.array([joint.rotor_inertia for joint in robot.joints])
    felt = 1.0 / np.diagonal(np.linalg.inv(M), axis1=1, axis2=2).max(axis=0)
    rows = drive.springs(robot, load, rotor * felt / (rotor + felt))
    if rows.shape != (robot.dof, len(SPRING_COLUMNS)) or not (rows >= 0.0).all():
        raise ShapeError(f"a plant drive has {', '.join(SPRING_COLUMNS)} a joint, none negative")
    springs = Springs(*rows.T)
    # The largest frequency of rotors against links over all poses may be too high.
    rigid = np.diag([joint.rotor_inertia for joint in robot.joints]) * ~springs.elastic
    mobility = np.linalg.inv(M + rigid)
    rotors = np.array([j.rotor_inertia if j.rotor_inertia > 0.0 else 1.0 for j in robot.joints])
    mobility += np.diag(1.0 / rotors)
    root = np.sqrt(springs.stiffness)
    values, vectors = np.linalg.eigh(root[:, None] * mobility * root)
    worst = int(values[:, -1].argmax())
    omega = float(np.sqrt(values[worst, -1]))
    if omega * dt > MAX_PHASE_STEP:
        joint = robot.joint_names[int(np.abs(vectors[worst, :, -1]).argmax())]
        raise OptionError(
            f"joint '{joint}' oscillates at {omega / (2.0 * np.pi):.4g} Hz, too fast for sub-steps "
            f"of "
            f"{dt:.3g} s; multiply [experiment] substeps by "
            f"{np.ceil(omega * dt / MAX_PHASE_STEP):.0f}, or reduce stiffness"
        )
    return springs
