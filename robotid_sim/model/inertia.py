r"""Inertial parameters of one rigid body in three forms, and the test of physical consistency.

The ten parameters :math:`\phi = (m, l, L)` of a body (mass, first moment ``l = m c``, inertia `L`
about the frame origin) form the pseudo-inertia matrix [1]_

.. math:: J = \begin{pmatrix} \tfrac12 \mathrm{tr}(L) 1 - L & l \\ l^T & m \end{pmatrix},

and a mass distribution with these parameters exists if and only if ``J`` is positive semidefinite.
A change of frame is the congruence ``J -> T J T^T`` with the homogeneous transform ``T``.

References
----------
.. [1] Wensing, Kim, Slotine (2018), "Linear matrix inequalities for physically consistent inertial
   parameter identification", IEEE Robotics and Automation Letters, doi:10.1109/LRA.2017.2729659,
   eq. (10).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag

from robotid_sim.arrays import Float1D, Float2D

CONSISTENCY_TOLERANCE = 1e-9
"""Relative slack of the consistency test; text with ten digits passes."""


def pack(mass: float, com: Float1D, central: Float2D) -> Float1D:
    """Return the ten parameters of a body from mass, COM and inertia tensor about the COM.

    Parameters
    ----------
    mass : float
        Mass [kg].
    com : ndarray, shape (3,)
        Center of mass in the frame of the body [m].
    central : ndarray, shape (3, 3)
        Inertia about the COM, axes of the frame [kg m^2].

    Returns
    -------
    phi : ndarray, shape (10,)
        Parameters about the origin: mass [kg], first moments [kg m], inertia [kg m^2].
    """
    c = np.asarray(com, dtype=float)
    origin = np.asarray(central) + mass * (c @ c * np.eye(3) - np.outer(c, c))
    return np.concatenate([[mass], mass * c, _vector(origin)])


def unpack(phi: Float1D) -> tuple[float, Float1D, Float2D]:
    """Return mass [kg], COM [m] and inertia about the COM [kg m^2]; the inverse of `pack`.

    A body without mass has its COM at the origin.
    """
    mass = float(phi[0])
    com = phi[1:4] / mass if mass > 0.0 else np.zeros(3)
    return mass, com, inertia_matrix(phi) - mass * (com @ com * np.eye(3) - np.outer(com, com))


def inertia_matrix(phi: Float1D) -> Float2D:
    """Return the inertia about the frame origin as a symmetric matrix, shape (3, 3)."""
    xx, xy, yy, xz, yz, zz = phi[4:10]
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def pseudo_inertia(phi: Float1D) -> Float2D:
    """Return the pseudo-inertia matrix, shape (4, 4); linear in `phi`."""
    origin = inertia_matrix(phi)
    matrix = np.empty((4, 4))
    matrix[:3, :3] = 0.5 * np.trace(origin) * np.eye(3) - origin
    matrix[:3, 3] = matrix[3, :3] = phi[1:4]
    matrix[3, 3] = phi[0]
    return matrix


def from_pseudo_inertia(matrix: Float2D) -> Float1D:
    """Return the ten parameters of a pseudo-inertia matrix; the inverse of `pseudo_inertia`."""
    second = matrix[:3, :3]
    origin = np.trace(second) * np.eye(3) - second
    return np.concatenate([[matrix[3, 3]], matrix[:3, 3], _vector(origin)])


def transform(phi: Float1D, T_a_b: Float2D) -> Float1D:
    """Transform the parameters of a body from frame b to frame a.

    Parameters
    ----------
    phi : ndarray, shape (10,)
        Parameters of the body in frame b.
    T_a_b : ndarray, shape (4, 4)
        Pose of frame b in frame a.

    Returns
    -------
    phi : ndarray, shape (10,)
        Parameters of the body in frame a.
    """
    return from_pseudo_inertia(T_a_b @ pseudo_inertia(phi) @ T_a_b.T)


def frame_map(frames: Sequence[Float2D]) -> Float2D:
    """Return the matrix that transforms the parameters of all bodies from frames b to frames a.

    `frames` has the pose ``T_a_b`` of every body, shape (4, 4) each.
    """
    maps = [np.transpose([transform(e, T) for e in np.eye(10)]) for T in frames]
    return np.asarray(block_diag(*maps))


def inconsistency(phi: Float1D) -> str | None:
    """Return the reason why no rigid body can have these parameters; None if one can.

    The reason is given in terms of a data sheet: mass, principal moments about the COM, triangle
    inequality. The test allows a relative slack of `CONSISTENCY_TOLERANCE`.
    """
    mass, _, central = unpack(phi)
    if mass < 0.0:
        return f"the mass is negative ({mass:.6g} kg)"
    if mass == 0.0:
        return None if not np.any(phi) else "the mass is zero but moments are not"
    low, middle, high = (float(v) for v in np.linalg.eigvalsh(central))
    slack = CONSISTENCY_TOLERANCE * max(
        abs(low), abs(high), abs(float(np.trace(inertia_matrix(phi))))
    )
    if low < -slack:
        return f"the inertia about the center of mass has a negative principal moment ({low:.6g})"
    if high > low + middle + slack:
        return (
            "the principal moments break the triangle inequality: "
            f"{low:.6g} + {middle:.6g} < {high:.6g}"
        )
    return None


def triangle_margin(phi: Float1D) -> float:
    """Return (I1 + I2 - I3) / I3 of the principal moments about the COM, I3 the largest."""
    _, _, central = unpack(phi)
    low, middle, high = np.linalg.eigvalsh(central)
    return float((low + middle - high) / high) if high > 0.0 else 0.0


DECIMAL_FACTORS = (1e-1, 1e-2, 1e-3, 1e-4, 1e1, 1e2, 1e3, 1e4)
"""Factors by which a shifted decimal point changes a value."""

MAX_MOMENT_RATIO = 4.0
"""Largest ratio of moments of inertia that are considered similar."""

TENSOR_ENTRIES = {
    "Ixx": (0, 0),
    "Iyy": (1, 1),
    "Izz": (2, 2),
    "Ixy": (0, 1),
    "Ixz": (0, 2),
    "Iyz": (1, 2),
}


class OutlyingEntry(NamedTuple):
    """An entry of the inertia about the center of mass whose decimal point is in a wrong place."""

    name: str
    value: float
    correct: float
    """Value that fits the other entries [kg m^2]."""
    phi: Float1D
    """Parameters of the body with this value, shape (10,)."""

    def __str__(self) -> str:
        return (
            f"{self.name} = {self.value:.4g} does not fit the other entries; {self.correct:.4g} "
            "would, with the decimal point moved"
        )


def find_outlying_entry(phi: Float1D) -> OutlyingEntry | None:
    """Find the entry of an inconsistent body that a shifted decimal point corrects."""
    mass, com, central = unpack(phi)
    if mass <= 0.0 or inconsistency(phi) is None:
        return None
    for name, (i, k) in TENSOR_ENTRIES.items():
        others = [central[j, j] for j in range(3) if j not in (i, k) or i != k]
        for factor in DECIMAL_FACTORS if central[i, k] else ():
            tensor = central.copy()
            tensor[i, k] = tensor[k, i] = factor * central[i, k]
            if not (np.diag(tensor) > 0.0).all():
                continue
            usual = float(np.exp(np.mean(np.log(others))))
            alike = 1.0 / MAX_MOMENT_RATIO < tensor[i, i] / usual < MAX_MOMENT_RATIO
            if i != k:
                alike = MAX_MOMENT_RATIO**2 * tensor[i, k] ** 2 < tensor[i, i] * tensor[k, k]
            fixed = pack(mass, com, tensor)
            if alike and inconsistency(fixed) is None:
                return OutlyingEntry(name, float(central[i, k]), float(tensor[i, k]), fixed)
    return None


def repair(phi: Float1D) -> Float1D:
    """Return the nearest physically consistent body, or the one with a corrected decimal point."""
    entry = find_outlying_entry(phi)
    return nearest_consistent(phi) if entry is None else entry.phi


MIN_GYRATION = 1e-6
"""Radius of gyration below which a body has no extent in a direction [m]."""

POINT_GYRATION = 1e-3
"""Radius of gyration that a body without extent gets for MuJoCo [m]."""


def is_point(phi: Float1D) -> bool:
    """Return whether a body with mass lacks the moments of inertia that MuJoCo requires."""
    mass, _, central = unpack(phi)
    return bool(mass > 0.0 and np.linalg.eigvalsh(central)[0] < mass * MIN_GYRATION**2)


def add_extent(phi: Float1D) -> Float1D:
    """Return the parameters of a body for MuJoCo: a point mass gets the extent `POINT_GYRATION`."""
    if not is_point(phi):
        return phi
    mass, com, central = unpack(phi)
    return pack(mass, com, central + mass * POINT_GYRATION**2 * np.eye(3))


def nearest_consistent(phi: Float1D, margin: float = 1e-6) -> Float1D:
    """Return the nearest physically consistent body with the same mass and COM.

    Of all second moments ``S = tr(I)/2 - I`` about the COM with eigenvalues of at least `margin`
    times the largest one, the nearest in the Frobenius norm is taken (eigenvalue clipping). Without
    a positive mass there is no COM: then the eigenvalues of the pseudo-inertia are clipped.

    Parameters
    ----------
    phi : ndarray, shape (10,)
        Parameters.
    margin : float
        Smallest second moment over the largest one.

    Returns
    -------
    phi : ndarray, shape (10,)
        Parameters of a physically consistent body.
    """
    if phi[0] <= 0.0:
        return from_pseudo_inertia(_clip_eigenvalues(pseudo_inertia(phi), margin))
    mass, com, central = unpack(phi)
    second = _clip_eigenvalues(0.5 * np.trace(central) * np.eye(3) - central, margin)
    return pack(mass, com, np.trace(second) * np.eye(3) - second)


def _clip_eigenvalues(matrix: Float2D, margin: float) -> Float2D:
    """Raise the eigenvalues of a matrix to at least `margin` times the largest one."""
    values, axes = np.linalg.eigh(matrix)
    floor = margin * max(values.max(), np.finfo(float).tiny)
    return np.asarray((axes * np.maximum(values, floor)) @ axes.T)


def principal_axes(central: Float2D) -> tuple[Float1D, Float2D]:
    """Return principal moments [kg m^2] and the right-handed rotation from their axes."""
    moments, axes = np.linalg.eigh(central)
    if np.linalg.det(axes) < 0.0:
        axes = axes * np.array([1.0, 1.0, -1.0])
    return moments, axes


def _vector(matrix: Float2D) -> Float1D:
    return np.array(
        [matrix[0, 0], matrix[0, 1], matrix[1, 1], matrix[0, 2], matrix[1, 2], matrix[2, 2]]
    )
