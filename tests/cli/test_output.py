"""Tables in a terminal: whatever the width, no name and no number is broken."""

import pytest

from robotid_sim.cli import output
from robotid_sim.table import Table

NAMES = ("figure-eight-fast", "payload+sinusoidal", "adaptive-sliding-mode", "mrad")
MODELS = ("true", "nominal", "identified", "published:table-3-pso", "published:table-3-de")


@pytest.fixture(autouse=True, params=[60, 80])
def width(request, monkeypatch):
    """Return the width of the console."""
    monkeypatch.setenv("COLUMNS", str(request.param))
    return request.param


def test_columns_without_room_follow_below_the_names(capsys, width) -> None:
    numbers = [f"{k}.12345678" for k in range(9)]
    columns = ("joint", "unit", *[f"c{k}" for k in range(9)])
    row = ("lbr_iiwa_joint_1", "rad", *numbers)
    output.print_table(Table(columns, (row,), text_columns=2))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    rows = [line for line in lines if line.startswith("lbr_iiwa_joint_1  rad")]
    assert len(rows) > 1
    assert [cell for line in rows for cell in line.split()[2:]] == numbers


def test_names_give_way_where_no_number_would_fit_beside_them(capsys, width) -> None:
    columns = ("task", "scenario", "controller", "unit", *MODELS)
    row = (*(name * 2 for name in NAMES), *["0.001234"] * len(MODELS))
    output.print_table(Table(columns, (row,), text_columns=4))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert " ".join(lines).count("0.001234") == len(MODELS)


def test_a_long_text_wraps_between_words_beside_a_name(capsys, width) -> None:
    output.print_table(
        Table(("name", "summary"), (("sliding-mode", "word " * 60),), text_columns=2)
    )
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert lines[1].startswith("sliding-mode  word word")
    assert " ".join(lines[1:]).split().count("word") == 60


@pytest.mark.parametrize("cell", ["0.7862 mrad", "99.9 %"])
def test_a_number_stays_with_its_unit(capsys, cell) -> None:
    output.print_table(Table(("joint", *["long heading of it"] * 12), (("a", *[cell] * 12),)))
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.count(cell) for line in lines) == 12


@pytest.mark.parametrize("quantity", ["+0.889 N m", "2.27 kg", "7.8 %", "0.03 rad/s"])
@pytest.mark.parametrize("before", range(30))
def test_a_wrapped_text_keeps_numbers_with_units_and_hangs(capsys, quantity, before) -> None:
    output.print_line(f"2. {'x' * before} {'word ' * 15}an offset of {quantity}.")
    first, *others = capsys.readouterr().out.splitlines()
    assert sum(line.count(quantity) for line in (first, *others)) == 1
    assert first.startswith("2. ")
    assert all(line.startswith("   ") and line[3] != " " for line in others)


def test_checks_are_marked(capsys) -> None:
    table = Table(("check", "value"), (("fast", "1"), ("right", "0")), marks=(True, False))
    output.print_table(table)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[1:]] == [["ok", "fast", "1"], ["FAIL", "right", "0"]]
