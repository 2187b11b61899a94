"""Typed registries: the only way from a name in a file or on the command line to an object."""

import dataclasses
import re
from abc import ABCMeta
from collections.abc import Callable, Iterator, Mapping
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints, overload

from robotid_sim.docstrings import field_texts, source_of, summary_of
from robotid_sim.errors import OptionError, PluginError, UnknownNameError, suggestion

T = TypeVar("T")

KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")

INTERNAL: Mapping[str, Any] = {"internal": True}
"""Metadata of a field that is no option: it holds what the object found out."""

PLAIN: Mapping[Any, tuple[type, str]] = {
    bool: (bool, "true or false"),
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
    str: (str, "a text"),
}
"""Kinds of options that are checked here: what a value must be, and that in words."""


class Registry(Mapping[str, type[T]], Generic[T]):
    """Mapping from kebab-case names to the dataclasses of one family, to which users may add.

    Parameters
    ----------
    noun : str
        What an entry is, in the singular; used in messages.
    base : type
        The abstract class that every entry derives from.
    entries : mapping of str to type
        The classes; each is a dataclass whose fields are its options.
    """

    def __init__(self, noun: str, base: ABCMeta, entries: Mapping[str, type[T]]) -> None:
        self.noun = noun
        self.base = base
        self._entries = dict(sorted(entries.items()))
        self._origins: dict[str, str] = {}
        self._followers: list[Callable[[str], object]] = []

    def __repr__(self) -> str:
        return f"<registry of {self.noun}s: {', '.join(self)}>"

    @overload
    def register(self, name: str, cls: type[T]) -> type[T]: ...
    @overload
    def register(self, name: str) -> Callable[[type[T]], type[T]]: ...
    def register(
        self, name: str, cls: type[T] | None = None
    ) -> type[T] | Callable[[type[T]], type[T]]:
        """Add a class of the user's own; also usable as a decorator, ``@SENSORS.register("mine")``.

        Parameters
        ----------
        name : str
            Kebab-case; what TOML and the command line then call it.
        cls : type, optional
            A dataclass that fulfills the contract of the family, see `robotid_sim.testing`.

        Raises
        ------
        PluginError
            If the name is no kebab-case or taken, or the class lacks the contract.
        """
        if cls is None:
            return lambda decorated: self.register(name, decorated)
        self._require_acceptable(name, cls)
        self._entries = dict(sorted({**self._entries, name: cls}.items()))
        if not cls.__module__.startswith(f"{__package__}."):
            self._origins[name] = cls.__module__
        for follow in self._followers:
            follow(name)
        return cls

    def follow(self, take: Callable[[str], object]) -> None:
        """Call `take` with every name that there is, and with those that will be registered."""
        for name in self:
            take(name)
        self._followers.append(take)

    def _require_acceptable(self, name: str, cls: type[T]) -> None:
        what = f"{self.noun} '{name}'"
        if not KEBAB.fullmatch(name):
            raise PluginError(f"{what}: a name is lower-case words joined by '-'")
        if name in self._entries:
            raise PluginError(f"{what} would shadow one that exists; choose another name")
        if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
            raise PluginError(f"{what} is no dataclass; its fields are its options")
        missing = sorted(m for m in self.base.__abstractmethods__ if not _has_member(cls, m))
        if missing or not issubclass(cls, self.base):
            lacks = f"lacks {', '.join(missing)}" if missing else "does not derive from it"
            raise PluginError(f"{what} must be a {self.base.__name__}: it {lacks}")

    def __getitem__(self, name: str) -> type[T]:
        if name not in self._entries:
            raise UnknownNameError.of(self.noun, name, self._entries)
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def build(self, name: str, /, **options: Any) -> T:
        """Make an object by name; an option that its class has no field for raises.

        Parameters
        ----------
        name : str
            A registered name.
        **options : Any
            Values of fields of its class.

        Returns
        -------
        entry : T
            The object.

        Raises
        ------
        UnknownNameError
            If `name` is not registered.
        OptionError
            If an option does not belong to the class, or its value is refused.
        """
        cls = self[name]
        kinds = _options(cls)
        usual = [option for option, kind in kinds.items() if not _is_object(kind)]
        for option, value in options.items():
            if option not in usual and (option not in kinds or _misfit(value, kinds[option])):
                allowed = ", ".join(usual) or "none"
                raise OptionError(
                    f"{self.noun} '{name}' has no option '{option}'"
                    f"{suggestion(option, usual)}; options: {allowed}"
                )
        try:
            entry, reason = cls(**options), None
        except TypeError as error:
            entry, reason = None, error
        # After the class, which knows better what it needs where it looks itself.
        for option, value in options.items():
            if _misfit(value, kinds[option]):
                raise OptionError(
                    f"{self.noun} '{name}': option '{option}' must be {_in_words(kinds[option])}, "
                    f"got {value!r}"
                ) from reason
        if entry is None:
            raise OptionError(f"{self.noun} '{name}': {reason}") from reason
        return entry

    def name_of(self, value: T) -> str:
        """Return the registered name of an object's class, or its class name in kebab-case."""
        for name, cls in self._entries.items():
            if type(value) is cls:
                return name
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", type(value).__name__).lower()

    def options(self, name: str) -> list[dict[str, str]]:
        """Return name, default and meaning of every option of an entry, for `robotid list`.

        An option that must be given has ``required`` for a default.
        """
        cls: Any = self[name]  # a dataclass by contract
        texts, fields = field_texts(cls), {field.name: field for field in dataclasses.fields(cls)}
        return [
            {
                "name": option,
                "default": _default_of(fields[option]),
                "meaning": texts.get(option, ""),
            }
            for option, kind in _options(cls).items()
            if not _is_object(kind)
        ]

    def describe(self) -> list[dict[str, str]]:
        """Return name, first docstring line and source of every entry, for `robotid list`.

        The source of an entry that a user registered names the module that it came from.
        """
        return [
            {"name": name, "summary": summary_of(cls), "source": self._source(name, cls)}
            for name, cls in self._entries.items()
        ]

    def _source(self, name: str, cls: type) -> str:
        if name not in self._origins:
            return source_of(cls)
        return "; ".join(filter(None, (f"plugin {self._origins[name]}", source_of(cls))))


