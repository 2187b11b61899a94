"""Kinematics of the ABB IRB 140 as printed in its paper, checked against the URDF's.

The paper's Table 1 is a standard Denavit-Hartenberg table, though its eq. (1)-(2) are the modified
form. The signs of eq. (3) and of the position, most of them missing in print, are chosen to give
the product of the transforms.

The paper checks its kinematics by a network with contradictory statements of input, loss and
architecture. Here a perceptron computes the tool's position from joint angles, without poses with a
singularity index above 1000, which is the effect of the paper's penalty on them.
"""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from robotid_sim.arrays import ArrayLike, Float, Float1D, Float2D
from robotid_sim.errors import MissingExtraError
from robotid_sim.kinematics.forward import tip_jacobian, tip_position
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.robot import Robot
from robotid_sim.papers.irb140.model import PAPER_NAME, ROBOT_NAME, SETTINGS
from robotid_sim.streams import make_stream

DH_TABLE = [(a, np.pi * twist, d, np.pi * turn) for a, twist, d, turn in SETTINGS["table_1"]]
"""Table 1: a [m], alpha [rad], d [m], offset of theta [rad] of every joint, standard convention."""
MAX_SINGULARITY_INDEX = 1000.0
"""Singularity index kappa(J) = |J| |J^-1| above which a pose is excluded (sec. 2.4)."""
HOME_ANGLES = np.array([0.0, 0.0, np.pi, 0.0, 0.0, 0.0])
"""The paper's joint angles at the URDF's zero [rad]; its own zero has the forearm folded back."""
MIN_SINGULAR_VALUE = 1e-12
"""Lower bound of singular values, which keeps the index finite."""


def dh_frames(q: Float2D) -> Float:
    """Compute base and link frames at the paper's joint angles q (N, 6) [rad].

    The product of standard transforms Rz(theta) Tz(d) Tx(a) Rx(alpha), shape (7, N, 4, 4).
    """
    frames = [np.tile(np.eye(4), (len(q), 1, 1))]
    for (a, alpha, d, offset), angle in zip(DH_TABLE, q.T, strict=True):
        c, s, ca, sa = np.cos(angle + offset), np.sin(angle + offset), np.cos(alpha), np.sin(alpha)
        step = np.zeros_like(frames[0])
        step[:, 0] = np.column_stack([c, -s * ca, s * sa, a * c])
        step[:, 1] = np.column_stack([s, c * ca, -c * sa, a * s])
        step[:, 2:] = [[0.0, sa, ca, d], [0.0, 0.0, 0.0, 1.0]]
        frames.append(frames[-1] @ step)
    return np.array(frames)


def position(q: ArrayLike) -> Float1D:
    r"""Compute the tool's position in closed form, shape (..., 3) [m], at the paper's angles [rad].

    With :math:`\tilde q_2 = q_2 + \pi/2`, angle sums in the indices and :math:`a_2 = -0.36` m,

    .. math::

        X &= C_1 (a_1 + a_2 C_{\tilde 2} - d_4 S_{\tilde 2 3})
             - d_6 (C_5 C_1 S_{\tilde 2 3} + S_5 (S_1 S_4 + C_4 C_1 C_{\tilde 2 3})) \\
        Y &= S_1 (a_1 + a_2 C_{\tilde 2} - d_4 S_{\tilde 2 3})
             - d_6 (C_5 S_1 S_{\tilde 2 3} + S_5 (C_4 S_1 C_{\tilde 2 3} - C_1 S_4)) \\
        Z &= d_1 - a_2 S_{\tilde 2} - d_4 C_{\tilde 2 3}
             - d_6 (C_5 C_{\tilde 2 3} - C_4 S_5 S_{\tilde 2 3})
    """
    q1, q2, q3, q4, q5, _ = np.moveaxis(np.asarray(q, dtype=float), -1, 0)
    q2 = q2 + 0.5 * np.pi
    (a1, _, d1, _), (a2, _, _, _), _, (_, _, d4, _), _, (_, _, d6, _) = DH_TABLE
    c1, s1, c4, s4, c5, s5 = np.cos(q1), np.sin(q1), np.cos(q4), np.sin(q4), np.cos(q5), np.sin(q5)
    c23, s23 = np.cos(q2 + q3), np.sin(q2 + q3)
    reach = a1 + a2 * np.cos(q2) - d4 * s23
    x = c1 * reach - d6 * (c5 * c1 * s23 + s5 * (s1 * s4 + c4 * c1 * c23))
    y = s1 * reach - d6 * (c5 * s1 * s23 + s5 * (c4 * s1 * c23 - c1 * s4))
    z = d1 - a2 * np.sin(q2) - d4 * c23 - d6 * (c5 * c23 - c4 * s5 * s23)
    return np.stack([x, y, z], axis=-1)


