"""Physically consistent robots: the best fit, and the one nearest to an estimate.

Posterior samples of robots, for simulations that must be valid for all of them.
"""

import time
from dataclasses import asdict, dataclass, replace

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, readonly
from robotid_sim.docstrings import document_attributes
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import InconsistentInertiaError, OptionError, ShapeError, require_type
from robotid_sim.estimation.cone_program import ConsistentProgram
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.least_squares import PROBLEM_REMEDY, WeightedLeastSquares
from robotid_sim.estimation.problem import Estimator, LinearProblem, get_robot_basis
from robotid_sim.estimation.reduction import reduce_rows, triangular_factor
from robotid_sim.model.perturb import DEFAULT_SCALE, perturb
from robotid_sim.model.robot import Robot
from robotid_sim.progress import Progress, silent
from robotid_sim.representation import public_value


@document_attributes
@dataclass(frozen=True, slots=True, kw_only=True)
class Consistent(Estimator):
    r"""Weighted least squares over physically consistent robots.

    .. math:: \min_\phi \sum_j |y_j - W_j B \phi|^2 / \hat\sigma_j^2
        + \lambda |D^{-1} (\phi - \phi_0)|^2 + 2 \gamma \sum_k d(J_k, J_{k,0})
        \quad \text{s.t.} \quad J_k(\phi) \succeq \epsilon 1, \; F_v, F_c, I_a \ge 0 .

    The noise comes from unconstrained weighted least squares, and the objective is centered on its
    solution. The log-det divergence d from the nominal bodies determines the parameters that the
    data do not determine [2]_: without it the best robot may have links of hundreds of kilograms
    and of grams. A link without a nominal mass has no divergence, and only a small pull toward the
    nominal robot. Where constraints are active the estimate is biased, and its covariance, that of
    the unconstrained fit, is approximate. Further columns of the problem, see `extend_problem`, are
    fitted without constraints.

    References
    ----------
    .. [1] Wensing, Kim, Slotine (2018), "Linear matrix inequalities for physically consistent
       inertial parameter identification", IEEE Robotics and Automation Letters,
       doi:10.1109/LRA.2017.2729659.
    .. [2] Lee, Wensing, Park (2020), "Geometric robot dynamic identification: a convex programming
       approach", IEEE Trans. Robotics, doi:10.1109/TRO.2019.2926491.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> setup = rid.build_setup("twolink", rid.StudyConfig().quick())
    >>> nominal, basis = setup.nominal, setup.basis
    >>> rng, short = np.random.default_rng(0), rid.FourierOptions(period=5.0, periods=1)
    >>> path = rid.random_design(nominal, basis, rng, options=short, candidates=5)
    >>> log = rid.simulate(setup.cell, path, rng=rng).log
    >>> problem = rid.build_problem(rid.RtsSmoother()(log, nominal), nominal, basis)
    >>> estimate = rid.Consistent().fit(problem)
    >>> estimate.success, estimate.cov is None
    (True, False)
    """

    pull: float = 1e-6
    """Weight of the squared distance to the nominal model, in units of its parameters."""
    divergence: float = 0.1
    """Weight of the log-det divergence from the nominal bodies; 0 for none."""
    rounds: int = 5
    """Rounds of the weighted least squares."""
    block: float | None = None
    """Length of the blocks of the covariance [s]; None: by the correlation of the residuals."""

    def __post_init__(self) -> None:
        if not (self.pull > 0.0 and self.divergence >= 0.0):
            raise OptionError("the pull must be positive, the divergence not negative")
        WeightedLeastSquares(rounds=self.rounds, block=self.block)  # checks rounds and block

    def fit(self, problem: LinearProblem, rng: np.random.Generator | None = None) -> Estimate:
        """Fit a consistent robot, with full parameters; `rng` is not used."""
        require_type(problem, LinearProblem, "problem", PROBLEM_REMEDY)
        basis = get_robot_basis(problem)
        began = time.perf_counter()
        wls = WeightedLeastSquares(rounds=self.rounds, block=self.block).fit(problem, rng)
        wls = replace(wls, estimator="consistent", options=asdict(self), unbiased=False)
        if not wls.success:
            return wls
        reduction = reduce_rows(problem)
        beta, R = reduction.solve(1.0 / wls.noise_std)
        assert problem.nominal is not None
        b = basis.rank
        program = ConsistentProgram(problem.nominal, basis)
        robot_R, extra = R, R.shape[1] - b
        if extra:  # triangular factor of the robot's columns alone
            robot_R = triangular_factor(np.hstack([R[:, b:], R[:, :b]]))[extra:, extra:]
        phi = program.find_nearest(beta[:b], robot_R, pull=self.pull, divergence=self.divergence)
        if phi is None:
            message = "the cone program found no consistent robot; check log and friction model"
            return replace(wls, success=False, message=message)
        change = R[:, :b] @ (basis.project(phi) - beta[:b])
        further = beta[b:] - np.linalg.lstsq(R[:, b:], change, rcond=None)[0]
        beta = np.concatenate([basis.project(phi), further])
        return replace(
            wls,
            beta=beta,
            phi=phi,
            torque_rms=np.sqrt(reduction.compute_squared_residuals(beta) / problem.samples),
            seconds=time.perf_counter() - began,
        )


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class ConsistentRobot:
    """A consistent robot for estimated base parameters."""

    robot: Robot
    exact: bool
    """Whether the robot has exactly the estimated base parameters."""
    distance: float
    """Distance of its base parameters to the estimate, in standard deviations per parameter."""
    message: str


