"""What a poor log tells: 30 Hz, positions to 2e-4 rad, torques to 0.3 N m, in both engines.

A virtual robot runs a designed motion; it is identified from the log and from a nominal model that
is wrong by some 20 %. Everything that the result claims must hold: base parameters are within their
95 % intervals, and where an interval promises 1 % of a mass or moment, 3 % of a friction, 1 mm of a
center of mass or better, the error is within twice that. What is promised less is counted as open.

Columns: base parameters within their intervals; of masses, centers of mass and inertia of links how
many are not identifiable alone, and how many of the others are within their intervals; promises
that are kept; names of those that are broken; CPU seconds.

Run as ``python bench/gate.py [--seeds 2]``. Exits with 1 if less than 90 % are within intervals, or
a promise is broken.
"""

import argparse
import sys
import time
from collections.abc import Iterator

import numpy as np
from interval_coverage import robot_of

from robotid_sim.engine.engines import ENGINES
from robotid_sim.estimation.body_intervals import NORMAL_QUANTILE, estimate_bodies
from robotid_sim.measurement.log import Log
from robotid_sim.pipeline.build import Setup, build_setup
from robotid_sim.pipeline.config import StudyConfig, load_config
from robotid_sim.pipeline.excitation import design_excitation
from robotid_sim.pipeline.identification import Identification
from robotid_sim.pipeline.identify import identify
from robotid_sim.pipeline.simulate import clean_run, measure_clean_log

ROBOTS = ("irb140", "ur10", "rs010n")

RATE, EVERY = 990.0, 33
"""Rate of the loop [Hz], and the samples of it of which the log has one: 30 Hz."""

SENSORS = {
    "encoder-noise": {"revolute": 2e-4, "prismatic": 2e-5},
    "torque-noise": {"relative": 0.0, "absolute": 0.3},
}

PROMISES = {"F": 0.03, "m": 0.01, "I": 0.01, "center of mass": 1e-3, "mass": 0.01, "inertia": 0.01}
"""Half an interval that is a promise, by how a name begins: over the value, or [m] of a center."""

MIN_COVERED = 0.9


def poor_log(setup: Setup, seed: int) -> Log:
    """Run the designed motion; record a few samples of it."""
    stream = setup.streams("design")
    path = design_excitation(setup.nominal, setup.basis, setup.excitation, stream).trajectories[0]
    clean = clean_run(setup.cell, path).cut(slice(None, None, EVERY))
    return measure_clean_log(setup.cell, clean, np.random.default_rng(seed))


def claims(setup: Setup, fit: Identification) -> Iterator[tuple[str, float, float, float]]:
    """Yield names, values, halves of 95 % intervals and true values of what is identifiable."""
    intervals, plant = fit.intervals(), setup.cell.plant
    assert intervals is not None
    true = fit.basis.project(plant.parameters())
    halves = 0.5 * (intervals.upper - intervals.lower)
    yield from zip(intervals.names, intervals.values, halves, true, strict=True)
    truths = estimate_bodies(fit.chosen, plant, plant, fit.basis, intervals.std)
    for of, truth in zip(fit.bodies(), truths, strict=True):
        if of.identifiable:
            yield f"{of.name}, {of.link}", of.value, NORMAL_QUANTILE * of.std, truth.nominal


def main() -> int:
    """Print the table and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    seeds, passed = range(parser.parse_args().seeds), True
    print("robot    engine    within  open  bodies  promises  CPU  broken")
    for name in ROBOTS:
        for engine in ENGINES:
            began, broken, promises = time.process_time(), list[str](), 0
            within, bodies, left_open, count = list[bool](), list[bool](), 0, 0
            for seed in seeds:
                config = load_config(
                    None,
                    {"seed": seed, "sensors": SENSORS, "control": {"enabled": False}}
                    | {"experiment": {"rate": RATE, "engine": engine}},
                )
                setup = build_setup(robot_of(name), StudyConfig.quick(config))
                fit = identify(poor_log(setup, seed), setup.nominal, basis=setup.basis)
                rank, total = fit.basis.rank, len(fit.bodies())
                for k, (what, value, half, true) in enumerate(claims(setup, fit)):
                    (within if k < rank else bodies).append(abs(value - true) <= half)
                    limit = next(x for start, x in PROMISES.items() if what.startswith(start))
                    size = 1.0 if what.startswith("center") else abs(value)
                    if half <= limit * size:
                        promises += 1
                        if abs(value - true) > 2.0 * limit * size:
                            broken.append(f"{what} {value:.4g}, true {true:.4g}")
                left_open += total - (k + 1 - rank)
                count += total
            share = np.mean(within)
            passed &= bool(share >= MIN_COVERED and not broken)
            inside = f"{sum(bodies)}/{len(bodies)}"
            print(
                f"{name:8} {engine:9} {share:5.1%}  {left_open}/{count}  {inside:>6} {promises:8d}"
                f" {time.process_time() - began:5.0f}  {'; '.join(broken) or '-'}",
                flush=True,
            )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
