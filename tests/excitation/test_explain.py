"""The explanation of an excitation: against closed forms and planted weaknesses."""

from dataclasses import dataclass

import numpy as np
import pytest

from robotid_sim.errors import RankDeficientError
from robotid_sim.excitation.explain import CONFOUNDED, explain


@dataclass
class Names:
    """Stands for the base parameters, of which only names are used."""

    names: tuple[str, ...]


JOINTS = ("hip", "knee")
BASIS = Names(("a", "b", "c"))


def regressor(mix=0.0, weak=1.0, seed=0, count=4000):
    """Return a random regressor whose column c is weak, and b much like a if mix is near one."""
    W = np.random.default_rng(seed).standard_normal((count, 2, 3))
    W[:, :, 1] = mix * W[:, :, 0] + np.sqrt(1.0 - mix**2) * W[:, :, 1]
    W[:, :, 2] *= weak
    return W


def told(W, noise=(0.1, 0.2), nominal=(1.0, 1.0, 1.0), **options):
    return explain(W, np.array(noise), BASIS, np.array(nominal), JOINTS, **options)


def test_deviations_are_those_of_the_covariance():
    W = regressor(mix=0.9)
    flat = (W / np.array([[0.1], [0.2]])).reshape(-1, 3)
    std = np.sqrt(np.diag(np.linalg.inv(flat.T @ flat)))
    found = {view.name: view for view in told(W).parameters}
    for k, name in enumerate(BASIS.names):
        assert found[name].std == pytest.approx(std[k], rel=1e-10)
        assert found[name].alone == pytest.approx(1.0 / np.linalg.norm(flat[:, k]), rel=1e-10)
    more = {view.name: view for view in told(W, samples=16_000.0).parameters}
    assert more["a"].std == pytest.approx(0.5 * found["a"].std, rel=1e-10)


def test_confounded_parameters_name_each_other():
    found = {view.name: view for view in told(regressor(mix=0.999), noise=(5.0, 5.0)).parameters}
    # 1 / sqrt(1 - mix^2) of two columns with that cosine.
    assert found["a"].factor == pytest.approx(1.0 / np.sqrt(1.0 - 0.999**2), rel=0.05)
    assert [name for name, _ in found["a"].partners] == ["b"]
    assert found["a"].partners[0][1] < -0.99
    assert found["a"].factor > CONFOUNDED > found["c"].factor
    assert "confounded" in str(found["a"])
    assert "with b (-1.00)" in str(found["a"])


def test_a_weak_signal_is_told_from_confounding():
    explanation = told(regressor(weak=1e-3), noise=(0.1, 0.1))
    assert [view.name for view in explanation.poor] == ["c"]
    assert "weak signal" in str(explanation.poor[0])
    assert explanation.poor[0].factor == pytest.approx(1.0, abs=0.01)
    assert "1 of 3 base parameters" in explanation.sentences()[0]


def test_shares_go_with_the_noise_and_sum_to_one():
    explanation = told(regressor(), noise=(0.1, 0.2))
    np.testing.assert_allclose(explanation.joint_shares, [0.8, 0.2], atol=0.02)
    np.testing.assert_allclose(explanation.window_shares, 0.1, atol=0.01)
    assert explanation.joint_shares.sum() == pytest.approx(1.0)
    assert explanation.window_shares.sum() == pytest.approx(1.0)
    for view in explanation.parameters:
        assert (view.joint, view.joint_share) == ("hip", pytest.approx(0.8, abs=0.03))


def test_quiet_times_show():
    W = regressor()
    W[2000:2400] = 0.0
    shares = told(W).window_shares
    assert shares[5] == pytest.approx(0.0, abs=1e-12)
    assert "least in the sixth (0 %)" in told(W).sentences()[-1]


def test_the_worst_direction_is_the_difference_of_like_columns():
    explanation = told(regressor(mix=0.999))
    direction = dict(explanation.worst_direction)
    assert set(direction) == {"a", "b"}
    assert direction["a"] == pytest.approx(-direction["b"], abs=0.05)
    assert explanation.worst_ratio == pytest.approx(np.sqrt(1.999 / 0.001), rel=0.1)


def test_a_parameter_of_zero_has_no_relative_deviation():
    view = next(v for v in told(regressor(), nominal=(0.0, 1.0, 1.0)).parameters if v.name == "a")
    assert view.relative == np.inf
    assert "nominally zero" in str(view)


def test_a_motion_that_does_not_determine_everything_is_refused():
    W = regressor()
    W[:, :, 2] = W[:, :, 0]
    with pytest.raises(RankDeficientError, match="does not determine 'c'"):
        told(W)
