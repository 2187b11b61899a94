r"""Unmodeled torque as random functions of the state of every joint.

Residuals that are a function of velocity, position, load or time are not noise, even if they are
smaller than it: they bias the parameters. Here the torque of joint j is

.. math:: y_j = W_j \beta + \sum_f \Phi_{jf} u_{jf} + e_j, \qquad u_{jf} \sim N(0, \theta_{jf} K_f)

with piecewise linear functions of one quantity f of the joint, low-passed like the rows, with
independent values except for a level common to both directions. Their variances are chosen by
restricted likelihood: most are zero, all of them where the model is right. The rows are then
weighted by the inverse root of their covariance [1]_, joint by joint, so that every estimator
ignores what the functions may explain; their remaining effect on the parameters widens the
intervals, because the functions are the best available model of the truth [2]_.

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
from robotid_sim.estimation.hold_out import MIN_TESTED_GAIN_RATIO, assign_blocks, robust_gain
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
"""Friction parameters of a joint."""

MIN_TORQUE_RATIO = 0.02
"""Minimum torque of a reported function, over the noise of its rows."""


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Discrepancy:
    """Unmodeled torque of a fit; empty if there are no `unmodeled`."""

    unmodeled: tuple[UnmodeledFunction, ...]
    columns: Float2D
    """Torque of one standard deviation of every random effect in its joint's rows, (N n, k)."""
    noise_std: Float1D
    """Noise of the rows in addition to the functions [N m], shape (n,)."""
    functions: tuple[RandomFunction, ...] = ()
    """Function of each of the `unmodeled`; their columns are the last ones."""
    repeats: bool = False
    """Whether the residual of the functions repeats with the period, as torque ripple does."""
    unpredicted: "Discrepancy | None" = None
    """Functions that explain the log but do not predict held-out blocks: the fit ignores them, its
    intervals and bands account for them."""

    def __post_init__(self) -> None:
        freeze(self, (None, None), "columns")  # rows of a fit share them

    @property
    def spans(self) -> list[slice]:
        """Columns of every function."""
        sizes = [len(function.knots) for function in self.functions]
        ends = self.columns.shape[1] - sum(sizes) + np.cumsum([0, *sizes])
        return [slice(*pair) for pair in pairwise(ends.tolist())]

    @property
    def add_unpredicted(self) -> Self:
        """Discrepancy with the unpredicted functions added to the functions of the fit."""
        removed = self.unpredicted
        if removed is None:
            return self
        return replace(
            self,
            unmodeled=self.unmodeled + removed.unmodeled,
            functions=self.functions + removed.functions,
            columns=np.hstack([self.columns, removed.columns]),
            unpredicted=None,
        )

    def select(self, which: Sequence[bool]) -> Self:
        """Select some functions; columns of gains, `repeats` and `unpredicted` are dropped."""
        chosen = [k for k, is_in in enumerate(which) if is_in]
        return replace(
            self,
            unmodeled=tuple(self.unmodeled[k] for k in chosen),
            functions=tuple(self.functions[k] for k in chosen),
            columns=np.hstack(
                [self.columns[:, :0], *(self.columns[:, self.spans[k]] for k in chosen)]
            ),
            repeats=False,
            unpredicted=None,
        )

    @property
    def significant(self) -> tuple[UnmodeledFunction, ...]:
        """Reported functions, by joint in order of significance, then by size."""
        joints = list(dict.fromkeys(function.joint for function in self.unmodeled))
        large = [function for function in self.unmodeled if function.over_noise >= MIN_TORQUE_RATIO]
        return tuple(sorted(large, key=lambda k: (joints.index(k.joint), -k.over_noise)))


