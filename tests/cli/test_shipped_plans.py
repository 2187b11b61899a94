"""The plans that come with the package: each runs in quick mode and answers in sentences."""

import json

import pytest
from lxml import html

from robotid_sim.campaign.plan import load_plan
from robotid_sim.campaign.shipped_plans import shipped_plans
from robotid_sim.campaign.store import DONE, Store


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped_plans())
def test_a_shipped_plan_runs_and_answers(robotid, tmp_path, name) -> None:
    out = tmp_path / name
    done = robotid("campaign", "run", name, "--quick", "--out", out, "--workers", 2)
    assert done.code == 0, done.err
    with Store(out, write=False) as store:
        assert set(store.counts()) == {DONE}
    summary = robotid("campaign", "summary", out, "--json")
    assert summary.code == 0, summary.err
    sentences = json.loads(summary.out)["answers"]
    assert len(sentences) >= len(load_plan(name).answers)
    page = html.fromstring((out / "summary.html").read_bytes()).text_content()
    assert all(sentence in page and "{" not in sentence for sentence in sentences)
    assert all(path.stat().st_size > 100 for path in (out / "figures").iterdir())
