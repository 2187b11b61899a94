r"""Estimation of a payload from one log with it and one log without it.

Both logs share the parameters of the robot, and only the loaded one has parameters of the load,

.. math:: \begin{pmatrix} \tau_0 \\ \tau_1 \end{pmatrix} =
    \begin{pmatrix} W_0 & 0 \\ W_1 & L_1 \end{pmatrix}
    \begin{pmatrix} \beta \\ \phi_L \end{pmatrix},

so that one weighted fit gives both, including the uncertainty of the robot [1]_. Errors common to
both logs, such as errors of a friction model, go into :math:`\beta`.

References
----------
.. [1] Khalil, Gautier, Lemoine (2007), "Identification of the payload inertial parameters of
   industrial manipulators", IEEE Int. Conf. on Robotics and Automation,
   doi:10.1109/ROBOT.2007.364241.
"""

from dataclasses import dataclass, replace

import numpy as np

from robotid_sim.arrays import Bool1D, Float1D, Float2D, Int1D
from robotid_sim.dynamics.base_parameters import (
    RANK_TOLERANCE,
    BaseParameters,
    independent_columns,
    random_states,
)
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.errors import RankDeficientError
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import (
    Estimator,
    LinearProblem,
    build_problem,
    extend_problem,
    joint_columns,
    part_of,
    rows_of,
    stack_problems,
    weights_of,
)
from robotid_sim.measurement.motion import Motion
from robotid_sim.model import inertia, parameters
from robotid_sim.model.robot import Robot

LOAD_SYMBOLS = tuple(f"{symbol}L" for symbol in parameters.INERTIAL_SYMBOLS)
"""Names of the load's parameters about the frame of the last link."""

LOAD_UNITS = ("kg",) + ("kg m",) * 3 + ("kg m^2",) * 6

MIN_MASS_RATIO = 3.0
"""Minimum mass of a load over its standard deviation."""


@dataclass(frozen=True, slots=True, eq=False)
class PayloadEstimate:
    """A load at the tip; values that are not identifiable are NaN."""

    mass: float
    """Mass [kg]."""
    mass_std: float
    com: Float1D
    """Center of mass in the tip frame [m], shape (3,)."""
    com_std: Float1D
    phi: Float1D
    """Ten inertial parameters about the tip frame, shape (10,)."""
    phi_std: Float1D
    estimate: Estimate
    """Base parameters of the robot without load."""
    success: bool
    message: str

    @property
    def is_absent(self) -> bool:
        """Whether the mass does not differ from zero; the center is then not identifiable."""
        return self.mass <= MIN_MASS_RATIO * self.mass_std

    def sentences(self) -> list[str]:
        """Describe the load."""
        if not self.success:
            return [f"The payload could not be estimated: {self.message}."]
        if self.is_absent:
            return [f"{self.message[0].upper()}{self.message[1:]}."]
        place = ", ".join("?" if np.isnan(c) else f"{c:.4f}" for c in self.com)
        spread = ", ".join("?" if np.isnan(s) else f"{s:.2g}" for s in self.com_std)
        return [
            f"The payload has {self.mass:.4g} ± {self.mass_std:.2g} kg at ({place}) ± ({spread}) m "
            f"in the tip frame.",
            *["Values marked '?' are not identifiable."] * bool(np.isnan(self.com).any()),
        ]


def payload_columns(motion: Motion, nominal: Robot) -> Float2D:
    """Compute the torque rows per parameter of a load fixed to the last link, shape (N n, 10)."""
    last = parameters.inertial_slice(nominal.dof - 1)
    selected = range(last.start, last.stop)
    Y = torque_regressor(nominal, motion.q, motion.dq, motion.ddq, selected)
    return np.asarray(rows_of(motion, Y).reshape(-1, len(selected)))


def payload_parameters(
    nominal: Robot, mass: float, com: Float1D, central: Float2D | None = None
) -> Float1D:
    """Compute the ten parameters of a known load about the frame of the last link, shape (10,).

    Parameters are the same as for `Robot.with_payload`.
    """
    tensor: Float2D = np.zeros((3, 3)) if central is None else central
    return inertia.transform(inertia.pack(mass, com, tensor), nominal.T_last_tip)


