"""Finite Fourier series with zero boundary velocity and acceleration: the excitation family."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy.linalg import null_space

from robotid_sim.arrays import Float, Float1D, Float2D, freeze
from robotid_sim.errors import OptionError
from robotid_sim.files import write_json
from robotid_sim.representation import public_value
from robotid_sim.trajectory.reference import PointToPoint, Reference

SCHEMA_VERSION = 1


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class FourierTrajectory:
    r"""Periodic joint motion as a finite Fourier series, after a quintic approach from home.

    .. math:: q(t) = q_0 + \sum_{k=1}^{H} \frac{a_k}{k\omega} \sin k\omega t
        - \frac{b_k}{k\omega} \cos k\omega t, \qquad
        \sum_k a_k = 0, \quad \sum_k k\, b_k = 0 .

    The two conditions make velocity and acceleration vanish at the start of every period, so that
    the robot starts from rest. Time zero is the start of the first period; the approach takes the
    times before it.

    References
    ----------
    .. [1] Swevers, Ganseman, Tukel, De Schutter, Van Brussel (1997), "Optimal robot excitation and
       identification", IEEE Trans. Robotics and Automation, doi:10.1109/70.631234, eq. (9).

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> setup = rid.build_setup("twolink", rid.StudyConfig().quick())
    >>> nominal, basis = setup.nominal, setup.basis
    >>> rng, short = np.random.default_rng(0), rid.FourierOptions(period=5.0, periods=1)
    >>> path = rid.random_design(nominal, basis, rng, options=short, candidates=5)
    >>> moving = path(np.linspace(0.0, path.duration, 4))
    >>> moving.q.shape, bool(np.allclose(moving.dq[0], 0.0))
    ((4, 2), True)
    """

    joint_names: tuple[str, ...]
    q0: Float1D
    """Offsets [rad or m], shape (n,)."""
    a: Float2D
    """Sine coefficients [rad/s or m/s], shape (n, H)."""
    b: Float2D
    """Cosine coefficients [rad/s or m/s], shape (n, H)."""
    base_period: float
    """Period [s]; the base frequency is its inverse."""
    periods: int = 3
    """Number of periods."""
    home: Float1D | None = None
    """Pose where the approach starts [rad or m], shape (n,); None for no approach."""
    approach: float = 0.0
    """Duration of the approach [s]."""

    def __post_init__(self) -> None:
        n = len(self.joint_names)
        freeze(self, (n, None), "a")
        freeze(self, (n, self.harmonics), "b")
        freeze(self, (n,), "q0")
        freeze(self, (n,), "home", optional=True)
        times = (self.base_period, float(self.periods), self.approach)
        usable = np.isfinite(times).all() and self.base_period > 0.0 and self.approach >= 0.0
        if not usable or self.periods < 1 or self.periods != int(self.periods):
            raise OptionError(
                f"a Fourier trajectory needs a positive period (got {self.base_period} s), at least"
                f" one period (got {self.periods}) and an approach >= 0 (got {self.approach} s)"
            )
        if self.home is not None and self.approach == 0.0:
            raise OptionError("an approach from home needs a duration above zero")

    @property
    def harmonics(self) -> int:
        """Number of harmonics H."""
        return int(self.a.shape[1])

    @property
    def start(self) -> float:
        """First time [s]: minus the duration of the approach."""
        return 0.0 if self.home is None else -self.approach

    @property
    def duration(self) -> float:
        """Last time [s]."""
        return self.periods * self.base_period

    @property
    def period(self) -> float | None:
        """Period [s]."""
        return self.base_period

    def __call__(self, t: Float1D) -> Reference:
        """Return the reference at times `t` [s]: approach before zero, then the series."""
        times = np.asarray(t, dtype=float)
        q, dq, ddq = self._series(times)
        before = times < 0.0
        if self.home is not None and before.any():
            first = self._series(np.zeros(1))[0][0]
            approach = PointToPoint(self.joint_names, self.home, first, self.start, 0.0)
            lead = approach(times[before])
            q[before], dq[before], ddq[before] = lead.q, lead.dq, lead.ddq
        return Reference(q, dq, ddq)

    def _series(self, t: Float1D) -> tuple[Float2D, Float2D, Float2D]:
        basis = fourier_basis(t, self.harmonics, self.base_period)
        coefficients = np.concatenate([self.a, self.b], axis=1).T
        q, dq, ddq = (part @ coefficients for part in basis)
        return q + self.q0, dq, ddq

    def content(self) -> dict[str, Any]:
        """Return the content of the JSON form."""
        content: dict[str, Any] = {"family": "fourier", "joint_names": list(self.joint_names)}
        for name in ("q0", "a", "b", "home"):
            value = getattr(self, name)
            content[name] = None if value is None else value.tolist()
        for name in ("base_period", "periods", "approach"):
            content[name] = getattr(self, name)
        return content

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        """Return the series that `content` describes, without its key ``family``."""
        values = dict(content)
        names = tuple(str(name) for name in values.pop("joint_names"))
        return cls(joint_names=names, **values)

    def save(self, path: str | Path) -> None:
        """Write the trajectory as JSON; all bits are kept."""
        write_json(path, "trajectory", SCHEMA_VERSION, self.content())


def fourier_basis(t: Float1D, harmonics: int, period: float) -> tuple[Float, Float, Float]:
    """Return matrices (N, 2 H) from (a, b) to position - q0, velocity and acceleration.

    Times and period are in s; H is the number of harmonics.
    """
    kw = 2.0 * np.pi / period * np.arange(1, harmonics + 1)
    s, c = np.sin(np.outer(t, kw)), np.cos(np.outer(t, kw))
    return np.hstack([s / kw, -c / kw]), np.hstack([c, s]), np.hstack([-s * kw, c * kw])


def fourier_jerk_basis(t: Float1D, harmonics: int, period: float) -> Float2D:
    """Return the matrix (N, 2 H) from coefficients to the jerk, sine first; see `fourier_basis`."""
    kw = 2.0 * np.pi / period * np.arange(1, harmonics + 1)
    s, c = np.sin(np.outer(t, kw)), np.cos(np.outer(t, kw))
    return np.hstack([-c * kw**2, -s * kw**2])


def rest_basis(harmonics: int) -> Float2D:
    """Return an orthonormal basis of all (a, b) that start from rest, shape (2 H, 2 H - 2)."""
    k = np.arange(1.0, harmonics + 1.0)
    zero = np.zeros(harmonics)
    return np.asarray(null_space(np.array([np.r_[np.ones(harmonics), zero], np.r_[zero, k]])))
