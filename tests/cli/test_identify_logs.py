"""``robotid identify`` of several logs, of foreign ones, and with data held out."""

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest
from robots import DATA
from short_study import SHORT

from robotid_sim.measurement.files import load_log, save_log

ARM = DATA / "2r.urdf"


@pytest.fixture(scope="module")
def folder(robotid, tmp_path_factory):
    """Config, and logs of two motions, as of a machine."""
    folder = tmp_path_factory.mktemp("logs")
    (folder / "short.toml").write_text(SHORT)
    for seed in (1, 2):
        path, log = folder / f"t{seed}.json", folder / f"log{seed}.h5"
        words = ("--config", folder / "short.toml", "--seed", seed)
        assert robotid("design", ARM, "-o", path, *words).code == 0
        assert robotid("simulate", ARM, "--trajectory", path, "-o", log, *words).code == 0
        save_log(replace(load_log(log), origin="machine", truth=None, seed=None), log)
    return folder


@pytest.fixture
def identified(robotid, folder, tmp_path):
    """Return a function that identifies logs of the folder and returns exit code and content."""

    def run(*words):
        given = [folder / word if (folder / str(word)).exists() else word for word in words]
        config = ("--config", folder / "short.toml")
        done = robotid("identify", ARM, *given, "-o", tmp_path / "e.json", *config, "--json")
        assert done.err == ""
        return done.code, json.loads(done.out, parse_constant=pytest.fail)

    return run


def chosen(content):
    return next(e for e in content["estimates"] if e["estimator"] == content["chosen"])


def spread(content):
    return np.sqrt(np.diag(np.array(chosen(content)["cov"])))


@pytest.mark.slow
def test_two_logs_together_are_better_than_each(identified):
    code, both = identified("log1.h5", "log2.h5")
    alone = [identified(name)[1] for name in ("log1.h5", "log2.h5")]
    assert code == 0
    assert both["logs"] == ["log1.h5", "log2.h5"]
    assert len(both["preprocessing"]) == 2
    assert np.array(both["weights"]).shape == (2, 2)
    rows = [chosen(content)["rows"] for content in alone]
    assert chosen(both)["rows"] >= sum(rows)
    for content in alone:
        assert np.median(spread(both) / spread(content)) < 0.9
        difference = np.array(chosen(content)["beta"]) - chosen(both)["beta"]
        assert (np.abs(difference) < 4.0 * spread(content)).all()


def test_a_noisy_log_weighs_less(identified, folder):
    log = load_log(folder / "log2.h5")
    noise = np.random.default_rng(0).standard_normal(log.tau_meas.shape) * [3.0, 0.0]
    save_log(replace(log, tau_meas=log.tau_meas + noise), folder / "noisy.h5")
    weights = np.array(identified("log1.h5", "noisy.h5")[1]["weights"])
    assert weights[1, 0] < 0.5 * weights[0, 0]
    assert weights[1, 1] == pytest.approx(weights[0, 1], rel=0.5)


@pytest.mark.slow
def test_all_parts_of_a_log_with_a_gap_are_fitted(identified, folder, robotid, tmp_path):
    log = load_log(folder / "log1.h5")
    columns = np.column_stack([log.t, log.q, log.tau_meas])
    middle = np.abs(log.t - log.t.mean()) < 0.5
    header = "t_s,position_shoulder,position_elbow,effort_shoulder,effort_elbow"
    for name, rows in (("gap.csv", columns[~middle]), ("half.csv", columns[: middle.argmax()])):
        np.savetxt(folder / name, rows, delimiter=",", header=header, comments="", fmt="%.9g")
    code, both = identified("gap.csv")
    assert code == 0
    assert both["logs"] == ["gap.csv", "gap.csv, part 2"]
    assert chosen(both)["rows"] > 1.5 * chosen(identified("half.csv")[1])["rows"]
    own = identified("log1.h5")[1]
    difference = np.array(chosen(both)["beta"]) - chosen(own)["beta"]
    assert (np.abs(difference) < 4.0 * spread(both)).all()
    words = ("--config", folder / "short.toml")
    done = robotid("predict", ARM, tmp_path / "e.json", folder / "gap.csv", *words)
    assert (done.code, done.err) == (0, "")


