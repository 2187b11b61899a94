"""ABB IRB 140: searches, network, loop, and the quick reproduction."""

import sys

import numpy as np
import pytest

from robotid_sim.errors import MissingExtraError
from robotid_sim.papers import Lab, find_paper
from robotid_sim.papers.irb140 import network
from robotid_sim.papers.irb140.published import parameter_vector
from robotid_sim.papers.irb140.swarms import METHODS, ParameterDistance, search


def test_the_cost_is_zero_at_the_answer_and_grows_outside_the_box() -> None:
    reference = parameter_vector("reference")
    for scaling in ("relative", "raw"):
        cost = ParameterDistance(reference, 0.5, scaling, iterations=2)
        assert cost(cost.target[None])[0] == 0.0
        assert (cost.lower < cost.upper).all()
        far = cost.target + 2.0 * (cost.upper - cost.lower)
        distance = ((far - cost.target) ** 2).sum()
        first, last = cost(far[None])[0], cost(far[None])[0]
        assert distance < first < last
        assert cost.reach > 3.0


@pytest.mark.parametrize("method", METHODS)
def test_every_search_is_repeatable_and_keeps_its_budget(method) -> None:
    found, again = (search(method, "relative", 0.1, 1, 3) for _ in range(2))
    assert found["evaluations"] == 18_000
    for key in ("cost", "estimate", "curve", "converged"):
        assert found[key] == again[key]
    curve = np.array(found["curve"][0])
    assert curve.size == 150
    assert (np.diff(curve) <= 0.0).all()


def test_one_measured_qubit_a_parameter_sees_corners_only() -> None:
    found = search("qubit-single", "relative", 0.5, 1, 0)
    share = np.array(found["estimate"][0]) / parameter_vector("reference")
    assert np.isin(share.round(9), (0.5, 1.6)).all()


def test_printed_settings_fly_away() -> None:
    found = search("pso-literal", "relative", 0.5, 3, 0)
    assert min(found["reach"]) > 1e6
    assert max(found["last_gain"]) < 10


def test_poses_near_a_singularity_are_left_out() -> None:
    _, positions, excluded = network._poses(None, 2000, np.random.default_rng(0))
    assert 0.0 < excluded < 0.2
    assert positions.shape == (2000 - round(2000 * excluded), 3)
    assert network._poses(15.0, 500, np.random.default_rng(0))[2] == 0.0


def test_a_missing_extra_is_named_before_any_work(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.neural_network", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'robotid_sim\[kinematics\]'"):
        find_paper("irb140-qpso").require()


@pytest.mark.slow
def test_the_quick_reproduction_says_what_holds(tmp_path) -> None:
    lab = Lab(tmp_path, quick=True, workers=2)
    found = find_paper("irb140-qpso").reproduce(lab)
    claims = {claim.name: claim for claim in found.claims}
    assert found.passed
    for name in ("torque-closest-nominal", "torque-closest-disturbed"):
        assert claims[name].ours >= 3.0
        assert claims[name].verdict == "reproduced"
    assert claims["energy-closest-disturbed"].ours >= 1.5
    assert claims["qpso-beats-pso-mape-com"].ours > 1.0
    assert claims["network-validation"].ours <= 0.61
    assert claims["network-whole-workspace"].verdict == "not-reproducible"
    assert claims["torque-smoother"].verdict == "not-reproducible"
    assert claims["swarms-on-torque-data"].ours >= 1.0
    again = find_paper("irb140-qpso").reproduce(lab)
    assert again.claims == found.claims
    assert {stem for stem, _ in found.files} >= {"table-3-parameters", "table-4-tracking"}
