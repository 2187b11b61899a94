"""Documentation of fields reaches ``help``, at no cost before; examples print what they say."""

import ast
import dataclasses
import doctest
import inspect
import pickle
import pydoc
import subprocess
import sys
import textwrap
from abc import ABC
from collections.abc import Callable
from functools import cache, cached_property
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import cloudpickle
import pytest
from numpydoc.docscrape import NumpyDocString

import robotid_sim
from robotid_sim import parts
from robotid_sim.docstrings import add_attributes, attributes_of, document_attributes
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.config_tables import DesignConfig
from robotid_sim.preprocess import PREPROCESSORS
from robotid_sim.registry import Registry

EXPORTED = {name: getattr(robotid_sim, name) for name in robotid_sim.__all__}
CLASSES = [c for c in EXPORTED.values() if isinstance(c, type) and dataclasses.is_dataclass(c)]
REGISTRIES = [r for name, r in EXPORTED.items() if name.isupper()]
ENTRIES = list(dict.fromkeys(c for registry in REGISTRIES for c in registry.values()))
SECTIONS = [
    kind.annotation for name, kind in StudyConfig.model_fields.items()
    if hasattr(kind.annotation, "model_fields")
]  # fmt: skip


def help_of(cls: type) -> str:
    """Return what ``help`` prints, without its bars and line breaks."""
    text = pydoc.plain(pydoc.render_doc(cls, renderer=pydoc.plaintext))
    return " ".join(text.replace("\n |", "\n").split())


@cache
def own_field_texts(cls: type) -> dict[str, str]:
    """Return the texts below the fields of a class, read by an other way than the package's."""
    try:
        source = textwrap.dedent(inspect.getsource(cls))
    except (OSError, TypeError):
        return {}
    body = ast.parse(source).body[0].body
    return {
        field.target.id: " ".join(text.value.value.split())
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(text, ast.Expr)
        and not field.target.id.startswith("_")
        and "ClassVar" not in ast.unparse(field.annotation)
    }


@pytest.mark.parametrize(
    "cls", [*CLASSES, *ENTRIES, StudyConfig, *SECTIONS], ids=lambda c: c.__name__
)
def test_help_has_every_documented_field(cls: type) -> None:
    shown = help_of(cls)
    documentation = " ".join(inspect.getdoc(cls).split())
    parts = [c for c in cls.__mro__ if c.__module__.startswith("robotid_sim")]
    for part in parts:
        for name, text in own_field_texts(part).items():
            if part is cls or name not in own_field_texts(cls):
                assert f" {name} : " in documentation, name
            if part is cls:
                assert text in documentation, name
                assert text in shown, name


def test_log_shows_types_as_the_source_has_them() -> None:
    lines = inspect.getdoc(robotid_sim.Log).splitlines()
    at = lines.index("q : Float2D")
    assert lines[at + 1] == "    Measured position [rad or m], shape (N, n)."
    assert lines[lines.index("Attributes") + 1] == "----------"
    assert "torque_constant : Float1D | None" in lines


def test_configuration_shows_its_keys() -> None:
    keys = inspect.getdoc(StudyConfig)
    assert "seed : int\n    Seed of all randomness.\nplugins : tuple[str, ...]\n" in keys
    assert "prior : tuple[Path, ...]\n    Existing trajectories or logs" in inspect.getdoc(
        DesignConfig
    )


@document_attributes
@dataclasses.dataclass(frozen=True, slots=True)
class Base:
    """A base.

    Notes
    -----
    What is noted.
    """

    a: "int"
    """First."""
    b: float = 0.0
    """Second
    of two."""
    _hidden: int = 0
    """Not shown."""

    @property
    def c(self) -> "str | None":
        """Third.

        In more words.
        """
        return None


@document_attributes
@dataclasses.dataclass(frozen=True)
class Derived(Base, ABC):
    """A derived class."""

    b: int = 1
    d: int = 2
    """Fourth."""

    @cached_property
    def e(self) -> int:
        """Fifth."""
        return 0


def test_attributes_stand_before_the_notes() -> None:
    assert inspect.getdoc(Base) == (
        "A base.\n\nAttributes\n----------\na : int\n    First.\nb : float\n    Second\n    of two."
        "\nc : str | None\n    Third.\n\nNotes\n-----\nWhat is noted."
    )
    assert Base(1).__doc__ == Base.__doc__


def test_inherited_fields_and_properties_are_there() -> None:
    assert attributes_of(Derived) == {
        "a": ("int", "First."),
        "b": ("int", "Second\nof two."),
        "c": ("str | None", "Third."),
        "d": ("int", "Fourth."),
        "e": ("int", "Fifth."),
    }
    assert "d : int Fourth. e : int Fifth." in help_of(Derived)  # its metaclass has a docstring


def test_section_that_exists_is_left_as_it_is() -> None:
    text = "Words.\n\nAttributes\n----------\na : int"
    assert add_attributes(text, {"b": ("int", "Other.")}) == text


