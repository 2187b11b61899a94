r"""Base parameters: the combinations of parameters that joint torques depend on.

The columns of the regressor are linearly dependent. With the columns split into independent ones
(b) and dependent ones (d), :math:`Y_d = Y_b K`, so

.. math:: \tau = Y \phi = Y_b (\phi_b + K \phi_d) = Y_b\, \beta .

The choice of independent columns determines the condition number of :math:`Y_b` but not what is
identifiable; here they come from QR with column pivoting [1]_ over the inertial columns, then over
the columns of friction and rotors. `BaseParameters.change_leads` writes the same base with other
leading columns; `textbook_base` chooses those of the literature.

The module also finds joints that move no inertia, or so little that friction is large beside it.

References
----------
.. [1] Gautier (1991), "Numerical calculation of the base inertial parameters of robots",
   J. Robotic Systems, doi:10.1002/rob.4620080405.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from robotid_sim.arrays import Bool1D, Float1D, Float2D, Int1D, freeze
from robotid_sim.dynamics.dynamics import mass_matrix, torque_regressor
from robotid_sim.errors import RankDeficientError, ShapeError
from robotid_sim.model import parameters
from robotid_sim.model.robot import Robot
from robotid_sim.renamed import old_members
from robotid_sim.representation import public_value

STATE_COUNT = 500
"""Random states from which the ranks are computed."""

ROUNDING_TOLERANCE = 1e-9
"""Coefficients below this, over the largest of a sum, are zero."""

NEGLIGIBLE_ROUNDING_TOLERANCE = 1e-5
"""The same if dropped columns are not exactly dependent."""


@old_members(of="project", completed="complete", no_effect="not_identifiable", faint="negligible")
@public_value
@dataclass(frozen=True, slots=True, eq=False)
class BaseParameters:
    """A set of base parameters, ``beta = B phi``, fixed by the model and not by any data."""

    columns: Int1D
    """Columns of the full regressor whose combinations are the base, shape (b,)."""
    B: Float2D
    """Map from full to base parameters, shape (b, p); the identity on `columns`."""
    symbols: tuple[str, ...]
    """Symbols of the full parameters, shape (p,)."""
    units: tuple[str, ...]
    """Unit of every base parameter, shape (b,)."""
    considered: Int1D
    """Columns that a fit may have, shape (c,); other parameters are not identified."""
    inertial_rank: int
    """Number of base parameters led by an inertial parameter."""
    negligible: tuple[str, ...] = ()
    """Parameters that would lead further base parameters, of at most 1e-4 of the signal of the
    others; see `NEGLIGIBLE_RANK_TOLERANCE`."""

    def __post_init__(self) -> None:
        freeze(self, (len(self.columns), len(self.symbols)), "B")

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """Name of every base parameter: its leading symbol, with R appended where regrouped."""
        is_single = (np.abs(self.B) > 0.0).sum(axis=1) == 1
        leads = (self.symbols[c] for c in self.columns)
        return tuple(s if single else f"{s}R" for s, single in zip(leads, is_single, strict=True))

    @property
    def groupings(self) -> tuple[str, ...]:
        """Every base parameter as a sum, such as ``Izz1 + Iyy2 + 0.1296 m3``."""
        return tuple(
            _combination(row, self.symbols, lead)
            for row, lead in zip(self.B, self.columns, strict=True)
        )

    @property
    def identifiable_alone(self) -> tuple[str, ...]:
        """Parameters that the data determine by themselves."""
        is_single = (np.abs(self.B) > 0.0).sum(axis=1) == 1
        return tuple(self.symbols[c] for c in sorted(self.columns[is_single]))

    @property
    def not_identifiable(self) -> tuple[str, ...]:
        """Parameters that no joint torque depends on."""
        return tuple(self.symbols[c] for c in self.considered if not self.B[:, c].any())

    @property
    def in_combination(self) -> tuple[str, ...]:
        """Parameters that are identifiable only in a sum with others."""
        others = {*self.identifiable_alone, *self.not_identifiable}
        return tuple(self.symbols[c] for c in self.considered if self.symbols[c] not in others)

    def project(self, phi: Float1D) -> Float1D:
        """Return the base parameters of a full parameter vector, shape (b,).

        Raises `ShapeError` if the vector is of a robot with another number of joints.
        """
        if len(phi) != len(self.symbols):
            raise ShapeError(
                f"{len(phi)} full parameters for base parameters of {len(self.symbols)}; give both "
                "of one robot"
            )
        return np.asarray(self.B @ phi)

    def complete(self, beta: Float1D, phi: Float1D) -> Float1D:
        """Return a full parameter vector, shape (p,), with given base parameters, shape (b,).

        It is `phi` with its leading entries changed: it gives the torques of `beta` exactly, but
        its bodies may be physically inconsistent.
        """
        completed = np.array(phi, dtype=float)
        completed[self.columns] += beta - self.project(phi)
        return completed

    def change_leads(
        self, columns: Sequence[int] | Int1D, units: Sequence[str]
    ) -> "BaseParameters":
        r"""Return the same base with other leading columns, :math:`B' = B_{:,c}^{-1} B`.

        The torques stay the same: :math:`Y_c \, B' \phi = Y_b \, B \phi`.

        The b columns of the full regressor lead in this order; units are those of all p parameters,
        see `parameters.units`. Raises `RankDeficientError` if the columns are not as many as the
        base parameters, or are not independent.
        """
        leads = np.array(columns, dtype=np.intp)
        change = self.B[:, leads]
        if leads.size != self.rank or np.linalg.matrix_rank(change) < self.rank:
            names = ", ".join(self.symbols[c] for c in leads)
            raise RankDeficientError(
                f"{names} cannot lead: {self.rank} independent columns make this base; "
                "see `independent_columns`"
            )
        rounding = NEGLIGIBLE_ROUNDING_TOLERANCE if self.negligible else ROUNDING_TOLERANCE
        symbols = [self.symbols[c] for c in leads]
        return BaseParameters(
            columns=leads,
            B=_remove_rounding(np.linalg.solve(change, self.B), leads, rounding),
            symbols=self.symbols,
            units=tuple(units[c] for c in leads),
            considered=self.considered,
            inertial_rank=int((leads < _n_inertial(self.symbols)).sum()),
            negligible=tuple(s for s in self.negligible if s not in symbols),
        )

    def map_to(self, other: "BaseParameters") -> Float2D:
        r"""Return the map T of base parameters to those of a regrouped base, shape (b, b).

        .. math:: \beta' = T \beta, \qquad \Sigma' = T \, \Sigma \, T^T .

        It consists of columns of the other map, because ``B`` is the identity on `columns`:
        :math:`B' = T B` there reads :math:`B'_{:,c} = T`. Raises `ShapeError` if the other base has
        another number of parameters.
        """
        if other.B.shape != self.B.shape:
            raise ShapeError(
                f"a base of {self.rank} of {len(self.symbols)} parameters is not a regrouping of "
                f"one of {other.rank} of {len(other.symbols)}"
            )
        return other.B[:, self.columns].copy()


def base_parameters(
    robot: Robot,
    joint_parameters: Sequence[str] = ("Fv", "Fc", "Ia"),
    measured: Bool1D | None = None,
) -> BaseParameters:
    """Return the base parameters of a robot.

    Parameters
    ----------
    robot : Robot
        Only kinematics, gravity, limits and transition velocities matter, so that the plant and its
        nominal model have the same base parameters.
    joint_parameters : sequence of str
        Which of ``Fv, Fc, Fo, Ia`` are considered beside the inertial parameters.
    measured : ndarray of bool, shape (n,), optional
        The joints whose torque is known; by default all.

    Returns
    -------
    basis : BaseParameters
        Base parameters with names, units and groupings.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> robot = rid.load_robot("twolink")
    >>> basis = rid.base_parameters(robot)
    >>> basis.rank, basis.groupings[:2]
    (11, ('mx1 - Iyy1 - Ia1', 'mz1'))
    """
    dof = robot.dof
    considered = np.array(parameters.columns(dof, joint_parameters), dtype=np.intp)
    W = torque_regressor(robot, *random_states(robot), columns=considered)
    units = parameters.units(robot.prismatic)
    if measured is not None:
        W = W[:, measured]
    return group_columns(W.reshape(-1, considered.size), considered, robot.parameter_names, units)


def base_parameters_like(
    basis: BaseParameters, robot: Robot, measured: Bool1D | None = None
) -> BaseParameters:
    """Return the base parameters of a robot with the joint parameters that a basis considers.

    The basis is of a robot with the same joints; all or some torques are measured.
    """
    symbols = {basis.symbols[c] for c in basis.considered}
    kinds = [kind for kind in parameters.JOINT_SYMBOLS if f"{kind}1" in symbols]
    return base_parameters(robot, kinds, measured)


def require_basis_of(robot: Robot, basis: BaseParameters) -> None:
    """Raise `ShapeError` unless a robot's regressor is that of the base parameters times ``B``.

    Other robots, even with as many joints, have other dependent columns. Joints whose torque was
    not measured may have rows that do not fit; the other rows must determine every base parameter.
    """
    fits = tuple(robot.parameter_names) == tuple(basis.symbols)
    if fits:
        W = torque_regressor(robot, *random_states(robot, 3))
        residual = np.abs(W - W[..., basis.columns] @ basis.B)[..., basis.considered]
        of_basis = residual.max(axis=(0, 2)) <= NEGLIGIBLE_RANK_TOLERANCE * np.abs(W).max()
        fits = bool(W[:, of_basis][..., basis.columns].any(axis=(0, 1)).all())
    if not fits:
        raise ShapeError(
            f"the basis is of another robot than '{robot.name}'; compute it with "
            "base_parameters(robot)"
        )


def group_columns(
    W: Float2D, considered: Int1D, symbols: Sequence[str], units: Sequence[str]
) -> BaseParameters:
    """Return the base parameters of a regressor of any measured quantity, in any frames.

    The regressor has shape (R, c), rich enough for its rank to be that of the model; `considered`
    lists its columns among the p full parameters, which have symbols and units.
    """
    n_inertial = int((considered < _n_inertial(symbols)).sum())
    inertial, weak_inertial = columns_by_strength(W[:, :n_inertial])
    W_joint = W[:, n_inertial:]
    Q = np.linalg.qr(W[:, inertial])[0]
    scale = np.abs(W_joint).max(initial=0.0)
    joint, weak_joint = columns_by_strength(W_joint - Q @ (Q.T @ W_joint), scale)
    leads = np.sort(np.concatenate([inertial, n_inertial + joint]))
    negligible = np.sort(np.concatenate([weak_inertial, n_inertial + weak_joint]))
    K = np.linalg.lstsq(W[:, leads], W, rcond=None)[0]
    # Inertial columns depend on one another, not on friction.
    K[inertial.size :, :n_inertial] = 0.0
    B = np.zeros((leads.size, len(symbols)))
    B[:, considered] = _remove_rounding(
        K, leads, NEGLIGIBLE_ROUNDING_TOLERANCE if negligible.size else ROUNDING_TOLERANCE
    )
    columns = considered[leads]
    return BaseParameters(
        columns=columns,
        B=B,
        symbols=tuple(symbols),
        units=tuple(units[c] for c in columns),
        considered=considered,
        inertial_rank=inertial.size,
        negligible=tuple(symbols[considered[k]] for k in negligible),
    )


def random_states(robot: Robot, count: int = STATE_COUNT) -> tuple[Float2D, Float2D, Float2D]:
    """Return random q, dq and ddq, (count, n), a function of kinematics, gravity and limits."""
    rng = np.random.default_rng(int(robot.fingerprint()[:16], 16))
    limits, shape = robot.limits, (count, robot.dof)
    q = rng.uniform(limits.lower, limits.upper, shape)
    # Unit spread, not the limits: the torque columns of slow and fast joints should weigh alike.
    return q, rng.uniform(-2.0, 2.0, shape), rng.uniform(-5.0, 5.0, shape)


def _remove_rounding(B: Float2D, leads: Int1D, rounding: float) -> Float2D:
    """Remove rounding errors from a map, which is the identity on its leading columns."""
    size = np.abs(B)
    exact = np.where(size < rounding * size.max(axis=1, keepdims=True), 0.0, B)
    exact[:, leads] = np.eye(leads.size)
    return exact


def _n_inertial(symbols: Sequence[str]) -> int:
    """Return how many of the full parameters are inertial."""
    dof = len(symbols) // (parameters.INERTIAL_COUNT + parameters.JOINT_COUNT)
    return parameters.INERTIAL_COUNT * dof


def _combination(row: Float1D, symbols: Sequence[str], lead: int) -> str:
    """Return a row of B as text, the leading symbol first."""
    terms = [symbols[lead]]
    for k in np.flatnonzero(row).tolist():
        if k == lead:
            continue
        factor = f"{abs(row[k]):.4g} "
        factor = "" if factor == "1 " else factor
        terms.append(f"{'-' if row[k] < 0.0 else '+'} {factor}{symbols[k]}")
    return " ".join(terms)


RANK_TOLERANCE = 1e-9
"""Diagonal of R over the largest below which it is rounding error, in practice below 1e-11."""

NEGLIGIBLE_RANK_TOLERANCE = 1e-3
"""Diagonal of R over the largest from which it is always significant; all arms have > 3e-2.

