"""``robotid identify`` of a log that is read in parts."""

import json
import subprocess
import sys
from dataclasses import replace
from functools import cache

import h5py
import numpy as np
import pytest

from robotid_sim import FourierOptions, random_design
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.errors import FileFormatError, LogError
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import build_problem
from robotid_sim.importing.reading import read_logs
from robotid_sim.measurement import long_log as module
from robotid_sim.measurement.files import load_log, save_log
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.long_log import LongLog, copy_of_csv
from robotid_sim.model.catalog import load_robot
from robotid_sim.pipeline import long_logs
from robotid_sim.pipeline.build_robot import build_basis
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.fit_plan import build_fit
from robotid_sim.pipeline.long_logs import can_stream, identify_long
from robotid_sim.pipeline.stages import fit_logs

DT = 4e-3
MOST = 700e6
"""Largest memory of an identification from 1e6 rows [bytes]; in memory it takes 1.3 GB."""

MEASURED = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


@cache
def arm():
    return load_robot("twolink")


@cache
def period():
    """Position and torque of 10 s."""
    rng = np.random.default_rng(0)
    options = FourierOptions(period=10.0, periods=1)
    design = random_design(arm(), base_parameters(arm()), rng, options=options, candidates=20)
    motion = design(DT * np.arange(round(10.0 / DT)))
    return motion.q, joint_torque(arm(), motion.q, motion.dq, motion.ddq)


def made(rows, lacking=0.0):
    """Return a log of some rows with noise, and with a torque that the model lacks."""
    rng, (q, tau) = np.random.default_rng(1), period()
    times = -(-rows // len(q))
    q, tau = (np.tile(x, (times, 1))[:rows] for x in (q, tau))
    lack = lacking * np.sin(4.0 * q)
    return Log(
        t=DT * np.arange(rows),
        q=q + 1e-4 * rng.standard_normal(q.shape),
        tau_meas=tau + lack + 0.02 * rng.standard_normal(q.shape),
        joint_names=arm().joint_names,
        joint_units=arm().joint_units,
        period=10.0,
    )


@pytest.fixture
def short_parts(monkeypatch):
    """Parts of 10,000 samples."""
    monkeypatch.setattr(module, "PART_SIZE", 20_000)
    monkeypatch.setattr(module, "MIN_LONG_SIZE", 50_000)


@pytest.fixture
def both(tmp_path, short_parts):
    """Return a function that identifies a log in memory and in parts."""

    def run(log):
        path = tmp_path / "log.h5"
        save_log(log, path)
        study = StudyConfig().with_estimation((), None, ["none"])  # a long log has functions only
        basis, plan = build_basis(arm(), study), build_fit(study)
        rngs = (np.random.default_rng(0) for _ in range(2))
        whole = fit_logs(load_log(path), arm(), basis, plan, next(rngs))
        long = LongLog.open(path, "log.h5", arm())
        return whole, identify_long(long, arm(), basis, plan, next(rngs)), long, basis

    return run


@pytest.mark.slow
def test_parts_have_the_rows_of_the_whole_log(both):
    log = made(60_000)
    _, fit, long, basis = both(log)
    use = fit.preprocessor
    rows = build_problem(use(log, fit.nominal), fit.nominal, basis)
    grid = long_logs._Grid.from_log(long, use)
    # The first row of the whole log is `edge`, a step, behind the first sample in use.
    assert round(use.rows.edge / log.dt) == grid.step
    inside = slice(grid.margin - 1, grid.margin - 1 + grid.rows)
    W, y = (rows.unstack_rows(x)[inside] for x in (rows.W, rows.y))
    size = np.sqrt((W**2).mean(axis=(0, 1)))
    assert grid.rows > 0.95 * rows.samples
    np.testing.assert_allclose(
        fit.problem_without_terms.unstack_rows(fit.problem_without_terms.W) / size,
        W / size,
        atol=1e-5,
    )
    np.testing.assert_allclose(
        fit.problem_without_terms.unstack_rows(fit.problem_without_terms.y),
        y,
        atol=1e-5 * np.abs(y).max(),
    )
    own = WeightedLeastSquares().fit(
        replace(fit.problem_without_terms, W=W.reshape(-1, basis.rank), y=y.ravel()),
        np.random.default_rng(0),
    )
    parts = WeightedLeastSquares().fit(fit.problem_without_terms, np.random.default_rng(0))
    assert (np.abs(own.beta - parts.beta) < 1e-3 * own.std).all()


@pytest.mark.slow
def test_estimate_in_parts_is_that_in_memory(both):
    whole, parts, _, _ = both(made(60_000))
    assert (np.abs(whole.chosen.beta - parts.chosen.beta) < 0.3 * whole.chosen.std).all()
    np.testing.assert_allclose(parts.chosen.std, whole.chosen.std, rtol=0.15)
    assert not parts.discrepancy.unmodeled
    assert not parts.warning


@pytest.mark.slow
def test_excerpts_show_what_the_model_lacks(both, monkeypatch):
    monkeypatch.setattr(long_logs, "SEARCH_ROWS", 1000)
    whole, parts, _, _ = both(made(60_000, lacking=0.05))
    found = {(lack.joint, lack.quantity) for lack in parts.discrepancy.unmodeled}
    expected = {(lack.joint, lack.quantity) for lack in whole.discrepancy.unmodeled}
    assert expected & found >= {("joint_1", "position"), ("joint_2", "position")}
    assert len(parts.discrepancy.columns) == len(parts.problem_without_terms.y)
    truth = parts.basis.project(arm().parameters())
    assert (np.abs(parts.chosen.beta - truth) < 3.0 * parts.chosen.std).all()


@pytest.mark.slow
def test_a_fit_of_excerpts_knows_that_they_repeat(both, monkeypatch):
    """What the model lacks comes again with every period: it is one error, not as many."""
    whole, _, _, _ = both(made(60_000, lacking=0.05))
    monkeypatch.setattr(long_logs, "SEARCH_ROWS", 1250)
    _, parts, _, _ = both(made(60_000, lacking=0.05))
    rows = parts.problem_without_terms
    assert (rows.samples, rows.period) == (600, 10.0)
    assert len(parts.motion.row_times) == rows.samples
    y, count = rows.unstack_rows(rows.y), round(rows.period / rows.dt)
    assert np.abs(y[count:] - y[:-count]).std() < 0.02 < 0.1 * y.std()
    ratio = parts.chosen.std / whole.chosen.std
    assert 0.5 < np.median(ratio) < 2.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lacking", "words"), [(0.0, "the fit uses all samples"), (0.05, "The fit uses them, too")]
)
def test_identify_says_which_rows_the_fit_has(
    robotid, tmp_path, short_parts, monkeypatch, lacking, words
):
    monkeypatch.setattr("robotid_sim.importing.reading.MIN_LONG_SIZE", 50_000)
    monkeypatch.setattr(long_logs, "SEARCH_ROWS", 1250)
    save_log(made(60_000, lacking=lacking), tmp_path / "log.h5")
    done = robotid("identify", "twolink", tmp_path / "log.h5", "-o", tmp_path / "e.json")
    assert words in done.text


