"""Weighted least squares on 120,000 x 72 rows: blocked QR per joint against one plain solve.

The blocked reduction reads the rows once; weights and covariance then come from small triangular
factors. It is timed with the two weighted rounds and the covariances of ``WeightedLeastSquares``,
against one unweighted solve by numpy and one QR by scipy, on one BLAS thread: the bits of LAPACK
depend on the number of threads, and blocks gain nothing from more. The block sandwich works on
blocks of 0.2 s, that is 2 rows a joint at 10 Hz, the default rate, and 200 rows at 1 kHz.

Run as ``python bench/qr.py``.
"""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.linalg
from threadpoolctl import threadpool_info, threadpool_limits

from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.estimation.least_squares import OrdinaryLeastSquares, WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.reduction import reduce_rows

JOINTS, SAMPLES, COLUMNS = 6, 20_000, 72
REPEATS = 5
TARGET = 0.25  # [s]


def synthetic_problem(rng: np.random.Generator) -> tuple[LinearProblem, np.ndarray]:
    """Return a problem with known parameters and joints of different noise, rows at 10 Hz."""
    basis = BaseParameters(
        columns=np.arange(COLUMNS),
        B=np.eye(COLUMNS),
        symbols=tuple(f"beta{k + 1}" for k in range(COLUMNS)),
        units=("1",) * COLUMNS,
        considered=np.arange(COLUMNS),
        inertial_rank=COLUMNS,
    )
    W = rng.standard_normal((JOINTS * SAMPLES, COLUMNS))
    beta = rng.standard_normal(COLUMNS)
    noise = np.tile(np.geomspace(0.01, 1.0, JOINTS), SAMPLES) * rng.standard_normal(len(W))
    names = tuple(f"joint_{j + 1}" for j in range(JOINTS))
    return LinearProblem(W, W @ beta + noise, basis, names, 0.1), beta


def best_of(function: Callable[[], object]) -> float:
    """Return the shortest time of several runs [s], after one that is not timed."""
    function()
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return min(times)


def main() -> None:
    """Time the fits and the plain solves, compare the solutions, print a table."""
    problem, beta = synthetic_problem(np.random.default_rng(0))
    rng = np.random.default_rng(0)
    W, y = problem.W, problem.y
    ordinary = OrdinaryLeastSquares().fit(problem, rng)
    weighted = WeightedLeastSquares().fit(problem, rng)
    plain = np.linalg.lstsq(W, y, rcond=None)[0]
    stacked = np.column_stack([W, y])
    fast = replace(problem, dt=1e-3)
    cases = {
        "WLS fit, rows at 10 Hz": lambda: WeightedLeastSquares().fit(problem, rng),
        "WLS fit, rows at 1 kHz": lambda: WeightedLeastSquares().fit(fast, rng),
        "blocked QR alone": lambda: reduce_rows(problem),
        "numpy.linalg.lstsq": lambda: np.linalg.lstsq(W, y, rcond=None),
        "numpy.linalg.qr (R of [W y])": lambda: np.linalg.qr(stacked, mode="r"),
        "scipy.linalg.qr (R of [W y])": lambda: scipy.linalg.qr(stacked, mode="r"),
    }
    times = {name: best_of(function) for name, function in cases.items()}
    threads = {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}
    rows, columns = W.shape
    print(f"{rows} x {columns} rows of {JOINTS} joints, best of {REPEATS}; BLAS threads {threads}")
    print(f"OLS against numpy.linalg.lstsq: {np.abs(ordinary.beta - plain).max():.1e}")
    print(
        f"error of OLS {np.abs(ordinary.beta - beta).max():.1e}, "
        f"of WLS {np.abs(weighted.beta - beta).max():.1e}"
    )
    first = times["WLS fit, rows at 10 Hz"]
    print(f"{'variant':32} {'s':>8} {'against WLS':>12}")
    for name, seconds in times.items():
        print(f"{name:32} {seconds:8.3f} {seconds / first:11.1f}x")
    print(f"target: WLS within {TARGET:g} s")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
