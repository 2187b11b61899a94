"""Terms of joints: selected by blocks, found with their numbers where they are, none elsewhere."""

from dataclasses import replace

import numpy as np
import pytest
from sampling import sampled

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.dynamics.term_torques import TermStates, term_columns, terms_torque
from robotid_sim.errors import LogError, OptionError, UnknownNameError
from robotid_sim.estimation.hold_out import HeldOut
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import build_problem, extend_problem
from robotid_sim.estimation.selection import (
    FINALIST_COUNT,
    Hypothesis,
    ResidualProjection,
    compute_gains,
    fit_groups,
    is_no_worse,
    list_groups,
    pick_finalists,
    select_groups,
)
from robotid_sim.estimation.structure import EMPTY_STRUCTURE, set_term_values
from robotid_sim.estimation.structure_search import choose_structure
from robotid_sim.estimation.term_fit import TermRows, fit_terms
from robotid_sim.model import parameters
from robotid_sim.model.friction_law import FRICTION_LAWS
from robotid_sim.model.joint_terms import ALL, FITTED_KINDS, TERM_KINDS, JointTerm, select_kinds

SEEDS = 10


@pytest.fixture(scope="module")
def case(irb140, exact):
    return exact(irb140, 100.0)


def term_of(case, law, joint):
    """Return the term that a law gives a joint; of coupled joints the last."""
    options = {"duration": 10.0} if law == "warming" else {}
    terms = FRICTION_LAWS.build(law, **options).terms(case.robot)
    return terms[-1] if law == "coupled-joints" else terms[joint]


def fitted(case, terms, seed=0):
    """Return motion and problem of the exact torque, with terms and noise."""
    noise = case.white(np.random.default_rng(seed))
    t = case.dt * np.arange(len(noise))
    more = terms_torque(case.robot, terms, *case.state, t=t)
    motion = case.motion(case.tau + more + 0.3 * noise)
    return motion, build_problem(motion, case.robot, case.basis)


def wls(problem):
    return WeightedLeastSquares().fit(problem, np.random.default_rng(0))


OTHERS = {
    "stribeck": lambda joint: JointTerm("stribeck", joint.name, (0.3 * joint.friction.Fc,), 0.15),
    "asymmetric": lambda joint: JointTerm(
        "asymmetric-friction", joint.name, (0.3 * joint.friction.Fv, 0.2 * joint.friction.Fc)
    ),
    "load-dependent": lambda joint: JointTerm("load-dependent-friction", joint.name, (0.08,)),
    "transition-velocity": lambda joint: JointTerm(
        "transition-velocity", joint.name, (joint.friction.Fc,), 0.15
    ),
}
"""Terms whose laws the plant solves for implicitly."""

LAWS = (
    *("offset", "curved-viscous", "position-dependent", "cogging", "presliding", "spring"),
    *("warming", "coupled-joints"),
)


@pytest.mark.parametrize("law", sampled((*LAWS, *OTHERS), "offset", mark=pytest.mark.slow))
def test_a_term_is_found_with_its_numbers_and_nothing_else(case, law):
    joint = 1 if law == "load-dependent" else 4  # the shoulder carries a load
    term = OTHERS[law](case.robot.joints[joint]) if law in OTHERS else term_of(case, law, joint)
    motion, problem = fitted(case, [term])
    found = choose_structure(problem, motion, case.robot, [ALL])
    (one,) = found.terms
    assert (one.term.kind, one.term.joint, one.term.partner) == (
        term.kind,
        term.joint,
        term.partner,
    )
    assert one.gain > 3.0 * one.gain_std
    assert (np.abs(np.subtract(one.term.values, term.values)) < 4.0 * np.array(one.std)).all()
    if one.shape_std is not None:
        assert abs(one.term.shape - term.shape) < 4.0 * one.shape_std
    else:
        assert one.term.shape == term.shape


@pytest.mark.slow
def test_nothing_is_added_where_nothing_is(case):
    found = [choose_structure(*fitted(case, (), s)[::-1], case.robot, [ALL]) for s in range(SEEDS)]
    assert all(one is EMPTY_STRUCTURE for one in found)


