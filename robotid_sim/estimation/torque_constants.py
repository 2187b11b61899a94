r"""Torque constants of the drives, calibrated by a known payload.

A cell with wrong assumed torque constants measures :math:`v_j = \tau_j / g_j`. From logs without
and with a load of known parameters :math:`\phi_L`,

.. math:: v_j = \frac{1}{g_j} (W_j \beta + L_j \phi_L) + \text{noise},

the gains g follow together with the parameters [1]_; if only the mass of the load is known, its
other nine parameters are estimated too [2]_. Without a known load, a common scale of the gains and
:math:`\beta` is not identifiable. [1]_ solve a total least-squares problem in :math:`(g, \beta)`;
here only the measured torques have noise, and the weighted squares of v are minimized over
:math:`(1/g, \beta)` by Gauss-Newton.

References
----------
.. [1] Gautier, Briot (2014), "Global identification of joint drive gains and dynamic parameters of
   robots", J. Dynamic Systems, Measurement, and Control 136(5), doi:10.1115/1.4027506.
.. [2] Gautier, Briot (2012), "Global identification of drive gains parameters of robots using a
   known payload", IEEE Int. Conf. on Robotics and Automation.
"""

from dataclasses import dataclass, replace

import numpy as np

from robotid_sim.arrays import Bool1D, Float1D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import LogError
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.payload import list_load_unknowns, payload_columns, payload_problem
from robotid_sim.estimation.problem import (
    LinearProblem,
    build_problem,
    extend_problem,
    joint_columns,
    part_of,
    rows_of,
)
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot

MAX_STEPS = 50
GAIN_TOLERANCE = 1e-9
"""Maximum change of the gains at convergence."""

MAX_GAIN_DEVIATION = 4.0
"""Number of standard deviations above which a gain error is significant."""

MAX_GAIN_SPREAD, MIN_COMMON_GAIN_ERROR = 0.05, 0.2
"""Gains that spread less than the first and deviate more than the second suggest a wrong load."""


@dataclass(frozen=True, slots=True, eq=False)
class TorqueConstants:
    """Ratios of true to assumed torque constants, with the resulting parameters."""

    joint_names: tuple[str, ...]
    gains: Float1D
    """True torque over measured torque of every joint, shape (n,)."""
    std: Float1D
    """Their standard deviations."""
    estimate: Estimate
    """Base parameters of the robot without load; its noise is the noise of the measured torques."""
    steps: int
    success: bool
    message: str
    determined: Bool1D
    """Joints whose load torque exceeds their noise, shape (n,). The gain of other joints follows
    from shared parameters, and depends on the model."""

    @property
    def load_warning(self) -> str:
        """Warning about the given load; empty if there is none."""
        gains = self.gains[self.determined]
        if not self.success or gains.size < 2 or np.ptp(gains) > MAX_GAIN_SPREAD * gains.max():
            return ""
        factor = float(np.median(gains))
        if abs(factor - 1.0) < MIN_COMMON_GAIN_ERROR:
            return ""
        return (
            f"all torque constants are {factor:.3g} times the assumed ones; check the mass of the "
            f"load"
        )

    def sentences(self) -> list[str]:
        """Describe the gains."""
        if not self.success:
            return [f"The torque constants could not be estimated: {self.message}."]
        sentences = []
        joints = zip(self.joint_names, self.gains, self.std, self.determined, strict=True)
        for name, gain, std, is_determined in joints:
            if not is_determined:
                sentences.append(
                    f"The torque constant of {name} is not identifiable: mount the load farther "
                    f"from its axis."
                )
                continue
            remark = "" if abs(gain - 1.0) > MAX_GAIN_DEVIATION * std else ", not significant"
            sentences.append(
                f"The torque constant of {name} is {gain - 1.0:+.2%} ± {std:.2%} from the assumed "
                f"one{remark}."
            )
        return sentences


