"""Sliding-mode loop of irb140: 30 s at 1 kHz with 4 sub-steps in the engine, on one core.

The share of the engine is the time inside PyBullet's API calls, our kernels' the time that forms
the torque of every sub-step, the controller's that of the control law; each is measured by wrapping
the calls in a second run, whose own overhead is in the last row.

Run as ``python bench/loop.py``.
"""

import os
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pybullet
from threadpoolctl import threadpool_limits

from robotid_sim.control.gains import LoopGains
from robotid_sim.control.sliding_mode import SlidingMode
from robotid_sim.dynamics import kernels
from robotid_sim.engine.plant import Plant
from robotid_sim.experiment.rollout import rollout
from robotid_sim.model.catalog import load_robot
from robotid_sim.tasks.path import Lap, tracking_path

SECONDS = 30.0
RATE = 1000.0
SUBSTEPS = 4
REPEATS = 3
TARGET = 4.0  # [s]
CALLS = ("setJointMotorControlArray", "stepSimulation", "getJointStates")


class Clock:
    """Time and number of the calls of functions."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.calls = 0

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with its time counted here."""

        def timed(*args: Any, **options: Any) -> Any:
            began = time.perf_counter()
            result = function(*args, **options)
            self.seconds += time.perf_counter() - began
            self.calls += 1
            return result

        return timed


class TimedMode(SlidingMode):
    """The controller with its time counted."""

    clock = Clock()

    def __call__(self, *args: Any) -> Any:
        """Return the torque."""
        return self.clock.wrap(super().__call__)(*args)


def main() -> None:
    """Run the loop, print times."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    robot = load_robot("irb140")
    lap = Lap(tracking_path(robot), SECONDS)
    path = lap(np.arange(0.0, SECONDS, 1e-2))
    gains = LoopGains.from_specification(robot, path, rate=RATE)

    def run(controller: SlidingMode, duration: float = SECONDS) -> float:
        with Plant(robot, dt=1.0 / RATE, substeps=SUBSTEPS) as plant:
            began = time.perf_counter()
            rollout(plant, controller, Lap(lap.path, duration))
            return time.perf_counter() - began

    run(SlidingMode(robot, gains), 3.0)  # compiles
    times = [run(SlidingMode(robot, gains)) for _ in range(REPEATS)]
    calls, torques = Clock(), Clock()
    TimedMode.clock = Clock()
    with (
        mock.patch.multiple(
            pybullet, **{name: calls.wrap(getattr(pybullet, name)) for name in CALLS}
        ),
        mock.patch.object(kernels, "plant_step", torques.wrap(kernels.plant_step)),
    ):
        whole = run(TimedMode(robot, gains))
    steps = round(SECONDS * RATE)
    print(f"{robot.name}: {SECONDS:g} s of loop at {RATE:g} Hz, {SUBSTEPS} sub-steps, one core")
    print(f"wall time, best of {REPEATS}: {min(times):.2f} s (target {TARGET:g} s)")
    print(f"{'part':28} {'s':>6} {'share':>6} {'us/call':>8} {'calls':>8}")
    parts = {
        "engine (PyBullet's API)": calls,
        "torque of the sub-steps": torques,
        "controller": TimedMode.clock,
    }
    for name, clock in parts.items():
        each = 1e6 * clock.seconds / max(clock.calls, 1)
        share = clock.seconds / whole
        print(f"{name:28} {clock.seconds:6.2f} {share:6.1%} {each:8.2f} {clock.calls:8}")
    rest = whole - sum(clock.seconds for clock in parts.values())
    print(f"{'loop, record, clocks':28} {rest:6.2f} {rest / whole:6.1%}")
    ours = (rest + parts["controller"].seconds) / whole
    print(f"our own Python, beside engine and compiled torque: {ours:.1%}, clocks included")
    print(
        f"{1e6 * min(times) / steps:.1f} us per control step, {SECONDS / min(times):.1f}x real time"
    )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