@pytest.mark.slow
def test_two_terms_of_one_joint_and_one_of_another_are_told_apart(case):
    terms = [
        term_of(case, "cogging", 4),
        OTHERS["stribeck"](case.robot.joints[4]),
        term_of(case, "spring", 2),
    ]
    motion, problem = fitted(case, terms)
    found = choose_structure(problem, motion, case.robot, [ALL]).robot_terms()
    assert {(t.kind, t.joint) for t in found} == {(t.kind, t.joint) for t in terms}


@pytest.mark.slow
def test_a_joint_may_have_several_harmonics(case):
    name = case.robot.joint_names[4]
    terms = [JointTerm("cogging", name, (0.4, 0.0), k) for k in (3.0, 8.0)]
    motion, problem = fitted(case, terms)
    found = choose_structure(problem, motion, case.robot, [ALL]).robot_terms()
    assert {(t.kind, t.joint, t.shape) for t in found} == {(t.kind, name, t.shape) for t in terms}


def test_only_the_kinds_that_are_asked_for_are_tried(case):
    motion, problem = fitted(case, [term_of(case, "cogging", 4)])
    assert choose_structure(problem, motion, case.robot, ["stribeck"]) is EMPTY_STRUCTURE
    assert choose_structure(problem, motion, case.robot, []) is EMPTY_STRUCTURE
    with pytest.raises(UnknownNameError, match="cogs"):
        choose_structure(problem, motion, case.robot, ["cogs"])


@pytest.mark.slow
@pytest.mark.parametrize("law", ["cogging", "coupled-joints"])
def test_beside_terms_the_other_parameters_are_those_of_a_fit_with_all(case, law):
    motion, problem = fitted(case, [term_of(case, law, 4)])
    found = choose_structure(problem, motion, case.robot, [ALL])
    names = [f"x{k}" for k in range(found.columns.shape[1])]
    whole = wls(extend_problem(problem, found.columns, names, ["1"] * len(names)))
    beside, b = wls(found.project_rows(problem)), case.basis.rank
    assert (np.abs(beside.beta - whole.beta[:b]) / whole.std[:b]).max() < 0.05
    np.testing.assert_allclose(beside.std, whole.std[:b], rtol=0.15)
    again = set_term_values(found, problem, beside.beta, beside.noise_std)
    values = [value for term in again.robot_terms() for value in term.values]
    np.testing.assert_allclose(values, whole.beta[b:], rtol=0.02, atol=1e-4)


def test_a_joint_without_torque_has_no_terms(case):
    term = term_of(case, "cogging", 2)
    motion, _ = fitted(case, [term])
    tau = np.array(motion.tau)
    tau[:, 4] = 0.0
    motion = replace(motion, tau=tau)
    problem = build_problem(motion, case.robot, case.basis)
    found = choose_structure(problem, motion, case.robot, ["cogging", "spring", "offset"])
    assert [one.joint for one in found.robot_terms()] == [term.joint]


def test_few_rows_are_refused(case):
    motion, _ = fitted(case, ())
    mask = np.arange(motion.t.size) % 30 == 0
    motion = replace(motion, mask=mask)
    problem = build_problem(motion, case.robot, case.basis)
    with pytest.raises(LogError, match="too few to choose terms"):
        choose_structure(problem, motion, case.robot, [ALL])


@pytest.mark.parametrize("law", ["presliding", "stribeck", "transition-velocity"])
def test_constants_settle_wherever_their_search_stopped(case, law):
    joint = case.robot.joints[4]
    term = OTHERS[law](joint) if law in OTHERS else term_of(case, law, 4)
    motion, problem = fitted(case, [term])
    rows = TermRows.from_problem(problem, motion, case.robot, case.beta)
    low, high = (
        fit_terms(rows, [rows.candidate(term.kind, 4, None, factor * term.shape)]).terms[0]
        for factor in (0.8, 1.2)
    )
    assert abs(low.term.shape - high.term.shape) < 0.05 * low.shape_std
    assert abs(low.term.shape - term.shape) < 3.0 * low.shape_std
    np.testing.assert_allclose(low.term.values, high.term.values, atol=0.05 * low.std[0])