Between these two the largest gap decides. A URDF with angles to four digits, such as 1.5708, turns
dependent columns by 1e-6, which no measurement can show.
"""


def independent_columns(W: Float2D, scale: float | None = None) -> Int1D:
    """Return the indices of independent columns of W, shape (R, c), most independent first.

    Dependence is judged by the size of entries, by default that of the largest column.
    """
    return np.concatenate(columns_by_strength(W, scale))


def columns_by_strength(W: Float2D, scale: float | None = None) -> tuple[Int1D, Int1D]:
    """Split the columns of `independent_columns` at the largest gap."""
    if W.shape[1] == 0:
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    R, order = qr(W, mode="r", pivoting=True)
    size = np.abs(np.diag(R))
    reference = size[0] if scale is None else scale * np.sqrt(len(W))
    strength = size[size > RANK_TOLERANCE * reference] / max(reference, np.finfo(float).tiny)
    ladder = np.concatenate([[1.0], strength, [RANK_TOLERANCE]])
    gap = np.where(ladder[1:] < NEGLIGIBLE_RANK_TOLERANCE, ladder[:-1] / ladder[1:], 0.0)
    strong, count = int(gap.argmax()), strength.size
    columns = np.asarray(order, dtype=np.intp)
    return columns[:strong], columns[strong:count]


INERTIA_STATE_COUNT = 50
"""Number of random configurations for the minimum inertia of a joint."""

MAX_DECELERATION_RATIO = 50.0
"""Deceleration by Coulomb friction, over the acceleration limit, above which a joint is light."""


def require_moved_inertia(robot: Robot) -> None:
    """Raise `RankDeficientError` if a joint moves no body with inertia.

    No engine can accelerate it. Rotor inertia does not help, because the engines ignore it.
    """
    inertia = np.diagonal(mass_matrix(robot, robot.home, rotors=False))
    if not (inertia > 0.0).all():
        joint, link = robot.joints[int(inertia.argmin())], robot.links[int(inertia.argmin())]
        raise RankDeficientError(
            f"joint '{joint.name}' moves no inertia; give link '{link.name}' or one behind it mass "
            "and inertia about the joint axis, however small"
        )


def light_joints(robot: Robot) -> list[str]:
    """Describe joints with Coulomb friction but without the inertia of a drive.

    Files of robots for learning often give friction and no rotor. Such a joint stops within
    microseconds, and makes a controller vibrate that compensates only roughly known friction.
    """
    q, _, _ = random_states(robot)
    inertia = np.diagonal(mass_matrix(robot, q[:INERTIA_STATE_COUNT]), axis1=1, axis2=2).min(axis=0)
    friction = np.array([joint.friction.Fc for joint in robot.joints])
    max_torque = inertia * robot.limits.acceleration
    # Links without any inertia are reported elsewhere.
    ratio = np.divide(friction, max_torque, out=np.zeros(robot.dof), where=max_torque > 0.0)
    return [
        f"{robot.joint_names[j]}: Coulomb friction alone stops it at {ratio[j]:.3g} times its "
        "acceleration limit, so that a controller excites vibration where friction is uncertain; "
        "give the inertia of its rotor (armature in MJCF, Ia in a robot.toml)"
        for j in np.flatnonzero(ratio > MAX_DECELERATION_RATIO)
    ]
