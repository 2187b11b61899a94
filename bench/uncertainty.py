"""Coverage of 95 % intervals, and what estimating friction and drives costs, over many noise seeds.

Exact motion of an excitation, white torque noise of 1 % of each joint's RMS torque; colored noise
correlates by one half between neighbors. Pooled coverage is to lie within 94-96 %, that of every
parameter within 91-98.5 % for 400 seeds.

Run as ``python bench/uncertainty.py``.
"""

import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from robotid_sim import FourierOptions, random_design
from robotid_sim.diagnostics.intervals import confidence_intervals
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import joint_torque, torque_regressor
from robotid_sim.estimation.friction_fit import estimate_eps, set_eps
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.payload import estimate_payload, payload_parameters
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.torque_constants import estimate_torque_constants
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.robot import Robot

SEEDS = 400
FEW = 40
SECONDS = 10.0
RATE = 50.0  # [Hz]
COM = np.array([0.05, 0.03, 0.08])  # [m]
PLANAR = Path(__file__).parents[1] / "tests" / "data" / "2r.urdf"


class Data:
    """A robot on a random Fourier series: motion and torque without noise."""

    def __init__(self, robot: Robot) -> None:
        self.robot, self.basis = robot, base_parameters(robot)
        options = FourierOptions(period=SECONDS, periods=1)
        rng = np.random.default_rng(0)
        path = random_design(robot, self.basis, rng, options=options, candidates=50)
        self.t = np.arange(round(SECONDS * RATE)) / RATE
        reference = path(self.t)
        self.state = (reference.q, reference.dq, reference.ddq)
        self.tau = joint_torque(robot, *self.state)
        W = torque_regressor(robot, *self.state, self.basis.columns)
        self.W = W.reshape(-1, self.basis.rank)
        self.beta = self.basis.project(robot.parameters())
        self.noise = 0.01 * np.sqrt((self.tau**2).mean(axis=0))

    def draw(self, seed: int, correlation: float = 0.0) -> np.ndarray:
        """Return noise, white or with neighbors that correlate."""
        drive = np.random.default_rng(seed).standard_normal(self.tau.shape)
        drive *= np.sqrt(1.0 - correlation**2)
        for k in range(1, len(drive)):
            drive[k] += correlation * drive[k - 1]
        return self.noise * drive

    def problem(self, noise: np.ndarray) -> LinearProblem:
        """Return the linear problem with noise on the torque."""
        y = (self.tau + noise).ravel()
        return LinearProblem(self.W, y, self.basis, self.robot.joint_names, 1.0 / RATE, self.robot)

    def motion(self, tau: np.ndarray) -> Motion:
        """Return the exact motion with measured torques."""
        return Motion(self.t, *self.state, tau, self.robot.joint_names)


def coverage(name: str, data: Data, correlation: float) -> None:
    """Print how often the intervals hold the truth."""
    hits: dict[str, list[np.ndarray]] = {"blocks": [], "white": []}
    spent = dict.fromkeys(hits, 0.0)
    for seed in range(SEEDS):
        problem = data.problem(data.draw(seed, correlation))
        estimate = WeightedLeastSquares().fit(problem, np.random.default_rng(0))
        for kind, found in hits.items():
            began = time.perf_counter()
            intervals = confidence_intervals(problem, estimate, residuals=kind)
            spent[kind] += time.perf_counter() - began
            found.append(intervals.covers(data.beta))
    for kind, found in hits.items():
        each = np.mean(found, axis=0)
        print(
            f"{name:8} {'white' if not correlation else 'AR(1)':6} {kind:7} {np.mean(found):7.1%} "
            f"{each.min():7.1%} {each.max():7.1%} {1e3 * spent[kind] / SEEDS:8.1f}"
        )


def nonlinear(data: Data) -> None:
    """Print errors of eps, payload and torque constants."""
    robot, basis = data.robot, data.basis
    wrong = set_eps(robot, 2.0 * robot.eps)
    eps, linear, mass, gains = [], [], [], []
    for seed in range(FEW):
        motion = data.motion(data.tau + 0.3 * data.draw(seed))
        fit = estimate_eps(motion, wrong, basis)
        problem = data.problem(0.3 * data.draw(seed))
        known = WeightedLeastSquares().fit(problem, np.random.default_rng(0))
        eps.append(fit.eps / robot.eps - 1.0)
        linear.append(
            [(fit.estimate.beta - data.beta) / known.std, (known.beta - data.beta) / known.std]
        )
        loaded = joint_torque(robot.with_payload(2.0, COM), *data.state)
        pair = [
            data.motion(tau + 0.3 * data.draw(seed + 1000 * k))
            for k, tau in enumerate((data.tau, loaded))
        ]
        mass.append(estimate_payload(*pair, robot, basis).mass / 2.0 - 1.0)
        true = 1.0 + np.random.default_rng(seed).choice([-0.05, 0.05], robot.dof)
        pair = [data.motion(m.tau / true) for m in pair]
        load = payload_parameters(robot, 2.0, COM)
        gains.append(estimate_torque_constants(*pair, load, robot, basis).gains / true - 1.0)
    found, known_errors = np.sqrt(np.square(linear).mean(axis=(0, 2)))
    print(f"\n{robot.name}, torque noise 0.3 %, {FEW} seeds; rms and largest error")
    print(f"eps from twice its value: {rms(eps):.2%} {np.abs(eps).max():.2%} (target 6 %)")
    print(f"linear parameters beside it / known: {found / known_errors:.3f} (target 1.3)")
    print(f"payload of 2 kg: {rms(mass):.3%} {np.abs(mass).max():.3%} (target 2 %)")
    print(f"torque constants off by 5 %: {rms(gains):.3%} {np.abs(gains).max():.3%} (target 1 %)")


def rms(x: list[np.ndarray] | list[float]) -> float:
    """Return the root mean square of all numbers."""
    return float(np.sqrt(np.square(x).mean()))


def main() -> None:
    """Print both tables."""
    head = f"{'robot':8} {'noise':6} {'cov.':7} {'pooled':>7} {'least':>7} {'most':>7} {'ms':>8}"
    print(f"coverage of 95 % intervals, {SEEDS} seeds\n{head}")
    for name, robot in (("2r", Robot.from_urdf(PLANAR)), ("irb140", load_robot("irb140"))):
        data = Data(robot)
        for correlation in (0.0, 0.5):
            coverage(name, data, correlation)
    nonlinear(data)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
