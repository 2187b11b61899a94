"""``robotid identify``: several logs, foreign ones, data held out, draws, terms, no torques."""

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest
from robots import DATA
from sampling import sampled
from short_study import SHORT

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.errors import LogError
from robotid_sim.estimation.estimate import load_chosen, load_estimates
from robotid_sim.importing.importer import import_log
from robotid_sim.measurement.files import load_log, save_log
from robotid_sim.measurement.log import Log
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.export import write_urdf
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.study import Study

ARM = DATA / "2r.urdf"


@pytest.fixture(scope="module")
def folder(ran, tmp_path_factory):
    """Config, and logs of two motions, as of a machine."""
    folder = tmp_path_factory.mktemp("logs")
    (folder / "short.toml").write_text(SHORT)
    for seed in (1, 2):
        path, log = folder / f"t{seed}.json", folder / f"log{seed}.h5"
        words = ("--config", folder / "short.toml", "--seed", seed)
        ran("design", ARM, "-o", path, *words)
        ran("simulate", ARM, "--trajectory", path, "-o", log, *words)
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
        return done.code, done.content

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


@pytest.mark.slow
def test_all_parts_of_a_log_with_a_gap_are_fitted(identified, folder, ran, tmp_path):
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
    ran("predict", ARM, tmp_path / "e.json", folder / "gap.csv", *words)


