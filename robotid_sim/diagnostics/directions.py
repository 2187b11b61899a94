"""Directions of the parameter space: the excited ones and the weakest identifiable ones.

The module also lists causes in the motion: joints at rest, and parameters that are not identifiable
from the log.
"""

from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.diagnostics.cause import Cause
from robotid_sim.diagnostics.evidence import Evidence
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.problem import LinearProblem, weights_of
from robotid_sim.estimation.reduction import reduce_rows, triangular_factor
from robotid_sim.excitation.design import default_path, torque_scale
from robotid_sim.measurement.log import MIN_MOTION_RANGE
from robotid_sim.model.robot import Robot


def count_excited_directions(problem: LinearProblem, noise_std: Float1D, nominal: Robot) -> int:
    """Count the directions of the base-parameter space that are identifiable above the noise.

    A direction counts if a change of typical size moves the torques by more than one standard
    deviation over all rows together. The typical size of a parameter is the value whose torque on
    the default path of the robot equals the whole torque there; so the count is lower for a smaller
    motion, even if the columns are numerically independent. `noise_std` is the noise of the rows
    per joint [N m], shape (n,).
    """
    path = default_path(nominal)
    reference = path(np.linspace(0.0, path.duration, 500))
    state = (reference.q, reference.dq, reference.ddq)
    typical = torque_regressor(nominal, *state, problem.basis.columns)
    share = np.sqrt(((typical / torque_scale(nominal)[:, None]) ** 2).mean(axis=(0, 1)))
    size = 1.0 / np.where(share > 0.0, share, 1.0)
    W = problem.unstack_rows(problem.W) / noise_std[:, None] * size
    R = triangular_factor(W.reshape(-1, problem.basis.rank))
    return int((np.linalg.svd(R, compute_uv=False) > 1.0).sum())


MIN_RELATIVE_WEIGHT = 0.3
"""Minimum weight of a main parameter of a direction, over the largest weight."""

MAX_HARMLESS_RATIO = 30.0
"""Maximum ratio of best to weakest direction that needs no remedy."""


@dataclass(frozen=True, slots=True, eq=False)
class WeakDirection:
    """Direction of a small singular value of the weighted regressor with columns of unit length.

    Weights are in units of the torque of a parameter: a weight of one is the change of a parameter
    that alone changes the weighted torques by one.
    """

    names: tuple[str, ...]
    weights: Float1D
    """Unit vector over all base parameters, shape (b,); its largest entry is positive."""
    singular_values: Float1D
    """Singular values of all directions, the largest first, shape (b,)."""
    place: int = -1
    """Index of the singular value of this direction."""

    @property
    def ratio(self) -> float:
        """Ratio of the largest singular value to that of this direction."""
        return float(self.singular_values[0] / self.singular_values[self.place])

    @property
    def main_parameters(self) -> tuple[tuple[str, float], ...]:
        """Main parameters of the direction and their weights, the largest first."""
        size = np.abs(self.weights)
        order = np.argsort(-size, kind="stable")
        chosen = [k for k in order if size[k] > MIN_RELATIVE_WEIGHT * size.max()]
        return tuple((self.names[k], float(self.weights[k])) for k in chosen)

    @property
    def text(self) -> str:
        """The direction as a sum of parameters."""
        return " ".join(f"{weight:+.2f} {name}" for name, weight in self.main_parameters)

    def sentences(self) -> list[str]:
        """Describe the weakest direction."""
        sentences = [
            f"Weakest identifiable direction: {self.text}, {self.ratio:.3g} times weaker than the "
            f"best direction (condition number of the weighted regressor with columns of unit "
            f"length)."
        ]
        if self.ratio > MAX_HARMLESS_RATIO and len(self.main_parameters) > 1:
            sentences.append(
                "A joint change of these parameters hardly affects the torques; a motion that "
                "separates "
                f"{self.main_parameters[0][0]} from {self.main_parameters[1][0]} would help "
                f"most."
            )
        return sentences


def weakest_direction(problem: LinearProblem, estimate: Estimate) -> WeakDirection:
    """Find the weakest identifiable combination of parameters from the rows of a fit."""
    return weakest_directions(problem, estimate, 1)[0]


def weakest_directions(
    problem: LinearProblem, estimate: Estimate, count: int
) -> tuple[WeakDirection, ...]:
    """Find the `count` weakest identifiable combinations of parameters, the weakest last.

    The estimate is a fit of the rows and gives the weights of the joints. Raises
    `numpy.linalg.LinAlgError` if the motion does not determine all parameters.
    """
    _, R = reduce_rows(problem).solve(weights_of(estimate))
    _, s, Vt = np.linalg.svd(R / np.linalg.norm(R, axis=0))
    weakest = []
    for place in range(-min(count, s.size), 0):
        v = Vt[place] * np.sign(Vt[place][np.abs(Vt[place]).argmax()])
        names = problem.basis.names
        weakest.append(WeakDirection(names, np.asarray(v), np.asarray(s), place))
    return tuple(weakest)


REMEDY = "record an optimized excitation: `robotid design`"


def list_excitation_causes(evidence: Evidence) -> list[Cause]:
    """List joints and directions of parameters that the motion does not excite."""
    names, basis = evidence.nominal.joint_names, evidence.basis
    travel = np.ptp(evidence.q, axis=0)
    is_at_rest = travel < MIN_MOTION_RANGE
    causes = [
        Cause(
            kind="not-excited",
            joints=(names[j],),
            finding="the joint hardly moves; its parameters are not excited",
            evidence=f"range {travel[j]:.2g} {evidence.nominal.joint_units[j]}",
            remedy=REMEDY,
        )
        for j in np.flatnonzero(is_at_rest)
    ]
    if causes:
        return causes
    sigma = evidence.fit().sigma
    flat = evidence.W.reshape(-1, basis.rank)
    problem = LinearProblem(flat, evidence.y.ravel(), basis, names, evidence.dt, evidence.nominal)
    excited = count_excited_directions(problem, sigma, evidence.nominal)
    if excited == basis.rank:
        return []
    return [
        Cause(
            kind="not-excited",
            joints=(),
            finding=f"the motion excites only {excited} of {basis.rank} parameter directions above "
            f"the noise",
            evidence="a change of typical size along the others moves the torques by less than one "
            "standard deviation over the whole log",
            remedy=REMEDY,
        )
    ]
