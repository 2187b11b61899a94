"""Plans of campaigns, and the store: rows that are there whole or not at all."""

import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from plans import SHORT, short_plan
from robots import DATA

from robotid_sim.campaign.factors import factor_of
from robotid_sim.campaign.plan import load_plan, plan_of
from robotid_sim.campaign.shipped_plans import list_shipped_plans
from robotid_sim.campaign.store import ARRAY_FILE, DONE, FAILED, FILE_NAME, Store, TrialRow
from robotid_sim.campaign.trial_list import RobotFiles, SharedWork, groups_of, trials_of
from robotid_sim.errors import FileFormatError, RobotIdError


def row(key: str, status: str = DONE, **more) -> TrialRow:
    return TrialRow(key, {"estimator": "ols"}, 3, status, metrics={"model_error": 0.1}, **more)


def test_rows_come_back_as_they_were(tmp_path) -> None:
    with Store(tmp_path, write=True) as store:
        store.add([row("b", FAILED, error="it broke"), row("a", seconds=1.5)])
    with Store(tmp_path, write=False) as store:
        first, second = store.rows()
        assert (first.key, first.seconds, first.metrics["model_error"]) == ("a", 1.5, 0.1)
        assert (second.status, second.error) == (FAILED, "it broke")
        assert store.counts() == {DONE: 1, FAILED: 1}
        assert store.list_finished_trials() == {"a", "b"}
        assert store.list_finished_trials(again=[FAILED]) == {"a"}
        assert store.is_whole()


def test_arrays_are_kept_beside_the_rows(tmp_path) -> None:
    with Store(tmp_path, write=True) as store:
        for value in (1.0, 2.0):  # a trial whose row was lost is run again
            store.add([row("a", arrays={"beta": np.full(3, value)})])
    with h5py.File(tmp_path / ARRAY_FILE) as file:
        assert file["a/beta"][()].tolist() == [2.0, 2.0, 2.0]


def test_rows_of_a_group_are_written_together_or_not_at_all(tmp_path) -> None:
    with Store(tmp_path, write=True) as store:
        unwritable = replace(row("b"), error=object())  # nothing that SQLite can hold
        with pytest.raises(FileFormatError, match="finished work is kept"):
            store.add([row("a"), unwritable])
        assert store.list_finished_trials() == set()


def test_others_read_while_one_writes(tmp_path) -> None:
    with Store(tmp_path, write=True) as writer:
        writer.add([row("a")])
        with Store(tmp_path, write=False) as reader:
            writer.add([row("b")])
            assert reader.list_finished_trials() == {"a", "b"}


def test_a_store_of_another_schema_is_refused(tmp_path) -> None:
    with Store(tmp_path, write=True) as store:
        store.note("schema", "99")
    with pytest.raises(FileFormatError, match="has schema 99, not 1"):
        Store(tmp_path, write=False)


def test_what_is_no_store_is_said(tmp_path) -> None:
    with pytest.raises(FileFormatError, match="has no campaign"):
        Store(tmp_path, write=False)
    (tmp_path / FILE_NAME).write_text("no database at all, but text of some length")
    with pytest.raises(FileFormatError, match="file is not a database"):
        Store(tmp_path, write=True)


def test_a_full_disk_is_one_line_and_breaks_nothing(tmp_path) -> None:
    with Store(tmp_path, write=True) as store:
        store.add([row("a")])
        pages = store._rows.execute("PRAGMA page_count").fetchone()[0]
        store._rows.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(FileFormatError, match="database or disk is full"):
            store.add([row(f"k{k}", error="x" * 5000) for k in range(50)])
        assert store.list_finished_trials() == {"a"}
        assert store.is_whole()


def test_the_file_is_read_by_sqlite_alone(tmp_path) -> None:
    with Store(tmp_path, write=True) as store:
        store.add([row("a")])
    table = sqlite3.connect(tmp_path / FILE_NAME)
    assert table.execute("SELECT key, model_error FROM trial").fetchall() == [("a", 0.1)]
    table.close()


def labels(plan):
    return [{name: level.label for name, level in point.items()} for point in plan.points()]


def test_a_grid_has_all_combinations_in_order() -> None:
    plan = short_plan(factors={"estimator": ["ols", "wls"], "design.periods": [2, 3]})
    assert labels(plan) == [
        {"estimator": e, "design.periods": p} for e in ("ols", "wls") for p in (2, 3)
    ]


