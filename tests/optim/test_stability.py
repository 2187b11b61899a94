"""Spectral radii of swarms, published settings, and the forms that papers print."""

import numpy as np
import pytest
from standard_functions import sphere

from robotid_sim.errors import UnknownNameError
from robotid_sim.optim.minimize import PUBLISHED_SETTINGS, load_setting, minimize
from robotid_sim.optim.optimizer import OPTIMIZERS
from robotid_sim.optim.qpso import MAX_CONTRACTION
from robotid_sim.optim.stability import (
    MovingOptimizer,
    order2_limit,
    pid_map,
    spectral_radius,
    stability,
    swarm_map,
)
from robotid_sim.papers.twolink import model
from robotid_sim.papers.twolink.trials import TorqueCriterion

WITH_VELOCITY = [name for name in OPTIMIZERS if isinstance(OPTIMIZERS.build(name), MovingOptimizer)]

STABLE_THROUGHOUT = {"bso", "constriction-pso", "pso", "rwpso", "sedsabso"}


@pytest.mark.parametrize("w", [-0.5, 0.0, 0.3, 0.5, 0.7298, 0.9, 0.99])
def test_order_2_region_ends_where_poli_says(w):
    limit = order2_limit(w)
    assert swarm_map(w, 0.499 * limit, 0.499 * limit).order2() < 1.0
    assert swarm_map(w, 0.501 * limit, 0.501 * limit).order2() > 1.0
    assert swarm_map(w, limit / 2.0, limit / 2.0).order2() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("w", [-0.5, 0.0, 0.5, 0.9])
def test_order_1_region_ends_at_the_classical_line(w):
    limit = 4.0 * (1.0 + w)  # mean pull 2 (1 + w)
    assert swarm_map(w, 0.499 * limit, 0.499 * limit).order1() < 1.0
    assert swarm_map(w, 0.501 * limit, 0.501 * limit).order1() > 1.0


def test_order_2_is_the_narrower_region():
    for w in np.linspace(-0.9, 0.9, 7):
        for c in np.linspace(0.1, 3.0, 7):
            both = swarm_map(w, c, c)
            assert both.order2() >= both.order1() - 1e-12  # rounding