@pytest.mark.slow
def test_a_foreign_log_is_imported_and_what_was_concluded_is_told(identified, folder, ran):
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
    ran("diagnose", ARM, folder / "foreign.csv.gz", *words)


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
def test_a_table_and_the_page_show_what_was_held_out(ran, folder, tmp_path):
    words = ("--config", folder / "short.toml", "--hold-out", "last:30%")
    pages = ("-o", tmp_path / "e.json", "--report", tmp_path / "p.html")
    done = ran("identify", ARM, folder / "log1.h5", folder / "log2.h5", *words, *pages)
    assert max(map(len, done.out.splitlines())) <= 80
    assert "hold-out" in done.out
    page = (tmp_path / "p.html").read_text()
    assert "from 2 logs" in page
    assert "Prediction of held-out data" in page


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
    assert "the held-out part is 1.1 s of 22 s; it must have at least 2.5 s" in refused(
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


@pytest.fixture(scope="module")
def made(ran, short, tmp_path_factory):
    """An estimate with draws."""
    folder = tmp_path_factory.mktemp("draws")
    draws = ("--posterior-samples", 12, folder / "draws")
    done = ran("identify", ARM, short.log, "-o", folder / "e.json", *draws)
    assert "12 robots are written to" in done.text
    return folder


def test_draws_are_robots_that_the_engine_takes(ran, short, made, tmp_path):
    files = sorted((made / "draws").glob("*.urdf"))
    assert len(files) == 12
    masses = [Robot.from_urdf(file).parameters()[0] for file in files]
    assert len(set(masses)) == 12
    words = ("--trajectory", short.unseen_path, "-o", tmp_path / "log.h5")
    ran("simulate", files[-1], *words)


@pytest.mark.slow
def test_a_band_holds_nine_tenths_of_unseen_torques(robotid, short, made, tmp_path):
    assert min(load_chosen(made / "e.json")[2]["model_error"]["std"]) > 0.0
    words = ("predict", ARM, made / "e.json", short.unseen)
    page = tmp_path / "page.html"
    content = robotid(*words, "--json", "--report", page).content
    assert np.allclose(content["in_band"], 0.9, atol=0.02)
    assert "in band" in robotid(*words).out
    assert "the 90 % predictive band" in page.read_text()


@pytest.mark.slow
def test_without_draws_or_held_out_data_there_is_no_band(robotid, ran, short, made, tmp_path):
    done = ran("identify", ARM, short.log, "-o", tmp_path / "e.json")
    assert "model_error" not in load_chosen(tmp_path / "e.json")[2]
    done = robotid("predict", ARM, tmp_path / "e.json", short.unseen, "--json")
    assert "in_band" not in done.content


def test_draws_are_not_put_among_others(refused, short, made, tmp_path):
    out = tmp_path / "e.json"
    words = ("identify", ARM, short.log, "-o", out, "--posterior-samples", 5, made / "draws")
    assert "has other posterior samples, such as sample_06.urdf" in refused(*words)
    assert not out.exists()


@pytest.fixture(scope="module")
def cogging_logs(ran, tmp_path_factory):
    """Config, and two cogging_logs of a plant with cogging."""
    folder = tmp_path_factory.mktemp("terms")
    config = folder / "short.toml"
    law = '[experiment.friction]\nlaw = "cogging"\nshare = 0.5\nwaves = 4\n'
    config.write_text(SHORT + law)
    for name, seed in (("log", "0"), ("unseen", "7")):
        path = folder / f"{name}.json"
        seeded = ("--seed", seed, "--config", config)
        ran("design", ARM, "-o", path, *seeded)
        words = ("simulate", ARM, "--trajectory", path, "-o", folder / f"{name}.h5")
        ran(*words, *seeded)
    return config, folder / "log.h5", folder / "unseen.h5"


@pytest.fixture(scope="module")
def with_terms(ran, cogging_logs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("with_terms")
    estimate, urdf, page = (folder / name for name in ("e.json", "r.urdf", "p.html"))
    words = ("--terms", "all", "-v", "-o", estimate, "--urdf", urdf, "--report", page)
    done = ran("identify", ARM, cogging_logs[1], *words, "--config", cogging_logs[0])
    return estimate, urdf, page, done.out


@pytest.mark.slow
def test_they_are_chosen_told_and_written(with_terms):
    estimate, urdf, page, printed = with_terms
    terms = json.loads(estimate.read_text())["terms"]
    found = {(t["kind"], t["joint"], t["shape"]) for t in terms}
    assert found == {("cogging", "shoulder", 4.0), ("cogging", "elbow", 4.0)}
    assert "Additional joint terms" in printed
    assert all(len(line) <= 80 for line in printed.splitlines())
    assert "Additional joint terms" in page.read_text()
    read = Robot.from_urdf(urdf).terms
    assert {(t.kind, t.joint) for t in read} == {(t["kind"], t["joint"]) for t in terms}
    for term in terms:
        assert len(term["std"]) == len(term["values"])
        assert term["gain"] > 3.0 * term["gain_std"]


@pytest.mark.slow
def test_predictions_have_them(ran, cogging_logs, with_terms, tmp_path):
    estimate = with_terms[0]
    content = json.loads(estimate.read_text())
    without = tmp_path / "without.json"
    without.write_text(json.dumps(content | {"terms": []}))
    errors = []
    for file in (estimate, without):
        done = ran("predict", ARM, file, cogging_logs[2], "--config", cogging_logs[0], "--json")
        errors.append(np.array(done.content["error_filtered_parameters_only"]))
    assert (errors[0] < 0.5 * errors[1]).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said"),
    [
        *((f"r.{end}", "Terms of joints are omitted: cogging of") for end in ("xml", "sdf", "c")),
        ("r.urdf", "Only robotid reads joint terms: cogging of"),
    ],
)
def test_an_export_says_where_they_are_left_out(ran, with_terms, tmp_path, name, said):
    done = ran("export", with_terms[1], "-o", tmp_path / name)
    assert said in done.text


@pytest.mark.slow
def test_a_file_with_them_is_a_robot_that_has_them(
    robotid, ran, cogging_logs, with_terms, tmp_path
):
    """Its plant has the torques, and a fit takes them off."""
    robot, errors = with_terms[1], []
    for words in (
        ("design", robot, "-o", tmp_path / "t.json"),
        ("simulate", robot, "--trajectory", tmp_path / "t.json", "-o", tmp_path / "log.h5"),
    ):
        ran(*words)
    for plain in (False, True):
        file = robot
        if plain:
            file = tmp_path / "plain.urdf"
            write_urdf(replace(Robot.from_urdf(robot), terms=()), file)
        words = ("identify", file, tmp_path / "log.h5", "-o", tmp_path / "e.json", "--json")
        words += ("--terms", "none")  # by default the fit finds them again
        found = robotid(*words).content["estimates"][-1]
        errors.append(np.array(found["torque_rms"]))
    assert (errors[0] < 0.2 * errors[1]).all()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"joint": "knee"}, "no joint 'knee'"),
        ({"kind": "mood"}, "unknown term 'mood'"),
        ({"values": [1.0]}, "needs finite"),
        ({"shape": None}, "needs k"),
    ],
)
def test_wrong_terms_of_an_estimate_file_are_refused(
    refused, cogging_logs, with_terms, tmp_path, change, said
):
    content = json.loads(with_terms[0].read_text())
    content["terms"][0] |= change
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(content))
    assert said in refused("predict", ARM, bad, cogging_logs[2], "--config", cogging_logs[0])


