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
    BAND_MISS_TEXT,
    Claim,
    PrintedClaim,
    claim_row,
    collect_measured,
    judge,
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
    return printed.judge(collect_measured(ours, interval, **(facts or {})), judged=judged)


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
    assert all(part.is_met(value) for value in inside)
    assert not any(part.is_met(value) for value in (*outside, float("nan"), "lost", None))


def test_a_range_may_need_all_of_the_interval() -> None:
    number, whole = (ClaimRange.parse(text) for text in ("above 1", "above 1 with its interval"))
    assert number.is_met(1.1, (0.9, 1.3))
    assert not whole.is_met(1.1, (0.9, 1.3))
    assert whole.is_met(1.1, (1.01, 1.3))
    assert whole.is_met(1.1)
    assert not ClaimRange.parse("below 1 with its interval").is_met(0.9, (0.8, 1.01))


@pytest.mark.parametrize("text", ["> 1", "above", "1 - 2", "above one", "above 1 with interval"])
def test_what_is_no_range_is_named_with_the_forms(text) -> None:
    with pytest.raises(OptionError, match=r"unknown range '.*'; write above, below"):
        ClaimRange.parse(text)


HELD = {"conditions": ("with unit columns",)}
FREE = {**HELD, "fully": "below 8"}
BEHIND = {"band": "6.5 to 7.9", "holds": {"behind": "exactly 0", "ours": "below 8"}}
SEVEN = {"band": "", "expected": "exactly 7", "holds": "a number"}
REFUTED = {"band": "", "expected": "at most 9.5", "holds": "above 9.5"}
RANDOM = {"nulls": {"random search": "random"}}


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "reproduced"),
        ({"ours": 6.0}, "not-reproducible"),
        (HELD, "conditional"),
        ({"ours": 6.0, **HELD}, "not-reproducible"),
        (FREE, "reproduced"),
        ({"ours": 8.5, **FREE}, "conditional"),
        ({"facts": {"behind": 0}, **BEHIND}, "reproduced"),  # a rule may name other facts
        ({"facts": {"behind": 1}, **BEHIND}, "not-reproducible"),
        ({"ours": 8.5, "facts": {"behind": 0}, **BEHIND}, "not-reproducible"),
        ({"ours": float("nan"), **SEVEN}, "not-reproducible"),  # it cannot be computed
        ({"ours": 7.0, **SEVEN}, "reproduced"),
        (REFUTED, "not-reproducible"),
        ({"ours": 10.0, **REFUTED}, "reproduced"),
        ({"facts": {"random": 11.0}, **RANDOM}, "reproduced"),
        ({"facts": {"random": 7.0}, **RANDOM}, "conditional"),
        ({"facts": {"random": 7.0}, **RANDOM, **FREE}, "conditional"),
    ],
)
def test_a_verdict_follows_from_the_number_the_rule_and_the_conditions(changes, verdict) -> None:
    assert claim(**changes).verdict == verdict
    assert claim(**changes).verdict_text == verdict
    assert claim(**changes, judged=False).verdict_text == "not judged"
    assert claim_row(claim(**changes, judged=False))["verdict"] == "not judged"


def test_conditions_that_stand_are_listed_with_the_nulls_that_meet_the_rule() -> None:
    assert claim(**HELD).remaining_conditions == HELD["conditions"]
    equal = claim(facts={"random": 7.0}, **RANDOM)
    assert equal.nulls_that_pass == ("random search",)
    assert equal.remaining_conditions == ("random search meets it too, with 7",)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ours": "lost"}, "has a band, but its value is a text"),
        ({"band": ""}, "has no range in which it holds"),
        ({"band": "", "holds": "above 1"}, "has no expected range; write 'band'"),
        ({"published": None}, "no published value; make it a check"),
        (
            {"band": "at most 9.5", "holds": "above 9.5"},
            "does not hold in all of its band 'at most 9.5'; write 'expected'",
        ),
        ({"band": "at most 1", "holds": "below 1"}, "does not hold in all of its band"),
        (
            {"holds": {"behind": "exactly 0"}, "facts": {"behind": 0}},
            "does not hold in all of its band",
        ),
        ({"expected": "6.5 to 9.5"}, "has 'band' and 'expected'; keep one"),
        (BEHIND, "its rule needs the unknown value 'behind'"),
        (RANDOM, "a null needs the unknown value 'random'"),
        (
            {"band": "", **RANDOM, "holds": {"random": "above 1"}},
            "has nulls, but its rule has no range",
        ),
    ],
)
def test_a_claim_that_cannot_be_judged_is_refused(changes, message) -> None:
    with pytest.raises(ValueError, match=message):
        claim(**changes)


