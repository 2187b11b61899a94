"""A friction velocity that is wrong in the model: the study fails, names and estimates it."""

import numpy as np
import pytest
from studies import study

from robotid_sim.estimation.friction_fit import with_eps
from robotid_sim.model.export import write_urdf
from robotid_sim.model.perturb import perturb
from robotid_sim.pipeline.config import load_config


@pytest.fixture(scope="module")
def wrong(irb140, tmp_path_factory):
    """A nominal model of irb140 with twice the friction velocities, as a file."""
    nominal = perturb(irb140, np.random.default_rng(5))
    path = tmp_path_factory.mktemp("nominal") / "nominal.urdf"
    write_urdf(with_eps(nominal, 2.0 * nominal.eps), path)
    return path


def studied(wrong, eps, folder):
    config = load_config(
        None,
        {
            "nominal": {"file": str(wrong)},
            "estimation": {"eps": eps},
            "control": {"enabled": False},
        },
    )
    return study("irb140", config, folder)


@pytest.mark.slow
def test_twice_the_velocity_fails_the_residual_check_and_is_named(wrong, tmp_path):
    result = studied(wrong, "fixed", tmp_path).result
    check = next(c for c in result.verdict.checks if c.name == "residual_over_expected_noise")
    assert not check.passed
    assert "friction velocity eps of joint_1 is probably wrong" in check.message
    assert not result.verdict.passed


@pytest.mark.slow
def test_estimated_velocities_are_those_of_the_plant_and_the_check_passes(irb140, wrong, tmp_path):
    whole = studied(wrong, "estimate", tmp_path)
    error = whole.fit.nominal.eps / irb140.eps - 1.0
    assert np.sqrt((error**2).mean()) < 0.06
    check = next(c for c in whole.result.verdict.checks if c.name == "residual_over_expected_noise")
    assert check.passed
    assert check.message == ""
    np.testing.assert_array_equal(whole.fit.lift.robot.eps, whole.fit.nominal.eps)
