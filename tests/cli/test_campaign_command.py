"""``robotid campaign``: plans that change, robots from files, and what is refused in one line."""

import csv
import json
import shutil
import sqlite3
from contextlib import closing

import pytest
from lxml import html
from robots import DATA
from sampling import sampled

from robotid_sim.campaign.plan import load_plan
from robotid_sim.campaign.shipped_plans import list_shipped_plans
from robotid_sim.campaign.store import DONE, FILE_NAME, Store

PLAN = """
title = "t"
robot = "{robot}"
seeds = {seeds}
record = ["model_error"]
{more}
[study]
design = {{candidates = 5, starts = 1, iterations = 5, period = 4.0, periods = 1}}
experiment = {{rate = 250.0}}
estimation = {{estimators = ["ols"], chosen = "ols"}}
[factors]
{factors}
"""

NOISE = '"sensors.encoder-noise.revolute" = [1e-5, 1e-4]'


def levels(factor: str, fine: str, coarse: str) -> str:
    """Return the factor `NOISE` under other names."""
    key = '"sensors.encoder-noise.revolute"'
    parts = ((fine, "1e-5"), (coarse, "1e-4"))
    texts = [f'{{name = "{name}", study = {{{key} = {value}}}}}' for name, value in parts]
    return f"{factor} = [{', '.join(texts)}]"


def write_plan(path, *, robot="twolink", seeds="[0]", more="", factors=NOISE) -> None:
    path.write_text(PLAN.format(robot=robot, seeds=seeds, more=more, factors=factors))


@pytest.fixture(scope="module")
def finished(ran, tmp_path_factory):
    """Return the folder of a campaign that has been run."""
    folder = tmp_path_factory.mktemp("campaign")
    write_plan(folder / "p.toml")
    words = ("campaign", "run", folder / "p.toml", "--out", folder / "c", "--workers", 1)
    ran(*words)
    return folder / "c"


@pytest.fixture
def copied(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "c")


def run(ran, plan, folder) -> int:
    """Run a plan and return how many trials were new."""
    done = ran("campaign", "run", plan, "--out", folder, "--workers", 1, "--json")
    return done.content["new"]


def exported(ran, folder, tmp_path) -> list[dict[str, str]]:
    """Return the rows of a campaign as the export has them."""
    ran("campaign", "export", folder, "--out", tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def require_refused(done, *words: str) -> None:
    assert done.code == 2, done.err
    assert done.err.startswith("robotid: ")
    assert done.err.count("\n") == 1
    for word in words:
        assert word in done.err


def test_a_factor_that_is_renamed_keeps_its_rows(robotid, ran, copied, tmp_path) -> None:
    write_plan(tmp_path / "p.toml", factors=levels("encoder", "fine", "coarse"))
    assert run(robotid, tmp_path / "p.toml", copied) == 0
    assert [row["encoder"] for row in exported(robotid, copied, tmp_path)] == ["fine", "coarse"]
    ran("campaign", "summary", copied, "--workers", 1)
    assert "fine" in (copied / "summary.html").read_text()


@pytest.mark.slow
def test_a_level_that_is_renamed_is_one_level(robotid, tmp_path) -> None:
    write_plan(tmp_path / "p.toml", factors=levels("encoder", "fine", "coarse"))
    assert run(robotid, tmp_path / "p.toml", tmp_path / "c") == 2
    write_plan(tmp_path / "p.toml", seeds="[0, 1]", factors=levels("encoder", "good", "bad"))
    assert run(robotid, tmp_path / "p.toml", tmp_path / "c") == 2
    rows = exported(robotid, tmp_path / "c", tmp_path)
    assert [row["encoder"] for row in rows] == ["good", "good", "bad", "bad"]


@pytest.mark.slow
def test_a_robot_file_that_is_edited_is_run_anew(robotid, tmp_path, monkeypatch) -> None:
    robot = tmp_path / "arm.urdf"
    shutil.copy(DATA / "2r.urdf", robot)
    write_plan(tmp_path / "p.toml", robot=robot)
    assert run(robotid, tmp_path / "p.toml", tmp_path / "c") == 2
    assert run(robotid, tmp_path / "p.toml", tmp_path / "c") == 0
    robot.write_text(robot.read_text().replace("</robot>", "<!-- edited --></robot>"))
    assert run(robotid, tmp_path / "p.toml", tmp_path / "c") == 2


@pytest.mark.slow
def test_a_campaign_is_read_when_its_robot_is_gone(robotid, tmp_path) -> None:
    robot = tmp_path / "arm.urdf"
    shutil.copy(DATA / "2r.urdf", robot)
    write_plan(tmp_path / "p.toml", robot=robot)
    run(robotid, tmp_path / "p.toml", tmp_path / "c")
    robot.unlink()
    assert len(exported(robotid, tmp_path / "c", tmp_path)) == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("UPDATE about SET value = 'xx' WHERE name = 'plan'", "note 'plan' is not a JSON table"),
        ("UPDATE about SET value = '[1]' WHERE name = 'plan'", "note 'plan' is not a JSON table"),
        ("UPDATE about SET value = 'x' WHERE name = 'robot files'", "note 'robot files'"),
        ("UPDATE trial SET factors = 'xx'", "'factors' of trial"),
        ("UPDATE trial SET factors = NULL", "'factors' of trial"),
        ("UPDATE trial SET factors = '[1]'", "'factors' of trial"),
        ("UPDATE trial SET model_error = 'abc'", "'model_error' of trial"),
        ("UPDATE trial SET seconds = NULL", "'seconds' of trial"),
        ("UPDATE trial SET error = NULL", "'error' of trial"),
        ("UPDATE trial SET status = x'00'", "'status' of trial"),
        ("UPDATE trial SET seed = 'one'", "'seed' of trial"),
    ],
)
def test_a_damaged_store_is_one_line(robotid, copied, tmp_path, change, words) -> None:
    with closing(sqlite3.connect(copied / FILE_NAME)) as store:
        store.execute(change)
        store.commit()
    table = tmp_path / "rows.csv"
    for rest in (("status", copied), ("summary", copied), ("export", copied, "--out", table)):
        require_refused(robotid("campaign", *rest), f"{copied / FILE_NAME} is damaged: {words}")
    write_plan(tmp_path / "p.toml", seeds="[0, 1]")
    plan = ("campaign", "run", tmp_path / "p.toml", "--out", copied)
    if "robot files" not in change:  # written anew
        require_refused(robotid(*plan, "--dry-run"), "restore it, or run the plan in another")
    if "'plan'" in change:
        require_refused(robotid(*plan), "restore it, or run the plan in another")


