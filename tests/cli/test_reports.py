"""Reports of the commands: written where asked, with the command that makes them again."""

import shutil
from html import unescape

import pytest
from results import sealed
from robots import DATA

ARM = DATA / "2r.urdf"


@pytest.fixture(scope="module")
def folder(robotid, short, tmp_path_factory):
    """Every stage of a short study of the planar arm, with its report."""
    folder = tmp_path_factory.mktemp("stages")
    shutil.copy(short.config, folder)
    shutil.copy(short.log, folder)
    for words in (
        ("design", ARM, "-o", folder / "t.json"),
        ("identify", ARM, short.log, "-o", folder / "e.json"),
        ("validate", ARM, short.estimate, "--log", short.log, "--quick"),
    ):
        page = folder / f"{words[0]}.html"
        done = robotid(*words, "--config", short.config, "--report", page)
        assert done.code == 0, done.err
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "headings"),
    [
        ("design", ["Excitation", "Expected accuracy"]),
        ("identify", ["Preprocessing", "Identification", "Fit", "In other tools"]),
        ("validate", ["Verdict", "Prediction", "Closed loop"]),
    ],
)
def test_stage_report_has_its_sections_and_its_command(folder, command, headings) -> None:
    text = unescape((folder / f"{command}.html").read_text())
    for heading in (*headings, "Assumptions", "Reproduce"):
        assert f"<h2>{heading}</h2>" in text
    assert f"robotid {command} {ARM}" in text
    assert '"rate":250.0' in text.replace(" ", "")


@pytest.mark.slow
def test_identification_report_shows_no_truth(folder) -> None:
    text = (folder / "identify.html").read_text()
    assert "|error|" not in text
    assert "torque noise" not in text


@pytest.mark.slow
def test_the_replay_is_on_the_page_unless_left_out(robotid, folder, tmp_path) -> None:
    for name in ("design", "identify", "validate"):
        assert 'id="replay-data"' in (folder / f"{name}.html").read_text()
    words = ("identify", ARM, folder / "log.h5", "-o", tmp_path / "e.json")
    page = tmp_path / "page.html"
    done = robotid(*words, "--config", folder / "short.toml", "--report", page, "--no-replay")
    assert done.code == 0, done.err
    text = page.read_text()
    assert not any(word in text for word in ('id="replay', "ReplayScene"))


@pytest.mark.slow
def test_run_writes_report_and_figures(robotid, folder, tmp_path) -> None:
    config, figures = folder / "short.toml", tmp_path / "figures"
    figures.mkdir()
    for name in ("figures/stale.png", "figures/stale.csv", "report.html"):
        (tmp_path / name).write_text("")
    sealed(tmp_path)  # an earlier run
    (figures / "mine.png").write_text("")
    done = robotid("run", ARM, "--quick", "--workers", 1, "--out", tmp_path, "--config", config)
    assert done.code in (0, 1), done.err  # so short a study need not pass
    assert "report.html" in done.out
    text = (tmp_path / "report.html").read_text()
    assert f"robotid run {ARM} --quick" in unescape(text)
    names = {path.name for path in figures.iterdir()}
    assert "mine.png" in names
    assert not {"stale.png", "stale.csv"} & names  # of the earlier run
    for stem in ("excitation", "torque-filters", "prediction", "base-parameters", "residuals"):
        assert {f"{stem}.svg", f"{stem}.png", f"{stem}.csv"} <= names
    assert "report: " in (tmp_path / "run.log").read_text()


@pytest.mark.parametrize("command", ["design", "identify", "validate"])
def test_report_that_cannot_be_written_is_one_line_before_any_work(
    refused, short, tmp_path, command
) -> None:
    out = tmp_path / "out.json"
    words = {
        "design": (ARM, "-o", out),
        "identify": (ARM, short.log, "-o", out),
        "validate": (ARM, short.estimate, "-o", out),
    }[command]
    assert "page.html" in refused(command, *words, "--report", tmp_path / "none" / "page.html")
    assert not out.exists()
