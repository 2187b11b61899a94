"""Tables in a terminal: whatever the width, no name and no number is broken."""

import pytest

from robotid_sim.cli import output
from robotid_sim.section import Table

NAMES = ("figure-eight-fast", "payload+sinusoidal", "adaptive-sliding-mode", "mrad")
MODELS = ("true", "nominal", "identified", "published:table-3-pso", "published:table-3-de")


def test_a_table_too_wide_for_the_console_keeps_names_and_numbers_whole(capsys) -> None:
    columns = ["task", "scenario", "controller", "unit", *MODELS]
    row = (*NAMES, *["0.001234"] * len(MODELS))
    output.print_table(Table(tuple(columns), (row,), text_columns=4))
    head, row = capsys.readouterr().out.splitlines()
    assert len(row) > output.WIDTH
    assert head.split() == columns
    assert row.split() == [*NAMES, *["0.001234"] * len(MODELS)]


def test_a_long_text_wraps_between_words_beside_a_name(capsys) -> None:
    output.print_table(
        Table(("name", "summary"), (("sliding-mode", "word " * 60),), text_columns=2)
    )
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= output.WIDTH
    assert lines[1].startswith("sliding-mode  word word")
    assert " ".join(lines[1:]).split().count("word") == 60


@pytest.mark.parametrize("cell", ["0.7862 mrad", "99.9 %"])
def test_a_number_stays_with_its_unit(capsys, cell) -> None:
    output.print_table(Table(("joint", *["long heading of it"] * 12), (("a", *[cell] * 12),)))
    assert capsys.readouterr().out.splitlines()[-1].count(cell) == 12


def test_checks_are_marked(capsys) -> None:
    table = Table(("check", "value"), (("fast", "1"), ("right", "0")), marks=(True, False))
    output.print_table(table)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[1:]] == [["ok", "fast", "1"], ["FAIL", "right", "0"]]
