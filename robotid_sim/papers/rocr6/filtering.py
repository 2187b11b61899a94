"""Whether the filters of the torque change the estimate: the same logs, filtered in every way."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.estimation.least_squares import noise_std
from robotid_sim.estimation.problem import LinearProblem, build_problem
from robotid_sim.estimation.reduction import reduce_rows
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.catalog import published_plant
from robotid_sim.model.robot import Robot
from robotid_sim.papers.driving import LOW_PASS
from robotid_sim.papers.rocr6 import cell
from robotid_sim.papers.rocr6.excitation import nominal_six, trajectory_of
from robotid_sim.papers.rocr6.model import ROBOT
from robotid_sim.preprocess.kalman_torque import kalman_torque, likelihood_gain
from robotid_sim.validation.prediction import rms

ROUNDS = 2
"""How often weighted least squares estimates its weights anew."""
RECURSION = "Kalman, recursion"
"""Name of the full recursion of eq. (27)-(31), beside the steady gain of ``Kalman``."""
UNIDENTIFIED = "nominal model, not identified"
RECURSIVE_RUNS = 6
"""Runs in which the recursion, which is slow, stands beside the steady gain."""
NEAR = 0.01
"""Relative distance from the steady gain at which the recursion counts as steady."""


def estimates(
    excitation: Mapping[str, Any], verification: Mapping[str, Any], seed: int, runs: int
) -> dict[str, Any]:
    """Estimate six joints by weighted least squares from torques that are filtered in every way.

    The engine is run once a trajectory; every run draws the noise of the sensors afresh, as
    `cell.experiment` does, and all filters have the same log. Errors are RMS differences of the
    predicted torque from the true one along the noise-free verification trajectory [N m].
    """
    plant, nominal = published_plant(ROBOT), nominal_six(seed)
    basis = base_parameters(nominal, cell.PARAMETERS)
    clean = cell.driven(plant, nominal, trajectory_of(excitation))
    unseen = exact_problem(cell.driven(plant, nominal, trajectory_of(verification)), nominal, basis)
    true = basis.of(plant.parameters())
    runs_of: dict[str, list[list[float]]] = {}
    transients = []
    for run in range(runs):
        log = cell.with_noise(clean, plant, seed, f"excitation, run {run}")
        motion = LOW_PASS(log, nominal)
        filtered = cell.filtered_torques(log, motion, nominal)
        if run < RECURSIVE_RUNS:
            filtered[RECURSION], lengths = recursion(log, motion, nominal)
            transients.append(lengths)
        for name, tau in filtered.items():
            problem = build_problem(cell.rows_of(log, motion, tau), nominal, basis)
            error = torque_rms(unseen, weighted(problem) - true)
            runs_of.setdefault(name, []).append(error)
    left = torque_rms(unseen, basis.of(nominal.parameters()) - true)
    errors = {**runs_of, UNIDENTIFIED: [left]}
    rows = {name: {"runs": [{"errors": run} for run in of]} for name, of in errors.items()}
    torque = {"transients": transients, "nominal": left, "torque": torque_rms(unseen, true)}
    return {"studies": {"filtered": {"methods": rows}, "unseen": torque}}


def recursion(log: Log, motion: Motion, nominal: Robot) -> tuple[Float2D, list[int]]:
    """Return the torques by the recursion, and the samples until its gains are steady, by joint.

    It begins with the first sample that is used, so that its transient is in the data; the samples
    before are those of the steady gain.
    """
    u = joint_torque(nominal, motion.q, motion.dq, motion.ddq)
    started = log.t >= -0.5 * log.dt
    filtered, lengths = np.empty_like(u), []
    for j, (z, v) in enumerate(zip(log.tau_meas.T, u.T, strict=True)):
        gain = likelihood_gain(z, v)
        filtered[:, j] = kalman_torque(z, v, gain)
        filtered[started, j], K = recursive_kalman(z[started], v[started], gain)
        lengths.append(int(np.argmax(np.abs(K / gain - 1.0) <= NEAR)))
    return filtered, lengths


def recursive_kalman(z: Float1D, u: Float1D, gain: float) -> tuple[Float1D, Float1D]:
    r"""Return the Kalman estimate of a torque by the recursion of eq. (27)-(31), and its gains.

    The state is the torque, A = H = 1, and the input is the increment of the predicted torque u.
    It starts at the first measurement, with its covariance, and Q follows from R and the steady
    gain K, :math:`Q / R = K^2 / (1 - K)`; covariances are in units of R. Shapes (N,).
    """
    Q = gain**2 / (1.0 - gain)
    x, K = np.empty_like(z), np.empty_like(z)
    x[0], K[0], P = z[0], 1.0, 1.0
    for k in range(1, z.size):
        predicted, spread = x[k - 1] + u[k] - u[k - 1], P + Q  # eq. (27), (28)
        K[k] = spread / (spread + 1.0)  # eq. (31)
        x[k] = predicted + K[k] * (z[k] - predicted)  # eq. (29)
        P = (1.0 - K[k]) * spread  # eq. (30)
    return x, K


def exact_problem(log: Log, nominal: Robot, basis: BaseParameters) -> LinearProblem:
    """Return the problem of a log's true motion and torque, at the samples that are used."""
    truth = log.truth
    assert truth is not None
    used = cell.used_samples(log)
    exact = Motion(log.t, truth.q, truth.dq, truth.ddq, truth.tau, nominal.joint_names, mask=used)
    return build_problem(exact, nominal, basis)


def weighted(problem: LinearProblem) -> Float1D:
    """Return the weighted least-squares estimate, shape (b,), without its covariance."""
    reduction = reduce_rows(problem)
    beta, _ = reduction.solve(np.ones(problem.dof))
    for _ in range(ROUNDS):
        beta, _ = reduction.solve(1.0 / noise_std(reduction, beta, beta.size))
    return beta


def torque_rms(problem: LinearProblem, difference: Float1D) -> list[float]:
    """Return the RMS torque that a difference of parameters makes, joint by joint [N m]."""
    torques: list[float] = rms(problem.by_joint(problem.W @ difference)).tolist()
    return torques
