r"""What a model lacks, as random functions of the state of every joint beside its parameters.

Residuals that are the same function of velocity, position, load or time are no noise, however small
they look beside it: they move the parameters together. Here the torque of joint j is

.. math:: y_j = W_j \beta + \sum_f \Phi_{jf} u_{jf} + e_j, \qquad u_{jf} \sim N(0, \theta_{jf} K_f)

with piecewise linear functions of one quantity f of the joint, low-passed like the rows, of values
that are independent but for a level that those of the two directions share. Their variances are
chosen by restricted likelihood: most are zero, all of them where the model is right. The rows are
then weighed by the inverse root of their covariance [1]_, joint by joint, so that every estimator
leaves out what the functions may explain; and what of them is left in the parameters widens the
intervals, for the functions are the nearest to the truth that the data show [2]_.

References
----------
.. [1] Robinson (1991), "That BLUP is a good thing: the estimation of random effects", Statistical
   Science 6(1), doi:10.1214/ss/1177011926.
.. [2] Kennedy, O'Hagan (2001), "Bayesian calibration of computer models", J. Royal Statistical
   Society B 63(3), doi:10.1111/1467-9868.00294.
"""

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D, freeze
from robotid_sim.estimation.least_squares import random_errors
from robotid_sim.estimation.problem import LinearProblem, with_rows_changed
from robotid_sim.estimation.reduction import cramer_rao, reduce_rows
from robotid_sim.estimation.state_functions import QUANTITIES, Lack, RandomFunction
from robotid_sim.representation import public_value

PARTS = 4
"""Parts of a log, each foretold by the functions of the others."""

MATTERS = 0.02
"""Least torque of a function over the noise of its rows that is worth a word."""


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Discrepancy:
    """What the model of a fit lacks; nothing if there are no `lacks`."""

    lacks: tuple[Lack, ...]
    columns: Float2D
    """Torque of one standard deviation of every random effect in its joint's rows, (N n, k)."""
    noise_std: Float1D
    """Noise of the rows beside the functions [N m], shape (n,)."""
    functions: tuple[RandomFunction, ...] = ()
    """The function of every one of the `lacks`; their columns are the last ones."""
    repeats: bool = False
    """Whether what is left beside the functions repeats with the period, as torque ripple does."""

    def __post_init__(self) -> None:
        freeze(self, (None, None), "columns")  # rows of a fit share them

    @property
    def notable(self) -> tuple[Lack, ...]:
        """The lacks that are worth a word: by joint, the most obvious first, then by their size."""
        joints = list(dict.fromkeys(lack.joint for lack in self.lacks))
        large = [lack for lack in self.lacks if lack.over_noise >= MATTERS]
        return tuple(sorted(large, key=lambda k: (joints.index(k.joint), -k.over_noise)))


def with_values(discrepancy: Discrepancy, problem: LinearProblem, beta: Float1D) -> Discrepancy:
    r"""Return a discrepancy whose lacks hold the values of their functions, given parameters.

    With the columns :math:`C = \Phi D^{1/2} / \sigma` of a joint and its residuals :math:`r` over
    the noise, :math:`\hat u = D^{1/2} (1 + C^T C)^{-1} C^T r`, of the functions that another
    motion has too: two that cancel along this one would not along another. Functions of a joint
    that do not foretell parts of the log from the others have no values, nor have those that are
    weaker than what passes with time: drift looks like many things.

    Parameters
    ----------
    discrepancy : Discrepancy
        What the model of the problem lacks.
    problem : LinearProblem
        The plain rows, which do not allow for it.
    beta : ndarray, shape (b,)
        Base parameters.

    Returns
    -------
    valued : Discrepancy
        The knots and values of its functions are in its `lacks`.
    """
    ends = len(discrepancy.columns.T) - np.cumsum(
        [0, *(len(function.knots) for function in discrepancy.functions[::-1])]
    )
    left = problem.by_joint(problem.y - problem.W @ beta) / discrepancy.noise_std
    pairs = zip(discrepancy.lacks, discrepancy.functions, pairwise(ends[::-1]), strict=True)
    drift = dict.fromkeys(problem.joint_names, 0.0)
    for lack in discrepancy.lacks:
        if not QUANTITIES[lack.quantity].stays:
            drift[lack.joint] = max(drift[lack.joint], lack.torque)
    kept = [
        pair
        for pair in pairs
        if QUANTITIES[pair[0].quantity].stays and pair[0].torque > drift[pair[0].joint]
    ]
    valued = {}
    for j, joint in enumerate(problem.joint_names):
        own = [pair for pair in kept if pair[0].joint == joint]
        if not own:
            continue
        which = np.concatenate([np.arange(*columns) for _, _, columns in own])
        C = problem.by_joint(discrepancy.columns[:, which])[:, j] / discrepancy.noise_std[j]
        if not _foretells(C, left[:, j]):
            continue
        u = _effects(C, left[:, j])
        for lack, (knots, mean, root), _ in own:
            part, u = root @ u[: len(knots)], u[len(knots) :]
            values = part - mean @ part  # the functions of the knots add up to one
            valued[lack] = replace(lack, knots=tuple(knots), values=tuple(values))
    return replace(discrepancy, lacks=tuple(valued.get(k, k) for k in discrepancy.lacks))


