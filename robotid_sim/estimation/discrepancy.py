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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D, freeze
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.estimation.hold_out import MIN_GAIN_OVER_ERROR_TESTED, blocks_of, worth
from robotid_sim.estimation.least_squares import WeightedLeastSquares, random_errors
from robotid_sim.estimation.problem import LinearProblem, map_rows, rows_of
from robotid_sim.estimation.reduction import cramer_rao, reduce_rows
from robotid_sim.estimation.state_functions import (
    QUANTITIES,
    RandomFunction,
    UnmodeledFunction,
    compute_unmodeled_torque,
)
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.representation import public_value

FRICTION_SYMBOLS = ("Fv", "Fc", "Fo")
"""Parameters of a joint's own friction."""

MIN_TORQUE_RATIO = 0.02
"""Least torque of a function over the noise of its rows that is worth a word."""


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Discrepancy:
    """What the model of a fit lacks; nothing if there are no `unmodeled`."""

    unmodeled: tuple[UnmodeledFunction, ...]
    columns: Float2D
    """Torque of one standard deviation of every random effect in its joint's rows, (N n, k)."""
    noise_std: Float1D
    """Noise of the rows beside the functions [N m], shape (n,)."""
    functions: tuple[RandomFunction, ...] = ()
    """The function of every one of the `unmodeled`; their columns are the last ones."""
    repeats: bool = False
    """Whether what is left beside the functions repeats with the period, as torque ripple does."""
    left_out: "Discrepancy | None" = None
    """Functions of joints that explain the log but predict no blocks of it: the fit does not allow
    for them, its intervals and bands do."""

    def __post_init__(self) -> None:
        freeze(self, (None, None), "columns")  # rows of a fit share them

    @property
    def spans(self) -> list[slice]:
        """Columns of every function."""
        sizes = [len(function.knots) for function in self.functions]
        ends = self.columns.shape[1] - sum(sizes) + np.cumsum([0, *sizes])
        return [slice(*pair) for pair in pairwise(ends.tolist())]

    @property
    def whole(self) -> Self:
        """The same with the functions that are left out beside those of the fit."""
        left_out = self.left_out
        if left_out is None:
            return self
        return replace(
            self,
            unmodeled=self.unmodeled + left_out.unmodeled,
            functions=self.functions + left_out.functions,
            columns=np.hstack([self.columns, left_out.columns]),
            left_out=None,
        )

    def part(self, which: Sequence[bool]) -> Self:
        """Return some of the functions, without columns of gains, repeats and what is left out."""
        chosen = [k for k, is_in in enumerate(which) if is_in]
        return replace(
            self,
            unmodeled=tuple(self.unmodeled[k] for k in chosen),
            functions=tuple(self.functions[k] for k in chosen),
            columns=np.hstack(
                [self.columns[:, :0], *(self.columns[:, self.spans[k]] for k in chosen)]
            ),
            repeats=False,
            left_out=None,
        )

    @property
    def notable(self) -> tuple[UnmodeledFunction, ...]:
        """The lacks that are worth a word: by joint, the most obvious first, then by their size."""
        joints = list(dict.fromkeys(lack.joint for lack in self.unmodeled))
        large = [lack for lack in self.unmodeled if lack.over_noise >= MIN_TORQUE_RATIO]
        return tuple(sorted(large, key=lambda k: (joints.index(k.joint), -k.over_noise)))


