"""Claims: ranges, derived verdicts, bands, files."""

from dataclasses import replace
from itertools import product
from string import Formatter

import pytest

from robotid_sim.chart import Chart
from robotid_sim.errors import FileFormatError, OptionError
from robotid_sim.files import read_json
from robotid_sim.papers import PAPERS
from robotid_sim.papers.claims import (
    OUT_OF_BAND,
    Claim,
    PrintedClaim,
    claim_row,
    judge,
    measured,
    write_claims,
)
from robotid_sim.papers.sheet import ClaimSheet, PrintedElement, read_sheet
from robotid_sim.papers.trial_table import ClaimRange
from robotid_sim.table import Table

ALWAYS = {"any": True, "full": True, "runs": True}


def claim(ours=7.5, interval=None, *, judged: bool = True, facts=None, **changes) -> Claim:
    content = {
        "name": "mean-condition",
        "claim": "The mean condition number is 7.16.",
        "published": 7.16,
        "band": "6.5 to 9.5",
        "reason": "with columns of unit length",
    }
    given = {name: value for name, value in {**content, **changes}.items() if value != ""}
    printed = PrintedClaim(**given)
    return printed.judge(measured(ours, interval, **(facts or {})), judged=judged)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("above 1", (1.1, 1e300), (1.0, 0.9)),
        ("below -2e-3", (-1.0,), (-2e-3, 0.0)),
        ("at least 4", (4, 5), (3.99,)),
        ("at most 4", (4, -5), (4.01,)),
        ("exactly 15", (15, 15.0), (14, 15.01)),
        ("2 to 3", (2.0, 3.0), (1.9, 3.1)),
        ("a number", (0.0, -1e9), ()),
    ],
)
def test_a_range_says_what_lies_in_it(text, inside, outside) -> None:
    part = ClaimRange.parse(text)
    assert all(part.holds(value) for value in inside)
    assert not any(part.holds(value) for value in (*outside, float("nan"), "lost", None))


def test_a_range_may_need_all_of_the_interval() -> None:
    number, whole = (ClaimRange.parse(text) for text in ("above 1", "above 1 with its interval"))
    assert number.holds(1.1, (0.9, 1.3))
    assert not whole.holds(1.1, (0.9, 1.3))
    assert whole.holds(1.1, (1.01, 1.3))
    assert whole.holds(1.1)
    assert not ClaimRange.parse("below 1 with its interval").holds(0.9, (0.8, 1.01))


@pytest.mark.parametrize("text", ["> 1", "above", "1 - 2", "above one", "above 1 with interval"])
def test_what_is_no_range_is_named_with_the_forms(text) -> None:
    with pytest.raises(OptionError, match="is no range; write 'above 1'"):
        ClaimRange.parse(text)


def test_a_verdict_follows_from_the_number_and_the_conditions() -> None:
    assert claim().verdict == "reproduced"
    assert claim(ours=6.0).verdict == "not-reproducible"
    held = claim(conditions=("with unit columns",))
    assert (held.verdict, held.standing_conditions) == ("conditional", ("with unit columns",))
    free = claim(conditions=("with unit columns",), fully="below 8")
    assert free.verdict == "reproduced"
    assert claim(ours=8.5, conditions=("with unit columns",), fully="below 8").verdict == (
        "conditional"
    )
    assert claim(ours=6.0, conditions=("with unit columns",)).verdict == "not-reproducible"


def test_a_rule_may_name_other_facts() -> None:
    rule = {"band": "6.5 to 7.9", "holds": {"behind": "exactly 0", "ours": "below 8"}}
    assert claim(facts={"behind": 0}, **rule).verdict == "reproduced"
    assert claim(facts={"behind": 1}, **rule).verdict == "not-reproducible"
    assert claim(ours=8.5, facts={"behind": 0}, **rule).verdict == "not-reproducible"
    with pytest.raises(OptionError, match="its rule needs 'behind'"):
        claim(**rule)


def test_a_number_that_cannot_be_computed_is_not_reproducible() -> None:
    rule = {"band": "", "expected": "exactly 7", "holds": "a number"}
    assert claim(ours=float("nan"), **rule).verdict == "not-reproducible"
    assert claim(ours=7.0, **rule).verdict == "reproduced"


def test_a_claim_whose_test_needs_what_is_not_printed_has_no_verdict() -> None:
    rule = {"band": "", "missing": "the log"}
    for number in (7.0, "not evaluable"):
        for judged in (True, False):
            untested = claim(ours=number, judged=judged, **rule)
            assert untested.shown_verdict == "not-testable"
            assert (untested.outcome, untested.met_by) == (None, ())
    assert claim_row(untested)["missing"] == "the log"


