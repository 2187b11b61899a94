"""The plans that come with the package: each runs in quick mode and answers in sentences."""

import json

import pytest
from lxml import html
from sampling import sampled

from robotid_sim.campaign.plan import load_plan
from robotid_sim.campaign.shipped_plans import shipped_plans
from robotid_sim.campaign.store import DONE, Store

SHORT = {*shipped_plans()} - {"cad", "duration", "encoder"}


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(shipped_plans(), *SHORT))
def test_a_shipped_plan_runs_and_answers(robotid, tmp_path, monkeypatch, name) -> None:
    monkeypatch.chdir(tmp_path)

    def told(*words: object) -> str:
        done = robotid("campaign", *words)
        assert done.code == 0, (words, done)
        return done.out

    told("run", name, "--quick", "--out", name, "--workers", 2)
    trials = json.loads(told("status", name, "--json"))["trials"]
    with Store(tmp_path / name, write=False) as store:
        assert store.counts() == {DONE: trials}
    sentences = json.loads(told("summary", name, "--json"))["answers"]
    assert len(sentences) >= len(load_plan(name).answers)
    page = html.fromstring((tmp_path / name / "summary.html").read_bytes()).text_content()
    assert all(sentence in page and "{" not in sentence for sentence in sentences)
    assert all(path.stat().st_size > 100 for path in (tmp_path / name / "figures").iterdir())
    told("export", name, "-o", "trials.csv")
    assert len((tmp_path / "trials.csv").read_text().splitlines()) == trials + 1
