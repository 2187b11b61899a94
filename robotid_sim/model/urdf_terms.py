"""Terms of joints in the ``<robotid>`` element of a URDF."""

from collections.abc import Callable, Sequence
from typing import NoReturn

from lxml import etree

from robotid_sim.errors import OptionError
from robotid_sim.model.geometry import number_text
from robotid_sim.model.joint_terms import JointTerm, require_terms_of


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
