"""Which parameters can be identified, and least squares on the excitation of the paper."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.dynamics.base_parameters import BaseParameters, grouped, random_states
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.dynamics.rank import independent_columns
from robotid_sim.dynamics.wrench import wrench_regressor
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.reduction import cramer_rao, reduce_rows
from robotid_sim.excitation.problem import ExcitationProblem
from robotid_sim.model import inertia, parameters
from robotid_sim.model.catalog import published_parameters
from robotid_sim.papers.irb120 import model

SAMPLES = 1000
"""Samples of a run, 100 a second; not printed."""
NOISE_SHARE = 0.01
"""Standard deviation of the torque noise, share of the RMS of all torques."""
DRAWS = 30
"""Logs with noise."""
MILLIMETERS = {"kg m": 1e3, "kg m^2": 1e6}
"""From SI to the units of Table 4, by unit; masses are in kg."""
AS_PRINTED = "moments along z of frame i, through frame i"
"""The selector of the paper, if wrenches are taken about the origins of its frames."""
JOINT_TORQUES, WRENCHES = "torques of the 3 joints", "full wrenches at the 3 joints"


def paper_frames() -> Float2D:
    """Return the map of inertial parameters from the paper's frames to the URDF's, (30, 30).

    The paper's frames are those of standard Denavit-Hartenberg; which parameters show alone
    depends on the frames.
    """
    return inertia.frame_map(published_parameters("irb120").frames)


@cache
def rank_analysis() -> dict[str, BaseParameters]:
    """Return the base parameters, in the paper's frames, for several things to measure."""
    arm, frames = model.arm(), published_parameters("irb120").frames
    states = random_states(arm)
    W = wrench_regressor(arm, *states)
    inertial = parameters.N_INERTIAL * arm.dof
    force, moment = W[:, :, :3], W[:, :, 3:]
    # The printed selector [0 0 0 0 0 1] takes the moment about z of frame i, which lies at the far
    # end of link i; the joint turns about z of frame i - 1.
    at_joints = [moment[:, i].swapaxes(1, 2) @ T[:3, 2] for i, T in enumerate(frames)]
    at_frames = [
        (moment[:, i] - np.cross(T[:3, 3], force[:, i], axisb=1, axisc=1)).swapaxes(1, 2) @ T[:3, 2]
        for i, T in enumerate(frames)
    ]
    measured = {
        JOINT_TORQUES: torque_regressor(arm, *states)[:, :, :inertial],
        "moments along z of frame i, through joint i": np.array(at_joints),
        AS_PRINTED: np.array(at_frames),
        "wrench at the base": W[:, 0],
        "moment vectors at the 3 joints": moment,
        WRENCHES: W,
    }
    return {name: _in_paper_frames(rows) for name, rows in measured.items()}


def _in_paper_frames(W: Float) -> BaseParameters:
    """Return the base parameters of a regressor of the URDF's parameters, (..., 30)."""
    arm = model.arm()
    count = W.shape[-1]
    rows = W.reshape(-1, count) @ paper_frames()
    units = parameters.units(arm.prismatic)
    return grouped(rows, np.arange(count), arm.parameter_names, units)


def rank_of(symbols: Sequence[str]) -> int:
    """Return the rank of some parameters, in the paper's frames, in joint torques."""
    arm, inertial = model.arm(), len(paper_frames())
    W = torque_regressor(arm, *random_states(arm))[:, :, :inertial].reshape(-1, inertial)
    names = list(arm.parameter_names)
    columns = (W @ paper_frames())[:, [names.index(symbol) for symbol in symbols]]
    return int(independent_columns(columns).size)


def counts(base: BaseParameters) -> tuple[int, int, int]:
    """Return how many parameters show alone, in combinations, and not at all."""
    return len(base.identifiable_alone), len(base.in_combination), len(base.no_effect)


def ideal_values() -> dict[str, tuple[float, float]]:
    """Return the ideal values of Table 4 and those of eq. (49) to (53), by symbol, as printed."""
    basis = rank_analysis()[JOINT_TORQUES]
    units = dict(zip(basis.symbols, parameters.units((False,) * 3), strict=True))
    phi = np.linalg.solve(paper_frames(), model.arm().parameters()[: len(paper_frames())])
    truth = dict(zip(basis.symbols, phi, strict=False))
    return {
        symbol: (ideal, float(truth[symbol] * MILLIMETERS.get(units[symbol], 1.0)))
        for symbol, ideal, _ in model.PRINTED["table_4"]
    }


@dataclass(frozen=True, slots=True, eq=False)
class ExactIdentification:
    """Least squares on torques without and with noise; base parameters in the paper's frames."""

    basis: BaseParameters
    beta_true: Float1D
    """Base parameters of eq. (49) to (53), shape (15,)."""
    beta_exact: Float1D
    """Estimate without noise, shape (15,)."""
    noise_std: float
    """Of the torques [N m]."""
    std: Float1D
    """Standard deviation of the estimates that least squares can reach, shape (15,)."""
    beta_noisy: Float2D
    """Estimates with noise, shape (DRAWS, 15)."""

    @property
    def exact_error(self) -> float:
        """Largest error without noise, over the largest parameter."""
        return float(np.abs(self.beta_exact - self.beta_true).max() / np.abs(self.beta_true).max())

    @property
    def scores(self) -> Float2D:
        """Errors with noise over their standard deviations, shape (DRAWS, 15)."""
        return (self.beta_noisy - self.beta_true) / self.std


def identify(
    problem: ExcitationProblem, x: Float1D, rng: np.random.Generator
) -> ExactIdentification:
    """Return the identification of section 5 along a motion, on the true base parameters."""
    arm, basis = model.arm(), rank_analysis()[JOINT_TORQUES]
    q, dq, ddq = problem.space.on_grid(SAMPLES).motion(x)
    inertial = parameters.N_INERTIAL * arm.dof
    Y = torque_regressor(arm, q, dq, ddq)[:, :, :inertial].reshape(-1, inertial)
    tau = Y @ arm.parameters()[:inertial]
    W = (Y @ paper_frames())[:, basis.columns]
    phi = np.zeros(len(basis.symbols))
    phi[:inertial] = np.linalg.solve(paper_frames(), arm.parameters()[:inertial])
    noise_std = NOISE_SHARE * float(np.sqrt(np.mean(tau**2)))
    noise = rng.normal(scale=noise_std, size=(DRAWS, tau.size))
    exact = _linear(W, tau, basis)
    return ExactIdentification(
        basis=basis,
        beta_true=basis.of(phi),
        beta_exact=_least_squares(exact),
        noise_std=noise_std,
        std=np.sqrt(np.diag(cramer_rao(exact, np.full(arm.dof, noise_std)))),
        beta_noisy=np.array([_least_squares(_linear(W, tau + part, basis)) for part in noise]),
    )


def _linear(W: Float2D, tau: Float1D, basis: BaseParameters) -> LinearProblem:
    return LinearProblem(W, tau, basis, model.arm().joint_names, model.PERIOD / SAMPLES)


def _least_squares(of: LinearProblem) -> Float1D:
    """Return the LLS of eq. (43), all joints alike; by QR, not by the normal equations."""
    return reduce_rows(of).solve(np.ones(of.dof))[0]