@pytest.mark.parametrize("judged", [True, False])
@pytest.mark.parametrize("number", [7.0, "not evaluable"])
def test_a_claim_whose_test_needs_what_is_not_printed_has_no_verdict(number, judged) -> None:
    untested = claim(ours=number, judged=judged, band="", missing="the log")
    assert untested.verdict_text == "not-testable"
    assert (untested.outcome, untested.nulls_that_pass) == (None, ())
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
            assert tried.remaining_conditions == ()
        elif tried.verdict == "conditional" and tried.outcome != "met":
            assert BAND_MISS_TEXT in tried.remaining_conditions
    assert met > 20
    with pytest.raises(TypeError):
        Claim(printed=claim().printed, ours=1, facts={}, verdict="reproduced")
    with pytest.raises((AttributeError, TypeError)):  # a property of a frozen value
        claim().verdict = "reproduced"


@pytest.mark.parametrize(
    ("changes", "outcome", "missed"),
    [
        ({}, "met", ""),
        ({"ours": 6.0}, "missed", "0.5 below the expected range"),
        ({"ours": 12.0, "unit": "mm"}, "missed", "2.5 mm above the expected range"),
        ({"band": "at most 9.5"}, "met", ""),
        ({"band": "at least 9.5"}, "missed", "2 below the expected range"),
        ({"ours": 99.0, "judged": False}, None, ""),
        ({"ours": 6.0, "interval": (5.0, 6.4)}, "missed", "0.5 below the expected range"),
        (
            {"ours": 6.0, "interval": (5.0, 6.6)},
            "undecided",
            "undecided: 0.5 below the expected range, which its interval overlaps",
        ),
        ({"ours": 6.0, "interval": (5.0, 6.6), "judged": False}, None, ""),
        ({"ours": 9.0, "interval": (4.0, 12.0)}, "met", ""),
        (
            {"ours": 10.0, "band": "at most 9.5", "interval": (9.4, 11.0)},
            "undecided",
            "undecided: 0.5 above the expected range, which its interval overlaps",
        ),
        (REFUTED, "met", ""),
        ({"ours": 10.0, **REFUTED}, "missed", "0.5 above the expected range"),
        ({"ours": 15.0, "kind": "check", "band": "", "holds": "exactly 15"}, "met", ""),
        ({"ours": 14.0, "kind": "check", "band": "", "holds": "exactly 15"}, "missed", ""),
    ],
)
def test_a_band_is_met_missed_or_undecided(changes, outcome, missed) -> None:
    found = claim(**changes)
    assert (found.outcome, found.miss_text) == (outcome, missed)
    assert found.is_within == {"met": True, None: None}.get(outcome, False)
    assert claim(ours=float("nan")).is_within is False


def test_a_check_of_our_own_is_no_claim() -> None:
    rank = claim(ours=15.0, kind="check", band="", holds="exactly 15")
    assert rank.verdict_text == claim_row(rank)["kind"] == "check"


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
    values = {name: collect_measured(2.0, why="so") for name in "ab"}
    assert [c.reason for c in judge(printed, values, ALWAYS)] == ["so", "so"]
    with pytest.raises(OptionError, match="claim 'b' is in the file but not measured"):
        judge(printed, {"a": values["a"]}, ALWAYS)
    with pytest.raises(OptionError, match="claim 'c' is measured but not in the file"):
        judge(printed, {**values, "c": values["a"]}, ALWAYS)
    with pytest.raises(OptionError, match="claim 'a' is twice in the file"):
        judge([*printed, printed[0]], values, ALWAYS)
    with pytest.raises(
        OptionError, match="claim 'a': its reason or a null needs the unknown value 'why'"
    ):
        judge(printed, {name: collect_measured(2.0) for name in "ab"}, ALWAYS)


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


