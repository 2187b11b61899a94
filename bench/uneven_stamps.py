"""Identification from stamps of uneven steps: torques interpolated by lines, or with own times.

Positions of every log lie on a cubic spline at even times. Errors are RMS over parameters and
seeds, in standard deviations of the estimate from as many even samples; coverage is that of the
95 % intervals.

Run as ``python bench/uneven_stamps.py [--robot irb140] [--seeds 5] [--encoder-noise 2e-5]``.
"""

import argparse
from collections.abc import Iterator

import numpy as np

from robotid_sim.arrays import linear_at
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.excitation.design import random_design
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.importing.raw_log import interpolate_spline, nearest_times, uniform_grid
from robotid_sim.measurement.log import Log
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.perturb import perturb
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.fit_plan import FitPlan
from robotid_sim.pipeline.stages import fit_logs
from robotid_sim.preprocess.adaptive import Adaptive
from robotid_sim.trajectory.reference import Excitation

PERIOD, PERIODS = 8.0, 3

STEPS = ((0.004, 0.006), (0.008, 0.012), (0.016, 0.024), (0.03, 0.034))
"""Least and largest step [s]."""

TORQUE_NOISE = 0.01
"""Over the RMS torque."""

PLAN = FitPlan(preprocessor=Adaptive(), estimators={"wls": WeightedLeastSquares()}, chosen="wls")


def logs(
    plant: Robot,
    path: Excitation,
    steps: tuple[float, float],
    encoder: float,
    rng: np.random.Generator,
) -> Iterator[tuple[str, Log]]:
    """Yield logs of one motion: of even stamps, and of uneven ones in both forms."""
    duration = PERIOD * PERIODS
    t = np.cumsum(rng.uniform(*steps, round(duration / np.mean(steps))))
    t = t[t <= duration]
    grid = uniform_grid(t)

    def sampled(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        at = path(times)
        tau = joint_torque(plant, at.q, at.dq, at.ddq)
        noise = TORQUE_NOISE * np.sqrt((tau**2).mean(axis=0))
        return (
            at.q + encoder * rng.standard_normal(tau.shape),
            tau + noise * rng.standard_normal(tau.shape),
        )

    def log(q: np.ndarray, tau: np.ndarray, times: np.ndarray | None = None) -> Log:
        return Log(grid, q, tau, plant.joint_names, plant.joint_units, torque_times=times)

    yield "even", log(*sampled(grid))
    q, tau = sampled(t)
    between, own = interpolate_spline(grid, t, q), nearest_times(grid, t)
    yield "lines", log(between, linear_at(grid, t, tau))
    yield "own times", log(between, linear_at(own, t, tau), own)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robot", default="irb140", help="robot of the catalog or URDF")
    parser.add_argument("--seeds", type=int, default=5, help="noise seeds per row")
    parser.add_argument("--encoder-noise", type=float, default=2e-5, help="[rad or m]")
    args = parser.parse_args()
    plant, rng = load_robot(args.robot), np.random.default_rng(0)
    nominal = perturb(plant, rng)
    basis, options = base_parameters(nominal), FourierOptions(period=PERIOD, periods=PERIODS)
    path = random_design(nominal, basis, rng, options=options, candidates=20)
    beta = basis.project(plant.parameters())
    print(f"{'steps [ms]':>12} {'torques':>10} {'error':>6} {'worst':>6} {'coverage':>9}")
    for steps in STEPS:
        found: dict[str, list[np.ndarray]] = {}
        for seed in range(args.seeds):
            noise = np.random.default_rng(seed)
            for name, log in logs(plant, path, steps, args.encoder_noise, noise):
                fit = fit_logs(log, nominal, basis, PLAN, np.random.default_rng(0)).chosen
                found.setdefault(name, []).append(np.array([fit.beta - beta, fit.std]))
        scale = np.mean(found["even"], axis=0)[1]
        for name, fits in found.items():
            error, std = np.swapaxes(fits, 0, 1)
            rms = np.sqrt((error**2).mean(axis=0)) / scale
            inside = (abs(error) < 1.96 * std).mean()
            print(
                f"{1e3 * steps[0]:5.0f} to {1e3 * steps[1]:2.0f} {name:>10} "
                f"{np.sqrt((rms**2).mean()):6.2f} {rms.max():6.2f} {100 * inside:7.1f} %",
                flush=True,
            )


if __name__ == "__main__":
    main()
