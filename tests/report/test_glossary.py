"""Terms on pages: each is explained once on a part of the page, and nothing else is touched."""

import pytest
from lxml import html

from robotid_sim.report.page import COLUMNS, TERMS, meaning, prose


def abbreviations(markup: str) -> list[str]:
    return [element.text for element in html.fromstring(f"<p>{markup}</p>").cssselect("abbr")]


def test_a_term_is_explained_once_on_a_part_of_a_page() -> None:
    told: set[str] = set()
    first = prose("NEES of WLS, and NEES again: 3 base parameters", told)
    assert abbreviations(first) == ["NEES", "WLS", "base parameters"]
    assert abbreviations(prose("A base parameter and the RMS", told)) == ["RMS"]
    assert abbreviations(prose("NEES")) == ["NEES"]


@pytest.mark.parametrize(
    "text", ["steps of epsilon", "kalman-rms", "`RMS` and `eps`", "a regressor_2", "non-RMS"]
)
def test_parts_of_other_words_and_code_are_no_terms(text) -> None:
    assert abbreviations(prose(text)) == []
    assert html.fromstring(f"<p>{prose(text)}</p>").text_content() == text.replace("`", "")


def test_a_text_stays_what_it_was() -> None:
    text = "A <b>base parameter</b> & the RMS of 'a' < \"b\""
    assert html.fromstring(f"<p>{prose(text)}</p>").text_content() == text


def test_columns_have_the_meaning_of_their_name_or_of_a_term_in_it() -> None:
    assert meaning("std") == COLUMNS["std"]
    assert meaning("of RMS torque") == TERMS["RMS"]
    assert meaning("joint") == ""
