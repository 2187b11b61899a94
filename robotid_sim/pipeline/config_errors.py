"""What a refused configuration says: the key, why, and which keys there are."""

from collections.abc import Sequence
from typing import get_args

from pydantic import BaseModel, ValidationError


def first_error(error: ValidationError) -> tuple[str, str]:
    """Return the key of the first refused value, and why it is refused."""
    first = error.errors()[0]
    if first["type"] == "missing":
        return dotted(first["loc"]), "is required"
    is_table = first["type"] in ("dict_type", "model_type")
    reason = "should be a table" if is_table else first["msg"].removeprefix("Input ")
    return dotted(first["loc"]), f"{reason}, got {first['input']!r}"


def dotted(location: Sequence[int | str]) -> str:
    """Return a place in a configuration as TOML writes keys."""
    return ".".join(map(str, location))


def known_keys(section: type[BaseModel], location: Sequence[int | str]) -> list[str]:
    """Return the keys of the section at a place within another one; numbers count in lists."""
    for part in location:
        if isinstance(part, str):
            annotation = section.model_fields[part].annotation
            kinds = (annotation, *get_args(annotation))
            section = next(k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel))
    return list(section.model_fields)