def jacobian(q: Float2D) -> tuple[Float, Float2D]:
    """Compute Jacobians of eq. (4)-(6) and tool positions [m] at the paper's angles q (N, 6).

    Shapes (N, 6, 6), linear rows first, and (N, 3). Column j is (z x (p - o), z) with axis z and
    origin o of frame j - 1 and the tool's position p.
    """
    frames = dh_frames(q).transpose(1, 0, 2, 3)
    tool, z = frames[:, -1, :3, 3], frames[:, :-1, :3, 2]
    linear = np.cross(z, tool[:, None] - frames[:, :-1, :3, 3])
    return np.concatenate([linear, z], axis=2).transpose(0, 2, 1), tool


def singularity_index(jacobians: Float) -> Float1D:
    """Compute kappa(J) = |J| |J^-1| of Jacobians (N, 6, 6), eq. (32)."""
    values = np.linalg.svd(jacobians, compute_uv=False)
    return np.asarray(values[:, 0] / np.maximum(values[:, -1], MIN_SINGULAR_VALUE))


def compare_with_urdf(seed: int, poses: int) -> dict[str, Any]:
    """Compare the paper's kinematics with the URDF's; the trial of sections 2.1 to 2.4.

    The poses are uniform within the URDF's joint limits. The result has the largest differences of
    the position in closed form [mm], of the Jacobian [m/rad and rad/rad], of the index, relative
    and at poses below `MAX_SINGULARITY_INDEX`; ``kappa`` has minimum, median and maximum of the
    index, ``singular`` the share of poses above the limit.
    """
    robot = load_robot(ROBOT_NAME)
    rng = make_stream(seed, PAPER_NAME, "kinematics")
    q = rng.uniform(robot.limits.lower, robot.limits.upper, (poses, robot.dof))
    paper = jacobian(q + HOME_ANGLES)[0]
    urdf = np.array([tip_jacobian(robot, pose) for pose in q])
    kappa, kappa_urdf = np.linalg.cond(paper), np.linalg.cond(urdf)
    regular = kappa <= MAX_SINGULARITY_INDEX
    difference = position(q + HOME_ANGLES) - tip_position(robot, q)
    return {
        "position": 1e3 * float(np.linalg.norm(difference, axis=1).max()),
        "jacobian": float(np.abs(paper - urdf).max()),
        "kappa": np.quantile(kappa, (0.0, 0.5, 1.0)).tolist(),
        "kappa_difference": float(np.abs(kappa / kappa_urdf - 1.0)[regular].max()),
        "singular": float(1.0 - regular.mean()),
    }


SAMPLE_COUNT = 40_000
VALIDATION_SHARE = 0.2
"""Share of the samples for validation."""
TASK_CENTER = (0.0, 0.3, -0.2, 0.0, 0.8, 0.0)
"""Middle of the task region in the URDF's joint angles [rad]: tool in front, the wrist bent."""
WIDE_SHARE = 0.5
"""Share of every joint's range, about its middle, in the widest region."""
OUTPUT_SCALE = 30.0
"""Largest scaled position. scipy's L-BFGS stops when the loss decreases by less than 2e-9,
an absolute amount for losses below one; outputs in [-1, 1] would stop it at 1.5 mm."""
CHUNK_ITERATIONS = 500
"""Iterations between two evaluations of the validation error."""
PATIENCE_CHUNKS = 2
"""Evaluations without improvement after which training stops."""


NETWORK_SETTINGS: Mapping[str, Mapping[str, Any]] = SETTINGS["networks"]
TASK_NAME = "single-15"
"""Name of the network that is compared with the printed error."""


def require_sklearn() -> None:
    """Raise `MissingExtraError`, with the install command, unless scikit-learn is installed."""
    try:
        import sklearn.neural_network  # noqa: F401 - only to check that it is installed
    except ImportError as error:
        need = "neural kinematics need scikit-learn"
        raise MissingExtraError.from_extra(need, "papers") from error