def test_no_claim_is_reproduced_with_a_missed_band() -> None:
    bands = ("6.5 to 9.5", "2.0 to 8.0", "8.0 to 90.0", "exactly 7.0")
    rules = ("", "above 1", "below 100", "a number", "above 1 with its interval")
    numbers = (float("nan"), -1.0, 1.0, 6.0, 7.0, 7.5, 9.0, 99.0)
    conditions = ((), ("a condition",))
    met = 0
    for band, rule, ours, listed, fully in product(
        bands, rules, numbers, conditions, ({}, "above 1")
    ):
        interval = (ours - 5.0, ours + 5.0)
        tried = claim(ours, interval, band=band, holds=rule, conditions=listed, fully=fully)
        if tried.verdict == "reproduced":
            met += 1
            assert tried.outcome == "met"
            assert tried.standing_conditions == ()
        elif tried.verdict == "conditional" and tried.outcome != "met":
            assert OUT_OF_BAND in tried.standing_conditions
    assert met > 20
    with pytest.raises(TypeError):
        Claim(printed=claim().printed, ours=1, facts={}, verdict="reproduced")
    with pytest.raises((AttributeError, TypeError)):  # a property of a frozen value
        claim().verdict = "reproduced"


def test_a_claim_needs_a_rule_and_a_number_for_its_band() -> None:
    with pytest.raises(OptionError, match="has a band but no number"):
        claim(ours="lost")
    with pytest.raises(ValueError, match="does not say where it holds"):
        claim(band="")
    with pytest.raises(ValueError, match="does not say what is expected; write 'band'"):
        claim(band="", holds="above 1")
    with pytest.raises(ValueError, match="no published value; make it a check"):
        claim(published=None)


def test_a_band_is_met_or_missed_by_a_number() -> None:
    assert claim().within is True
    assert claim(ours=6.0).missed == "0.5 below the expected range"
    assert claim(ours=12.0, unit="mm").missed == "2.5 mm above the expected range"
    assert claim(band="at most 9.5").within is True
    assert claim(band="at least 9.5").within is False
    assert claim(ours=99.0, judged=False).within is None
    assert claim(ours=float("nan")).within is False


def test_a_band_is_undecided_if_only_the_interval_reaches_it() -> None:
    assert claim().outcome == "met"
    assert claim(ours=6.0).outcome == "missed"
    assert claim(ours=6.0, interval=(5.0, 6.4)).outcome == "missed"
    near = claim(ours=6.0, interval=(5.0, 6.6))
    assert near.outcome == "undecided"
    assert near.missed == "undecided: 0.5 below the expected range, which its interval reaches"
    assert claim(ours=6.0, interval=(5.0, 6.6), judged=False).outcome is None
    assert claim(ours=9.0, interval=(4.0, 12.0)).outcome == "met"
    assert claim(ours=10.0, band="at most 9.5", interval=(9.4, 11.0)).outcome == "undecided"


def test_band_and_verdict_agree_in_direction() -> None:
    with pytest.raises(ValueError, match="reaches where it does not hold; write 'expected'"):
        claim(band="at most 9.5", holds="above 9.5")
    with pytest.raises(ValueError, match="reaches where it does not hold"):
        claim(band="at most 1", holds="below 1")
    with pytest.raises(ValueError, match="reaches where it does not hold"):  # of another number
        claim(holds={"behind": "exactly 0"}, facts={"behind": 0})
    refuted = claim(band="", expected="at most 9.5", holds="above 9.5")
    assert (refuted.verdict, refuted.outcome) == ("not-reproducible", "met")
    surprise = claim(ours=10.0, band="", expected="at most 9.5", holds="above 9.5")
    assert (surprise.verdict, surprise.outcome) == ("reproduced", "missed")
    with pytest.raises(ValueError, match="has a band and is expected to fail"):
        claim(expected="6.5 to 9.5")


def test_a_claim_that_a_null_meets_too_is_not_reproduced_without_saying_so() -> None:
    nulls = {"random search": "random"}
    beaten = claim(nulls=nulls, facts={"random": 11.0})
    assert (beaten.verdict, beaten.met_by) == ("reproduced", ())
    equal = claim(nulls=nulls, facts={"random": 7.0})
    assert (equal.verdict, equal.met_by) == ("conditional", ("random search",))
    assert equal.standing_conditions == ("random search meets it too, with 7",)
    free = claim(nulls=nulls, facts={"random": 7.0}, conditions=("c",), fully="below 8")
    assert free.verdict == "conditional"
    with pytest.raises(OptionError, match="a null needs 'random'"):
        claim(nulls=nulls)
    with pytest.raises(ValueError, match="its rule is not about what nulls reach"):
        claim(band="", nulls=nulls, holds={"random": "above 1"}, facts={"random": 7.0})


