"""Keys of a file from the model that reads it: type, default, range and meaning in words."""

import dataclasses
import json
import re
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import annotated_types
from pydantic import BaseModel

from robotid_sim.docstrings import attributes_of

KINDS = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    Path: "file",
    Any: "any",
}
BOUNDS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<", "min_length": "length ≥"}


def is_section(kind: Any) -> bool:
    """Return whether a type is a table of keys of its own."""
    return isinstance(kind, type) and (
        issubclass(kind, BaseModel) or dataclasses.is_dataclass(kind)
    )


def leaves(kind: Any) -> Iterator[Any]:
    """Yield the sections within a type."""
    if is_section(kind):
        yield kind
    for part in get_args(kind):
        yield from leaves(part)


def kind_text(kind: Any) -> str:
    """Return a type in words."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return kind_text(parts[0])
    if origin in (Union, types.UnionType):
        return " or ".join(kind_text(p) for p in parts if p is not type(None))
    if origin is Literal:
        return " or ".join(f"`{json.dumps(p)}`" for p in parts)
    if origin in (list, tuple):
        inner = {kind_text(p) for p in parts if p is not Ellipsis}
        fixed = origin is tuple and Ellipsis not in parts
        return f"{f'{len(parts)} ×' if fixed else 'list of'} {' and '.join(sorted(inner))}"
    if origin in (dict, Mapping):
        return f"table of {kind_text(parts[1])}"
    return "table" if is_section(kind) else KINDS.get(kind, getattr(kind, "__name__", str(kind)))


def bounds_text(metadata: list[Any]) -> str:
    """Return the range that a number keeps."""
    words = []
    for mark in metadata:
        for name, sign in BOUNDS.items():
            if isinstance(mark, annotated_types.BaseMetadata) and hasattr(mark, name):
                words.append(f"{sign} {getattr(mark, name):g}")
    return ", ".join(words)


def default_text(value: Any) -> str:
    """Return a default as TOML has it; a table of defaults is told by its own keys."""
    if value is None or isinstance(value, BaseModel) or value in ({}, (), [], ""):
        return ""
    if isinstance(value, Path):
        value = str(value)
    if isinstance(value, dict):
        return f"`{' '.join(value)}`"
    return f"`{json.dumps(value, ensure_ascii=False)}`"


def rows_of(section: type) -> Iterator[tuple[str, Any, str, str]]:
    """Yield key, type, default with range, and meaning of every field."""
    texts = attributes_of(section)
    if issubclass(section, BaseModel):
        for name, field in section.model_fields.items():
            value = field.get_default(call_default_factory=True)
            default = "required" if field.is_required() else default_text(value)
            words = ", ".join(filter(None, (default, bounds_text(field.metadata))))
            yield field.alias or name, field.annotation, words, texts.get(name, ("", ""))[1]
        return
    hints = get_type_hints(section, include_extras=True)
    for field in dataclasses.fields(section):
        yield field.name, hints[field.name], "", texts.get(field.name, ("", ""))[1]


def sections_of(section: type, path: str, seen: set[type]) -> Iterator[tuple[str, type]]:
    """Yield a section and those within it, each once, with the place in the file."""
    seen.add(section)
    yield path, section
    for name, kind, *_ in rows_of(section):
        for inner in leaves(kind):
            if inner not in seen:
                many = "[]" if get_origin(kind) in (list, tuple) else ""
                each = ".NAME" if get_origin(kind) in (dict, Mapping) else ""
                yield from sections_of(inner, f"{path}.{name}{many}{each}".lstrip("."), seen)


def markdown(docstring: str) -> str:
    """Return a text of a docstring in a line of Markdown."""
    text = re.sub(r":math:`([^`]*)`", r"$\1$", " ".join(docstring.split()))
    return text.replace("``", "`").replace("|", r"\|").replace("[", r"\[")
