"""Whether an estimate deserves doubt: a fit converges on nonsense too."""

import numpy as np

from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.problem import LinearProblem

CONSTRAINED = 3.0
"""Residual over that of the fit without constraints from which on no possible robot fits."""

UNEXPLAINED = 0.4
"""Residual over the RMS torque from which on the model does not explain the log."""

ADVICE = "check signs of the torques, units of the positions, and whether the log is of this robot"


def doubt(estimate: Estimate, problem: LinearProblem) -> str:
    """Return why an estimate cannot be trusted, as a sentence; empty if nothing speaks against it.

    A motion in degrees or of another robot leaves much of the torque. A torque of the wrong sign is
    explained well, but by negative masses: only constraints show it.
    """
    tiny = np.finfo(float).tiny
    forced = estimate.torque_rms / np.maximum(estimate.noise_std, tiny)
    size = np.sqrt((problem.by_joint(problem.y) ** 2).mean(axis=0))
    left = estimate.torque_rms / np.maximum(size, tiny)
    j, k = int(forced.argmax()), int(left.argmax())
    # Without noise both residuals are rounding, and their ratio means nothing.
    if forced[j] > CONSTRAINED and left[j] > 1e-6:
        return (
            f"the residual of {problem.joint_names[j]} is {forced[j]:.3g} times that of the fit "
            f"without constraints: no robot that can exist has these torques; {ADVICE}"
        )
    if left[k] > UNEXPLAINED:
        return (
            f"the fit leaves {left[k]:.0%} of the RMS torque of {problem.joint_names[k]}: the "
            f"model does not explain the log; {ADVICE}"
        )
    return ""
