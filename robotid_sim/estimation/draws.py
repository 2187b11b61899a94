"""Robots drawn from what an estimate leaves open, for simulations that have to hold for all."""

import numpy as np

from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import InconsistentInertiaError, OptionError
from robotid_sim.estimation.cone_program import ConsistentProgram
from robotid_sim.estimation.consistent import Consistent
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.model.perturb import SCALE, perturb
from robotid_sim.model.robot import Robot
from robotid_sim.progress import Progress, silent


def draw_robots(
    estimate: Estimate,
    nominal: Robot,
    basis: BaseParameters,
    count: int,
    rng: np.random.Generator,
    *,
    spread: float = SCALE,
    progress: Progress = silent,
) -> list[Robot]:
    r"""Draw consistent robots from the posterior of an estimate and of a nominal model.

    Randomize, then optimize [1]_: every draw is the consistent robot of

    .. math:: \min_\phi |\Sigma^{-1/2} (B\phi - \tilde\beta)|^2
        + 2 \gamma \sum_k d(J_k, \tilde J_k), \qquad \tilde\beta \sim N(\hat\beta, \Sigma),

    with bodies :math:`\tilde J` of the nominal model that are wrong at random, see `perturb`. For a
    linear model with Gaussian errors and prior these are exact draws; here they differ in what the
    torques do not show, which the prior decides, and agree in the base parameters as far as the
    log showed them. The covariance is that of the estimate: what the model lacks widens it.

    The nominal's masses, centers of mass and inertia may be wrong by the relative error `spread`.
    Raises `OptionError` if no robot is asked for, and `InconsistentInertiaError` if the estimate
    failed or no robot can exist near one of the draws.

    References
    ----------
    .. [1] Bardsley, Solonen, Haario, Laine (2014), "Randomize-then-optimize: a method for sampling
       from posterior distributions in nonlinear inverse problems", SIAM J. Scientific Computing
       36(4), doi:10.1137/140964023.
    """
    if count < 1:
        raise OptionError(f"draws are counted from 1, got {count}")
    if not estimate.success or estimate.cov is None:
        raise InconsistentInertiaError(f"no robots can be drawn: {estimate.message}")
    root = np.linalg.cholesky(estimate.cov)
    weight, divergence = np.linalg.inv(root), Consistent().divergence
    robots = []
    for k in range(count):
        progress("draw", k / count)
        center = perturb(nominal, rng, scale=spread)
        wanted = estimate.beta + root @ rng.standard_normal(len(estimate.beta))
        phi = ConsistentProgram(center, basis).nearest(wanted, weight, divergence=divergence)
        if phi is None:
            raise InconsistentInertiaError(
                f"no consistent robot was found for draw {k + 1} of {count}; the estimate is too "
                "far from any rigid body, check the log and the friction model"
            )
        robots.append(nominal.with_parameters(phi, formal=True).repaired())
    progress("draw", 1.0)
    return robots
