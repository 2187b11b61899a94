"""Noise in the loop's feedback: bias and coverage of estimators.

On smoothed motion, and with motion and parameters estimated together, as by default; output error,
input error and the Kalman filter take positions and torques as they were recorded, and of the rest
a start. The controller of the excitation sees the encoder samples that the log records, through an
observer, so that the true motion follows their noise. Three periods, 1 % torque noise; every seed
is a run of its own. Columns, over the seeds: error over the Cramér-Rao deviation of a calm motion,
RMS, median and worst parameter; mean error over its own standard error, median parameter (some .7
where there is no bias, with many seeds); share of 95 % intervals that hold the true value; mean
time of the fit [s]; runs, without those that failed.

Run as ``python bench/feedback_noise.py [--seeds 10] [--robots irb140 iiwa] [--noise 1e-4 1e-3 3e-3]
[--workers N] [--keep FILE]``.
"""

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from faults import Bench
from kept import map_kept

from robotid_sim.arrays import rms
from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.control.observer import VelocityObserver
from robotid_sim.diagnostics.intervals import confidence_intervals
from robotid_sim.engine.plant import Plant
from robotid_sim.estimation import ESTIMATORS
from robotid_sim.estimation.reduction import cramer_rao
from robotid_sim.experiment.rollout import rollout
from robotid_sim.experiment.scenario import Feedback, Scenario
from robotid_sim.measurement import SENSORS
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.sensors import measure
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.fit_plan import build_fit
from robotid_sim.pipeline.stages import fit_logs
from robotid_sim.validation.prediction import exact_problem

CHOSEN = "as chosen by default"

METHODS = {
    "smoother, wls": ("rts", "wls"),
    "smoother, instruments": ("rts", "instrumental-variables"),
    "together, wls (default)": ("errors-in-variables", "wls"),
    "together, instruments": ("errors-in-variables", "instrumental-variables"),
    "smoother, total": ("rts", "total-least-squares"),
    "together, total": ("errors-in-variables", "total-least-squares"),
    "together, recursive": ("errors-in-variables", "recursive-least-squares"),
    "output error": ("errors-in-variables", "output-error"),
    "input error": ("errors-in-variables", "input-error"),
    "extended Kalman": ("errors-in-variables", "extended-kalman"),
    CHOSEN: ("", ""),
}
"""Method of the preprocessor and estimator by name; of the default plan, what it chooses."""

OBSERVER = 200.0
"""Bandwidth of the observer [rad/s]."""


@dataclass(frozen=True, slots=True)
class Run:
    """Errors of a method on one log."""

    robot: str
    noise: float
    seed: int
    method: str
    error: tuple[float, ...]
    """Over the Cramér-Rao deviation."""
    covered: tuple[bool, ...]
    seconds: float


def recorded(bench: Bench, noise: float, seed: int) -> Log:
    """Return the log of a loop that sees the positions which it records."""
    controller = ComputedTorque(bench.nominal, 2500.0, 100.0)
    observer = VelocityObserver(bench.nominal, rate=1000.0, bandwidth=OBSERVER)
    scenario = Scenario(feedback=Feedback(revolute=noise, prismatic=0.1 * noise))
    with Plant(bench.plant) as plant:
        rng = np.random.default_rng(seed)
        log = rollout(plant, controller, bench.path, scenario=scenario, observer=observer, rng=rng)
    std = np.where(bench.plant.prismatic, 0.1 * noise, noise)
    seen = std * np.random.default_rng(seed).standard_normal(log.q.shape)  # drawn first there
    torque = SENSORS.build("torque-noise", relative=0.01)
    return measure(replace(log, q=log.q + seen), [torque], np.random.default_rng(1000 + seed))


def runs_of(task: tuple[str, float, int]) -> list[Run]:
    """Return the runs of all methods on one log."""
    name, noise, seed = task
    bench = Bench.of(name)
    log = recorded(bench, noise, seed)
    true = bench.basis.project(bench.plant.parameters())
    calm = bench.log()  # shaking by noise is information too, of which a low-pass leaves nothing
    clean = exact_problem(calm, bench.nominal, bench.basis, 0.0)
    bound = np.sqrt(np.diag(cramer_rao(clean, 0.01 * rms(calm.truth.tau[calm.t >= 0.0]))))
    default, found = build_fit(load_config(None, {})), []
    plain = replace(default, accounts_for_loop_noise=False, chosen="wls")
    for method in dict.fromkeys(use for use, _ in METHODS.values()):
        plan = default
        if method:
            names = [estimator for use, estimator in METHODS.values() if use == method]
            by_name = {name: ESTIMATORS.build(name) for name in names}
            preprocessor = replace(plain.preprocessor, method=method)
            plan = replace(plain, preprocessor=preprocessor, estimators=by_name)
        fit = fit_logs(
            replace(log, truth=None), bench.nominal, bench.basis, plan, np.random.default_rng(0)
        )
        for title, (use, estimator) in METHODS.items():
            if use == method:
                estimates = {e.estimator: e for e in fit.estimates}
                estimate = estimates[estimator] if method else fit.chosen
                if not estimate.success:
                    continue
                intervals = confidence_intervals(fit.problem, estimate)
                error = tuple(((estimate.beta - true) / bound).tolist())
                covered = tuple(intervals.covers(true).tolist())
                found.append(Run(name, noise, seed, title, error, covered, estimate.seconds))
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--robots", nargs="+", default=["irb140", "iiwa"])
    parser.add_argument("--noise", nargs="+", type=float, default=[1e-4, 1e-3, 3e-3])
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="file of the runs, read and added to")
    options = parser.parse_args()
    places = [(name, noise) for name in options.robots for noise in options.noise]
    tasks = [(*place, seed) for place in places for seed in range(options.seeds)]
    parts = map_kept(runs_of, tasks, options.keep, list[Run], options.workers)
    runs = [run for part in parts for run in part]
    head = f"{'robot':8} {'noise':>6}  {'method':24} {'error':>6} {'worst':>7} {'bias':>6} covered"
    print(f"{head} {'time':>5} runs")
    for name, noise in places:
        for method in METHODS:
            own = [r for r in runs if (r.robot, r.noise, r.method) == (name, noise, method)]
            if len(own) < 2:
                print(f"{name:8} {noise:6.0e}  {method:24} {len(own)} runs")
                continue
            errors = np.array([run.error for run in own])
            size, scatter = rms(errors), errors.std(axis=0, ddof=1) / np.sqrt(len(own))
            bias = np.abs(errors.mean(axis=0)) / scatter
            print(
                f"{name:8} {noise:6.0e}  {method:24} {np.median(size):6.2f} {size.max():7.2f} "
                f"{np.median(bias):6.2f} {np.mean([run.covered for run in own]):7.1%} "
                f"{np.mean([run.seconds for run in own]):5.1f} {len(own):4}"
            )


if __name__ == "__main__":
    main()
