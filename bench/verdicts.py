"""Verdicts of quick studies: how many honest ones fail, and how many with a fault do not.

Honest studies are whole: design, experiment, identification, closed loop, of five robots over many
seeds. Faults are those of `faults`; they count where they at least double the model error of the
default chain, which mends some. The truth that a verdict sees is that of the sound robot, and there
is no closed loop.

Run as ``python bench/verdicts.py [--seeds 200] [--faults 2] [--workers N] [--keep FILE]``; with a
file it goes on where it was ended. 200 seeds take six hours of one core.
"""

import argparse
import logging
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
from faults import PLANTS, ROBOTS, STUDY, Bench, edited_logs, plant_logs, sensed
from kept import map_kept

from robotid_sim.measurement.log import Log
from robotid_sim.model.mesh_files import MeshMode
from robotid_sim.pipeline.assess import assess
from robotid_sim.pipeline.build import Setup, build_setup
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.identification import IDENTIFIED
from robotid_sim.pipeline.scoring import score_estimates
from robotid_sim.pipeline.simulate import run_experiment
from robotid_sim.pipeline.stages import fit_logs
from robotid_sim.pipeline.study import run_study
from robotid_sim.pipeline.verdict import verdict

DATA = Path(__file__).parents[1] / "tests" / "data"
PACKAGED = "cmeel.prefix/share/example-robot-data/robots"

HONEST = {
    "twolink": "twolink",
    "irb140": "irb140",
    "ur10": f"{PACKAGED}/ur_description/urdf/ur10_robot.urdf",
    "so100": f"{PACKAGED}/so_arm_description/urdf/so100.urdf",
    "scara": str(DATA / "scara.urdf"),
}
"""Two of the catalog, an arm of 5 kg at the wrist, one of 50 g, one with a prismatic joint."""

DOUBLED = 2.0
"""Growth of the model error from which a verdict must fail."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One verdict."""

    robot: str
    case: str
    """``honest`` or the kind of the fault."""
    seed: int
    failed: tuple[str, ...]
    """Checks that failed, with what they say."""
    error: float
    """Model error on the unseen motion, share of the RMS torque."""
    growth: float = np.inf
    """Model error over that without the fault."""

    @property
    def counts(self) -> bool:
        """Whether it should be what its case says: a fault that does no harm may pass."""
        return self.case == "honest" or self.growth >= DOUBLED


def outcome(robot: str, case: str, seed: int, checks: Sequence) -> Outcome:
    """Return the outcome that checks make."""
    failed = tuple(f"{c.name} {c.value} {c.message}".strip() for c in checks if not c.passed)
    error = next(c.value for c in checks if c.name == "model_predicts_validation_motion")
    return Outcome(robot, case, seed, failed, np.inf if error is None else error)


def honest(name: str, seed: int) -> Outcome:
    """Return the verdict of a quick study of a robot."""
    robot = HONEST[name]
    if robot.startswith(PACKAGED):
        robot = str(distribution("example-robot-data").locate_file(robot))
    setup = build_setup(robot, load_config(None, {"seed": seed}).quick())
    with tempfile.TemporaryDirectory() as folder:
        result = run_study(setup, Path(folder)).result
    return outcome(name, "honest", seed, result.verdict.checks)


def on_log(name: str, setup: Setup, logs: tuple[Log, Log], log: Log, seed: int) -> Outcome:
    """Return the verdict on a log; `logs` are the sound one and an unseen one."""
    log = replace(log, truth=None)
    rng = np.random.default_rng(seed)
    fit = fit_logs(log, setup.nominal, setup.basis, setup.fit, rng)
    with tempfile.TemporaryDirectory() as folder:
        fit.write(folder, meshes=MeshMode.KEEP)
        written = None if fit.consistent_robot is None else Path(folder) / IDENTIFIED
        estimates = score_estimates(setup.cell.plant, logs[1], fit)
        (causes,) = assess(fit, log).diagnoses
        judged = verdict(setup, *logs, fit, causes, estimates, written, None, ())
    return outcome(name, "sound", seed, judged.checks)


def faulty(name: str, kind: str, seeds: int) -> list[Outcome]:
    """Return the verdicts on the faults of a robot: the edits of logs, or a kind of plant."""
    bench = Bench.of(name, kind)
    config = load_config(None, {**STUDY, "preset": None})
    setup = replace(build_setup(bench.plant, config), comparison=None)
    unseen = run_experiment(setup.cell, setup.unseen, np.random.default_rng(0))
    clean = bench.log()
    if kind == "edits":
        found = [(seed, f) for seed in range(seeds) for f in edited_logs(bench, clean, seed)]
    else:
        found = list(enumerate(plant_logs(bench, name, kind, seeds)))
    logs = [(sensed(clean, "default", seed), unseen) for seed in range(seeds)]
    sound = [on_log(name, setup, pair, pair[0], seed) for seed, pair in enumerate(logs)]
    outcomes = []
    for seed, fault in found:
        one = on_log(name, setup, logs[seed], fault.log, seed)
        growth = one.error / sound[seed].error
        outcomes.append(replace(one, case=fault.kind, growth=growth))
    return outcomes


def of_task(task: tuple[str, str, int]) -> list[Outcome]:
    """Return the outcomes of one task: a robot, ``honest`` or what is wrong, seed or seeds."""
    name, kind, number = task
    logging.disable(logging.WARNING)
    return [honest(name, number)] if kind == "honest" else faulty(name, kind, number)


def print_table(outcomes: list[Outcome], *, honest: bool) -> None:
    """Print how many verdicts are not what they should be, by robot or by fault, and which."""
    harmless = [o for o in outcomes if not o.counts]
    outcomes = [o for o in outcomes if o.counts]
    for key in dict.fromkeys(o.robot if honest else o.case for o in outcomes):
        mine = [o for o in outcomes if key in (o.robot, o.case)]
        failed = sum(bool(o.failed) for o in mine)
        print(f"{key:26}{failed:5} of {len(mine)} FAILED")
    failed = sum(bool(o.failed) for o in outcomes)
    print(f"{'all':26}{failed:5} of {len(outcomes)} FAILED ({failed / max(len(outcomes), 1):.2%})")
    by_check = Counter(text.split()[0] for o in outcomes for text in o.failed)
    print("  " + ", ".join(f"{name} {count}" for name, count in by_check.most_common()))
    for o in outcomes:
        if bool(o.failed) == honest:
            print(f"  {o.robot} {o.case} {o.seed}: {'; '.join(o.failed) or 'PASSED'}")
    if harmless:
        kinds = Counter(o.case for o in harmless)
        said = ", ".join(f"{kind} {count}" for kind, count in kinds.items())
        print(f"not counted, for the model error is less than {DOUBLED:g} times as large: {said}")


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200, help="honest studies of a robot")
    parser.add_argument("--faults", type=int, default=2, help="seeds of every fault and robot")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="file of the outcomes, read and added to")
    options = parser.parse_args()
    tasks = [(name, "honest", seed) for seed in range(options.seeds) for name in HONEST]
    if options.faults:
        tasks += [(n, k, options.faults) for n in ROBOTS for k in ("edits", *PLANTS)]
    parts = map_kept(of_task, tasks, options.keep, list[Outcome], options.workers)
    outcomes = [one for part in parts for one in part]
    for sound in (True, False):
        if mine := [o for o in outcomes if (o.case == "honest") == sound]:
            print_table(mine, honest=sound)


if __name__ == "__main__":
    main()
