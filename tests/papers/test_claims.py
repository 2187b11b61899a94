"""Claims: bands, intervals, files."""

import numpy as np
import pytest

from robotid_sim.errors import OptionError
from robotid_sim.files import read_json
from robotid_sim.papers.claims import (
    Claim,
    claim_row,
    interval_of_mean,
    interval_of_median,
    interval_of_ratio,
    write_claims,
)


def claim(**changes) -> Claim:
    content = {
        "name": "mean-condition",
        "claim": "The mean condition number is 7.16.",
        "published": 7.16,
        "ours": 7.5,
        "band": (6.5, 9.5),
        "verdict": "reproduced",
        "reason": "with columns of unit length",
    }
    return Claim(**{**content, **changes})


def test_a_band_is_met_or_missed_by_a_number() -> None:
    assert claim().within is True
    assert claim(ours=6.0).missed == "0.5 below the band"
    assert claim(ours=12.0, unit="mm").missed == "2.5 mm above the band"
    assert claim(band=(None, 9.5)).within is True
    assert claim(band=(9.5, None)).within is False
    assert claim(band=None).within is None
    assert claim(ours=99.0, judged=False).within is None
    assert claim(ours=float("nan")).within is False


def test_a_band_is_undecided_if_only_the_interval_reaches_it() -> None:
    assert claim().outcome == "met"
    assert claim(ours=6.0).outcome == "missed"
    assert claim(ours=6.0, interval=(5.0, 6.4)).outcome == "missed"
    near = claim(ours=6.0, interval=(5.0, 6.6))
    assert near.outcome == "undecided"
    assert near.missed == "undecided: 0.5 below the band, which its interval reaches"
    assert claim(ours=6.0, interval=(5.0, 6.6), judged=False).outcome is None
    assert claim(ours=9.0, interval=(4.0, 12.0)).outcome == "met"
    assert claim(ours=10.0, band=(None, 9.5), interval=(9.4, 11.0)).outcome == "undecided"


def test_what_is_not_judged_has_no_verdict() -> None:
    assert claim().shown_verdict == "reproduced"
    assert claim(judged=False).shown_verdict == "not judged"
    assert claim_row(claim(judged=False))["verdict"] == "not judged"


def test_a_claim_without_number_has_no_band() -> None:
    with pytest.raises(OptionError, match="has a band but no number"):
        claim(ours="lost")
    with pytest.raises(OptionError, match="verdict 'maybe' is none of"):
        claim(verdict="maybe")


def test_claims_are_written_with_their_outcome(tmp_path) -> None:
    rows = [claim(interval=(7.0, 8.0)), claim(name="lost", published=None, band=None)]
    write_claims(tmp_path / "claims.json", "irb120-mupso", rows)
    content = read_json(tmp_path / "claims.json", "claims", 1)
    assert content["paper"] == "irb120-mupso"
    assert [row["name"] for row in content["claims"]] == ["mean-condition", "lost"]
    assert content["claims"][0]["interval"] == [7.0, 8.0]
    assert [row["outcome"] for row in content["claims"]] == ["met", None]


def test_the_interval_of_the_mean_covers_it_as_often_as_stated() -> None:
    rng = np.random.default_rng(0)
    draws = rng.normal(3.0, 2.0, (2000, 5))
    found = np.array([interval_of_mean(row) for row in draws])
    covered = ((found[:, 0] < 3.0) & (found[:, 1] > 3.0)).mean()
    assert covered == pytest.approx(0.95, abs=0.015)  # three standard errors
    assert interval_of_mean([1.0, 2.0, 3.0]) is None


def test_the_interval_of_a_ratio_covers_it_about_as_often_as_stated() -> None:
    rng = np.random.default_rng(0)
    draws = rng.normal((4.0, 2.0), 0.5, (200, 20, 2))
    found = np.array([interval_of_ratio(*pair.T) for pair in draws])
    covered = ((found[:, 0] < 2.0) & (found[:, 1] > 2.0)).mean()
    assert covered == pytest.approx(0.94, abs=0.05)
    assert interval_of_ratio([1.0], [2.0]) is None


def test_pairs_narrow_the_interval_of_a_ratio() -> None:
    common = np.random.default_rng(0).uniform(1.0, 10.0, 20)
    free, paired = (interval_of_ratio(2.0 * common, common, paired=p) for p in (False, True))
    assert paired == pytest.approx((2.0, 2.0))
    assert free[1] - free[0] > 0.5


def test_the_interval_of_the_median_covers_it_at_least_as_often_as_stated() -> None:
    rng = np.random.default_rng(0)
    draws = rng.exponential(1.0, (2000, 10))
    found = np.array([interval_of_median(row) for row in draws])
    covered = ((found[:, 0] < np.log(2.0)) & (found[:, 1] > np.log(2.0))).mean()
    assert covered == pytest.approx(0.979, abs=0.01)  # 1 - 2 (1 + 10) / 2^10
    assert interval_of_median([1.0] * 5) is None
    assert interval_of_median(np.arange(6.0)) == (0.0, 5.0)
