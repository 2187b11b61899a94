"""The driver: its books, its ways to end, and one clear error for everything that cannot be."""

import numpy as np
import pytest

from robotid_sim.errors import OptionError, ShapeError, UnknownNameError
from robotid_sim.optim.minimize import minimize
from robotid_sim.optim.optimizer import OPTIMIZERS, Optimizer

LOWER, UPPER = np.full(4, -1.0), np.full(4, 2.0)


def cost(X):
    return np.sum(X**2, axis=1)


def run(fun=cost, lower=LOWER, upper=UPPER, method="pso", max_evals=300, rng=None, **others):
    rng = np.random.default_rng(0) if rng is None else rng
    return minimize(fun, lower, upper, method=method, max_evals=max_evals, rng=rng, **others)


class Fixed(Optimizer):
    """Asks for prepared batches and keeps what it is told."""

    def __init__(self, *batches):
        self.batches, self.told = [np.asarray(b, dtype=float) for b in batches], []

    def _first(self):
        return self.batches[0]

    def _next(self, f):
        self.told.append(f)
        return self.batches[min(len(self.told), len(self.batches) - 1)]


def test_batches_of_any_size_are_counted_point_by_point():
    optimizer = Fixed([[2.0], [1.0]], [[3.0]], [[0.5], [4.0], [0.1]])
    result = run(lower=[0.0], upper=[5.0], method=optimizer, max_evals=5)
    np.testing.assert_array_equal(result.history, [[2, 1.0], [3, 1.0], [5, 0.25]])
    assert (result.nfev, result.nit) == (5, 3)
    np.testing.assert_array_equal(result.x, [0.5])


def test_a_batch_beyond_the_budget_is_evaluated_in_part_and_not_told():
    optimizer = Fixed([[2.0], [1.0]], [[0.5], [0.1]])
    result = run(lower=[0.0], upper=[5.0], method=optimizer, max_evals=3)
    assert result.fun == 0.25
    assert len(optimizer.told) == 1


def test_costs_that_are_not_finite_are_told_as_infinite():
    optimizer = Fixed([[1.0], [2.0], [3.0], [4.0]])
    run(lambda X: np.array([np.nan, -np.inf, np.inf, 7.0]), [0.0], [5.0], method=optimizer)
    np.testing.assert_array_equal(optimizer.told[0], [np.inf, np.inf, np.inf, 7.0])


def test_costs_are_told_in_double_precision():
    optimizer = Fixed([[1.0], [2.0]])
    run(lambda X: X[:, 0].astype(np.float32), [0.0], [5.0], method=optimizer, max_evals=2)
    assert optimizer.told[0].dtype == np.float64


def test_whole_numbers_and_truth_values_are_costs():
    assert run(lambda X: (X[:, 0] > 0.0).sum() * np.ones(len(X), dtype=int)).success
    assert run(lambda X: X[:, 0] > 0.0).fun == 0.0


def test_it_stops_at_the_target():
    result = run(target=0.5, max_evals=10_000)
    assert result.success
    assert result.message == "the target is reached"
    assert result.fun <= 0.5 < result.history[-2, 1]
    assert result.nfev < 10_000


def test_a_target_that_is_reached_at_once_costs_one_batch():
    result = run(target=np.inf)
    assert (result.nit, result.success) == (1, True)


def test_the_callback_sees_every_batch():
    seen = []
    result = run(callback=lambda nfev, best: seen.append((nfev, best)))
    np.testing.assert_array_equal(np.array(seen), result.history)


def test_ctrl_c_returns_the_best_so_far():
    def interrupt(nfev, best):
        if nfev >= 90:
            raise KeyboardInterrupt

    result = run(callback=interrupt)
    assert result.nfev == 90
    assert not result.success
    assert result.message == "interrupted; this is the best point so far"
    assert result.fun == cost(result.x[None, :])[0] == result.history[-1, 1]


def test_ctrl_c_before_any_cost_is_known_passes_through():
    def impatient(X):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(impatient)


def test_results_cannot_be_changed():
    result = run()
    for array in (result.x, result.history):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


def test_what_the_cost_function_raises_passes_with_a_note_of_the_place():
    def fails_late(X):
        if fails_late.calls:
            raise ZeroDivisionError("of the model")
        fails_late.calls += 1
        return cost(X)

    fails_late.calls = 0
    with pytest.raises(ZeroDivisionError, match="of the model") as caught:
        run(fails_late)
    assert caught.value.__notes__ == ["(the cost function, at 30 points, after 30 evaluations)"]


