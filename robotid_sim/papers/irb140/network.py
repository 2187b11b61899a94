"""Forward kinematics by a multilayer perceptron: position of the tool from the joint angles.

The paper checks its kinematics by a network whose input, loss and architecture it states twice and
differently. Here the input are the joint angles, the output is the position; poses with a
singularity index above 1000 are left out, which is what its penalty on them comes to.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.errors import MissingExtraError
from robotid_sim.kinematics.forward import tip_jacobian, tip_position
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.robot import Robot
from robotid_sim.papers.irb140.kinematics import SINGULAR
from robotid_sim.papers.irb140.model import ROBOT, ROOT, SETTINGS
from robotid_sim.streams import named_stream

SAMPLES = 40_000
VALIDATION = 0.2
"""Share of the samples that the network does not learn from."""
CENTER = (0.0, 0.3, -0.2, 0.0, 0.8, 0.0)
"""Middle of the task region, in the URDF's joint angles [rad]: the tool ahead, the wrist bent."""
WIDE_SHARE = 0.5
"""The widest region is this share of every joint's range, about its middle."""
OUTPUTS = 30.0
"""Positions are scaled to +- this. scipy's L-BFGS stops when the loss falls by less than 2e-9, an
absolute amount for losses below one: with outputs in [-1, 1] that is at 1.5 mm."""
CHUNK = 500
"""Iterations between two looks at the validation error."""
PATIENCE = 2
"""Looks without a better one after which training stops."""


@dataclass(frozen=True, slots=True)
class Network:
    """A network, how it is trained, and on what."""

    label: str
    layers: Sequence[int]
    solver: str
    region: str
    iterations: Sequence[int]
    """Most iterations (L-BFGS) or epochs, the second in a quick run; two looks make a line."""
    half_width: float | None = None
    """Of the region in every joint, about the middle of the task region [deg]; None: `WIDE_SHARE`
    of the ranges."""


NETWORKS = {name: Network(**fields) for name, fields in SETTINGS["networks"].items()}
TASK = "single-15"
"""The network that is held against the printed error."""


def require_sklearn() -> None:
    """Raise unless scikit-learn is installed.

    Raises
    ------
    MissingExtraError
        With the install command.
    """
    try:
        import sklearn.neural_network  # noqa: F401 - only whether it is there
    except ImportError as error:
        need = "the neural kinematics need scikit-learn"
        raise MissingExtraError.of(need, "papers") from error


def train(network: str, seed: int, samples: int, iterations: int, run: int = 0) -> dict[str, Any]:
    """Train a network on poses and first weights of its own; the trial of Figure 12.

    Errors are mean distances [mm], ``worst`` is the largest in validation. ``curve`` has iterations
    and both errors of every look, ``quantiles`` those of the validation at 0, 2, ... 100 %.
    """
    require_sklearn()
    chosen = NETWORKS[network]
    rng = named_stream(seed, ROOT, "network", network, f"run {run}")
    q, xyz, excluded = regular_poses(chosen.half_width, samples, rng)
    (inputs, _), (outputs, unit) = _scaled(q, 1.0), _scaled(xyz, OUTPUTS)
    cut = round((1.0 - VALIDATION) * len(q))
    perceptron = _perceptron(chosen, iterations, int(rng.integers(2**31)))
    curve: list[list[float]] = []
    best, waited, more = np.inf, 0, True
    while more:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that training ends before convergence
            perceptron.fit(inputs[:cut], outputs[:cut])
        apart = (perceptron.predict(inputs) - outputs) * (1e3 * unit)
        learned, tried = np.split(np.linalg.norm(apart, axis=1), [cut])
        error = float(tried.mean())
        done = (len(curve) + 1.0) * CHUNK if chosen.solver == "lbfgs" else perceptron.n_iter_
        curve.append([float(done), float(learned.mean()), error])
        best, waited = (error, 0) if error < best else (best, waited + 1)
        # L-BFGS goes on until the validation error rises; the last state is near the best.
        more = chosen.solver == "lbfgs" and done < iterations and waited < PATIENCE
    return {
        "train": curve[-1][1],
        "validation": error,
        "worst": float(tried.max()),
        "excluded": excluded,
        "samples": len(q),
        "curve": curve,
        "iterations": curve[-1][0],
        "quantiles": np.quantile(tried, np.linspace(0.0, 1.0, 51)).tolist(),
    }


def region_of(half_width: float | None, robot: Robot) -> tuple[Float1D, Float1D]:
    """Return the lower and upper joint angles of a region [rad], shape (6,) each."""
    if half_width is not None:
        return np.array(CENTER) - np.radians(half_width), np.array(CENTER) + np.radians(half_width)
    half = WIDE_SHARE * robot.limits.half_range
    return robot.limits.middle - half, robot.limits.middle + half


def regular_poses(
    half_width: float | None, samples: int, rng: np.random.Generator
) -> tuple[Float2D, Float2D, float]:
    """Draw joint angles, positions [m], and the share of poses that are left out as singular."""
    robot = load_robot(ROBOT)
    lower, upper = region_of(half_width, robot)
    drawn = rng.uniform(lower, upper, (samples, robot.dof))
    jacobians = np.array([tip_jacobian(robot, pose) for pose in drawn])
    regular = np.linalg.cond(jacobians) <= SINGULAR
    q = drawn[regular]
    return q, tip_position(robot, q), float(1.0 - regular.mean())


def _scaled(values: Float2D, largest: float) -> tuple[Float2D, Float1D]:
    """Return the columns scaled to [-largest, largest], and what one unit is worth."""
    low, high = values.min(axis=0), values.max(axis=0)
    unit = np.where(high > low, 0.5 * (high - low), 1.0) / largest
    return (values - low) / unit - largest, unit


def _perceptron(chosen: Network, iterations: int, state: int) -> Any:
    """Make an untrained network of logistic units: for L-BFGS in chunks, or for batches."""
    from sklearn.neural_network import MLPRegressor

    options: dict[str, Any] = {"max_iter": CHUNK, "max_fun": 10 * CHUNK, "tol": 0.0}
    if chosen.solver != "lbfgs":
        rate = {"sgd": 0.01, "adam": 1e-3}[chosen.solver]
        options = {"learning_rate": "adaptive", "learning_rate_init": rate, "tol": 1e-6}
        options |= {"max_iter": iterations, "early_stopping": True, "n_iter_no_change": 10}
    options["warm_start"] = chosen.solver == "lbfgs"
    paper = {"activation": "logistic", "alpha": 0.0, "solver": chosen.solver}
    return MLPRegressor(hidden_layer_sizes=chosen.layers, random_state=state, **paper, **options)
