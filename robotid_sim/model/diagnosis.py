"""Physical consistency of a robot, body by body, and the changes of a repair."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.model import inertia
from robotid_sim.model.cad import vertices
from robotid_sim.model.geometry import Link
from robotid_sim.model.robot import Robot

MASSLESS_WARNING = "Bullet moves it as a body of zero mass; robotid fuses it or refuses the joint"
ZEROED_WARNING = "Bullet would set its whole tensor to zero and only print a line"
NEGATIVE_WARNING = "Bullet would load it, and the simulation would diverge"
BOUNDARY_WARNING = "at the triangle boundary: rounding in a file may make Bullet zero the tensor"

BOUNDARY_TOLERANCE = 1e-9
"""Relative triangle margin that the rounding of a printed number may cross."""

HULL_TOLERANCE = 1e-6
"""Maximum distance of an inner COM outside a hull, over its diameter, for flat bodies."""


@dataclass(frozen=True, slots=True, eq=False)
class BodyDiagnosis:
    """One movable body."""

    name: str
    reason: str | None
    """Reason why no rigid body can have these parameters; None if one can."""
    engine: str | None
    """Silent change of these parameters by an engine; None if there is none."""
    mass: float
    """Mass [kg]."""
    com: Float1D
    """Center of mass in the frame of the link [m], shape (3,)."""
    moments: Float1D
    """Principal moments about the COM, ascending [kg m^2], shape (3,)."""
    triangle_margin: float
    """(I1 + I2 - I3) / I3; not negative for a physically consistent body."""
    pseudo_inertia: Float1D
    """Eigenvalues of the pseudo-inertia, ascending, shape (4,); none negative if it is physically
    consistent."""
    com_inside: bool | None
    """Whether the COM lies in the convex hull of the body's geometry; None if unknown."""


@dataclass(frozen=True, slots=True, eq=False)
class RepairReport:
    """Changes made by a repair."""

    metric: str
    """Description of the minimized distance."""
    distance: Float1D
    """Relative Frobenius distance of the tensor about the COM, by body, shape (n,)."""
    changed: tuple[tuple[str, float, float], ...]
    """Changed parameters: name, before, after."""
    torque: Float1D
    """RMS change of the joint torques over random states over their RMS, shape (n,)."""


METRIC_TEXT = "Frobenius norm of the second moment about the COM; mass and COM stay"


def diagnose(robot: Robot) -> list[BodyDiagnosis]:
    """Return the diagnosis of every movable body."""
    return [diagnose_body(link) for link in robot.links]


def diagnose_body(link: Link) -> BodyDiagnosis:
    """Check the inertial parameters of a body."""
    mass, com, central = inertia.unpack(link.phi)
    reason = inertia.inconsistency(link.phi)
    margin = inertia.triangle_margin(link.phi)
    # Collision shapes, else visual ones.
    clouds = [vertices(s) for s in link.shapes if s.collision] or list(map(vertices, link.shapes))
    readable = [points for points in clouds if points is not None]
    engine = BOUNDARY_WARNING if central.any() and margin < BOUNDARY_TOLERANCE else None
    if mass <= 0.0 or reason is not None:
        engine = (
            ZEROED_WARNING if mass > 0.0 else NEGATIVE_WARNING if mass < 0.0 else MASSLESS_WARNING
        )
    is_known = mass > 0.0 and readable and len(readable) == len(clouds)
    inside = is_in_hull(np.vstack(readable), com) if is_known else None
    return BodyDiagnosis(
        name=link.name,
        reason=reason,
        engine=engine,
        mass=mass,
        com=com,
        moments=np.linalg.eigvalsh(central),
        triangle_margin=margin,
        pseudo_inertia=np.linalg.eigvalsh(inertia.pseudo_inertia(link.phi)),
        com_inside=inside,
    )


def is_in_hull(points: Float2D, x: Float1D) -> bool | None:
    """Return whether `x` lies in the convex hull of `points`; None if these span no volume.

    `points` has the shape (N, 3), `x` the shape (3,).
    """
    try:
        hull = ConvexHull(points)
    except QhullError:
        return None
    middle = points.mean(axis=0)
    heights = hull.equations @ np.append(x + HULL_TOLERANCE * (middle - x), 1.0)
    return bool((heights <= 0.0).all())


def repair_report(before: Robot, after: Robot, change: Float2D, size: Float1D) -> RepairReport:
    """Compare a repaired robot with the original.

    Over random states, `change` is the change of the joint torques, shape (N, n), and `size` are
    the RMS torques of the robot before, shape (n,).
    """
    old, new = before.parameters(), after.parameters()
    moved = np.flatnonzero(~np.isclose(old, new, rtol=1e-12, atol=0.0))
    names = before.parameter_names
    tensors = [
        (inertia.unpack(a.phi)[2], inertia.unpack(b.phi)[2])
        for a, b in zip(before.links, after.links, strict=True)
    ]
    return RepairReport(
        metric=METRIC_TEXT,
        distance=np.array(
            [np.linalg.norm(new - old) / (np.linalg.norm(old) or np.inf) for old, new in tensors]
        ),
        changed=tuple((names[k], float(old[k]), float(new[k])) for k in moved),
        torque=np.sqrt((change**2).mean(axis=0)) / np.maximum(size, np.finfo(float).tiny),
    )


def summary(bodies: Sequence[BodyDiagnosis]) -> str:
    """Return the number of physically consistent bodies in one sentence."""
    bad = [body.name for body in bodies if body.reason is not None]
    if not bad:
        return f"all {len(bodies)} bodies are physically consistent"
    return f"{len(bad)} of {len(bodies)} bodies are not physically consistent: {', '.join(bad)}"
