r"""Joint estimation of motion and torque by an errors-in-variables model.

Positions :math:`z = q + n` are noisy and so are torques :math:`\tau_m = \tau(q; \beta) + v`. About
a motion :math:`\hat q` the equation of motion of a joint is, to first order in n,

.. math:: \rho = \tau_m - \tau(\hat q) - J (z - \hat q) = v - J n, \qquad
    J = \frac{\partial \tau}{\partial q} + \frac{\partial \tau}{\partial \dot q} D_1
    + \frac{\partial \tau}{\partial \ddot q} D_2 ,

with finite differences D, so that its covariance :math:`\Sigma = \sigma^2 + e^2 J J^T` is banded:
whitening takes a Cholesky factor of some bands. The likeliest noise is :math:`\hat n = -e^2 J^T
\Sigma^{-1} \rho`, the likeliest motion :math:`z - \hat n`, and the likeliest parameters solve
:math:`W^T \Sigma^{-1} (\tau_m - J \hat n - W \beta) = 0` there. Both are found in turn [1]_, [2]_.

A smoother of positions alone trades noise of accelerations against distortion at reversals, where
friction jumps. Here the torques locate the reversals, and rows with uncertain motion have a small
weight, as near a reversal and at high frequencies.

References
----------
.. [1] Britt, Luecke (1973), "The estimation of parameters in nonlinear, implicit models",
   Technometrics 15(2), doi:10.1080/00401706.1973.10489037.
.. [2] Olsen, Swevers, Verdonck (2002), "Maximum likelihood identification of a dynamic robot model:
   implementation issues", Int. J. Robotics Research 21(2), doi:10.1177/027836402760475379.
"""

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.linalg import cho_solve_banded

from robotid_sim.arrays import Bool2D, Float, Float1D, Float2D, Int1D
from robotid_sim.docstrings import document_attributes
from robotid_sim.dynamics.dynamics import joint_torque, mass_matrix, rigid_body_torque
from robotid_sim.dynamics.running_terms import rotor_coupling
from robotid_sim.dynamics.term_torques import term_slopes
from robotid_sim.errors import OptionError
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import GatedRowFilter, Motion, RowFilter, remove_gate
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.faults import MAX_GAP_SAMPLES
from robotid_sim.preprocess.misfit import RowFit, standard_torque_of
from robotid_sim.preprocess.preprocessor import RowPreprocessor
from robotid_sim.preprocess.rts import RtsSmoother, likelihood_corner
from robotid_sim.preprocess.whitening import Stencil, WhiteningRowFilter, factor_of
from robotid_sim.registry import INTERNAL_FIELD
from robotid_sim.representation import public_value

MASKED_NOISE_RATIO = 1e6
"""Assumed noise of a replaced sample over that of measured samples."""

MIN_NOISE_SHARE = 1e-6
"""Minimum torque noise over the RMS torque; positions without noise have rounding noise."""


@document_attributes
@dataclass(frozen=True, slots=True, eq=False)
class Noise:
    """Standard deviation of the white noise of both channels, arrays of shape (n,)."""

    position: Float1D
    """Positions [rad or m]."""
    torque: Float1D
    """Torques [N m]."""


