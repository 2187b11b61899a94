"""Values show themselves in a few lines, whatever they hold; arrays are read-only."""

from dataclasses import dataclass, fields, is_dataclass

import numpy as np
import pytest
from lxml import html

from robotid_sim.arrays import readonly
from robotid_sim.representation import LINES, MAX_ROWS, WIDTH, public_value

LARGEST = 5e4
"""Most characters that a value puts into a notebook."""


def everything(value, seen: dict) -> dict:
    """Return one value of every dataclass within a value, by its class."""
    if is_dataclass(value) and not isinstance(value, type) and type(value) not in seen:
        seen[type(value)] = value
        for field in fields(value):
            everything(getattr(value, field.name), seen)
    elif isinstance(value, tuple | list):
        for item in value[:3]:
            everything(item, seen)
    return seen


def test_every_value_of_a_study_is_short(quick_study) -> None:
    seen = everything(quick_study[0], {})
    assert len(seen) > 40
    for kind, value in seen.items():
        lines = repr(value).splitlines()
        assert len(lines) <= LINES, kind
        assert len(lines) == 1 or max(map(len, lines)) <= WIDTH, kind
        assert len(repr(value)) < 500, kind
        assert lines[0].startswith(f"{kind.__name__}("), kind


def test_a_robot_names_its_links_and_a_log_its_shape(quick_study) -> None:
    study = quick_study[0]
    assert "name='irb140'" in repr(study.plant)
    assert "links=6 x Link" in repr(study.plant)
    assert f"q=array of shape {study.log.q.shape}" in repr(study.log)


@public_value
@dataclass(frozen=True, eq=False)
class Value:
    """A value."""

    x: float
    few: np.ndarray
    name: str | None = None
    parts: tuple = ()


def test_what_fits_a_line_is_on_one_and_none_is_left_out() -> None:
    assert repr(Value(1.0 / 3.0, np.ones(2))) == "Value(x=0.333333, few=[1.0, 1.0], parts=())"


def test_long_texts_and_many_parts_are_cut() -> None:
    text = repr(Value(1.0, np.zeros((5, 5)), "n" * 100, tuple(range(40))))
    assert text.splitlines()[1:] == [
        "    x=1,",
        "    few=array of shape (5, 5),",
        "    name='" + "n" * 58 + "…,",
        "    parts=40 x int,",
        ")",
    ]


@public_value
@dataclass(frozen=True, eq=False)
class Named:
    """A value with what belongs together."""

    names: tuple[str, ...]
    """What they are called, `in order`."""
    x: np.ndarray
    values: tuple[Value, ...] = ()
    other: np.ndarray | None = None


def test_a_notebook_shows_fields_with_their_meaning_and_tables() -> None:
    parts = (Value(0.5, np.ones(3)), Value(1.5, np.ones(3), "b"))
    named = Named(("<b>one", "two", "three"), np.array([1.0, 2.0, 3.0]), parts)
    tree = html.fromstring(named._repr_html_())
    assert tree.cssselect("strong")[0].text == "Named"
    fields, columns, several = tree.cssselect("table")
    assert [r.text_content() for r in fields.cssselect("tr")][1:3] == [
        "names('<b>one', 'two', 'three')What they are called, in order.",
        "x[1.0, 2.0, 3.0]",
    ]
    assert tree.cssselect("summary")[0].text == "3 names"
    assert [r.text_content() for r in columns.cssselect("tbody tr")] == [
        "<b>one1",
        "two2",
        "three3",
    ]
    assert tree.cssselect("summary")[1].text == "2 values"
    assert [r.text_content() for r in several.cssselect("tbody tr")] == ["0.5None", "1.5b"]
    assert not tree.cssselect("b")


def test_long_tables_end_in_a_notebook() -> None:
    names = tuple(map(str, range(MAX_ROWS + 7)))
    tree = html.fromstring(Named(names, np.zeros(len(names)))._repr_html_())
    rows = tree.cssselect("details tbody tr")
    assert len(rows) == MAX_ROWS + 1
    assert rows[-1].text_content() == "and 7 more"


def test_a_study_and_its_parts_show_themselves_in_notebooks(quick_study) -> None:
    study = quick_study[0]
    design = study.designs.designs[0]
    for value in (study, study.log, study.plant, study.fit.chosen, design, study.loop):
        tree = html.fromstring(value._repr_html_())
        assert tree.cssselect("strong")[0].text == type(value).__name__
        assert len(value._repr_html_()) < LARGEST
    tables = html.fromstring(study.fit.chosen._repr_html_()).cssselect("details")
    assert [t.cssselect("summary")[0].text for t in tables] == ["52 names", "6 joint_names"]
    heads = [th.text for th in tables[0].cssselect("th")]
    assert heads[:3] == ["names", "beta", "units"]
    assert "std" in heads


def frozen(x):
    x.setflags(write=False)
    return x


def test_only_an_array_that_nobody_else_can_change_is_taken_as_it_is():
    mine = frozen(np.ones((3, 2)))
    assert readonly(mine, shape=(3, 2), name="x") is mine


@pytest.mark.parametrize(
    "theirs",
    [
        np.ones((3, 2)),
        frozen(np.ones((6, 2))[::2]),
        frozen(np.ones((2, 3)).T),
        frozen(np.ones((3, 2), order="F")),
        frozen(np.ones((3, 2), dtype=int)),
        np.broadcast_to(np.ones(2), (3, 2)),
        [[1.0, 1.0]] * 3,
    ],
)
def test_all_else_is_copied(theirs):
    array = readonly(theirs, shape=(3, 2), name="x")
    assert not np.shares_memory(array, np.asarray(theirs))
    assert array.flags.owndata
    assert array.flags.c_contiguous
    assert not array.flags.writeable