@pytest.fixture(scope="module")
def whole(quick_study) -> Study:
    """Return a study whose logs have every torque."""
    return quick_study[0]


def without(log: Log, *joints: int) -> Log:
    """Return the log as of a machine that has not recorded some torques."""
    recorded = ~np.isin(np.arange(log.dof), joints)
    return replace(log, truth=None, origin="machine", tau_meas=log.tau_meas * recorded)


def written(log: Log, path, absent: int, value: float | None) -> None:
    """Write positions and torques, those of a joint as a constant or not at all."""
    names = [name for j, name in enumerate(log.joint_names) if value is not None or j != absent]
    tau = np.array(log.tau_meas)
    tau[:, absent] = np.nan if value is None else value
    kept = [j for j, name in enumerate(log.joint_names) if name in names]
    head = ["time", *(f"{n}_pos" for n in log.joint_names), *(f"{n}_torque" for n in names)]
    table = np.column_stack([log.t, log.q, tau[:, kept]])
    np.savetxt(path, table, delimiter=",", header=",".join(head), comments="", fmt="%.9g")


@pytest.mark.slow
@pytest.mark.parametrize("absent", sampled((1, 2, 5), 2))
def test_the_others_are_identified_as_with_it(ran, whole, tmp_path, absent) -> None:
    log, robot = without(whole.log, absent), load_robot("irb140")
    save_log(log, tmp_path / "log.h5")
    nominal = tmp_path / "nominal.urdf"
    write_urdf(whole.nominal, nominal)
    told = ran("identify", nominal, tmp_path / "log.h5", "-o", tmp_path / "e.json").text
    assert f"No torque of joint_{absent + 1} was recorded. Its rows are excluded" in told
    (*_, estimate), context = load_estimates(tmp_path / "e.json")
    assert context["torque_measured"] == log.torque_measured.tolist()
    basis = base_parameters(robot, measured=log.torque_measured)
    assert estimate.names == basis.names
    ratio = (estimate.beta - basis.project(robot.parameters())) / estimate.std
    assert np.abs(ratio).max() < 4.5
    assert np.mean(np.abs(ratio) < 1.96) > 0.85
    done = ran("diagnose", nominal, tmp_path / "log.h5")
    assert "No fault found." in done.out
    save_log(replace(whole.unseen, truth=None), tmp_path / "unseen.h5")
    done = ran("predict", nominal, tmp_path / "e.json", tmp_path / "unseen.h5", "--json")


@pytest.mark.parametrize("value", [None, np.nan, 0.0], ids=["no column", "no numbers", "zeros"])
def test_an_import_says_so(whole, tmp_path, value) -> None:
    written(whole.log, tmp_path / "log.csv", 3, value)
    imported = import_log([tmp_path / "log.csv"], whole.nominal)
    assert "no torque of joint_4 is recorded; a fit leaves its rows out" in imported.notes
    assert imported.log.torque_measured.tolist() == [True, True, True, False, True, True]


def test_no_torque_at_all_is_refused(whole) -> None:
    with pytest.raises(LogError, match=r"measured torque of joint_1, joint_2, .* is constant"):
        without(whole.log, *range(6)).require_torques()


@pytest.mark.slow
def test_a_load_is_found_by_the_other_joints(ran, refused, whole, tmp_path) -> None:
    config, path = tmp_path / "quick.toml", tmp_path / "path.json"
    config.write_text(
        "[design]\ncandidates = 8\niterations = 5\nperiods = 2\n[experiment]\nrate = 250.0\n"
    )
    ran("design", "irb140", "-o", path, "--config", config)
    both = [tmp_path / "bare.h5", tmp_path / "loaded.h5"]
    for file, words in zip(both, ((), ("--payload", "1.0", "--seed", 1)), strict=True):
        words = ("--trajectory", path, "-o", file, "--config", config, *words)
        ran("simulate", "irb140", *words)
        save_log(without(load_log(file), 3), file)
    content = ran("payload", "irb140", *both, "--json").content
    off = np.array([content["parameters"]["mL"] - 1.0, content["parameters"]["mzL"]])
    std = np.array([content["parameters_std"][name] for name in ("mL", "mzL")])
    assert (np.abs(off) < 4.0 * std).all()
    assert (std < 0.01).all()
    assert "the torque of joint_4 is not in both logs" in refused(
        "payload", "irb140", *both, "--load", "1.0"
    )