def estimate_torque_constants(
    unloaded: Motion,
    loaded: Motion,
    load: Float1D | float,
    nominal: Robot,
    basis: BaseParameters,
    *,
    block: float | None = None,
) -> TorqueConstants:
    """Estimate the torque constants from motions without and with a known load.

    The motions have rows at the same rate; their trajectories need not be the same. The parameters
    of the load, shape (10,), are about the frame of the last link, see `payload_parameters`; for a
    load of known mass [kg] alone, the nine others are estimated. The nominal model and its base
    parameters are those of the robot without load. The blocks of the covariance last `block` [s],
    by default according to the correlation of the residuals. Raises `LogError` if the torque of a
    joint was not recorded in both logs.
    """
    recorded = unloaded.tau.any(axis=0) & loaded.tau.any(axis=0)
    if not recorded.all():
        names = ", ".join(np.array(nominal.joint_names)[~recorded])
        raise LogError(
            f"the torque of {names} is not in both logs; record it without and with the load"
        )
    phi_L = np.atleast_1d(np.asarray(load, dtype=float))
    unknown_indices = np.zeros(0, dtype=np.intp)
    if phi_L.size == 1:
        phi_L, unknown_indices = (phi_L[0] * np.eye(10)[0], list_load_unknowns(nominal))
    problem = payload_problem(unloaded, loaded, nominal, basis, unknown_indices)
    torque = payload_columns(loaded, nominal) @ phi_L
    load_torque = np.concatenate([np.zeros(len(problem.y) - len(torque)), torque])
    constants = _gauss_newton(problem, load_torque, WeightedLeastSquares(block=block))
    phi = phi_L.copy()
    phi[unknown_indices] = constants.estimate.beta[basis.rank :]
    load_rows = (payload_columns(loaded, nominal) @ phi).reshape(-1, nominal.dof)
    determined = np.sqrt((load_rows**2).mean(axis=0)) > constants.estimate.noise_std
    return replace(
        constants, estimate=part_of(constants.estimate, basis.rank), determined=determined
    )


def estimate_constants_of_currents(
    motion: Motion, nominal: Robot, basis: BaseParameters
) -> TorqueConstants:
    """Estimate the torque constants of a motion whose torques are currents [A].

    The currents determine the ratios of the constants and the base parameters up to their common
    scale; the scale is that of the nominal model at the joint with its largest torque. Currents
    that the result predicts do not depend on the scale. Raises `LogError` if the nominal model
    explains the current of no joint.
    """
    problem = build_problem(motion, nominal, basis)
    model = problem.unstack_rows(problem.W @ basis.project(nominal.parameters()))
    current, dq = problem.unstack_rows(problem.y), rows_of(motion, motion.dq)
    slopes, sizes = np.zeros(nominal.dof), np.std(model, axis=0)
    for j, joint in enumerate(nominal.joints):
        direction = np.tanh(dq[:, j] / joint.friction.eps)
        columns = np.column_stack([model[:, j], dq[:, j], direction, np.ones(len(dq))])
        slopes[j] = np.linalg.lstsq(columns, current[:, j], rcond=None)[0][0]
    best = int(np.where(slopes > 0.0, sizes, 0.0).argmax())
    if not slopes[best] > 0.0:
        raise LogError(
            "the nominal model explains the current of no joint; give torque_constant [N m/A] in a "
            "map, or correct the signs"
        )
    start = np.where(slopes > 0.0, slopes, slopes[best])
    is_free = np.arange(nominal.dof) != best
    return _gauss_newton(problem, np.zeros(len(problem.y)), WeightedLeastSquares(), start, is_free)


def _gauss_newton(
    problem: LinearProblem,
    load_torque: Float1D,
    wls: WeightedLeastSquares,
    start: Float1D | None = None,
    is_free: Bool1D | None = None,
) -> TorqueConstants:
    """Fit ``y = s (W beta + load_torque)`` over s (n,) and beta; s is one over the gains.

    Iterations begin with `start`, by default ones; only some s may be free.
    """
    n, b, rng = problem.dof, problem.basis.rank, np.random.default_rng(0)
    free = np.flatnonzero(np.ones(n, dtype=bool) if is_free is None else is_free)
    symbols = [f"s{j + 1}" for j in free]
    s: Float1D = np.ones(n) if start is None else start
    change, steps = s, 0
    scale = np.tile(s, problem.samples)
    scaled = replace(problem, W=problem.W * scale[:, None], y=problem.y - scale * load_torque)
    estimate = wls.fit(scaled, rng)
    while estimate.success and np.abs(change).max() > GAIN_TOLERANCE:
        if steps == MAX_STEPS:
            message = f"the gains did not converge within {MAX_STEPS} steps"
            estimate = replace(estimate, success=False, message=message)
            break
        steps += 1
        model = problem.W @ estimate.beta[:b] + load_torque
        scale = np.tile(s, problem.samples)
        scaled = replace(problem, W=problem.W * scale[:, None], y=problem.y - scale * load_torque)
        columns = joint_columns(problem.unstack_rows(model))[:, free]
        estimate = wls.fit(extend_problem(scaled, columns, symbols, ["1"] * len(free)), rng)
        change = np.zeros(n)
        change[free] = estimate.beta[b:]
        s = s + np.clip(change, -0.5 * s, 0.5 * s)  # keeps the gains positive
    std = np.zeros(n)
    std[free] = estimate.std[b:]
    return TorqueConstants(
        joint_names=problem.joint_names,
        gains=1.0 / s,
        std=std / s**2 if estimate.success else np.full(n, np.nan),
        estimate=part_of(estimate, b),
        steps=steps,
        success=estimate.success,
        message=estimate.message,
        determined=np.ones(n, dtype=bool),
    )