def measured_moments(step, states, particles=1_000_000):
    """Return E[A (x) A] of a random linear step, from its action on many unit vectors."""
    rng = np.random.default_rng(0)
    columns = []
    for first in np.eye(states):
        for second in np.eye(states):
            # One draw of A acts on both vectors.
            images = step(first[:, None], second[:, None], rng, particles // states**2)
            columns.append(np.mean(images[0][:, None] * images[1][None, :], axis=2).ravel())
    return np.column_stack(columns)


def pulls(c1, c2, rng, count):
    return c1 * rng.random(count) + c2 * rng.random(count)


def test_second_moments_are_those_of_simulated_particles():
    w, c1, c2 = 0.5, 2.3, 1.2

    def step(one, two, rng, count):
        u, inertia = pulls(c1, c2, rng, count), w + 0.2 * rng.standard_normal(count)

        def move(x, v):
            v = inertia * v - u * x
            return np.array([x + v, v])

        return move(*one), move(*two)

    expected = swarm_map(w, c1, c2, w_variance=0.04).moments()
    # About five standard errors of a mean of 250,000 products of size one.
    np.testing.assert_allclose(measured_moments(step, 2), expected, atol=0.02)


def test_second_moments_of_the_pid_swarm_are_those_of_simulated_particles():
    w, c1, c2, kp, ki, kd = 0.6, 0.9, 1.1, 1.0, 0.05, 0.1

    def step(one, two, rng, count):
        u = pulls(c1, c2, rng, count)

        def move(x, v, last, total):
            E = -u * x
            total = total + E
            v = w * v + kp * E + ki * total + kd * (E - last)
            return np.array([x + v, v, E, total])

        return move(*one), move(*two)

    expected = pid_map(w, c1, c2, kp, ki, kd).moments()
    np.testing.assert_allclose(measured_moments(step, 4), expected, atol=0.02)


def test_pid_swarm_without_integral_and_derivative_is_the_usual_swarm():
    pid, usual = pid_map(0.7, 1.5, 1.2, 1.0, 0.0, 0.0), swarm_map(0.7, 1.5, 1.2)
    assert pid.order1() == pytest.approx(usual.order1())
    assert pid.order2() == pytest.approx(usual.order2())


def worst_radius(w, gains):
    """Return the largest radius for constant pulls up to 2."""
    return max(
        spectral_radius(pid_map(w, pull, pull, *gains).mean())
        for pull in np.linspace(0.05, 2.0, 40)
    )


def test_default_gains_of_elpidso_are_stable_for_every_constant_pull():
    for w in (0.9, 0.65, 0.4):
        assert worst_radius(w, (1.0, 0.05, 0.1)) < 0.98


@pytest.mark.parametrize(
    ("w", "gain", "radius"),
    [(0.65, 0.3, 1.24), (0.9, 0.5, 1.80), (0.65, 0.5, 2.20), (0.4, 0.5, 2.55)],
)
def test_large_gains_are_unstable_in_discrete_time_although_routh_hurwitz_holds(w, gain, radius):
    pull = 2.0  # the largest
    left = (1.0 - w + pull * (1.0 + gain)) * (1.0 + gain)
    assert left > (1.0 + pull * gain) * gain  # eq. (18) of Yan, Lu, Levy (2015)
    mean = pid_map(w, pull, pull, 1.0, gain, gain).mean()
    assert spectral_radius(mean) == pytest.approx(radius, abs=0.005)


@pytest.mark.parametrize("name", WITH_VELOCITY)
def test_every_default_ends_inside_the_order_2_region(name):
    along = stability(OPTIMIZERS.build(name))
    assert along.is_stable
    assert along.order1[-1] < 1.0
    assert (along.flags == ()) == (name in STABLE_THROUGHOUT)
    if name in STABLE_THROUGHOUT:
        assert along.order2.max() < 0.99


def test_every_swarm_with_velocities_has_a_map():
    assert set(WITH_VELOCITY) == STABLE_THROUGHOUT | {"elpidso", "ldw-pso", "mupso", "qpso-qubit"}


def test_the_mean_of_the_pid_swarm_is_stable_all_along():
    assert stability(OPTIMIZERS.build("elpidso")).order1.max() < 1.0


def test_linearly_decreasing_inertia_enters_the_region_when_it_passes_one_half():
    along = stability(OPTIMIZERS.build("ldw-pso"), steps=1000)
    assert order2_limit(0.5) == 4.0
    assert np.mean(along.order2 >= 1.0) == pytest.approx(0.8, abs=0.001)


def test_constriction_is_stable_of_order_2_beyond_4_07():
    for c in (4.08, 4.1, 4.5, 6.0, 12.0):
        swarm = OPTIMIZERS.build("constriction-pso", c1=c / 2.0, c2=c / 2.0)
        assert stability(swarm, steps=1).is_stable
    swarm = OPTIMIZERS.build("constriction-pso", c1=2.03, c2=2.03)
    assert not stability(swarm, steps=1).is_stable


def test_no_inertia_makes_the_pulls_of_the_published_rwpso_stable():
    for w in np.linspace(-1.0, 1.0, 201):
        assert swarm_map(w, 1.5, 3.0).order2() > 1.0


def test_the_delta_well_contracts_below_its_critical_coefficient():
    swarm = OPTIMIZERS.build("qpso-delta")
    assert swarm.alpha_end < swarm.alpha_start < MAX_CONTRACTION
    # ln of the factor alpha ln(1/u) by which the distance to the well changes, in the mean
    jump = np.random.default_rng(0).exponential(size=1_000_000)
    drift = np.log(MAX_CONTRACTION) + np.log(jump).mean()
    assert abs(drift) < 4.0 * np.log(jump).std() / 1000.0  # four standard errors


OUTSIDE_THROUGHOUT = {
    "fazilat-2025-pso",
    "fazilat-2025-qpso",
    "kou-2022-bso",
    "kou-2022-sedsabso",
    "tang-2023-pso",
    "tang-2023-rwpso",
    "umar-2021-mupso",
}


@pytest.mark.parametrize("name", PUBLISHED_SETTINGS)
class TestSetting:
    def test_it_names_its_source(self, name):
        found = PUBLISHED_SETTINGS[name]
        assert "doi:10." in found.paper
        assert found.paper.split(",")[0].lower() == name.split("-")[0]
        assert f"({name.split('-')[1]})" in found.paper
        assert found.place

    def test_it_holds_options_of_its_method_and_searches(self, name):
        found, fun = PUBLISHED_SETTINGS[name], sphere(3)
        optimizer = found.build()
        assert OPTIMIZERS.name_of(optimizer) == found.method
        for option, value in found.options.items():
            assert getattr(optimizer, option) == value
        rng = np.random.default_rng(0)
        budget = 2 * optimizer.population
        result = minimize(fun, fun.lower, fun.upper, method=optimizer, max_evals=budget, rng=rng)
        assert result.success

    def test_the_flag_is_that_of_its_spectral_radii(self, name):
        flagged = (
            "outside the order-2 stability region throughout" in PUBLISHED_SETTINGS[name].flags
        )
        assert flagged == (name in OUTSIDE_THROUGHOUT)


def test_inertia_above_one_is_flagged_in_the_mean():
    assert (
        load_setting("tang-2023-pso").flags[0] == "outside the order-1 stability region throughout"
    )
    assert load_setting("umar-2021-mupso").flags[0] == (
        "outside the order-1 stability region for 60 % of the run"
    )


def test_a_setting_that_is_stable_has_no_flag():
    assert load_setting("umar-2021-spso").flags == ()


def test_changes_override_what_is_printed():
    optimizer = load_setting("tang-2023-rwpso").build(form="literal", population=10)
    assert (optimizer.form, optimizer.population, optimizer.c2) == ("literal", 10, 3.0)


def test_the_published_budget_of_sedsabso_pays_for_its_600_iterations():
    found = load_setting("kou-2022-sedsabso")
    assert found.build().iterations(found.max_evals) == 600


def test_an_unknown_setting_lists_the_known_ones():
    with pytest.raises(UnknownNameError, match="unknown setting 'umar'; known: fazilat-2025-pso"):
        load_setting("umar")


LOWER, UPPER = np.array([-1.0, 2.0, -30.0]), np.array([2.0, 5.0, 10.0])


def started(name, max_evals=6000, seed=0, lower=LOWER, upper=UPPER, **options):
    optimizer = OPTIMIZERS.build(name, **options)
    optimizer.start(lower, upper, np.random.default_rng(seed), max_evals)
    return optimizer


def cost(X):
    return np.sum(((X - LOWER) / (UPPER - LOWER) - 0.4) ** 2, axis=1)


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


def test_sedsabso_only_inflates_in_its_literal_form():
    for g, x in candidates("literal"):
        factors = x / g
        np.testing.assert_allclose(factors, factors[0], rtol=1e-12)
        assert 1.0 <= factors[0] < 2.0


# --- elitist learning: Yan, Lu, Levy (2015), eq. (26)


BUDGET = 60_000
"""Evaluations: 3000 generations of 20, a fifth of the paper's. With all of them both swarms reach
rounding on two trajectories, where a ratio says nothing."""

RATIO = 1e-3
"""Largest median cost of ELPIDSO over that of the standard swarm."""


def median_cost(rho, seeds, method, **options):
    """Return the median cost that a swarm of the paper's size reaches on exact data."""
    cost = TorqueCriterion.from_run(model.integrate([rho])[0]).excess
    options = {"population": 20, **options}
    return np.median(
        [
            minimize(
                cost,
                model.LOWER,
                model.UPPER,
                method=method,
                max_evals=BUDGET,
                rng=np.random.default_rng(seed),
                **options,
            ).fun
            for seed in range(seeds)
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.5, 4.0])
def test_elpidso_is_far_below_the_standard_swarm(rho):
    assert median_cost(rho, 5, "elpidso") <= RATIO * median_cost(rho, 5, "ldw-pso")


@pytest.mark.slow
@pytest.mark.nightly
def test_elpidso_is_far_below_the_standard_swarm_on_four_of_five_trajectories():
    medians = [
        [median_cost(rho, 15, name) for name in ("elpidso", "ldw-pso")] for rho in model.FITTED_RHOS
    ]
    assert sum(elpidso <= RATIO * standard for elpidso, standard in medians) >= 4


@pytest.mark.slow
def test_the_integral_term_is_what_makes_the_difference():
    with_integral, without = (median_cost(1.0, 5, "elpidso", ki=ki) for ki in (0.05, 0.0))
    assert with_integral < RATIO * without
