"""`robotid list`: kinds, items, and what there is to say of an item."""

import re

import pytest
from sampling import sampled

from robotid_sim.part_kinds import PART_KINDS


@pytest.fixture(autouse=True)
def width(monkeypatch):
    """Return the width of the terminal."""
    monkeypatch.setenv("COLUMNS", "80")
    return 80


def test_the_kinds_have_one_line_each(robotid) -> None:
    lines = robotid("list").out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(PART_KINDS)
    assert robotid("list", "--json").content[0]["name"] == "robots"


@pytest.mark.parametrize("kind", PART_KINDS)
def test_the_items_of_a_kind_fit_the_terminal(robotid, ran, kind, width) -> None:
    done = ran("list", kind)
    assert max(map(len, done.out.splitlines())) <= width
    rows = robotid("list", kind, "--json").content
    assert rows
    assert rows == PART_KINDS[kind].rows()
    for row in rows:
        assert set(row) == {"name", "summary", "source"}
        assert row["name"] in done.out
        assert row["summary"]
        assert not re.search(r"[`\\]|\]_|:\w+:", row["summary"]), row  # plain text


@pytest.mark.parametrize("kind", sampled(PART_KINDS, "robots", "sensors", mark=pytest.mark.slow))
def test_an_item_is_described_with_default_and_meaning_of_every_option(
    robotid, ran, kind, width
) -> None:
    for name in (row["name"] for row in PART_KINDS[kind].rows()):
        done = ran("list", kind, name)
        assert done.out.startswith(f"{name}: ")
        assert max(map(len, done.out.splitlines())) <= width
        content = robotid("list", kind, name, "--json").content
        assert name in content["use"]
        for option in content.get("options", []):
            assert option["default"], option
            assert option["meaning"], option


def test_options_have_their_defaults_and_units(robotid) -> None:
    (rounds, block) = robotid("list", "estimators", "wls", "--json").content["options"]
    assert (rounds["name"], rounds["default"]) == ("rounds", "5")
    assert (block["name"], block["default"]) == ("block", "none")
    assert block["meaning"] == (
        "Length of the blocks of the covariance [s]; None: by the correlation of the residuals."
    )


def test_a_field_without_text_shares_that_of_the_next(robotid) -> None:
    options = robotid("list", "sensors", "encoder-noise", "--json").content["options"]
    first, second = (option["meaning"] for option in options)
    assert first == second != ""


@pytest.mark.parametrize("kind", PART_KINDS)
def test_no_sentence_is_long(kind) -> None:
    texts = [row["summary"] for row in PART_KINDS[kind].rows()]
    for name in (row["name"] for row in PART_KINDS[kind].rows()):
        texts += [
            cell for table in PART_KINDS[kind].tables(name) for row in table.rows for cell in row
        ]
    sentences = [sentence for text in texts for sentence in re.split("[.;:] ", text)]
    assert [s for s in sentences if len(s.split()) > 30] == []
