"""``robotid predict``: scores of a log by joint, from positions alone."""

import json
from dataclasses import replace

import numpy as np
import pytest
from robots import DATA, urdf_path
from scipy.interpolate import CubicSpline

from robotid_sim.measurement.files import load_log, save_log

ARM, UR10 = DATA / "2r.urdf", urdf_path("ur10")
KEYS = {
    *(
        "robot",
        "estimator",
        "imported",
        "samples",
        "preprocessing",
        "torque_rms",
        "error",
        "error_moving",
    ),
    *("share_moving", "explained"),
    *("error_filtered", "error_filtered_parameters_only", "error_filtered_nominal"),
}


def content_of(ran, short, log, estimate=None):
    done = ran("predict", ARM, estimate or short.estimate, log, "--config", short.config, "--json")
    return done.content


def test_a_good_estimate_predicts_torque_to_its_noise(robotid, short):
    content = content_of(robotid, short, short.unseen)
    assert set(content) == KEYS
    log = load_log(short.unseen)
    noise = np.sqrt(((log.tau_meas - log.truth.tau) ** 2).mean(axis=0))
    # At the full rate the noise of the accelerations counts too.
    assert (noise < content["torque_rms"]).all()
    assert (np.array(content["torque_rms"]) < 5.0 * noise).all()
    assert max(content["error_filtered"]) < 0.01
    assert min(content["error_filtered_nominal"]) > 0.05
    assert all(0.9 < share < 1.0 for share in content["share_moving"])
    assert min(content["explained"]) > 0.99


def test_table_page_and_file(ran, short, tmp_path):
    page, out = tmp_path / "p.html", tmp_path / "p.json"
    words = ("--config", short.config, "--report", page, "-o", out)
    done = ran("predict", ARM, short.estimate, short.unseen, *words)
    lines = done.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines if " N m " in line] == ["shoulder", "elbow"]
    assert json.loads(out.read_text())["schema"] == "robotid/prediction/1"
    assert "Prediction of a log of 2r" in page.read_text()


def write_table(path, t, q, tau, names):
    """Write a log as a machine does, with the stamps that it has."""
    head = ["t", *(f"{kind}.{name}" for kind in ("position", "effort") for name in names)]
    table = np.column_stack([t, q, tau])
    np.savetxt(path, table, delimiter=",", header=",".join(head), comments="", fmt="%.9g")


def assert_table_is_that_of_a_reader(ran, tmp_path, log, *words):
    """A reader takes the rows of the log and sets the predictions between its own stamps."""
    out, csv = tmp_path / "p.json", tmp_path / "p.csv"
    done = ran("predict", *words[:2], log, *words[2:], "--csv", csv, "-o", out)
    read, predicted = (np.genfromtxt(path, delimiter=",", names=True) for path in (log, csv))
    content, joints = json.loads(out.read_text()), len(read.dtype) // 2
    read, predicted = (np.array(table.tolist()) for table in (read, predicted))
    t = read[:, 0]
    read = read[(t >= predicted[0, 0]) & (t <= predicted[-1, 0])]
    assert len(read) == len(predicted) == content["samples"]
    np.testing.assert_allclose(read[:, 0], predicted[:, 0], rtol=0.0, atol=1e-8)
    printed = [row.split()[1:5] for row in done.out.splitlines() if " N m " in row]
    for j, (rms, _, _, error) in enumerate(printed):
        between = np.interp(read[:, 0], predicted[:, 0], predicted[:, 2 + 2 * j])
        torque = read[:, 1 + joints + j]
        own = np.sqrt(np.mean((torque - between) ** 2))
        assert own == pytest.approx(content["torque_rms"][j], rel=1e-3)
        assert own == pytest.approx(float(rms), rel=0.03)
        assert own / np.sqrt(np.mean(torque**2)) == pytest.approx(float(error) / 100.0, rel=0.03)
    assert len(printed) == joints


def test_errors_at_uneven_stamps_are_those_of_a_reader(ran, short, tmp_path):
    """Noise of the torques is most of the error: lines between them would leave .85 of it."""
    log, rng = load_log(short.unseen), np.random.default_rng(0)
    t = log.t[log.t >= 0.0][10:-10:2]
    t = t + rng.uniform(-0.4, 0.4, t.size) * 2.0 * log.dt
    q, tau = (CubicSpline(log.t, x)(t) for x in (log.truth.q, log.truth.tau))
    tau += 0.05 * np.sqrt((tau**2).mean(axis=0)) * rng.standard_normal(tau.shape)
    write_table(tmp_path / "uneven.csv", t, q, tau, log.joint_names)
    words = (ARM, short.estimate, "--config", short.config)
    assert_table_is_that_of_a_reader(ran, tmp_path, tmp_path / "uneven.csv", *words)
    same = tmp_path / "log.h5"
    ran("import", tmp_path / "uneven.csv", "--robot", ARM, "-o", same)
    scores = [content_of(ran, short, path) for path in (tmp_path / "uneven.csv", same)]
    assert scores[0] == scores[1] | {"imported": scores[0]["imported"]}