def test_a_constant_at_a_bound_of_its_search_is_said_to_be(case):
    name, least = case.robot.joint_names[4], TERM_KINDS["presliding"].constant.bounds[0]
    for distance, at_bound in ((0.5 * least, True), (3e-3, False)):
        motion, problem = fitted(case, [JointTerm("presliding", name, (1.0,), distance)])
        rows = TermRows.from_problem(problem, motion, case.robot, case.beta)
        start = rows.candidate("presliding", 4, None, max(distance, 1.05 * least))
        (found,) = fit_terms(rows, [start]).terms
        assert found.at_bound == found.content()["at_bound"] == at_bound
        assert (found.term.shape == least) == at_bound
        assert any("at a bound" in text for text in found.numbers("rad")) == at_bound


@pytest.mark.parametrize(("joint", "shown"), [(0, False), (1, False), (2, True)])
def test_a_rotor_that_no_torque_shows_widens_the_interval_of_the_load(case, joint, shown):
    """On the first two joints only the sum of rotor and links shows; the gear bears the links'."""
    place = parameters.joint_slice(joint, case.robot.dof).start + parameters.JOINT_SYMBOLS.index(
        "Ia"
    )
    phi = case.robot.parameters()
    phi[place] = 0.5
    term = JointTerm("load-dependent-friction", case.robot.joint_names[joint], (0.08,))
    motion, _ = fitted(case, [term])
    tau = np.array(motion.tau)
    tau[:, joint] += 0.5 * motion.ddq[:, joint]
    motion, found = replace(motion, tau=tau), []
    for rotor in (0.5, 0.59):
        phi[place] = rotor
        model = case.robot.with_parameters(phi)
        problem = build_problem(motion, model, base_parameters(model))
        found += choose_structure(problem, motion, model, [term.kind]).terms
    right, wrong = found
    assert abs(right.term.values[0] - 0.08) < 3.0 * right.std[0]
    moved = abs(wrong.term.values[0] - right.term.values[0])
    assert (moved < 0.01 * right.std[0]) == shown
    # The rotor is off by most of a deviation: what the load's share moves by is in its own.
    assert (right.std[0] > moved > 0.5 * right.std[0]) != shown


class TestTorques:
    def test_a_robot_with_terms_has_their_torque(self, case):
        terms = (term_of(case, "cogging", 4), term_of(case, "coupled-joints", 5))
        robot = replace(case.robot, terms=terms)
        more = joint_torque(robot, *case.state) - joint_torque(case.robot, *case.state)
        np.testing.assert_allclose(more, terms_torque(case.robot, terms, *case.state), atol=1e-12)

    def test_coupled_joints_conserve_power(self, case):
        """A rotor that turns with both joints holds energy of both: its matrix is symmetric."""
        states = TermStates.from_motion(case.robot, *case.state)
        for side in (1.0, -1.0):
            columns = term_columns("coupled-joints", states, 5, side, 4)
            _, dq, ddq = case.state
            power = (columns[..., 0] * dq).sum(axis=1)
            expected = side * (ddq[:, 4] * dq[:, 5] + ddq[:, 5] * dq[:, 4])
            np.testing.assert_allclose(power, expected, atol=1e-12)
            assert ((columns[..., 2] * dq).sum(axis=1) >= -1e-12).all()  # friction takes power

    def test_presliding_friction_takes_less_energy_by_its_distance(self, case):
        """A reversal builds z up as 1 - 2 exp(-x / d), which lacks 2 d of the way."""
        t = np.linspace(0.0, 4.0 * np.pi, 40001)
        q, A, d = np.zeros((t.size, 6)), 0.5, 5e-3
        q[:, 4] = A * np.sin(t)
        dq = np.gradient(q, t, axis=0)
        Fc = case.robot.joints[4].friction.Fc
        term = JointTerm("presliding", case.robot.joint_names[4], (Fc,), d)
        sign = np.tanh(dq[:, 4] / case.robot.eps[4])
        torque = terms_torque(case.robot, [term], q, dq, 0.0 * q)[:, 4] + Fc * sign
        cycle = t >= 2.0 * np.pi
        work = np.trapezoid((torque * dq[:, 4])[cycle], t[cycle])
        assert work == pytest.approx(Fc * (4.0 * A - 4.0 * d), rel=1e-3)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "cogs"}, "unknown term"),
        ({"values": (1.0,)}, "Ts, Tk"),
        ({"values": (np.nan, 0.0)}, "finite"),
        ({"shape": None}, "needs k"),
        ({"shape": -1.0}, "positive"),
        ({"partner": "joint_4"}, "only coupled"),
    ],
)
def test_a_term_with_wrong_numbers_is_refused(change, said):
    with pytest.raises(OptionError, match=said):
        JointTerm(
            **{"kind": "cogging", "joint": "joint_5", "values": (1.0, 0.0), "shape": 4.0} | change
        )


