r"""Fourier series of a point in space, on a circle that is completed once per run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D, freeze
from robotid_sim.errors import OptionError
from robotid_sim.files import write_json
from robotid_sim.kinematics.point_kinematics import PointKinematics
from robotid_sim.trajectory.fourier import SCHEMA_VERSION, fourier_basis
from robotid_sim.trajectory.reference import (
    Reference,
    require_duration,
    require_number,
    require_start,
    unit_quintic,
)

NODE_COUNT = 256
"""Number of poses of a run that are solved in sequence; others start from the nearest of them."""


def cartesian_basis(t: Float1D, harmonics: int, period: float) -> tuple[Float, Float, Float]:
    r"""Return the maps from (a, b, c) to position minus center, velocity and acceleration.

    .. math:: Q_x = \sum_k a_k \cos P + S, \quad Q_y = \sum_k a_k \sin P + S, \quad Q_z = S, \qquad
        S = \sum_k \frac{b_k}{k \omega} \sin k \omega t - \frac{c_k}{k \omega} \cos k \omega t

    Times within a run [s] have shape (N,), the maps (N, 3, 3 H).
    """
    s = t / period
    P, dP, ddP = (
        2.0 * np.pi / period**order * unit_quintic(s, order)[:, None] for order in (0, 1, 2)
    )
    cosine, sine = np.cos(P), np.sin(P)
    x = (cosine, -sine * dP, -cosine * dP**2 - sine * ddP)
    y = (sine, cosine * dP, -sine * dP**2 + cosine * ddP)
    maps = []
    for order, series in enumerate(fourier_basis(t, harmonics, period)):
        along = np.zeros((len(t), 3, 3 * harmonics))
        along[:, 0, :harmonics] = x[order]  # eq. (45)
        along[:, 1, :harmonics] = y[order]  # eq. (46)
        along[:, :, harmonics:] = series[:, None]  # eq. (45) to (47)
        maps.append(along)
    return maps[0], maps[1], maps[2]


@dataclass(frozen=True, slots=True, eq=False)
class CartesianFourierTrajectory:
    r"""Motion of a point of the arm by a circle and a Fourier series, through inverse kinematics.

    The formula is that of `cartesian_basis`, about a center. Interpretation of the publication
    [1]_: the center is not printed and is added here; the polynomial P is the quintic from 0 to
    :math:`2 \pi` that rests at both ends; ``tym`` is the time; the sum over :math:`a_k` is a single
    radius, as printed; all three coordinates share one S, as printed. Velocity and acceleration
    vanish at both ends, eq. (48), if :math:`\sum_k b_k = 0` and :math:`\sum_k k\, c_k = 0`. The
    published coefficients do not satisfy this and are not reproduced.

    References
    ----------
    .. [1] Umar et al. (2021), Nigerian Journal of Technology 40(4), doi:10.4314/njt.v40i4.14,
       eq. (45) to (48).
    """

    joint_names: tuple[str, ...]
    carrier: PointKinematics
    center: Float1D
    """Center in the root frame [m], shape (3,)."""
    a: Float1D
    """Radii [m], shape (H,)."""
    b: Float1D
    """Sine coefficients [m/s], shape (H,)."""
    c: Float1D
    """Cosine coefficients [m/s], shape (H,)."""
    base_period: float
    """Time of a run [s]."""
    periods: int = 1
    """Number of runs."""
    start: float = 0.0
    _nodes: Float2D = field(init=False, repr=False)

    def __post_init__(self) -> None:
        freeze(self, (3,), "center")
        freeze(self, (np.size(self.a),), "a", "b", "c")
        require_duration("base_period", self.base_period)
        require_number("periods", self.periods)
        require_start(self.start)
        if self.periods < 1 or self.periods != int(self.periods):
            raise OptionError(f"a trajectory needs at least one run, got {self.periods}")
        if len(self.joint_names) != self.carrier.q_start.size:
            raise OptionError("a Cartesian trajectory needs as many joint names as its arm has")
        t = np.arange(NODE_COUNT + 1) * self.base_period / NODE_COUNT
        object.__setattr__(self, "_nodes", self.carrier.follow(self.point(t)[0]))

    @property
    def duration(self) -> float:
        """Last time [s]."""
        return self.periods * self.base_period

    @property
    def period(self) -> float | None:
        """Time of a run [s]; None if there is only one."""
        return self.base_period if self.periods > 1 else None

    def point(self, t: Float1D) -> tuple[Float2D, Float2D, Float2D]:
        """Return position, velocity and acceleration of the point at times `t`, each (N, 3)."""
        T = self.base_period
        times = np.clip(np.asarray(t, dtype=float), 0.0, self.duration)
        run = np.where(times < self.duration, times % T, T)
        coefficients = np.concatenate([self.a, self.b, self.c])
        p, v, a = (part @ coefficients for part in cartesian_basis(run, self.a.size, T))
        return self.center + p, v, a

    def __call__(self, t: Float1D) -> Reference:
        """Return the reference at times `t` [s]; before and after it the robot rests."""
        times = np.clip(np.asarray(t, dtype=float), 0.0, self.duration)
        p, v, a = self.point(times)
        phase = np.where(times < self.duration, times / self.base_period % 1.0, 1.0)
        q = self.carrier.solve(self._nodes[np.rint(phase * NODE_COUNT).astype(int)], p)
        return Reference(q, *self.carrier.rates(q, v, a))

    def content(self) -> dict[str, Any]:
        """Return the content of the JSON form."""
        arrays = {name: getattr(self, name).tolist() for name in ("center", "a", "b", "c")}
        return {
            "family": "cartesian-fourier",
            "joint_names": list(self.joint_names),
            "carrier": self.carrier.content(),
            **arrays,
            "base_period": self.base_period,
            "periods": self.periods,
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        """Return the trajectory that `content` describes, without its key ``family``."""
        values = dict(content)
        names = tuple(str(name) for name in values.pop("joint_names"))
        return cls(names, PointKinematics.from_content(values.pop("carrier")), **values)

    def save(self, path: str | Path) -> None:
        """Write the trajectory as JSON; all bits are kept."""
        write_json(path, "trajectory", SCHEMA_VERSION, self.content())
