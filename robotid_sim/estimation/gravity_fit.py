r"""Estimation of gravity with all parameters, where it differs from the model.

The torque is linear in the vector of gravity: with the columns :math:`D = \partial \tau / \partial
g` at the parameters :math:`\beta` of the previous step,

.. math:: y = W(g) \beta + D\, \Delta g + e, \qquad g \leftarrow g + \Delta g,

which is Gauss-Newton on the product of parameters and gravity. A tilted base changes the direction;
with a vertical first axis, the first moments of the first link are identifiable only if the base is
tilted. The base parameters are therefore computed anew for the tilted robot.

A different magnitude of gravity is an error of the model, or of the clock of the log: with times
:math:`c\,t` accelerations are :math:`c^{-2}` times as large, and torques equal those with inertia
:math:`c^2 \phi` and gravity :math:`c^{-2} g`. A log cannot distinguish the two.
"""

from dataclasses import dataclass, replace

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D, freeze
from robotid_sim.docstrings import document_attributes
from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters_like
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.estimation.hold_out import MIN_GAIN, HeldOut, robust_gain, score_blocks
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import LinearProblem, build_problem, extend_problem, rows_of
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.renamed import old_members
from robotid_sim.section import percent

DIFFERENCE_STEP = 1e-4
"""Relative step of gravity in numerical derivatives."""

MAX_STEPS = 3
"""Maximum number of Gauss-Newton steps."""

MAX_GRAVITY_CHANGE = 0.25
"""Maximum relative change of gravity; above, the mounting or a unit is wrong."""

TILT, MAGNITUDE = [0, 1], [2]
"""Columns of `gravity_columns` by hypothesis: a different direction, a different magnitude."""


@old_members(nominal="robot", assumed="nominal_gravity")
@document_attributes
@dataclass(frozen=True, slots=True, eq=False)
class GravityFit:
    """Gravity estimated from a log, in the root frame."""

    robot: Robot
    """The nominal robot with the estimated gravity."""
    basis: BaseParameters
    """Base parameters of this robot."""
    nominal_gravity: Float1D
    """Gravity of the nominal model [m/s^2], shape (3,)."""
    cov: Float2D
    """Covariance of gravity [(m/s^2)^2] along the axes of `gravity_columns`, two perpendicular to
    gravity and one along it, shape (3, 3)."""

    def __post_init__(self) -> None:
        freeze(self, (3,), "nominal_gravity")
        freeze(self, (3, 3), "cov")

    @property
    def angle(self) -> float:
        """Angle between nominal and estimated gravity [rad]."""
        sine = np.linalg.norm(np.cross(self.nominal_gravity, self.robot.gravity))
        return float(np.arctan2(sine, self.nominal_gravity @ self.robot.gravity))

    @property
    def excess(self) -> float:
        """Magnitude over the nominal magnitude of gravity, minus one."""
        magnitude = np.linalg.norm(self.robot.gravity)
        return float(magnitude / np.linalg.norm(self.nominal_gravity) - 1.0)

    def sentences(self) -> list[str]:
        """Describe the tilt, its uncertainty and alternative causes."""
        std = np.sqrt(np.diag(self.cov)) / np.linalg.norm(self.nominal_gravity)
        entries = ", ".join(f"{g:.4g}" for g in self.robot.gravity)
        sentences = []
        if std[TILT].any():
            sentences.append(
                f"Gravity points {np.degrees(self.angle):.3g} ± {np.degrees(std[TILT].max()):.1g} "
                "deg away from the model's: the base is tilted, and the fit uses this direction. "
                f"Level the base, or set `gravity = [{entries}]` in the section [robot]."
            )
        if std[MAGNITUDE].any():
            text = describe_strength(self.excess)
            sentences.append(
                f"{text[0].upper()}{text[1:]}. The fit uses this gravity; the intervals include "
                "both causes."
            )
        return sentences


def describe_strength(excess: float) -> str:
    """Describe the clock error, or the excess of gravity over the model."""
    side = "stronger" if excess > 0.0 else "weaker"
    clock = (1.0 + excess) ** -0.5 - 1.0
    pace = "slow" if clock < 0.0 else "fast"
    return (
        f"the clock of the log runs {percent(abs(clock), 2)} {pace}, or gravity is "
        f"{percent(abs(excess), 2)} {side} than the model's"
    )


def revise_gravity(motion: Motion, nominal: Robot, basis: BaseParameters) -> GravityFit | None:
    """Estimate gravity where it differs from the nominal one.

    Direction and magnitude are separate hypotheses. Each is accepted if it improves the prediction
    of held-out blocks, and does not significantly worsen the prediction of any joint.

    The result is None if gravity does not differ significantly, or the robot has none.
    """
    if not nominal.gravity.any():
        return None
    fit = GravityFit(nominal, basis, nominal.gravity, np.zeros((3, 3)))
    problem = build_problem(motion, nominal, basis)
    free: list[int] = []
    while True:
        estimate = WeightedLeastSquares().fit(problem)
        if not estimate.success:
            return None
        columns = gravity_columns(problem, motion, estimate.beta)
        hypotheses = [axes for axes in (TILT, MAGNITUDE) if not {*axes} <= {*free}]
        gains, rank = [], problem.basis.rank
        for axes in hypotheses:  # gains of held-out blocks, shape (folds, n)
            sums = HeldOut.from_problem(problem, columns[:, :, axes])
            fixed, fitted = (sums.score_by_joint(np.arange(k)) for k in (rank, rank + len(axes)))
            gains.append(fitted - fixed)
        better = [k for k, gain in enumerate(gains) if _is_better(gain)]
        if not better:
            return fit if free else None
        free = sorted([*free, *hypotheses[max(better, key=lambda k: float(gains[k].sum()))]])
        revised = _iterate(fit, problem, motion, free)
        if revised is None or not _is_better(score_blocks(revised[1]) - score_blocks(problem)):
            return fit if fit.cov.any() else None
        fit, problem = revised


