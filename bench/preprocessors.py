"""Preprocessors on the sensors of typical cells, on the default excitation of irb140.

For every sensor preset and two encoder resolutions the same engine run is measured with several
seeds. Columns, RMS over joints and seeds: torque error over the sensors' own torque error, away
from friction reversals and within 60 ms of one; velocity and acceleration error; |error| of the
parameters over the Cramér-Rao standard deviation of white noise of that size, median and worst;
worst torque error of the model on another trajectory, over the RMS torque; seconds. Torques of a
cell with ideal sensors are compared with a hundredth of a percent of the RMS torque.

What the sensors do to all samples alike (a torque constant that is 2 or 5 % wrong) no preprocessor
can see; it dominates the parameters under ``industrial`` and ``harsh``.

Run as ``python bench/preprocessors.py [seeds]``; writes the page ``preprocessors.html`` too.
"""

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from preprocessor_scores import PreprocessorScore, score_preprocessor
from preprocessors_page import preprocessors_page
from threadpoolctl import threadpool_limits

from robotid_sim.arrays import Float1D, rms
from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.dynamics.dynamics import joint_torque, torque_regressor
from robotid_sim.engine.plant import Plant
from robotid_sim.errors import RobotIdError
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.reduction import cramer_rao
from robotid_sim.excitation.design import random_design, random_feasible
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.experiment.rollout import rollout
from robotid_sim.measurement import SENSORS
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.sensors import Sensor, measure, preset
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.perturb import perturb
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess import PREPROCESSORS
from robotid_sim.preprocess.preprocessor import Preprocessor
from robotid_sim.report.page import write_page
from robotid_sim.validation.prediction import clean_log, exact_problem

LEAST_NOISE = 1e-4
"""Torque noise that ideal sensors are compared with, over the RMS torque."""

PAGE = Path("preprocessors.html")

FORMS = {
    "kalman-torque": {"form": "compensated"},
    "kalman literal": {"form": "literal"},
    "kalman smoother": {"form": "smoother"},
    "kalman identified": {"form": "literal", "prediction": "identified"},
}


@dataclass(frozen=True)
class Case:
    """The engine run behind the whole table."""

    plant: Robot
    nominal: Robot
    basis: BaseParameters
    log: Log
    unseen: tuple[np.ndarray, np.ndarray]
    """Regressor and torque on another trajectory."""


def engine_case(name: str) -> Case:
    """Return the default excitation of a robot, run in the engine."""
    plant = load_robot(name)
    nominal = perturb(plant, np.random.default_rng(1))
    basis = base_parameters(nominal)
    with Plant(plant) as engine:
        trajectory = random_design(nominal, basis, np.random.default_rng(0))
        log = rollout(engine, ComputedTorque(nominal), trajectory)
    other = random_feasible(nominal, np.random.default_rng(9), FourierOptions(periods=1))
    state = other(np.arange(0.0, 10.0, 0.01))
    where = (state.q, state.dq, state.ddq)
    W = torque_regressor(nominal, *where, basis.columns)
    return Case(plant, nominal, basis, log, (W, joint_torque(plant, *where)))


def cells() -> dict[str, list[Sensor]]:
    """Return the sensors of every row of the table."""
    named = {name: preset(name) for name in ("ideal", "lab", "industrial", "harsh")}
    for bits in (17, 20):
        named[f"{bits} bits"] = {"torque-noise": {}, "encoder-quantization": {"bits": bits}}
    for noise in (1e-4, 1e-3):
        named[f"{noise:g} rad"] = {"torque-noise": {}, "encoder-noise": {"revolute": noise}}
    return {
        cell: [SENSORS.build(name, **options) for name, options in sensors.items()]
        for cell, sensors in named.items()
    }


def candidates() -> dict[str, Preprocessor]:
    """Return all preprocessors, and the Kalman filter in its three forms."""
    plain = {name: PREPROCESSORS.build(name) for name in PREPROCESSORS if name not in FORMS}
    forms = {name: PREPROCESSORS.build("kalman-torque", **form) for name, form in FORMS.items()}
    return {**plain, **forms}


def line(case: Case, logs: list[Log], preprocessor: Preprocessor) -> tuple[str, str]:
    """Return the columns of a preprocessor, and what it decided for the first log."""
    used = logs[0].t >= (logs[0].period or 0.0)
    clean = clean_log(case.log).tau_meas[used]
    noise = rms(np.concatenate([log.tau_meas[used] - clean for log in logs]))
    noise = np.maximum(noise, LEAST_NOISE * rms(clean))
    std = np.sqrt(
        np.diag(cramer_rao(exact_problem(case.log, case.nominal, case.basis, 0.0), noise))
    )
    wls = WeightedLeastSquares()
    scores = [score_preprocessor(preprocessor, x, case.nominal, case.basis, wls) for x in logs]
    true = case.basis.project(case.plant.parameters())
    ratio = rms(np.array([(score.beta - true) / std for score in scores]))
    W, tau = case.unseen
    model = np.median([(rms(tau - W @ score.beta) / rms(tau)).max() for score in scores])
    columns = (
        f"{over(scores, 'torque_error', noise):8.2f}",
        f"{over(scores, 'torque_error_reversals', noise):8.2f}",
        f"{over(scores, 'velocity_error'):9.1e}",
        f"{over(scores, 'acceleration_error'):9.1e}",
        f"{np.median(ratio):8.2f}",
        f"{ratio.max():8.1f}",
        f"{100.0 * model:8.3f}",
        f"{np.mean([score.seconds for score in scores]):6.2f}",
    )
    return " ".join(columns), scores[0].message


def over(scores: list[PreprocessorScore], name: str, size: Float1D | float = 1.0) -> float:
    """Return an error over a size, RMS over scores and joints."""
    return float(rms(np.array([getattr(score, name) / size for score in scores]).ravel()))


def main() -> None:
    """Print the table, write the page."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    case = engine_case("irb140")
    print(f"irb140, {seeds} seeds")
    print(
        f"{'sensors':10} {'preprocessor':17} {'torque':>8} {'reversal':>8} {'velocity':>9} "
        f"{'accel.':>9} {'par.':>8} {'worst':>8} {'model %':>8} {'s':>6}"
    )
    rows: list[tuple[str, ...]] = []
    decisions: list[str] = []
    shown = case.log
    for cell, sensors in cells().items():
        count = seeds if sensors else 1
        logs = [measure(case.log, sensors, np.random.default_rng(100 + k)) for k in range(count)]
        shown = logs[0] if cell == "lab" else shown
        for name, preprocessor in candidates().items():
            try:
                columns, message = line(case, logs, preprocessor)
            except RobotIdError as error:
                columns, message = f"refused: {error}", ""
            print(f"{cell:10} {name:17} {columns}", flush=True)
            rows.append((cell, name, *columns.split()))
            if message:
                print(f"{'':10} ({message})")
                decisions.append(f"{cell}: {message}.")
    kept = [row for row in rows if len(row) == len(rows[0])]
    command = shlex.join(["python", *sys.argv])
    write_page(preprocessors_page(kept, decisions, shown, case.nominal, command), PAGE)
    print(f"page written to {PAGE}")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