@pytest.mark.slow
def test_a_foreign_log_is_imported_and_what_was_concluded_is_told(identified, folder, robotid):
    log = load_log(folder / "log1.h5")
    columns = np.column_stack([1e3 * log.t, log.q, log.tau_meas])
    header = "stamp_ms;position_shoulder;position_elbow;effort_shoulder;effort_elbow"
    text = "\n".join([header, *(";".join(f"{x:.9g}" for x in row) for row in columns)])
    (folder / "foreign.csv.gz").write_bytes(gzip.compress(text.encode()))
    code, content = identified("foreign.csv.gz")
    assert code == 0
    (notes,) = content["imported"].values()
    assert any("ms" in note for note in notes)
    own = identified("log1.h5")[1]
    assert "imported" not in own
    difference = np.array(chosen(content)["beta"]) - chosen(own)["beta"]
    assert (np.abs(difference) < 3.0 * spread(own)).all()  # it does not know of the period
    words = ("--config", folder / "short.toml")
    done = robotid("diagnose", ARM, folder / "foreign.csv.gz", *words)
    assert (done.code, done.err) == (0, "")


HELD_OUT = (("blocks:3", 1.0), ("log2.h5", 0.9))


@pytest.mark.parametrize(
    ("what", "share"),
    [("last:30%", 0.3), *(pytest.param(*c, marks=pytest.mark.slow) for c in HELD_OUT)],
)
def test_data_held_out_are_predicted(identified, folder, what, share):
    code, content = identified("log1.h5", "--hold-out", what)
    held, log = content["held_out"], load_log(folder / "log1.h5")
    assert code == 0
    assert held["what"].endswith(what)
    assert 0.8 * share * log.t.size < held["samples"] < 1.02 * share * log.t.size
    assert max(held["error_filtered"]) < 0.02


@pytest.mark.slow
def test_what_is_held_out_does_not_enter_the_fit(identified, folder):
    log = load_log(folder / "log1.h5")
    last = log.t >= log.t[0] + 0.7 * (log.t[-1] - log.t[0]) + 0.1
    tau = np.where(last[:, None], 0.5 * log.tau_meas, log.tau_meas)
    save_log(replace(log, tau_meas=tau), folder / "wrong.h5")
    sound = identified("log1.h5", "--hold-out", "last:30%")[1]
    wrong = identified("wrong.h5", "--hold-out", "last:30%")[1]
    assert chosen(wrong)["beta"] == chosen(sound)["beta"]
    assert min(wrong["held_out"]["error"]) > 0.5


@pytest.mark.slow
def test_a_table_and_the_page_show_what_was_held_out(robotid, folder, tmp_path):
    words = ("--config", folder / "short.toml", "--hold-out", "last:30%")
    pages = ("-o", tmp_path / "e.json", "--report", tmp_path / "p.html")
    done = robotid("identify", ARM, folder / "log1.h5", folder / "log2.h5", *words, *pages)
    assert (done.code, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    assert "held out (last:30%)" in done.out
    page = (tmp_path / "p.html").read_text()
    assert "from 2 logs" in page
    assert "Prediction of data held out" in page


def test_logs_that_do_not_fit_together_are_one_line(refused, folder, tmp_path):
    log = load_log(folder / "log2.h5")
    save_log(replace(log, t=2.0 * log.t, period=None), folder / "slow.h5")
    save_log(replace(log, joint_names=("a", "b")), folder / "other.h5")
    for name, said in (("slow.h5", "Hz cannot be fitted together"), ("other.h5", "other.h5: ")):
        words = (folder / "log1.h5", folder / name, "-o", tmp_path / "e.json")
        assert said in refused("identify", ARM, *words, "--config", folder / "short.toml")
    assert not (tmp_path / "e.json").exists()


def test_blocks_too_short_to_predict_are_refused_before_any_work(refused, folder, tmp_path):
    words = ("-o", tmp_path / "e.json", "--hold-out", "blocks:20")
    assert "held out are 1.1 s of a log of 22 s; a prediction needs 2.5 s" in refused(
        "identify", ARM, folder / "log1.h5", *words
    )


@pytest.mark.parametrize("words", [("log1.h5",), ("--hold-out", "log1.h5")])
def test_the_same_samples_twice_are_refused(refused, folder, tmp_path, words):
    (tmp_path / "copy.h5").write_bytes((folder / "log1.h5").read_bytes())
    given = [folder / word if word.endswith(".h5") else word for word in words]
    files = (tmp_path / "copy.h5", *given, "-o", tmp_path / "e.json")
    assert "copy.h5 and log1.h5 hold the same samples" in refused(
        "identify", ARM, *files, "--config", folder / "short.toml"
    )
    assert not (tmp_path / "e.json").exists()
