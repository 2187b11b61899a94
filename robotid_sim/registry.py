"""Typed registries: the only way from a name in a file or on the command line to an object."""

import dataclasses
import inspect
from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

from robotid_sim.errors import OptionError, UnknownNameError

T = TypeVar("T")


class Registry(Mapping[str, type[T]], Generic[T]):
    """Read-only mapping from kebab-case names to the dataclasses of one family.

    Parameters
    ----------
    noun : str
        What an entry is, in the singular; used in messages.
    entries : mapping of str to type
        The classes; each is a dataclass whose fields are its options.
    """

    def __init__(self, noun: str, entries: Mapping[str, type[T]]) -> None:
        self.noun = noun
        self._entries = dict(sorted(entries.items()))

    def __getitem__(self, name: str) -> type[T]:
        if name not in self._entries:
            known = ", ".join(self._entries)
            raise UnknownNameError(f"unknown {self.noun} '{name}'; known: {known}")
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def build(self, name: str, **options: Any) -> T:
        """Make the object `name` with `options`; an option it has no field for raises.

        Raises
        ------
        UnknownNameError
            If `name` is not registered.
        OptionError
            If an option does not belong to the class, or its value is refused.
        """
        cls = self[name]
        # Entries are dataclasses by contract, which the type of a class cannot say.
        known = [f.name for f in dataclasses.fields(cls) if f.init]  # type: ignore[arg-type]
        for option in options:
            if option not in known:
                allowed = ", ".join(known) or "none"
                raise OptionError(
                    f"{self.noun} '{name}' has no option '{option}'; options: {allowed}"
                )
        try:
            return cls(**options)
        except TypeError as error:
            raise OptionError(f"{self.noun} '{name}': {error}") from error

    def name_of(self, value: T) -> str:
        """Return the registered name of an object's class."""
        for name, cls in self._entries.items():
            if type(value) is cls:
                return name
        raise UnknownNameError(f"{type(value).__name__} is not a registered {self.noun}")

    def describe(self) -> list[dict[str, str]]:
        """Return name, first docstring line and source of every entry, for `robotid list`."""
        return [
            {"name": name, "summary": summary_of(cls), "source": source_of(cls)}
            for name, cls in self._entries.items()
        ]


def summary_of(cls: type) -> str:
    """Return the first line of a class docstring."""
    return (inspect.getdoc(cls) or "").split("\n", 1)[0]


def source_of(cls: type) -> str:
    """Return the first entry of the References section of a class docstring, else empty."""
    _, _, references = (inspect.getdoc(cls) or "").partition("References\n----------\n")
    first = references.split("\n.. [2]")[0].removeprefix(".. [1]")
    return " ".join(first.split())