def _has_member(cls: type, name: str) -> bool:
    if any(field.name == name for field in dataclasses.fields(cls)):
        return True
    member = getattr(cls, name, None)
    return member is not None and not getattr(member, "__isabstractmethod__", False)


def _options(cls: type) -> dict[str, Any]:
    """Return the fields of a class that may be given, with their kinds."""
    kinds = get_type_hints(cls)
    # Entries are dataclasses by contract, which the type of a class cannot say.
    given = (f for f in dataclasses.fields(cls) if f.init and f.metadata != INTERNAL)
    return {field.name: kinds[field.name] for field in given}


def _default_of(field: "dataclasses.Field[Any]") -> str:
    """Return the default of a field as it stands in a configuration."""
    value = field.default
    if field.default_factory is not dataclasses.MISSING:
        value = field.default_factory()
    if value is dataclasses.MISSING:
        return "required"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(str, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value in (None, "") else str(value)


def _is_object(kind: Any) -> bool:
    """Return whether values of a kind are objects, which no configuration can give."""
    parts = set(get_args(kind) or (kind,)) - {NoneType}
    return all(isinstance(part, type) and part not in PLAIN and part is not Any for part in parts)


def _misfit(value: object, kind: Any) -> bool:
    """Return whether a value is not of a kind; all but plain kinds are left to the class."""
    if get_origin(kind) in (Union, UnionType):
        return all(_misfit(value, part) for part in get_args(kind))
    if get_origin(kind) is tuple:
        return isinstance(value, str) or (
            isinstance(value, list | tuple) and any(_misfit(v, get_args(kind)[0]) for v in value)
        )
    if kind is NoneType:
        return value is not None
    if _is_object(kind):
        return not isinstance(value, kind)
    if kind not in PLAIN:
        return False
    if isinstance(value, bool):
        return kind is not bool
    # A number that is none passes as a float everywhere and then spoils all that it meets.
    return not isinstance(value, PLAIN[kind][0]) or value != value


def _in_words(kind: Any) -> str:
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(_in_words(part) for part in get_args(kind) if part is not NoneType)
    if get_origin(kind) is tuple:
        return f"a list, each entry {_in_words(get_args(kind)[0])}"
    return PLAIN[kind][1] if kind in PLAIN else str(kind)