def test_a_list_takes_levels_side_by_side() -> None:
    plan = short_plan(
        design="list", factors={"estimator": ["ols", "wls"], "design.periods": [2, 3]}
    )
    assert [tuple(point.values()) for point in labels(plan)] == [("ols", 2), ("wls", 3)]


@pytest.mark.parametrize("design", ["latin-hypercube", "sobol"])
def test_a_filling_design_fills_every_range(design) -> None:
    factors = {
        "sensors.encoder-noise.revolute": {"log-uniform": [1e-6, 1e-3]},
        "design.periods": [2, 3, 4, 5],
        "design.period": {"normal": [5.0, 0.1]},
    }
    plan = short_plan(design=design, samples=32, factors=factors)
    points = labels(plan)
    noise = np.log10([point["sensors.encoder-noise.revolute"] for point in points])
    counts = np.histogram(noise, bins=8, range=(-6.0, -3.0))[0]
    assert counts.tolist() == [4] * 8
    assert sorted({point["design.periods"] for point in points}) == [2, 3, 4, 5]
    assert abs(np.mean([point["design.period"] for point in points]) - 5.0) < 0.02
    assert points == labels(short_plan(design=design, samples=32, factors=factors))


def test_ranges_have_equal_steps_or_ratios() -> None:
    linear = factor_of("design.period", {"range": [4.0, 8.0], "steps": 3})
    ratios = factor_of("sensors.torque-noise.relative", {"log-range": [1e-4, 1e-2], "steps": 3})
    assert [level.label for level in linear.levels] == [4.0, 6.0, 8.0]
    np.testing.assert_allclose([level.label for level in ratios.levels], [1e-4, 1e-3, 1e-2])


def test_trials_share_what_their_levels_leave_alone() -> None:
    trials = trials_of(short_plan())
    assert SharedWork.from_trials(trials) == SharedWork(
        trials=8, designs=1, logs=4, preprocessed_logs=4
    )
    assert [len(group) for group in groups_of(trials)] == [2, 2, 2, 2]
    moved = trials_of(short_plan(factors={"design.periods": [2, 3]}))
    assert SharedWork.from_trials(moved).designs == 2


def test_a_level_of_several_keys_sets_them_all() -> None:
    level = {"name": "bad", "study": {"sensors": {"outliers": {}}, "design.periods": 3}}
    plan = short_plan(factors={"fault": [{"name": "none"}, level]})
    none, bad = (trials_of(plan)[k].study for k in (0, 2))
    assert "outliers" not in none.sensors
    assert "outliers" in bad.sensors
    assert bad.design.periods == 3


def test_keys_depend_on_content_alone() -> None:
    plan, renamed = short_plan(), short_plan(title="Another", record=["model_error"])
    assert [t.key for t in trials_of(plan)] == [t.key for t in trials_of(renamed)]
    more = [trial.key for trial in trials_of(short_plan(seeds=3))]
    assert set(more) > {trial.key for trial in trials_of(plan)}


@pytest.fixture
def arm(tmp_path):
    """Return the file of a robot."""
    return Path(shutil.copy(DATA / "2r.urdf", tmp_path / "arm.urdf"))


def keys(plan, files=None) -> list[str]:
    return [trial.key for trial in trials_of(plan, files)]


def test_keys_depend_on_the_content_of_the_files_of_a_robot(arm, tmp_path) -> None:
    nominal = tmp_path / "cad" / "nominal.urdf"
    plan = short_plan(robot=str(arm), study={"nominal": {"file": str(nominal)}}, factors={})
    beside = [folder / "robot.toml" for folder in (arm.parent, nominal.parent)]
    nominal.parent.mkdir()
    seen = [keys(plan)]
    for file in (arm, nominal, *beside):
        for text in ("one", "other"):
            file.write_text(text)
            seen.append(keys(plan))
            assert keys(plan) == seen[-1]
    assert len({key for of_files in seen for key in of_files}) == 9 * 2