def test_class_without_source_keeps_its_docstring() -> None:
    scope = {
        "documented": document_attributes,
        "dataclass": dataclasses.dataclass,
        "__name__": "nowhere",
    }
    exec(
        '@documented\n@dataclass\nclass Typed:\n    """Typed in."""\n    a: int\n    """A."""',
        scope,
    )
    assert inspect.getdoc(scope["Typed"]) == "Typed in."


def test_values_and_classes_are_pickled() -> None:
    assert pickle.loads(pickle.dumps(Base(1))) == Base(1)
    scope = {
        "documented": document_attributes,
        "dataclass": dataclasses.dataclass,
        "__name__": "__main__",
    }
    exec('@documented\n@dataclass\nclass Typed:\n    """Typed in."""\n    a: int', scope)
    typed = pickle.loads(cloudpickle.dumps(scope["Typed"]))
    assert (typed(3).a, typed.__doc__) == (3, "Typed in.")


def test_summaries_read_no_source(monkeypatch) -> None:
    def refuse(_: type) -> str:
        raise AssertionError("a summary needs no source")

    monkeypatch.setattr(inspect, "getsource", refuse)
    assert all(entry["summary"] for entry in PREPROCESSORS.describe())


IMPORT_ALL = """
import importlib, inspect, pkgutil, sys
import robotid_sim, robotid_sim.docstrings
class Refused:
    def __getattr__(self, name):
        raise AssertionError(f"{name} at import")
real = robotid_sim.docstrings.ast
robotid_sim.docstrings.ast = Refused()
for module in pkgutil.walk_packages(robotid_sim.__path__, "robotid_sim."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
robotid_sim.docstrings.ast = real
text = inspect.getdoc(robotid_sim.Log) or ""
print("Attributes" in text, "Measured position" in text)
"""


@pytest.mark.slow
@pytest.mark.pybullet
@pytest.mark.parametrize(("flags", "shown"), [((), "True True"), (("-OO",), "True True")])
def test_import_parses_nothing(flags, shown) -> None:
    """With -OO docstrings are gone; the source still has the texts of the fields."""
    done = subprocess.run(
        [sys.executable, *flags, "-W", "ignore", "-c", IMPORT_ALL],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == shown


PUBLIC = [
    part for part in (*EXPORTED.values(), *vars(parts).values(), Registry) if inspect.isclass(part)
]
PARTS = [part for part in dict.fromkeys(PUBLIC) if part.__module__.startswith("robotid_sim")]
"""Classes that users have, or derive parts of their own from."""


def incomplete(function: Callable[..., object]) -> list[str]:
    """Return the parameters and sections that a function of several arguments does not have."""
    signature = inspect.signature(function)
    arguments = {*signature.parameters} - {"self", "cls"}
    if len(arguments) < 2:
        return []
    text = NumpyDocString(inspect.getdoc(function))
    named = [name.strip(" *") for part in text["Parameters"] for name in part.name.split(",")]
    lacks = sorted(arguments - {*named})
    if signature.return_annotation not in (None, "None") and not text["Returns"] + text["Yields"]:
        lacks.append("Returns")
    nodes = ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function))))
    raises = any(isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) for node in nodes)
    if raises and not text["Raises"]:
        lacks.append("Raises")
    return lacks


def incomplete_in(part: object) -> dict[str, list[str]]:
    """Return what a function lacks, or the public methods of a class where they come first."""
    functions = {"": inspect.unwrap(part)}
    if isinstance(part, type):
        functions = {}
        for name in vars(part):
            first = [base for base in part.__mro__ if name in vars(base)][-1]
            if not name.startswith("_") and first.__module__.startswith("robotid_sim"):
                method = vars(first)[name]
                function = inspect.unwrap(getattr(method, "__func__", method))
                functions[f"{first.__name__}.{name}"] = function
    lacks = {n: incomplete(f) for n, f in functions.items() if inspect.isfunction(f)}
    return {name: missing for name, missing in lacks.items() if missing}


def test_public_functions_and_methods_say_what_they_take_and_give() -> None:
    functions = [each for each in EXPORTED.values() if inspect.isfunction(each)]
    lacks = {each.__name__: incomplete_in(each) for each in (*functions, *PARTS)}
    assert {name: missing for name, missing in lacks.items() if missing} == {}


PACKAGE = Path(robotid_sim.__file__).parent
MODULES = sorted(
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    for path in PACKAGE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


def examples_of(module: str) -> list[doctest.DocTest]:
    found = doctest.DocTestFinder().find(import_module(module))
    return [test for test in found if test.examples]


def test_the_names_that_are_used_most_have_one():
    documented = {
        test.name.rpartition(".")[2] for module in MODULES for test in examples_of(module)
    }
    assert len(documented & set(robotid_sim.__all__)) >= 40


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_examples(module):
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE, verbose=False)
    for test in examples_of(module):
        runner.run(test)
    assert runner.tries
    assert not runner.failures
