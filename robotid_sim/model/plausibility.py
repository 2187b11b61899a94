"""Test whether bodies fit an arm of their size: values in wrong units and outlying entries."""

from typing import NamedTuple

import numpy as np

from robotid_sim.model import inertia
from robotid_sim.model.geometry import Link
from robotid_sim.model.robot import Robot

MAX_REACH = 30.0
"""Largest plausible length of a chain [m]."""

MAX_DENSITY = 3000.0
"""Largest plausible mass of an arm over the cube of its size [kg/m^3]."""

USUAL_GYRATION = 0.12
"""Usual radius of gyration of a link over the size of the arm."""

MAX_GYRATION = 2.5
"""Largest plausible radius of gyration of a link over the size of the arm, as of a large body that
a short chain carries."""

MAX_UNIT_MISFIT = np.log(30.0)
"""Largest misfit, as a log ratio of inertia with penalty, at which a unit is suggested."""

RARE_UNIT_PENALTIES = {1e-4: np.log(16.0), 1e-7: np.log(16.0)}
"""Penalty of rarely used units, added to the log ratio of inertia."""

INERTIA_UNITS = {1e-6: "kg mm²", 1e-9: "g mm²", 1e-4: "kg cm²", 1e-7: "g cm²"}
"""Names of units of inertia by value in kg m^2, the commonest first."""


class Fault(NamedTuple):
    """An implausible value, with evidence and remedy."""

    finding: str
    evidence: str
    remedy: str


def find_implausible(robot: Robot) -> list[Fault]:
    """Find implausible values for an arm of the size of `robot`; empty if there are none.

    Radius of gyration and distance of the center of mass are compared with the size of the arm,
    its masses with the cube of the size.
    """
    offsets = [np.linalg.norm(joint.T_parent_joint[:3, 3]) for joint in robot.joints]
    lengths = np.array([*offsets[1:], np.linalg.norm(robot.T_last_tip[:3, 3])])
    reach, total = float(lengths.sum()), sum(float(link.phi[0]) for link in robot.links)
    bodies = [(link, *inertia.unpack(link.phi)) for link in robot.links if link.phi[0] > 0.0]
    com_distance = max((float(np.linalg.norm(com)) for _, _, com, _ in bodies), default=0.0)
    travel = sum(j.upper - j.lower for j in robot.joints if j.prismatic)
    if max(reach, float(np.linalg.norm(offsets)), com_distance) > MAX_REACH:
        text = f"the arm is {max(reach, com_distance, *offsets):.3g} m long: lengths look like mm"
        return [Fault(text, "offsets of joints and centers of mass", "multiply lengths by 0.001")]
    size = max(reach, com_distance, travel, max(offsets, default=0.0))
    if size == 0.0:
        return []
    faults = []
    if total > MAX_DENSITY * size**3 and total > 1000.0:
        text = (
            f"the links weigh {total:.3g} kg, and the arm is {size:.2g} m long: masses look like g"
        )
        faults.append(Fault(text, "mass over the cube of the length", "multiply masses by 0.001"))
    suspects: list[tuple[Link, float, float]] = []
    for link, mass, _, central in bodies:
        gyration = float(np.sqrt(max(np.trace(central), 0.0) / (2.0 * mass)))
        if gyration > MAX_GYRATION * size + _extent(link):
            suspects.append((link, gyration, mass))
    if suspects:
        ratio = np.median([(USUAL_GYRATION * size / gyration) ** 2 for _, gyration, _ in suspects])
        misfits = {
            unit: abs(np.log(unit / ratio)) + RARE_UNIT_PENALTIES.get(unit, 0.0)
            for unit in INERTIA_UNITS
        }
        factor = min(misfits, key=misfits.__getitem__)
        names = ", ".join(link.name for link, *_ in suspects)
        max_gyration = max(gyration for _, gyration, _ in suspects)
        evidence = f"radii of gyration of up to {max_gyration:.3g} m in an arm of {size:.2g} m"
        power = 10.0 ** round(float(np.log10(ratio)))
        text = f"inertia of {names} is too large for the arm; a decimal point may be misplaced"
        remedy = f"multiply it by {power:g}, or correct it"
        if misfits[factor] < MAX_UNIT_MISFIT and len(suspects) > len(bodies) / 2:
            text = f"inertia of {names} looks like {INERTIA_UNITS[factor]}; × {factor:g}"
            remedy = f"multiply it by {factor:g}"
        faults.append(Fault(text, evidence, remedy))
    return faults


def _extent(link: Link) -> float:
    """Measure the distance from its frame to which shapes of a link reach, without meshes [m]."""
    sizes = [np.linalg.norm(s.T_body_shape[:3, 3]) + max(s.size) for s in link.shapes if not s.mesh]
    return float(max(sizes, default=0.0))