def add_function_values(
    discrepancy: Discrepancy, problem: LinearProblem, beta: Float1D, motion: Motion, model: Robot
) -> Discrepancy:
    r"""Add the values of predictive functions to a discrepancy.

    The values are :math:`\hat u = R (1 + C^T C)^{-1} C^T r`, with the columns :math:`C` and the
    residuals :math:`r` of a joint, both over the noise, and the root :math:`R` of the covariance of
    the values. Functions without values are those of

    - quantities that are not valid for other motions, such as time, because two functions that
      cancel in this motion would not cancel in another;
    - joints with a larger function of time, because drift resembles many causes;
    - joints whose torque along `motion` they do not predict, even without the best block;
    - quantities that shared parameters may represent, if the functions are smaller than one that
      does not predict the torque of another joint, and their own gain is not significant.

    The problem has the regressor rows without the discrepancy. The motion is made from positions
    alone, as for predictions; its rows should be finer than those of the problem, which hardly
    resolve a reversal. The model has the base parameters beta and all terms.
    """
    functions, noise = discrepancy.unmodeled, discrepancy.noise_std
    residual = problem.unstack_rows(problem.y - problem.W @ beta) / noise
    drift = dict.fromkeys(problem.joint_names, 0.0)
    for function in functions:
        if not QUANTITIES[function.quantity].lasting:
            drift[function.joint] = max(drift[function.joint], function.torque)
    valued = {}
    for j, joint in enumerate(problem.joint_names):
        which = [
            k
            for k, function in enumerate(functions)
            if function.joint == joint
            and QUANTITIES[function.quantity].lasting
            and function.torque > drift[joint]
        ]
        if not which:
            continue
        parts = [_split_columns(problem, discrepancy, k) for k in which]
        C = np.hstack([part.unexplained for part in parts]) / noise[j]
        u = np.linalg.solve(np.eye(C.shape[1]) + C.T @ C, C.T @ residual[:, j])
        for k, part in zip(which, parts, strict=True):
            knots, mean, root = discrepancy.functions[k]
            effects, u = u[: len(knots)], u[len(knots) :]
            values = root @ effects
            valued[functions[k]] = replace(
                functions[k],
                knots=tuple(knots),
                values=tuple(values - mean @ values),  # the functions of the knots add up to one
                friction=tuple((part.friction @ effects).tolist()),
            )
    gains = _compute_gains_by_block(list(valued.values()), motion, model)
    predictive = {
        name for name, gain in gains.items() if robust_gain(gain, MIN_TESTED_GAIN_RATIO) > 0.0
    }
    unpredicted = max(
        (
            k.over_noise
            for k in functions
            if QUANTITIES[k.quantity].lasting and k.joint not in predictive
        ),
        default=0.0,
    )
    small = {
        k.joint for k in valued if QUANTITIES[k.quantity].shared and k.over_noise < unpredicted
    }
    predictive -= {name for name in small if robust_gain(gains[name]) <= 0.0}
    added = [valued.get(k, k) if k.joint in predictive else k for k in functions]
    return replace(discrepancy, unmodeled=tuple(added))


def remove_unpredictive(
    discrepancy: Discrepancy, problem: LinearProblem, motion: Motion, nominal: Robot
) -> Discrepancy:
    """Remove shared functions that do not predict held-out blocks from a discrepancy.

    The problem has the regressor rows; the motion is computed from positions alone, as for
    `add_function_values`; the nominal model completes the base parameters. Intervals account for
    all functions, the fit only for predictive ones.
    """
    while True:
        estimate = WeightedLeastSquares().fit(weigh_discrepancy(problem, discrepancy))
        if not estimate.success:
            return discrepancy
        phi = problem.basis.complete(estimate.beta, nominal.parameters())
        model = nominal.with_parameters(phi, formal=True)
        valued_functions = add_function_values(
            discrepancy, problem, estimate.beta, motion, model
        ).unmodeled
        stays = [bool(k.values) or not QUANTITIES[k.quantity].shared for k in valued_functions]
        if all(stays):
            return discrepancy
        columns = discrepancy.columns
        gains = columns[:, : columns.shape[1] - sum(len(f.knots) for f in discrepancy.functions)]
        chosen = discrepancy.select(stays)
        removed = replace(
            discrepancy.select([not s for s in stays]), unpredicted=discrepancy.unpredicted
        )
        discrepancy = replace(
            chosen,
            columns=np.hstack([gains, chosen.columns]),
            repeats=discrepancy.repeats,
            unpredicted=removed.add_unpredicted,
        )


def _compute_gains_by_block(
    functions: Sequence[UnmodeledFunction], motion: Motion, model: Robot
) -> Mapping[str, Float1D]:
    """Compute the squared residuals that functions explain, by joint and block."""
    if not functions:
        return {}
    torque = motion.tau - joint_torque(model, motion.q, motion.dq, motion.ddq)
    residual = rows_of(motion, torque)
    added = rows_of(motion, compute_unmodeled_torque(functions, motion, model))
    block = assign_blocks(motion.row_times, motion.repeats)
    reduction = residual**2 - (residual - added) ** 2
    gains = np.array([reduction[block == k].sum(axis=0) for k in np.unique(block)])
    return dict(zip(model.joint_names, gains.T, strict=True))


