"""Physically consistent fit of 100 noisy problems on chains of 3 and of 6 links.

Every problem has a random robot (bodies, friction and rotors wrong by up to 50 %), a nominal model
20 % from it and 150 random states with torque noise of 5 % of each joint's RMS torque. The chains
are a SCARA without its wrist and the catalog's irb140. A fit is timed as a whole: reduction of the
rows, weighted least squares with its covariance, cone program. The smallest eigenvalue is that of
all pseudo-inertias, scaled to the nominal's mass and radius of gyration.

Run as ``python bench/consistent.py``.
"""

import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.dynamics.dynamics import joint_torque, torque_regressor
from robotid_sim.estimation.cone_program import CONE_MARGIN
from robotid_sim.estimation.consistent import Consistent
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.model import inertia, parameters
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.perturb import perturb
from robotid_sim.model.robot import Robot

PROBLEMS = 100
SAMPLES = 150
NOISES = (0.05, 0.01, 0.001)
TARGETS = {3: 10.0, 6: 40.0}  # [ms]
SCARA = Path(__file__).parents[1] / "tests" / "data" / "scara.urdf"


def problems(robot: Robot, basis: BaseParameters, noise: float) -> list[LinearProblem]:
    """Return the noisy problems of random robots with the kinematics of one."""
    rng = np.random.default_rng(0)
    shape = (SAMPLES, robot.dof)
    q = rng.uniform(robot.limits.lower, robot.limits.upper, shape)
    dq, ddq = rng.uniform(-2.0, 2.0, shape), rng.uniform(-5.0, 5.0, shape)
    W = torque_regressor(robot, q, dq, ddq, basis.columns).reshape(-1, basis.rank)
    made = []
    for seed in range(PROBLEMS):
        draws = np.random.default_rng(seed)
        plant = perturb(robot, draws, scale=0.5)
        tau = joint_torque(plant, q, dq, ddq)
        size = noise * np.sqrt((tau**2).mean(axis=0))
        y = (tau + size * draws.standard_normal(shape)).ravel()
        nominal = perturb(plant, draws)
        made.append(LinearProblem(W, y, basis, robot.joint_names, 0.1, nominal))
    return made


def smallest_eigenvalue(phi: np.ndarray, nominal: Robot) -> float:
    """Return that of all pseudo-inertias, scaled to unit mass and radius of gyration."""
    least = np.inf
    for k in range(nominal.dof):
        body = parameters.inertial_slice(k)
        start = nominal.parameters()[body]
        radius = np.sqrt(0.5 * np.trace(inertia.inertia_matrix(start)) / start[0])
        T = np.diag([1.0 / radius] * 3 + [1.0]) / np.sqrt(start[0])
        J = T @ inertia.pseudo_inertia(phi[body]) @ T
        least = min(least, float(np.linalg.eigvalsh(J)[0]))
    return least


def main() -> None:
    """Fit all problems, print a table."""
    print(f"{PROBLEMS} problems each; eigenvalues are to be at least {CONE_MARGIN:g}")
    print(
        f"{'links':>5} {'noise':>6} {'solved':>7} {'ms/fit':>7} {'worst':>6} {'of it WLS':>9}",
        end="",
    )
    print(f" {'smallest eigenvalue':>20} {'target ms':>9}")
    for robot in (Robot.from_urdf(SCARA, tip="quill"), load_robot("irb140")):
        basis = base_parameters(robot)
        for noise in NOISES:
            times, plain, least, solved = [], [], np.inf, 0
            for k, problem in enumerate(problems(robot, basis, noise)):
                rng = np.random.default_rng(k)
                began = time.perf_counter()
                estimate = Consistent().fit(problem, rng)
                times.append(1e3 * (time.perf_counter() - began))
                began = time.perf_counter()
                WeightedLeastSquares().fit(problem, rng)
                plain.append(1e3 * (time.perf_counter() - began))
                solved += estimate.success
                if estimate.phi is not None:
                    assert problem.nominal is not None
                    least = min(least, smallest_eigenvalue(estimate.phi, problem.nominal))
            print(
                f"{robot.dof:5} {noise:6.1%} {solved:7} {np.median(times):7.1f} {max(times):6.1f} "
                f"{np.median(plain):9.1f} {least:20.2e} {TARGETS[robot.dof]:9.0f}"
            )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