def train(network: str, seed: int, samples: int, iterations: int, run: int = 0) -> dict[str, Any]:
    """Train a network on its own random poses and first weights; the trial of Figure 12.

    Errors are mean distances [mm], ``worst`` is the largest in validation. ``curve`` has iterations
    and both errors of every evaluation, ``quantiles`` the validation errors at 0, 2, ... 100 %.
    """
    require_sklearn()
    settings = NETWORK_SETTINGS[network]
    rng = make_stream(seed, PAPER_NAME, "network", network, f"run {run}")
    q, xyz, excluded = regular_poses(settings.get("half_width"), samples, rng)
    (inputs, _), (outputs, unit) = _scale(q, 1.0), _scale(xyz, OUTPUT_SCALE)
    cut = round((1.0 - VALIDATION_SHARE) * len(q))
    perceptron = _make_perceptron(settings, iterations, int(rng.integers(2**31)))
    curve: list[list[float]] = []
    best, stall, active = np.inf, 0, True
    while active:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about training that ends before convergence
            perceptron.fit(inputs[:cut], outputs[:cut])
        difference = (perceptron.predict(inputs) - outputs) * (1e3 * unit)
        training, validation = np.split(np.linalg.norm(difference, axis=1), [cut])
        error = float(validation.mean())
        trained = (
            (len(curve) + 1.0) * CHUNK_ITERATIONS
            if settings["solver"] == "lbfgs"
            else perceptron.n_iter_
        )
        curve.append([float(trained), float(training.mean()), error])
        best, stall = (error, 0) if error < best else (best, stall + 1)
        # L-BFGS continues until the validation error rises; the last state is near the best.
        active = settings["solver"] == "lbfgs" and trained < iterations and stall < PATIENCE_CHUNKS
    return {
        "train": curve[-1][1],
        "validation": error,
        "worst": float(validation.max()),
        "excluded": excluded,
        "samples": len(q),
        "curve": curve,
        "iterations": curve[-1][0],
        "quantiles": np.quantile(validation, np.linspace(0.0, 1.0, 51)).tolist(),
    }


def region_of(half_width: float | None, robot: Robot) -> tuple[Float1D, Float1D]:
    """Compute the lower and upper joint angles of a region [rad], shape (6,) each."""
    if half_width is not None:
        return np.array(TASK_CENTER) - np.radians(half_width), np.array(TASK_CENTER) + np.radians(
            half_width
        )
    half = WIDE_SHARE * robot.limits.half_range
    return robot.limits.middle - half, robot.limits.middle + half


def regular_poses(
    half_width: float | None, samples: int, rng: np.random.Generator
) -> tuple[Float2D, Float2D, float]:
    """Draw joint angles and positions [m], and compute the share of poses excluded as singular."""
    robot = load_robot(ROBOT_NAME)
    lower, upper = region_of(half_width, robot)
    poses = rng.uniform(lower, upper, (samples, robot.dof))
    jacobians = np.array([tip_jacobian(robot, pose) for pose in poses])
    regular = np.linalg.cond(jacobians) <= MAX_SINGULARITY_INDEX
    q = poses[regular]
    return q, tip_position(robot, q), float(1.0 - regular.mean())


def _scale(values: Float2D, largest: float) -> tuple[Float2D, Float1D]:
    """Scale columns to [-largest, largest]; the second value is the size of a scaled unit."""
    low, high = values.min(axis=0), values.max(axis=0)
    unit = np.where(high > low, 0.5 * (high - low), 1.0) / largest
    return (values - low) / unit - largest, unit


def _make_perceptron(spec: Mapping[str, Any], iterations: int, state: int) -> Any:
    """Make an untrained network of logistic units, for L-BFGS in chunks or for batches."""
    from sklearn.neural_network import MLPRegressor

    options: dict[str, Any] = {
        "max_iter": CHUNK_ITERATIONS,
        "max_fun": 10 * CHUNK_ITERATIONS,
        "tol": 0.0,
    }
    if spec["solver"] != "lbfgs":
        rate = {"sgd": 0.01, "adam": 1e-3}[spec["solver"]]
        options = {"learning_rate": "adaptive", "learning_rate_init": rate, "tol": 1e-6}
        options |= {"max_iter": iterations, "early_stopping": True, "n_iter_no_change": 10}
    options["warm_start"] = spec["solver"] == "lbfgs"
    paper = {"activation": "logistic", "alpha": 0.0, "solver": spec["solver"]}
    return MLPRegressor(hidden_layer_sizes=spec["layers"], random_state=state, **paper, **options)