def estimate_payload(
    unloaded: Motion,
    loaded: Motion,
    nominal: Robot,
    basis: BaseParameters,
    *,
    estimator: Estimator | None = None,
    gain_std: float = 0.0,
) -> PayloadEstimate:
    """Estimate a load from the motions of two logs, without and with it.

    The motions have rows at the same rate; their trajectories need not be the same. The nominal
    model and its base parameters, which are identifiable from the recorded torques, describe the
    robot without load. The estimator is by default weighted least squares. Errors of the torque
    constants, independent and of the relative standard deviation `gain_std`, are equal in both logs
    and not identifiable: they widen the standard deviations. Raises `RankDeficientError` if no
    joint torque depends on a load at all.
    """
    chosen, K = _choose_parameters(loaded, nominal)
    problem = payload_problem(unloaded, loaded, nominal, basis, chosen)
    method = estimator or WeightedLeastSquares()
    extended = method.fit(problem, np.random.default_rng(0))
    if gain_std and extended.success:
        model = problem.unstack_rows(problem.W @ extended.beta)
        problem = replace(problem, random=gain_std * joint_columns(model))
        extended = method.fit(problem, np.random.default_rng(0))
    estimate = part_of(extended, basis.rank)
    if not extended.success or extended.cov is None:
        return _make_failure(estimate, extended.message)
    values, cov = extended.beta[basis.rank :], extended.cov[basis.rank :, basis.rank :]
    return _make_estimate(*_move_to_tip(values, cov, chosen, K, nominal), estimate)


def estimate_payload_of_log(
    arm: Estimate, loaded: Motion, nominal: Robot, basis: BaseParameters, *, gain_std: float = 0.0
) -> PayloadEstimate:
    r"""Estimate a load from the motion of one log with it, and an estimate of the arm without it.

    The fit of the log differs from the estimate of the arm by the load, and by friction, which
    changes from day to day:

    .. math:: \beta_1 - \beta_0 = G \phi_L + F \delta + \text{noise},

    solved by weighted least squares with the sum of both covariances. Errors of the drive gains,
    with the relative standard deviation `gain_std`, are equal in both logs: they scale the torque
    of the load joint by joint, and widen the standard deviations. Raises `RankDeficientError` if no
    joint torque depends on a load.
    """
    chosen, K = _choose_parameters(loaded, nominal)
    problem = build_problem(loaded, nominal, basis)
    fit = WeightedLeastSquares().fit(problem, np.random.default_rng(0))
    if not fit.success or fit.cov is None or arm.cov is None:
        return _make_failure(fit, fit.message or "the estimate of the arm has no covariance")
    last = parameters.inertial_slice(nominal.dof - 1)
    friction = [k for k, name in enumerate(basis.names) if name.startswith(("Fv", "Fc", "Fo"))]
    G = np.hstack([basis.B[:, last][:, chosen], np.eye(basis.rank)[:, friction]])
    noise = np.linalg.cholesky(fit.cov + arm.cov)
    A, y = np.linalg.solve(noise, G), np.linalg.solve(noise, fit.beta - arm.beta)
    inverse = np.linalg.pinv(A)
    change = inverse @ y
    cov = inverse @ inverse.T
    if gain_std:
        weights = weights_of(fit)
        load_torque = problem.unstack_rows(problem.W @ (G @ change))
        W = problem.W * np.tile(weights, problem.samples)[:, None]
        errors = np.linalg.lstsq(W, joint_columns(load_torque * weights), rcond=None)[0]
        sensitivity = gain_std * inverse @ np.linalg.solve(noise, errors)
        cov = cov + sensitivity @ sensitivity.T
    count = len(chosen)
    return _make_estimate(
        *_move_to_tip(change[:count], cov[:count, :count], chosen, K, nominal),
        part_of(fit, basis.rank),
    )


def _choose_parameters(loaded: Motion, nominal: Robot) -> tuple[Int1D, Float2D]:
    """Choose independent parameters of a load; return them and the matrix K of combinations.

    Each row of K is the combination of the ten parameters with which the torque depends on one
    independent parameter, shape (k, 10).
    """
    measured = np.asarray(loaded.tau.any(axis=0))
    last = parameters.inertial_slice(nominal.dof - 1)
    Y = torque_regressor(nominal, *random_states(nominal), columns=range(last.start, last.stop))
    flat = Y[:, measured].reshape(-1, 10)
    chosen = np.sort(independent_columns(flat))
    if not chosen.size:
        raise RankDeficientError("no measured torque depends on a load at the tip")
    K: Float2D = np.asarray(np.linalg.lstsq(flat[:, chosen], flat, rcond=None)[0])
    K[np.abs(K) < RANK_TOLERANCE] = 0.0
    return chosen, K


