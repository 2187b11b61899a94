"""Closed-loop comparison of irb140: 30 runs x 3 models x 2 scenarios of the 30 s circle.

Models are the true, the nominal and one that is .1 % wrong; scenarios are the undisturbed one with
noisy encoders in the loop, so that every run differs, and the sinusoidal disturbance. The second
table has the controllers side by side, true model, on the fast circle.

Run as ``python bench/closed_loop.py [RUNS]``.
"""

import os
import sys
import time

import numpy as np
from threadpoolctl import threadpool_limits

from robotid_sim.control import CONTROLLERS
from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.experiment.conditions import SensorFeedback, SinusoidalTorque
from robotid_sim.experiment.rollout import Cell
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.perturb import perturb
from robotid_sim.tasks.task import Circle
from robotid_sim.validation.closed_loop import ClosedLoop, run_closed_loops
from robotid_sim.validation.comparison import Comparison, rms_of_unit, summarize

TARGET = 360.0  # [s]


def compare(plan: Comparison) -> tuple[ClosedLoop, float]:
    """Return the comparison of a plan and the seconds it took."""
    plant = load_robot("irb140")
    nominal = perturb(plant, np.random.default_rng(1000))
    identified = perturb(plant, np.random.default_rng(2000), scale=1e-3)
    began = time.perf_counter()
    loop = run_closed_loops(
        Cell(plant=plant, controller=ComputedTorque(nominal)),
        nominal,
        {"identified": identified},
        np.random.default_rng(0),
        plan,
        workers=os.cpu_count() or 1,
    )
    return loop, time.perf_counter() - began


def show(loop: ClosedLoop) -> None:
    """Print a row for every case."""
    units = ("rad",) * 6
    quantities = {
        "rms": rms_of_unit(units, "rad"),
        "bound": lambda run: float((run.max_error / run.error_bound).max()),
        "chatter": lambda run: float(run.chattering_index.max()),
        "rate": lambda run: float(np.linalg.norm(run.torque_variation)),
    }
    lead = f"{'task':12} {'scenario':12} {'controller':22} {'model':10} runs  "
    print(lead + "RMS error [mrad]     largest/bound  chattering  torque rate [N m/s]")
    for row in summarize(loop.runs, quantities):
        case, v = row.case, row.values
        rms, half = 1e3 * v["rms"].mean, 1e3 * v["rms"].half_width
        print(
            f"{case.task:12} {case.scenario:12} {case.controller:22} {case.model:10} {row.runs:4}  "
            f"{rms:8.4f} +- {half:.4f}  {v['bound'].mean:13.3f}  {v['chatter'].mean:10.4f}  "
            f"{v['rate'].mean:10.1f}"
        )


def main() -> None:
    """Run both comparisons, print times and tables."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    circle = {"circle": Circle()}
    scenarios = {"feedback": (SensorFeedback(),), "sinusoidal": (SinusoidalTorque(),)}
    plan = Comparison(baselines={}, tasks=circle, scenarios=scenarios, runs=runs, slow_lap=30.0)
    loop, seconds = compare(plan)
    slow = [run for run in loop.runs if run.task == "circle-slow"]
    print(f"{len(loop.runs)} loops, {len(slow)} of 30 s, {os.cpu_count()} cores: {seconds:.0f} s")
    print(f"(target for the 30 s circle alone: {TARGET:g} s)")
    show(loop)
    print()
    laws = {name: law.from_gains for name, law in CONTROLLERS.items()}
    every = Comparison(controllers=laws, baselines={}, tasks=circle, slow_lap=None)
    loop, seconds = compare(every)
    print(f"all controllers, {seconds:.0f} s")
    show(loop)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