def make_consistent(
    beta: Float1D, cov: Float2D, nominal: Robot, basis: BaseParameters
) -> ConsistentRobot:
    """Find the consistent robot nearest to `nominal` with base parameters `beta`.

    Base parameters do not determine all full parameters; the nominal robot resolves them. If no
    consistent robot has exactly these base parameters, the robot of least deviation, weighted by
    their covariance, is returned, and `message` states it.

    Parameters
    ----------
    beta : ndarray, shape (b,)
        Base parameters.
    cov : ndarray, shape (b, b)
        Their covariance.
    nominal : Robot
        Resolves the undetermined parameters.
    basis : BaseParameters
        Base parameters in `beta`.

    Returns
    -------
    robot : ConsistentRobot
        The robot, whether it has these base parameters, and a message.

    Raises
    ------
    InconsistentInertiaError
        If the solver finds no consistent robot at all.
    ShapeError
        If robot, basis, parameters and covariance do not belong together, or a variance is
        negative.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> setup = rid.build_setup("twolink", rid.StudyConfig().quick())
    >>> nominal, basis = setup.nominal, setup.basis
    >>> rng, short = np.random.default_rng(0), rid.FourierOptions(period=5.0, periods=1)
    >>> path = rid.random_design(nominal, basis, rng, options=short, candidates=5)
    >>> log = rid.simulate(setup.cell, path, rng=rng).log
    >>> problem = rid.build_problem(rid.RtsSmoother()(log, nominal), nominal, basis)
    >>> estimate = rid.WeightedLeastSquares().fit(problem)
    >>> identified = rid.make_consistent(estimate.beta, estimate.cov, nominal, basis).robot
    >>> identified.joint_names
    ('joint_1', 'joint_2')
    """
    basis.project(nominal.parameters())  # checks the number of joints
    beta = readonly(beta, shape=(basis.rank,), name="beta")
    cov = readonly(cov, shape=(basis.rank, basis.rank), name="cov")
    if (np.diag(cov) < 0.0).any():
        name = basis.names[int(np.argmin(np.diag(cov)))]
        raise ShapeError(f"'cov' is not a covariance: the variance of {name} is negative")
    program = ConsistentProgram(nominal, basis)
    std = np.sqrt(np.diag(cov))
    phi = program.find_exact(beta)
    exact = phi is not None
    if phi is None:
        try:
            whitening = np.linalg.inv(np.linalg.cholesky(cov))
        except np.linalg.LinAlgError as error:
            raise InconsistentInertiaError(
                "no robot has exactly the estimated base parameters, and their covariance is "
                "singular, so that no nearest robot is defined; record a longer log"
            ) from error
        phi = program.find_nearest(beta, whitening)
    if phi is None:
        raise InconsistentInertiaError(
            "no physically consistent robot was found near the estimate; check the log and the "
            "friction model"
        )
    distance = float(np.sqrt((((basis.project(phi) - beta) / std) ** 2).mean()))
    message = (
        "a consistent robot with exactly the estimated base parameters"
        if exact
        else "no rigid bodies have exactly the estimated base parameters; the nearest consistent "
        f"robot is {distance:.2g} standard deviations away (rms)"
    )
    return ConsistentRobot(nominal.with_parameters(phi), exact, distance, message)


def draw_robots(
    estimate: Estimate,
    nominal: Robot,
    basis: BaseParameters,
    count: int,
    rng: np.random.Generator,
    *,
    spread: float = DEFAULT_SCALE,
    progress: Progress = silent,
) -> list[Robot]:
    r"""Sample consistent robots from the posterior of an estimate and a nominal model.

    Randomize, then optimize [1]_: every sample is the consistent robot of

    .. math:: \min_\phi |\Sigma^{-1/2} (B\phi - \tilde\beta)|^2
        + 2 \gamma \sum_k d(J_k, \tilde J_k), \qquad \tilde\beta \sim N(\hat\beta, \Sigma),

    with randomly perturbed bodies :math:`\tilde J` of the nominal model, see `perturb`. For a
    linear model with Gaussian errors and prior these are exact samples; they differ in parameters
    that are not identifiable, which follow the prior, and agree in the base parameters within their
    covariance, which includes unmodeled torque.

    Masses, centers of mass and inertia of the nominal model have the relative error `spread`.
    Raises `OptionError` if `count` is less than 1, and `InconsistentInertiaError` if the estimate
    failed or no consistent robot is near one of the samples.

    References
    ----------
    .. [1] Bardsley, Solonen, Haario, Laine (2014), "Randomize-then-optimize: a method for sampling
       from posterior distributions in nonlinear inverse problems", SIAM J. Scientific Computing
       36(4), doi:10.1137/140964023.
    """
    if count < 1:
        raise OptionError(f"the number of samples must be at least 1, got {count}")
    if not estimate.success or estimate.cov is None:
        raise InconsistentInertiaError(f"no robots can be sampled: {estimate.message}")
    root = np.linalg.cholesky(estimate.cov)
    weight, divergence = np.linalg.inv(root), Consistent().divergence
    robots = []
    for k in range(count):
        progress("draw", k / count)
        center = perturb(nominal, rng, scale=spread)
        sample = estimate.beta + root @ rng.standard_normal(len(estimate.beta))
        phi = ConsistentProgram(center, basis).find_nearest(sample, weight, divergence=divergence)
        if phi is None:
            raise InconsistentInertiaError(
                f"no physically consistent robot is near sample {k + 1} of {count}; check the log "
                f"and the friction model"
            )
        robots.append(nominal.with_parameters(phi, formal=True).repair())
    progress("draw", 1.0)
    return robots
