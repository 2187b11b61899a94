"""What FIGAROH and Pinocchio make of a log, in an environment of their own: see bench/peers.py.

Run by it as ``python peers_inside.py FOLDER``, once a world of friction; prints JSON. Knows nothing
of robotid_sim.
"""

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pinocchio
import scipy
from scipy.signal import butter, decimate, filtfilt

CUTOFF, ORDER = 25.0, 4
"""Low-pass of the positions [Hz] before they are differenced, and its order."""
DECIMATION = 10
"""Rows and torques alike pass `scipy.signal.decimate` by this factor, twice."""
TRIM = 500
"""Samples dropped at both ends."""
MOVING = 0.1
"""Least speed of a joint where its torque is compared [rad/s]: at rest friction laws differ."""
FULL = {"has_friction": True, "has_actuator_inertia": True, "has_joint_offset": False}

Regressor = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def timed(function: Callable[[], object]) -> tuple[float, object]:
    """Return the CPU seconds of a call and what it returns."""
    began = time.process_time()
    result = function()
    return time.process_time() - began, result


def motion_of(log: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
    """Return state and torque of a log at the times where the torque acts."""
    t = log["t"]
    dt = float(t[1] - t[0])
    q = filtfilt(*butter(ORDER, 2.0 * CUTOFF * dt), log["q"], axis=0)
    dq = np.gradient(q, dt, axis=0)
    ddq = np.gradient(dq, dt, axis=0)
    at = t + float(log["offset"])
    state = [np.stack([np.interp(at, t, x) for x in s.T], axis=1) for s in (q, dq, ddq)]
    return tuple(x[TRIM:-TRIM] for x in (*state, log["tau"]))


def parallel(x: np.ndarray) -> np.ndarray:
    """Return a signal low-passed and decimated, as regressor and torque both are."""
    for _ in range(2):
        x = decimate(x, DECIMATION, axis=0, zero_phase=True)
    return x


def sign(dq: np.ndarray, eps: np.ndarray) -> np.ndarray:
    """Return the smooth sign of velocities; the true one where a transition velocity is zero."""
    return np.where(eps > 0.0, np.tanh(dq / np.where(eps > 0.0, eps, 1.0)), np.sign(dq))


def pinocchio_regressor(model: pinocchio.Model, eps: np.ndarray) -> Regressor:
    """Return a loop over Pinocchio's regressor with columns of friction and rotors."""
    data = model.createData()

    def regressor(q: np.ndarray, dq: np.ndarray, ddq: np.ndarray) -> np.ndarray:
        n = model.nv
        W = np.zeros((len(q), n, 13 * n))
        for k in range(len(q)):
            W[k, :, : 10 * n] = pinocchio.computeJointTorqueRegressor(
                model, data, q[k], dq[k], ddq[k]
            )
        own = np.arange(n)
        for c, x in enumerate((dq, sign(dq, eps), ddq)):
            W[:, own, 10 * n + c * n + own] = x
        return W.transpose(1, 0, 2).reshape(-1, 13 * n)

    return regressor


def pinocchio_base(W: np.ndarray) -> np.ndarray:
    """Return the columns of base parameters by QR with column pivoting."""
    R, order = scipy.linalg.qr(W, mode="r", pivoting=True)
    size = np.abs(np.diag(R))
    return np.sort(order[: (size > 1e-8 * size[0]).sum()])


def figaroh_tools(
    urdf: str, eps: np.ndarray
) -> tuple[Regressor, Callable[[np.ndarray], np.ndarray]]:
    """Return FIGAROH's regressor, and its choice of base columns, for a robot.

    Its column of Coulomb friction is a true sign; where that of the plant is smooth, its user would
    put the smooth one in place, as is done here.
    """
    from figaroh.tools.qrdecomposition import get_baseIndex
    from figaroh.tools.regressor import build_regressor_basic, get_index_eliminate
    from figaroh.tools.robot import Robot

    robot = Robot(urdf, package_dirs=str(Path(urdf).parent))
    every = list(range(robot.model.nv))
    config = {"is_joint_torques": True, "act_idxq": every, "act_idxv": every, **FULL}

    def regressor(q: np.ndarray, dq: np.ndarray, ddq: np.ndarray) -> np.ndarray:
        W = build_regressor_basic(robot, q, dq, ddq, config)
        n = robot.model.nv
        rows = W.reshape(n, len(q), -1)  # joint by joint
        for j, column in enumerate(sign(dq, eps).T):
            rows[j, :, 11 * n + j] = column
        return W

    def base(W: np.ndarray) -> np.ndarray:
        names = {str(k): 0.0 for k in range(W.shape[1])}
        _, kept = get_index_eliminate(W, names)
        kept = np.array([int(k) for k in kept])
        return kept[list(get_baseIndex(W[:, kept], [str(k) for k in kept]))]

    return regressor, base


def weighted_fit(W: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Return the least-squares solution, joints weighed by their residuals; rows joint by joint."""
    y = tau.T.ravel()
    beta = np.linalg.lstsq(W, y, rcond=None)[0]
    sigma = np.sqrt(((y - W @ beta).reshape(tau.shape[1], -1) ** 2).mean(axis=1))
    scale = np.repeat(1.0 / sigma, len(tau))
    return np.linalg.lstsq(W * scale[:, None], y * scale, rcond=None)[0]


def figures(
    regressor: Regressor, base: Callable[[np.ndarray], np.ndarray], data: dict[str, dict]
) -> dict[str, float]:
    """Return times and errors of a tool."""
    states, unseen = ([data[name][x] for x in ("q", "dq", "ddq")] for name in ("states", "unseen"))
    regressor(*(x[:10] for x in states))
    seconds, W = timed(lambda: regressor(*states))
    base_seconds, columns = timed(lambda: base(W))

    def identify() -> np.ndarray:
        q, dq, ddq, tau = motion_of(data["log"])
        rows = regressor(q, dq, ddq)[:, columns].reshape(q.shape[1], len(q), -1)
        rows = np.concatenate([parallel(own) for own in rows])
        return weighted_fit(rows, parallel(tau))

    whole, beta = timed(identify)
    exact = np.linalg.lstsq(W[:, columns], data["states"]["tau"].T.ravel(), rcond=None)[0]
    tau = data["unseen"]["tau"]
    predicted = (regressor(*unseen)[:, columns] @ beta).reshape(tau.shape[1], -1).T
    return {
        "regressor": 1e6 * seconds / len(states[0]),
        "base": base_seconds,
        "whole": whole,
        "parameters": len(columns),
        "torque_error": torque_error(predicted, tau, unseen[1]),
        "parameter_error": parameter_error(W[:, columns], beta, exact),
    }


def torque_error(predicted: np.ndarray, tau: np.ndarray, dq: np.ndarray) -> float:
    """Return the RMS error over the RMS torque of the worst joint, where joints move."""
    moving = np.abs(dq) >= MOVING
    squares = (np.where(moving, x, 0.0) ** 2 for x in (predicted - tau, tau))
    error, size = (square.sum(axis=0) for square in squares)
    return float(np.sqrt(error / size).max())


def parameter_error(W: np.ndarray, beta: np.ndarray, exact: np.ndarray) -> float:
    """Return the median relative error of the parameters that matter.

    These are base parameters whose torque is at least a hundredth of the largest one's.
    """
    size = np.abs(exact) * np.sqrt((W**2).mean(axis=0))
    use = size > 0.01 * size.max()
    return float(np.median(np.abs(beta - exact)[use] / np.abs(exact)[use]))


def main() -> None:
    """Print what both tools do with the files in a folder."""
    folder = Path(sys.argv[1])
    data = {name: dict(np.load(folder / f"{name}.npz")) for name in ("log", "states", "unseen")}
    urdf = str(folder / "robot.urdf")
    eps = data["log"]["eps"]
    results: dict[str, object] = {"pinocchio": {"version": pinocchio.__version__}}
    model = pinocchio.buildModelFromUrdf(urdf)
    results["pinocchio"] |= figures(pinocchio_regressor(model, eps), pinocchio_base, data)
    if find_spec("cyipopt") is None:
        results["design"] = "cyipopt is missing"
    try:
        results["figaroh"] = {"version": version("figaroh")}
        results["figaroh"] |= figures(*figaroh_tools(urdf, eps), data)
    except Exception as error:  # whatever it is, the table says it
        results["figaroh"] = {"failed": f"{type(error).__name__}: {error}"}
    print(json.dumps(results))


if __name__ == "__main__":
    main()
