"""Rotor inertia in the ``<transmission>`` elements of a URDF, where Drake looks for it.

URDF itself has no place for it. Drake reads the gear ratio r and the inertia I of the rotor from
the actuator of a transmission; what the joint feels, `Ia`, is r^2 I. Where a file gives no ratio,
it is one, and the rotor is as heavy as the joint feels it.
"""

from lxml import etree

from robotid_sim.model.geometry import number_text
from robotid_sim.model.joint import Joint
from robotid_sim.model.robot import Robot

DRAKE = "http://drake.mit.edu"
TYPE = "transmission_interface/SimpleTransmission"
INTERFACE = "hardware_interface/EffortJointInterface"


def write_rotor_inertia(root: etree._Element, robot: Robot) -> list[etree._Element]:
    """Give the actuators of the joints their rotors; return transmissions that were added.

    Where one joint has a rotor, every joint gets an actuator: Drake drives no other one.
    """
    added, driven = [], any(joint.rotor_inertia > 0.0 for joint in robot.joints)
    for joint in robot.joints:
        actuator = _actuator(root, joint.name)
        if actuator is None and driven:
            actuator = _new_actuator(root, joint)
            added.append(actuator.getparent())
        if actuator is not None:
            ratio = _gear_ratio(actuator)
            _set(actuator, "gear_ratio", ratio)
            _set(actuator, "rotor_inertia", joint.rotor_inertia / ratio**2)
    return added


def _actuator(root: etree._Element, joint: str) -> etree._Element | None:
    """Return the one actuator of a transmission that moves this joint alone."""
    for transmission in root.findall("transmission"):
        moved = [e.get("name") for e in transmission.findall("joint")]
        actuators = transmission.findall("actuator")
        if moved == [joint] and len(actuators) == 1:
            return actuators[0]
    return None


def _new_actuator(root: etree._Element, joint: Joint) -> etree._Element:
    taken = {element.get("name") for element in root.findall("transmission")}
    name = f"{joint.name}_transmission"
    while name in taken:
        name += "_"
    transmission = etree.SubElement(root, "transmission", name=name)
    etree.SubElement(transmission, "type").text = TYPE
    moved = etree.SubElement(transmission, "joint", name=joint.name)
    etree.SubElement(moved, "hardwareInterface").text = INTERFACE
    actuator = etree.SubElement(transmission, "actuator", name=f"{joint.name}_motor")
    etree.SubElement(actuator, "mechanicalReduction").text = "1"
    return actuator


def _gear_ratio(actuator: etree._Element) -> float:
    """Return the ratio that the file gives, one if there is none."""
    entry = _entry(actuator, "gear_ratio")
    stated = None if entry is None else entry.get("value")
    for text in (stated, actuator.findtext("mechanicalReduction")):
        try:
            ratio = abs(float(text or ""))
        except ValueError:
            continue
        if 0.0 < ratio < float("inf"):
            return ratio
    return 1.0


def _set(actuator: etree._Element, key: str, value: float) -> None:
    entry = _entry(actuator, key)
    if entry is None:
        entry = etree.SubElement(actuator, f"{{{DRAKE}}}{key}", nsmap={"drake": DRAKE})
    entry.set("value", number_text(value))


def _entry(actuator: etree._Element, key: str) -> etree._Element | None:
    return next((e for e in actuator.iter("{*}*") if etree.QName(e).localname == key), None)