@pytest.mark.slow
@pytest.mark.parametrize("uneven", [0.0, 0.3])
def test_errors_of_a_real_log_are_those_of_a_reader(ran, tmp_path, uneven):
    """At 1 kHz, with white noise of the positions, and at stamps that are not even."""
    log, rng = DATA / "ur10" / "ur10.csv.gz", np.random.default_rng(0)
    estimate = tmp_path / "e.json"
    ran("identify", UR10, log, "-o", estimate, "--estimator", "wls", "--terms", "none")
    table = np.genfromtxt(log, delimiter=",", names=True)
    names = [name.removeprefix("effort") for name in table.dtype.names[7:]]
    table = np.array(table.tolist())
    words = (UR10, estimate, "--nominal", UR10)
    if not uneven:
        assert_table_is_that_of_a_reader(ran, tmp_path, log, *words)
    t = np.arange(20.0, 27_480.0) / 1000.0
    t = t + uneven * rng.uniform(-0.001, 0.001, t.size)
    x = CubicSpline(table[:, 0], table[:, 1:])(t)
    q = x[:, :6] + 2e-5 * rng.standard_normal((t.size, 6))
    tau = x[:, 6:] + 0.02 * x[:, 6:].std(axis=0) * rng.standard_normal((t.size, 6))
    write_table(tmp_path / "log.csv", t, q, tau, names)
    assert_table_is_that_of_a_reader(ran, tmp_path, tmp_path / "log.csv", *words)


def test_validate_refuses_a_machines_log(refused, short):
    assert "is of a machine, which is not simulated; use predict" in refused(
        "validate", ARM, short.estimate, "--log", short.machine, "--config", short.config
    )


def test_the_estimates_friction_velocities_and_delay_are_used(robotid, short, tmp_path):
    content = json.loads(short.estimate.read_text())
    assert content["transition_velocity"] == [0.03, 0.03]
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(content | {"transition_velocity": [0.3, 0.3]}))
    slow = content_of(robotid, short, short.unseen, path)
    fast = content_of(robotid, short, short.unseen)
    assert max(slow["share_moving"]) < min(fast["share_moving"])
    assert min(slow["error"]) > max(fast["error"])
    path.write_text(json.dumps(content | {"torque_delay": 0.02}))
    assert "given as 0.02 s" in content_of(robotid, short, short.unseen, path)["preprocessing"]


def offset(values):
    """Return what an estimate file says of a constant torque that the model lacks."""
    sizes = {"torque": 1.0, "over_noise": 9.0, "ratio": 99.0}
    return {"joint": "elbow", "quantity": "direction", **sizes, **values}


@pytest.mark.slow
def test_what_the_model_lacked_in_the_fit_is_predicted(robotid, short, tmp_path):
    before = content_of(robotid, short, short.unseen)
    path, log = tmp_path / "lacking.json", load_log(short.unseen)
    lack = offset({"knots": [0.1, 2.0], "values": [0.5, 0.5]})
    path.write_text(
        json.dumps(json.loads(short.estimate.read_text()) | {"unmodeled_torque": [lack]})
    )
    shifted = replace(log, tau_meas=log.tau_meas + np.array([0.0, 0.5]), truth=None)
    save_log(shifted, tmp_path / "shifted.h5")
    after = content_of(robotid, short, tmp_path / "shifted.h5", path)
    np.testing.assert_allclose(after["torque_rms"], before["torque_rms"], rtol=1e-3)
    alone, both = after["error_filtered_parameters_only"], after["error_filtered"]
    assert alone[1] > 2.0 * both[1]
    assert alone[0] == both[0]
    done = robotid("predict", ARM, path, tmp_path / "shifted.h5", "--config", short.config)
    told = (
        "elbow: predicted with the unmodeled torque as a function of direction; with parameters "
        "alone the filtered error is"
    )
    assert told in done.text


def test_a_joint_that_the_estimate_does_not_explain_is_named(robotid, short, tmp_path):
    log = load_log(short.machine)
    tau = log.tau_meas.copy()
    tau[:, 1] *= -1.0
    save_log(replace(log, tau_meas=tau), tmp_path / "turned.h5")
    words = ("--config", short.config, "--force")
    done = robotid("predict", ARM, short.estimate, tmp_path / "turned.h5", *words)
    assert done.code == 1
    assert "elbow: the estimate explains 0 % of the torque variance" in done.text
    assert "shoulder: the estimate" not in done.out


def with_estimates(short, path, change):
    """Write the estimates of the study with a change of each."""
    content = json.loads(short.estimate.read_text())
    content["estimates"] = [estimate | change(estimate) for estimate in content["estimates"]]
    path.write_text(json.dumps(content))
    return path


