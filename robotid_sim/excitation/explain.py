"""Reasons why an excitation makes some parameters well and others weakly identifiable."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import RankDeficientError
from robotid_sim.excitation.information import Prior

MAX_RELATIVE_STD = 0.1
"""Expected standard deviation over the nominal value above which a parameter is poorly excited."""

MAX_CONFOUNDING_FACTOR = 3.0
"""Confounding factor above which correlation, not a weak signal, is the cause."""

MIN_CORRELATION = 0.6
"""Correlation above which two parameters are named as confounded."""

MAX_PARTNERS = 3
WINDOW_COUNT = 10
"""Number of parts of a run that are compared."""

MIN_RELATIVE_WEIGHT = 0.3
"""Weight in the worst direction, over the largest, above which a parameter is named."""


@dataclass(frozen=True, slots=True)
class ParameterView:
    """Identifiability of one base parameter."""

    name: str
    nominal: float
    std: float
    """Expected standard deviation, in the unit of the parameter."""
    alone: float
    """Standard deviation if all other parameters were known."""
    factor: float
    """Confounding factor, `std` over `alone`, at least 1."""
    partners: tuple[tuple[str, float], ...]
    """Parameters with correlated errors, and the correlation."""
    joint: str
    """Joint whose torque has the most information about the parameter."""
    joint_share: float
    """Share of the information from that joint."""

    @property
    def relative(self) -> float:
        """Expected standard deviation over the size of the nominal value; infinite at zero."""
        return self.std / abs(self.nominal) if self.nominal else np.inf

    @property
    def is_poor(self) -> bool:
        """Whether the parameter is poorly excited relative to its nominal value."""
        return self.relative > MAX_RELATIVE_STD

    def __str__(self) -> str:
        text = f"{self.name}: expected to {100.0 * self.relative:.2g} %"
        if not np.isfinite(self.relative):
            text = f"{self.name}: expected to {self.std:.2g}, nominally zero"
        if self.factor > MAX_CONFOUNDING_FACTOR and self.partners:
            with_whom = ", ".join(f"{name} ({c:+.2f})" for name, c in self.partners)
            return (
                f"{text}; uncertainty increased {self.factor:.3g}-fold by correlation with "
                f"{with_whom}; {self.joint} is the most informative joint"
            )
        return (
            f"{text}; weak signal, {self.alone:.2g} even with all others known; only larger "
            f"torques of {self.joint} help"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """Identifiability of the parameters from an excitation, worst first."""

    parameters: tuple[ParameterView, ...]
    joint_names: tuple[str, ...]
    joint_shares: Float1D
    """Share of every joint's torque in the total information, shape (n,); sums to one."""
    window_shares: Float1D
    """Share of every tenth of a run in the total information, shape (10,); sums to one."""
    worst_direction: tuple[tuple[str, float], ...]
    """Weakest identifiable combination: parameters, in units of their columns, and weights."""
    worst_ratio: float
    """Standard deviation along the worst direction over that along the best direction."""

    @property
    def poor(self) -> tuple[ParameterView, ...]:
        """Parameters that are poorly excited, worst first."""
        return tuple(view for view in self.parameters if view.is_poor)

    def sentences(self) -> list[str]:
        """Describe the explanation."""
        poor, count = self.poor, len(self.parameters)
        sentences = [
            f"{len(poor)} of {count} base parameters are expected worse than "
            f"{MAX_RELATIVE_STD:.0%}."
        ]
        sentences += [f"{view}." for view in poor]
        parts = " ".join(f"{weight:+.2f} {name}" for name, weight in self.worst_direction)
        sentences.append(
            f"The weakest identifiable direction, {self.worst_ratio:.3g} times weaker than the "
            f"best, is {parts} (columns of unit length)."
        )
        order = np.argsort(-self.joint_shares)
        shares = ", ".join(
            f"{self.joint_names[j]} {100.0 * self.joint_shares[j]:.0f} %" for j in order
        )
        sentences.append(f"Share of the information by the torque of each joint: {shares}.")
        best, least = int(self.window_shares.argmax()), int(self.window_shares.argmin())
        sentences.append(
            f"By time: most in the {_ordinal(best)} tenth of a run "
            f"({100.0 * self.window_shares[best]:.0f} %), least in the {_ordinal(least)} "
            f"({100.0 * self.window_shares[least]:.0f} %)."
        )
        return sentences


