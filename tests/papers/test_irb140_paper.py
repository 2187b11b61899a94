"""ABB IRB 140: searches, network, loop, and the quick reproduction."""

import sys

import numpy as np
import pytest
from judging import CONDITIONAL, FAILED, verdicts_of
from sampling import sampled

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.errors import MissingExtraError
from robotid_sim.model.catalog import load_robot, make_published_robot
from robotid_sim.model.inertia import inconsistency
from robotid_sim.papers import find_paper
from robotid_sim.papers.irb140 import control, inverse_network, kinematics
from robotid_sim.papers.irb140.control import SCENARIOS
from robotid_sim.papers.irb140.model import (
    ITERATIONS,
    PARTICLES,
    PUBLISHED_SETS,
    ROBOT_NAME,
    mape,
    parameter_vector,
)
from robotid_sim.papers.irb140.paper import (
    CLAMPS,
    EQUAL_SHARES,
    EQUAL_STEPS,
    WIDE_CASE,
    add_computed,
)
from robotid_sim.papers.irb140.swarms import (
    METHOD_SETTINGS,
    QUBIT_CLAMP,
    ParameterDistance,
    clamp_steps,
    search,
    torque_map,
    unseen_states,
)
from robotid_sim.papers.paper import ReproductionSetup
from robotid_sim.papers.trial_table import TrialTable


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


@pytest.mark.parametrize("method", sampled(METHOD_SETTINGS, "pso", "qubit", mark=pytest.mark.slow))
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
    assert clamp_steps("pso", 0.1)[1]["velocity_limit"] == 0.1
    assert clamp_steps("qubit", 0.1)[1]["velocity_limit"] == pytest.approx(0.05 * np.pi)
    assert clamp_steps("qubit", QUBIT_CLAMP)[1]["velocity_limit"] == pytest.approx(0.1)
    default, wider = (search("qubit", "relative", 0.5, 1, 0, clamp) for clamp in (None, 0.4))
    assert wider["runs"][0]["cost"] != default["runs"][0]["cost"]


def test_equal_steps_are_equal_in_the_middle_of_the_box() -> None:
    assert (QUBIT_CLAMP, QUBIT_CLAMP) in EQUAL_SHARES
    for step, share in EQUAL_STEPS:
        angle = 0.25 * np.pi + 0.5 * share * 0.5 * np.pi * np.array([-1.0, 1.0])
        assert -np.diff(np.cos(angle) ** 2)[0] == pytest.approx(step, rel=0.01)
    assert len(set(CLAMPS)) == len({f"{method} {clamp:.4f}" for method, clamp in CLAMPS})


def test_poses_near_a_singularity_are_left_out() -> None:
    _, positions, excluded = kinematics.regular_poses(None, 2000, np.random.default_rng(0))
    assert 0.0 < excluded < 0.2
    assert positions.shape == (2000 - round(2000 * excluded), 3)
    assert kinematics.regular_poses(15.0, 500, np.random.default_rng(0))[2] == 0.0


def test_the_slopes_of_a_jacobian_are_its_differences() -> None:
    q = np.random.default_rng(0).uniform(-2.0, 2.0, (5, 6))
    jacobians, positions = kinematics.jacobian(q)
    assert np.allclose(positions, kinematics.position(q), atol=1e-14)
    step = 1e-6
    slopes = inverse_network.jacobian_slopes(jacobians)
    for k, unit in enumerate(step * np.eye(6)):
        ends = [kinematics.jacobian(q + side * unit)[0] for side in (1.0, -1.0)]
        assert np.allclose(np.subtract(*ends) / (2.0 * step), slopes[:, k], atol=1e-8)


def test_the_loss_of_an_inverse_network_has_the_gradient_that_it_says() -> None:
    rng = np.random.default_rng(1)
    x, xyz = rng.uniform(-1.0, 1.0, (20, 6)), rng.uniform(0.2, 0.6, (20, 3))
    net = inverse_network.InverseNetwork(6, np.zeros(6), np.ones(6))
    weights = net.start(rng)
    way = rng.standard_normal(weights.size)
    for penalized in (False, True):
        loss = inverse_network.eq_33(net, x, xyz, penalized=penalized)
        slope = (loss(weights + 1e-6 * way)[0] - loss(weights - 1e-6 * way)[0]) / 2e-6
        assert loss(weights)[1] @ way == pytest.approx(slope, rel=1e-6)


def test_torques_of_many_candidates_are_those_of_the_formal_robot() -> None:
    robot = load_robot(ROBOT_NAME)
    states = unseen_states(robot, 0)
    columns = [parameter_vector(column) for column in PUBLISHED_SETS]
    torques = torque_map(robot, states)(np.array(columns))
    for tau, name in zip(torques, PUBLISHED_SETS.values(), strict=True):
        formal = make_published_robot(ROBOT_NAME, name)
        expected = joint_torque(formal, states.q, states.dq, states.ddq)[:, :3]
        assert np.allclose(tau, expected, atol=1e-10)


@pytest.mark.parametrize("column", PUBLISHED_SETS)
def test_an_arm_has_the_torques_of_its_column_and_can_exist(column) -> None:
    robot = load_robot(ROBOT_NAME)
    arm = control.find_equivalent(robot, base_parameters(robot, ()), column)
    states = unseen_states(robot, 0)
    apart, formal = (
        joint_torque(model, states.q, states.dq, states.ddq)
        for model in (arm, make_published_robot(ROBOT_NAME, PUBLISHED_SETS[column]))
    )
    assert np.abs(apart - formal).max() < 1e-6 * np.abs(formal).max()
    assert all(inconsistency(link.phi) is None for link in arm.links)


