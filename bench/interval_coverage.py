"""Whether error bars hold: coverage of 95 % intervals and errors over the bound, by condition.

The default chain on engine data of irb140 and of two robots outside the catalog (KUKA iiwa and
UR10, whose files have neither friction nor rotors: both are assumed here), for the default sensors,
ten times the encoder noise, a torque delay, a plant with Stribeck friction that the model does not
have, the preset ``industrial`` with its gain errors stated, and 2 and 5 periods. One run
in the engine per row; what the sensors draw is drawn anew for every seed.

Columns: error of weighted least squares over the Cramér-Rao deviation of white torque noise of 1 %
and exact motion, RMS over seeds, median and worst parameter; the share of 95 % intervals that hold
the true value, with unmodeled torque allowed for and (plain) without; seconds of one
identification; how many seeds had something lacking.

Run as ``python bench/interval_coverage.py [seeds [robot [condition]]]``; 100 seeds take two hours
on two cores, a condition of one robot six minutes.
"""

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import files
from pathlib import Path
from typing import Any

import numpy as np
import pybullet_data
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from robotid_sim.arrays import Float1D, rms
from robotid_sim.diagnostics.intervals import confidence_intervals
from robotid_sim.estimation.discrepancy import weigh_discrepancy
from robotid_sim.estimation.discrepancy_search import find_discrepancy
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import build_problem
from robotid_sim.estimation.reduction import cramer_rao
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.sensors import measure
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build import Setup, build_setup
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.excitation import design_excitation
from robotid_sim.pipeline.simulate import clean_run
from robotid_sim.validation.prediction import exact_problem

NOISE = 0.01
"""Torque noise of the bound, over the RMS torque."""

Drives = tuple[tuple[float, ...], tuple[float, ...]]

IIWA: Drives = ((3.0, 3.0, 2.0, 2.0, 1.0, 1.0, 0.5), (0.3, 0.3, 0.2, 0.2, 0.1, 0.1, 0.03))
"""Coulomb friction [N m] and reflected rotor inertia [kg m^2], assumed."""
UR10: Drives = ((12.0, 12.0, 8.0, 3.0, 2.0, 1.5), (0.4, 0.4, 0.3, 0.1, 0.1, 0.05))
VISCOUS = 1.2
"""Viscous over Coulomb friction [s/rad], assumed."""

DEFAULT = {"encoder-noise": {}, "torque-noise": {}}
CONDITIONS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "1e-3 rad": {"sensors": {**DEFAULT, "encoder-noise": {"revolute": 1e-3}}},
    "delay 2 ms": {"sensors": {**DEFAULT, "torque-delay": {"delay": 2e-3}}},
    "stribeck": {"experiment": {"friction": {"law": "stribeck"}}},
    "industrial": {"preset": "industrial", "estimation": {"drive_gain_std": 0.02}},
    "2 periods": {"design": {"periods": 2}},
    "5 periods": {"design": {"periods": 5}},
}


def geared(path: Path, drives: Drives) -> Robot:
    """Return the robot of a file with friction and rotors."""
    names = Robot.from_urdf(path).joint_names
    joints = {
        name: {"Fc": Fc, "Fv": VISCOUS * Fc, "Ia": Ia}
        for name, Fc, Ia in zip(names, *drives, strict=True)
    }
    return Robot.from_urdf(path, joints=joints)


def robot_of(name: str) -> Robot:
    """Return a robot of the table."""
    if name == "iiwa":
        return geared(Path(pybullet_data.getDataPath()) / "kuka_iiwa" / "model.urdf", IIWA)
    if name == "ur10":
        listed = files("example-robot-data") or ()
        (entry,) = (f for f in listed if str(f).endswith("/urdf/ur10_robot.urdf"))
        return geared(Path(str(entry.locate())), UR10)
    return load_robot(name)


@dataclass(frozen=True)
class Trial:
    """One log: errors over the bound, what the intervals hold, seconds, joints that lack a term."""

    error: Float1D
    plain: np.ndarray
    covered: np.ndarray
    seconds: float
    lacks: int


def engine_run(setup: Setup) -> Log:
    """Return the noise-free log of the designed excitation."""
    trajectory = design_excitation(
        setup.nominal, setup.basis, setup.excitation, setup.streams("design")
    ).trajectories[0]
    return clean_run(setup.cell, trajectory)


def trial(setup: Setup, clean: Log, std: Float1D, seed: int) -> Trial:
    """Measure a run and identify from the log."""
    with threadpool_limits(1):
        log = measure(clean, setup.cell.sensors, np.random.default_rng(1000 + seed))
        true = setup.basis.project(setup.cell.plant.parameters())
        began, wls = time.perf_counter(), WeightedLeastSquares()
        motion = setup.fit.preprocessor(log, setup.nominal)
        plain = build_problem(motion, setup.nominal, setup.basis)
        found = find_discrepancy(plain, motion, setup.nominal, gain_std=setup.fit.drive_gain_std)
        problem = weigh_discrepancy(plain, found)
        estimate = wls.fit(problem, np.random.default_rng(0))
        seconds = time.perf_counter() - began
        before = confidence_intervals(plain, wls.fit(plain, np.random.default_rng(0)))
        after = confidence_intervals(problem, estimate)
        error = (estimate.beta - true) / std
        return Trial(error, before.covers(true), after.covers(true), seconds, len(found.unmodeled))


def row(name: str, condition: str, seeds: int) -> list[Trial]:
    """Print a row of the table and return its trials."""
    changes = {"control": {"enabled": False}, **CONDITIONS[condition]}
    setup = build_setup(robot_of(name), StudyConfig.model_validate(changes))
    clean = engine_run(setup)
    noise = NOISE * rms(clean.tau_meas[clean.t >= 0.0])
    exact = exact_problem(clean, setup.nominal, setup.basis, 0.0)
    std = np.sqrt(np.diag(cramer_rao(exact, noise)))
    jobs = (delayed(trial)(setup, clean, std, seed) for seed in range(seeds))
    trials: list[Trial] = Parallel(n_jobs=2)(jobs)
    error = rms(np.array([t.error for t in trials]))
    print(
        f"{name:8} {condition:11} {np.median(error):7.2f} {error.max():8.2f} "
        f"{np.mean([t.covered for t in trials]):9.1%} {np.mean([t.plain for t in trials]):7.1%} "
        f"{np.mean([t.seconds for t in trials]):7.2f} {sum(t.lacks > 0 for t in trials):6}",
        flush=True,
    )
    return trials


def main() -> None:
    """Print the table."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    robots = sys.argv[2:3] or ["irb140", "iiwa", "ur10"]
    conditions = sys.argv[3:4] or list(CONDITIONS)
    print(f"{seeds} seeds a row")
    print(
        f"{'robot':8} {'condition':11} {'error':>7} {'worst':>8} {'coverage':>9} {'plain':>7} "
        f"{'seconds':>7} {'lacks':>6}"
    )
    trials = [t for c in conditions for name in robots for t in row(name, c, seeds)]
    pooled = np.mean(np.concatenate([t.covered for t in trials]))
    print(f"pooled coverage {pooled:.1%}")


if __name__ == "__main__":
    main()
