"""The excitation problem of the paper in all interpretations, and its published motion.

The robot is not named; its links are those of an ABB IRB 120. Its first three joints move.

The module also finds the identifiable parameters and fits them along an excitation.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.dynamics.base_parameters import (
    BaseParameters,
    base_parameters,
    group_columns,
    independent_columns,
    random_states,
)
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.dynamics.wrench import wrench_regressor
from robotid_sim.errors import PathError
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.reduction import cramer_rao, reduce_rows
from robotid_sim.excitation import CRITERIA, FAMILIES
from robotid_sim.excitation.cartesian_space import CartesianFourierSpace
from robotid_sim.excitation.design import REGRESSOR_SAMPLES
from robotid_sim.excitation.problem import ExcitationProblem
from robotid_sim.excitation.space import LinearSpace, NonlinearSpace
from robotid_sim.model import inertia, parameters
from robotid_sim.model.catalog import load_published_parameters, make_published_links
from robotid_sim.model.robot import Robot
from robotid_sim.papers.sheet import read_settings
from robotid_sim.trajectory.cartesian_fourier import cartesian_basis

PRINTED_VALUES = read_settings(__file__)

METHOD_NAMES = ("MuPSO", "SPSO", "WOA", "GWO", "GOA", "DE")
"""Methods in the order of Table 3; published settings end with the names in lower case."""
SEARCH_NAMES = ("MuPSO", "DE", "gradient", "random search")
"""Searches whose motions the engine drives."""

POPULATION_SIZE = 50

PATH_CENTER = (0.35, 0.0, 0.45)
"""Center of the path in the base frame [m]; not printed. In front of the arm at mid height."""
WRIST_CENTER = (0.302, 0.0, 0.07)
"""Wrist center in the frame of the third link [m], from Table 1: d4 and a3."""
RUN_PERIOD = 10.0
"""Time of a run [s]; not printed."""
HARMONIC_COUNT = 3
"""Number of harmonics; not printed, but the published vectors have three entries."""
HALVING_COUNT = 20
"""Number of bisections in the search for the largest scale at which a path is reachable."""
UNBOUNDED_TORQUE_RATIO = 10.0
"""Allowed share of the torque limits: the paper has none. It is finite to reject motions through a
singular pose between two samples, where the torque is even larger."""

SWARM_SIZES = (30, 50, 70)
IDENTIFIABLE_PARAMETERS = tuple(PRINTED_VALUES["identifiability"])
"""Printed numbers of parameters: identifiable alone, in combinations, and not at all."""


MAIN_SETTINGS: dict[str, Any] = {
    "family": "cartesian-fourier",
    "criterion": "normalized-condition-number",
    "center": PATH_CENTER,
    "harmonics": HARMONIC_COUNT,
    "period": RUN_PERIOD,
}
MAIN_READING_NAME = "Cartesian path, unit columns"
READINGS, UNPRINTED = (
    {name: MAIN_SETTINGS | fields for name, fields in PRINTED_VALUES[kind].items()}
    for kind in ("readings", "unprinted")
)
"""Interpretations of "trajectory" and "condition number" in the paper."""


@cache
def arm() -> Robot:
    """Make the robot of the three links of eq. (49) to (53), without the wrist."""
    return make_published_links("irb120")


@cache
def problem(reading: str = MAIN_READING_NAME) -> ExcitationProblem:
    """Make the excitation problem of an interpretation of section 4, printed or not.

    It always has the 15 base parameters: the 22 columns of the paper have rank 15.
    """
    settings = (READINGS | UNPRINTED)[reading]
    options: dict[str, Any] = {"harmonics": settings["harmonics"], "period": settings["period"]}
    if settings["family"] == MAIN_SETTINGS["family"]:
        options |= {"center": settings["center"], "point": WRIST_CENTER}
    family = FAMILIES.build(
        settings["family"], margin=1.0, torque_ratio=UNBOUNDED_TORQUE_RATIO, **options
    )
    basis = base_parameters(arm(), ())
    return ExcitationProblem(arm(), basis, family, CRITERIA.build(settings["criterion"]))


def limit_use(problem: ExcitationProblem, x: Float1D) -> float:
    """Compute the largest used share of a position, velocity or acceleration limit."""
    if isinstance(problem.space, NonlinearSpace):
        return float(problem.space.limit_values(x).max())
    assert isinstance(problem.space, LinearSpace)
    return float(np.abs(problem.space.limit_matrix() @ x).max())


def evaluate_published_motions() -> dict[str, dict[str, Any]]:
    """Evaluate the published motion with its number c as the first coefficient, and as all three.

    The result has, by interpretation: whether the arm can follow the path in meters, otherwise the
    largest scale at which it can; the condition number at this scale, with columns of unit length;
    and the speed of each coordinate at the start, which should be zero [m/s].
    """
    c = PRINTED_VALUES["optimum"]["c"]
    readings = {"c = (2.0328, 0, 0)": (c, 0.0, 0.0), "c = (2.0328, 2.0328, 2.0328)": (c, c, c)}
    a, b = (PRINTED_VALUES["optimum"][name] for name in ("a", "b"))
    start_speed, motions = abs(float(np.sum(b))), {}
    for reading, vector in readings.items():
        coefficients = np.concatenate([a, b, vector])
        is_followed = bool(np.isfinite(_condition(coefficients)))
        low, high = 0.0, 1.0
        for _ in range(HALVING_COUNT):
            middle = 0.5 * (low + high)
            is_reachable = np.isfinite(_condition(middle * coefficients))
            low, high = (middle, high) if is_reachable else (low, middle)
        scale = 1.0 if is_followed else low
        motions[reading] = {
            "followed": "yes" if is_followed else "no",
            "start_speed": start_speed,
            "scale": scale,
            "condition": _condition(scale * coefficients),
        }
    return motions


def _condition(coefficients: Float1D) -> float:
    """Compute the condition number along a path, infinite if the arm cannot follow it."""
    paper = problem()
    space = paper.space
    assert isinstance(space, CartesianFourierSpace)
    t = np.arange(REGRESSOR_SAMPLES) * RUN_PERIOD / REGRESSOR_SAMPLES
    p, v, a = (part @ coefficients for part in cartesian_basis(t, HARMONIC_COUNT, RUN_PERIOD))
    try:
        q = space.carrier.follow(space.center + p)
        dq, ddq = space.carrier.rates(q, v, a)
    except PathError:
        return np.inf
    W = torque_regressor(arm(), q, dq, ddq, paper.basis.columns)
    return float(np.exp(paper.criterion(W, paper.torque_scale)[0]))


SAMPLE_COUNT = 1000
"""Samples of a run, 100 a second; not printed."""
NOISE_SHARE = 0.01
"""Standard deviation of the torque noise, share of the RMS of all torques."""
DRAW_COUNT = 30
"""Number of logs with noise."""
MILLIMETER_FACTORS = {"kg m": 1e3, "kg m^2": 1e6}
"""Factors from SI units to the units of Table 4; masses are in kg."""
PRINTED_SELECTOR_NAME = "moments along z of frame i, through frame i"
"""The selector of the paper, if wrenches are taken about the origins of its frames."""
JOINT_TORQUES, WRENCHES = "torques of the 3 joints", "full wrenches at the 3 joints"


def paper_frames() -> Float2D:
    """Compute the map of inertial parameters from the paper's frames to the URDF's, (30, 30).

    The paper's frames are those of standard Denavit-Hartenberg; which parameters are identifiable
    alone depends on the frames.
    """
    return inertia.frame_map(load_published_parameters("irb120").frames)


@cache
def rank_analysis() -> dict[str, BaseParameters]:
    """Find the base parameters in the paper's frames for several measured quantities."""
    robot, frames = arm(), load_published_parameters("irb120").frames
    states = random_states(robot)
    W = wrench_regressor(robot, *states)
    count = W.shape[-1]
    force, moment = W[:, :, :3], W[:, :, 3:]
    # The printed selector [0 0 0 0 0 1] takes the moment about z of frame i, which lies at the far
    # end of link i; the joint turns about z of frame i - 1.
    at_joints = [moment[:, i].swapaxes(1, 2) @ T[:3, 2] for i, T in enumerate(frames)]
    at_frames = [
        (moment[:, i] - np.cross(T[:3, 3], force[:, i], axisb=1, axisc=1)).swapaxes(1, 2) @ T[:3, 2]
        for i, T in enumerate(frames)
    ]
    measured = {
        JOINT_TORQUES: torque_regressor(robot, *states)[:, :, :count],
        "moments along z of frame i, through joint i": np.array(at_joints),
        PRINTED_SELECTOR_NAME: np.array(at_frames),
        "wrench at the base": W[:, 0],
        "moment vectors at the 3 joints": moment,
        WRENCHES: W,
    }
    names, units = robot.parameter_names, parameters.units(robot.prismatic)
    return {
        name: group_columns(
            rows.reshape(-1, count) @ paper_frames(), np.arange(count), names, units
        )
        for name, rows in measured.items()
    }


