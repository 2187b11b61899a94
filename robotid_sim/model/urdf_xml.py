"""Parsing the XML of a URDF: strict about links and joints, tolerant about the rest."""

import codecs
import re
from contextlib import suppress
from pathlib import Path

from lxml import etree

from robotid_sim.errors import UrdfError

VERSION_PATTERN = re.compile(rb"""^(\s*<\?xml\s+version\s*=\s*)(?:"[^"]*"|'[^']*')""")
"""Version in an XML declaration. Many URDFs have 0.0, which is invalid XML but harmless."""

DECLARATION_PATTERN = re.compile(rb"<\?xml\s[^>]*\?>")
MAX_HEAD_SIZE = 10_000
"""Bytes that are searched for an XML declaration, after blank lines or comments."""

XACRO_TAGS = ("property", "arg", "macro")
"""Elements of xacro that are ignored if unused."""

VISUAL_TAGS = ("visual", "collision", "material", "gazebo")
"""Elements without effect on the dynamics."""

HARMLESS_ERRORS = ("ERR_DOCUMENT_END", "ERR_HYPHEN_IN_COMMENT")
"""Errors of XML that hide no part of the robot."""


def line_of(element: etree._Element) -> int:
    """Return the line of an element; zero if it has none."""
    return int(element.sourceline or 0)


def parse_xml(xml: bytes, path: Path) -> etree._Element:
    """Return the ``<robot>`` element; refuse anything but plain XML.

    Raises `UrdfError` if the text is not well-formed, declares a document type (and so could
    declare entities), or its root is not ``<robot>``.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True)
    text = xml.removeprefix(codecs.BOM_UTF8)
    if declaration := DECLARATION_PATTERN.search(text[:MAX_HEAD_SIZE]):  # anywhere in the head
        first, last = declaration.span()
        text = declaration[0] + text[:first] + text[last:]
    text = VERSION_PATTERN.sub(rb'\g<1>"1.0"', text.lstrip(), count=1)
    root = None
    with suppress(etree.XMLSyntaxError):  # nothing can be recovered
        root = etree.fromstring(text, parser)
    # Undeclared prefixes, text after the robot, and dashes in a comment are
    # harmless; other errors may hide a part of the robot.
    errors = [
        error
        for error in parser.error_log
        if error.domain_name != "NAMESPACE" and error.type_name not in HARMLESS_ERRORS
    ]
    if errors or root is None:
        line = (errors[0].line if errors else 1) + xml[: xml.find(b"<")].count(b"\n")
        reason = " ".join(errors[0].message.split()) if errors else "Document is empty"
        hint = "" if b"<" in xml[:100] else "; is it the file of a robot?"
        raise UrdfError(f"{path}:{line}: not well-formed XML: {reason}{hint}")
    if root.getroottree().docinfo.doctype:
        raise UrdfError(
            f"{path}:1: a document type declaration (entities) is not accepted; remove <!DOCTYPE>"
        )
    default_namespace, _, tag = str(root.tag).rpartition("}")  # a default namespace has no effect
    if tag != "robot":
        is_xacro = "xacro" in f"{default_namespace}{root.tag}"
        hint = "give the file that uses its macros" if is_xacro else "not a URDF"
        raise UrdfError(f"{path}:{line_of(root)}: the root is <{root.tag}>, not <robot>: {hint}")
    for element in root.iter("{*}*"):
        space, _, tag = str(element.tag).rpartition("}")
        if default_namespace and space == default_namespace:
            element.tag = tag
        elif "xacro" in space and tag not in XACRO_TAGS and not is_shown(element):
            what = f"<xacro:{tag}> is not URDF"
            raise UrdfError(f"{path}:{line_of(element)}: {what}; name it .urdf.xacro to expand it")
    return root


def is_shown(element: etree._Element) -> bool:
    """Return whether an element only concerns appearance."""
    return next(element.iterancestors(*VISUAL_TAGS), None) is not None
