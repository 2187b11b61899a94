"""Tables of a configuration file, with checks of keys, numbers and duplicate names."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, AllowInfNan, BaseModel, ConfigDict, Field, field_validator
from pydantic import ValidationInfo as Place
from pydantic_core import PydanticCustomError

from robotid_sim.docstrings import document_attributes

MAX_NUMBER = 1e9
"""Largest magnitude of a number in a configuration, in SI units; no robot exceeds it."""


class ConfigSection(BaseModel):
    """A table of a configuration file; fields with specific units have narrower ranges."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, ser_json_inf_nan="constants"
    )

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Let ``help`` show the keys of every section."""
        document_attributes(cls)

    @field_validator("*", mode="before")
    @classmethod
    def _require_sensible(cls, value: Any, place: Place) -> Any:
        kinds = set(_list_types(cls.model_fields[str(place.field_name)].annotation))
        if any(issubclass(kind, BaseModel) for kind in kinds):
            return value  # the section checks its values itself
        numeric = kinds <= {int, float, str, type(None)}
        for part in _list_values(value):
            if isinstance(part, bool) and numeric:
                raise PydanticCustomError("flag", "should not be true or false")
            is_size = isinstance(part, float) or (isinstance(part, int) and kinds != {int})
            if is_size and MAX_NUMBER < abs(part) < float("inf"):
                raise PydanticCustomError("size", f"should lie within {MAX_NUMBER:g}")
        if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
            duplicates = [name for name, count in Counter(value).items() if count > 1]
            if duplicates:
                raise PydanticCustomError("twice", f"names '{duplicates[0]}' twice; keep one")
        return value


def _list_types(annotation: Any) -> Iterator[Any]:
    """Yield the types in an annotation."""
    if isinstance(annotation, type) and not get_args(annotation):
        yield annotation
    for part in get_args(annotation):
        yield from _list_types(part)


def _list_values(value: Any) -> Iterator[Any]:
    """Yield the values in lists and tables."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for part in value:
            yield from _list_values(part)
    else:
        yield value


def _reject_nan(value: float) -> float:
    if value != value:
        raise PydanticCustomError("nan", "should be a number or infinite")
    return value


OpenEnd = Annotated[float, AllowInfNan(allow_inf_nan=True), AfterValidator(_reject_nan)]
"""A number that may be infinite, for an open side."""

Length = Annotated[float, Field(ge=-1e3, le=1e3)]
"""A coordinate [m]."""
