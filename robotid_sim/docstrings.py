"""Docstrings of classes and their fields, as plain text and in ``help``.

Fields are documented by the string below them (PEP 258), which Python discards.
`document_attributes` makes ``help``, `inspect.getdoc` and ``?`` of IPython show them; sources are
read on demand.
"""

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Any, TypeVar

T = TypeVar("T", bound=type)

LATER_SECTIONS = ("Methods", "See Also", "Notes", "Warnings", "References", "Examples")
"""Sections of a class docstring that follow the attributes, as in numpydoc."""

FOREIGN_PACKAGES = sys.stdlib_module_names | {"pydantic"}
"""Packages whose attributes are omitted from docstrings of values."""


def document_attributes(cls: T) -> T:
    """Give a class a docstring with a section Attributes; place it above ``@dataclass``."""
    cls.__doc__ = _Docstring.from_class(cls)
    return cls


class _Docstring(str):
    """A docstring that gets its section Attributes when it is read.

    ``type.__doc__`` calls ``__get__`` of the entry of the class. If the metaclass has its own
    docstring, like ABCMeta, ``help`` uses the raw entry of the class instead and expands its tabs:
    therefore this is a string, and `expandtabs` returns the whole docstring.
    """

    owner: type

    @classmethod
    def from_class(cls, owner: type) -> "_Docstring":
        docstring = cls(_own_docstring(owner))
        docstring.owner = owner
        return docstring

    @cached_property
    def whole(self) -> str:
        return add_attributes(str(self), attributes_of(self.owner))

    def __get__(self, _instance: object, _owner: type | None = None) -> str:
        return self.whole

    def expandtabs(self, tabsize: Any = 8) -> str:
        return self.whole.expandtabs(tabsize)


def add_attributes(docstring: str, attributes: dict[str, tuple[str, str]]) -> str:
    """Add the section Attributes to a class docstring unless it already has one.

    Type and text of the attributes are from `attributes_of`.
    """
    text = inspect.cleandoc(docstring)
    if not attributes or re.search(r"^Attributes\n-+$", text, re.MULTILINE):
        return text
    lines = ["Attributes", "----------"]
    for name, (kind, meaning) in attributes.items():
        lines += [f"{name} : {kind}" if kind else name]
        lines += textwrap.indent(meaning, "    ").splitlines()
    later = re.search(rf"^(?:{'|'.join(LATER_SECTIONS)})\n-+$", text, re.MULTILINE)
    at = later.start() if later else len(text)
    parts = (text[:at].rstrip(), "\n".join(lines), text[at:])
    return "\n\n".join(part for part in parts if part)


def attributes_of(cls: type) -> dict[str, tuple[str, str]]:
    """Return type and text of the public fields and properties of a class, as in its source.

    Attributes of base classes come first. A field that is redeclared without a text keeps the text
    of the base. Without source, as in an interactive session, there are none.
    """
    attributes: dict[str, tuple[str, str]] = {}
    for part in reversed(cls.__mro__):
        if part.__module__.partition(".")[0] in FOREIGN_PACKAGES:
            continue
        for name, kind, text in _list_members(_read_body(part)):
            before = attributes.get(name, ("", ""))
            attributes[name] = (kind or before[0], text or before[1])
    return attributes


def summary_of(cls: type) -> str:
    """Return the first line of a class docstring, as plain text."""
    return _strip_markup(_own_docstring(cls).split("\n", 1)[0])


def source_of(cls: type) -> str:
    """Return the first entry of the References section of a class docstring; empty without one."""
    _, _, references = _own_docstring(cls).partition("References\n----------\n")
    first = re.split(r"\n\.\. \[2\]|\n\w+\n-+\n", references)[0].removeprefix(".. [1]")
    return " ".join(first.split())


def field_texts(cls: type) -> dict[str, str]:
    """Return the docstrings below the fields of a dataclass, as plain text.

    A field without a docstring shares the docstring of the next field. A class without source, such
    as in an interactive session, has none.
    """
    texts: dict[str, str] = {}
    for part in reversed([c for c in cls.__mro__ if is_dataclass(c)]):
        undocumented: list[str] = []
        for node in _read_body(part):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                undocumented.append(node.target.id)
            elif (
                undocumented and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            ):
                text = _strip_markup(" ".join(str(node.value.value).split()))
                texts |= dict.fromkeys(undocumented, text)
                undocumented = []
    return texts


def _own_docstring(cls: type) -> str:
    """Return the docstring of a class or a base class as written, without reading sources."""
    docstring = vars(cls).get("__doc__")
    written = isinstance(docstring, str)
    return inspect.cleandoc(str(docstring)) if written else inspect.getdoc(cls) or ""


def _read_body(cls: type) -> list[ast.stmt]:
    """Return the statements of a class; empty without source.

    For a class made by ``exec``, Python 3.13 gives the line with its number in another file.
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError, SyntaxError):
        return []
    classes = [node for node in tree.body[:1] if isinstance(node, ast.ClassDef)]
    return classes[0].body if classes and classes[0].name == cls.__name__ else []


def _list_members(body: list[ast.stmt]) -> Iterator[tuple[str, str, str]]:
    """Yield name, type and text of the public fields and properties of a class body."""
    for node, after in zip_longest(body, body[1:]):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            kind, text = ast.unparse(node.annotation), ""
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                text = inspect.cleandoc(str(after.value.value))
            if not kind.startswith("ClassVar") and not node.target.id.startswith("_"):
                yield node.target.id, kind.strip("'\""), text
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            marks = {ast.unparse(mark) for mark in node.decorator_list}
            if marks & {"property", "cached_property"}:
                kind = ast.unparse(node.returns).strip("'\"") if node.returns else ""
                yield node.name, kind, (ast.get_docstring(node) or "").split("\n\n", 1)[0]


def _strip_markup(text: str) -> str:
    """Remove the markup of a docstring, and citations, because the source is listed separately."""
    text = re.sub(r"\[\d+\]_", "the source", text)
    text = re.sub(r"(?::\w+:)?`+([^`]*)`+", r"\1", text)
    text = re.sub(r"\\(d+)ot q", r"\1q", text).replace("\\pm", "+-")
    return re.sub(r"\\([a-zA-Z]+)", r"\1", text)
