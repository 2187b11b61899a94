"""Torque regressor of 6 joints x 20,000 samples: our compiled loop against a loop over Pinocchio.

Both fill the same array, (N, n, 14 n): the ten inertial columns of every link, then viscous and
Coulomb friction, offset and rotor inertia of every joint. Pinocchio gives the inertial columns
sample by sample through its Python binding; friction and rotors are added by vectorized NumPy. Our
function spreads a batch over the cores; it is timed that way and held on one core.

Run as ``python bench/regressor.py``; needs the test extra (Pinocchio).
"""

import os
import time
from collections.abc import Callable

import numpy as np
import pinocchio
from threadpoolctl import threadpool_limits

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.model import parameters
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.catalog_files import find_urdf
from robotid_sim.model.robot import Robot

SAMPLES = 20_000
REPEATS = 7
TARGET = 5.0


def best_of(function: Callable[[], object], repeats: int = REPEATS) -> float:
    """Return the shortest time of several runs [s]; the first run, which compiles, is not timed."""
    function()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return min(times)


def pinocchio_regressor(
    robot: Robot, model: pinocchio.Model, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray
) -> np.ndarray:
    """Return the full regressor, (N, n, 14 n), by a Python loop over Pinocchio."""
    n = robot.dof
    data = model.createData()
    W = np.zeros((len(q), n, parameters.size(n)))
    inertial = W[:, :, : parameters.INERTIAL_COUNT * n]
    for k in range(len(q)):
        inertial[k] = pinocchio.computeJointTorqueRegressor(model, data, q[k], dq[k], ddq[k])
    coulomb = np.tanh(dq / robot.eps)
    for j in range(n):
        columns = np.stack([dq[:, j], coulomb[:, j], np.ones(len(q)), ddq[:, j]], axis=1)
        W[:, j, parameters.joint_slice(j, n)] = columns
    return W


def main() -> None:
    """Time both, compare the numbers, print a table."""
    robot = load_robot("irb140")
    model = pinocchio.buildModelFromUrdf(str(find_urdf("irb140")))
    basis = base_parameters(robot)
    rng = np.random.default_rng(0)
    q = rng.uniform(robot.limits.lower, robot.limits.upper, (SAMPLES, robot.dof))
    dq, ddq = rng.standard_normal((2, SAMPLES, robot.dof))
    reference = pinocchio_regressor(robot, model, q, dq, ddq)
    difference = np.abs(torque_regressor(robot, q, dq, ddq) - reference).max()

    cores = len(os.sched_getaffinity(0))
    cases = [
        ("Pinocchio, Python loop", 1, lambda: pinocchio_regressor(robot, model, q, dq, ddq), 3),
        (f"ours, {reference.shape[2]} columns", cores, lambda: torque_regressor(robot, q, dq, ddq)),
        (
            f"ours, {basis.rank} base columns",
            cores,
            lambda: torque_regressor(robot, q, dq, ddq, basis.columns),
        ),
    ]
    times = {name: (threads, best_of(*rest)) for name, threads, *rest in cases}
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for name, _, *rest in cases[1:]:
        times[f"{name}, one core"] = (1, best_of(*rest))

    slowest = times[cases[0][0]][1]
    print(
        f"{robot.name}: {robot.dof} joints, {SAMPLES} samples, best of {REPEATS}; {cores} core(s)"
    )
    print(f"largest difference between the two: {difference:.1e}")
    print(f"{'variant':32} {'cores':>5} {'ms':>8} {'us/sample':>10} {'ratio':>7}")
    for name, (threads, seconds) in times.items():
        per_sample = 1e6 * seconds / SAMPLES
        ratio = slowest / seconds
        print(f"{name:32} {threads:5d} {1e3 * seconds:8.1f} {per_sample:10.3f} {ratio:6.1f}x")
    print(f"target: at least {TARGET:g}x with all columns")


if __name__ == "__main__":
    with threadpool_limits(1):  # BLAS plays no part; our own threads stay
        main()
