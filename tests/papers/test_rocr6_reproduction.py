"""The WLS-RWPSO paper, reproduced in a hurry."""

import numpy as np
import pytest

from robotid_sim.papers import find_paper
from robotid_sim.papers.claims import measured
from robotid_sim.papers.paper import Lab


def test_a_gain_over_the_start_is_against_what_is_expected() -> None:
    gains = (0.0, 1e-6, 4.6e-5, 0.02)
    verdicts = ("not-reproducible", "not-reproducible", "not-reproducible", "reproduced")
    outcomes = {
        "known-start-plain": ["met", "met", "met", "missed"],  # at most from WLS back to LS
        "known-start-weighted": ["met", "met", "missed", "missed"],
    }
    sheet = find_paper("rocr6-wlsrwpso").sheet
    for name, expected in outcomes.items():
        (printed,) = (claim for claim in sheet.claim if claim.name == name)
        claims = [printed.judge(measured(g, best="PSO", runs=5), judged=True) for g in gains]
        assert tuple(claim.verdict for claim in claims) == verdicts
        assert [claim.outcome for claim in claims] == expected


@pytest.mark.slow
@pytest.mark.nightly
def test_quick_reproduction_puts_least_squares_before_the_swarms(tmp_path) -> None:
    found = find_paper("rocr6-wlsrwpso").reproduce(Lab(folder=tmp_path, quick=True, workers=2))
    claims = {claim.name: claim for claim in found.claims}
    assert [claim.name for claim in found.claims if claim.outcome == "missed"] == []
    ranks = [claim.ours for name, claim in claims.items() if name.startswith("rank")]
    assert ranks == [15, 21, 36, 48]
    assert claims["table-2-possible"].verdict == "not-reproducible"
    assert claims["better-than-wls"].ours < 0.0
    assert claims["better-than-wls"].verdict == "not-reproducible"
    assert claims["known-start-weighted"].ours < 1e-6
    assert claims["training-gain"].ours > 0.0
    assert claims["kalman-better"].ours < 0.8
    assert claims["generations-rwpso"].shown_verdict == "not judged"
    tables = found.tables
    rms = {row[0]: np.array(row[1:7], dtype=float) for row in tables["table-3"].rows}
    assert (rms["WLS"] <= rms["WLS-RWPSO"] * 1.01).all()
    np.testing.assert_allclose(rms["WLS"], rms["noise of the torque, given"], rtol=0.1)
    assert len(tables["six-joints"].rows) == 52
    charts = {chart.name for section in found.sections for chart in section.charts}
    assert {"figure-2", "figure-4", "figure-5", "figure-6", "figure-8"} <= charts
    again = find_paper("rocr6-wlsrwpso").reproduce(Lab(folder=tmp_path, quick=True))
    assert again.claims == found.claims
