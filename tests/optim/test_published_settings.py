"""The published configurations: printed values, and flags that the spectral radii compute."""

import numpy as np
import pytest
from standard_functions import sphere

from robotid_sim.errors import UnknownNameError
from robotid_sim.optim.minimize import SETTINGS, minimize, setting
from robotid_sim.optim.optimizer import OPTIMIZERS

OUTSIDE_THROUGHOUT = {
    "fazilat-2025-pso",
    "fazilat-2025-qpso",
    "kou-2022-bso",
    "kou-2022-sedsabso",
    "tang-2023-pso",
    "tang-2023-rwpso",
    "umar-2021-mupso",
}


@pytest.mark.parametrize("name", SETTINGS)
class TestSetting:
    def test_it_names_its_source(self, name):
        found = SETTINGS[name]
        assert "doi:10." in found.paper
        assert found.paper.split(",")[0].lower() == name.split("-")[0]
        assert f"({name.split('-')[1]})" in found.paper
        assert found.place

    def test_it_holds_options_of_its_method_and_searches(self, name):
        found, fun = SETTINGS[name], sphere(3)
        optimizer = found.build()
        assert OPTIMIZERS.name_of(optimizer) == found.method
        for option, value in found.options.items():
            assert getattr(optimizer, option) == value
        rng = np.random.default_rng(0)
        budget = 2 * optimizer.population
        result = minimize(fun, fun.lower, fun.upper, method=optimizer, max_evals=budget, rng=rng)
        assert result.success

    def test_the_flag_is_that_of_its_spectral_radii(self, name):
        flagged = "outside the order-2 stability region throughout" in SETTINGS[name].flags
        assert flagged == (name in OUTSIDE_THROUGHOUT)


def test_inertia_above_one_is_flagged_in_the_mean():
    assert setting("tang-2023-pso").flags[0] == "outside the order-1 stability region throughout"
    assert setting("umar-2021-mupso").flags[0] == (
        "outside the order-1 stability region for 60 % of the run"
    )


def test_a_setting_that_is_stable_has_no_flag():
    assert setting("umar-2021-spso").flags == ()


def test_changes_override_what_is_printed():
    optimizer = setting("tang-2023-rwpso").build(form="literal", population=10)
    assert (optimizer.form, optimizer.population, optimizer.c2) == ("literal", 10, 3.0)


def test_the_published_budget_of_sedsabso_pays_for_its_600_iterations():
    found = setting("kou-2022-sedsabso")
    assert found.build().iterations(found.max_evals) == 600


def test_an_unknown_setting_lists_the_known_ones():
    with pytest.raises(UnknownNameError, match="unknown setting 'umar'; known: fazilat-2025-pso"):
        setting("umar")
