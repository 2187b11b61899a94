"""What the five papers' algorithms do, and what their misprints change."""

import numpy as np
import pytest
from standard_functions import rastrigin, sphere

from robotid_sim.optim.elpidso import learning_probability
from robotid_sim.optim.minimize import minimize
from robotid_sim.optim.optimizer import OPTIMIZERS

LOWER, UPPER = np.array([-1.0, 2.0, -30.0]), np.array([2.0, 5.0, 10.0])

WITH_FORMS = ("bso", "elpidso", "mupso", "qpso-qubit", "rwpso", "sedsabso")


def started(name, max_evals=6000, seed=0, lower=LOWER, upper=UPPER, **options):
    optimizer = OPTIMIZERS.build(name, **options)
    optimizer.start(lower, upper, np.random.default_rng(seed), max_evals)
    return optimizer


def cost(X):
    return np.sum(((X - LOWER) / (UPPER - LOWER) - 0.4) ** 2, axis=1)


@pytest.mark.parametrize("name", WITH_FORMS)
def test_the_corrected_form_is_the_default(name):
    assert OPTIMIZERS.build(name).form == "corrected"


@pytest.mark.parametrize("name", sorted(set(WITH_FORMS) - {"qpso-qubit", "mupso"}))
def test_the_literal_form_is_another_search(name):
    fun, costs = rastrigin(3), []
    for form in ("literal", "corrected"):
        rng = np.random.default_rng(0)
        result = minimize(
            fun, fun.lower, fun.upper, method=name, max_evals=5000, rng=rng, form=form
        )
        costs.append(result.fun)
    assert costs[0] != costs[1]


# --- qubits: Fazilat, Zioui (2025), eq. (28)


def test_exchanging_the_bits_only_mirrors_the_angles():
    one, two = (started("qpso-qubit", form=form) for form in ("corrected", "literal"))
    for _ in range(15):  # before the first push, which is not mirrored
        np.testing.assert_allclose(one.ask(), two.ask(), rtol=1e-9)  # of an ill-conditioned arccos
        for optimizer in (one, two):
            optimizer.tell(optimizer.ask(), cost(optimizer.ask()))


def test_sampled_bits_are_binary_fractions_of_the_box():
    optimizer = started("qpso-qubit", reading="bits", bits=3)
    for _ in range(5):
        X = optimizer.ask()
        steps = (X - LOWER) / (UPPER - LOWER) * 7.0
        np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)
        optimizer.tell(X, cost(X))


def test_one_bit_a_coordinate_sees_only_corners():
    optimizer = started("qpso-qubit", reading="bits", bits=1)
    for _ in range(5):
        X = optimizer.ask()
        assert ((X == LOWER) | (X == UPPER)).all()
        optimizer.tell(X, cost(X))


def test_qubits_are_measured_with_the_probability_of_their_amplitude():
    # From a region of no width every qubit stands at probability one half.
    optimizer = started("qpso-qubit", reading="bits", bits=1, population=2000, region=1e-9)
    share = ((optimizer.ask() - LOWER) / (UPPER - LOWER)).mean(axis=0)
    assert np.abs(share - 0.5).max() < 4.0 * 0.5 / np.sqrt(2000)  # four standard deviations


def test_a_stagnating_qubit_swarm_is_pushed():
    calm, pushed = (started("qpso-qubit", push=push) for push in (0.0, 0.05))
    for _ in range(25):
        for optimizer in (calm, pushed):
            X = optimizer.ask()
            optimizer.tell(X, np.ones(len(X)))
    assert np.abs(calm.ask() - pushed.ask()).max() > 0.0


# --- mutation: Umar, Shi, Khlil, Farouk (2021), eq. (6)-(8)


def drawn_anew_after(levels, **options):
    """Return the first batch, after the start, that lies in the region swarms are drawn in."""
    optimizer = started("mupso", region=0.5, population=40, **options)
    for k, level in enumerate(levels):
        X = optimizer.ask()
        share = np.abs((X - LOWER) / (UPPER - LOWER) - 0.5)
        if k > 3 and (share <= 0.25).all():
            return k
        optimizer.tell(X, np.full(len(X), level))
    return None


def test_mupso_starts_afresh_after_q_iterations_without_change():
    # The third iteration has the first difference of falls, the twelfth the tenth.
    assert drawn_anew_after([1.0] * 30) == 12
    assert drawn_anew_after([1.0] * 30, patience=5) == 7


def test_mupso_takes_a_fall_that_gets_faster_for_stagnation_only_in_its_literal_form():
    faster = [1e4 - 0.1 * k**2 for k in range(30)]
    assert drawn_anew_after(faster) is None
    assert drawn_anew_after(faster, form="literal") == 12


def test_mupso_never_mutates_at_low_costs_in_its_literal_form():
    assert drawn_anew_after([5e-4] * 30, form="literal") is None
    assert drawn_anew_after([5e-3] * 30, form="literal") == 12
    assert drawn_anew_after([5e-4] * 30) == 12


def test_mupso_tells_when_it_started_afresh():
    optimizer = started("mupso")
    X = optimizer.ask()
    for _ in range(2):
        optimizer.start([-1.0] * 3, [1.0] * 3, np.random.default_rng(0), 10_000)
        for _ in range(25):
            X = optimizer.ask()
            optimizer.tell(X, np.ones(len(X)))
        assert optimizer.mutated_at == [12 * len(X), 24 * len(X)]


