"""The JSON form of estimates."""

import json
from dataclasses import fields, replace

import numpy as np
import pytest

from robotid_sim.errors import FileFormatError, ShapeError
from robotid_sim.estimation.estimate import Estimate, load_estimates, save_estimates

ARRAYS = ("beta", "torque_rms", "noise_std", "cov", "cov_white")


def some_estimate():
    rng = np.random.default_rng(0)
    half = rng.standard_normal((3, 3))
    return Estimate(
        estimator="wls",
        beta=np.array([0.1 + 0.2, 5e-324, -1.0 / 3.0]),
        names=("Izz1R", "mx2", "Fc1"),
        units=("kg m^2", "kg m", "N m"),
        joint_names=("shoulder", "elbow"),
        torque_rms=rng.uniform(size=2),
        noise_std=rng.uniform(size=2),
        cov=half @ half.T,
        cov_white=np.eye(3) / 7.0,
        cond=12.345678901234567,
        rows=1234,
        nfev=3,
        seconds=0.1,
        message="done",
        options={"rounds": 2, "block": 0.2},
    )


def failed_estimate():
    return replace(some_estimate(), cov=None, cov_white=None, cond=np.inf, success=False)


def test_round_trip_is_exact(tmp_path):
    estimates = [some_estimate(), failed_estimate()]
    save_estimates(estimates, tmp_path / "e.json", robot="arm", seed=3)
    loaded, context = load_estimates(tmp_path / "e.json")
    assert context == {"robot": "arm", "seed": 3}
    for one, two in zip(loaded, estimates, strict=True):
        for field in fields(Estimate):
            mine, wanted = getattr(one, field.name), getattr(two, field.name)
            if field.name in ARRAYS and wanted is not None:
                assert mine.tobytes() == wanted.tobytes()
            else:
                assert mine == wanted, field.name


def test_standard_deviations_are_the_root_of_the_diagonal():
    estimate = some_estimate()
    np.testing.assert_array_equal(estimate.std, np.sqrt(np.diag(estimate.cov)))
    assert np.isnan(failed_estimate().std).all()


def test_arrays_are_read_only_and_checked():
    with pytest.raises(ValueError, match="read-only"):
        some_estimate().beta[0] = 1.0
    with pytest.raises(ShapeError, match=r"^beta has shape"):
        replace(some_estimate(), beta=np.zeros(2))
    with pytest.raises(ShapeError, match=r"^cov has shape"):
        replace(some_estimate(), cov=np.zeros((2, 2)))


def refused(path):
    with pytest.raises(FileFormatError) as caught:
        load_estimates(path)
    assert "\n" not in str(caught.value)
    assert path.name in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "key", ["estimator", "beta", "names", "units", "torque_rms", "cov", "cond"]
)
def test_a_missing_key_is_refused_by_name(tmp_path, key):
    path = tmp_path / "e.json"
    save_estimates([some_estimate()], path)
    content = json.loads(path.read_text())
    del content["estimates"][0][key]
    path.write_text(json.dumps(content))
    assert key in refused(path)


@pytest.mark.parametrize(
    "change",
    [
        {"beta": [1.0]},
        {"beta": None},
        {"beta": ["x", 1.0, 2.0]},
        {"cov": [[1.0], [1.0, 2.0]]},
        {"extra": 1},
        {"names": 3},
    ],
)
def test_unusable_values_are_refused_in_one_line(tmp_path, change):
    path = tmp_path / "e.json"
    save_estimates([some_estimate()], path)
    content = json.loads(path.read_text())
    content["estimates"][0].update(change)
    path.write_text(json.dumps(content))
    refused(path)


@pytest.mark.parametrize("estimates", [None, 3, [3], ["text"]])
def test_what_is_no_list_of_estimates_is_refused(tmp_path, estimates):
    path = tmp_path / "e.json"
    path.write_text(json.dumps({"schema": "robotid/estimate/1", "estimates": estimates}))
    refused(path)


@pytest.mark.parametrize(
    ("schema", "message"),
    [("robotid/estimate/2", "newer"), ("robotid/log/1", "schema is 'robotid/log/1'")],
)
def test_other_schemas_are_refused(tmp_path, schema, message):
    path = tmp_path / "e.json"
    path.write_text(json.dumps({"schema": schema, "estimates": []}))
    assert message in refused(path)
