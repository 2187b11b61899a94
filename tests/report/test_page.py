"""Pages: complete in one file, honest about what is installed, safe against odd names.

Terms on pages: each is explained once on a part of the page, and nothing else is touched.
"""

import base64
import csv
import gzip
import hashlib
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from lxml import html
from test_draw import band, lines, space

from robotid_sim.chart import Chart, Curve, Matrix, Panel, Points, Space, csv_text
from robotid_sim.errors import FileFormatError
from robotid_sim.report.page import (
    COLUMN_MEANINGS,
    TERM_MEANINGS,
    Page,
    explain_column,
    prose,
    write_page,
)
from robotid_sim.report.reproduction_report import badge_of
from robotid_sim.report.study_report import study_report
from robotid_sim.section import Section
from robotid_sim.table import Table

LARGEST = 5e6
"""Most bytes of a page."""


def small_page(**changes) -> Page:
    table = Table(
        columns=("joint", "value"),
        rows=(("a", "1"), ("b", "-")),
        title="Numbers",
        marks=(True, False),
    )
    section = Section(title="First part", text="what", charts=(lines(), space()), tables=(table,))
    second = Section(title="Second", charts=(band(),), notes=("a note",), code="robotid run x")
    values = {"title": "T", "finding": "found", "sections": (section, second), **changes}
    return Page(**values)


def written(page: Page, folder, **options) -> str:
    path = folder / "page.html"
    write_page(page, path, **options)
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> Path:
    """Return the file of a small page."""
    path = tmp_path_factory.mktemp("plain") / "page.html"
    write_page(small_page(), path, progress=lambda stage, share: SHARES.append(share))
    return path


SHARES: list[float] = []
"""What the progress of that page was."""


def test_page_needs_no_other_file(plain) -> None:
    text = plain.read_text(encoding="utf-8")
    tree = html.fromstring(text.encode())
    for node in tree.iter():
        for name in ("src", "href", "{http://www.w3.org/1999/xlink}href"):
            value = node.get(name)
            assert value is None or value.startswith(("#", "data:")), value
    assert "@import" not in text
    ids = [node.get("id") for node in tree.iter() if node.get("id")]
    assert len(ids) == len(set(ids))
    assert [p.name for p in plain.parent.iterdir()] == ["page.html"]
    assert SHARES == sorted(SHARES)
    assert SHARES[-1] == 1.0


def test_page_says_everything_in_order(tmp_path) -> None:
    tree = html.fromstring(written(small_page(passed=False, facts=(("gap", "9 %"),)), tmp_path))
    assert tree.cssselect("h1 .badge.failed")[0].text == "failed"
    assert tree.cssselect(".finding")[0].text == "found"
    assert tree.cssselect(".facts dd")[0].text == "9 %"
    assert [h.text for h in tree.cssselect("h2")] == ["First part", "Second"]
    targets = {a.get("href") for a in tree.cssselect("nav a")}
    assert targets == {f"#{s.get('id')}" for s in tree.cssselect("section")}
    assert [f.get("data-chart") for f in tree.cssselect("figure")] == ["lines", "space", "band"]
    assert [r.get("class") for r in tree.cssselect("tbody tr")] == ["ok", "bad"]
    assert tree.cssselect("pre code")[0].text == "robotid run x"


def test_page_without_verdict_has_no_badge(plain, tmp_path) -> None:
    assert not html.parse(str(plain)).getroot().cssselect(".badge")
    counted = replace(small_page(sections=()), badge="3 reproduced, 2 not")
    tree = html.fromstring(written(counted, tmp_path))
    assert tree.cssselect("h1 .badge")[0].text == "3 reproduced, 2 not"


def test_the_badge_of_a_paper_counts_its_verdicts() -> None:
    verdicts = ["reproduced"] * 3 + ["conditional"] * 9 + ["not-reproducible"] * 2 + ["check"]
    claims = [SimpleNamespace(verdict_text=verdict) for verdict in verdicts]
    assert badge_of(claims) == "3 reproduced, 9 conditional, 2 not reproducible"
    assert badge_of(claims[:3]) == "3 reproduced"