def explain(
    W: Float,
    noise_std: Float1D,
    basis: BaseParameters,
    nominal: Float1D,
    joint_names: Sequence[str],
    samples: float | None = None,
    prior: Prior | None = None,
) -> Explanation:
    r"""Explain the identifiability of the base parameters from a regressor.

    The expected covariance is :math:`F^{-1}` with :math:`F = W^T \Sigma^{-1} W`. Parameter k alone
    would have the standard deviation :math:`1 / \|\tilde w_k\|` of its weighted column; the
    confounding factor is the increase because the others are unknown. The error of parameter k is
    :math:`p_k^T \tilde\varepsilon` with row k of :math:`F^{-1} \tilde W^T`; the squares of that
    row, by joint, show which joint torque determines it. The leverage of the rows, by joint and by
    time, shows the origin of the total information.

    The base regressor W, shape (N, n, b), is at equidistant times of one run, the torque noise of
    every joint [N m] has shape (n,), the nominal base parameters (b,). The number of samples of the
    planned log is N by default. The information of a prior is included, except in the shares by
    joint and by time. Raises `RankDeficientError` if the motion does not determine the parameters.
    """
    N, n, b = W.shape
    weight = np.sqrt((samples or N) / N)
    flat = (weight * W / np.asarray(noise_std)[:, None]).reshape(-1, b)
    if prior is not None:
        flat = np.vstack([flat, prior.root])
    norms = np.linalg.norm(flat, axis=0)
    Q, R = np.linalg.qr(flat / np.where(norms > 0.0, norms, 1.0))
    size = np.abs(np.diag(R))
    if not size.min() > np.finfo(float).eps * size.max() * b:
        lost = basis.names[int(size.argmin())]
        raise RankDeficientError(f"the motion does not determine '{lost}'; move more joints")
    inverse = np.linalg.inv(R)
    std = np.linalg.norm(inverse, axis=1) / norms
    correlation = (inverse @ inverse.T) / np.outer(std * norms, std * norms)
    Q = Q[: N * n]  # without prior information
    influence = ((Q @ inverse.T) ** 2).reshape(N, n, b).sum(axis=0) / (std * norms) ** 2
    leverage = (Q**2).sum(axis=1).reshape(N, n)
    leverage /= leverage.sum()
    views = [
        _view(k, basis.names, nominal, std, norms, correlation, influence, joint_names)
        for k in range(b)
    ]
    direction, ratio = _worst(R, basis.names)
    return Explanation(
        parameters=tuple(sorted(views, key=lambda view: -view.relative)),
        joint_names=tuple(joint_names),
        joint_shares=leverage.sum(axis=0),
        window_shares=np.array(
            [p.sum() for p in np.array_split(leverage.sum(axis=1), WINDOW_COUNT)]
        ),
        worst_direction=direction,
        worst_ratio=ratio,
    )


def _view(
    k: int,
    names: Sequence[str],
    nominal: Float1D,
    std: Float1D,
    norms: Float1D,
    correlation: Float2D,
    influence: Float2D,
    joint_names: Sequence[str],
) -> ParameterView:
    others = [m for m in np.argsort(-np.abs(correlation[k])) if m != k]
    partners = [m for m in others[:MAX_PARTNERS] if abs(correlation[k, m]) > MIN_CORRELATION]
    joint = int(influence[:, k].argmax())
    return ParameterView(
        name=names[k],
        nominal=float(nominal[k]),
        std=float(std[k]),
        alone=float(1.0 / norms[k]),
        factor=float(std[k] * norms[k]),
        partners=tuple((names[m], float(correlation[k, m])) for m in partners),
        joint=joint_names[joint],
        joint_share=float(influence[joint, k]),
    )


def _worst(R: Float2D, names: Sequence[str]) -> tuple[tuple[tuple[str, float], ...], float]:
    """Describe the direction of the smallest singular value, and the spread."""
    _, s, Vt = np.linalg.svd(R)
    v = Vt[-1] * np.sign(Vt[-1][np.abs(Vt[-1]).argmax()])
    order = np.argsort(-np.abs(v))
    named = [k for k in order if abs(v[k]) > MIN_RELATIVE_WEIGHT * np.abs(v).max()]
    return tuple((names[k], float(v[k])) for k in named), float(s[0] / s[-1])


def _ordinal(index: int) -> str:
    """Format a position, counted from zero, as text."""
    return "first second third fourth fifth sixth seventh eighth ninth last".split()[index]