CHART, TABLE, FACTS = (
    Chart(name="f", title="", caption="", panels=()),
    Table((), (("1", "2"),), name="t"),
    {"runs": 3},
)


@pytest.mark.parametrize(
    ("element", "message"),
    [
        (
            {"status": "not", "note": "n", "where": ("claim:a",)},
            "is not implemented; remove 'where'",
        ),
        ({"status": "implemented"}, "is implemented; give its place in 'where'"),
        (
            {"status": "corrected", "where": ("claim:a",)},
            "is not as printed; give the reason in 'note'",
        ),
    ],
)
def test_an_element_says_where_it_is_and_why_not_as_printed(element, message) -> None:
    with pytest.raises(ValueError, match=message):
        PrintedElement(number="Eq. (1)", what="w", **element)


def test_a_page_lists_the_elements_of_the_paper() -> None:
    printed = {"number": "Eq. (1)", "what": "w", "status": "implemented", "where": ("claim:a",)}
    listed = page(element=(printed,)).sections(FACTS, [CHART], page().tables(FACTS, [TABLE]))[-1]
    assert listed.tables[0].rows == (("Eq. (1)", "w", "implemented", "-", "claim:a"),)


def test_a_page_gets_its_texts_from_the_file() -> None:
    tables = page().tables(FACTS, [TABLE])
    section, notes = page().sections(FACTS, [CHART], tables)
    assert (section.text, section.charts[0].caption) == ("3", "of 3 runs")
    assert (section.tables[0].title, section.tables[0].columns) == ("T, 3 runs", ("a", "b"))
    assert notes.notes == ("no seed is printed",)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: page().tables({}, [TABLE]), "needs the unknown value 'runs'"),
        (lambda: page().tables(FACTS, []), "tables must be in the file and made by code: t"),
        (
            lambda: page().tables(FACTS, [replace(TABLE, rows=(("1",),))]),
            "does not have one cell per heading",
        ),
        (
            lambda: page().sections(FACTS, [CHART, replace(CHART, name="g")], {"t": TABLE}),
            "figures must be drawn and in a section: g",
        ),
        (
            lambda: page().sections(FACTS, [], {"t": TABLE}),
            "figures must be drawn and in a section: f",
        ),
        (lambda: page().sections(FACTS, [CHART], {}), "the page needs the missing table 't'"),
    ],
)
def test_what_is_not_both_in_the_file_and_made_is_named(make, message) -> None:
    with pytest.raises(OptionError, match=message):
        make()


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
        collect_measured(ours, (ours, ours), **{**dict.fromkeys(named - {"ours"}, 1.0), **facts}),
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
        assert same.nulls_that_pass
        beaten = judged(paper, name, inside, **{fact: outside})
        assert not beaten.nulls_that_pass
        assert len(beaten.remaining_conditions) < len(same.remaining_conditions)
        assert judged(paper, name, outside).verdict == "not-reproducible"


@pytest.mark.parametrize(("paper", "name"), every("band"))
def test_every_band_can_be_missed_and_then_nothing_is_reproduced(paper, name) -> None:
    printed = next(claim for claim in PAPERS[paper].sheet.claim if claim.name == name)
    band = printed.band
    ends = [end for end in (band.lower, band.upper) if end is not None]
    assert ends
    for end in ends:
        for value in (end - max(1.0, 3.0 * abs(end)), end + max(1.0, 3.0 * abs(end))):
            if not band.is_met(value):
                missed = judged(paper, name, value)
                assert missed.outcome == "missed"
                assert missed.verdict != "reproduced"


def test_kinds_of_claims_add_up() -> None:
    claims = [claim for paper in PAPERS.values() for claim in paper.sheet.claim]
    assert sum(claim.kind == "claim" for claim in claims) > 110
    assert {claim.kind for claim in claims} == {"claim", "check"}
    assert min(len(paper.sheet.claim) for paper in PAPERS.values()) > 10