# --- inertia: Tang, Yan, An, Wang, Zhang (2023), eq. (15)


def test_rwpso_inertia_is_mostly_above_one_only_in_its_literal_form():
    means = {
        form: OPTIMIZERS.build("rwpso", form=form).linear_map(0.0).coefficients[0]
        for form in ("corrected", "literal")
    }
    assert means["corrected"].mean == pytest.approx(0.7)
    assert means["literal"].mean == pytest.approx(1.4)
    assert means["corrected"].variance == pytest.approx(0.4**2 / 12.0 + 0.04)
    assert means["literal"].variance == pytest.approx(1.0 / 12.0 + 0.04)


# --- beetles: Kou, Guo, Ren (2022), eq. (10)-(16)


def test_sedsabso_populations_sum_to_29467_with_the_corrected_sign():
    sizes = OPTIMIZERS.build("sedsabso").population_sizes(600)
    assert (sizes[0], sizes[-1]) == (81, 27)
    assert sizes.sum() == 29_467
    assert (np.diff(sizes) <= 0).all()


def test_sedsabso_population_grows_with_the_printed_sign():
    sizes = OPTIMIZERS.build("sedsabso", form="literal").population_sizes(600)
    assert (sizes[0], sizes[-1]) == (100, 300)


@pytest.mark.parametrize("form", ["corrected", "literal"])
def test_sedsabso_spends_its_budget_on_the_iterations_it_is_good_for(form):
    optimizer = started("sedsabso", form=form, max_evals=20_000)
    planned = optimizer.population_sizes(optimizer.iterations(20_000))
    beetles = []
    while optimizer.evals < 19_000:
        X = optimizer.ask()
        if len(X) > 1:
            beetles.append(len(X) if not beetles else len(X) // 3)
        optimizer.tell(X, cost(X))
    np.testing.assert_array_equal(beetles, planned[: len(beetles)])
    assert len(planned) - len(beetles) < 0.12 * len(planned)  # for the twentieth that is left


def candidates(form, count=30):
    """Return pairs of best points of the swarm and their disturbances."""
    optimizer = started("sedsabso", form=form, disturbances=1)
    best, best_f, pairs = None, np.inf, []
    while len(pairs) < count:
        X = optimizer.ask()
        if len(X) == 1:
            pairs.append((best, X[0]))
        beetles = X if len(X) == 1 or not pairs else X[: len(X) // 3]
        f = cost(beetles)
        if f.min() < best_f:
            best, best_f = beetles[np.argmin(f)].copy(), f.min()
        optimizer.tell(X, cost(X))
    return [(g, x) for g, x in pairs if ((x > LOWER) & (x < UPPER)).all()]


def test_sedsabso_disturbs_in_both_directions_relative_to_the_box():
    shares = np.array([(x - g) / (UPPER - LOWER) for g, x in candidates("corrected")])
    assert np.abs(shares).max() <= 0.05
    assert (shares < 0.0).any(axis=0).all()
    assert (shares > 0.0).any(axis=0).all()


def test_sedsabso_only_inflates_in_its_literal_form():
    for g, x in candidates("literal"):
        factors = x / g
        np.testing.assert_allclose(factors, factors[0], rtol=1e-12)
        assert 1.0 <= factors[0] < 2.0


def test_annealing_of_the_best_point_never_loses_it():
    fun = sphere(4)
    rng = np.random.default_rng(0)
    result = minimize(
        fun, fun.lower, fun.upper, method="sedsabso", max_evals=20_000, rng=rng, temperature=1e9
    )
    assert result.fun < 1e-8


@pytest.mark.parametrize("name", ["bso", "sedsabso"])
def test_whiskers_lie_on_either_side_of_their_beetle(name):
    optimizer = started(name)
    while len(X := optimizer.ask()) < 3 or optimizer.evals < 500:
        optimizer.tell(X, cost(X))
    while len(X) == 1:
        optimizer.tell(X, cost(X))
        X = optimizer.ask()
    here, left, right = X.reshape(3, -1, 3)
    inside = ((left > LOWER) & (left < UPPER) & (right > LOWER) & (right < UPPER)).all(axis=1)
    assert inside.sum() > 10
    np.testing.assert_allclose((left + right)[inside], 2.0 * here[inside], rtol=1e-12)


# --- elitist learning: Yan, Lu, Levy (2015), eq. (26)


def test_learning_probability_rises_from_one_twentieth_to_one_half():
    probability = learning_probability(20)
    assert probability[0] == pytest.approx(0.05)
    assert probability[-1] == pytest.approx(0.5)
    assert (np.diff(probability) > 0.0).all()


def test_elpidso_asks_for_one_mutant_after_every_improvement():
    optimizer = started("elpidso")
    best, mutants = np.inf, 0
    for _ in range(40):
        X = optimizer.ask()
        f = cost(X)
        improved = f.min() < best
        best = min(best, f.min())
        optimizer.tell(X, f)
        if len(X) == 20 and improved:
            mutant = optimizer.ask()
            assert mutant.shape == (1, 3)
            assert (mutant != X[np.argmin(f)]).sum() <= 1
            mutants += 1
        elif len(X) == 20:
            assert len(optimizer.ask()) == 20
    assert mutants > 3
