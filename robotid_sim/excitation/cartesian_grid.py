"""The motion of an arm whose point follows a path, with exact gradients through the kinematics."""

from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D, MotionArrays
from robotid_sim.errors import OptionError
from robotid_sim.kinematics.carried_point import CarriedPoint


@dataclass(frozen=True, slots=True, eq=False)
class CartesianGrid:
    """The nonlinear map from coordinates to the motion on a grid of equidistant times."""

    carrier: CarriedPoint
    center: Float1D
    position: Float
    """From coordinates to the position of the point - center [m], shape (N, 3, d)."""
    velocity: Float
    acceleration: Float

    def motion(self, x: Float1D) -> MotionArrays:
        """Return position, velocity and acceleration, each of shape (N, n).

        Raises
        ------
        PathError
            If the arm cannot follow.
        """
        q = self.carrier.along(self.center + self.position @ x)
        return q, *self.carrier.rates(q, self.velocity @ x, self.acceleration @ x)

    def pull_back(
        self, by_q: Float2D, by_dq: Float2D, by_ddq: Float2D, x: Float1D | None = None
    ) -> Float1D:
        """Return a gradient with respect to x, (d,), from that to the motion, each (N, n).

        Raises
        ------
        OptionError
            If x is not given: the map is not the same everywhere.
        """
        if x is None:
            raise OptionError("a nonlinear grid pulls back at a point x; give it")
        J, Vq, Aq, Adq = self.carrier.sensitivity(self.motion(x))
        moved = self.carrier.moved
        g_q, g_dq, g_ddq = (part[:, moved, None] for part in (by_q, by_dq, by_ddq))
        JT = J.transpose(0, 2, 1)
        # Backward through ddq = J^-1 (a - ...), then dq = J^-1 v, then q.
        by_a = np.linalg.solve(JT, g_ddq)
        by_v = np.linalg.solve(JT, g_dq - Adq.transpose(0, 2, 1) @ by_a)
        rest = Aq.transpose(0, 2, 1) @ by_a + Vq.transpose(0, 2, 1) @ by_v
        by_p = np.linalg.solve(JT, g_q - rest)
        pairs = ((by_p, self.position), (by_v, self.velocity), (by_a, self.acceleration))
        return np.asarray(sum(np.einsum("tc,tcd->d", g[:, :3, 0], part) for g, part in pairs))

    def jacobian(self, x: Float1D) -> tuple[Float, Float, Float]:
        """Return the derivatives of position, velocity, acceleration by x, each (N, n, d)."""
        J, Vq, Aq, Adq = self.carrier.sensitivity(self.motion(x))
        p, v, a = (
            np.concatenate([part, np.zeros((len(part), J.shape[1] - 3, x.size))], axis=1)
            for part in (self.position, self.velocity, self.acceleration)
        )
        q_x = np.linalg.solve(J, p)
        dq_x = np.linalg.solve(J, v - Vq @ q_x)
        ddq_x = np.linalg.solve(J, a - Aq @ q_x - Adq @ dq_x)
        return self._whole(q_x), self._whole(dq_x), self._whole(ddq_x)

    def _whole(self, part: Float) -> Float:
        whole = np.zeros((len(part), self.carrier.q_start.size, part.shape[2]))
        whole[:, self.carrier.moved] = part
        return whole