def test_a_check_of_our_own_is_no_claim() -> None:
    rank = claim(ours=15.0, kind="check", band="", holds="exactly 15")
    assert (rank.shown_verdict, rank.outcome) == ("check", "met")
    assert claim(ours=14.0, kind="check", band="", holds="exactly 15").outcome == "missed"
    assert claim_row(rank)["kind"] == "check"


def test_what_is_not_judged_has_no_verdict() -> None:
    assert claim().shown_verdict == "reproduced"
    assert claim(judged=False).shown_verdict == "not judged"
    assert claim_row(claim(judged=False))["verdict"] == "not judged"


def test_claims_are_written_with_their_outcome(tmp_path) -> None:
    rows = [claim(interval=(7.0, 8.0)), claim(name="lost", band="", missing="the table")]
    write_claims(tmp_path / "claims.json", "irb120-mupso", rows)
    content = read_json(tmp_path / "claims.json", "claims", 1)
    assert content["paper"] == "irb120-mupso"
    assert [row["name"] for row in content["claims"]] == ["mean-condition", "lost"]
    assert content["claims"][0]["interval"] == [7.0, 8.0]
    assert content["claims"][0]["band"] == [6.5, 9.5]
    assert [row["outcome"] for row in content["claims"]] == ["met", None]


def test_file_and_measurements_must_name_the_same_claims() -> None:
    rest = {"claim": "c", "published": 1, "band": "above 1", "reason": "{why}"}
    printed = [PrintedClaim(name=name, **rest) for name in "ab"]
    values = {name: measured(2.0, why="so") for name in "ab"}
    assert [c.reason for c in judge(printed, values, ALWAYS)] == ["so", "so"]
    with pytest.raises(OptionError, match="claim 'b' is in the file but not measured"):
        judge(printed, {"a": values["a"]}, ALWAYS)
    with pytest.raises(OptionError, match="claim 'c' is measured but not in the file"):
        judge(printed, {**values, "c": values["a"]}, ALWAYS)
    with pytest.raises(OptionError, match="claim 'a' stands twice"):
        judge([*printed, printed[0]], values, ALWAYS)
    with pytest.raises(OptionError, match="claim 'a': its reason or a null needs 'why'"):
        judge(printed, {name: measured(2.0) for name in "ab"}, ALWAYS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = ", "Invalid value"),
        ("verdict = 'reproduced'", "claim.0.verdict: Extra inputs are not permitted"),
        ("judged = 'later'", "claim.0.judged"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path, text, message) -> None:
    texts = "title = 't'\ncitation = 'c'\nsummary = 's'\nfinding = 'f'\n"
    head = f"{texts}notes = []\nsection = []\nfigure = []\ntable = []\n[[claim]]\n"
    path = tmp_path / "claims.toml"
    path.write_text(f"{head}name = 'n'\nclaim = 'c'\nreason = 'r'\n{text}\n")
    with pytest.raises(FileFormatError, match=r"claims\.toml: ") as caught:
        read_sheet(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", PAPERS)
def test_every_printed_claim_has_rules_that_can_be_read(name) -> None:
    claims = PAPERS[name].sheet.claim
    assert len({printed.name for printed in claims}) == len(claims) > 10
    for printed in claims:
        assert printed.band or printed.holds or printed.missing
        if printed.kind == "claim":
            assert printed.published is not None
            assert printed.band or printed.expected or printed.missing


def page(**changes) -> ClaimSheet:
    content = {
        "title": "t",
        "citation": "c",
        "summary": "s",
        "finding": "{runs} runs",
        "notes": ("no seed is printed",),
        "section": ({"title": "S", "text": "{runs}", "charts": ("f",), "tables": ("t",)},),
        "figure": ({"name": "f", "title": "F", "caption": "of {runs} runs"},),
        "table": ({"name": "t", "title": "T, {runs} runs", "columns": ("a", "b")},),
        "claim": (),
    }
    return ClaimSheet(**{**content, **changes})


@pytest.mark.parametrize(
    ("element", "message"),
    [
        ({"status": "not", "note": "n", "where": ("claim:a",)}, "not implemented, but somewhere"),
        ({"status": "implemented"}, "is implemented, but nowhere"),
        ({"status": "corrected", "where": ("claim:a",)}, "say why it is not implemented"),
    ],
)
def test_an_element_says_where_it_is_and_why_not_as_printed(element, message) -> None:
    with pytest.raises(ValueError, match=message):
        PrintedElement(number="Eq. (1)", what="w", **element)


def test_a_page_lists_the_elements_of_the_paper() -> None:
    printed = {"number": "Eq. (1)", "what": "w", "status": "implemented", "where": ("claim:a",)}
    listed = page(element=(printed,)).sections(FACTS, [CHART], page().tables(FACTS, [TABLE]))[-1]
    assert listed.tables[0].rows == (("Eq. (1)", "w", "implemented", "-", "claim:a"),)


CHART, TABLE, FACTS = (
    Chart(name="f", title="", caption="", panels=()),
    Table((), (("1", "2"),), name="t"),
    {"runs": 3},
)


def test_a_page_gets_its_texts_from_the_file() -> None:
    tables = page().tables(FACTS, [TABLE])
    section, notes = page().sections(FACTS, [CHART], tables)
    assert (section.text, section.charts[0].caption) == ("3", "of 3 runs")
    assert (section.tables[0].title, section.tables[0].columns) == ("T, 3 runs", ("a", "b"))
    assert notes.notes == ("no seed is printed",)


def test_what_is_not_both_in_the_file_and_made_is_named() -> None:
    with pytest.raises(OptionError, match="needs 'runs'"):
        page().tables({}, [TABLE])
    with pytest.raises(OptionError, match="tables are not both in the file and made: t"):
        page().tables(FACTS, [])
    with pytest.raises(OptionError, match="a cell for every heading"):
        page().tables(FACTS, [Table((), (("1",),), name="t")])
    with pytest.raises(OptionError, match="figures are not both drawn and in a section: g"):
        page().sections(FACTS, [CHART, replace(CHART, name="g")], {"t": TABLE})
    with pytest.raises(OptionError, match="figures are not both drawn and in a section: f"):
        page().sections(FACTS, [], {"t": TABLE})
    with pytest.raises(OptionError, match="the page needs a table named 't'"):
        page().sections(FACTS, [CHART], {})


def every(having: str) -> list[tuple[str, str]]:
    return [
        (paper, printed.name)
        for paper in PAPERS
        for printed in PAPERS[paper].sheet.claim
        if getattr(printed, having)
    ]


def facts_of_nulls(printed: PrintedClaim) -> list[str]:
    """Return the names of the facts that hold what nulls reach."""
    return [fact if isinstance(fact, str) else null for null, fact in printed.nulls.items()]


def judged(paper: str, name: str, ours: float, **facts) -> Claim:
    """Judge a claim of a paper by a number; all other facts are one."""
    (printed,) = (claim for claim in PAPERS[paper].sheet.claim if claim.name == name)
    named = {part for _, part, _, _ in Formatter().parse(printed.reason) if part}
    named |= {*printed.rule, *printed.fully, *facts_of_nulls(printed)}
    return printed.judge(
        measured(ours, (ours, ours), **{**dict.fromkeys(named - {"ours"}, 1.0), **facts}),
        judged=True,
    )


@pytest.mark.parametrize(("paper", "name"), every("nulls"))
def test_a_method_that_is_as_good_as_its_null_does_not_reproduce_a_claim(paper, name) -> None:
    printed = next(claim for claim in PAPERS[paper].sheet.claim if claim.name == name)
    rule = printed.rule["ours"]
    aim = printed.band or rule
    inside = 0.5 * ((aim.lower or 0.0) + aim.upper)
    outside = 10.0 * rule.upper if rule.upper is not None else 0.1 * rule.lower
    for fact in facts_of_nulls(printed):
        same = judged(paper, name, inside, **{fact: inside})
        assert same.verdict != "reproduced"
        assert same.met_by
        beaten = judged(paper, name, inside, **{fact: outside})
        assert not beaten.met_by
        assert len(beaten.standing_conditions) < len(same.standing_conditions)
        assert judged(paper, name, outside).verdict == "not-reproducible"


@pytest.mark.parametrize(("paper", "name"), every("band"))
def test_every_band_can_be_missed_and_then_nothing_is_reproduced(paper, name) -> None:
    printed = next(claim for claim in PAPERS[paper].sheet.claim if claim.name == name)
    band = printed.band
    ends = [end for end in (band.lower, band.upper) if end is not None]
    assert ends
    for end in ends:
        for value in (end - max(1.0, 3.0 * abs(end)), end + max(1.0, 3.0 * abs(end))):
            if not band.holds(value):
                missed = judged(paper, name, value)
                assert missed.outcome == "missed"
                assert missed.verdict != "reproduced"


def test_kinds_of_claims_add_up() -> None:
    claims = [claim for paper in PAPERS.values() for claim in paper.sheet.claim]
    assert sum(claim.kind == "claim" for claim in claims) > 110
    assert {claim.kind for claim in claims} == {"claim", "check"}