def rank_of(symbols: Iterable[str]) -> int:
    """Compute the rank of parameters of the paper's frames in the joint torques."""
    robot, inertial = arm(), len(paper_frames())
    W = torque_regressor(robot, *random_states(robot))[:, :, :inertial].reshape(-1, inertial)
    columns = [robot.parameter_names.index(symbol) for symbol in symbols]
    return int(independent_columns((W @ paper_frames())[:, columns]).size)


def counts(base: BaseParameters) -> tuple[int, int, int]:
    """Count the parameters identifiable alone, in combinations, and not at all."""
    return len(base.identifiable_alone), len(base.in_combination), len(base.not_identifiable)


def ideal_values() -> dict[str, tuple[float, float]]:
    """Compute the ideal values of Table 4 and the values of eq. (49) to (53), in printed units."""
    basis = rank_analysis()[JOINT_TORQUES]
    units = dict(zip(basis.symbols, parameters.units((False,) * 3), strict=True))
    phi = np.linalg.solve(paper_frames(), arm().parameters()[: len(paper_frames())])
    truth = dict(zip(basis.symbols, phi, strict=False))
    return {
        symbol: (ideal, float(truth[symbol] * MILLIMETER_FACTORS.get(units[symbol], 1.0)))
        for symbol, ideal, _ in PRINTED_VALUES["table_4"]
    }


