"""Causes named by the diagnosis, and false alarms, over robots, faults, presets and seeds.

Faults are injected into sound logs of 30 s with the default sensors, or sit in the plant: another
gravity, a load, friction of another law on one joint. Joints are drawn among those whose fault at
least doubles the model error of a weighted least-squares fit of the log (worst joint, against the
torque of the sound robot on the true motion) and raises the residual of a joint by a tenth, or else
base parameters take it in and no log shows it; faults that the preprocessor repairs count on any.
A fault is `named` if its kind is, or a rival that is said to explain the log as well, with the
right joint; `alone` if nothing else is. Sound logs come from all presets of sensors; what a preset
injects on purpose, such as an offset or a delay, is no false alarm if it is called by its name.

Run as ``python bench/diagnosis.py [--seeds 5] [--sound 20] [--workers N]``.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pybullet_data

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.diagnostics.diagnosis import diagnose
from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import build_problem
from robotid_sim.excitation.design import torque_scale
from robotid_sim.experiment.cell import Cell
from robotid_sim.measurement import SENSORS
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.sensors import measure
from robotid_sim.model import parameters
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.friction_laws import (
    Asymmetric,
    FrictionLaw,
    LoadDependent,
    Stribeck,
    coefficients_of,
)
from robotid_sim.model.robot import Robot
from robotid_sim.parallel import map_tasks
from robotid_sim.preprocess.rts import RtsSmoother
from robotid_sim.study.build import build_basis, build_nominal, build_sensors
from robotid_sim.study.build_design import build_design
from robotid_sim.study.config import load_config
from robotid_sim.study.excitation import design
from robotid_sim.study.stages import simulate
from robotid_sim.trajectory.reference import Excitation
from robotid_sim.validation.prediction import clean_log, rms, true_rows

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

INJECTED = {
    "default": set(),
    "ideal": set(),
    "lab": {"torque-offset"},
    "industrial": {"torque-offset", "torque-scale", "torque-delay"},
    "harsh": {"torque-offset", "torque-scale", "torque-delay", "lost-samples", "torque-outliers"},
}
"""By preset: kinds of causes that it has on purpose."""


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


def robot_of(name: str) -> Robot:
    """Return a robot with friction and rotors on every joint."""
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
    for j in range(robot.dof):
        Fv, Fc, Fo, Ia = phi[parameters.joint_slice(j, robot.dof)]
        least = np.array([0.05, LEVEL, 0.0, 0.01]) * size[j]
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
    def of(cls, name: str) -> "Bench":
        """Return the bench of a robot, designed cheaply."""
        plant, config = robot_of(name), load_config(None, STUDY)
        nominal = build_nominal(plant, config)
        basis = build_basis(nominal, config)
        plan = build_design(nominal, basis, config)
        path = design(nominal, basis, plan, np.random.default_rng(0)).trajectories[0]
        return cls(plant, nominal, basis, path)

    def log(self, plant: Robot | None = None, friction: FrictionLaw | None = None) -> Log:
        """Return the log of an experiment without noise."""
        controller = ComputedTorque(self.nominal, 2500.0, 100.0)
        cell = Cell(plant=plant or self.plant, controller=controller, friction=friction)
        return clean_log(simulate(cell, self.path, np.random.default_rng(0)))

    def fitted(self, log: Log, sound: Log) -> tuple[float, Float1D]:
        """Return the model error of a fit of a log, worst joint, and the relative residuals."""
        motion = RtsSmoother()(log, self.nominal)
        problem = build_problem(motion, self.nominal, self.basis)
        estimate = WeightedLeastSquares().fit(problem, np.random.default_rng(0))
        truth = true_rows(sound, np.arange(sound.t.size) % 20 == 0)
        W = torque_regressor(self.nominal, truth.q, truth.dq, truth.ddq, self.basis.columns)
        error = float((rms(truth.tau - W @ estimate.beta) / rms(truth.tau)).max())
        return error, estimate.noise_std / rms(problem.by_joint(problem.y))

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


@dataclass(frozen=True, slots=True)
class Run:
    """One diagnosis and how it is judged."""

    robot: str
    case: str
    """Kind of the fault, or preset of a sound log."""
    seed: int
    joints: tuple[str, ...]
    """Where the fault is; empty for all."""
    growth: float
    """Model error with the fault over that without; NaN for a sound log."""
    causes: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]
    """Kind, joints and rivals of every cause that was named."""
    seconds: float

    @property
    def named(self) -> bool:
        """Whether the fault was named with its joint."""
        return any(self._right(cause) for cause in self.causes)

    @property
    def others(self) -> list[str]:
        """What else was named: of a sound log all but what its preset injects."""
        wrong = [c for c in self.causes if not self._right(c)]
        return [f"{kind} {','.join(joints)}" for kind, joints, _ in wrong]

    def _right(self, cause: tuple[str, tuple[str, ...], tuple[str, ...]]) -> bool:
        kind, joints, rivals = cause
        if self.case in INJECTED:
            return kind in INJECTED[self.case]
        place = bool(joints) and set(joints) <= set(self.joints) if self.joints else not joints
        return (kind == self.case and place) or self.case in rivals


def diagnosed(bench: Bench, log: Log, run: Run, basis: BaseParameters | None = None) -> Run:
    """Return a run with what the diagnosis of its log says."""
    began = time.perf_counter()
    result = diagnose(replace(log, truth=None), bench.nominal, basis or bench.basis)
    seconds = time.perf_counter() - began
    causes = tuple((c.kind, c.joints, c.rivals) for c in result.causes)
    return replace(run, causes=causes, seconds=seconds)


def sensed(clean: Log, preset: str, seed: int) -> Log:
    """Return what the sensors of a preset make of a clean log."""
    config = load_config(None, {} if preset == "default" else {"preset": preset})
    return measure(clean, build_sensors(config), np.random.default_rng(seed))


def edits(name: str, seeds: int, sound: int) -> list[Run]:
    """Return the runs of a robot that need no other plant: edited logs, then sound ones."""
    bench = Bench.of(name)
    clean = bench.log()
    names = bench.plant.joint_names
    runs = []
    for seed in range(seeds):
        log = sensed(clean, "default", seed)
        fitted = bench.fitted(log, clean)
        for kind in EDITS:
            for joint in np.random.default_rng((seed, len(runs))).permutation(log.dof):
                faulty = edited(kind, log, int(joint), np.random.default_rng(seed))
                growth = bench.growth(faulty, fitted, clean, kind)
                if growth >= 2.0 or kind in REPAIRED:
                    break
            else:
                continue  # no joint shows it
            where = [int(joint)]
            if kind == "torque-columns":
                where.append(neighbor(int(joint), log.dof))
            joints = () if kind in WHOLE else tuple(names[j] for j in where)
            runs.append(diagnosed(bench, faulty, Run(name, kind, seed, joints, growth, (), 0.0)))
        runs += without_rotors(bench, name, log, clean, seed)
    for preset in INJECTED:
        for seed in range(sound):
            log = sensed(clean, preset, 1000 + seed)
            runs.append(diagnosed(bench, log, Run(name, preset, seed, (), np.nan, (), 0.0)))
    return runs


def without_rotors(bench: Bench, name: str, log: Log, clean: Log, seed: int) -> list[Run]:
    """Return the run in which the model has no rotor inertia, if the motion shows one."""
    basis = base_parameters(bench.nominal, ("Fv", "Fc"))
    with_rotors = [f"Ia{j + 1}" in bench.basis.names for j in range(log.dof)]
    joints = tuple(np.array(log.joint_names)[with_rotors].tolist())
    growth = replace(bench, basis=basis).fitted(log, clean)[0] / bench.fitted(log, clean)[0]
    if growth < 2.0:
        return []
    run = Run(name, "rotor-inertia", seed, joints, growth, (), 0.0)
    return [diagnosed(bench, log, run, basis)]


def plants(name: str, kind: str, seeds: int) -> list[Run]:
    """Return the runs of a robot whose fault sits in the plant."""
    bench = Bench.of(name)
    clean = bench.log()
    sound = [bench.fitted(sensed(clean, "default", seed), clean) for seed in range(seeds)]
    for faulty, joints in worlds(bench, name, kind):
        logs = [sensed(faulty, "default", seed) for seed in range(seeds)]
        pairs = zip(logs, sound, strict=True)
        growth = [bench.growth(log, before, clean, kind) for log, before in pairs]
        if min(growth) >= 2.0:
            runs = (Run(name, kind, k, joints, growth[k], (), 0.0) for k in range(seeds))
            return [diagnosed(bench, log, run) for log, run in zip(logs, runs, strict=True)]
    return []  # no joint shows it


def worlds(bench: Bench, name: str, kind: str) -> Iterator[tuple[Log, tuple[str, ...]]]:
    """Yield clean logs of faulty plants and the joints of the fault, one joint after the other."""
    names = bench.plant.joint_names
    if kind == "gravity":
        yield bench.log(tilted(bench.plant)), ()
    elif kind == "load":
        loaded = bench.plant.with_payload(LOADS[name], (0.03, 0.05, 0.1))
        yield bench.log(loaded), names[-1:]
    else:
        for joint in np.random.default_rng(len(name)).permutation(len(names)):
            law = OneJoint(LAWS[kind], int(joint))
            yield bench.log(friction=law), (names[joint],)


def task_runs(task: tuple[str, str, int, int]) -> list[Run]:
    """Return the runs of one task: a robot, and ``edits`` or a kind of plant."""
    name, kind, seeds, sound = task
    return edits(name, seeds, sound) if kind == "edits" else plants(name, kind, seeds)


def print_faults(runs: list[Run]) -> None:
    """Print how many faults were named, by kind and robot."""
    kinds = list(dict.fromkeys(run.case for run in runs))
    print(f"{'fault':24} {'growth':>8} " + "".join(f"{name:>9}" for name in ROBOTS) + f"{'all':>9}")
    for kind in kinds:
        of_kind = [run for run in runs if run.case == kind]
        cells = [[run for run in of_kind if run.robot == name] for name in ROBOTS]
        texts = [f"{sum(r.named for r in c)}/{len(c)}" if c else "-" for c in (*cells, of_kind)]
        growth = np.median([run.growth for run in of_kind])
        print(f"{kind:24} {growth:8.1f} " + "".join(f"{text:>9}" for text in texts))
    named, alone = sum(r.named for r in runs), sum(r.named and not r.others for r in runs)
    print(f"named {named} of {len(runs)} ({named / len(runs):.1%}), alone {alone}")
    for run in runs:
        if not run.named or run.others:
            said = "; ".join(run.others) or "nothing"
            state = "not named" if not run.named else "named"
            print(f"  {run.robot} {run.case} {','.join(run.joints)} {run.seed}: {state}, {said}")


def print_sound(runs: list[Run]) -> None:
    """Print the false alarms by preset, and how often what is injected is named."""
    print(f"\n{'preset':12} {'runs':>6} {'alarms':>7} {'injected named':>15}")
    for preset in INJECTED:
        of_preset = [run for run in runs if run.case == preset]
        false = [run for run in of_preset if run.others]
        print(f"{preset:12} {len(of_preset):6} {len(false):7} {sum(r.named for r in of_preset):15}")
        for run in false:
            print(f"  {run.robot} {run.seed}: {'; '.join(run.others)}")
    false = sum(bool(run.others) for run in runs)
    print(f"false alarms {false} of {len(runs)} ({false / max(len(runs), 1):.1%})")


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5, help="seeds of every fault and robot")
    parser.add_argument("--sound", type=int, default=20, help="seeds of every preset and robot")
    parser.add_argument("--robots", nargs="+", default=list(ROBOTS), choices=ROBOTS)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    kinds = ("edits", *LAWS, "gravity", "load")
    tasks = [(n, k, options.seeds, options.sound) for n in options.robots for k in kinds]
    parts = map_tasks(
        task_runs,
        tasks,
        options.workers,
        lambda share: print(f"{share:.0%}", end=" ", file=sys.stderr, flush=True),
    )
    runs = [run for part in parts for run in part]
    print_faults([run for run in runs if run.case not in INJECTED])
    print_sound([run for run in runs if run.case in INJECTED])
    seconds = [run.seconds for run in runs]
    print(f"{np.mean(seconds):.2f} s a diagnosis, at most {max(seconds):.1f} s")


if __name__ == "__main__":
    main()
