"""Whether the data show every direction of the parameter space."""

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.reduction import triangular_factor
from robotid_sim.excitation.design import default_path, torque_scale
from robotid_sim.model.robot import Robot


def excited_directions(problem: LinearProblem, noise_std: Float1D, nominal: Robot) -> int:
    """Return how many directions of the base-parameter space show above the noise in the data.

    A direction counts if a change of typical size moves the torques by more than one standard
    deviation over all rows together. The typical size of a parameter is the one whose torque on
    the default path of the robot is as large as the whole torque there; so the count falls when
    the motion is too small to see some direction, however independent the columns are
    numerically. The noise is that of the rows of every joint [N m], shape (n,).
    """
    path = default_path(nominal)
    reference = path(np.linspace(0.0, path.duration, 500))
    state = (reference.q, reference.dq, reference.ddq)
    typical = torque_regressor(nominal, *state, problem.basis.columns)
    share = np.sqrt(((typical / torque_scale(nominal)[:, None]) ** 2).mean(axis=(0, 1)))
    size = 1.0 / np.where(share > 0.0, share, 1.0)
    W = problem.by_joint(problem.W) / noise_std[:, None] * size
    R = triangular_factor(W.reshape(-1, problem.basis.rank))
    return int((np.linalg.svd(R, compute_uv=False) > 1.0).sum())
