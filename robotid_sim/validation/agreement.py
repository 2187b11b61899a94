r"""Test whether estimates are of one robot, by their differences over their covariances.

The difference of two independent estimates has the sum of their covariances,

.. math:: T^2 = \Delta^T (\Sigma_1 + \Sigma_2)^{-1} \Delta, \qquad
    \Delta = \hat\beta_2 - \hat\beta_1 .

Both covariances are estimated from few blocks of residuals: a chi-squared test of 52 parameters
would find too many pairs different. The statistic is taken as Hotelling's with unequal covariances
instead, whose degrees of freedom are those of [1]_, unchanged under linear maps of the parameters.
Parameter by parameter the quantile is Student's with the degrees of freedom by Welch and
Satterthwaite [2]_. Both tests tolerate variances that are `MAX_VARIANCE_RATIO` times as large; the
intervals do not.

Half of the false alarms go to the tests of all parameters at once, half to those of single ones;
each half is controlled over all pairs (and parameters) by Holm's method [3]_, which needs no
independence: estimates are in several pairs, and parameters are correlated. Pairs are tested, not
distances from a weighted mean, whose weights are uncertain and which one wrong estimate biases.

References
----------
.. [1] Krishnamoorthy, Yu (2004), "Modified Nel and Van der Merwe test for the multivariate
   Behrens-Fisher problem", Statistics and Probability Letters 66, doi:10.1016/j.spl.2003.10.012.
.. [2] Welch (1947), "The generalization of 'Student's' problem when several different population
   variances are involved", Biometrika 34, doi:10.1093/biomet/34.1-2.28.
.. [3] Holm (1979), "A simple sequentially rejective multiple test procedure", Scandinavian Journal
   of Statistics 6.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, fdtrc, stdtr, stdtrit

from robotid_sim.arrays import Bool1D, Float, Float1D, Float2D
from robotid_sim.errors import OptionError
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.representation import public_value

FALSE_ALARM_RATE = 0.01
"""Maximum share of sets of estimates of one robot that are found different."""

MAX_VARIANCE_RATIO = 2.0
"""Maximum ratio of the true variance to the stated one that causes no alarm.