def _move_to_tip(
    values: Float1D, cov: Float2D, chosen: Int1D, K: Float2D, nominal: Robot
) -> tuple[Float1D, Float2D, Bool1D]:
    """Move independent parameters of the last link to the tip; mark the identifiable ones."""
    T = np.linalg.inv(nominal.T_last_tip)
    to_tip = np.array([inertia.transform(unit, T) for unit in np.eye(10)]).T
    tip_map = to_tip @ np.eye(10)[:, chosen]
    # The combinations of parameters about the last link that are not identifiable.
    unidentifiable: Float2D = np.delete(np.eye(10), chosen, axis=1)
    unidentifiable[chosen] = -np.delete(K, chosen, axis=1)
    identifiable = np.abs(to_tip @ unidentifiable).max(axis=1, initial=0.0) < 1e-6
    return tip_map @ values, tip_map @ cov @ tip_map.T, identifiable


def _make_failure(estimate: Estimate, message: str) -> PayloadEstimate:
    none = np.full(10, np.nan)
    parts = (np.nan, np.nan, none[:3], none[:3], none, none)
    return PayloadEstimate(*parts, estimate, success=False, message=message)


def _make_estimate(
    phi: Float1D, cov: Float2D, identifiable: Bool1D, estimate: Estimate
) -> PayloadEstimate:
    """Make the load of ten parameters about the tip, of which some are identifiable."""
    std = np.where(identifiable, np.sqrt(np.maximum(np.diag(cov), 0.0)), np.nan)
    com = phi[1:4] / phi[0]
    to_com = np.hstack([-com[:, None], np.eye(3)]) / phi[0]  # c = l / m: dc = (dl - c dm) / m
    com_std = np.sqrt(np.diag(to_com @ cov[:4, :4] @ to_com.T))
    absent = bool(identifiable[0] and phi[0] <= MIN_MASS_RATIO * std[0])
    is_com_identifiable = identifiable[0] & identifiable[1:4] & (not absent)
    none = f"no load found: m = {phi[0]:.2g} ± {std[0]:.2g} kg; the second log must have the load"
    swapped = bool(identifiable[0] and phi[0] < -MIN_MASS_RATIO * std[0])
    if swapped:
        none = (
            f"the first log has {-phi[0]:.4g} ± {std[0]:.2g} kg more than the second; give the log "
            f"without the load first"
        )
    return PayloadEstimate(
        mass=float(phi[0]) if identifiable[0] else np.nan,
        mass_std=float(std[0]),
        com=np.where(is_com_identifiable, com, np.nan),
        com_std=np.where(is_com_identifiable, com_std, np.nan),
        phi=np.where(identifiable, phi, np.nan),
        phi_std=std,
        estimate=estimate,
        success=not swapped,
        message=none if absent else estimate.message,
    )


def payload_problem(
    unloaded: Motion, loaded: Motion, nominal: Robot, basis: BaseParameters, chosen: Int1D
) -> LinearProblem:
    """Stack the rows of both motions, with the chosen parameters of the load as the last ones."""
    parts = []
    symbols, units = [LOAD_SYMBOLS[k] for k in chosen], [LOAD_UNITS[k] for k in chosen]
    for motion in (unloaded, loaded):
        problem = build_problem(motion, nominal, basis)
        columns: Float2D = np.zeros((len(problem.W), len(chosen)))
        if motion is loaded:
            columns = payload_columns(motion, nominal)[:, chosen]
        parts.append(extend_problem(problem, columns, symbols, units))
    return stack_problems(parts)


def list_load_unknowns(nominal: Robot) -> Int1D:
    """List independent parameters of a load with known mass.

    Raises `RankDeficientError` if the mass is not identifiable separately from them.
    """
    last = parameters.inertial_slice(nominal.dof - 1)
    Y = torque_regressor(nominal, *random_states(nominal), columns=range(last.start, last.stop))
    flat = Y.reshape(-1, 10)
    free = np.sort(1 + independent_columns(flat[:, 1:]))
    mass = flat[:, 0] - flat[:, free] @ np.linalg.lstsq(flat[:, free], flat[:, 0], rcond=None)[0]
    if np.linalg.norm(mass) <= RANK_TOLERANCE * max(float(np.linalg.norm(flat)), 1e-300):
        raise RankDeficientError(
            "the mass of the load is not identifiable without its COM; give mass and COM"
        )
    return free
