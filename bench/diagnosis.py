"""Causes named by the diagnosis, and false alarms, over robots, faults, presets and seeds.

Faults are those of `faults`. A fault is `named` if its kind is, or a rival that is said to explain
the log as well, with the right joint; `alone` if nothing else is. Sound logs come from all presets
of sensors; what a preset injects on purpose, such as an offset or a delay, is no false alarm if it
is called by its name.

Run as ``python bench/diagnosis.py [--seeds 5] [--sound 20] [--workers N]
[--keep FILE]``; with a file it goes on where it was ended.
"""

import argparse
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from faults import PLANTS, ROBOTS, Bench, Fault, edited_logs, plant_logs, sensed
from kept import map_kept

from robotid_sim.diagnostics.diagnosis import diagnose
from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.measurement.log import Log

INJECTED = {
    "default": set(),
    "ideal": set(),
    "lab": {"torque-offset"},
    "industrial": {"torque-offset", "torque-scale", "torque-delay"},
    "harsh": {"torque-offset", "torque-scale", "torque-delay", "lost-samples", "torque-outliers"},
}
"""By preset: kinds of causes that it has on purpose."""


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


def of_fault(bench: Bench, name: str, seed: int, fault: Fault) -> Run:
    """Return the diagnosis of a faulty log."""
    run = Run(name, fault.kind, seed, fault.joints, fault.growth, (), 0.0)
    return diagnosed(bench, fault.log, run)


def edits(name: str, seeds: int, sound: int) -> list[Run]:
    """Return the runs of a robot that need no other plant: edited logs, then sound ones."""
    bench = Bench.of(name)
    clean = bench.log()
    runs = []
    for seed in range(seeds):
        runs += [of_fault(bench, name, seed, fault) for fault in edited_logs(bench, clean, seed)]
        runs += without_rotors(bench, name, sensed(clean, "default", seed), clean, seed)
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
    bench = Bench.of(name, kind)
    faults = plant_logs(bench, name, kind, seeds)
    return [of_fault(bench, name, seed, fault) for seed, fault in enumerate(faults)]


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
    parser.add_argument("--keep", type=Path, help="file of the runs, read and added to")
    options = parser.parse_args()
    kinds = ("edits", *PLANTS)
    tasks = [(n, k, options.seeds, options.sound) for n in options.robots for k in kinds]
    parts = map_kept(task_runs, tasks, options.keep, list[Run], options.workers)
    runs = [run for part in parts for run in part]
    print_faults([run for run in runs if run.case not in INJECTED])
    print_sound([run for run in runs if run.case in INJECTED])
    seconds = [run.seconds for run in runs]
    print(f"{np.mean(seconds):.2f} s a diagnosis, at most {max(seconds):.1f} s")


if __name__ == "__main__":
    main()
