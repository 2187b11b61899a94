"""``robotid reproduce`` on a small paper of our own: files, verdicts, going on, exit codes."""

import re

import numpy as np
import pytest
from kept_trials import forget_one
from lxml import html

from robotid_sim.campaign.trials import Trial
from robotid_sim.chart import Chart, Curve, Panel
from robotid_sim.files import read_json
from robotid_sim.papers import PAPERS
from robotid_sim.papers.claims import collect_measured
from robotid_sim.papers.paper import Paper, Reproduction, ReproductionSetup
from robotid_sim.papers.sheet import ClaimSheet
from robotid_sim.papers.statistics import interval_of_mean
from robotid_sim.table import Table


def draw(seed: int, run: int, calls: str) -> dict[str, float]:
    """Count the call and return a number."""
    with open(calls, "a") as file:  # noqa: PTH123 - the trial gets its path as a text
        file.write("x")
    return {"value": float(np.random.default_rng([seed, run]).normal(7.0, 0.1))}


class Dice(Paper):
    """A paper that claims the mean of some draws."""

    sheet = None

    def __init__(self, name: str, calls, upper: float) -> None:
        self.name, self.calls = name, str(calls)
        self.sheet = ClaimSheet(
            title="Draws of a number",
            citation="Nobody (2026), Nowhere",
            summary="draws",
            finding="The mean is near {center}.",
            notes=("how often is not printed",),
            section=({"title": "Draws", "charts": ("fig-1",), "tables": ("table-1",)},),
            figure=({"name": "fig-1", "title": "Figure 1", "caption": "Draws."},),
            table=({"name": "table-1", "columns": ("run", "value")},),
            claim=(
                {
                    "name": "mean",
                    "claim": "The mean is 7.16.",
                    "published": 7.16,
                    "band": f"6.5 to {upper}",
                    "judged": "runs",
                    "reason": "drawn around {center}",
                },
                {
                    "name": "spread",
                    "claim": "The spread is tiny.",
                    "published": "tiny",
                    "expected": "below 1",
                    "holds": "below 0",
                    "reason": "it is not",
                },
            ),
        )

    def reproduce(self, lab: ReproductionSetup) -> Reproduction:
        runs = lab.runs_of(6, 2)
        parameters = [{"seed": lab.seed, "run": k, "calls": self.calls} for k in range(runs)]
        trials = [Trial(f"run-{p['run']}", f"{__name__}:draw", p) for p in parameters]
        values = [result["value"] for result in lab.run("draws", trials)]
        table = Table((), tuple((str(k), repr(v)) for k, v in enumerate(values)), name="table-1")
        line = Curve(np.arange(runs), np.array(values), "draws", "identified")
        panel = Panel(marks=(line,), x_label="run [-]", y_label="value [-]")
        chart = Chart(name="fig-1", title="", caption="", panels=(panel,))
        mean = collect_measured(float(np.mean(values)), interval_of_mean(values), center=7)
        measurements = {"mean": mean, "spread": collect_measured(0.1)}
        return self.reproduction(lab, measurements, {"center": 7}, [chart], [table])


@pytest.fixture
def papers(monkeypatch, tmp_path):
    """Two papers in the place of the real ones; the second misses its band."""
    for name in list(PAPERS):
        monkeypatch.delitem(PAPERS, name)
    for name, upper in (("dice-good", 9.5), ("dice-bad", 6.8)):
        monkeypatch.setitem(PAPERS, name, Dice(name, tmp_path / f"calls-{name}", upper))
    return tmp_path


def calls(folder, name: str = "dice-good") -> int:
    return len((folder / f"calls-{name}").read_text())


