"""The robot in an engine, which simulates its bodies; drives and friction are computed here."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.base_parameters import require_moved_inertia
from robotid_sim.dynamics.running_terms import RunningTerms, rotor_coupling
from robotid_sim.engine import compiled_loop
from robotid_sim.engine.closing import Closeable
from robotid_sim.engine.drives import DriveStep, SmoothDrive, drive_of, terms_of
from robotid_sim.engine.elastic_drive import ElasticDrive
from robotid_sim.engine.engines import bodies_of, engine_named
from robotid_sim.engine.rigid_bodies import ClosedBodies, RigidBodies, require_consistent_bodies
from robotid_sim.errors import OptionError, ShapeError, SimulationDiverged
from robotid_sim.measurement.log import Log
from robotid_sim.model.friction_law import FrictionLaw, describe_law
from robotid_sim.model.joint_terms import LINK_KINDS
from robotid_sim.model.plant_drives import PlantDrive, describe_drive
from robotid_sim.model.robot import Robot

MAX_SUBSTEPS = 256
"""Most engine steps per control step."""

MAX_VELOCITY_RATIO = 100.0
"""Ratio of velocity to its limit above which a joint has diverged."""


class Step(NamedTuple):
    """State at the first sub-step of a control step, each of shape (n,).

    The drive torque `tau` satisfies the plant's equation of motion at exactly this state.
    """

    q: Float1D
    dq: Float1D
    ddq: Float1D
    tau: Float1D


class Plant(Closeable):
    """A robot in an engine of its own; use it in a ``with`` block.

    The engine integrates rigid bodies without friction and rotors by semi-implicit Euler. At every
    sub-step our kernels turn the drive torque into the one that makes the engine's step equal to
    that of the real drive, with rotor inertia, and with friction solved for implicitly, so that
    strong friction on a small inertia needs no more sub-steps.

    Parameters
    ----------
    robot : Robot
        The true robot.
    dt : float
        Control step [s], over which the torque is held.
    substeps : int
        Engine steps per control step.
    leapfrog : bool
        Whether forces act within the sub-step, at its middle velocity where friction is mild; if
        False, explicitly at its start, which is of first order and makes stiff friction chatter.
    friction : FrictionLaw, optional
        Friction of the plant in place of that of `robot`, which its models keep.
    drive : PlantDrive, optional
        Drive between rotors and links; by default joints are rigid. With a drive, state, steps and
        friction are those of the rotors, where the encoders are.
    engine : str, optional
        ``pybullet`` or ``mujoco``, which integrates the bodies; by default the first that is
        installed.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> robot = rid.load_robot("twolink")
    >>> with rid.Plant(robot) as plant:
    ...     plant.reset(np.array([0.3, 0.2]), np.zeros(2))
    ...     step = plant.step(rid.gravity_torque(robot, plant.q))
    ...     print(plant.q.round(3))
    [0.3 0.2]
    """

    def __init__(
        self,
        robot: Robot,
        *,
        dt: float = 1e-3,
        substeps: int = 4,
        leapfrog: bool = True,
        friction: FrictionLaw | None = None,
        drive: PlantDrive | None = None,
        engine: str | None = None,
    ) -> None:
        if not 0.0 < dt < 1.0 or not 1 <= substeps <= MAX_SUBSTEPS:
            raise OptionError(
                f"control step {dt} s must lie in (0, 1) and sub-steps {substeps} in 1 to "
                f"{MAX_SUBSTEPS}"
            )
        require_consistent_bodies(robot)
        require_moved_inertia(robot)
        self.engine = engine_named(engine)
        self.robot = robot
        self.dt = dt
        self.substeps = substeps
        self._shape = (robot.dof,)
        self.friction, self.drive = friction, drive
        self._elastic: ElasticDrive | None = None
        self._drive = drive_of(robot, friction, dt / substeps, leapfrog=leapfrog)
        terms = terms_of(robot, friction)
        if drive is not None:
            self._drive = self._elastic = ElasticDrive(
                robot, drive, dt / substeps, law=friction, leapfrog=leapfrog
            )
            terms = tuple(term for term in terms if term.kind not in LINK_KINDS)
        self._coupling = rotor_coupling(robot, terms)
        warm_up_time = np.inf if friction is None else friction.duration
        self._terms = RunningTerms(robot, terms, warm_up_time, replaces_coulomb=True)
        self._has_terms = bool(terms)
        self._zero_torque: Float1D = np.zeros(robot.dof)
        self._ahead = 0.5 * dt / substeps if leapfrog else 0.0
        self._friction_torques: list[Float1D] = []
        self._link_states: list[tuple[Float1D, Float1D, Float1D]] = []
        self._fastest = MAX_VELOCITY_RATIO * robot.limits.velocity
        self._bodies: RigidBodies | ClosedBodies = bodies_of(self.engine, robot, dt / substeps)
        self.reset(robot.home, np.zeros(robot.dof))

    @property
    def torque_time_offset(self) -> float:
        """Mean time at which the torque held over a control step acts, after its start [s].

        The middle of the step, less half a sub-step, by which the engine's velocity lags.
        """
        return 0.5 * self.dt - 0.5 * self.dt / self.substeps

    def close(self) -> None:
        """Disconnect from the engine; a client that stays open costs 28 MB."""
        self._bodies.close()
        self._bodies = ClosedBodies()

    def reset(self, q: Float1D, dq: Float1D) -> None:
        """Put the robot into a state, time zero; links hang where their springs hold them.

        Parameters
        ----------
        q, dq : ndarray, shape (n,)
            Position [rad or m] and velocity [rad/s or m/s] of the drives.
        """
        self.t = 0.0
        self._friction_torques.clear()
        self._link_states.clear()
        q, dq = self._check_values(q, "q"), self._check_values(dq, "dq")
        if self._elastic is not None:
            q = self._elastic.reset(q, dq)
        self._terms.reset()
        self._ddq: Float1D = np.zeros(self.robot.dof)
        self._bodies.set_state(q, dq)
        self.q, self.dq = self._state()

    def step(self, tau: Float1D, disturbance: Float1D | None = None) -> Step:
        """Hold the drive torques for one control step, clipped at the effort limits.

        Parameters
        ----------
        tau : ndarray, shape (n,)
            Commanded drive torques [N m].
        disturbance : ndarray, shape (n,), optional
            Torques from outside that add to the drives' [N m]; not clipped.

        Returns
        -------
        step : Step
            State and torque of the first sub-step.

        Raises
        ------
        SimulationDiverged
            If a state is no longer finite or absurdly fast; carries time and joint.
        """
        effort = self.robot.limits.effort
        tau = np.minimum(np.maximum(self._check_values(tau, "tau"), -effort), effort)
        acting = tau
        if disturbance is not None:
            outside = self._check_values(disturbance, "disturbance")
            if self._elastic is None:
                acting = tau + outside
            else:
                self._elastic.outside = outside
        if isinstance(self._drive, SmoothDrive) and not self._has_terms:
            state, handle = (self.q, self.dq), self._bodies.handle
            self.q, self.dq, drive = self._drive.steps(handle, *state, acting, self.substeps)
            self._ddq = drive.ddq
            first = self._first_substep(state[0], drive, self._zero_torque, tau)
        else:
            first = self._run_substeps(tau, acting)
        if not compiled_loop.is_sound(self.q, self.dq, self._fastest):
            bad = ~(np.abs(self.dq) < self._fastest) | ~np.isfinite(self.q)
            joint = self.robot.joint_names[int(bad.argmax())]
            raise SimulationDiverged(
                f"the simulation diverged at t = {self.t:.3f} s: joint '{joint}' left every "
                "sensible range; lower the gains or raise the sub-steps",
                self.t,
                joint,
            )
        self.t += self.dt
        return first

    def _run_substeps(self, tau: Float1D, acting: Float1D) -> Step:
        """Take the sub-steps of drives that are not compiled together with the engine."""
        first, further, free, at = None, self._zero_torque, acting, self.t
        for k in range(self.substeps):
            if self._has_terms:  # at the predicted velocity within the sub-step
                ahead, now = self.dq + self._ahead * self._ddq, at + k * self.dt / self.substeps
                further = self._terms(self.q, ahead, self._ddq, now, inertia=False)
                free = acting - further
            drive = self._drive(self.q, self.dq, free)
            self._ddq = drive.ddq
            if first is None:
                first = self._first_substep(self.q, drive, further, tau)
                if self._elastic is not None:
                    self._link_states.append(self._elastic.link)
            self._bodies.advance(drive.drive_torque)
            self.q, self.dq = self._state()
        assert first is not None
        return first

    def _first_substep(self, q: Float1D, drive: DriveStep, further: Float1D, tau: Float1D) -> Step:
        """Return the first sub-step, and record its friction."""
        if drive.friction is not None:
            shared = 0.0 if self._coupling is None else self._coupling @ drive.ddq
            self._friction_torques.append(drive.friction + further + shared)
        return Step(q, drive.v, drive.ddq, tau)

    def add_provenance(self, log: Log) -> Log:
        """Return the log of a run since the last reset with the plant's own friction noted.

        The provenance names friction law and plant drive; the truth holds the friction torques that
        acted, and the motion of the links. Without either it is the log itself.
        """
        if self.friction is None and self.drive is None:
            return log
        truth, noted = log.truth, dict(log.provenance)
        if truth is not None and self._friction_torques:
            truth = replace(truth, friction=np.array(self._friction_torques[: log.t.size]))
        if truth is not None and self._link_states:
            q, dq, ddq = (
                np.array(part) for part in zip(*self._link_states[: log.t.size], strict=True)
            )
            truth = replace(truth, link_q=q, link_dq=dq, link_ddq=ddq)
        if self.friction is not None:
            noted["friction"] = describe_law(self.friction)
        if self.drive is not None and self._elastic is not None:
            noted["drive"] = {**describe_drive(self.drive), **self._elastic.describe()}
        return replace(log, truth=truth, provenance=noted)

    def _check_values(self, value: Float1D, name: str) -> Float1D:
        array = np.asarray(value, dtype=float)
        if array.shape != self._shape or not np.isfinite(array).all():
            joint = ""
            if array.shape == (self.robot.dof,):
                joint = f" (joint '{self.robot.joint_names[int(np.isfinite(array).argmin())]}')"
            raise ShapeError(
                f"{name} = {array} at t = {getattr(self, 't', 0.0):.3f} s{joint}; the engine needs "
                f"{self.robot.dof} finite numbers"
            )
        return array

    def _state(self) -> tuple[Float1D, Float1D]:
        q, dq = self._bodies.state()
        return (q, dq) if self._elastic is None else self._elastic.sync_links(q, dq)