@dataclass(frozen=True, slots=True, eq=False)
class ExactIdentification:
    """Least squares on torques without and with noise; base parameters in the paper's frames."""

    basis: BaseParameters
    beta_true: Float1D
    """Base parameters of eq. (49) to (53), shape (15,)."""
    beta_exact: Float1D
    """Estimate without noise, shape (15,)."""
    std: Float1D
    """Smallest standard deviation of unbiased estimates, shape (15,)."""
    beta_noisy: Float2D
    """Estimates with noise, shape (`DRAW_COUNT`, 15)."""

    @property
    def exact_error(self) -> float:
        """Largest error without noise, over the largest parameter."""
        return float(np.abs(self.beta_exact - self.beta_true).max() / np.abs(self.beta_true).max())

    @property
    def scores(self) -> Float2D:
        """Errors with noise over their standard deviations, shape (DRAW_COUNT, 15)."""
        return (self.beta_noisy - self.beta_true) / self.std


def identify(
    problem: ExcitationProblem, x: Float1D, rng: np.random.Generator
) -> ExactIdentification:
    """Identify along a motion as in section 5, with the true base parameters as columns."""
    robot, basis = arm(), rank_analysis()[JOINT_TORQUES]
    inertial = len(paper_frames())
    Y = torque_regressor(robot, *problem.space.make_grid(SAMPLE_COUNT).motion(x))[:, :, :inertial]
    Y = Y.reshape(-1, inertial)
    tau = Y @ robot.parameters()[:inertial]
    W = (Y @ paper_frames())[:, basis.columns]
    phi = np.zeros(len(basis.symbols))
    phi[:inertial] = np.linalg.solve(paper_frames(), robot.parameters()[:inertial])
    noise_std = NOISE_SHARE * float(np.sqrt(np.mean(tau**2)))
    noise = rng.normal(scale=noise_std, size=(DRAW_COUNT, tau.size))

    def linear(torque: Float1D) -> LinearProblem:
        return LinearProblem(W, torque, basis, robot.joint_names, RUN_PERIOD / SAMPLE_COUNT)

    def least_squares(torque: Float1D) -> Float1D:
        # Eq. (43), all joints alike; by QR, not by the normal equations.
        return reduce_rows(linear(torque)).solve(np.ones(robot.dof))[0]

    return ExactIdentification(
        basis=basis,
        beta_true=basis.project(phi),
        beta_exact=least_squares(tau),
        std=np.sqrt(np.diag(cramer_rao(linear(tau), np.full(robot.dof, noise_std)))),
        beta_noisy=np.array([least_squares(tau + part) for part in noise]),
    )
