"""ABB IRB 140: searches, network, loop, and the quick reproduction."""

import sys

import numpy as np
import pytest

from robotid_sim.errors import MissingExtraError
from robotid_sim.papers import find_paper
from robotid_sim.papers.grid import values_of
from robotid_sim.papers.irb140 import network
from robotid_sim.papers.irb140.campaign import CLAMPS, EQUAL_SHARES, EQUAL_STEPS
from robotid_sim.papers.irb140.published import parameter_vector
from robotid_sim.papers.irb140.swarms import (
    METHODS,
    QUBIT_CLAMP,
    ParameterDistance,
    clamped,
    search,
)
from robotid_sim.papers.paper import Lab


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
        assert cost.reach == pytest.approx(2.0, abs=0.05)


@pytest.mark.parametrize("method", METHODS)
def test_every_search_is_repeatable_and_keeps_its_budget(method) -> None:
    found, again = (search(method, "relative", 0.1, 1, 3)["runs"][0] for _ in range(2))
    assert found["evaluations"] == 18_000
    for key in ("cost", "estimate", "curve", "converged"):
        assert found[key] == again[key]
    curve = np.array(found["curve"])
    assert curve.size == 150
    assert (np.diff(curve) <= 0.0).all()


def test_one_measured_qubit_a_parameter_sees_corners_only() -> None:
    (found,) = search("qubit-single", "relative", 0.5, 1, 0)["runs"]
    share = np.array(found["estimate"]) / parameter_vector("reference")
    assert np.isin(share.round(9), (0.5, 1.6)).all()


def test_printed_settings_fly_away() -> None:
    found = search("pso-literal", "relative", 0.5, 3, 0)["runs"]
    assert min(run["reach"] for run in found) > 1e6
    assert max(run["last_gain"] for run in found) < 10


def test_a_clamp_is_a_share_of_what_the_particles_fly_in() -> None:
    assert clamped(METHODS["pso"], 0.1).options["velocity_limit"] == 0.1
    assert clamped(METHODS["qubit"], 0.1).options["velocity_limit"] == pytest.approx(0.05 * np.pi)
    same = clamped(METHODS["qubit"], QUBIT_CLAMP)
    assert same.options["velocity_limit"] == pytest.approx(0.1)
    default, wider = (search("qubit", "relative", 0.5, 1, 0, clamp) for clamp in (None, 0.4))
    assert wider["runs"][0]["cost"] != default["runs"][0]["cost"]


def test_equal_steps_are_equal_in_the_middle_of_the_box() -> None:
    for step, share in EQUAL_STEPS:
        angle = 0.25 * np.pi + 0.5 * share * 0.5 * np.pi * np.array([-1.0, 1.0])
        assert -np.diff(np.cos(angle) ** 2)[0] == pytest.approx(step, rel=0.01)
    assert len(set(CLAMPS)) == len({f"{method} {clamp:.4f}" for method, clamp in CLAMPS})


def test_one_clamp_for_both_turns_the_order_of_the_swarms() -> None:
    assert (QUBIT_CLAMP, QUBIT_CLAMP) in EQUAL_SHARES
    errors = {
        (method, clamp): values_of(
            search(method, "relative", 0.5, 4, 0, clamp)["runs"], "mape_com"
        ).mean()
        for method in ("pso", "qubit")
        for clamp in (QUBIT_CLAMP, None)
    }
    assert errors["qubit", None] < errors["pso", None]
    assert errors["pso", QUBIT_CLAMP] < errors["qubit", QUBIT_CLAMP]


def test_poses_near_a_singularity_are_left_out() -> None:
    _, positions, excluded = network._poses(None, 2000, np.random.default_rng(0))
    assert 0.0 < excluded < 0.2
    assert positions.shape == (2000 - round(2000 * excluded), 3)
    assert network._poses(15.0, 500, np.random.default_rng(0))[2] == 0.0


def test_a_missing_extra_is_named_before_any_work(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.neural_network", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'robotid_sim\[papers\]'"):
        find_paper("irb140-qpso").require()


@pytest.mark.slow
def test_the_quick_reproduction_says_what_holds(tmp_path) -> None:
    lab = Lab(tmp_path, quick=True, workers=2)
    found = find_paper("irb140-qpso").reproduce(lab)
    claims = {claim.name: claim for claim in found.claims}
    assert len(claims) == len(found.claims)
    assert found.passed  # nothing statistical is judged
    judged = {name for name, claim in claims.items() if claim.judged}
    assert judged == {name for name in claims if name.startswith(("table-3", "parameters"))}
    for scenario in ("nominal", "disturbed"):
        for part in ("closest", "settled"):
            assert claims[f"torque-{part}-{scenario}"].ours >= 3.0
        assert claims[f"energy-closest-{scenario}"].ours >= 1.5
    assert claims["qpso-beats-pso-mape-com"].interval[0] > 1.0
    assert claims["equal-clamps-mape-inertia"].interval[1] < 1.0
    assert claims["network-validation"].ours <= 0.61
    assert claims["network-whole-workspace"].ours > 0.61
    again = find_paper("irb140-qpso").reproduce(lab)
    assert again.claims == found.claims
    assert set(found.tables) >= {"table-3-parameters", "table-4-tracking", "clamps"}
