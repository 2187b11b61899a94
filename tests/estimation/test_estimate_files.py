"""The JSON form of estimates."""

import json
from dataclasses import fields, replace

import numpy as np
import pytest

from robotid_sim.errors import FileFormatError, ShapeError
from robotid_sim.estimation.estimate import Estimate, load_estimates, save_estimates

ARRAYS = ("beta", "torque_rms", "noise_std", "cov", "cov_white", "dof")


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
        dof=rng.uniform(1.0, 9.0, size=3),
        cond=12.345678901234567,
        rows=1234,
        nfev=3,
        seconds=0.1,
        message="done",
        options={"rounds": 2, "block": 0.2},
    )


def failed_estimate():
    return replace(some_estimate(), cov=None, cov_white=None, dof=None, cond=np.inf, success=False)


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


KEYS = ("estimator", "beta", "names", "units", "torque_rms", "cov", "cond")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        *((lambda content, key=key: content["estimates"][0].pop(key), key) for key in KEYS),
        *(
            (lambda content, values=values: content["estimates"][0].update(values), "")
            for values in (
                {"beta": [1.0]},
                {"beta": None},
                {"beta": ["x", 1.0, 2.0]},
                {"cov": [[1.0], [1.0, 2.0]]},
                {"extra": 1},
                {"names": 3},
            )
        ),
        *(
            (lambda content, estimates=estimates: content.update(estimates=estimates), "")
            for estimates in (None, 3, [3], ["text"])
        ),
    ],
)
def test_what_is_no_estimate_is_refused_in_one_line(tmp_path, change, said):
    path = tmp_path / "e.json"
    save_estimates([some_estimate()], path)
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    assert said in refused(path)