def add_function_values(
    discrepancy: Discrepancy, problem: LinearProblem, beta: Float1D, motion: Motion, model: Robot
) -> Discrepancy:
    r"""Add the values of its functions to a discrepancy, as far as they predict.

    With the weighing columns :math:`C` of a joint, its residuals :math:`r`, both over the noise,
    and the root :math:`R` of the covariance of the values, :math:`\hat u = R (1 + C^T C)^{-1} C^T
    r`, of the functions that another motion has too: two that cancel along this one would not along
    another. Those that are weaker than what passes with time have no values: drift looks like many
    things. Nor have those of a joint whose torque they do not predict along the motion as
    predictions see it, without the block of time that speaks most for them; nor, unless they
    predict it beyond doubt, those that are what parameters may be that joints share, and weaker
    than what another joint lacks and none predicts.

    The problem has the plain rows, which do not allow for the discrepancy. The motion is made from
    positions alone, as for predictions; its rows should be finer than those of the problem, which
    say little of a reversal. The model has the base parameters beta and all terms.
    """
    lacks, noise = discrepancy.unmodeled, discrepancy.noise_std
    residual = problem.unstack_rows(problem.y - problem.W @ beta) / noise
    drift = dict.fromkeys(problem.joint_names, 0.0)
    for lack in lacks:
        if not QUANTITIES[lack.quantity].stays:
            drift[lack.joint] = max(drift[lack.joint], lack.torque)
    valued = {}
    for j, joint in enumerate(problem.joint_names):
        which = [
            k
            for k, lack in enumerate(lacks)
            if lack.joint == joint
            and QUANTITIES[lack.quantity].stays
            and lack.torque > drift[joint]
        ]
        if not which:
            continue
        parts = [_part(problem, discrepancy, k) for k in which]
        C = np.hstack([part.beside for part in parts]) / noise[j]
        u = np.linalg.solve(np.eye(C.shape[1]) + C.T @ C, C.T @ residual[:, j])
        for k, part in zip(which, parts, strict=True):
            knots, mean, root = discrepancy.functions[k]
            effects, u = u[: len(knots)], u[len(knots) :]
            values = root @ effects
            valued[lacks[k]] = replace(
                lacks[k],
                knots=tuple(knots),
                values=tuple(values - mean @ values),  # the functions of the knots add up to one
                friction=tuple((part.friction @ effects).tolist()),
            )
    gains = _gains_by_block(list(valued.values()), motion, model)
    predictive = {
        name for name, gain in gains.items() if worth(gain, MIN_GAIN_OVER_ERROR_TESTED) > 0.0
    }
    unpredicted = max(
        (k.over_noise for k in lacks if QUANTITIES[k.quantity].stays and k.joint not in predictive),
        default=0.0,
    )
    small = {k.joint for k in valued if QUANTITIES[k.quantity].pulls and k.over_noise < unpredicted}
    predictive -= {name for name in small if worth(gains[name]) <= 0.0}
    added = [valued.get(k, k) if k.joint in predictive else k for k in lacks]
    return replace(discrepancy, unmodeled=tuple(added))


def remove_unpredictive(
    discrepancy: Discrepancy, problem: LinearProblem, motion: Motion, nominal: Robot
) -> Discrepancy:
    """Leave out of a discrepancy what pulls the parameters and is not predicted beside them.

    The problem has the plain rows; the motion is made from positions alone, as for
    `add_function_values`;
    the nominal completes the base parameters. Intervals allow for all, the fit for what is
    predicted.
    """
    while True:
        estimate = WeightedLeastSquares().fit(weigh_discrepancy(problem, discrepancy))
        if not estimate.success:
            return discrepancy
        phi = problem.basis.complete(estimate.beta, nominal.parameters())
        model = nominal.with_parameters(phi, formal=True)
        lacks = add_function_values(discrepancy, problem, estimate.beta, motion, model).unmodeled
        stay = [bool(k.values) or not QUANTITIES[k.quantity].pulls for k in lacks]
        if all(stay):
            return discrepancy
        columns = discrepancy.columns
        gains = columns[:, : columns.shape[1] - sum(len(f.knots) for f in discrepancy.functions)]
        chosen = discrepancy.part(stay)
        left_out = replace(discrepancy.part([not s for s in stay]), left_out=discrepancy.left_out)
        discrepancy = replace(
            chosen,
            columns=np.hstack([gains, chosen.columns]),
            repeats=discrepancy.repeats,
            left_out=left_out.whole,
        )


def _gains_by_block(
    lacks: Sequence[UnmodeledFunction], motion: Motion, model: Robot
) -> Mapping[str, Float1D]:
    """Return how much of the squared residuals of a model functions explain, by joint and block."""
    if not lacks:
        return {}
    torque = motion.tau - joint_torque(model, motion.q, motion.dq, motion.ddq)
    residual = rows_of(motion, torque)
    added = rows_of(motion, compute_unmodeled_torque(lacks, motion, model))
    block = blocks_of(motion.row_times, motion.repeats)
    fall = residual**2 - (residual - added) ** 2
    gains = np.array([fall[block == k].sum(axis=0) for k in np.unique(block)])
    return dict(zip(model.joint_names, gains.T, strict=True))


