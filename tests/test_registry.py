"""The registry: from names to objects, with messages that name what there is."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import pytest

from robotid_sim.docstrings import source_of, summary_of
from robotid_sim.errors import OptionError, PluginError, RobotIdError, UnknownNameError
from robotid_sim.measurement import SENSORS
from robotid_sim.registry import Registry


class Shape(ABC):  # noqa: B024 - a family whose members need nothing
    """Anything with an area."""


@dataclass(frozen=True, kw_only=True)
class Square(Shape):
    """A square.

    More text.

    References
    ----------
    .. [1] Euclid (300 BC), "Elements",
       book 1.
    .. [2] Someone else.
    """

    side: float = 1.0
    area: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        if self.side <= 0.0:
            raise OptionError(f"side is {self.side}; give a positive length")


@dataclass(frozen=True)
class Disc(Shape):
    """A disc."""

    radius: float


class Marked(Shape):
    r"""Laws of [1]_: :math:`F^\pm = (1 \pm \mu) \dot q`, see `Disc` and ``pi``."""


SHAPES: Registry[Shape] = Registry("shape", Shape, {"square": Square, "disc": Disc})


def test_registry_is_a_sorted_read_only_mapping() -> None:
    assert list(SHAPES) == ["disc", "square"]
    assert len(SHAPES) == 2
    assert SHAPES["square"] is Square
    assert "square" in SHAPES
    assert "triangle" not in SHAPES
    with pytest.raises(TypeError):
        SHAPES["triangle"] = Disc


@pytest.mark.parametrize("look_up", [SHAPES.__getitem__, SHAPES.build])
def test_unknown_name_lists_the_known_ones(look_up) -> None:
    with pytest.raises(UnknownNameError) as caught:
        look_up("squar")
    assert (
        str(caught.value) == "unknown shape 'squar' (did you mean 'square'?); known: disc, square"
    )
    assert isinstance(caught.value, LookupError)


def test_build_passes_options_and_keeps_defaults() -> None:
    assert SHAPES.build("square") == Square(side=1.0)
    assert SHAPES.build("square", side=2.0) == Square(side=2.0)


@pytest.mark.parametrize(("option", "hint"), [("sides", " (did you mean 'side'?)"), ("area", "")])
def test_unknown_option_lists_the_known_ones(option: str, hint: str) -> None:
    with pytest.raises(OptionError) as caught:
        SHAPES.build("square", **{option: 4})
    assert str(caught.value) == f"shape 'square' has no option '{option}'{hint}; options: side"


def test_missing_option_and_refused_value_are_option_errors() -> None:
    with pytest.raises(OptionError, match=r"shape 'disc': .*radius"):
        SHAPES.build("disc")
    with pytest.raises(OptionError, match="side is -1"):
        SHAPES.build("square", side=-1)


def test_describe_gives_name_summary_and_first_source() -> None:
    assert SHAPES.describe() == [
        {"name": "disc", "summary": "A disc.", "source": ""},
        {
            "name": "square",
            "summary": "A square.",
            "source": 'Euclid (300 BC), "Elements", book 1.',
        },
    ]
    assert summary_of(Square) == "A square."
    assert summary_of(Marked) == "Laws of the source: F^+- = (1 +- mu) dq, see Disc and pi."
    assert source_of(Disc) == ""


def test_all_errors_have_one_root_and_a_builtin() -> None:
    import robotid_sim.errors as errors

    kinds = [k for k in vars(errors).values() if getattr(k, "__module__", "") == errors.__name__]
    kinds = [k for k in kinds if isinstance(k, type) and k is not RobotIdError]
    assert len(kinds) > 8
    for kind in kinds:
        assert issubclass(kind, RobotIdError)
        assert len([base for base in kind.__bases__ if base is not RobotIdError]) == 1


class Solid(ABC):
    """Anything with a volume."""

    @abstractmethod
    def volume(self):
        """Return it."""


@dataclass
class Cube(Solid):
    """A cube."""

    side: float = 1.0

    def volume(self):
        return self.side**3


def test_a_class_of_the_users_own_is_registered_by_function_and_by_decorator() -> None:
    solids: Registry[Solid] = Registry("solid", Solid, {})
    assert solids.register("cube", Cube) is Cube
    assert solids.register("other-cube")(Cube) is Cube
    assert list(solids) == ["cube", "other-cube"]
    assert solids.build("cube", side=2.0).volume() == 8.0
    assert solids.describe()[0]["source"] == f"plugin {__name__}"


@pytest.mark.parametrize(
    ("name", "cls", "words"),
    [
        ("Cube", Cube, "lower-case words"),
        ("cube", Cube, "would shadow"),
        ("ball", Square, "must be a Solid: it does not have volume"),
        ("ball", Shape, "is not a dataclass"),
        ("ball", Disc(1.0), "is not a dataclass"),
    ],
)
def test_what_cannot_be_registered_is_refused_by_name(name, cls, words) -> None:
    solids: Registry[Solid] = Registry("solid", Solid, {"cube": Cube})
    with pytest.raises(PluginError, match=words):
        solids.register(name, cls)
    assert list(solids) == ["cube"]


def test_an_unregistered_object_is_named_by_its_class() -> None:
    assert SHAPES.name_of(Square()) == "square"
    assert Registry("solid", Solid, {}).name_of(Cube()) == "cube"


def test_a_registry_shows_what_it_holds() -> None:
    assert repr(SENSORS).startswith("<registry of sensors: dropped-samples, encoder-colored-noise")
