"""Which links of a robot touch one another or the floor during a motion, and when."""

import logging
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from robotid_sim.arrays import Bool2D, Float1D, freeze
from robotid_sim.engine.free_space import assumed_floor
from robotid_sim.engine.proximity import FLOOR, Proximity
from robotid_sim.errors import RobotIdError
from robotid_sim.viewer.animation import Animation

NEAR = 0.01
"""Distances above this do not matter here [m]."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class ContactTimes:
    """The bodies that touch something, sample by sample of an animation."""

    t: Float1D
    """Time [s], shape (N,)."""
    touching: Bool2D
    """Whether a body touches, shape (N, n + 1); the last is the base."""

    def __post_init__(self) -> None:
        freeze(self, (None,), "t")

    @classmethod
    def of(cls, animation: Animation) -> Self:
        """Find the contacts of an animation by the convex hulls of the links.

        Links that touch at home already do not count. The floor is where the base stands. Of a
        robot whose geometry the engine cannot read, no contacts are known.
        """
        robot = animation.robot
        touching = np.zeros((animation.t.size, robot.dof + 1), dtype=bool)
        bodies = {link.name: k for k, link in enumerate(robot.links)} | {robot.base: robot.dof}
        try:
            floor, _ = assumed_floor(robot, robot.home)
            with Proximity(robot, floor=floor, cutoff=NEAR) as proximity:
                apart = proximity(robot.home)[0] > 0.0
                inside = (proximity.along(animation.q)[0] < 0.0) & apart
                pairs = proximity.pairs
        except RobotIdError as error:
            _log.warning("contacts are not shown: %s", error)
            return cls(animation.t, touching)
        for pair, when in zip(pairs, inside.T, strict=True):
            for name in (pair.first, pair.second):
                if name != FLOOR:
                    touching[:, bodies[name]] |= when
        return cls(animation.t, touching)

    def at(self, time: float) -> frozenset[int]:
        """Return the bodies that touch at a time [s]; -1 is the base."""
        k = int(np.clip(np.searchsorted(self.t, time), 0, self.t.size - 1))
        return self._numbers(self.touching[k])

    @property
    def ever(self) -> frozenset[int]:
        """The bodies that touch at any time; -1 is the base."""
        return self._numbers(self.touching.any(axis=0))

    def spans(self) -> list[tuple[float, float]]:
        """Return the times from which and until which anything touches [s]."""
        edges = np.diff(np.r_[0, self.touching.any(axis=1).astype(int), 0])
        starts, ends = np.flatnonzero(edges > 0), np.flatnonzero(edges < 0) - 1
        return list(zip(self.t[starts].tolist(), self.t[ends].tolist(), strict=True))

    def _numbers(self, row: Any) -> frozenset[int]:
        base = self.touching.shape[1] - 1
        return frozenset(k if k < base else -1 for k in np.flatnonzero(row).tolist())