def weigh_discrepancy(problem: LinearProblem, discrepancy: Discrepancy) -> LinearProblem:
    r"""Return the problem with rows weighed by the inverse root of their covariance.

    With the functions :math:`\Phi D^{1/2} / \sigma = Q \Lambda^{1/2} V^T` of a joint,
    :math:`(1 + \Phi D \Phi^T / \sigma^2)^{-1/2} = 1 - Q (1 - (1 + \Lambda)^{-1/2}) Q^T`.

    Random effects of the discrepancy come before those of the plain problem.
    """
    random = [discrepancy.whole.columns, problem.random]
    known = [part for part in random if part is not None and part.size]
    if not known:
        return replace(problem, repeats=True) if discrepancy.repeats else problem
    whole = replace(problem, random=np.hstack(known), repeats=discrepancy.repeats)
    columns = np.array(problem.unstack_rows(discrepancy.columns))
    for k, (lack, span) in enumerate(zip(discrepancy.unmodeled, discrepancy.spans, strict=True)):
        j = problem.joint_names.index(lack.joint)
        columns[:, j, span] = _part(problem, discrepancy, k).beside
    columns /= discrepancy.noise_std[:, None]
    return map_rows(whole, partial(whiten_by_columns, columns=columns))


class _Part(NamedTuple):
    """The columns of one function in the rows of its joint, in two parts."""

    beside: Float2D
    """What the friction of the joint cannot explain [N m], shape (N, k)."""
    friction: Float2D
    """What it can, in units of Fv, Fc, Fo, shape (3, k)."""


def _part(problem: LinearProblem, discrepancy: Discrepancy, k: int) -> _Part:
    """Return the parts of the columns of function number k."""
    lack, names = discrepancy.unmodeled[k], problem.basis.names
    j = problem.joint_names.index(lack.joint)
    columns = problem.unstack_rows(discrepancy.columns[:, discrepancy.spans[k]])[:, j]
    symbols = [f"{symbol}{j + 1}" for symbol in FRICTION_SYMBOLS]
    shown = [s for s in symbols if s in names]
    rows = problem.unstack_rows(problem.W)[:, j, [names.index(s) for s in shown]]
    explained = np.linalg.lstsq(rows, columns, rcond=None)[0]
    friction = np.zeros((len(symbols), columns.shape[1]))
    friction[[symbols.index(s) for s in shown]] = explained
    return _Part(columns - rows @ explained, friction)


def whiten_by_columns(rows: Float, columns: Float) -> Float:
    """Return rows times the inverse root of ``1 + columns columns^T``, joint by joint.

    Rows have shape (N, n, m), columns (N, n, k): one standard deviation of every random effect over
    the noise.
    """
    result = rows.copy()
    for j in range(rows.shape[1]):
        own = columns[:, j, np.abs(columns[:, j]).max(axis=0, initial=0.0) > 0.0]
        if own.shape[1]:
            Q, s, _ = np.linalg.svd(own, full_matrices=False)
            result[:, j] -= (Q * (1.0 - 1.0 / np.sqrt(1.0 + s**2))) @ (Q.T @ rows[:, j])
    return result


def compute_widening(problem: LinearProblem, plain: LinearProblem, noise_std: Float1D) -> Float1D:
    """Return how much wider the intervals are than noise alone makes them, shape (b,).

    The problem allows for what the model lacks, `plain` has the same rows without that; the noise
    is that of the rows in the fit [N m or N]. Raises `numpy.linalg.LinAlgError` if the motion does
    not determine all parameters.
    """
    weights = 1.0 / noise_std
    alone = np.sqrt(np.diag(cramer_rao(plain, noise_std)))
    _, R = reduce_rows(problem).solve(weights)
    inverse = np.linalg.inv(R)
    half = np.hstack([inverse, random_errors(problem, weights, inverse)])
    return np.asarray(np.sqrt((half**2).sum(axis=1)) / alone)
