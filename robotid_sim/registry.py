"""Typed registries: they convert a name in a file or on the command line to an object."""

import dataclasses
import re
from abc import ABCMeta
from collections.abc import Callable, Iterator, Mapping
from numbers import Integral, Real
from pkgutil import resolve_name as resolve
from types import NoneType, UnionType
from typing import (
    Any,
    Generic,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from robotid_sim.docstrings import field_texts, source_of, summary_of
from robotid_sim.errors import OptionError, PluginError, UnknownNameError, suggestion
from robotid_sim.renamed import upgrade_methods

T = TypeVar("T")

KEBAB_CASE_PATTERN = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")

INTERNAL_FIELD: Mapping[str, Any] = {"internal": True}
"""Metadata key of a field that is not an option but a result of the object."""

PLAIN_KINDS: Mapping[Any, tuple[type, str]] = {
    bool: (bool, "true or false"),
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
    str: (str, "a text"),
}
"""Kinds of options that are checked here, with a description of their values."""


class Alias(NamedTuple):
    """Entry and options of an alternative name."""

    entry: str
    options: Mapping[str, Any]


class Registry(Mapping[str, type[T]], Generic[T]):
    """Mapping from kebab-case names to the dataclasses of one family; users may add classes.

    Classes are given as ``package.module:Class`` and imported at first use, so that a command loads
    only the classes that it needs.

    Parameters
    ----------
    noun : str
        Noun for an entry, in the singular; used in messages.
    base : type or str
        The abstract base class of all entries, or its location.
    entries : mapping of str to str
        Locations of the classes; each is a dataclass whose fields are its options.
    alias : callable, optional
        Returns the entry and the options of an alternative name, or None.
    """

    def __init__(
        self,
        noun: str,
        base: ABCMeta | str,
        entries: Mapping[str, str],
        alias: Callable[[str], Alias | None] | None = None,
    ) -> None:
        self.noun = noun
        self._base = base
        self._alias = alias or (lambda _: None)
        self._entries: dict[str, str | type[T]] = dict(sorted(entries.items()))
        self._origins: dict[str, str] = {}

    @property
    def base(self) -> ABCMeta:
        """Abstract base class of all entries."""
        base: ABCMeta = self._base if isinstance(self._base, ABCMeta) else resolve(self._base)
        self._base = base
        return base

    def __repr__(self) -> str:
        return f"<registry of {self.noun}s: {', '.join(self)}>"

    @overload
    def register(self, name: str, cls: type[T]) -> type[T]: ...
    @overload
    def register(self, name: str) -> Callable[[type[T]], type[T]]: ...
    def register(
        self, name: str, cls: type[T] | None = None
    ) -> type[T] | Callable[[type[T]], type[T]]:
        """Add a class; also usable as a decorator, ``@SENSORS.register("mine")``.

        Parameters
        ----------
        name : str
            Name in TOML and on the command line, in kebab-case.
        cls : type, optional
            A dataclass that fulfills the contract of the family, see `robotid_sim.testing`.

        Raises
        ------
        PluginError
            If the name is not in kebab-case or is taken, or the class violates the contract.
        """
        if cls is None:
            return lambda decorated: self.register(name, decorated)
        part = f"{self.noun} '{name}'"
        if not KEBAB_CASE_PATTERN.fullmatch(name):
            raise PluginError(f"{part}: a name is lower-case words joined by '-'")
        if name in self:
            raise PluginError(f"{part} would shadow an existing {self.noun}; choose another name")
        if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
            raise PluginError(f"{part} is not a dataclass; its fields are its options")
        upgrade_methods(cls)
        missing = sorted(m for m in self.base.__abstractmethods__ if not _has_member(cls, m))
        if missing or not issubclass(cls, self.base):
            reason = (
                f"it does not have {', '.join(missing)}"
                if missing
                else "it does not derive from this class"
            )
            raise PluginError(f"{part} must be a {self.base.__name__}: {reason}")
        self._entries = dict(sorted({**self._entries, name: cls}.items()))
        if not cls.__module__.startswith(f"{__package__}."):
            self._origins[name] = cls.__module__
        return cls

    def __getitem__(self, name: str) -> type[T]:
        name, _ = self._find_entry(name)
        entry = self._entries[name]
        if isinstance(entry, str):
            cls: type[T] = resolve(entry)
            self._entries[name] = entry = cls
        return entry

    def _find_entry(self, name: str) -> Alias:
        """Find the entry and the options of a name."""
        preset = Alias(name, {}) if name in self._entries else self._alias(name)
        if preset is None:
            raise UnknownNameError.from_names(self.noun, name, self._entries)
        return preset

    def __contains__(self, name: object) -> bool:
        return name in self._entries or (isinstance(name, str) and self._alias(name) is not None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def build(self, name: str, /, **options: Any) -> T:
        """Make an object by name; raise if its class has no field for an option.

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
            If an option does not belong to the class, or its value is invalid.
        """
        cls, (_, preset) = self[name], self._find_entry(name)
        kinds = _options(cls)
        settable = [option for option, kind in kinds.items() if not _is_object(kind)]
        for option, value in options.items():
            if option not in settable and (option not in kinds or _is_misfit(value, kinds[option])):
                allowed = ", ".join(settable) or "none"
                raise OptionError(
                    f"{self.noun} '{name}' has no option '{option}'"
                    f"{suggestion(option, settable)}; options: {allowed}"
                )
        try:
            entry, reason = cls(**{**preset, **options}), None
        except TypeError as error:
            entry, reason = None, error
        # Types are checked after the class itself, whose messages are better.
        for option, value in options.items():
            if _is_misfit(value, kinds[option]):
                raise OptionError(
                    f"{self.noun} '{name}': option '{option}' must be "
                    f"{_describe_kind(kinds[option])}, "
                    f"got {value!r}"
                ) from reason
        if entry is None:
            raise OptionError(f"{self.noun} '{name}': {reason}") from reason
        return entry

    def name_of(self, value: T) -> str:
        """Return the registered name of an object's class, or its class name in kebab-case."""
        cls = type(value)
        place = f"{cls.__module__}:{cls.__qualname__}"
        for name, entry in self._entries.items():
            if entry is cls or entry == place:
                return name
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", type(value).__name__).lower()

    def options(self, name: str) -> list[dict[str, str]]:
        """Return name, default and meaning of every option of an entry, for `robotid list`.

        A required option has ``required`` as default.
        """
        cls: Any = self[name]  # a dataclass by contract
        _, preset = self._find_entry(name)
        texts, fields = field_texts(cls), {field.name: field for field in dataclasses.fields(cls)}
        return [
            {
                "name": option,
                "default": _text_of(preset.get(option, _default_of(fields[option]))),
                "meaning": texts.get(option, ""),
            }
            for option, kind in _options(cls).items()
            if not _is_object(kind)
        ]

    def describe(self) -> list[dict[str, str]]:
        """Return name, first docstring line and source of every entry, for `robotid list`.

        The source of an entry registered by a user names its module.
        """
        return [
            {"name": name, "summary": summary_of(cls), "source": self._source(name, cls)}
            for name, cls in self.items()
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
    """Return the fields of a class that are options, with their kinds."""
    kinds = get_type_hints(cls)
    # Entries are dataclasses by contract, which a type cannot express.
    options = (f for f in dataclasses.fields(cls) if f.init and f.metadata != INTERNAL_FIELD)
    return {field.name: kinds[field.name] for field in options}


def _default_of(field: "dataclasses.Field[Any]") -> object:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def _text_of(value: object) -> str:
    """Return the default of an option as in a configuration."""
    if value is dataclasses.MISSING:
        return "required"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(str, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value in (None, "") else str(value)


def _is_object(kind: Any) -> bool:
    """Return whether values of a kind are objects, which a configuration cannot contain."""
    parts = set(get_args(kind) or (kind,)) - {NoneType}
    return all(
        isinstance(part, type) and part not in PLAIN_KINDS and part is not Any for part in parts
    )


def _is_misfit(value: object, kind: Any) -> bool:
    """Return whether a value is not of a kind; only plain kinds are checked here."""
    if get_origin(kind) in (Union, UnionType):
        return all(_is_misfit(value, part) for part in get_args(kind))
    if get_origin(kind) is tuple:
        return isinstance(value, str | Real) or (
            isinstance(value, list | tuple) and any(_is_misfit(v, get_args(kind)[0]) for v in value)
        )
    if kind is NoneType:
        return value is not None
    if _is_object(kind):
        return not isinstance(value, kind)
    if kind not in PLAIN_KINDS:
        return False
    if isinstance(value, bool):
        return kind is not bool
    # NaN would be accepted as a float and then propagate.
    return not isinstance(value, PLAIN_KINDS[kind][0]) or value != value


def _describe_kind(kind: Any) -> str:
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(_describe_kind(part) for part in get_args(kind) if part is not NoneType)
    if get_origin(kind) is tuple:
        return f"a list, each entry {_describe_kind(get_args(kind)[0])}"
    return PLAIN_KINDS[kind][1] if kind in PLAIN_KINDS else str(kind)