def test_a_term_of_a_joint_that_is_not_there_is_refused(irb140):
    with pytest.raises(OptionError, match="no joint 'elbow'"):
        replace(irb140, terms=(JointTerm("offset", "elbow", (1.0,)),))


def test_all_stands_for_every_kind():
    assert select_kinds(["none"]) == select_kinds([]) == ()
    assert (
        select_kinds([ALL]) == FITTED_KINDS == tuple(k for k in TERM_KINDS if k != "counterbalance")
    )
    assert select_kinds(["stribeck", "offset"]) == ("offset", "stribeck")


def test_a_table_is_not_looked_for():
    with pytest.raises(OptionError, match="no fit selects the term 'counterbalance'"):
        select_kinds(["counterbalance"])


N, DOF = 400, 2


@pytest.fixture(scope="module")
def rows():
    """Columns of which the first three and the fifth make the torque, and that torque."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(N, DOF, 6))
    y = A @ np.array([1.0, -2.0, 0.5, 0.0, 0.3, 0.0]) + 0.1 * rng.normal(size=(N, DOF))
    return A, y


@pytest.fixture(scope="module")
def held(rows):
    A, y = rows
    fold = np.arange(N) * 8 // N
    use = np.ones((N, DOF), dtype=bool)
    return HeldOut.from_columns(
        np.concatenate([A, y[:, :, None]], axis=2), fold, use, np.full(DOF, 1e-6)
    )


def test_a_first_look_gains_what_least_squares_does(rows):
    A, y = rows
    weights = np.full((N, DOF), 3.0)
    remainder = ResidualProjection.from_columns(A[:, :, :3], weights)
    gains = remainder.gains(y, [A[:, :, 3:4], A[:, :, 4:6]])
    flat, target = A.reshape(-1, 6), y.ravel()
    for gain, columns in zip(gains, ([0, 1, 2, 3], [0, 1, 2, 4, 5]), strict=True):
        beta = np.linalg.lstsq(flat[:, columns], target, rcond=None)[0]
        cost = 4.5 * float(((target - flat[:, columns] @ beta) ** 2).sum())
        assert remainder.cost(y) - gain == pytest.approx(cost, rel=1e-9)


def test_columns_that_the_model_has_gain_nothing(rows):
    A, y = rows
    remainder = ResidualProjection.from_columns(A[:, :, :3], np.ones((N, DOF)))
    assert remainder.gains(y, [A[:, :, :2]]) == pytest.approx([0.0])


def test_finalists_are_the_best_above_the_margin():
    hypotheses = [Hypothesis("term", k, np.zeros((1, 1, 1))) for k in range(20)]
    gains = np.arange(20.0)
    assert [h.joint for h in pick_finalists(hypotheses, gains, 2.0)] == list(
        range(19, 19 - FINALIST_COUNT, -1)
    )
    assert [h.joint for h in pick_finalists(hypotheses, gains, 17.5)] == [19, 18]


def test_columns_are_judged_by_blocks_that_are_left_out(held):
    (needless, chance), (_, gain) = fit_groups(held, 3, [1, 2])
    assert needless.beta.shape == (4,)
    assert chance.sum() < 5.0
    assert gain.shape == (8,)
    assert gain.min() > 10.0


def test_what_the_others_explain_goes(held):
    groups = list_groups(1, [2, 1, 1, 1])
    every = np.arange(6)
    kept = select_groups(
        held, every, groups, lambda gain: (bool(gain.sum() > 10.0), float(gain.sum()))
    )
    assert kept == [0, 2]
    gains = compute_gains(held, every, groups)
    assert [bool(gain.sum() > 10.0) for gain in gains] == [True, False, True, False]


def test_a_tie_is_a_small_gap_or_one_within_its_error():
    top = np.full(8, 10.0)
    assert is_no_worse(top - 0.5, top)
    assert not is_no_worse(top - 1.0, top)
    assert is_no_worse(top - 1.0, top, tie=9.0)
    assert is_no_worse(top - np.array([9.0, -7.0, 8.0, -6.0, 9.0, -5.0, 8.0, -7.0]), top)