def test_keys_of_robots_of_the_catalog_depend_on_their_names(tmp_path, monkeypatch) -> None:
    before = keys(short_plan())
    monkeypatch.chdir(tmp_path)
    for name in ("twolink", "robot.toml"):
        (tmp_path / name).write_text("beside")
    assert keys(short_plan()) == before
    assert keys(short_plan(), RobotFiles({"twolink": "noted"})) == before


def test_noted_digests_stand_for_files_that_are_gone(arm) -> None:
    plan, files = short_plan(robot=str(arm)), RobotFiles()
    before = keys(plan, files)
    arm.unlink()
    assert list(files.digests) == [str(arm)]
    assert keys(plan, RobotFiles(files.digests)) == before
    assert keys(plan) != before


@pytest.mark.parametrize("name", list_shipped_plans())
def test_a_shipped_plan_can_be_built_whole_and_quick(name) -> None:
    plan = load_plan(name)
    assert len(trials_of(plan)) > len(trials_of(plan.quick())) > 0
    assert plan.answers


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sead": 1}, "unknown key 'sead'; known: title, question, robot"),
        ({"record": ["modelerror"]}, "unknown metric 'modelerror' (did you mean 'model_error'?)"),
        ({"factors": {"estimator": []}}, "factor 'estimator' needs a list of levels"),
        ({"factors": {"estimator": ["ols", "ols"]}}, "has equal levels"),
        ({"factors": {"estimator": ["olss"]}}, "unknown estimator 'olss' (did you mean 'ols'?)"),
        ({"factors": {"design.periodes": [2]}}, "unknown key 'design.periodes'"),
        ({"factors": {"design.period": {"rnge": [1, 2]}}}, "(did you mean 'range'?)"),
        ({"factors": {"design.period": {"range": [2, 1], "steps": 3}}}, "two increasing numbers"),
        ({"factors": {"design.period": {"range": [1, 2], "steps": 1}}}, "from 2 to 1000"),
        ({"factors": {"x": {"log-uniform": [0.0, 1.0]}}}, "both positive"),
        ({"factors": {"x": {"uniform": [4.0, 5.0]}}}, "design grid needs levels"),
        ({"factors": {"x": [{"name": "a", "robt": 1}]}}, "unknown key 'robt'"),
        ({"factors": {"x": [{"name": "a"}, {"name": "b"}]}}, "a factor has no effect"),
        ({"robot": None}, "a campaign needs a robot"),
        ({"seeds": 0}, "'seeds"),
        ({"seeds": [1, 1]}, "give distinct whole numbers"),
        ({"design": "list", "factors": {"a": [1, 2], "b": [1]}}, "equal numbers of levels"),
        ({"time_limit": -1.0}, "'time_limit': should be greater than 0"),
        (
            {"answers": [{"metric": "nees", "factor": "estimatr", "sentence": ""}]},
            "unknown factor of an answer 'estimatr' (did you mean 'estimator'?)",
        ),
    ],
)
def test_a_plan_that_cannot_be_is_refused(change, said) -> None:
    content = {key: value for key, value in {**SHORT, **change}.items() if value is not None}
    with pytest.raises(RobotIdError) as refused:
        trials_of(plan_of(content))
    assert said in str(refused.value)


def test_the_content_of_a_nominal_file_counts(tmp_path) -> None:
    path, digests = tmp_path / "nominal.urdf", []
    for text in ("one", "other"):
        path.write_text(text)
        digests.append(RobotFiles().digest_files("irb140", path))
    assert digests[0].keys() == digests[1].keys() == {"nominal"}
    assert digests[0] != digests[1]
    assert RobotFiles().digest_files("irb140", None) == {}


def test_files_that_a_mujoco_file_includes_count(tmp_path) -> None:
    scene, parts = tmp_path / "scene.xml", tmp_path / "parts"
    parts.mkdir()
    scene.write_text("<mujoco><include file='parts/arm.xml'/></mujoco>")
    (parts / "arm.xml").write_text("<mujoco><include\n file='parts/wrist.xml'/></mujoco>")
    (parts / "wrist.xml").write_text("<mujoco/>")
    before = RobotFiles().digest_files(str(scene), None)
    assert RobotFiles().digest_files(str(scene), None) == before
    (parts / "arm.xml").write_text("<mujoco/>")
    assert RobotFiles().digest_files(str(scene), None).keys() == before.keys()
    assert RobotFiles().digest_files(str(scene), None) != before