def test_it_says_where_the_nominal_model_is_better(robotid, short, tmp_path):
    def twice(estimate):
        return {"beta": [2.0 * value for value in estimate["beta"]], "phi": None}

    told = "better than the estimate. Check whether payload"
    path = with_estimates(short, tmp_path / "twice.json", twice)
    done = robotid("predict", ARM, path, short.unseen, "--config", short.config)
    assert told in done.text
    assert (
        told
        not in robotid("predict", ARM, short.estimate, short.unseen, "--config", short.config).text
    )


FUNCTION = {"joint": "elbow", "quantity": "speed", "knots": ["0.1", "0.2"], "mean": ["0", "much"]}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"torque_measured": [False, False]}, "contains no measured joint"),
        ({"terms": [{"kind": "spring", "joint": "elbow", "values": [[1, 2], [3, 4]]}]}, "terms"),
        ({"terms": 3}, "'terms' of the estimate does not have the format"),
        ({"unmodeled_torque": None}, "'unmodeled_torque' of the estimate does not have the format"),
        (
            {"unmodeled_torque": [offset({"knots": [0.1], "values": [0.2], "torque": "a"})]},
            "torque",
        ),
        ({"model_error": [1]}, "model_error"),
        ({"model_error": {"std": [1, 1], "cov": [], "functions": [FUNCTION]}}, "mean"),
        (
            {"model_error": {"std": [1, 1], "cov": [], "functions": [FUNCTION | {"knots": []}]}},
            "model_error",
        ),
        ({"cov_blocks": float("1e400")}, "cov_blocks"),
        ({"cov_blocks": -3}, "cov_blocks"),
        *(
            (
                {"unmodeled_torque": [offset(lack)]},
                "'unmodeled_torque' of the estimate does not have the format",
            )
            for lack in (
                {"joint": "knee"},
                {"quantity": "mood"},
                {"knots": [0.1], "values": []},
                {"knots": [2.0, 1.0], "values": [0.1, 0.1]},
                {"knots": [1.0, 2.0], "values": [0.1, "much"]},
                {"knot": 1.0},
            )
        ),
        *(
            (
                {"transition_velocity": eps},
                "transition_velocity of the estimate must be 2 positive numbers",
            )
            for eps in ([0.03], [0.03, 0.0], [0.03, -1.0])
        ),
        ({"torque_measured": [True] * 3}, "of another robot than '2r': of 3 joints, not 2"),
    ],
)
def test_what_identify_does_not_write_is_one_line(refused, short, tmp_path, changed, said):
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(json.loads(short.estimate.read_text()) | changed))
    assert said in refused("predict", ARM, path, short.unseen, "--config", short.config)


def test_numbers_as_texts_are_numbers(robotid, short, tmp_path):
    path = tmp_path / "texts.json"
    knots, values = [0.1, 2.0], [0.5, 0.5]
    for kind in (float, str):
        lack = offset({"knots": list(map(kind, knots)), "values": list(map(kind, values))})
        path.write_text(
            json.dumps(json.loads(short.estimate.read_text()) | {"unmodeled_torque": [lack]})
        )
        content = content_of(robotid, short, short.unseen, path)
        if kind is float:
            expected = content
    assert content == expected


def with_cov(corner):
    """Return a change of an estimate to another covariance of its first two parameters."""

    def change(estimate):
        whole = np.eye(len(estimate["names"]))
        whole[:2, :2] = corner
        return {"cov": whole.tolist()}

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda _: {"success": False, "message": "no motion"}, "the chosen fit failed: no motion"),
        (with_cov([[1.0, 2.0], [2.0, 1.0]]), "'cov' is not a covariance"),
        (with_cov([[1.0, 0.5], [0.0, 1.0]]), "'cov' is not a covariance"),
        (with_cov([[-1.0, 0.0], [0.0, 1.0]]), "'cov' is not a covariance"),
    ],
)
def test_estimates_that_predict_nothing_are_one_line(refused, short, tmp_path, change, said):
    path = with_estimates(short, tmp_path / "changed.json", change)
    told = refused("predict", ARM, path, short.unseen, "--config", short.config)
    assert "changed.json" in told
    assert said in told


def test_full_parameters_of_another_robot_are_refused(refused, short, tmp_path):
    path = with_estimates(short, tmp_path / "phi.json", lambda _: {"phi": [1.0] * 5})
    for command in (("predict", ARM, path, short.unseen), ("validate", ARM, path)):
        said = refused(*command, "--config", short.config)
        assert "phi.json: 'phi' of" in said
        assert "has 5 numbers, a robot with 2 joints has 28" in said


def test_full_parameters_of_other_base_parameters_are_refused(refused, short, tmp_path):
    def edited(estimate):
        return {"beta": [1.3 * estimate["beta"][0], *estimate["beta"][1:]]}

    path = with_estimates(short, tmp_path / "edited.json", edited)
    for command in (("predict", ARM, path, short.unseen), ("validate", ARM, path)):
        said = refused(*command, "--config", short.config)
        assert "edited.json: 'mx1R' of " in said
        assert "in 'beta' and" in said