def _effects(C: Float2D, left: Float1D) -> Float1D:
    """Return the best linear unbiased prediction of effects of unit variance in unit noise."""
    return np.asarray(np.linalg.solve(np.eye(C.shape[1]) + C.T @ C, C.T @ left))


def _foretells(C: Float2D, left: Float1D) -> bool:
    """Return whether effects by the other parts of the rows foretell each part on the whole."""
    parts = np.array_split(np.arange(len(left)), PARTS)
    rest = [np.setdiff1d(np.arange(len(left)), part) for part in parts]
    pairs = zip(parts, rest, strict=True)
    missed = sum(((left[a] - C[a] @ _effects(C[b], left[b])) ** 2).sum() for a, b in pairs)
    return bool(missed < (left**2).sum())


def allowing_for(problem: LinearProblem, discrepancy: Discrepancy) -> LinearProblem:
    r"""Return the problem with rows weighed by the inverse root of their covariance.

    With the functions :math:`\Phi D^{1/2} / \sigma = Q \Lambda^{1/2} V^T` of a joint,
    :math:`(1 + \Phi D \Phi^T / \sigma^2)^{-1/2} = 1 - Q (1 - (1 + \Lambda)^{-1/2}) Q^T`.

    Parameters
    ----------
    problem : LinearProblem
        The plain rows.
    discrepancy : Discrepancy
        What their model lacks.

    Returns
    -------
    problem : LinearProblem
        Rows weighed; random effects of the discrepancy come before its own.
    """
    if not discrepancy.columns.size:
        return replace(problem, repeats=True) if discrepancy.repeats else problem
    columns = problem.by_joint(discrepancy.columns) / discrepancy.noise_std[:, None]
    random = discrepancy.columns
    if problem.random is not None:
        random = np.hstack([random, problem.random])
    whole = replace(problem, random=random, repeats=discrepancy.repeats)
    return with_rows_changed(whole, partial(freed, columns=columns))


def freed(rows: Float, columns: Float) -> Float:
    """Return rows times the inverse root of ``1 + columns columns^T``, joint by joint.

    Parameters
    ----------
    rows : ndarray, shape (N, n, m)
        What is weighed.
    columns : ndarray, shape (N, n, k)
        One standard deviation of every random effect over the noise.

    Returns
    -------
    weighed : ndarray, shape (N, n, m)
        In the unit of the rows.
    """
    result = rows.copy()
    for j in range(rows.shape[1]):
        own = columns[:, j, np.abs(columns[:, j]).max(axis=0, initial=0.0) > 0.0]
        if own.shape[1]:
            Q, s, _ = np.linalg.svd(own, full_matrices=False)
            result[:, j] -= (Q * (1.0 - 1.0 / np.sqrt(1.0 + s**2))) @ (Q.T @ rows[:, j])
    return result


def widening(problem: LinearProblem, plain: LinearProblem, noise_std: Float1D) -> Float1D:
    """Return how much wider the intervals are than noise alone makes them.

    Parameters
    ----------
    problem : LinearProblem
        Rows that allow for what the model lacks.
    plain : LinearProblem
        The same rows without that.
    noise_std : ndarray, shape (n,)
        Noise of the rows in the fit [N m or N].

    Returns
    -------
    factor : ndarray, shape (b,)
        One for every base parameter.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the motion does not determine all parameters.
    """
    weights = 1.0 / noise_std
    alone = np.sqrt(np.diag(cramer_rao(plain, noise_std)))
    _, R = reduce_rows(problem).solve(weights)
    inverse = np.linalg.inv(R)
    half = np.hstack([inverse, random_errors(problem, weights, inverse)])
    return np.asarray(np.sqrt((half**2).sum(axis=1)) / alone)