@pytest.mark.slow
def test_everything_is_written_and_finished_runs_are_not_repeated(robotid, ran, papers) -> None:
    out = papers / "out"
    words = ("reproduce", "dice-good", "--out", out, "--workers", 1)
    done = ran(*words)
    assert "reproduced" in done.out
    assert "The mean is near 7." in done.out
    content = read_json(out / "claims.json", "claims", 1)
    assert content["paper"] == "dice-good"
    claims = content["claims"]
    assert [claim["verdict"] for claim in claims] == ["reproduced", "not-reproducible"]
    assert claims[0]["within"] is True
    assert (out / "tables" / "table-1.csv").read_text().splitlines()[0] == "run,value"
    assert {"fig-1.svg", "fig-1.png", "fig-1.csv"} <= {p.name for p in (out / "figures").iterdir()}
    assert calls(papers) == 6
    forget_one(out / "trials")
    assert robotid(*words).out == done.out
    assert calls(papers) == 7
    ran(*words, "--seed", 1)
    assert calls(papers) == 13


def test_the_page_puts_verdicts_first(ran, papers) -> None:
    out = papers / "out"
    ran("reproduce", "dice-good", "--out", out, "--workers", 1)
    tree = html.fromstring((out / "report.html").read_bytes())
    headings = [h.text for h in tree.cssselect("h2")]
    assert headings == [
        "Confirmed",
        "Not confirmed",
        "Draws",
        "Missing information in the paper",
        "Reproduce",
    ]
    first = [cell.text_content() for cell in tree.cssselect("#confirmed tbody td")]
    assert first[:3] == ["The mean is 7.16.", "drawn around 7", "7.16"]
    assert first[4:] == ["6.5 … 9.5: met"]


def test_a_missed_band_is_exit_1_and_said_by_how_much(robotid, papers) -> None:
    out = papers / "out"
    done = robotid("reproduce", "dice-bad", "--out", out, "--workers", 1, "--json")
    assert done.code == 1
    content = done.content
    (paper,) = content["papers"]
    assert (content["passed"], paper["passed"]) == (False, False)
    assert paper["claims"][0]["within"] is False
    assert re.search(
        r"\.\d+ above the expected range", (out / "report.html").read_text(encoding="utf-8")
    )


def test_a_quick_run_does_not_judge_statistics(ran, papers) -> None:
    out = papers / "out"
    done = ran("reproduce", "dice-bad", "--out", out, "--workers", 1, "--quick", "--json")
    assert calls(papers, "dice-bad") == 2
    assert done.content["papers"][0]["claims"][0]["within"] is None


@pytest.mark.slow
def test_all_papers_end_in_one_page(robotid, papers) -> None:
    out = papers / "all"
    done = robotid("reproduce", "all", "--out", out, "--runs", 6, "--workers", 1)
    assert done.code == 1
    tree = html.fromstring((out / "index.html").read_bytes())
    links = [a.get("href") for a in tree.cssselect("section a")]
    assert links == ["dice-good/report.html", "dice-bad/report.html"]
    assert all((out / link).is_file() for link in links)
    rows = tree.cssselect("#not-confirmed tbody tr")
    assert [row[0].text_content() for row in rows] == ["dice-good", "dice-bad", "dice-bad"]
    assert "Of 4 claims of 2 papers, 1 are reproduced" in tree.cssselect(".finding")[0].text


def test_the_folder_of_another_paper_is_refused(ran, refused, papers) -> None:
    out = papers / "out"
    words = ("--out", out, "--workers", 1)
    ran("reproduce", "dice-good", *words)
    for other in ("dice-bad", "all"):
        assert "holds the reproduction of dice-good; choose another --out" in refused(
            "reproduce", other, *words
        )
    assert calls(papers) == 6


@pytest.mark.slow
def test_a_quick_run_keeps_the_full_one_beside_it(robotid, papers) -> None:
    words = ("reproduce", "dice-good", "--out", papers / "out", "--workers", 1)
    full = robotid(*words).out
    quick = robotid(*words, "--quick").out
    assert "not judged" in quick
    assert robotid(*words, "--runs", 2).out == quick.replace(" --quick", "")
    before = calls(papers)
    assert robotid(*words).out == full
    assert calls(papers) == before
