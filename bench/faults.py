"""Faults of logs and of robots for the benches: sound robots, what goes wrong, what it costs.

Faults are injected into sound logs of 30 s with the default sensors, or sit in the plant: another
gravity, a load, friction of another law, a spring or free play on one joint. One counts on a joint
where it at least doubles the model error of a weighted least-squares fit of the log (worst joint,
against the torque of the sound robot on the true motion) and raises the residual of a joint by a
tenth, or else base parameters take it in and no log shows it; faults that the preprocessor repairs
count on any.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pybullet_data

from robotid_sim.arrays import Float1D, Float2D, rms
from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.dynamics.dynamics import mass_matrix, torque_regressor
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import build_problem
from robotid_sim.excitation.design import torque_scale
from robotid_sim.experiment.rollout import Cell
from robotid_sim.measurement import SENSORS
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.sensors import measure
from robotid_sim.model import parameters
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.friction_law import (
    Asymmetric,
    FrictionLaw,
    LoadDependent,
    Stribeck,
    coefficients_of,
)
from robotid_sim.model.joint_terms import JointTerm
from robotid_sim.model.plant_drives import Backlash, Elastic, PlantDrive
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build import build_sensors
from robotid_sim.pipeline.build_design import build_design
from robotid_sim.pipeline.build_robot import build_basis, build_nominal
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.excitation import design_excitation
from robotid_sim.pipeline.simulate import run_experiment
from robotid_sim.preprocess.rts import RtsSmoother
from robotid_sim.trajectory.reference import Excitation
from robotid_sim.validation.prediction import clean_log, true_rows

ROBOTS = ("irb140", "ur10", "twolink", "scara", "iiwa")
"""Of the catalog; of example-robot-data; of the catalog; with a prismatic joint; of 7 joints."""

LOADS = {"irb140": 5.0, "ur10": 6.0, "twolink": 6.0, "scara": 2.0, "iiwa": 6.0}
"""Mass of the load that the model does not know [kg]."""

LEVEL = 0.08
"""Least Coulomb friction of the robots, over the typical torque of the joint."""

STUDY = {
    "preset": "ideal",
    "design": {"candidates": 30, "iterations": 15, "starts": 1, "period": 10.0, "periods": 3},
}

LAWS: dict[str, FrictionLaw] = {
    "stribeck": Stribeck(static=1.6, velocity=0.15, prismatic_velocity=0.05),
    "asymmetric-friction": Asymmetric(coulomb=0.3, viscous=0.3),
    "load-dependent-friction": LoadDependent(share=0.1),
}

DRIVES: dict[str, PlantDrive] = {
    "elastic-joint": Elastic(twist=2e-2, prismatic_twist=2e-3),
    "backlash": Backlash(play=5e-3, prismatic_play=5e-4),
}

ROTOR = 0.5
"""Least inertia of rotors over that of the links where a drive is at fault."""

PLANTS = (*LAWS, *DRIVES, "gravity", "load")
"""Faults of the plant, by the kind of cause that is to be named."""


@dataclass(frozen=True, slots=True)
class OneJoint(FrictionLaw):
    """A friction law of one joint; the others have that of the model."""

    law: FrictionLaw
    joint: int

    def coefficients(self, robot: Robot) -> Float2D:
        """Return the coefficients; see `FrictionLaw`."""
        rows = coefficients_of(robot)
        rows[self.joint] = self.law.coefficients(robot)[self.joint]
        return rows

    def terms(self, robot: Robot) -> tuple[JointTerm, ...]:
        """Return the terms; see `FrictionLaw`."""
        name = robot.joint_names[self.joint]
        return tuple(term for term in self.law.terms(robot) if term.joint == name)

    @property
    def duration(self) -> float:
        """Time over which what warms up does so [s]."""
        return self.law.duration


def robot_of(name: str, kind: str = "") -> Robot:
    """Return a robot with friction and rotors on every joint, heavy ones for faults behind them.

    A light rotor that loses its links is shaken by a controller whose gains are for both.
    """
    match name:
        case "ur10":
            file = (
                "cmeel.prefix/share/example-robot-data/robots/ur_description/urdf/ur10_robot.urdf"
            )
            robot = Robot.from_urdf(str(distribution("example-robot-data").locate_file(file)))
        case "scara":
            robot = Robot.from_urdf(Path(__file__).parents[1] / "tests" / "data" / "scara.urdf")
        case "iiwa":
            robot = Robot.from_urdf(Path(pybullet_data.getDataPath()) / "kuka_iiwa" / "model.urdf")
        case _:
            robot = load_robot(name)
    phi, size = robot.parameters(), torque_scale(robot)
    rotor = 0.01 * size
    if kind in DRIVES:
        poses = robot.home + 0.5 * np.random.default_rng(0).standard_normal((50, robot.dof))
        inertia = np.diagonal(mass_matrix(robot, poses), axis1=1, axis2=2).mean(axis=0)
        rotor = np.maximum(rotor, ROTOR * inertia)
    for j in range(robot.dof):
        Fv, Fc, Fo, Ia = phi[parameters.joint_slice(j, robot.dof)]
        least = np.array([0.05 * size[j], LEVEL * size[j], 0.0, rotor[j]])
        phi[parameters.joint_slice(j, robot.dof)] = np.maximum([Fv, Fc, Fo, Ia], least)
    return robot.with_parameters(phi)


@dataclass(frozen=True, slots=True, eq=False)
class Bench:
    """A robot with its nominal model and its excitation."""

    plant: Robot
    nominal: Robot
    basis: BaseParameters
    path: Excitation

    @classmethod
    def of(cls, name: str, kind: str = "") -> "Bench":
        """Return the bench of a robot for a kind of fault, designed cheaply."""
        plant, config = robot_of(name, kind), load_config(None, STUDY)
        nominal = build_nominal(plant, config)
        basis = build_basis(nominal, config)
        plan = build_design(nominal, basis, config)
        path = design_excitation(nominal, basis, plan, np.random.default_rng(0)).trajectories[0]
        return cls(plant, nominal, basis, path)

    def log(
        self,
        plant: Robot | None = None,
        friction: FrictionLaw | None = None,
        drive: PlantDrive | None = None,
    ) -> Log:
        """Return the log of an experiment without noise."""
        controller = ComputedTorque(self.nominal, 2500.0, 100.0)
        plant = plant or self.plant
        cell = Cell(plant=plant, controller=controller, friction=friction, drive=drive)
        return clean_log(run_experiment(cell, self.path, np.random.default_rng(0)))

    def fitted(self, log: Log, sound: Log) -> tuple[float, Float1D]:
        """Return the model error of a fit of a log, worst joint, and the relative residuals."""
        motion = RtsSmoother()(log, self.nominal)
        problem = build_problem(motion, self.nominal, self.basis)
        estimate = WeightedLeastSquares().fit(problem, np.random.default_rng(0))
        truth = true_rows(sound, np.arange(sound.t.size) % 20 == 0)
        W = torque_regressor(self.nominal, truth.q, truth.dq, truth.ddq, self.basis.columns)
        error = float((rms(truth.tau - W @ estimate.beta) / rms(truth.tau)).max())
        return error, estimate.noise_std / rms(problem.unstack_rows(problem.y))

    def growth(self, faulty: Log, fitted: tuple[float, Float1D], sound: Log, kind: str) -> float:
        """Return by what factor a fault makes the model error grow; 0 if nothing can show it."""
        before, noise = fitted
        after, noise_after = self.fitted(faulty, sound)
        shown = kind in NOMINAL or (noise_after > VISIBLE * noise).any()
        return after / before if shown else 0.0


EDITS = (
    *("torque-sign", "torque-columns", "torque-scale", "torque-offset", "torque-drift"),
    *("torque-clipped", "torque-outliers", "torque-delay", "lost-samples"),
    *("position-zero", "position-sign", "position-noise"),
)
"""Faults that are edits of a sound log, by the kind of cause that is to be named."""


def edited(kind: str, log: Log, joint: int, rng: np.random.Generator) -> Log:
    """Return a sound log with a fault of a joint."""
    if kind == "torque-delay":
        return SENSORS.build("torque-delay", delay=5e-3)(log, rng)
    if kind == "lost-samples":
        return SENSORS.build("dropped-samples", probability=0.05)(log, rng)
    tau, q = np.array(log.tau_meas), np.array(log.q)
    x, z, turns = tau[:, joint], q[:, joint], log.joint_units[joint] == "rad"
    size = np.sqrt((x**2).mean())
    match kind:
        case "torque-sign":
            x *= -1.0
        case "torque-columns":
            tau[:, [joint, neighbor(joint, log.dof)]] = tau[:, [neighbor(joint, log.dof), joint]]
        case "torque-scale":
            x *= 1.3
        case "torque-offset":
            x += 0.1 * size
        case "torque-drift":
            x += 0.3 * size * log.t / log.t[-1]
        case "torque-clipped":
            limit = np.quantile(np.abs(x), 0.95)
            np.clip(x, -limit, limit, out=x)
        case "torque-outliers":
            x += 5.0 * size * (rng.random(x.size) < 2e-3)
        case "position-zero":
            z += 0.1 if turns else 0.02
        case "position-sign":
            z *= -1.0
        case "position-noise":
            z += (3e-3 if turns else 3e-4) * rng.standard_normal(z.size)
    return replace(log, truth=None, tau_cmd=None, dq=None, tau_meas=tau, q=q)


def neighbor(joint: int, dof: int) -> int:
    """Return the joint that a joint is swapped with."""
    return joint + 1 if joint + 1 < dof else joint - 1


VISIBLE = 1.1
"""Growth of the residual of a joint from which a fault can be seen in a log."""

NOMINAL = ("load", "torque-sign")
"""Kinds that need no residual: the nominal model shows them, or that the robot cannot exist."""

WHOLE = ("torque-delay", "lost-samples", "gravity")
"""Kinds that concern all joints."""

REPAIRED = ("torque-outliers", "lost-samples", "torque-clipped", "position-noise")
"""Kinds that count on any joint."""


def tilted(robot: Robot) -> Robot:
    """Return a robot on a base that leans by 5 degrees."""
    angle, side = np.radians(5.0), np.radians(40.0)
    down = [np.sin(angle) * np.cos(side), np.sin(angle) * np.sin(side), -np.cos(angle)]
    return replace(robot, gravity=np.linalg.norm(robot.gravity) * np.array(down))


def sensed(clean: Log, preset: str, seed: int) -> Log:
    """Return what the sensors of a preset make of a clean log."""
    config = load_config(None, {} if preset == "default" else {"preset": preset})
    return measure(clean, build_sensors(config), np.random.default_rng(seed))


@dataclass(frozen=True, slots=True, eq=False)
class Fault:
    """A measured log with one fault."""

    kind: str
    joints: tuple[str, ...]
    """Where it is; empty for all."""
    growth: float
    """Model error of a fit with the fault over that without."""
    log: Log


def edited_logs(bench: Bench, clean: Log, seed: int) -> Iterator[Fault]:
    """Yield a sound log with every fault that is an edit, on a joint that shows it."""
    names = np.array(clean.joint_names)
    log = sensed(clean, "default", seed)
    fitted = bench.fitted(log, clean)
    for k, kind in enumerate(EDITS):
        for joint in np.random.default_rng((seed, k)).permutation(log.dof):
            faulty = edited(kind, log, int(joint), np.random.default_rng(seed))
            growth = bench.growth(faulty, fitted, clean, kind)
            if growth >= 2.0 or kind in REPAIRED:
                where = [joint, neighbor(joint, log.dof)][: 1 + (kind == "torque-columns")]
                joints = () if kind in WHOLE else tuple(names[where].tolist())
                yield Fault(kind, joints, growth, faulty)
                break


def plant_logs(bench: Bench, name: str, kind: str, seeds: int) -> list[Fault]:
    """Return the logs of a faulty plant, one a seed; none if no joint shows the fault."""
    clean = bench.log()
    sound = [bench.fitted(sensed(clean, "default", seed), clean) for seed in range(seeds)]
    for faulty, joints in worlds(bench, name, kind):
        logs = [sensed(faulty, "default", seed) for seed in range(seeds)]
        pairs = zip(logs, sound, strict=True)
        growth = [bench.growth(log, before, clean, kind) for log, before in pairs]
        if min(growth) >= 2.0:
            return [Fault(kind, joints, *of) for of in zip(growth, logs, strict=True)]
    return []


def worlds(bench: Bench, name: str, kind: str) -> Iterator[tuple[Log, tuple[str, ...]]]:
    """Yield clean logs of faulty plants and the joints of the fault, one joint after the other."""
    names = bench.plant.joint_names
    if kind == "gravity":
        yield bench.log(tilted(bench.plant)), ()
    elif kind == "load":
        loaded = bench.plant.with_payload(LOADS[name], (0.03, 0.05, 0.1))
        yield bench.log(loaded), names[-1:]
    for joint in np.random.default_rng(len(name)).permutation(len(names)):
        where = (names[joint],)
        if kind in DRIVES:
            yield bench.log(drive=replace(DRIVES[kind], joints=where)), where
        elif kind in LAWS:
            yield bench.log(friction=OneJoint(LAWS[kind], int(joint))), where