Encoder harmonics, torque offsets and delays cause errors that are constant along one motion and
differ between motions, which residuals contain in part. With sensors of the preset ``industrial``
two motions of one cell had T^2 of 2.1 times the number of parameters, where 1 is expected.
"""

CONFIDENCE_LEVEL = 0.95
"""Probability that the interval of a difference covers the true one."""

MIN_VARIANCE_RATIO = 1e-10
"""Minimum variance of a direction, over the largest one, of a regular covariance."""

MIN_DEGREES_OF_FREEDOM = 5.0
"""Minimum degrees of freedom beyond the parameters for a test of all of them."""

MAX_NAMED_PARAMETERS = 3
"""Maximum number of parameters that are named per pair."""

ASSUMED_DEGREES_OF_FREEDOM = 10.0
"""Degrees of freedom of variances if unknown."""


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class ComparedEstimate:
    """An estimate with properties of its covariance."""

    label: str
    """Name, such as that of its file."""
    estimate: Estimate
    groupings: tuple[str, ...]
    """Groupings of the base parameters, as in the file of the estimate."""
    dof: Float1D | None = None
    """Degrees of freedom of every variance, shape (b,); None if unknown."""
    blocks: int | None = None
    """Number of blocks of residuals of all joints behind the covariance; None if unknown."""

    def __post_init__(self) -> None:
        estimate, b = self.estimate, len(self.estimate.names)
        if not estimate.success:
            raise OptionError(f"{self.label}: the fit failed ({estimate.message})")
        cov = estimate.cov
        if cov is None or not np.isfinite(cov).all() or not (np.diag(cov) > 0.0).all():
            raise OptionError(
                f"{self.label}: estimates of '{estimate.estimator}' need a covariance"
            )
        if self.dof is not None and (self.dof.shape != (b,) or not (self.dof > 0.0).all()):
            raise OptionError(f"{self.label}: {b} positive degrees of freedom are needed")

    @property
    def cov(self) -> Float2D:
        """Covariance of the estimate, shape (b, b)."""
        assert self.estimate.cov is not None
        return self.estimate.cov

    @property
    def known_or_assumed_dof(self) -> Float1D:
        """Degrees of freedom of every variance, known or assumed, shape (b,)."""
        return np.full(len(self.cov), ASSUMED_DEGREES_OF_FREEDOM) if self.dof is None else self.dof

    @property
    def half_width(self) -> Float1D:
        """Half of the interval of every parameter, at `CONFIDENCE_LEVEL`, shape (b,)."""
        return np.asarray(
            self.estimate.std * stdtrit(self.known_or_assumed_dof, 0.5 + 0.5 * CONFIDENCE_LEVEL)
        )


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """The difference of two estimates: the second minus the first, arrays of shape (b,)."""

    labels: tuple[str, str]
    names: tuple[str, ...]
    groupings: tuple[str, ...]
    units: tuple[str, ...]
    values: Float1D
    reference: Float1D
    """Parameters of the first."""
    std: Float1D
    """Standard deviation of the difference."""
    dof: Float1D
    """Degrees of freedom of Student's distribution."""
    chi_squared: float
    """Statistic of all parameters at once."""
    rank: int
    """Number of directions: parameters without those in which the covariance is singular."""
    f_dof: float | None
    """Second degrees of freedom of its F distribution; None if there are too few for a test."""
    effective_count: float
    """Effective number of independent parameters, b^2 over the sum of all squared correlations;
    between 1 and b."""
    differs: Bool1D
    """Parameters that differ, given the false alarms of the whole comparison."""
    differs_jointly: bool
    """Whether all parameters at once differ, given the same false alarms."""

    @property
    def z(self) -> Float1D:
        """Difference over its standard deviation."""
        return self.values / self.std

    @property
    def half_width(self) -> Float1D:
        """Half of the interval of a difference, at `CONFIDENCE_LEVEL`."""
        return np.asarray(self.std * stdtrit(self.dof, 0.5 + 0.5 * CONFIDENCE_LEVEL))

    @property
    def p_values(self) -> Float1D:
        """P-value of every parameter's difference, with variances times `MAX_VARIANCE_RATIO`."""
        return np.asarray(2.0 * stdtr(self.dof, -np.abs(self.z) / np.sqrt(MAX_VARIANCE_RATIO)))

    @property
    def p_chi_squared(self) -> float:
        """Probability of a larger statistic if the covariances were exact."""
        return float(chdtrc(self.rank, self.chi_squared))

    @property
    def p_value(self) -> float | None:
        """P-value with covariances of few blocks [1] and `MAX_VARIANCE_RATIO`; None if too few."""
        if self.f_dof is None:
            return None
        # nu of [1] is f_dof + rank - 1
        ratio = self.f_dof / (MAX_VARIANCE_RATIO * self.rank * (self.f_dof + self.rank - 1.0))
        return float(fdtrc(self.rank, self.f_dof, ratio * self.chi_squared))

    @property
    def share_within(self) -> float:
        """Share of the parameters whose difference lies within its interval."""
        return float((np.abs(self.values) <= self.half_width).mean())

    @property
    def is_agreement(self) -> bool:
        """Whether there is no difference."""
        return not (self.differs_jointly or self.differs.any())

    @property
    def strongest_first(self) -> list[int]:
        """Parameters by the probability of their difference; ties by the size of z."""
        return [int(k) for k in np.lexsort((-np.abs(self.z), self.p_values))]

    @property
    def difference_text(self) -> str:
        """Differences as text, the strongest first; empty if there are none."""
        if self.is_agreement:
            return ""
        half, order = self.half_width, self.strongest_first
        most = [
            f"{self.names[k]} by {self.values[k]:.4g} {self.units[k]} ("
            f"{self.values[k] - half[k]:.4g} to {self.values[k] + half[k]:.4g})"
            for k in order[:MAX_NAMED_PARAMETERS]
            if self.differs[k] or not self.differs.any()
        ]
        text = ", ".join(most)
        if not self.differs.any():
            return f"all parameters jointly, none by itself; the largest: {text}"
        further = int(self.differs.sum()) - len(most)
        return text + (f", and {further} more" if further else "")

    def content(self) -> dict[str, Any]:
        """Return the difference as JSON values."""
        half, p = self.half_width, self.p_values
        parameters = [
            {
                "name": self.names[k],
                "grouping": self.groupings[k],
                "unit": self.units[k],
                "first": float(self.reference[k]),
                "difference": float(self.values[k]),
                "std": float(self.std[k]),
                "dof": float(self.dof[k]),
                "z": float(self.z[k]),
                "p_value": float(p[k]),
                "lower": float(self.values[k] - half[k]),
                "upper": float(self.values[k] + half[k]),
                "differs": bool(self.differs[k]),
            }
            for k in self.strongest_first
        ]
        return {
            "estimates": list(self.labels),
            "agrees": self.is_agreement,
            "differs_jointly": self.differs_jointly,
            "chi_squared": self.chi_squared,
            "rank": self.rank,
            "f_dof": self.f_dof,
            "p_value": self.p_value,
            "p_chi_squared": self.p_chi_squared,
            "coverage": self.share_within,
            "parameters": parameters,
        }


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Agreement:
    """Result of the test whether estimates are of one robot."""

    pairs: tuple[Difference, ...]
    false_alarm: float
    """Maximum share of sets of estimates of one robot that are found different."""

    @property
    def is_agreement(self) -> bool:
        """Whether no pair differs."""
        return all(pair.is_agreement for pair in self.pairs)

    @property
    def agreement_text(self) -> str:
        """Result as text."""
        if self.is_agreement:
            return "same robot within their intervals"
        differing = [pair for pair in self.pairs if not pair.is_agreement]
        if len(self.pairs) == 1:
            return f"they differ: {differing[0].difference_text}"
        by_pair = [f"{' and '.join(pair.labels)}: {pair.difference_text}" for pair in differing]
        return f"they differ in {len(differing)} of {len(self.pairs)} pairs. " + ". ".join(by_pair)

    def content(self) -> dict[str, Any]:
        """Return the comparison as JSON values."""
        return {
            "agrees": self.is_agreement,
            "finding": self.agreement_text,
            "false_alarm": self.false_alarm,
            "level": CONFIDENCE_LEVEL,
            "tolerated_variance": MAX_VARIANCE_RATIO,
            "pairs": [pair.content() for pair in self.pairs],
        }