def refine_gravity(fit: GravityFit, motion: Motion) -> GravityFit:
    """Refine the gravity of a fit by a further step, with a different motion of the log."""
    problem = build_problem(motion, fit.robot, fit.basis)
    free = np.flatnonzero(np.diag(fit.cov)).tolist()
    return _step(fit, problem, motion, free) or fit


def gravity_columns(problem: LinearProblem, motion: Motion, beta: Float1D) -> Float:
    """Compute the torque per change of gravity along `_compute_axes` [N m s^2/m], (N, n, 3).

    Rows are those of the problem of the motion; the bodies have the base parameters `beta`.
    """
    nominal = problem.nominal
    assert nominal is not None
    phi = problem.basis.complete(beta, nominal.parameters())
    model = replace(nominal.with_parameters(phi, formal=True), terms=())
    state = (motion.q, motion.dq, motion.ddq)
    torque, step = (
        joint_torque(model, *state),
        DIFFERENCE_STEP * float(np.linalg.norm(model.gravity)),
    )
    differences = [
        joint_torque(replace(model, gravity=model.gravity + step * axis), *state) - torque
        for axis in _compute_axes(model.gravity)
    ]
    return rows_of(motion, np.stack(differences, axis=2) / step)


def gravity_errors(
    fit: GravityFit, problem: LinearProblem, motion: Motion, beta: Float1D
) -> Float2D:
    """Compute the torque of one standard deviation of the errors of gravity [N m], (N n, k).

    If the magnitude was estimated, a further column is the change of torque by the parameters that
    follow if the clock of the log, not gravity, is wrong. The columns are random effects of a fit
    with fixed gravity.
    """
    values, vectors = np.linalg.eigh(fit.cov)
    columns = gravity_columns(problem, motion, beta).reshape(len(problem.y), 3)
    columns = columns @ (vectors * np.sqrt(np.maximum(values, 0.0)))
    if not fit.cov[MAGNITUDE, MAGNITUDE].any():
        return np.asarray(columns)
    # With a clock error the parameters scale by (c^2)^p, see the docstring of the module.
    exponents = {"Fv": 0.5, "Fc": 0.0, "Fo": 0.0}
    p = np.array([exponents.get(name[:2], 1.0) for name in problem.basis.names])
    return np.column_stack([columns, problem.W @ (fit.excess * p * beta)])


def _iterate(
    fit: GravityFit, problem: LinearProblem, motion: Motion, free: list[int]
) -> tuple[GravityFit, LinearProblem] | None:
    """Iterate a fit; return it and its problem, or None if gravity leaves its range."""
    for _ in range(MAX_STEPS):
        next_fit = _step(fit, problem, motion, free)
        if next_fit is None:
            return None
        fit = next_fit
        change = np.linalg.norm(fit.robot.gravity - fit.nominal_gravity)
        if change > MAX_GRAVITY_CHANGE * np.linalg.norm(fit.nominal_gravity):
            return None
        problem = build_problem(motion, fit.robot, fit.basis)
    return fit, problem


def _step(
    fit: GravityFit, problem: LinearProblem, motion: Motion, free: list[int]
) -> GravityFit | None:
    """Make one step of gravity along the free axes; None if there is no solution."""
    estimate = WeightedLeastSquares().fit(problem)
    if not estimate.success:
        return None
    columns = gravity_columns(problem, motion, estimate.beta)[:, :, free]
    symbols = [f"gravity {k + 1}" for k in free]
    rows = columns.reshape(len(problem.y), len(free))
    extended = WeightedLeastSquares().fit(
        extend_problem(problem, rows, symbols, ["m/s^2"] * len(free))
    )
    if not extended.success or extended.cov is None:
        return None
    previous, count = fit.robot.gravity, len(free)
    gravity = previous + extended.beta[-count:] @ _compute_axes(previous)[free]
    if MAGNITUDE[0] not in free:
        gravity *= np.linalg.norm(previous) / np.linalg.norm(gravity)
    cov = np.zeros((3, 3))
    cov[np.ix_(free, free)] = extended.cov[-count:, -count:]
    robot = replace(fit.robot, gravity=gravity)
    basis = base_parameters_like(fit.basis, robot, problem.measured_joints)
    return replace(fit, robot=robot, basis=basis, cov=cov)


def _compute_axes(gravity: Float1D) -> Float2D:
    """Compute two unit vectors perpendicular to gravity and one along it, shape (3, 3)."""
    perpendicular_axes = np.linalg.svd(gravity[None])[2][1:]
    return np.vstack([perpendicular_axes, gravity / np.linalg.norm(gravity)])


def _is_better(gain: Float2D) -> bool:
    """Return whether held-out blocks are predicted better, and no joint significantly worse.

    `gain` is the gain of the log-likelihood, shape (folds, n).
    """
    return robust_gain(gain.sum(axis=1)) > MIN_GAIN and all(
        robust_gain(-each) <= MIN_GAIN for each in gain.T
    )
