"""Sliding-mode loop of irb140: 30 s at 1 kHz with 4 sub-steps in the engine, on one core.

The sub-steps of a control step are one compiled call: our kernels form the torque of every sub-
step, PyBullet's C interface takes it. Its time is measured by wrapping the call in a second run,
and so is that of the control law; the engine's share of it is the time of as many of its steps
alone, whose state is read each time.

Run as ``python bench/loop.py``.
"""

import os
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import numba
import numpy as np
from threadpoolctl import threadpool_limits

from robotid_sim.arrays import Float1D
from robotid_sim.control.gains import LoopGains
from robotid_sim.control.sliding_mode import SlidingMode
from robotid_sim.engine import compiled_loop
from robotid_sim.engine.bullet import PyBulletBodies
from robotid_sim.engine.plant import Plant
from robotid_sim.experiment.rollout import rollout
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.robot import Robot
from robotid_sim.tasks.path import Lap, make_tracking_path

SECONDS = 30.0
RATE = 1000.0
SUBSTEPS = 4
REPEATS = 3
TARGET = 4.0  # [s]


class Clock:
    """Time of the calls of a function."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with its time counted here."""

        def timed(*args: Any, **options: Any) -> Any:
            began = time.perf_counter()
            result = function(*args, **options)
            self.seconds += time.perf_counter() - began
            return result

        return timed


class TimedMode(SlidingMode):
    """The controller with its time counted."""

    clock = Clock()

    def __call__(self, *args: Any) -> Any:
        """Return the torque."""
        return self.clock.wrap(super().__call__)(*args)


@numba.njit
def engine_steps(bodies: Any, tau: Float1D, count: int) -> None:
    """Take steps of an engine and read the state of each."""
    q, dq = tau.copy(), tau.copy()
    for _ in range(count):
        compiled_loop.advance(bodies, tau)
        compiled_loop.read(bodies, q, dq)


def engine_alone(robot: Robot, count: int) -> float:
    """Return the time of steps of the engine without anything else [s]."""
    with PyBulletBodies(robot, 1.0 / (RATE * SUBSTEPS)) as bodies:
        engine_steps(bodies.handle, np.zeros(robot.dof), 1)  # compiles
        bodies.set_state(robot.home, np.zeros(robot.dof))
        began = time.perf_counter()
        engine_steps(bodies.handle, np.zeros(robot.dof), count)
        return time.perf_counter() - began


def main() -> None:
    """Run the loop, print times."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    robot = load_robot("irb140")
    lap = Lap(make_tracking_path(robot), SECONDS)
    path = lap(np.arange(0.0, SECONDS, 1e-2))
    gains = LoopGains.from_specification(robot, path, rate=RATE)

    def run(controller: SlidingMode, duration: float = SECONDS) -> float:
        with Plant(robot, dt=1.0 / RATE, substeps=SUBSTEPS) as plant:
            began = time.perf_counter()
            rollout(plant, controller, Lap(lap.path, duration))
            return time.perf_counter() - began

    run(SlidingMode(robot, gains), 3.0)  # compiles
    times = [run(SlidingMode(robot, gains)) for _ in range(REPEATS)]
    steps = round(SECONDS * RATE)
    compiled, engine = Clock(), engine_alone(robot, SUBSTEPS * steps)
    timed = compiled.wrap(compiled_loop.smooth_steps)
    with mock.patch.object(compiled_loop, "smooth_steps", timed):
        whole = run(TimedMode(robot, gains))
    law = TimedMode.clock.seconds
    parts = {
        "engine": engine,
        "torque of the sub-steps": compiled.seconds - engine,
        "controller": law,
        "loop, record, clocks": whole - compiled.seconds - law,
    }
    print(f"{robot.name}: {SECONDS:g} s of loop at {RATE:g} Hz, {SUBSTEPS} sub-steps, one core")
    print(f"wall time, best of {REPEATS}: {min(times):.2f} s (target {TARGET:g} s)")
    print(f"{'part':28} {'s':>6} {'share':>6} {'us/step':>8}")
    for name, seconds in parts.items():
        print(f"{name:28} {seconds:6.2f} {seconds / whole:6.1%} {1e6 * seconds / steps:8.2f}")
    each = 1e6 * min(times) / steps
    print(f"{each:.1f} us per control step, {SECONDS / min(times):.1f}x real time")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