@public_value
@dataclass(frozen=True, kw_only=True, eq=False)
class ErrorsInVariables(RowPreprocessor):
    r"""Maximum-likelihood motion, given positions, torques and the identified model.

    The start is a smoothed motion and a model with all parameters fitted to it. Then motion and
    parameters are improved in turn, see the module. The returned torque is :math:`\tau_m - J
    \hat n`, which belongs to the returned motion, except for noise. Unmodeled torque counts as
    torque noise, so that positions have more weight if the model is less accurate.

    `tune` fixes parameters and noise.

    References
    ----------
    .. [1] Olsen, Swevers, Verdonck (2002), "Maximum likelihood identification of a dynamic robot
       model: implementation issues", Int. J. Robotics Research 21(2),
       doi:10.1177/027836402760475379.
    """

    smoother: RtsSmoother = field(default_factory=RtsSmoother)
    """Smoother of the initial motion."""
    rounds: int = 3
    """Number of improvements of motion and parameters."""
    parameters: tuple[float, ...] | None = field(default=None, metadata=INTERNAL_FIELD)
    """Full parameters of the model, after `tune`."""
    noise: Noise | None = field(default=None, metadata=INTERNAL_FIELD)
    """Noise of both channels, after `tune`."""

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise OptionError(f"errors in variables need at least 1 round, got {self.rounds}")

    def __call__(self, log: Log, robot: Robot) -> Motion:
        """Compute the maximum-likelihood motion at the torque times."""
        return self.motion(log, robot, np.ones(log.q.shape, dtype=bool))

    def motion(self, log: Log, robot: Robot, sound: Bool2D) -> Motion:
        """Compute the maximum-likelihood motion at the torque times, with a whitening row filter.

        Samples that are not sound, shape (N, n), have no weight. Raises `LogError` if the log is
        too short, and `OptionError` if it is sampled too slowly, or the smoother has corners for
        another number of joints.
        """
        tuned = self if self.parameters is not None else self.tune(log, robot, sound)
        assert tuned.parameters is not None
        assert tuned.noise is not None
        model = robot.with_parameters(np.array(tuned.parameters), formal=True)
        motion = self.start_motion(log, robot)
        sound = _open(motion, sound)
        for _ in range(self.rounds):
            motion = improve_motion(log, motion, model, tuned.noise, sound)
        return motion

    def start_motion(self, log: Log, robot: Robot) -> Motion:
        """Compute the smoothed motion at the torque times, with the row filter of `rows`.

        Raises as `motion` does.
        """
        return replace(self.smoother, rows=self.rows)(log, robot)

    def tune(
        self,
        log: Log,
        robot: Robot,
        sound: Bool2D | None = None,
        encoder_noise: Float1D | None = None,
    ) -> Self:
        """Fix parameters and noise to those of a log.

        Samples that are not sound have no weight; the noise of the positions, shape (n,), is
        estimated if it is not given.
        """
        if self.parameters is not None:
            return self
        if sound is None:
            sound = np.ones(log.q.shape, dtype=bool)
        start = replace(self, smoother=self.smoother.tune(log, robot))
        motion = start.start_motion(log, robot)
        sound = _open(motion, sound)
        fit = RowFit.from_motion(motion, robot)
        model = fit_robot(fit, motion, robot)
        position = encoder_noise
        if position is None:
            position = np.array([likelihood_corner(log, j)[1] for j in range(log.dof)])
        noise = Noise(position, torque_noise(log, motion, model))
        for _ in range(self.rounds):
            motion = improve_motion(log, motion, model, noise, sound)
            fit = RowFit.from_motion(motion, robot, fit.parameters)
            model = fit_robot(fit, motion, robot)
            assert motion.row_filter is not None
            rows = fit.noise(fit.rows(standard_torque_of(motion, robot)))
            noise = replace(
                noise, torque=np.maximum(noise.torque, equivalent_white_noise(rows, motion))
            )
        return replace(start, parameters=tuple(model.parameters().tolist()), noise=noise)


def _open(motion: Motion, sound: Bool2D) -> Bool2D:
    """Return the sound samples, shape (N, n), within the rows of a motion."""
    row_filter = motion.row_filter
    if not isinstance(row_filter, GatedRowFilter) or row_filter.gate is None:
        return sound
    sound = sound.copy()
    sound[row_filter.sample_slice] &= row_filter.gate
    return np.asarray(sound & row_filter.gate.any(axis=0))


def fit_robot(fit: RowFit, motion: Motion, robot: Robot) -> Robot:
    """Fit a robot to the torque of a motion.

    Parameters that are not identifiable are those of `robot`; the result may be inconsistent.
    """
    beta = fit.solution(fit.rows(standard_torque_of(motion, robot)))
    phi = fit.parameters.complete(beta, robot.parameters())
    return robot.with_parameters(phi, formal=True)


