"""Every preset of sensors on every catalog robot through every preprocessor and estimator.

Four presets x five robots x all preprocessors x ordinary, weighted and consistent least squares:
the chain must not crash on any of them. Numbers are the error of the base parameters over the
Cramér-Rao standard deviation (of torque noise alone, motion exactly known), median and worst, and
the model error on the true motion, worst joint. Where a stage fails its message stands instead.

Run as ``python bench/presets.py [PERIOD]``; it ends with the number of failures.
"""

import sys
import time
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from robotid_sim.arrays import Float1D, rms
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import RobotIdError
from robotid_sim.estimation import ESTIMATORS
from robotid_sim.estimation.problem import LinearProblem, build_problem
from robotid_sim.estimation.reduction import cramer_rao
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.sensors import PRESETS, measure
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.catalog_files import catalog
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build import build_cell, build_sensors
from robotid_sim.pipeline.build_design import build_design
from robotid_sim.pipeline.build_robot import build_basis, build_nominal
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.excitation import design_excitation
from robotid_sim.pipeline.simulate import run_experiment
from robotid_sim.preprocess import PREPROCESSORS
from robotid_sim.streams import Streams
from robotid_sim.validation.prediction import clean_log, exact_problem, true_rows

METHODS = ("ols", "wls", "consistent")
EXPECTED = (RobotIdError, np.linalg.LinAlgError, ValueError, ArithmeticError)
"""What a stage may raise; the rest is a bug that ends the bench."""

SMALLEST_NOISE = 1e-3
"""Torque noise that the bound of the ideal preset is taken with, share of the RMS torque."""


def experiment(robot: Robot, period: float) -> tuple[Robot, BaseParameters, Log]:
    """Return nominal model, base parameters and clean log of a short experiment."""
    config = load_config(
        None,
        {
            "preset": "ideal",
            "design": {"candidates": 30, "iterations": 20, "period": period, "periods": 3},
        },
    )
    nominal, streams = build_nominal(robot, config), Streams(config.seed)
    basis = build_basis(nominal, config)
    plan = build_design(nominal, basis, config)
    path = design_excitation(nominal, basis, plan, streams("design")).trajectories[0]
    log = run_experiment(build_cell(robot, nominal, config), path, streams("measure"))
    return nominal, basis, clean_log(log)


@dataclass(frozen=True, eq=False)
class Measured:
    """A robot measured with one preset."""

    nominal: Robot
    basis: BaseParameters
    log: Log
    truth: Float1D
    bound: Float1D

    @classmethod
    def of(
        cls, preset: str, robot: Robot, nominal: Robot, basis: BaseParameters, clean: Log
    ) -> "Measured":
        """Return what a preset's sensors make of a clean log, and its yardstick."""
        sensors = build_sensors(load_config(None, {"preset": preset}))
        log = measure(clean, sensors, np.random.default_rng(0))
        assert log.truth is not None
        size = rms(log.truth.tau)
        noise = np.maximum(np.std(log.tau_meas - log.truth.tau, axis=0), SMALLEST_NOISE * size)
        exact = exact_problem(log, nominal, basis, 0.0)
        bound = np.sqrt(np.diag(cramer_rao(exact, noise)))
        return cls(nominal, basis, log, basis.project(robot.parameters()), bound)

    def prepared(self, preprocessor: str) -> LinearProblem:
        """Return the problem that a preprocessor makes."""
        chosen = PREPROCESSORS.build(preprocessor).tune(self.log, self.nominal)
        return build_problem(chosen(self.log, self.nominal), self.nominal, self.basis)

    def fitted(self, method: str, problem: LinearProblem) -> str:
        """Return the errors of one estimator in words."""
        estimate = ESTIMATORS.build(method).fit(problem, np.random.default_rng(0))
        if not estimate.success:
            return f"no fit: {estimate.message[:50]}"
        error = np.abs(estimate.beta - self.truth) / self.bound
        rows = true_rows(self.log, self.log.t >= 0.0)
        exact = exact_problem(self.log, self.nominal, self.basis, 0.0)
        model = rms(exact.unstack_rows(exact.y - exact.W @ estimate.beta)) / rms(rows.tau)
        return f"{np.median(error):9.2f} {error.max():9.1f} {100.0 * model.max():8.3f} %"


def row(cell: Measured, label: str, preprocessor: str, failures: list[str]) -> list[str]:
    """Return what the estimators make of one preprocessor's problem; keep what fails."""
    try:
        problem = cell.prepared(preprocessor)
    except EXPECTED as error:
        failures.append(f"{label}: {type(error).__name__}: {error}")
        return [f"failed: {str(error)[:60]}"]
    said = []
    for method in METHODS:
        try:
            said.append(cell.fitted(method, problem))
        except EXPECTED as error:
            failures.append(f"{label} {method}: {type(error).__name__}: {error}")
            said.append(f"failed: {str(error)[:22]}")
    return said


def main() -> None:
    """Print the table."""
    period = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    began, cases = time.perf_counter(), 0
    failures: list[str] = []
    head = f"{'robot':8} {'preset':10} {'preprocessor':17} "
    print(head + "  ".join(f"{m + ': median, worst, model error':32}" for m in METHODS))
    for name in catalog():
        robot = load_robot(name)
        nominal, basis, clean = experiment(robot, period)
        for preset in PRESETS:
            cell = Measured.of(preset, robot, nominal, basis, clean)
            for key in PREPROCESSORS:
                label = f"{name:8} {preset:10} {key:17}"
                said = row(cell, label, key, failures)
                cases += len(METHODS)
                print(f"{label} " + "  ".join(f"{text:32}" for text in said), flush=True)
    seconds = time.perf_counter() - began
    print(f"{cases} cases, {len(failures)} failures, {seconds:.0f} s")
    for failure in failures:
        print(f"  {failure}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