def compare_estimates(
    estimates: Sequence[ComparedEstimate], *, false_alarm: float = FALSE_ALARM_RATE
) -> Agreement:
    """Test whether independent estimates of the same parameters are of one robot.

    The covariance of estimates under constraints is approximate.

    The two or more estimates are of the same base parameters, and of logs that have no noise in
    common; `false_alarm` is the maximum share of sets of one robot that are found different. Raises
    `OptionError` if there are fewer than two, their parameters differ, or the share is not in (0,
    1).
    """
    if not 0.0 < false_alarm < 1.0:
        raise OptionError(f"the false-alarm rate must lie between 0 and 1, got {false_alarm}")
    if len(estimates) < 2:
        raise OptionError(f"a comparison needs at least 2 estimates, got {len(estimates)}")
    first = estimates[0]
    for other in estimates[1:]:
        if other.estimate.names != first.estimate.names:
            raise OptionError(f"{other.label} and {first.label} have different base parameters")
    pairs = [_difference(first, second) for first, second in combinations(estimates, 2)]
    single = holm(np.array([pair.p_values for pair in pairs]), 0.5 * false_alarm)
    p_whole = np.array([1.0 if pair.p_value is None else pair.p_value for pair in pairs])
    whole = holm(p_whole, 0.5 * false_alarm)
    decided = [
        replace(pair, differs=single[k], differs_jointly=bool(whole[k]))
        for k, pair in enumerate(pairs)
    ]
    return Agreement(tuple(decided), false_alarm)


def holm(p_values: Float, false_alarm: float) -> NDArray[np.bool_]:
    """Test hypotheses by Holm's method [3]; True where rejected, of the same shape."""
    flat = p_values.ravel()
    order = np.argsort(flat, kind="stable")
    falls = flat[order] <= false_alarm / np.arange(flat.size, 0, -1)
    rejected = np.zeros(flat.size, dtype=bool)
    rejected[order] = np.logical_and.accumulate(falls)
    return rejected.reshape(p_values.shape)


def _difference(first: ComparedEstimate, second: ComparedEstimate) -> Difference:
    """Compute the difference of two estimates, before the tests."""
    cov = first.cov + second.cov
    std = np.sqrt(np.diag(cov))
    values = second.estimate.beta - first.estimate.beta
    variances = np.diag(first.cov), np.diag(second.cov)
    # Welch [2].
    spread = (
        variances[0] ** 2 / first.known_or_assumed_dof
        + variances[1] ** 2 / second.known_or_assumed_dof
    )
    # Maps to independent variables of unit variance, shape (rank, b).
    sizes, directions = np.linalg.eigh(cov / np.outer(std, std))
    counted = sizes > MIN_VARIANCE_RATIO * sizes[-1]
    whitener = np.asarray((directions[:, counted] / np.sqrt(sizes[counted])).T / std)
    rank = len(whitener)
    return Difference(
        labels=(first.label, second.label),
        names=first.estimate.names,
        groupings=first.groupings,
        units=first.estimate.units,
        values=values,
        reference=first.estimate.beta,
        std=std,
        dof=std**4 / spread,
        chi_squared=float(((whitener @ values) ** 2).sum()),
        rank=rank,
        f_dof=_f_dof((first, second), whitener),
        effective_count=float(len(std) ** 2 / ((cov / np.outer(std, std)) ** 2).sum()),
        differs=np.zeros(len(std), dtype=bool),
        differs_jointly=False,
    )


def _f_dof(pair: tuple[ComparedEstimate, ComparedEstimate], whitener: Float2D) -> float | None:
    """Compute the second degrees of freedom of the test of all parameters; None if too few."""
    r, spread = len(whitener), 0.0
    for compared in pair:
        if compared.blocks is None or compared.blocks < 2:
            return None
        part = whitener @ compared.cov @ whitener.T
        # [1]
        spread += (np.trace(part @ part) + np.trace(part) ** 2) / (compared.blocks - 1)
    freedom = float((r + r**2) / spread - r + 1.0)
    return freedom if freedom >= MIN_DEGREES_OF_FREEDOM else None