def torque_noise(log: Log, motion: Motion, model: Robot) -> Float1D:
    """Estimate the white noise of the torques by third differences of the residual of a model.

    Returns the standard deviation of every joint [N m or N], at least `least_noise`.
    """
    residual = log.tau_meas - joint_torque(model, motion.q, motion.dq, motion.ddq)
    spread = np.median(np.abs(np.diff(residual, 3, axis=0)), axis=0) / (0.6745 * np.sqrt(20.0))
    return np.asarray(np.maximum(spread, least_noise(log)))


def least_noise(log: Log) -> Float1D:
    """Compute the minimum torque noise that is assumed [N m], shape (n,)."""
    size = np.sqrt((log.tau_meas**2).mean(axis=0))
    return np.asarray(np.maximum(MIN_NOISE_SHARE * size, np.finfo(float).tiny ** 0.5))


def equivalent_white_noise(rows: Float1D, motion: Motion) -> Float1D:
    """Compute the white noise of samples [N m] that causes the noise `rows` of the rows [N m]."""
    row_filter = motion.row_filter
    assert row_filter is not None
    middle = np.zeros((round(8.0 / row_filter.lowest), len(rows)))
    middle[len(middle) // 2] = 1.0
    row_filter_all = replace(remove_gate(row_filter), first=0, stop=len(middle), step=1, edge=0)
    squares = row_filter_all.apply(middle).T ** 2
    return np.asarray(rows / np.sqrt([joint.sum() for joint in squares]))


def improve_motion(log: Log, motion: Motion, model: Robot, noise: Noise, sound: Bool2D) -> Motion:
    """Improve a motion by maximum likelihood; the result has a whitening row filter.

    `model` has the current parameters; samples that are False in `sound`, shape (N, n), have no
    weight.
    """
    stencil, old = Stencil.from_log(log), (motion.q, motion.dq, motion.ddq)
    partial = slopes_of(model, *old, log.dt)
    slopes = stencil.slopes(partial)
    by_model = joint_torque(model, *old)

    def differentiate(new: tuple[Float2D, Float2D, Float2D]) -> Float2D:
        return sum((s * (x - y) for s, x, y in zip(partial, new, old, strict=True)), by_model)

    row_filter = motion.row_filter
    assert row_filter is not None
    bridged = few_missing(sound)
    std = noise.torque * np.where(sound, 1.0, MASKED_NOISE_RATIO)
    rho = log.tau_meas - differentiate(stencil.motion(log.q))
    measured = sound.any(axis=0)  # joints without torque keep the smoothed motion
    position = np.where(measured, noise.position, 0.0)
    n = _position_noise(log, motion, model, rho, slopes, position, std)
    moved = zip(stencil.motion(log.q - n), old, strict=True)
    q, dq, ddq = (np.where(measured, new, before) for new, before in moved)
    shown = sum(slope * part for slope, part in zip(partial, stencil.motion(n), strict=True))
    torque = np.where(bridged, differentiate((q, dq, ddq)), log.tau_meas)
    relative = np.where(bridged, 1.0, std / noise.torque)[row_filter.sample_slice]
    weighted = (slopes * (noise.position / noise.torque)[:, None])[row_filter.sample_slice]
    factors = [factor_of(weighted[:, j], relative[:, j]) for j in range(log.dof)]
    for j in np.flatnonzero(~measured):
        factors[j] = np.zeros_like(factors[j])
        factors[j][0] = np.inf  # its rows are zero
    options = {name: getattr(row_filter, name) for name in RowFilter.__slots__}
    return replace(
        motion,
        q=q,
        dq=dq,
        ddq=ddq,
        tau=torque - shown,
        row_filter=WhiteningRowFilter(**options, factors=np.array(factors)),
    )


def _position_noise(
    log: Log,
    motion: Motion,
    model: Robot,
    rho: Float2D,
    slopes: Float,
    position: Float1D,
    std: Float2D,
) -> Float2D:
    """Estimate the most likely noise of the positions, shape (N, n).

    Joints are solved one after the other, each with the new accelerations of previous ones
    (Gauss-Seidel): with the old ones (Jacobi) noise diverges where the coupling inertia is large.
    """
    stencil, rho, n = Stencil.from_log(log), rho.copy(), np.zeros_like(log.q)
    inertia = inertia_of(model, motion.q, log.dt)
    for j in np.flatnonzero(position):
        joint = slice(j, j + 1)
        factor = factor_of(position[j] * slopes[:, j], std[:, j])
        solution = cho_solve_banded((factor, True), rho[:, joint])
        n[:, joint] = -(position[j] ** 2) * stencil.apply_transposed(slopes[:, joint], solution)
        moved = stencil.motion(log.q[:, joint] - n[:, joint])[2] - motion.ddq[:, joint]
        rho[:, j + 1 :] -= inertia[:, j, j + 1 :] * moved
    return n


def few_missing(sound: Bool2D) -> Bool2D:
    """Mark samples in short runs of faulty samples, where rows use the model torque, (N, n).

    Excluding single samples would let noise of accelerations at high frequencies pass the low-pass
    of the rows. The model torque adds no information; it repeats the model error in proportion to
    the number of these samples.
    """
    few = np.zeros(sound.shape, dtype=bool)
    for j in np.flatnonzero(~sound.all(axis=0)):
        steps = np.diff(np.concatenate([[False], ~sound[:, j], [False]]).astype(int))
        for begin, end in zip(np.flatnonzero(steps > 0), np.flatnonzero(steps < 0), strict=True):
            few[begin:end, j] = end - begin <= MAX_GAP_SAMPLES
    return few


DERIVATIVE_STEP = 0.02
"""Time between states at which derivatives and inertia of rigid bodies are computed [s]."""


def slopes_of(robot: Robot, q: Float2D, dq: Float2D, ddq: Float2D, dt: float) -> Float:
    """Differentiate the torque of every joint by its own q, dq and ddq.

    The slopes of rigid bodies change slowly: they are computed every `DERIVATIVE_STEP` and
    interpolated; the slope of the smooth sign is exact.

    Motions have shape (N, n), the slopes (3, N, n): torque [N m or N] per unit of position,
    velocity and acceleration.
    """
    some = _some_of(len(q), dt)
    at, result = (q[some], dq[some], ddq[some]), np.empty((3, *q.shape))
    inertia = np.diagonal(mass_matrix(robot, at[0]), axis1=1, axis2=2)
    every = np.arange(len(q))
    for j, joint in enumerate(robot.joints):
        for kind in (0, 1):
            sides = []
            for sign in (1.0, -1.0):
                moved = [part.copy() for part in at]
                moved[kind][:, j] += sign * 1e-5
                sides.append(rigid_body_torque(robot, *moved)[:, j])
            result[kind, :, j] = np.interp(every, some, (sides[0] - sides[1]) / 2e-5)
        result[2, :, j] = np.interp(every, some, inertia[:, j])
        law = joint.friction
        steep = 1.0 - np.tanh(dq[:, j] / law.eps) ** 2
        result[1, :, j] += law.Fv + law.Fc / law.eps * steep
    if robot.terms:
        result += term_slopes(robot, q, dq, ddq)
    return result


def inertia_of(robot: Robot, q: Float2D, dt: float) -> Float:
    """Compute the mass matrices, with shared motors, every `DERIVATIVE_STEP`; interpolate between.

    Positions have shape (N, n), samples dt apart [s], and the matrices shape (N, n, n).
    """
    some, coupling = _some_of(len(q), dt), rotor_coupling(robot, robot.terms)
    mass = make_interp_spline(some, mass_matrix(robot, q[some]), k=1)(np.arange(len(q)))
    return np.asarray(mass if coupling is None else mass + coupling)


def _some_of(samples: int, dt: float) -> Int1D:
    """Return the indices of samples at which slowly changing quantities are computed."""
    step = max(1, round(DERIVATIVE_STEP / dt))
    return np.unique(np.append(np.arange(0, samples, step), samples - 1))
