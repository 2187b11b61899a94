"""Damages of a log that are common in practice, and what `diagnose` and `identify` say of them.

Prints a line a damage: whether it is named with its joint, what else is named, whether the fit is
doubted, and how long the diagnosis took. What is said of the undamaged log comes first; it stands
as ``same`` among what else is named.

Run as ``python bench/damages.py irb140 log.h5 [--joint 3] [--only swapped] [--no-fit]``; ROBOT is a
catalog name or a URDF, for a machine's log the nominal model.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from robotid_sim.diagnostics.contradictions import contradictions
from robotid_sim.diagnostics.diagnosis import diagnose
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.measurement.files import load_log
from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build_robot import build_basis, build_nominal_of_log, build_robot
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.fit_plan import build_fit
from robotid_sim.pipeline.stages import fit_logs

MOTOR_SIDE = 100.0
"""Gear ratio that torques of the motor side lack."""

LATE = 0.1
"""Delay of the torques [s]."""

CLOCK_RATE = 0.98
"""Rate of a clock that runs slow."""

SHARE = 0.4
"""Share of another joint's torque in that of a coupled one."""


@dataclass(frozen=True, slots=True)
class Damage:
    """One way to spoil a log, and the cause that is to be named."""

    name: str
    kind: str
    joints: tuple[int, ...]
    """Empty for all."""
    change: Callable[[Log], Log]


def damages(dof: int, joint: int, swapped: tuple[int, int]) -> list[Damage]:
    """Return the damages; those of one joint hit `joint`, the last two those `swapped`."""
    j, pair = joint, swapped
    flip = np.where(np.arange(dof) == j, -1.0, 1.0)
    motor = np.where(np.arange(dof) == j, 1.0 / MOTOR_SIDE, 1.0)
    order = np.arange(dof)
    order[list(pair)] = pair[::-1]
    last, before = dof - 1, dof - 2
    mixed = np.eye(dof)
    mixed[last, before] = SHARE
    return [
        Damage("degrees", "position-units", (), lambda log: moved(log, np.pi / 180.0)),
        Damage("torque sign", "torque-sign", (j,), lambda log: torques(log, np.diag(flip))),
        Damage("position sign", "position-sign", (j,), lambda log: moved(log, flip)),
        Damage("all torque signs", "torque-sign", (), lambda log: torques(log, -np.eye(dof))),
        Damage(
            "torques swapped", "torque-columns", pair, lambda log: torques(log, np.eye(dof)[order])
        ),
        Damage("positions swapped", "position-columns", pair, lambda log: reordered(log, order)),
        Damage("N mm", "torque-scale", (), lambda log: torques(log, 1e3 * np.eye(dof))),
        Damage("motor side", "torque-scale", (j,), lambda log: torques(log, np.diag(motor))),
        Damage(
            "all motor side", "torque-scale", (), lambda log: torques(log, np.eye(dof) / MOTOR_SIDE)
        ),
        Damage("zero", "position-zero", (j,), lambda log: shifted(log, j, 0.5 * np.pi)),
        Damage("late", "torque-delay", (), lambda log: late(log, LATE)),
        Damage("clock", "clock-rate", (), lambda log: replace(log, t=CLOCK_RATE * log.t)),
        Damage("coupled", "coupled-joints", (before, last), lambda log: torques(log, mixed)),
    ]


def moved(log: Log, factor: np.ndarray | float) -> Log:
    """Return the log with positions and velocities divided by a factor, of every joint or all."""
    return replace(log, q=log.q / factor, dq=None if log.dq is None else log.dq / factor)


def reordered(log: Log, order: np.ndarray) -> Log:
    """Return the log with positions and velocities in other columns."""
    return replace(log, q=log.q[:, order], dq=None if log.dq is None else log.dq[:, order])


def shifted(log: Log, joint: int, angle: float) -> Log:
    """Return the log with another zero of a joint [rad]."""
    return replace(log, q=log.q + angle * (np.arange(log.dof) == joint))


