"""The linear problem that an estimator solves, built from motion and the nominal model."""

from dataclasses import dataclass

from robotid_sim.arrays import Float, Float1D, Float2D, freeze
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.errors import LogError, ShapeError
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot


@dataclass(frozen=True, slots=True, eq=False)
class LinearProblem:
    """Find base parameters beta with ``y = W beta + noise``; noise differs between joints.

    Rows are sample-major: row ``k n + j`` is joint j at sample k.
    """

    W: Float2D
    """Stacked base regressor, shape (N n, b)."""
    y: Float1D
    """Stacked torques [N m], shape (N n,)."""
    basis: BaseParameters
    """What the columns of W are."""
    joint_names: tuple[str, ...]
    dt: float
    """Time between samples [s]."""
    nominal: Robot | None = None
    """What was known before; estimators of full parameters need it."""

    def __post_init__(self) -> None:
        freeze(self, (None, self.basis.rank), "W")
        W = self.W
        freeze(self, (len(W),), "y")
        if len(W) % len(self.joint_names):
            raise ShapeError(f"{len(W)} rows are not a multiple of {len(self.joint_names)} joints")
        if len(W) <= self.basis.rank:
            raise LogError(
                f"{len(W)} rows cannot determine {self.basis.rank} parameters; record a longer log"
            )

    @property
    def dof(self) -> int:
        """Rows per sample."""
        return len(self.joint_names)

    @property
    def samples(self) -> int:
        """Number of samples N."""
        return len(self.W) // self.dof

    def by_joint(self, x: Float) -> Float:
        """Return stacked rows as (N, n, ...)."""
        return x.reshape(self.samples, self.dof, *x.shape[1:])


def build_problem(motion: Motion, nominal: Robot, basis: BaseParameters) -> LinearProblem:
    """Return the linear problem of a motion; regressor and torque pass the same row filter.

    Parameters
    ----------
    motion : Motion
        Motion and torque.
    nominal : Robot
        Gives kinematics, gravity and friction velocities; its inertial parameters do not enter.
    basis : BaseParameters
        The parameters to be found.
    """
    row_filter = motion.row_filter
    if row_filter is None:
        use = slice(None) if motion.mask is None else motion.mask
        step = 1
    else:
        use, step = row_filter.used, row_filter.step
    q, dq, ddq, tau = (part[use] for part in (motion.q, motion.dq, motion.ddq, motion.tau))
    W = torque_regressor(nominal, q, dq, ddq, basis.columns)
    if row_filter is not None:
        W, tau = row_filter.apply(W), row_filter.apply(tau)
    return LinearProblem(
        W=W.reshape(-1, basis.rank),
        y=tau.ravel(),
        basis=basis,
        joint_names=motion.joint_names,
        dt=motion.dt * step,
        nominal=nominal,
    )
