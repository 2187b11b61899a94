"""Links from a docstring to the theory that it implements, from the links the other way.

A page under ``theory`` names objects by roles such as ``{py:func}``; each of them gets a line
with the pages that name it. Nothing is listed by hand, and no page has to be read before another.
"""

import pkgutil
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import robotid_sim

THEORY = Path(__file__).with_name("theory")
ROLE = re.compile(r"\{py:(\w+)\}`(?:[^`<]*<)?[~!]?([\w.]+)>?`")
"""A role with its target, with or without a text of its own."""


def targets(page: Path) -> list[str]:
    """Return the dotted names that a page links to, in its order."""
    return list(dict.fromkeys(name for _, name in ROLE.findall(page.read_text("utf-8"))))


def place_of(name: str) -> str:
    """Return where an object is documented: a public name of the package is in its module."""
    package, _, last = name.rpartition(".")
    if package == "robotid_sim" and last in robotid_sim.__all__:
        return f"{getattr(robotid_sim, last).__module__}.{last}"
    return name


@cache
def pages_of() -> Mapping[str, list[str]]:
    """Return the names of theory pages by the dotted names that they link to."""
    pages: dict[str, list[str]] = {}
    for page in sorted(THEORY.glob("*.md")):
        for name in map(place_of, targets(page)):
            pkgutil.resolve_name(name)  # an error of the build if there is no such object
            pages.setdefault(name, []).append(page.stem)
    return pages


def add_links(
    app: Any, _what: str, name: str, _object: Any, _options: Any, lines: list[str]
) -> None:
    """End a docstring with links to the theory; its page is read anew when the theory changes."""
    for page in THEORY.glob("*.md"):
        app.env.note_dependency(str(page))
    if pages := pages_of().get(name):
        links = ", ".join(f":doc:`/theory/{page}`" for page in pages)
        lines += ["", f"*Theory*: {links}.", ""]


def setup(app: Any) -> dict[str, bool]:
    """Connect behind numpydoc, which writes the sections of docstrings anew."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", add_links, priority=900)
    return {"parallel_read_safe": True}