def torques(log: Log, matrix: np.ndarray) -> Log:
    """Return the log with torques that are multiplied by a matrix, (n, n), from the right."""
    command = None if log.tau_cmd is None else log.tau_cmd @ matrix
    return replace(log, tau_meas=log.tau_meas @ matrix, tau_cmd=command)


def late(log: Log, delay: float) -> Log:
    """Return the log with torques that were recorded late [s]; the first ones are left out."""
    by = round(delay / log.dt)
    command = None if log.tau_cmd is None else log.tau_cmd[:-by]
    velocity = None if log.dq is None else log.dq[by:]
    return replace(
        log, t=log.t[by:], q=log.q[by:], tau_meas=log.tau_meas[:-by], tau_cmd=command, dq=velocity
    )


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A robot with a log and what a study makes of it."""

    nominal: Robot
    basis: BaseParameters
    log: Log

    def causes(self, log: Log) -> list[tuple[str, tuple[int, ...]]]:
        """Return kinds and joints of the causes that a diagnosis names."""
        names = self.nominal.joint_names
        result = diagnose(log, self.nominal, self.basis)
        return [(c.kind, tuple(names.index(name) for name in c.joints)) for c in result.causes]

    def doubted(self, log: Log) -> bool:
        """Return whether the command ``identify`` refuses a log, or its fit is in doubt."""
        if any(contradictions(log, self.nominal, self.basis)):
            return True
        plan = build_fit(load_config(None))
        fit = fit_logs(log, self.nominal, self.basis, plan, np.random.default_rng(0))
        return bool(fit.warning) or not fit.chosen.success


def print_damage(subject: Subject, damage: Damage, sound: list, *, fit: bool) -> None:
    """Print what is said of a damaged log."""
    log = damage.change(subject.log)
    began = time.perf_counter()
    causes = subject.causes(log)
    seconds = time.perf_counter() - began
    right = (damage.kind, damage.joints)
    named = "named" if right in causes else "NOT"
    others = [text(cause) for cause in causes if cause not in (right, *sound)]
    others += ["same"] * any(cause in sound for cause in causes)
    code = "-" if not fit else str(int(subject.doubted(log)))
    wanted = text(right)
    print(f"{damage.name:18} {wanted:24} {named:6} {code:>4} {seconds:6.1f}  {'; '.join(others)}")


def text(cause: tuple[str, tuple[int, ...]]) -> str:
    """Return a cause with the numbers of its joints, from 1."""
    kind, joints = cause
    return f"{kind} {','.join(str(j + 1) for j in joints) or 'all'}"


def main() -> None:
    """Print the table of a log."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("robot")
    parser.add_argument("log")
    parser.add_argument("--joint", type=int, default=3, help="of damages of one joint, from 1")
    parser.add_argument("--pair", type=int, nargs=2, default=(2, 3), help="that are swapped")
    parser.add_argument("--only", nargs="*", help="damages with one of these texts in their name")
    parser.add_argument("--no-fit", action="store_true", help="diagnose only")
    args = parser.parse_args()
    config = load_config(None)
    robot, log = build_robot(args.robot, config.robot), replace(load_log(args.log), truth=None)
    nominal = build_nominal_of_log(robot, log, config)
    subject = Subject(nominal, build_basis(nominal, config), log)
    print(f"{'damage':18} {'cause':24} {'':6} {'exit':>4} {'[s]':>6}  also named")
    began = time.perf_counter()
    sound = subject.causes(log)
    seconds = time.perf_counter() - began
    code = "-" if args.no_fit else str(int(subject.doubted(log)))
    print(f"{'none':43} {'':6} {code:>4} {seconds:6.1f}  {'; '.join(map(text, sound))}")
    first, second = args.pair
    for damage in damages(log.dof, args.joint - 1, (first - 1, second - 1)):
        if not args.only or any(part in damage.name for part in args.only):
            print_damage(subject, damage, sound, fit=not args.no_fit)


if __name__ == "__main__":
    main()