@pytest.mark.parametrize(
    "sentence",
    ["{foo}", "{", "}", "{level", "{0}", "{}", "{level:d}", "{by!z}", "{level.foo}", "{level[0]}"],
)
def test_a_sentence_that_cannot_be_filled_is_refused(robotid, tmp_path, sentence) -> None:
    factor = "sensors.encoder-noise.revolute"
    answer = f'answers = [{{metric = "model_error", factor = "{factor}", sentence = "{sentence}"}}]'
    write_plan(tmp_path / "p.toml", more=answer)
    done = robotid("campaign", "run", tmp_path / "p.toml", "--out", tmp_path / "c")
    require_refused(done, "p.toml: 'answers.0.sentence': may have {level}, {value}, {limit}, {by}")
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    ("factors", "words"),
    [
        ('estimator = [["wls"], ["ols"]]', "factor 'estimator': ['wls'] is not a name"),
        ("estimator = [{a = 1}, {b = 2}]", "factor 'estimator': {'a': 1} is not a name"),
        ('x = [{name = "a", study = "s"}]', "factor 'x', level 'a': study = 's'; give a table"),
        ('x = [{name = "a", study = [1]}]', "factor 'x', level 'a': study = [1]; give a table"),
        (f"x = {{range = [1, 1{400 * '0'}], steps = 3}}", "'factors': should lie within 1e+09"),
        ("x = {range = [nan, 1.0], steps = 3}", "factor 'x': range = [nan, 1.0]"),
    ],
)
def test_levels_of_a_wrong_type_are_refused(robotid, tmp_path, factors, words) -> None:
    write_plan(tmp_path / "p.toml", factors=factors)
    done = robotid("campaign", "run", tmp_path / "p.toml", "--out", tmp_path / "c", "--dry-run")
    require_refused(done, words)
    assert len(done.err) < 300


@pytest.mark.parametrize("seed", [2**63, 10**30, 10**400])
def test_seeds_that_the_store_cannot_hold_are_refused(robotid, tmp_path, seed) -> None:
    write_plan(tmp_path / "p.toml", seeds=f"[{seed}]")
    done = robotid("campaign", "run", tmp_path / "p.toml", "--out", tmp_path / "c")
    require_refused(done, "distinct whole numbers from 0 to 9223372036854775807")
    assert len(done.err) < 300
    assert not (tmp_path / "c").exists()


@pytest.mark.slow
def test_the_largest_seed_is_kept(robotid, tmp_path) -> None:
    write_plan(tmp_path / "p.toml", seeds=f"[{2**63 - 1}]")
    assert run(robotid, tmp_path / "p.toml", tmp_path / "c") == 2


def test_a_plan_without_a_robot_says_so_plainly(robotid, tmp_path) -> None:
    plan = tmp_path / "p.toml"
    plan.write_text('title = "t"\n')
    done = robotid("campaign", "run", plan, "--out", tmp_path / "c")
    require_refused(done, f"robotid: {plan}: a campaign needs a robot; give robot = ")
    assert done.err.endswith("or a factor robot\n")


SHORT = {*list_shipped_plans()} - {"cad", "duration", "encoder"}


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(list_shipped_plans(), *SHORT))
def test_a_shipped_plan_runs_and_answers(ran, tmp_path, monkeypatch, name) -> None:
    monkeypatch.chdir(tmp_path)

    def told(*words: object) -> str:
        done = ran("campaign", *words)
        return done.out

    told("run", name, "--quick", "--out", name, "--workers", 2)
    trials = json.loads(told("status", name, "--json"))["trials"]
    with Store(tmp_path / name, write=False) as store:
        assert store.counts() == {DONE: trials}
    sentences = json.loads(told("summary", name, "--json"))["answers"]
    assert len(sentences) >= len(load_plan(name).answers)
    page = html.fromstring((tmp_path / name / "summary.html").read_bytes()).text_content()
    assert all(sentence in page and "{" not in sentence for sentence in sentences)
    assert all(path.stat().st_size > 100 for path in (tmp_path / name / "figures").iterdir())
    told("export", name, "-o", "trials.csv")
    assert len((tmp_path / "trials.csv").read_text().splitlines()) == trials + 1
