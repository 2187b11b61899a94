"""Robots drawn from an estimate: all can exist, and together they are as uncertain as it is."""

from dataclasses import replace

import numpy as np
import pytest
from measured import measured
from robots import DATA

from robotid_sim.errors import InconsistentInertiaError, OptionError
from robotid_sim.estimation.consistent import Consistent, draw_robots
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.perturb import SCALE
from robotid_sim.pipeline.fit_plan import FitPlan
from robotid_sim.pipeline.stages import fit_logs
from robotid_sim.preprocess.adaptive import Adaptive

COUNT = 200
PLAN = FitPlan(
    preprocessor=Adaptive(), estimators={"consistent": Consistent()}, chosen="consistent"
)


@pytest.fixture(scope="module", params=["2r.urdf", "scara.urdf"])
def fit(request):
    cell = measured(load_robot(DATA / request.param))
    return fit_logs(cell.log, cell.nominal, cell.basis, PLAN, np.random.default_rng(0))


def draws(fit, seed=0, count=COUNT, **options):
    rng = np.random.default_rng(seed)
    return draw_robots(fit.chosen, fit.nominal, fit.basis, count, rng, **options)


def test_all_can_exist_and_the_seed_decides(fit):
    robots = draws(fit, count=5)
    for robot in robots:
        assert not any(robot.inconsistencies())
        assert [joint.friction.eps for joint in robot.joints] == list(fit.nominal.eps)
    again, other = draws(fit, count=5), draws(fit, seed=1, count=5)
    for one, two, three in zip(robots, again, other, strict=True):
        assert one.parameters().tobytes() == two.parameters().tobytes()
        assert not np.allclose(one.parameters(), three.parameters(), rtol=1e-6)


def test_base_parameters_are_as_uncertain_as_the_estimate(fit):
    beta = np.array([fit.basis.of(robot.parameters()) for robot in draws(fit)])
    ratio = (beta - fit.chosen.beta) / fit.chosen.std
    # What constraints keep from one side is drawn closer, and shifted.
    assert np.abs(np.median(ratio.mean(axis=0))) < 0.1
    assert np.median(ratio.std(axis=0)) == pytest.approx(1.0, abs=0.1)
    assert ratio.std(axis=0).max() < 1.25


def test_what_the_torques_do_not_show_is_as_uncertain_as_the_nominal(fit):
    def spreads(spread):
        phi = np.array([robot.parameters() for robot in draws(fit, count=50, spread=spread)])
        masses = phi[:, : 10 * fit.nominal.dof : 10]
        return masses.std(axis=0) / masses.mean(axis=0)

    # The mass of the first link turns with nothing but its own axis: no torque shows it.
    assert 0.25 * SCALE < spreads(SCALE)[0] < SCALE
    assert spreads(0.02)[0] < 0.03


def test_no_draws_and_failed_fits_are_refused(fit):
    with pytest.raises(OptionError, match="counted from 1, got 0"):
        draws(fit, count=0)
    failed = replace(fit.chosen, success=False, message="nothing moved")
    with pytest.raises(InconsistentInertiaError, match="no robots can be drawn: nothing moved"):
        draw_robots(failed, fit.nominal, fit.basis, 1, np.random.default_rng(0))