def numbers_of(text: str) -> tuple[list[list[str]], np.ndarray]:
    """Return the texts and the numbers of a tidy table, missing ones as NaN."""
    head, *rows = csv.reader(io.StringIO(text))
    first = min(k for k, name in enumerate(head) if name in ("x", "value")) - ("x" not in head)
    texts = [head, *(row[:first] for row in rows)]
    return texts, np.array([[float(cell or "nan") for cell in row[first:]] for row in rows])


def of_traces(figure: dict) -> str:
    """Return the table that the page makes of the traces of a figure."""

    def floats(values):
        return np.frombuffer(base64.b64decode(values["bdata"]), "<f4").tolist()

    head, parts = figure["table"]["head"], figure["table"]["parts"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    for part in parts:
        trace = figure["data"][part["trace"]]
        columns = [floats(trace["x"]), floats(trace["y"])]
        if part["upper"]:
            columns.append(floats(figure["data"][part["trace"] + 1]["y"]))
        rest = [""] * (len(head) - len(part["lead"]) - len(columns))
        for row in zip(*columns, strict=True):
            cells = ("" if np.isnan(x) else f"{x:.7g}" for x in row)
            writer.writerow([*part["lead"], *cells, *rest])
    return text.getvalue()


def test_data_of_every_figure_is_in_the_page(plain) -> None:
    tree = html.fromstring(plain.read_text(encoding="utf-8"))
    figures = json.loads(unpacked(tree, "figures"))
    for chart in (lines(), space(), band()):
        if "table" not in figures[chart.name]:
            assert unpacked(tree, f"csv-{chart.name}") == csv_text(chart)
            continue
        assert tree.cssselect(f"#csv-{chart.name}") == []
        texts, numbers = numbers_of(of_traces(figures[chart.name]))
        expected_texts, expected = numbers_of(csv_text(chart))
        assert texts == expected_texts
        np.testing.assert_allclose(numbers, expected, rtol=1e-6, atol=1e-30)
    assert {name for name in figures if "table" in figures[name]} == {lines().name, band().name}


def unpacked(tree, name: str) -> str:
    return gzip.decompress(base64.b64decode(tree.get_element_by_id(name).text)).decode()


def test_names_cannot_break_the_page(tmp_path) -> None:
    nasty = "<script>alert(1)</script>&\"'"
    table = Table(columns=(nasty,), rows=((nasty,),))
    prose = {"text": f"`{nasty}`", "notes": (f"`{nasty}` and `more`",)}
    page = small_page(title=nasty, sections=(Section(title=nasty, tables=(table,), **prose),))
    text = written(page, tmp_path)
    assert "<script>alert" not in text
    tree = html.fromstring(text)
    assert tree.cssselect("td")[0].text == nasty
    assert [code.text for code in tree.cssselect("p code, li code")] == [nasty, nasty, "more"]


NASTY = "</script><img src=x onerror=alert(1)>"


def texts_of(part) -> list[str]:
    """Return all texts of a figure that plotly would show."""
    if isinstance(part, str):
        return [part]
    if isinstance(part, dict):
        return [t for key, v in part.items() if key != "legendgroup" for t in texts_of(v)]
    return [t for v in part for t in texts_of(v)] if isinstance(part, list) else []


def test_names_in_figures_are_letters_and_no_markup(tmp_path) -> None:
    at = np.arange(2.0)
    names = (NASTY, "<b>x")
    curves = tuple(Curve(at, at, name, "true") for name in names)
    points = Points(at, at, NASTY, "identified")
    panels = (
        Panel(marks=curves, title=NASTY, x_label=NASTY, y_label=NASTY),
        Panel(marks=(points,), y_ticks=names),
        Matrix(values=np.eye(2), names=names),
    )
    chart = Chart(name="nasty", title=NASTY, caption=NASTY, panels=panels)
    around = Space(curves=((NASTY, "true", np.eye(3)),), title=NASTY)
    round_chart = Chart(name="round", title=NASTY, caption="", panels=(around,))
    section = Section(title="S", charts=(chart, round_chart))
    text = written(small_page(sections=(section,)), tmp_path)
    assert "<img src=x" not in text
    tree = html.fromstring(text)
    figures = json.loads(gzip.decompress(base64.b64decode(tree.get_element_by_id("figures").text)))
    shown = texts_of(figures)
    assert sum("&lt;img src=x onerror=alert(1)&gt;" in text for text in shown) >= 8
    left = [re.sub("^<b>(.*)</b>$|<extra></extra>", r"\1", text) for text in shown]
    assert not [text for text in left if "<" in text]


def test_page_may_run_its_own_scripts_only(plain) -> None:
    tree = html.fromstring(plain.read_text(encoding="utf-8"))
    policy = tree.cssselect("meta[http-equiv=Content-Security-Policy]")[0].get("content")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in rules["script-src"]
    own = tree.cssselect("script:not([type])")
    plotly = gzip.decompress(base64.b64decode(tree.get_element_by_id("plotly").text))
    sources = [*(script.text.encode() for script in own), plotly]
    hashes = [base64.b64encode(hashlib.sha256(source).digest()).decode() for source in sources]
    assert rules["script-src"].split() == [f"'sha256-{digest}'" for digest in hashes]


def test_figures_are_saved_beside_the_page(tmp_path) -> None:
    written(small_page(), tmp_path, figures=tmp_path / "figures")
    names = {p.name for p in (tmp_path / "figures").iterdir()}
    stems = ("lines", "space", "band")
    assert names == {f"{stem}.{kind}" for stem in stems for kind in ("svg", "png", "csv")}


def test_page_into_a_missing_folder_is_one_line(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("robotid_sim.report.draw.draw", pytest.fail)  # it asks before it draws
    with pytest.raises(FileFormatError, match="choose a folder"):
        write_page(small_page(), tmp_path / "none" / "page.html")


@pytest.mark.slow
def test_same_page_same_bits(plain, tmp_path) -> None:
    assert written(small_page(), tmp_path) == plain.read_text(encoding="utf-8")


@pytest.mark.slow
def test_report_of_a_study_is_complete_and_small(quick_study, tmp_path) -> None:
    study, _ = quick_study
    text = written(study_report(study, "robotid run irb140 --quick --out x"), tmp_path)
    assert len(text.encode()) <= LARGEST
    tree = html.fromstring(text)
    titles = [h.text for h in tree.cssselect("h2")]
    shown = ["Identified robot", "Replay", "Prediction", "Tracking", "What to do next"]
    flow = ["Verdict", "Excitation", "Preprocessing", "Identification", "Diagnosis"]
    flow += ["Reliability of the estimate", "Fit", "Friction", "What if?", "Closed loop"]
    closing = ["In other tools", "Assumptions", "Timings", "Reproduce"]
    assert titles == [*shown, *flow, *closing]
    assert [h.text for h in tree.cssselect("details h2")] == [*flow, *closing]
    headings = [heading.text for heading in tree.cssselect("figure h3")]
    assert len(set(headings)) == len(headings), "two figures have one heading"
    shown = re.sub(r"\s+", " ", tree.text_content())
    assert "robotid run irb140 --quick --out x" in shown
    for name, version in study.result.versions.items():
        assert f"{name} {version}" in shown
    for grouping in study.fit.basis.groupings:
        assert grouping in shown
    cells = {cell.text_content() for cell in tree.cssselect("#timings td")}
    assert set(study.result.timings) <= cells
    for assumption in study.result.assumptions:
        assert assumption in shown
    for check in study.result.verdict.checks:
        assert check.name in shown
    explained = {element.get("title") for element in tree.cssselect("abbr, th button[title]")}
    assert len(explained & set(TERM_MEANINGS.values())) >= 12
    assert len(explained & set(COLUMN_MEANINGS.values())) >= 8
    rows = [r for r in tree.cssselect("tr") if r.text_content().startswith("consistent")]
    assert rows


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
    assert explain_column("std") == COLUMN_MEANINGS["std"]
    assert explain_column("of RMS torque") == TERM_MEANINGS["RMS"]
    assert explain_column("joint") == ""