def test_copy_of_a_csv_has_the_bits_of_the_csv(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LINES_PER_READ", 999)
    log = made(3000)
    save_log(log, tmp_path / "log.csv")
    copy = load_log(copy_of_csv(tmp_path / "log.csv", tmp_path))
    read = load_log(tmp_path / "log.csv")
    for name in ("t", "q", "tau_meas"):
        np.testing.assert_array_equal(getattr(copy, name), getattr(read, name))
    assert (copy.period, copy.joint_names) == (read.period, read.joint_names)


@pytest.mark.parametrize(
    ("row", "text", "message"),
    [
        (2500, "x", "row 2500, column 'q.joint_1': 'x' is not a number"),
        (2500, "nan", "q is not finite"),
        (2500, "1,2", "sample 2500 has 6 values instead of 5"),
    ],
)
def test_faults_of_a_long_csv_are_named(tmp_path, monkeypatch, row, text, message):
    monkeypatch.setattr(module, "LINES_PER_READ", 1000)
    path = tmp_path / "log.csv"
    save_log(made(3000), path)
    lines = path.read_text().splitlines()
    above = len(lines) - 3000
    cells = lines[above + row - 1].split(",")
    lines[above + row - 1] = ",".join([cells[0], text, *cells[2:]])
    path.write_text("\n".join(lines))
    with pytest.raises((LogError, FileFormatError), match=message):
        copy_of_csv(path, tmp_path)


def test_faults_of_a_long_hdf5_are_named(tmp_path, short_parts):
    path = tmp_path / "log.h5"
    for name, value, message in (
        ("q", np.nan, "samples 40001 to 50000: .*not finite"),
        ("t", 1e3, "time does not advance uniformly"),
    ):
        save_log(made(60_000), path)
        with h5py.File(path, "r+") as file:
            file[name][45_000] = value
        with pytest.raises(LogError, match=message):
            LongLog.open(path, "log", arm())
    save_log(replace(made(60_000), period=None), path)
    with h5py.File(path, "r+") as file:
        file["tau_meas"][:, 0] = 1.0
    with pytest.raises(LogError, match="torque of joint_1 is constant"):
        LongLog.open(path, "log", arm())


def test_only_long_logs_are_read_in_parts(tmp_path, short_parts, monkeypatch):
    save_log(made(4000), tmp_path / "short.csv")
    save_log(made(60_000), tmp_path / "long.h5")
    (tmp_path / "broken.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    assert read_logs(tmp_path / "short.csv", arm()).long is None
    for name in ("broken.h5", "absent.csv"):
        with pytest.raises(FileFormatError):
            read_logs(tmp_path / name, arm())
    monkeypatch.setattr("robotid_sim.importing.reading.MIN_LONG_SIZE", 50_000)
    assert read_logs(tmp_path / "long.h5", arm()).long.samples == 60_000


def test_what_needs_all_samples_is_not_read_in_parts():
    study = StudyConfig()

    def plan(**options):
        changed = study.estimation.model_copy(update=options)
        return build_fit(study.model_copy(update={"estimation": changed}))

    assert can_stream(plan())
    assert not can_stream(plan(estimators=("output-error",), chosen="output-error"))
    assert not can_stream(plan(joint_terms=("stribeck",)))


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("form", ["h5", "csv"])
def test_a_million_rows_take_little_memory(tmp_path, form):
    log = made(1_000_000)
    path = tmp_path / f"log.{form}"
    save_log(log, path)
    words = ["identify", "twolink", str(path), "-o", str(tmp_path / "e.json")]
    # Memory of a process counts from its parent's at the start: this one is large, that one small.
    command = [sys.executable, "-m", "robotid_sim", *words]
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *command], stdout=subprocess.PIPE, text=True, check=True
    )
    content = json.loads((tmp_path / "e.json").read_text())
    found = next(e for e in content["estimates"] if e["estimator"] == content["chosen"])
    study = StudyConfig()
    basis, plan = build_basis(arm(), study), build_fit(study)
    whole = fit_logs(log, arm(), basis, plan, np.random.default_rng(0)).chosen
    assert content["read_in_parts"] == len(log.t)
    assert (np.abs(whole.beta - np.array(found["beta"])) < 0.3 * whole.std).all()
    assert int(done.stdout.splitlines()[-1]) * 1024 < MOST