def test_a_missing_extra_is_named_before_any_work(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.neural_network", None)
    with pytest.raises(MissingExtraError, match=r"pip install -e '\.\[papers\]'"):
        find_paper("irb140-qpso").require()


@pytest.mark.slow
def test_the_quick_reproduction_says_what_holds(tmp_path) -> None:
    lab = ReproductionSetup(tmp_path, quick=True, workers=2)
    found = find_paper("irb140-qpso").reproduce(lab)
    claims = {claim.name: claim for claim in found.claims}
    assert len(claims) == len(found.claims)
    assert found.passed  # nothing statistical is judged
    judged = {name for name, claim in claims.items() if claim.judged}
    assert judged == {name for name in claims if name in DETERMINED or name.startswith("table-3")}
    for scenario in ("nominal", "disturbed"):
        for part in ("torque-closest", "torque-settled", "energy-closest"):
            claim = claims[f"{part}-{scenario}"]
            assert claim.printed.band.is_met(claim.ours)
    assert claims["qpso-beats-pso-mape-com"].interval[0] > 1.0
    assert claims["equal-clamps-mape-inertia"].interval[1] < 1.0
    assert claims["network-validation"].ours <= 0.61
    assert claims["network-whole-workspace"].ours > 0.61
    again = find_paper("irb140-qpso").reproduce(lab)
    assert again.claims == found.claims
    assert set(found.tables) >= {"table-3-parameters", "table-4-tracking", "clamps"}
    table = find_paper("irb140-qpso").run(lab)
    judged = verdicts_of("irb140-qpso", table)
    assert {judged[name] for name in SEARCHED.split()} == {CONDITIONAL}
    for put, verdict, names in REPLACED:
        changed = add_computed(table | TrialTable(put(table)))
        found = verdicts_of("irb140-qpso", changed)
        assert {found[name] for name in names.split()} == {verdict}, put.__name__


def random_search(table: TrialTable) -> dict:
    """Put the best of as many random points in the place of the qubits."""
    truth = parameter_vector("reference")
    box = ParameterDistance(truth, 0.5, "relative", ITERATIONS)

    def drawn(run: int) -> dict[str, float]:
        size = (PARTICLES * ITERATIONS, truth.size)
        points = np.random.default_rng(run).uniform(box.lower, box.upper, size)
        best = points[box(points).argmin()]
        com, inertia = mape(best * truth, truth)
        return {"cost": float(box(best[None])[0]), "mape_com": com, "mape_inertia": inertia}

    return qubits_with(table, drawn)


def truth_found(table: TrialTable) -> dict:
    """Put the truth, up to rounding, in the place of the qubits' results, whatever their clamp."""

    def exact(run: int) -> dict[str, float]:
        size = 1e-10 * (1 + run)
        return {"cost": size**2, "mape_com": size, "mape_inertia": size}

    return qubits_with(table, exact)


def qubits_with(table: TrialTable, found) -> dict:
    searched = {
        key: rows
        for key, rows in table.rows.items()
        if key[0] in ("search", "clamp") and key[2] == "qubit"
    }
    values = [found(run) for run in range(max(map(len, searched.values())))]
    return {
        key: [{**row, **values[k]} for k, row in enumerate(rows)] for key, rows in searched.items()
    }


def one_clamp(table: TrialTable) -> dict:
    """Let PSO fly with the qubits' clamp: without what makes the difference."""
    return {("search", WIDE_CASE, "pso"): table.runs("clamp", "pso", f"{QUBIT_CLAMP:.4f}")}


def same_model(table: TrialTable) -> dict:
    """Put the model of PSO in the place of QPSO's, in controllers and as arms."""
    return {
        (study, scenario, "QPSO"): table.runs(study, "PSO", scenario)
        for study in ("loop", "arms")
        for scenario in SCENARIOS
    }


def no_penalty(table: TrialTable) -> dict:
    """Put networks that end on singular poses in the place of those with the penalty."""
    rows = table.runs("inverse", "penalty")
    return {("inverse", "", "penalty"): [{**row, "singular": 0.17} for row in rows]}


def parameters_alone(table: TrialTable) -> dict:
    """Put the searches by eq. (20) in the place of those by torque."""
    return {
        ("performance", swarm, "control-aware"): table.runs("performance", "eq-20", swarm)
        for swarm in table.cases("performance")
    }


DETERMINED = {"parameters-visible", "cad-error", "cad-masses", "cad-bodies", "fitness-reduction"}
"""What no run is needed for, beside the sums of Table 3."""
SEARCHED = "qpso-beats-pso-mape-com qpso-beats-pso-mape-inertia final-fitness "
LOOPS = " ".join(
    f"{name}-{scenario}"
    for name in (
        *("torque-closest", "torque-settled", "energy-closest"),
        *("arms-torque-closest", "arms-energy-closest"),
    )
    for scenario in SCENARIOS
)
EQUAL = "equal-clamps-mape-com equal-clamps-mape-inertia equal-clamps-final-fitness"
REPLACED = (
    (random_search, FAILED, SEARCHED),
    (one_clamp, FAILED, SEARCHED),
    (truth_found, CONDITIONAL, SEARCHED + EQUAL),
    (same_model, FAILED, LOOPS),
    (no_penalty, FAILED, "singularity-penalty"),
    (parameters_alone, FAILED, "control-aware-circle"),
)
"""What stands in the place of a method, the verdict that follows, and on which claims."""
