"""The experiment on all six joints: engine, sensors, preprocessing, estimates, verification.

The effect of torque filters on the estimate is tested with equal logs and all filters, the effect
of the identified models on a controller by tracking in the engine.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robotid_sim.arrays import Float1D, Float2D, rms
from robotid_sim.chart import sample_evenly
from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.engine.engines import default_engine, use_engine
from robotid_sim.estimation import ESTIMATORS
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem, build_problem
from robotid_sim.measurement.log import Log, Truth
from robotid_sim.measurement.motion import Motion
from robotid_sim.measurement.sensors import measure
from robotid_sim.model.catalog import make_published_plant
from robotid_sim.model.robot import Robot
from robotid_sim.optim.minimize import load_setting
from robotid_sim.papers.driving import LOW_PASS_FILTER, FunctionPath, drive, make_sensors
from robotid_sim.papers.rocr6.model import (
    BOX_HALF_WIDTH,
    CLAMP_OPTIONS,
    ROBOT_NAME,
    TABLE_3,
    nominal_six,
    sample_times,
    trajectory_of,
)
from robotid_sim.preprocess.kalman_torque import five_point_cubic, kalman_torque, likelihood_gain
from robotid_sim.streams import make_stream
from robotid_sim.trajectory.reference import Trajectory

CELL_RATE = 1000.0
"""Rate of the cell [Hz]."""
DECIMATION_FACTOR = 10
"""Decimation of the 20,000 samples."""
JOINT_SYMBOLS = ("Fv", "Fc", "Ia")
"""Joint parameters of the fit; the wrist of the catalog has rotor inertia, unlike the paper."""
TORQUE_NOISE = TABLE_3["WLS-RWPSO"]
"""Torque noise due to current noise [N m], chosen like the residuals of Table 3."""
PEAK_CURRENT = 10.0
"""Motor current at the effort limit [A]; assumed, without effect on the results."""
REVERSAL_SPEED = 0.1
"""Speed below which friction changes its sign [rad/s]."""
MAX_CURVE_SAMPLES = 300
"""Largest number of samples of a curve."""

_SWARM_OPTIONS = {
    "fraction": BOX_HALF_WIDTH,
    "spread": 1e-9,
    "evaluations": load_setting("tang-2023-pso").max_evals,
}
_PSO_OPTIONS = {
    **_SWARM_OPTIONS,
    "options": {**load_setting("tang-2023-pso").options, **CLAMP_OPTIONS},
}
_RWPSO_OPTIONS = {
    **_SWARM_OPTIONS,
    "options": {**load_setting("tang-2023-rwpso").options, **CLAMP_OPTIONS},
}

METHOD_SETTINGS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "LS-PSO": ("ls-pso", _PSO_OPTIONS),
    "WLS-PSO": ("wls-pso", _PSO_OPTIONS),
    "WLS-RWPSO": ("wls-rwpso", _RWPSO_OPTIONS),
    "LS": ("ols", {}),
    "WLS": ("wls", {}),
    "consistent": ("consistent", {}),
}
"""Estimators with options, by their names on the page; the paper has the first three."""


def experiment(
    excitation: Mapping[str, Any], verification: Mapping[str, Any], seed: int, run: int
) -> dict[str, Any]:
    """Run the experiment of the paper once in the engine, and all estimators with its logs.

    Trajectories are of six joints, as JSON values; noise and searches depend on the run.
    """
    plant, nominal = make_published_plant(ROBOT_NAME), nominal_six(seed)
    logs = [
        add_noise(clean, plant, seed, f"{name}, run {run}")
        for name, clean in zip(
            ("excitation", "verification"), clean_logs(seed, excitation, verification), strict=True
        )
    ]
    motions = [LOW_PASS_FILTER(log, nominal) for log in logs]
    filtered = [filter_torques(log, m, nominal) for log, m in zip(logs, motions, strict=True)]
    basis = base_parameters(nominal, JOINT_SYMBOLS)
    problem, unseen = (
        build_problem(rows_of(log, motion, torques["Kalman"]), nominal, basis)
        for log, motion, torques in zip(logs, motions, filtered, strict=True)
    )
    estimates = {
        name: _estimate(name, problem, unseen, logs[1], seed, run) for name in METHOD_SETTINGS
    }
    studies: dict[str, Any] = {"six joints": {"methods": estimates}}
    studies |= filter_errors(logs[0], filtered[0])
    if run == 0:
        true = basis.project(plant.parameters()).tolist()
        first_run = {"true": true, "names": list(basis.names), "units": list(basis.units)}
        curves = _curves(logs[0], filtered[0], estimates, problem, unseen)
        studies |= {"first run": first_run, **curves}
    return {"studies": studies}


@lru_cache(maxsize=2)
def clean_log(seed: int, trajectory: str, engine: str) -> Log:
    """Drive the plant along a trajectory as JSON, without sensors, once for all runs."""
    path, law = trajectory_of(json.loads(trajectory)), ComputedTorque(nominal_six(seed))
    with use_engine(engine):
        return drive(make_published_plant(ROBOT_NAME), path, CELL_RATE, law)


def clean_logs(seed: int, *trajectories: Mapping[str, Any]) -> list[Log]:
    """Return the logs of trajectories in the engine of the trial."""
    return [clean_log(seed, json.dumps(each), default_engine()) for each in trajectories]


def add_noise(clean: Log, plant: Robot, seed: int, stream: str) -> Log:
    """Add the noise of encoders and motor currents to a log."""
    constant = plant.limits.effort / PEAK_CURRENT
    current = {
        "torque_constant": tuple(constant.tolist()),
        "noise": tuple((np.array(TORQUE_NOISE) / constant).tolist()),
    }
    sensors = make_sensors("motor-current", error_std=0.0, **current)
    return measure(clean, sensors, make_stream(seed, ROBOT_NAME, "sensors", stream))


def filter_torques(log: Log, motion: Motion, nominal: Robot) -> dict[str, Float2D]:
    """Return the unfiltered torque, and the torque of both filters of Figure 2.

    The input of the Kalman filter is the torque of the nominal model, eq. (25)-(31); the gain of
    every joint maximizes the likelihood, because Q and R are not printed.
    """
    u = joint_torque(nominal, motion.q, motion.dq, motion.ddq)
    columns = [
        kalman_torque(z, v, likelihood_gain(z, v)) for z, v in zip(log.tau_meas.T, u.T, strict=True)
    ]
    return {
        "raw": log.tau_meas,
        "five-point": five_point_cubic(log.tau_meas),
        "Kalman": np.column_stack(columns),
    }


def rows_of(log: Log, state: Motion | Truth, tau: Float2D) -> Motion:
    """Return the motion of a log with the torque `tau` and a mask of 2000 samples."""
    used = select_samples(log)
    return Motion(log.t, state.q, state.dq, state.ddq, tau, log.joint_names, mask=used)


def select_samples(log: Log) -> NDArray[np.bool_]:
    """Select every tenth sample of a log from its start on, as a mask of shape (N,)."""
    started = log.t >= -0.5 * log.dt
    return np.asarray(started & (np.round(log.t / log.dt) % DECIMATION_FACTOR == 0))


def filter_errors(log: Log, torques: Mapping[str, Float2D]) -> dict[str, Any]:
    """Measure the RMS error of filtered torques, per joint [N m].

    It is taken over all samples, over samples in motion, and near reversals.
    """
    assert log.truth is not None
    moving = np.abs(log.truth.dq) >= REVERSAL_SPEED
    masks = {"smooth": moving, "reversals": ~moving, "all": np.ones_like(moving)}
    squares = {name: (tau - log.truth.tau) ** 2 for name, tau in torques.items()}
    return {
        f"filters {where}": {
            "methods": {
                name: {"rms": np.sqrt(values.mean(axis=0, where=mask)).tolist()}
                for name, values in squares.items()
            }
        }
        for where, mask in masks.items()
    }


def _estimate(
    method: str, problem: LinearProblem, unseen: LinearProblem, log: Log, seed: int, run: int
) -> dict[str, Any]:
    """Estimate once; compute the RMS of measured and of true minus predicted torque [N m]."""
    estimator, options = METHOD_SETTINGS[method]
    rng = make_stream(seed, ROBOT_NAME, "estimate", method, f"run {run}")
    fit = ESTIMATORS.build(estimator, **options).fit(problem, rng)
    predicted, used = unseen.unstack_rows(unseen.W @ fit.beta), select_samples(log)
    assert log.truth is not None
    return {
        "parameters": fit.beta.tolist(),
        "evaluations": int(fit.nfev or 0) if "PSO" in method else 0,
        "measured_rms": rms(log.tau_meas[used] - predicted).tolist(),
        "true_rms": rms(log.truth.tau[used] - predicted).tolist(),
    }


def _curves(
    log: Log,
    filtered: Mapping[str, Float2D],
    estimates: Mapping[str, Mapping[str, Any]],
    *problems: LinearProblem,
) -> dict[str, Any]:
    """Compute the curves of Figures 2, 6 and 8 with reduced samples."""
    assert log.truth is not None
    window = (log.t >= 0.0) & (log.t < 2.0)
    torques = {"true": log.truth.tau, **filtered}
    curves = {"filters": (log.t[window], {name: tau[window] for name, tau in torques.items()})}
    for name, problem in zip(("excitation", "verification"), problems, strict=True):
        predicted = {m: problem.W @ np.array(row["parameters"]) for m, row in estimates.items()}
        torques = {
            m: problem.unstack_rows(y) for m, y in {"measured": problem.y, **predicted}.items()
        }
        curves[name] = (sample_times(), torques)
    rows = {}
    for name, (t, by_method) in curves.items():
        shown = sample_evenly(t.size, MAX_CURVE_SAMPLES)
        methods = {
            m: {"t": t[shown].tolist(), "torque": tau[shown].T.tolist()}
            for m, tau in by_method.items()
        }
        rows[f"{name} curves"] = {"methods": methods}
    return rows


RECURSION_NAME = "Kalman, recursion"
"""Name of the full recursion of eq. (27)-(31); ``Kalman`` has the steady gain."""
NOMINAL_NAME = "nominal model, not identified"
RECURSIVE_RUNS = 6
"""Number of runs with the slow recursion."""
GAIN_TOLERANCE = 0.01
"""Largest relative deviation from the steady gain at which a recursion counts as steady."""


def estimate_by_filter(
    excitation: Mapping[str, Any], verification: Mapping[str, Any], seed: int, runs: int
) -> dict[str, Any]:
    """Estimate six joints by weighted least squares with every torque filter.

    The engine is run once per trajectory; every run has new sensor noise, as in `experiment`, and
    all filters have the same log. Errors are RMS differences of predicted and true torque along the
    noise-free verification trajectory [N m].
    """
    plant, nominal = make_published_plant(ROBOT_NAME), nominal_six(seed)
    basis = base_parameters(nominal, JOINT_SYMBOLS)
    clean, other = clean_logs(seed, excitation, verification)
    unseen = exact_problem(other, nominal, basis)
    true = basis.project(plant.parameters())
    runs_of: dict[str, list[list[float]]] = {}
    transients = []
    for run in range(runs):
        log = add_noise(clean, plant, seed, f"excitation, run {run}")
        motion = LOW_PASS_FILTER(log, nominal)
        filtered = filter_torques(log, motion, nominal)
        if run < RECURSIVE_RUNS:
            filtered[RECURSION_NAME], lengths = recursion(log, motion, nominal)
            transients.append(lengths)
        for name, tau in filtered.items():
            fit = WeightedLeastSquares(rounds=2).fit(
                build_problem(rows_of(log, motion, tau), nominal, basis)
            )
            runs_of.setdefault(name, []).append(torque_rms(unseen, fit.beta - true))
    nominal_rms = torque_rms(unseen, basis.project(nominal.parameters()) - true)
    errors = {**runs_of, NOMINAL_NAME: [nominal_rms]}
    rows = {name: {"runs": [{"errors": run} for run in runs]} for name, runs in errors.items()}
    torque = {"transients": transients, "nominal": nominal_rms, "torque": torque_rms(unseen, true)}
    return {"studies": {"filtered": {"methods": rows}, "unseen": torque}}


def recursion(log: Log, motion: Motion, nominal: Robot) -> tuple[Float2D, list[int]]:
    """Filter torques by the recursion; return them, and the settling time of each gain in samples.

    It starts at the first used sample, so that its transient is in the data; samples before have
    the steady gain.
    """
    u = joint_torque(nominal, motion.q, motion.dq, motion.ddq)
    started = log.t >= -0.5 * log.dt
    filtered, lengths = np.empty_like(u), []
    for j, (z, v) in enumerate(zip(log.tau_meas.T, u.T, strict=True)):
        gain = likelihood_gain(z, v)
        filtered[:, j] = kalman_torque(z, v, gain)
        filtered[started, j], K = recursive_kalman(z[started], v[started], gain)
        lengths.append(int(np.argmax(np.abs(K / gain - 1.0) <= GAIN_TOLERANCE)))
    return filtered, lengths


def recursive_kalman(z: Float1D, u: Float1D, gain: float) -> tuple[Float1D, Float1D]:
    r"""Compute the Kalman estimate of a torque by the recursion of eq. (27)-(31), and its gains.

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
    """Build the problem of the true motion and torque of a log, at the used samples."""
    assert log.truth is not None
    return build_problem(rows_of(log, log.truth, log.truth.tau), nominal, basis)


