"""Values show themselves in a few lines, whatever they hold."""

from dataclasses import dataclass, fields, is_dataclass

import numpy as np

from robotid_sim.representation import LINES, WIDTH, public_value


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