def weigh_discrepancy(problem: LinearProblem, discrepancy: Discrepancy) -> LinearProblem:
    r"""Weight the rows of a problem by the inverse root of their covariance.

    For the functions :math:`\Phi D^{1/2} / \sigma = Q \Lambda^{1/2} V^T` of a joint,
    :math:`(1 + \Phi D \Phi^T / \sigma^2)^{-1/2} = 1 - Q (1 - (1 + \Lambda)^{-1/2}) Q^T`.

    Random effects of the discrepancy come before those of the problem.
    """
    random = [discrepancy.add_unpredicted.columns, problem.random]
    effects = [part for part in random if part is not None and part.size]
    if not effects:
        return replace(problem, repeats=True) if discrepancy.repeats else problem
    extended = replace(problem, random=np.hstack(effects), repeats=discrepancy.repeats)
    columns = np.array(problem.unstack_rows(discrepancy.columns))
    for k, (f, span) in enumerate(zip(discrepancy.unmodeled, discrepancy.spans, strict=True)):
        j = problem.joint_names.index(f.joint)
        columns[:, j, span] = _split_columns(problem, discrepancy, k).unexplained
    columns /= discrepancy.noise_std[:, None]
    return map_rows(extended, partial(whiten_by_columns, columns=columns))


class _Part(NamedTuple):
    """Two parts of the columns of one function in the rows of its joint."""

    unexplained: Float2D
    """Part that the friction of the joint does not explain [N m], shape (N, k)."""
    friction: Float2D
    """Part that friction explains, as values of Fv, Fc and Fo, shape (3, k)."""


def _split_columns(problem: LinearProblem, discrepancy: Discrepancy, k: int) -> _Part:
    """Split the columns of function k."""
    function, names = discrepancy.unmodeled[k], problem.basis.names
    j = problem.joint_names.index(function.joint)
    columns = problem.unstack_rows(discrepancy.columns[:, discrepancy.spans[k]])[:, j]
    symbols = [f"{symbol}{j + 1}" for symbol in FRICTION_SYMBOLS]
    fitted_symbols = [s for s in symbols if s in names]
    rows = problem.unstack_rows(problem.W)[:, j, [names.index(s) for s in fitted_symbols]]
    explained = np.linalg.lstsq(rows, columns, rcond=None)[0]
    friction = np.zeros((len(symbols), columns.shape[1]))
    friction[[symbols.index(s) for s in fitted_symbols]] = explained
    return _Part(columns - rows @ explained, friction)


def whiten_by_columns(rows: Float, columns: Float) -> Float:
    """Multiply rows by the inverse root of ``1 + columns columns^T``, joint by joint.

    Rows have shape (N, n, m), columns (N, n, k): one standard deviation of every random effect over
    the noise.
    """
    result = rows.copy()
    for j in range(rows.shape[1]):
        weighted = columns[:, j, np.abs(columns[:, j]).max(axis=0, initial=0.0) > 0.0]
        if weighted.shape[1]:
            Q, s, _ = np.linalg.svd(weighted, full_matrices=False)
            result[:, j] -= (Q * (1.0 - 1.0 / np.sqrt(1.0 + s**2))) @ (Q.T @ rows[:, j])
    return result


def compute_widening(problem: LinearProblem, plain: LinearProblem, noise_std: Float1D) -> Float1D:
    """Compute the factor by which unmodeled torque widens the intervals, shape (b,).

    The problem accounts for unmodeled torque, `plain` has the same rows without it; the noise is
    that of the rows in the fit [N m or N]. Raises `numpy.linalg.LinAlgError` if the motion does not
    determine all parameters.
    """
    weights = 1.0 / noise_std
    std_plain = np.sqrt(np.diag(cramer_rao(plain, noise_std)))
    _, R = reduce_rows(problem).solve(weights)
    inverse = np.linalg.inv(R)
    half = np.hstack([inverse, random_errors(problem, weights, inverse)])
    return np.asarray(np.sqrt((half**2).sum(axis=1)) / std_plain)