def torque_rms(problem: LinearProblem, difference: Float1D) -> list[float]:
    """Compute the RMS torque of a difference of parameters, by joint [N m]."""
    torques: list[float] = rms(problem.unstack_rows(problem.W @ difference)).tolist()
    return torques


TRACKED_TIME = 4.0
"""Tracked part of the verification trajectory [s], after the start from rest."""
LOOP_GAINS = (400.0, 40.0)
"""Gains kp, kd of computed torque [1/s^2, 1/s]: 20 rad/s, so that the model has an effect."""
CURVE_STEP = 5
"""Decimation of the samples of a displayed error."""


def track(
    estimates: Mapping[str, list[float]], verification: Mapping[str, Any], seed: int, run: int
) -> dict[str, Any]:
    """Track an unseen trajectory with the estimates of one run as models of the controller.

    Computed torque has the same gains for all models; the plant is the true robot. An empty
    estimate means the nominal model, or the true one with the name ``true``. Curves are stored for
    the first two runs.
    """
    plant, nominal = make_published_plant(ROBOT_NAME), nominal_six(seed)
    basis = base_parameters(nominal, JOINT_SYMBOLS)
    whole = trajectory_of(verification)
    path = FunctionPath(whole.joint_names, whole, TRACKED_TIME, whole.start)
    phi = nominal.parameters()
    models = {
        name: nominal.with_parameters(basis.complete(np.array(beta), phi), formal=True)
        if beta
        else {"true": plant}.get(name, nominal)
        for name, beta in estimates.items()
    }
    runs = {name: measure_tracking(plant, model, path) for name, model in models.items()}
    if run > 1:
        for result in runs.values():
            del result["curve"]
    return {"methods": runs}


def measure_tracking(plant: Robot, model: Robot, path: Trajectory) -> dict[str, Any]:
    """Measure the tracking errors of a controller with a model, by joint [rad]."""
    log = drive(plant, path, CELL_RATE, ComputedTorque(model, *LOOP_GAINS))
    truth = log.truth
    assert truth is not None
    later = log.t >= 0.0
    error = (truth.q - path(log.t).q)[later]
    rate = np.diff(truth.tau[later], axis=0) * CELL_RATE
    return {
        "rms": rms(error).tolist(),
        "largest": np.abs(error).max(axis=0).tolist(),
        "torque_rate": rms(rate).tolist(),
        "curve": np.round(1e3 * error[::CURVE_STEP], 6).T.tolist(),
    }
