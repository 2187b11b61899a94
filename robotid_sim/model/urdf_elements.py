"""What the elements of a URDF may not be, whatever they mean: doubled, negative, absurdly large.

And terms of joints in the ``<robotid>`` element.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from lxml import etree

from robotid_sim.errors import OptionError, UrdfError
from robotid_sim.model.geometry import number_text
from robotid_sim.model.joint_terms import JointTerm, require_terms_of

ONCE = {
    "link": ("inertial",),
    "inertial": ("origin", "mass", "inertia"),
    "visual": ("origin", "geometry", "material"),
    "collision": ("origin", "geometry"),
    "joint": ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"),
}
"""Children that an element has once at most; a reader would take the first without a word."""

SIZES = {"box": "size", "sphere": "radius", "cylinder": "radius length", "capsule": "radius length"}

LARGEST = {
    ("mass", "value"): (1e5, "kg"),
    **{("inertia", key): (1e6, "kg m^2") for key in ("ixx", "iyy", "izz")},
    ("origin", "xyz"): (100.0, "m"),
    **{(tag, key): (1e3, "m") for tag, keys in SIZES.items() for key in keys.split()},
    **{("dynamics", key): (1e6, "N m s/rad, N m") for key in ("damping", "friction")},
}
"""By element and attribute: more than any arm has, with the unit that it is probably not in."""


def checked_elements(root: etree._Element, path: Path) -> tuple[str, ...]:
    """Return what is left out or taken for granted of a URDF; remove shapes without a volume.

    Raises `UrdfError` if an element stands twice where one is meant, or a number cannot be that of
    an arm.
    """
    for element in root.iter(*ONCE):
        counts = Counter(child.tag for child in element if child.tag in ONCE[str(element.tag)])
        for tag, count in counts.items():
            if count > 1:
                second = element.findall(tag)[1]
                text = f"<{tag}> stands {count} times; keep one of them"
                _fail(path, second, f"{_owner(element)}: {text}")
    for tag, key in LARGEST:
        for element in root.iter(tag):
            largest, unit = LARGEST[tag, key]
            worst = max((abs(value) for value in _numbers(element, key)), default=0.0)
            if largest < worst < float("inf"):  # what is infinite is refused when it is read
                text = f"{tag} {key}='{element.get(key)}' is more than {largest:g} {unit}"
                _fail(path, element, f"{_owner(element)}: {text}: is it in another unit?")
    flat = _without_flat_shapes(root, path)
    bare = [
        str(inertial.getparent().get("name"))
        for inertial in root.iter("inertial")
        if inertial.find("inertia") is None and inertial.getparent() is not None
    ]
    notes = {"shapes without a volume are left out": flat, "missing <inertia> taken as zero": bare}
    return tuple(f"{text}: {', '.join(dict.fromkeys(of))}" for text, of in notes.items() if of)


def _without_flat_shapes(root: etree._Element, path: Path) -> list[str]:
    """Remove shapes of size zero and return their links; raise for negative sizes."""
    links = []
    for shape in list(root.iter("visual", "collision")):
        for body in shape.iterfind("geometry/*"):
            sizes = [x for key in SIZES.get(str(body.tag), "").split() for x in _numbers(body, key)]
            sizes += [abs(x) for x in _numbers(body, "scale")]  # a mirrored mesh
            if min(sizes, default=1.0) < 0.0:
                _fail(path, body, f"{_owner(shape)}: the size of the {body.tag} is negative")
            if min(sizes, default=1.0) == 0.0:
                links.append(str(shape.getparent().get("name")))
                shape.getparent().remove(shape)
                break
    return links


def _numbers(element: etree._Element, key: str) -> list[float]:
    """Return the numbers of an attribute; none if it has others, which its reader refuses."""
    try:
        return [float(word) for word in element.get(key, "").split()]
    except ValueError:
        return []


def _owner(element: etree._Element) -> str:
    """Return the link or joint that an element stands in, in words."""
    while element.tag not in ("link", "joint") and element.getparent() is not None:
        element = element.getparent()
    return f"{element.tag} '{element.get('name', '')}'"


def _fail(path: Path, element: etree._Element, text: str) -> None:
    raise UrdfError(f"{path}:{element.sourceline or 0}: {text}")


def terms_in(
    elements: Sequence[etree._Element],
    joint_names: Sequence[str],
    fail: Callable[[etree._Element, str], NoReturn],
) -> tuple[JointTerm, ...]:
    """Return the terms of ``<term>`` elements; `fail` is called with what is wrong with one."""
    found = []
    for element in elements:
        shape = element.get("shape")
        try:
            term = JointTerm(
                str(element.get("kind")),
                str(element.get("joint")),
                tuple(float(text) for text in element.get("values", "").split()),
                None if shape is None else float(shape),
                element.get("partner"),
            )
            require_terms_of([term], joint_names)
        except (ValueError, OptionError) as error:
            fail(element, f"<robotid> term: {error}")
        found.append(term)
    return tuple(found)


def attributes_of(term: JointTerm) -> dict[str, str]:
    """Return the attributes of the element of a term."""
    values = {"values": " ".join(map(number_text, term.values))}
    shape = {} if term.shape is None else {"shape": number_text(term.shape)}
    partner = {} if term.partner is None else {"partner": term.partner}
    return {"kind": term.kind, "joint": term.joint, **values, **shape, **partner}
