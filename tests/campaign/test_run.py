"""Campaigns that run: the same rows everywhere, nothing twice, nothing lost."""

import time
from dataclasses import replace
from pathlib import Path

import pytest
from joblib import parallel_config
from plans import short_plan, told

from robotid_sim.campaign import backend, group_work
from robotid_sim.campaign import run as campaign_run
from robotid_sim.campaign.backend import LateError, limited
from robotid_sim.campaign.run import run_campaign
from robotid_sim.campaign.store import DONE, FAILED, LATE, LOST, Store
from robotid_sim.campaign.trial_list import Effort, trials_of
from robotid_sim.errors import FileFormatError, OptionError
from robotid_sim.result_folder import locked


def rows_in(folder):
    with Store(folder, write=False) as store:
        return list(store.rows())


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return the folder of a short campaign that has been run by this process."""
    folder = tmp_path_factory.mktemp("campaign")
    done = run_campaign(short_plan(), folder)
    assert (done.new, done.before, dict(done.counts)) == (8, 0, {DONE: 8})
    return folder


@pytest.mark.slow
def test_rows_are_sound(finished) -> None:
    for row in rows_in(finished):
        assert 0.0 < row.metrics["model_error"] < 0.01
        assert 0.0 < row.metrics["parameter_error"] < 0.01
        assert row.metrics["tracking_gap"] is None


@pytest.mark.slow
def test_finished_trials_are_not_run_again(finished, monkeypatch) -> None:
    before = told(rows_in(finished))

    def work(*_args):
        raise AssertionError("a trial was run again")

    monkeypatch.setattr(group_work, "_made", work)
    monkeypatch.setattr(group_work.DoGroup, "_rows", work)
    done = run_campaign(short_plan(), finished)
    assert (done.new, done.before) == (0, 8)
    assert told(rows_in(finished)) == before


@pytest.mark.slow
def test_more_seeds_run_only_what_is_new(finished, tmp_path) -> None:
    run_campaign(short_plan(seeds=1), tmp_path)
    done = run_campaign(short_plan(), tmp_path)
    assert (done.new, done.before) == (4, 4)
    assert told(rows_in(tmp_path)) == told(rows_in(finished))
    fewer = run_campaign(short_plan(seeds=1), tmp_path)
    assert (fewer.new, fewer.before, fewer.counts, fewer.others) == (0, 4, {DONE: 4}, 4)


def test_what_trials_took_is_what_further_ones_are_expected_to_take() -> None:
    plan = short_plan()
    trials = trials_of(plan)
    assert Effort.of(trials, plan, [1.0, 4.0]).seconds == 2.5 * len(trials)
    assert Effort.of(trials, plan).seconds > 0.0


@pytest.mark.slow
def test_two_processes_find_the_same(finished, tmp_path) -> None:
    run_campaign(short_plan(), tmp_path, workers=2)
    assert told(rows_in(tmp_path)) == told(rows_in(finished))


@pytest.mark.slow
def test_a_cluster_finds_the_same(finished, tmp_path) -> None:
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster),
        parallel_config(backend="dask"),
    ):
        run_campaign(short_plan(), tmp_path, workers=2)
    assert told(rows_in(tmp_path)) == told(rows_in(finished))


@pytest.mark.slow
def test_an_estimator_that_raises_costs_its_own_rows_only(finished, tmp_path, monkeypatch) -> None:
    estimated = group_work.DoGroup._estimated

    def broken(self, trials, *rest):
        if any(trial.factors["estimator"] == "ols" for trial in trials):
            raise ValueError("no fit today")
        return estimated(self, trials, *rest)

    monkeypatch.setattr(group_work.DoGroup, "_estimated", broken)
    run_campaign(short_plan(), tmp_path)
    good, bad = told(rows_in(finished)), told(rows_in(tmp_path))
    assert {row[4] for row in bad if row[1]["estimator"] == "ols"} == {"ValueError: no fit today"}
    assert [row for row in bad if row[3] == DONE] == [r for r in good if r[1]["estimator"] == "wls"]
    monkeypatch.undo()
    done = run_campaign(short_plan(), tmp_path, again=[FAILED])
    assert done.new == 4
    assert told(rows_in(tmp_path)) == good


def test_a_robot_that_cannot_be_is_a_row_with_its_error(tmp_path) -> None:
    plan = short_plan(robot="nowhere", factors={})
    done = run_campaign(plan, tmp_path)
    assert dict(done.counts) == {FAILED: 2}
    assert "no robot 'nowhere'" in rows_in(tmp_path)[0].error


@pytest.mark.slow
def test_a_trial_past_its_time_is_ended_and_recorded(tmp_path, monkeypatch) -> None:
    def sleep(*_args):
        for _ in range(1000):
            time.sleep(0.01)

    def unlimited(trial, *, needs_loop, **_):
        return group_work.make_motions(trial, needs_loop=needs_loop, limit=None)

    run_campaign(short_plan(seeds=1), tmp_path)
    monkeypatch.setattr(group_work.DoGroup, "_estimated", sleep)
    monkeypatch.setattr(campaign_run, "make_motions", unlimited)
    began = time.monotonic()
    run_campaign(short_plan(time_limit=0.3), tmp_path)
    assert time.monotonic() - began < 8.0
    with Store(tmp_path, write=False) as store:
        assert store.counts() == {DONE: 4, LATE: 4}


def test_a_limit_of_time_lets_go_of_what_was_in_time() -> None:
    with limited(10.0):
        pass
    with pytest.raises(LateError), limited(0.05):
        forever()


def forever() -> None:
    while True:
        time.sleep(0.001)


@pytest.mark.slow
def test_work_whose_process_dies_is_begun_again_and_given_up(tmp_path, monkeypatch) -> None:
    begun, each_task = [], backend.each_task

    def dying(function, tasks, *rest, apart, batch_size):
        if not isinstance(function, group_work.DoGroup):
            return each_task(function, tasks, *rest, apart=apart, batch_size=batch_size)
        assert (apart, batch_size) == (True, "auto")
        begun.append(len(tasks))
        raise backend.lost_worker()[0]("a worker was killed")

    run_campaign(short_plan(seeds=1), tmp_path)
    monkeypatch.setattr(backend, "each_task", dying)
    run_campaign(short_plan(), tmp_path)
    last_alone = [*[2] * (backend.TRIES - 1), 1]
    assert begun == [*last_alone, *[1] * backend.TRIES]
    with Store(tmp_path, write=False) as store:
        assert store.counts() == {DONE: 4, LOST: 4}


@pytest.mark.slow
def test_a_folder_of_another_plan_says_what_differs(finished) -> None:
    other = short_plan()
    study = {**other.study, "design": {**other.study["design"], "period": 5.0}}
    with pytest.raises(OptionError, match=r"study\.design\.period is 4\.0 there and 5\.0 in this"):
        run_campaign(short_plan(study=study), finished)


def test_a_folder_that_cannot_be_is_one_line(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileFormatError, match="choose another --out"):
        run_campaign(short_plan(), tmp_path / "file")


@pytest.mark.parametrize("folder", ["/proc/campaign", "/sys/campaign"])
def test_a_folder_that_cannot_be_written_is_one_line(folder) -> None:
    with pytest.raises(FileFormatError, match=f"folder {folder}: .*; choose another --out$"):
        run_campaign(short_plan(), Path(folder))


@pytest.mark.slow
def test_a_second_run_into_a_folder_is_refused(finished) -> None:
    with locked(finished), pytest.raises(OptionError, match="another run writes into"):
        run_campaign(short_plan(seeds=3), finished)


@pytest.mark.slow
def test_a_row_is_of_its_trial_alone(finished, tmp_path) -> None:
    """An estimator that draws does not depend on those beside it."""
    swarm = {"estimators": ["wls-pso"], "chosen": "wls-pso"}
    swarm["options"] = {"wls-pso": {"evaluations": 60}}
    drawn = {"fit": [{"name": "pso", "study": {"estimation": swarm}}]}
    ols = {"estimators": ["ols"], "chosen": "ols"}
    beside = {"fit": [{"name": "ols", "study": {"estimation": ols}}, *drawn["fit"]]}
    alone = short_plan(factors=drawn, seeds=1)
    rows = {}
    for name, factors in (("alone", drawn), ("beside", beside)):
        plan = alone.model_copy(update={"factors": factors})
        run_campaign(plan, tmp_path / name)
        rows[name] = [row for row in told(rows_in(tmp_path / name)) if "pso" in str(row[1])]
    assert rows["alone"] == rows["beside"]


@pytest.mark.slow
def test_replacing_a_row_keeps_the_others(finished) -> None:
    first, *rest = rows_in(finished)
    with Store(finished, write=True) as store:
        store.add([replace(first, arrays={})])
        assert told(store.rows()) == told([first, *rest])