@pytest.mark.parametrize(
    ("fun", "message"),
    [
        (lambda X: cost(X)[:-1], r"shape \(29,\), expected \(30,\)"),
        (lambda X: cost(X)[:, None], r"shape \(30, 1\), expected \(30,\)"),
        (lambda X: 1.0, r"shape \(\), expected \(30,\)"),
        (lambda X: None, "no real numbers but object"),
        (lambda X: ["cheap"] * len(X), "no real numbers but"),
        (lambda X: cost(X) + 1j, "no real numbers but complex128"),
        (lambda X: [[1.0, 2.0], [3.0]], "no vector of numbers"),
    ],
)
def test_costs_of_the_wrong_form_are_one_clear_error(fun, message):
    with pytest.raises(ShapeError, match=message):
        run(fun)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"upper": np.ones(3)}, ShapeError, r"upper bounds has shape \(3,\), expected \(4"),
        ({"lower": np.ones((2, 2))}, ShapeError, r"lower bounds has shape \(2, 2\)"),
        ({"lower": [], "upper": []}, ShapeError, "lower bounds is empty"),
        ({"upper": [2.0, np.inf, 2.0, 2.0]}, ShapeError, r"not finite at index \(1,\): inf"),
        ({"lower": [0.0, np.nan, 0.0, 0.0]}, ShapeError, r"not finite at index \(1,\): nan"),
        ({"lower": ["low"] * 4}, ShapeError, "lower bounds is not an array of numbers"),
        ({"lower": [[0.0], [0.0, 1.0]]}, ShapeError, "lower bounds is not an array of numbers"),
        ({"lower": None}, ShapeError, "lower bounds is not an array of numbers: None"),
        ({"lower": [-1e308] * 4, "upper": [1e308] * 4}, ShapeError, "width of the box is not"),
        ({"upper": [2.0, -3.0, 2.0, 2.0]}, OptionError, r"coordinate 1: the bounds \[-1.0, -3.0\]"),
        ({"upper": LOWER}, OptionError, "coordinate 0"),
        ({"max_evals": 0}, OptionError, "budget of evaluations is 0; give at least 1"),
        ({"rng": "x"}, OptionError, "rng is a str; give a numpy.random.Generator"),
        (
            {"method": "psoo"},
            UnknownNameError,
            r"unknown optimizer 'psoo' \(did you mean 'pso'\?\); known",
        ),
        ({"method": None}, OptionError, "method is a NoneType; give a name or an optimizer"),
        ({"swarm": 3}, OptionError, "optimizer 'pso' has no option 'swarm'; options: population"),
        (
            {"method": OPTIMIZERS.build("pso"), "population": 3},
            OptionError,
            "option 'population' beside a ready optimizer",
        ),
    ],
)
def test_impossible_input_is_one_clear_error(change, error, message):
    with pytest.raises(error, match=message) as caught:
        run(**change)
    assert "\n" not in str(caught.value)


def test_a_budget_that_is_no_whole_number_is_refused():
    with pytest.raises(OptionError, match=r"budget of evaluations is 10\.5"):
        run(max_evals=10.5)


def test_cmaes_without_its_package_names_the_install_command(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cmaes", None)
    with pytest.raises(ImportError, match=r"pip install -e '\.\[cmaes\]'"):
        run(method="cmaes")


@pytest.mark.parametrize("method", sorted(set(OPTIMIZERS) - {"cmaes"}))
def test_a_search_that_knows_a_point_is_never_worse_than_it(method):
    known = np.array([0.123, -0.456, 0.789])

    def fun(X):
        return np.where(np.abs(X - known).max(axis=1) > 1e-9, 1.0, 0.0)  # a needle

    found = minimize(
        fun, -np.ones(3), np.ones(3), method=method, max_evals=200, first=known[None],
        rng=np.random.default_rng(0),
    )  # fmt: skip
    assert found.fun == 0.0


def test_a_known_point_outside_the_box_is_refused():
    with pytest.raises(OptionError, match="must lie in its box"):
        minimize(
            lambda X: X[:, 0], [0.0], [1.0], method="pso", max_evals=10, first=[[2.0]],
            rng=np.random.default_rng(0),
        )  # fmt: skip
