"""The Cartesian family: options, coordinates in units of the limits, and exact gradients."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D, MotionArrays
from robotid_sim.docstrings import document_attributes
from robotid_sim.errors import InfeasibleError, OptionError, PathError
from robotid_sim.excitation.space import ExcitationFamily
from robotid_sim.kinematics.point_kinematics import Follow, PointKinematics, make_point_kinematics
from robotid_sim.model.robot import Robot
from robotid_sim.optim import checks
from robotid_sim.trajectory.cartesian_fourier import CartesianFourierTrajectory, cartesian_basis
from robotid_sim.trajectory.fourier import rest_basis
from robotid_sim.trajectory.homing import HomedTrajectory, add_approach

LIMIT_SAMPLES = 200
"""Number of points of a run at which the limits are imposed."""

LIMIT_SHARE = 0.98
"""Share of the limits used at these points, with a margin for the times between."""

MIN_RADIUS = 1e-4
"""Minimum radius of a circle [m]."""

SHRINK_FACTOR = 0.85
MAX_ATTEMPTS = 40
"""A candidate outside the limits is scaled by SHRINK_FACTOR up to MAX_ATTEMPTS times."""


@dataclass(frozen=True, slots=True, eq=False)
class CartesianGrid:
    """Nonlinear map from coordinates to the motion on a grid of equidistant times."""

    carrier: PointKinematics
    center: Float1D
    position: Float
    """From coordinates to the position of the point - center [m], shape (N, 3, d)."""
    velocity: Float
    acceleration: Float

    def motion(self, x: Float1D) -> MotionArrays:
        """Compute position, velocity and acceleration, each of shape (N, n).

        Raises `PathError` if the arm cannot follow.
        """
        q = self.carrier.follow(self.center + self.position @ x)
        return q, *self.carrier.rates(q, self.velocity @ x, self.acceleration @ x)

    def pull_back(
        self, by_q: Float2D, by_dq: Float2D, by_ddq: Float2D, x: Float1D | None = None
    ) -> Float1D:
        """Convert gradients with respect to the motion, each (N, n), to the gradient by x, (d,).

        Raises `OptionError` if x is not given, because the map depends on it.
        """
        if x is None:
            raise OptionError("a nonlinear grid needs the point x; give it")
        J, Vq, Aq, Adq = self.carrier.sensitivity(self.motion(x))
        moved = self.carrier.moved
        g_q, g_dq, g_ddq = (part[:, moved, None] for part in (by_q, by_dq, by_ddq))
        JT = J.transpose(0, 2, 1)
        # Backward through ddq = J^-1 (a - ...), then dq = J^-1 v, then q.
        by_a = np.linalg.solve(JT, g_ddq)
        by_v = np.linalg.solve(JT, g_dq - Adq.transpose(0, 2, 1) @ by_a)
        from_derivatives = Aq.transpose(0, 2, 1) @ by_a + Vq.transpose(0, 2, 1) @ by_v
        by_p = np.linalg.solve(JT, g_q - from_derivatives)
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
        by_x = np.zeros((3, len(J), self.carrier.q_start.size, x.size))
        by_x[:, :, self.carrier.moved] = q_x, dq_x, ddq_x
        return by_x[0], by_x[1], by_x[2]


@document_attributes
@dataclass(frozen=True, kw_only=True)
class CartesianFourierOptions(ExcitationFamily):
    """Circle and Fourier series of a point in space, followed by inverse kinematics.

    References
    ----------
    .. [1] Umar et al. (2021), Nigerian Journal of Technology 40(4), doi:10.4314/njt.v40i4.14,
       eq. (45) to (48).
    """

    check_robot: ClassVar[str] = "irb140"

    harmonics: int = 3
    """Number of harmonics; at least 2."""
    follow: Follow = "wrist"
    """Point on the path: ``wrist``, moved by three joints, or ``tip`` by six with its orientation.
    """
    center: tuple[float, float, float] | None = None
    """Center in the root frame [m]; None for where the point is in the best conditioned pose."""
    point: tuple[float, float, float] | None = None
    """Point in the frame of the third moving body, or of the tip [m]; None for the wrist center."""
    home: tuple[float, ...] | None = None
    """Pose at the start of the approach [rad or m]; None for the home pose of the robot."""

    def __post_init__(self) -> None:
        if self.harmonics < 2:
            raise OptionError("a Cartesian excitation needs at least 2 harmonics")
        super().__post_init__()
        checks.one_of("follow", self.follow, Follow)

    def space(self, robot: Robot) -> "CartesianFourierSpace":
        """Return the space of the family for a robot.

        Raises `PathError` if no three or six joints can follow a path, or the center is out of
        reach, and `InfeasibleError` if the period is too short for any motion within the limits.
        """
        return CartesianFourierSpace(robot, self)


@dataclass(frozen=True, slots=True, eq=False)
class CartesianFourierSpace:
    """All Cartesian Fourier series, at rest at both ends, of one robot and one choice of options.

    Coordinates are the H radii and 2 H - 2 coefficients of the null space of the rest conditions,
    in units of the largest circle around the center within the limits.
    """

    robot: Robot
    options: CartesianFourierOptions
    carrier: PointKinematics = field(init=False)
    radius: float = field(init=False)
    """Unit of length: radius of the largest circle [m]."""
    limit_grid: CartesianGrid = field(init=False)

    def __post_init__(self) -> None:
        options = self.options
        carrier = make_point_kinematics(self.robot, options.follow, options.point, options.center)
        object.__setattr__(self, "carrier", carrier)
        object.__setattr__(self, "radius", 1.0)
        object.__setattr__(self, "limit_grid", self.make_grid(LIMIT_SAMPLES))
        object.__setattr__(self, "radius", self._largest_circle())
        object.__setattr__(self, "limit_grid", self.make_grid(LIMIT_SAMPLES))

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return 3 * self.options.harmonics - 2

    @property
    def center(self) -> Float1D:
        """Center in the root frame [m], shape (3,)."""
        if self.options.center is None:
            return self.carrier.position
        return np.array(self.options.center)

    def make_grid(self, samples: int) -> CartesianGrid:
        """Return the map to the motion at `samples` equidistant times of one run."""
        H, T = self.options.harmonics, self.options.period
        t = np.arange(samples) * T / samples
        p, v, a = (part @ self._coefficients() for part in cartesian_basis(t, H, T))
        return CartesianGrid(self.carrier, self.center, p, v, a)

    def limit_values(self, x: Float1D) -> Float1D:
        """Return the shares of position, velocity and acceleration limits; at most one is feasible.

        Values are on a grid; all are infinite if the arm cannot follow.
        """
        limits, moved = self.robot.limits, self.carrier.moved
        try:
            q, dq, ddq = self.limit_grid.motion(x)
        except PathError:
            return np.full(3 * LIMIT_SAMPLES * moved.size, np.inf)
        limit_shares = [
            np.abs(q - limits.middle) / limits.half_range,
            np.abs(dq) / limits.velocity,
            np.abs(ddq) / limits.acceleration,
        ]
        share = LIMIT_SHARE * self.options.margin
        return np.concatenate([(part[:, moved] / share).ravel() for part in limit_shares])

    def random(self, rng: np.random.Generator, margin: float = 1.0) -> Float1D:
        """Draw random coordinates that use the share `margin` of the limits.

        Raises `InfeasibleError` if even a small motion leaves the limits.
        """
        x = rng.standard_normal(self.size)
        for _ in range(MAX_ATTEMPTS):
            if self.limit_values(x).max() <= 1.0 and self.limit_values(margin * x).max() <= 1.0:
                return margin * x
            x *= SHRINK_FACTOR
        raise InfeasibleError(self._obstacle(x))

    def trajectory(self, x: Float1D) -> HomedTrajectory:
        """Return the runs with the given coordinates, with their approach from home.

        Raises `PathError` if the arm cannot follow, and `InfeasibleError` if home, or the start, is
        outside the limits.
        """
        options = self.options
        a, b, c = np.split(self._coefficients() @ x, 3)
        names, T = self.robot.joint_names, options.period
        run = CartesianFourierTrajectory(
            names, self.carrier, self.center, a, b, c, T, options.periods
        )
        return add_approach(self.robot, run, options.home)

    def coordinates(self, trajectory: HomedTrajectory | CartesianFourierTrajectory) -> Float1D:
        """Return the coordinates of runs of this space."""
        run = trajectory.motion if isinstance(trajectory, HomedTrajectory) else trajectory
        if not isinstance(run, CartesianFourierTrajectory) or 3 * run.a.size - 2 != self.size:
            raise OptionError(f"no Cartesian series of {self.options.harmonics} harmonics")
        values = np.concatenate([run.a, run.b, run.c])
        return np.asarray(np.linalg.pinv(self._coefficients()) @ values)

    def _coefficients(self) -> Float2D:
        """Return the matrix from coordinates to (a, b, c), shape (3 H, d)."""
        H = self.options.harmonics
        matrix = np.zeros((3 * H, self.size))
        matrix[:H, :H] = self.radius * np.eye(H)
        omega = 2.0 * np.pi / self.options.period
        matrix[H:, H:] = self.radius * omega * rest_basis(H)
        return matrix

    def _largest_circle(self) -> float:
        """Return the radius of the largest circle within the limits [m]; raise if there is none."""
        circle = np.eye(1, self.size)[0]
        low, high = 0.0, 2.0  # [m], in units of one meter
        while high - low > 0.01 * high and high > MIN_RADIUS:
            middle = 0.5 * (low + high)
            low, high = (
                (middle, high) if self.limit_values(middle * circle).max() <= 1.0 else (low, middle)
            )
        if low > 0.0:
            return low
        raise InfeasibleError(self._obstacle(MIN_RADIUS * circle))

    def _obstacle(self, x: Float1D) -> str:
        """Describe the joint and limit that prevent a motion, with the remedy."""
        center = np.round(self.center, 4).tolist()
        values = self.limit_values(x).reshape(3, LIMIT_SAMPLES, -1)
        if not np.isfinite(values).all():
            return f"the arm cannot leave the center {center} m; choose another 'center'"
        kind, _, k = np.unravel_index(values.argmax(), values.shape)
        joint = self.robot.joint_names[self.carrier.moved[k]]
        quantity, remedy = ("position", "velocity", "acceleration")[kind], "choose another 'center'"
        if kind > 0:  # of a derivative of order m, the m-th root
            factor = max(values[m].max() ** (1.0 / m) for m in (1, 2))
            remedy = f"raise 'period' to {1.01 * factor * self.options.period:.3g} s or more"
        return f"joint '{joint}' exceeds its {quantity} limit even close to {center} m; {remedy}"
