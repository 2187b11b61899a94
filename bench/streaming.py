"""Ten million samples of six joints through blocks: time and largest memory, two passes.

The log is 10,000 s at 1 kHz, in parts of 10 s; every sample is a row of every joint, 60 million
rows of 52 parameters, of which no more than a part is ever held. The first pass reduces the rows to
triangular factors and gives the weighted estimate, the second one adds up its covariance for
colored residuals. Then weighted least squares of 120,000 x 72 rows in memory, as in bench/qr.py.
One BLAS thread.

Run as ``python bench/streaming.py``.
"""

import resource
import time
from collections.abc import Iterator

import numpy as np
from qr import TARGET, best_of, synthetic_problem
from threadpoolctl import threadpool_limits

from robotid_sim import FourierOptions, FourierTrajectory, Robot, random_design
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.estimation.least_squares import WeightedLeastSquares, fit_stream
from robotid_sim.estimation.problem import LinearProblem, build_problem
from robotid_sim.estimation.reduction import reduce_parts, reduce_rows
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.catalog import load_robot

PARTS, SAMPLES, DT = 1000, 10_000, 1e-3
LARGEST = 1.0  # [GB]


def peak_memory() -> float:
    """Return the largest resident memory of this process so far [GB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def motions(robot: Robot, trajectory: FourierTrajectory) -> Iterator[Motion]:
    """Yield one period of motion after the other with new noise; the same at every call."""
    t = DT * np.arange(SAMPLES)
    reference = trajectory(t)
    state = (reference.q, reference.dq, reference.ddq)
    tau = joint_torque(robot, *state)
    noise = 0.01 * np.sqrt((tau**2).mean(axis=0))
    for part in range(PARTS):
        drawn = noise * np.random.default_rng(part).standard_normal(tau.shape)
        yield Motion(t + part * SAMPLES * DT, *state, tau + drawn, robot.joint_names)


def main() -> None:
    """Stream the log, fit the small problem, print both."""
    robot = load_robot("irb140")
    basis = base_parameters(robot)
    rng = np.random.default_rng(0)
    options = FourierOptions(period=SAMPLES * DT, periods=1)
    trajectory = random_design(robot, basis, rng, options=options, candidates=50)
    truth = basis.project(robot.parameters())

    def parts() -> Iterator[LinearProblem]:
        return (build_problem(m, robot, basis) for m in motions(robot, trajectory))

    before = peak_memory()
    began = time.perf_counter()
    reduce_parts(parts())
    one = time.perf_counter() - began
    estimate = fit_stream(parts)
    assert estimate.cov is not None
    error = np.abs(estimate.beta - truth) / estimate.std
    rows = PARTS * SAMPLES * robot.dof
    print(f"{PARTS * SAMPLES:.0e} samples, {rows:.0e} rows x {basis.rank} in {PARTS} parts")
    print(f"{'before':28} {before:8.2f} GB")
    print(f"{'largest memory':28} {peak_memory():8.2f} GB   target {LARGEST:g} GB")
    print(f"{'one pass, factors':28} {one:8.1f} s    {PARTS * SAMPLES / one:.2e} samples/s")
    print(f"{'two passes, estimate':28} {estimate.seconds:8.1f} s")
    print(f"error / std: rms {np.sqrt((error**2).mean()):.2f}, largest {error.max():.2f}")
    problem, _ = synthetic_problem(rng)
    fit = best_of(lambda: WeightedLeastSquares().fit(problem, rng))
    alone = best_of(lambda: reduce_rows(problem))
    print(f"120,000 x 72 in memory: WLS {fit:.3f} s (target {TARGET:g} s), factors {alone:.3f} s")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
